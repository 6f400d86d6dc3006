//! What an operator does with extensions on the command line, by the real binary.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use lathe_tests::binary::{Folder, Ran};
use lathe_tests::guests::guest;
use serde_json::{Value, json};

fn refused(err: &str) -> Ran {
    Ran { code: Some(2), out: String::new(), err: err.into() }
}

fn done(out: &str) -> Ran {
    Ran { code: Some(0), out: out.into(), err: String::new() }
}

fn config(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path().join("lathe.toml")).unwrap()
}

fn listed(folder: &Folder) -> Vec<(String, String)> {
    let list: Value = serde_json::from_str(&folder.lathe(&["ext", "list", "--json"]).out).unwrap();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(|row| (word(row, "name"), word(row, "health"))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, health)| ((*name).to_owned(), (*health).to_owned())).collect()
}

#[test]
fn an_extension_is_disabled_and_enabled() {
    let folder = Folder::new().with(&["calc", "clock"]);
    assert_eq!(folder.lathe(&["ext", "disable", "calc"]), done("calc is disabled\n"));
    assert_eq!(config(&folder), "[extension.calc]\nenabled = false\n");
    assert!(!folder.path().join(".lathe/lathe.db").exists(), "no host has run");
    assert_eq!(listed(&folder), pairs(&[("clock", "ready"), ("calc", "disabled")]));
    let table = folder.lathe(&["ext", "list"]).out;
    assert!(table.lines().any(|line| line.starts_with("calc ") && line.ends_with(" disabled")), "{table}");
    let run = folder.lathe(&["run", "What is 21 * 2?"]);
    assert!(!run.out.contains("42"), "{}", run.out);
    assert_eq!(folder.lathe(&["ext", "disable", "calc"]), done("calc is disabled already\n"));
    assert_eq!(folder.lathe(&["ext", "enable", "calc"]), done("calc is enabled\n"));
    assert_eq!(config(&folder), "");
    assert_eq!(listed(&folder), pairs(&[("calc", "ready"), ("clock", "ready")]));
    assert_eq!(
        folder.lathe(&["ext", "disable", "clac"]),
        refused("error: there is no extension \"clac\" in extensions\nhint: did you mean `calc`?\n")
    );
    assert_eq!(
        folder.lathe(&["ext", "enable", "nothing-like-it"]),
        refused(
            "error: there is no extension \"nothing-like-it\" in extensions\n\
             hint: `lathe ext list` shows the names; --extensions DIR is another folder\n"
        )
    );
}

#[test]
fn rights_are_shown_granted_and_taken_back() {
    let folder = Folder::new().with(&["gate", "courier", "calc"]);
    let asked = "\
PERMISSION  ASKED                                   GRANTED  MEANING
decide      beforeStep,beforeToolCall,afterToolCall  -        its answers to these hooks count
model       yes                                     -        choose another model
";
    let words = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let shown = folder.lathe(&["ext", "grant", "gate"]);
    assert_eq!((shown.code, words(&shown.out), &*shown.err), (Some(0), words(asked), ""));
    assert!(!folder.path().join("lathe.toml").exists());

    let mine = "# mine\nmax-steps = 3 # few\n";
    folder.write("lathe.toml", mine);
    let granted = folder.lathe(&["ext", "grant", "gate", "decide=before-tool-call", "reasons"]);
    assert_eq!((granted.code, &*granted.err), (Some(0), ""));
    assert!(granted.out.contains("\nreasons "), "{}", granted.out);
    assert_eq!(
        config(&folder),
        format!("{mine}\n[extension.gate.grant]\ndecide = [\"beforeToolCall\"]\nreasons = true\n")
    );
    assert_eq!(folder.lathe(&["ext", "revoke", "gate", "decide", "reasons"]).code, Some(0));
    assert_eq!(config(&folder), mine);
    assert_eq!(folder.lathe(&["ext", "grant", "gate", "--all"]).code, Some(0));
    assert_eq!(folder.lathe(&["ext", "revoke", "gate", "decide=beforeStep"]).code, Some(0));
    assert_eq!(
        config(&folder),
        format!(
            "{mine}\n[extension.gate.grant]\ndecide = [\"beforeToolCall\", \"afterToolCall\"]\nmodel = true\n"
        )
    );
    assert_eq!(folder.lathe(&["ext", "revoke", "gate", "--all"]).code, Some(0));
    assert_eq!(config(&folder), mine);

    for (args, err) in [
        (
            &["grant", "gate", "network=a.org"][..],
            "error: gate does not ask for network a.org: it would have no effect\n\
             hint: `lathe ext grant gate` shows what it asks for\n",
        ),
        (
            &["grant", "gate", "decied=beforeStep"],
            "error: there is no permission `decied`: known are decide, model, reasons, workspace, network, environment, \
             context-read, context-write, messages, session-info, send-message\nhint: did you mean `decide`?\n",
        ),
        (
            &["grant", "gate", "decide=beforeLunch"],
            "error: lathe.toml stays as it is: `beforeLunch` is none of beforeStep, beforeToolCall, afterToolCall\n",
        ),
        (&["grant", "calc", "--all"], "error: calc asks for nothing\n"),
        (
            &["grant", "courier", "--all"],
            "error: courier asks for a folder, and which is yours to say\n\
             hint: first `lathe ext grant courier workspace=DIR:rw`\n",
        ),
        (
            &["revoke", "gate", "model"],
            "error: gate is not granted model\nhint: `lathe ext grant gate` shows what it is granted\n",
        ),
    ] {
        assert_eq!(folder.lathe(&[&["ext"], args].concat()), refused(err));
        assert_eq!(config(&folder), mine);
    }
    folder.write("notes/a", "");
    assert_eq!(folder.lathe(&["ext", "grant", "courier", "workspace=notes"]).code, Some(0));
    assert_eq!(folder.lathe(&["ext", "grant", "courier", "--all"]).code, Some(0));
    let text = config(&folder);
    assert!(text.contains("workspace = { dir = \"notes\", access = \"read-write\" }\n"), "{text}");
    let list: Value = serde_json::from_str(&folder.lathe(&["ext", "list", "--json"]).out).unwrap();
    let granted = &list[1]["permissions"]["granted"];
    assert_eq!(granted["network"].as_array().unwrap().len(), 3, "{granted}");
    assert_eq!(granted["environment"], json!(["COURIER_OTHER", "COURIER_WORD"]));
}

