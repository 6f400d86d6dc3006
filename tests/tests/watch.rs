//! `lathe dev --watch` while its author writes: what changes is built, loaded and asked again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "to tell what was not tried")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lathe_tests::binary::Folder;
use lathe_tests::guests::{root, target};
use lathe_tests::scripts::{data, script};
use serde_json::{Value, json};

/// How long nothing at all may be heard. A crate and its dependencies are built meanwhile, on a machine that does more.
const PATIENCE: Duration = Duration::from_secs(300);

/// A `lathe dev --watch` that runs, for a model that calls the tool `word` of the extension `watched` in each turn.
struct Watch {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Watch {
    fn start(folder: &Folder) -> Self {
        let turn = [
            json!({"toolCalls": [{"id": "c", "name": "watched_word", "input": {}}]}),
            json!({"text": ["done"]}),
        ];
        let script: Value = [&turn[..], &turn].concat().into();
        folder.write("script.json", script.to_string());
        let mut command =
            folder.command(&["dev", "--json", "--watch", "--model", "scripted:script.json", "go"]);
        command.env("CARGO_TARGET_DIR", target().join("author")).env("CARGO_NET_OFFLINE", "true");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, err) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Self { child, out, err }
    }

    /// What the tool answers in the next turn.
    fn word(&self) -> Value {
        let mut word = Value::Null;
        loop {
            let event: Value = serde_json::from_str(&self.out.recv_timeout(PATIENCE).unwrap()).unwrap();
            match event["type"].as_str().unwrap() {
                "tool-result" => word = event["output"].clone(),
                "tool-error" => word = event["error"].clone(),
                "finish" => return word,
                _ => {}
            }
        }
    }

    /// Waits until it says a line that begins so.
    fn says(&self, wanted: &str) {
        while !self.err.recv_timeout(PATIENCE).unwrap().starts_with(wanted) {}
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Its author writes a first version, a broken one, and another one that works.
fn written(folder: &Folder, name: &str, file: &str, source: impl Fn(&str) -> String, broken: &str) {
    let file = format!("extensions/watched/{file}");
    folder.write(&file, source("one"));
    let watch = Watch::start(folder);
    assert_eq!(watch.word(), "one");
    watch.says("waiting for a change");
    folder.write(&file, broken);
    watch.says(&format!("error: {name} could not be built"));
    folder.write(&file, source("two"));
    watch.says("reloaded watched");
    assert_eq!(watch.word(), "two");
}

#[test]
fn a_crate_that_changes_is_built_loaded_and_asked_again() {
    let folder = Folder::new();
    let sdk = root().join("guest-sdk").canonicalize().unwrap();
    let manifest = format!(
        "[package]\nname = \"watched\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n[dependencies]\nlathe-guest = {{ path = {sdk:?} }}\n\
         schemars = \"1\"\nserde = \"1\"\n"
    );
    folder.write("extensions/watched/Cargo.toml", manifest);
    for name in ["Cargo.lock", "rust-toolchain.toml"] {
        folder.write(&format!("extensions/watched/{name}"), std::fs::read(root().join(name)).unwrap());
    }
    let source = |word: &str| {
        format!(
            "use lathe_guest::prelude::*;\n\
             #[derive(Default)]\nstruct Watched;\n\
             #[extension(description = \"Says a word\")]\nimpl Extension for Watched {{\n\
             fn tools() -> Tools<Self> {{ Tools::new().tool(\"word\", Self::word) }}\n}}\n\
             /// Says a word.\n#[derive(Deserialize, JsonSchema)]\nstruct Word {{}}\n\
             impl Watched {{ fn word(&mut self, _: Word) -> Result<String> {{ Ok(\"{word}\".into()) }} }}\n"
        )
    };
    written(&folder, "watched", "src/lib.rs", source, "fn broken( {}");
}

#[cfg(unix)]
#[test]
fn an_extension_in_javascript_that_changes_is_built_loaded_and_asked_again() {
    // Fetches the compiler, if it can be had.
    if let Err(why) = script(&root().join("examples/pii-js")) {
        return println!("skipped: {why}");
    }
    let folder = Folder::new();
    // A database of its own; what is made is kept with the rest.
    std::fs::create_dir(folder.path().join(".lathe")).unwrap();
    for name in ["tools", "cache"] {
        std::os::unix::fs::symlink(data().join(name), folder.path().join(".lathe").join(name)).unwrap();
    }
    folder.write(
        "extensions/watched/package.json",
        r#"{"name": "watched", "type": "module", "description": "Says a word", "lathe": {}}"#,
    );
    let source = |word: &str| {
        format!(
            "import {{ extension }} from \"./lathe/index.js\";\nexport default extension({{\n  \
             tools: {{ word: {{ description: \"Says a word\", execute: () => \"{word}\" }} }},\n}});\n"
        )
    };
    written(&folder, "extensions/watched", "index.js", source, "export default {");
}
