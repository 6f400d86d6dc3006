//! The command line, by the real binary: what is printed where, and the exit codes.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use lathe::extensions::Limits;
use lathe_tests::binary::{Folder, Ran, ran};
use lathe_tests::guests::root;
use serde_json::{Value, json};

const DEMO: &str = "(demo model: a few rules, no language model)\n";
const ALONE: &str = "There are no tools on offer, so all I can do is to say that I am here.\n";

/// Nothing on standard output, exit code 2.
fn refused(err: &str) -> Ran {
    Ran { code: Some(2), out: String::new(), err: err.into() }
}

fn lines(json: &str) -> Vec<Value> {
    json.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn every_command_explains_itself_with_examples() {
    let folder = Folder::new();
    for command in [
        &[][..],
        &["dev"],
        &["run"],
        &["build"],
        &["ext", "list"],
        &["ext", "reset"],
        &["ext", "enable"],
        &["ext", "disable"],
        &["ext", "grant"],
        &["ext", "revoke"],
        &["ext", "reload"],
        &["ext", "logs"],
        &["inspect"],
        &["call"],
        &["budget"],
    ] {
        let help = folder.lathe(&[command, &["--help"]].concat());
        assert_eq!((help.code, &*help.err), (Some(0), ""), "{command:?}");
        assert!(help.out.contains("\nExamples:\n  lathe "), "{}", help.out);
        assert!(help.out.contains("--config <FILE>"), "{}", help.out);
    }
    let version = folder.lathe(&["--version"]);
    assert_eq!((version.code, &*version.out), (Some(0), "lathe 0.1.0\n"));
    let bare = folder.lathe(&[]);
    assert_eq!((bare.code, &*bare.out), (Some(2), ""));
    assert!(bare.err.contains("Usage: lathe"), "{}", bare.err);
}

#[test]
fn the_answer_is_on_standard_output_and_the_rest_is_not() {
    let folder = Folder::new();
    let done = Ran { code: Some(0), out: format!("{DEMO}{ALONE}"), err: String::new() };
    assert_eq!(folder.lathe(&["run", "hello"]), done);
    assert_eq!(folder.lathe_with(&["run"], b"hello\nthere\n"), done);
    assert!(folder.path().join(".lathe/lathe.db").is_file());
}

#[test]
fn a_prompt_must_be_there_and_be_utf8() {
    let folder = Folder::new();
    let hint = "hint: convert it, as in `iconv -f latin1 -t utf-8 FILE | lathe run`\n";
    let said = refused(&format!("error: the prompt is not UTF-8\n{hint}"));
    for command in ["run", "dev"] {
        let mut typed = folder.command(&[command]);
        typed.arg(OsStr::from_bytes(b"na\xefve"));
        assert_eq!(ran(typed), said);
    }
    assert_eq!(folder.lathe_with(&["run"], b"na\xefve"), said);
    let lines = folder.lathe_with(&["dev"], b"hello\n\nna\xefve\nhello\n");
    let third = format!("error: line 3 of standard input is not UTF-8\n{hint}");
    assert_eq!(lines, Ran { code: Some(2), out: format!("{DEMO}{ALONE}"), err: third });
    let empty = refused("error: the prompt is empty\nhint: as in `lathe run \"What is 21 * 2?\"`\n");
    for prompt in [&["run"][..], &["run", ""], &["dev", " "]] {
        assert_eq!(folder.lathe(prompt), empty);
    }
}

#[test]
fn an_unusable_model_is_told_before_anything_is_made() {
    let folder = Folder::new();
    folder.write("script.json", "[]");
    let known = "anthropic, demo, gemini, ollama, openai, openai-responses, openrouter, scripted";
    let add = "hint: other providers can be added in lathe.toml, as [providers.NAME]\n";
    let script =
        "hint: a script is a JSON list with one entry per model request, such as [{\"text\": [\"hello\"]}]\n";
    for (id, err) in [
        (
            "gpt",
            format!(
                "error: `gpt` is not a model id: write `provider:name`, where the provider is one of {known}\n{add}"
            ),
        ),
        (
            "opanai:x",
            format!(
                "error: there is no model provider `opanai` (did you mean `openai`?): known are {known}\n{add}"
            ),
        ),
        (
            "openai:x",
            "error: the model provider `openai` needs a key: set the environment variable OPENAI_API_KEY\n\
             hint: `--model demo` needs no key and no network\n"
                .into(),
        ),
        (
            "scripted:script.json",
            format!(
                "error: the script `script.json` cannot be played: the script script.json is not one: it has no entry\n{script}"
            ),
        ),
    ] {
        assert_eq!(folder.lathe(&["run", "--model", id, "x"]), refused(&err));
    }
    assert!(!folder.path().join(".lathe").exists());
}

#[test]
fn a_mistake_in_the_configuration_is_shown_where_it_is() {
    let folder = Folder::new();
    folder.write("lathe.toml", "# mine\nmodle = \"demo\"\n");
    assert_eq!(
        folder.lathe(&["run", "x"]),
        refused(
            "error: lathe.toml:2:1: there is no key `modle` here; known are model, system, max-steps, compact-after, stall-timeout-ms, recovery, context-overflow, data, extensions, extension, providers, server
   ,-[lathe.toml:2:1]
 1 | # mine
 2 | modle = \"demo\"
   : ^^|^^
   :   `-- here
   `----
hint: did you mean `model`?
"
        )
    );
    folder.write("other.toml", "max-steps = \"ten\"\n");
    assert_eq!(
        folder.lathe(&["ext", "list", "--config", "other.toml"]),
        refused(
            "error: other.toml:1:13: invalid type: string \"ten\", expected a whole number of at least 1
   ,-[other.toml:1:13]
 1 | max-steps = \"ten\"
   :             ^^|^^
   :               `-- here
   `----
"
        )
    );
    let mut logged = folder.command(&["--config", "no.toml", "run", "x"]);
    logged.env("LATHE_LOG", "lathe=loud");
    let logged = ran(logged);
    assert_eq!((logged.code, &*logged.out), (Some(2), ""));
    assert!(logged.err.starts_with("error: LATHE_LOG is no log filter: "), "{}", logged.err);
    let absent = folder.lathe(&["--config", "no.toml", "run", "x"]);
    assert_eq!((absent.code, &*absent.out), (Some(2), ""));
    assert!(absent.err.starts_with("error: cannot read the configuration no.toml: "), "{}", absent.err);
}

#[test]
fn an_extensions_folder_must_exist_if_it_is_named() {
    let folder = Folder::new();
    let hint = "hint: name another with --extensions DIR, or as `dir` under [extensions] in lathe.toml\n";
    let absent = |dir: &str| refused(&format!("error: the extensions folder {dir} does not exist\n{hint}"));
    assert_eq!(folder.lathe(&["run", "--extensions", "no", "x"]), absent("no"));
    assert_eq!(folder.lathe(&["dev", "--extensions", "no", "x"]), absent("no"));
    assert_eq!(folder.lathe(&["build", "no"]), absent("no"));
    let unnamed = folder.lathe(&["run", "--trace", "x"]);
    assert_eq!((unnamed.code, &*unnamed.err), (Some(0), "no extensions: there is no folder extensions\n"));
    folder.write("conf/lathe.toml", "[extensions]\ndir = \"mine\"\n");
    assert_eq!(folder.lathe(&["ext", "list", "--config", "conf/lathe.toml"]), absent("conf/mine"));
}

#[test]
fn a_broken_file_is_told_and_the_others_run() {
    let folder = Folder::new().with(&["calc", "clock"]);
    let module = "it is a WebAssembly module, not a component; build it for wasm32-wasip2, \
        or turn it into a component with `wasm-tools component new`";
    let world = "it is a component, but no Lathe extension: it does not export lathe:extension/extension-manifest@0.1.0";
    let calc = std::fs::read(folder.path().join("extensions/calc.wasm")).unwrap();
    folder.write("extensions/a.wasm", "hello");
    folder.write("extensions/b.wasm", b"\0asm\x01\0\0\0");
    folder.write("extensions/c.wasm", b"\0asm\x0d\0\x01\0");
    folder.write("extensions/d.wasm", calc);
    let clash = "its name \"calc\" clashes with \"calc\" of extensions/calc.wasm: their tools would have the same names; rename one of them";
    let run = folder.lathe(&["run", "What is 21 * 2?"]);
    assert_eq!(
        run,
        Ran {
            code: Some(0),
            out: format!(
                "{DEMO}calc_evaluate({{\"expression\":\"21 * 2\"}}) = {{\"result\":\"42\",\"exact\":true}}\n"
            ),
            err: format!(
                "warning: extensions/a.wasm: it is not a WebAssembly file
warning: extensions/b.wasm: {module}
warning: extensions/c.wasm: {world}
warning: extensions/d.wasm: {clash}
calc_evaluate {{\"expression\":\"21 * 2\"}} = {{\"result\":\"42\",\"exact\":true}}
"
            ),
        }
    );
    let list = folder.lathe(&["ext", "list"]);
    assert_eq!((list.code, &*list.err), (Some(0), ""));
    let rows: Vec<Vec<&str>> = list
        .out
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    let digest = rows[1][2];
    assert!(digest.len() == 12 && digest.chars().all(|c| c.is_ascii_hexdigit()), "{digest}");
    assert_eq!(
        rows,
        [
            vec!["NAME", "VERSION", "DIGEST", "HOOKS", "TOOLS", "ASKED", "GRANTED", "HEALTH"],
            vec!["calc", "0.1.0", digest, "-", "calc_evaluate", "-", "-", "ready"],
            vec!["clock", "0.1.0", rows[2][2], "-", "clock_now clock_add_duration", "-", "-", "ready"],
            vec!["a.wasm", "-", "-", "-", "-", "-", "-", "it is not a WebAssembly file"],
            vec!["b.wasm", "-", "-", "-", "-", "-", "-", module],
            vec!["c.wasm", "-", "-", "-", "-", "-", "-", world],
            vec!["d.wasm", "-", "-", "-", "-", "-", "-", clash],
        ]
    );
}

#[test]
fn extensions_are_listed_as_json() {
    let folder = Folder::new().with(&["house-rules"]);
    folder.write("extensions/a.wasm", "hello");
    let listed = json(&folder.lathe(&["ext", "list", "--json"]));
    assert_eq!(listed[0]["digest"].as_str().unwrap().len(), 64);
    assert_eq!(
        listed,
        json!([
            {
                "name": "house-rules",
                "version": "0.1.0",
                "description": listed[0]["description"],
                "file": "extensions/house-rules.wasm",
                "digest": listed[0]["digest"],
                "hooks": ["beforeTurn"],
                "tools": [],
                "permissions": {"asked": {}, "granted": {}},
                "limits": Limits::default(),
                "health": "ready",
                "strikes": 0,
                "quarantines": 0,
                "totals": {"calls": 0, "failures": {}, "fuel": 0, "timeMs": 0.0},
            },
            {"file": "extensions/a.wasm", "health": "failed", "error": "it is not a WebAssembly file"},
        ])
    );
}

#[test]
fn what_fails_too_often_is_set_aside_until_it_is_reset() {
    let folder = Folder::new().with(&["rogue"]);
    folder.write("lathe.toml", "[extension.rogue]\nsettings = { do = \"panic\" }\n");
    let calls = |ran: &Ran| {
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let events = lines(&ran.out).into_iter().filter(|event| event["type"] == "hook-call");
        events.map(|call| call["failure"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let run = || folder.lathe(&["run", "--json", "hello"]);
    let list = || json(&folder.lathe(&["ext", "list", "--json"]))[0].clone();
    let mut failures = Vec::new();
    while failures.last().is_none_or(|last| last != "quarantined") {
        failures.extend(calls(&run()));
    }
    assert_eq!(failures, ["trap", "trap", "trap", "quarantined"]);
    let listed = list();
    assert_eq!(listed["health"], "quarantined", "{listed}");
    assert_eq!(listed["totals"]["failures"], json!({"trap": 3}));
    assert!(listed["lastError"].as_str().unwrap().contains("on purpose"), "{listed}");
    assert!((1..=60_000).contains(&listed["quarantineMs"].as_u64().unwrap()), "{listed}");
    let table = folder.lathe(&["ext", "list"]).out;
    assert!(table.contains("quarantined for ") && table.contains("on purpose"), "{table}");

    let reset = folder.lathe(&["ext", "reset", "rogue"]);
    assert_eq!(reset, Ran { code: Some(0), out: "rogue is ready\n".into(), err: String::new() });
    let listed = list();
    assert_eq!((&listed["health"], &listed["totals"]["calls"]), (&json!("ready"), &json!(3)));
    assert_eq!(calls(&run())[0], "trap");
    assert_eq!(
        folder.lathe(&["ext", "reset", "nobody"]),
        refused(
            "error: nothing is known of an extension \"nobody\": it was never called\n\
             hint: `lathe ext list` shows the names; --data DIR is where the host keeps what it knows\n"
        )
    );
}

#[test]
fn one_file_is_inspected_with_what_it_imports_and_exports() {
    let folder = Folder::new().with(&["calc"]);
    let shown = json(&folder.lathe(&["inspect", "extensions/calc.wasm", "--json"]));
    assert_eq!(shown["tools"][0]["name"], "calc_evaluate");
    assert_eq!(
        shown["exports"],
        json!([
            "lathe:extension/extension-manifest@0.1.0",
            "lathe:extension/tools@0.1.0",
            "lathe:extension/hooks@0.1.0"
        ])
    );
    assert!(
        shown["imports"].as_array().unwrap().contains(&json!("lathe:extension/types@0.1.0")),
        "{shown:#}"
    );
    let text = folder.lathe(&["inspect", "extensions/calc.wasm"]);
    assert_eq!((text.code, &*text.err), (Some(0), ""));
    assert!(text.out.starts_with("name         calc\nversion      0.1.0\n"), "{}", text.out);
    assert!(
        text.out.contains("\nexports      lathe:extension/extension-manifest@0.1.0\n             "),
        "{}",
        text.out
    );

    let hint = "hint: an extension is a component that exports lathe:extension, as `lathe build` makes\n";
    folder.write("text.wasm", "hello");
    let text = format!("error: text.wasm: it is not a WebAssembly file\n{hint}");
    assert_eq!(folder.lathe(&["inspect", "text.wasm"]), refused(&text));
    folder.write("world.wasm", b"\0asm\x0d\0\x01\0");
    let other = folder.lathe(&["inspect", "world.wasm"]);
    assert_eq!((other.code, &*other.out), (Some(2), "imports      -\nexports      -\n"));
    assert!(
        other.err.starts_with("error: world.wasm: it is a component, but no Lathe extension: "),
        "{}",
        other.err
    );
}

#[test]
fn json_events_are_one_a_line_and_the_last_is_the_end() {
    let folder = Folder::new();
    let script = json!([
        {"text": ["Let me. "], "toolCalls": [{"id": "c", "name": "nope", "input": {"a": 1}}], "usage": {"inputTokens": 3}},
        {"reasoning": ["Hm."], "text": ["No", "thing."], "usage": {"inputTokens": 4, "outputTokens": 2}},
    ]);
    folder.write("script.json", script.to_string());
    let ran = folder.lathe(&["run", "--json", "--model", "scripted:script.json", "x"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let events = lines(&ran.out);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "finish").count(), 1, "{kinds:?}");
    assert_eq!(kinds[..2], ["chat:turn:start", "start"]);
    let call = events.iter().find(|event| event["type"] == "tool-call").unwrap();
    assert_eq!(call["toolName"], "nope");
    assert_eq!(
        call["toolCallId"],
        events.iter().find(|event| event["type"] == "tool-error").unwrap()["toolCallId"]
    );
    let last = events.last().unwrap();
    let told = ["type", "status", "text", "usage", "steps"];
    assert_eq!(last.as_object().unwrap().keys().collect::<Vec<_>>(), told);
    assert_eq!(
        (&last["type"], &last["status"], &last["steps"]),
        (&json!("finish"), &json!("completed"), &json!(2))
    );
    assert_eq!(last["text"], "Let me. Nothing.");
    assert_eq!(last["usage"]["inputTokens"], 7);
}

#[test]
fn a_turn_that_fails_is_exit_code_1() {
    let folder = Folder::new();
    folder.write("script.json", r#"[{"text": ["Half a"], "streamError": "the line is dead"}]"#);
    let run = ["run", "--model", "scripted:script.json", "x"];
    let failed = folder.lathe(&run);
    assert_eq!((failed.code, &*failed.out), (Some(1), "Half a\n"));
    let [error, hint] = failed.err.lines().collect::<Vec<_>>()[..] else { panic!("{}", failed.err) };
    assert!(error.starts_with("error: ") && error.contains("the line is dead"), "{error}");
    assert_eq!(hint, "hint: what was said is kept; `--session default` goes on from there");
    let failed = folder.lathe(&[&run[..], &["--json"]].concat());
    let events = lines(&failed.out);
    let last = events.last().unwrap();
    assert_eq!((failed.code, &last["status"]), (Some(1), &json!("error")));
    assert!(last["error"].as_str().unwrap().contains("the line is dead"), "{last}");
}

#[test]
fn a_session_goes_on_after_a_restart() {
    let folder = Folder::new();
    // The demo model counts the words that it is shown.
    let words = |session: &str| {
        let ran = folder.lathe(&["run", "--json", "--session", session, "one two three"]);
        lines(&ran.out).pop().unwrap()["usage"]["inputTokens"].as_u64().unwrap()
    };
    let first = words("work");
    let answer = (DEMO.split_whitespace().count() + ALONE.split_whitespace().count()) as u64;
    assert_eq!(words("work"), first + answer + 3);
    assert_eq!(words("play"), first);
    assert_eq!(words("work"), first + 2 * (answer + 3));
    let unusable = folder.lathe(&["run", "--session", "a\nb", "x"]);
    assert_eq!(unusable.code, Some(2), "{}", unusable.err);
    assert!(unusable.err.starts_with("error: \"a\\nb\" is no name for a session"), "{}", unusable.err);
}

#[test]
fn prompts_come_one_a_line_where_nobody_types() {
    let folder = Folder::new();
    folder.write("script.json", r#"[{"text": ["one"]}, {"error": "no"}, {"text": ["three"]}]"#);
    let dev = ["dev", "--model", "scripted:script.json", "--json"];
    let ran = folder.lathe_with(&dev, b"a\n\n b \nc");
    let ends: Vec<Value> = lines(&ran.out).into_iter().filter(|event| event["type"] == "finish").collect();
    let texts: Vec<&str> = ends.iter().map(|end| end["text"].as_str().unwrap()).collect();
    assert_eq!((ran.code, texts), (Some(1), vec!["one", "", "three"]));
}

#[test]
fn a_database_that_cannot_be_used_is_left_alone() {
    let folder = Folder::new();
    let hint = "hint: --data DIR keeps everything in another folder\n";
    assert_eq!(folder.lathe(&["run", "x"]).code, Some(0));
    let file = folder.path().join(".lathe/lathe.db");
    let open = || rusqlite::Connection::open(&file).unwrap();
    open().pragma_update(None, "user_version", 9999).unwrap();
    let newer = folder.lathe(&["run", "y"]);
    assert_eq!((newer.code, &*newer.out), (Some(2), ""));
    assert!(
        newer.err.starts_with("error: the database .lathe/lathe.db was written by a newer version of lathe"),
        "{}",
        newer.err
    );
    assert!(newer.err.ends_with(hint), "{}", newer.err);
    let kept: i64 = open().query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 2);

    folder.write(
        "other/lathe.db",
        "a diary, and no database at all; long enough to have a header of its own, and then some more",
    );
    let other = folder.lathe(&["run", "--data", "other", "x"]);
    assert_eq!((other.code, &*other.out), (Some(2), ""));
    assert!(other.err.starts_with("error: cannot open the database other/lathe.db: "), "{}", other.err);
    assert!(std::fs::read_to_string(folder.path().join("other/lathe.db")).unwrap().starts_with("a diary"));
}

#[test]
fn colour_is_for_terminals_and_for_those_who_insist() {
    let folder = Folder::new();
    folder.write("lathe.toml", "modle = 1\n");
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = folder.command(&["run", "x"]);
        command.envs(variables.iter().copied());
        let said = ran(command).err;
        assert!(said.contains("there is no key `modle`"), "{said}");
        said.contains('\u{1b}')
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

/// A script that says a word and then nothing for an hour.
fn stuck() -> Folder {
    let folder = Folder::new();
    folder.write("script.json", r#"[{"text": ["Well", {"holdMs": 3600000}, "!"]}]"#);
    folder
}

const STUCK: [&str; 5] = ["run", "--json", "--model", "scripted:script.json", "x"];

#[test]
fn ctrl_c_cancels_the_turn() {
    let folder = stuck();
    let mut child = folder.command(&STUCK).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(events.any(|event| event.contains("Well")));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let last: Value = serde_json::from_str(&events.last().unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (&last["type"], &last["status"], &last["text"]),
        (&json!("finish"), &json!("aborted"), &json!("Well"))
    );
    assert_eq!((output.status.code(), &*output.stderr), (Some(1), &b"cancelled\n"[..]));
}

#[test]
fn a_closed_pipe_ends_it_without_a_word() {
    let folder = Folder::new();
    for (args, code) in [(&["run", "--json", "x"][..], 1), (&["ext", "list", "--json"], 0), (&["--help"], 0)]
    {
        let mut command = folder.command(args);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer);
        let ended = ran(command);
        assert_eq!(ended, Ran { code: Some(code), out: String::new(), err: String::new() }, "{args:?}");
    }
}

/// A crate that needs nothing.
fn plain(folder: &Folder, name: &str, code: &str) {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n"
    );
    folder.write(&format!("crates/{name}/Cargo.toml"), manifest);
    folder.write(&format!("crates/{name}/src/lib.rs"), code);
    let toolchain = std::fs::read(root().join("rust-toolchain.toml")).unwrap();
    folder.write(&format!("crates/{name}/rust-toolchain.toml"), toolchain);
}

#[test]
fn a_crate_that_does_not_build_does_not_stop_the_others() {
    let folder = Folder::new();
    folder.write("crates/notes.txt", "no crate");
    plain(&folder, "a-bad", "fn broken( {}");
    plain(&folder, "b-good", "");
    let built = folder.lathe(&["build", "crates"]);
    assert_eq!((built.code, &*built.out), (Some(2), ""));
    assert!(built.err.contains("src/lib.rs:1:"), "the compiler's words are missing: {}", built.err);
    assert!(
        built.err.contains("error: a-bad could not be built: see above\nbuilt crates/b-good.wasm, "),
        "{}",
        built.err
    );
    assert!(
        built.err.ends_with(
            "error: 1 of 2 crates could not be built\n\
             hint: `lathe build crates` tries again; what there is runs by `lathe run`\n"
        ),
        "{}",
        built.err
    );
    let component = folder.path().join("crates/b-good.wasm");
    let made = std::fs::metadata(&component).unwrap().modified().unwrap();
    plain(&folder, "a-bad", "");
    let again = folder.lathe(&["build", "crates"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(again.err.ends_with(" kB\ncrates/b-good.wasm is up to date\n"), "{}", again.err);
    assert_eq!(std::fs::metadata(&component).unwrap().modified().unwrap(), made);
    let mut files: Vec<_> = std::fs::read_dir(folder.path().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["a-bad", "a-bad.wasm", "b-good", "b-good.wasm", "notes.txt"]);
}

#[test]
fn a_target_that_is_missing_is_asked_of_rustup() {
    let folder = Folder::new();
    plain(&folder, "a", "");
    let tool = |name: &str, script: &str| {
        let file = folder.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    // A toolchain without targets, and cargo beside it, but no rustup.
    tool("rustc", "echo /nowhere");
    let path =
        format!("{}/bin:{}", folder.path().display(), Path::new(env!("CARGO")).parent().unwrap().display());
    let build = || {
        let mut command = folder.command(&["build", "crates"]);
        command.env("PATH", &path);
        ran(command)
    };
    let adding = "the Rust target wasm32-wasip2 is missing: rustup target add wasm32-wasip2\n";
    assert_eq!(
        build(),
        refused(&format!(
            "{adding}error: the Rust target wasm32-wasip2 is not installed, and there is no rustup to add it\n\
             hint: install Rust by rustup (https://rustup.rs), or the standard library of wasm32-wasip2 for the toolchain that is there\n"
        ))
    );
    tool("rustup", "echo \"error: could not download $3\" >&2; exit 1");
    assert_eq!(
        build(),
        refused(&format!(
            "{adding}error: the Rust target wasm32-wasip2 is not installed, and `rustup target add wasm32-wasip2` failed:\n\
             error: could not download wasm32-wasip2\n\
             hint: it needs the network; once it has worked, building needs none\n"
        ))
    );
}

#[test]
fn dev_builds_the_examples_and_answers_with_their_help() {
    let folder = Folder::new();
    folder.write("lathe.toml", std::fs::read(root().join("lathe.toml")).unwrap());
    std::fs::create_dir(folder.path().join("extensions")).unwrap();
    for name in ["calc", "clock", "house-rules", "meter"] {
        let link = folder.path().join("extensions").join(name);
        std::os::unix::fs::symlink(root().join("extensions").join(name), link).unwrap();
    }
    let ask = ["dev", "--json", "--trace", "What is 21 * 2, and what time is it in Tokyo?"];
    let ran = folder.lathe(&ask);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("\n4 extensions loaded in "), "{}", ran.err);
    let events = lines(&ran.out);
    let calls: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "tool-call").map(|event| &event["toolName"]).collect();
    assert_eq!(calls, ["calc_evaluate", "clock_now"]);
    let hooks = |extension: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["type"] == "hook-call" && event["extension"] == *extension)
            .collect()
    };
    let rules = hooks("house-rules");
    assert_eq!(rules[0]["hook"], "beforeTurn");
    assert_eq!(rules[0]["changes"][0]["field"], "system");
    assert!(rules[0]["changes"][0]["value"].as_str().unwrap().contains("House rules:\n- "), "{}", rules[0]);
    assert_eq!(rules[0]["changes"][1], json!({"field": "maxSteps", "value": 6}));
    assert!(hooks("meter").len() > 10);
    let text = events.last().unwrap()["text"].as_str().unwrap();
    assert!(text.contains("\"42\"") && text.contains("[Asia/Tokyo]"), "{text}");

    let again = folder.lathe(&ask);
    assert!(!again.err.contains("built "), "{}", again.err);
    assert!(again.err.contains(" 0 of them compiled\n"), "{}", again.err);
}