#[test]
fn what_an_extension_says_and_fails_with_is_kept() {
    let folder = Folder::new().with(&["meter", "rogue", "calc"]);
    folder.write("lathe.toml", "[extension.rogue]\nsettings = { do = \"panic\" }\n");
    for session in ["one", "two", "three"] {
        assert_eq!(folder.lathe(&["run", "--session", session, "hello"]).code, Some(0));
    }
    let logs = |args: &[&str]| folder.lathe(&[&["ext", "logs"], args].concat());
    let records = |args: &[&str]| -> Vec<Value> {
        let ran = logs(&[args, &["--json"]].concat());
        assert_eq!((ran.code, &*ran.err), (Some(0), ""));
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let meter = records(&["meter"]);
    let sessions: Vec<&Value> = meter.iter().map(|record| &record["session"]).collect();
    assert_eq!(sessions, ["one", "two", "three"], "over restarts");
    let record = &meter[2];
    assert_eq!((&record["level"], &record["source"]), (&json!("info"), &json!("guest")));
    let request = record["requestId"].as_str().unwrap();
    let message = record["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("turn {request}: ")), "{message}");
    let time = record["time"].as_str().unwrap();
    assert_eq!(logs(&["meter", "-n", "1"]), done(&format!("{time} info  three {request} {message}\n")));

    let rogue = records(&["rogue"]);
    let trap = &rogue[0];
    assert_eq!(
        (&trap["source"], &trap["failure"], &trap["level"]),
        (&json!("host"), &json!("trap"), &json!("error"))
    );
    let message = trap["message"].as_str().unwrap();
    assert!(message.starts_with("beforeTurn failed: ") && message.contains("on purpose"), "{message}");
    let quarantined = |record: &&Value| record["message"] == "in quarantine for 60 s";
    assert_eq!(rogue.iter().filter(quarantined).count(), 1, "{rogue:#?}");

    assert_eq!(logs(&["calc"]), done(""), "it has nothing to say");
    assert_eq!(
        logs(&["metre"]),
        refused("error: there is no extension \"metre\" in extensions\nhint: did you mean `meter`?\n")
    );
    assert_eq!(folder.lathe(&["ext", "disable", "meter"]).code, Some(0));
    std::fs::remove_file(folder.path().join("extensions/meter.wasm")).unwrap();
    assert_eq!(records(&["meter"]), meter, "also when it is gone");
}

#[test]
fn a_log_is_followed() {
    let folder = Folder::new().with(&["meter"]);
    assert_eq!(folder.lathe(&["run", "--session", "one", "hello"]).code, Some(0));
    let mut command = folder.command(&["ext", "logs", "meter", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["session"].clone();
    assert_eq!(next(), "one");
    assert_eq!(folder.lathe(&["run", "--session", "two", "hello"]).code, Some(0));
    assert_eq!(next(), "two");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A host that runs: `lathe dev`, a turn for each line.
struct Host {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Host {
    fn start(folder: &Folder) -> Self {
        let mut command = folder.command(&["dev", "--json"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::new(stdout) }
    }

    /// The tools that a turn called.
    fn turn(&mut self, prompt: &str) -> Vec<String> {
        writeln!(self.stdin, "{prompt}").unwrap();
        let mut called = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it has ended");
            let event: Value = serde_json::from_str(&line).unwrap();
            match event["type"].as_str().unwrap() {
                "tool-call" => called.push(event["toolName"].as_str().unwrap().to_owned()),
                "finish" => return called,
                _ => {}
            }
        }
    }

    /// What it has said beside the answers.
    fn end(mut self) -> String {
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

#[test]
fn a_host_that_runs_takes_what_is_changed_before_its_next_turn() {
    const SUM: &str = "What is 21 * 2?";
    let folder = Folder::new().with(&["calc"]);
    assert_eq!(
        folder.lathe(&["ext", "reload"]),
        refused("error: no host has run with the data folder .lathe\nhint: --data DIR names another one\n")
    );
    let mut host = Host::start(&folder);
    assert_eq!(host.turn(SUM), ["calc_evaluate"]);
    assert_eq!(folder.lathe(&["ext", "disable", "calc"]).code, Some(0));
    assert_eq!(host.turn(SUM), [""; 0]);
    assert_eq!(folder.lathe(&["ext", "enable", "calc"]).code, Some(0));
    assert_eq!(host.turn(SUM), ["calc_evaluate"]);
    // A broken one, then a broken configuration: all stays as it is.
    folder.write("extensions/calc.wasm", "broken");
    folder.write("lathe.toml", "modle = 1\n");
    let reload = folder.lathe(&["ext", "reload", "--config", write(&folder, "other.toml", "")]);
    assert_eq!(
        reload,
        done("hosts that run take lathe.toml and the extensions anew before their next turn\n")
    );
    assert_eq!(host.turn(SUM), ["calc_evaluate"]);
    folder.write("lathe.toml", "");
    std::fs::copy(guest("clock"), folder.path().join("extensions/clock.wasm")).unwrap();
    assert_eq!(folder.lathe(&["ext", "reload"]).code, Some(0));
    assert_eq!(host.turn("What time is it in Tokyo?"), ["clock_now"]);
    let said = host.end();
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with([' ', '`'])).collect();
    let broken = "warning: extensions/calc.wasm: it is not a WebAssembly file; \
        the version that was loaded before stays in use";
    let known = "model, system, max-steps, compact-after, stall-timeout-ms, recovery, context-overflow, data, extensions, extension, providers, server, telemetry";
    assert_eq!(
        lines,
        [
            "removed calc",
            "added calc",
            &format!("error: lathe.toml:1:1: there is no key `modle` here; known are {known}"),
            "hint: did you mean `model`?",
            "the configuration stays as it was",
            broken,
            broken,
            "added clock",
        ]
    );
}

fn write<'a>(folder: &Folder, name: &'a str, text: &str) -> &'a str {
    folder.write(name, text);
    name
}

#[test]
fn dev_answers_again_when_an_extension_has_changed() {
    let folder = Folder::new().with(&["calc"]);
    let mut command = folder.command(&["dev", "--json", "--watch", "What is 21 * 2?"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut answer = || loop {
        let event: Value = serde_json::from_str(&out.next().unwrap().unwrap()).unwrap();
        if event["type"] == "finish" {
            return event["text"].as_str().unwrap().contains("42");
        }
    };
    let mut said = |wanted: &str| while err.next().unwrap().unwrap() != wanted {};
    assert!(answer());
    said("waiting for a change, Ctrl-C ends");
    replace(&guest("clock"), &folder.path().join("extensions/calc.wasm"));
    said("added clock; removed calc");
    assert!(!answer(), "there is no calc any more");
    said("waiting for a change, Ctrl-C ends");
    replace(&guest("calc"), &folder.path().join("extensions/calc.wasm"));
    said("added calc; removed clock");
    assert!(answer());
    child.kill().unwrap();
    child.wait().unwrap();
    let alone = folder.lathe(&["dev", "--watch"]);
    assert_eq!(alone.code, Some(2), "{}", alone.err);
}

/// As builds do.
fn replace(from: &Path, to: &Path) {
    let new = to.with_extension("new");
    std::fs::copy(from, &new).unwrap();
    std::fs::rename(new, to).unwrap();
}
