//! The author's sides of JavaScript and Python, the examples in these languages, and what `lathe build` makes of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "to tell what was not tried")]

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use lathe::extensions::{ExtensionSettings, Gate, Grant, Loader};
use lathe_tests::binary::{Folder, ran};
use lathe_tests::guests::root;
use lathe_tests::house::House;
use lathe_tests::scripts::script;
use lathe_tests::tool::FnTool;
use serde_json::{Value, json};

/// Runs the tests of a folder as its author does. Where the language is not installed, it says so.
fn tested(folder: &str, program: &str, args: &[&str]) {
    match Command::new(program).args(args).current_dir(root().join(folder)).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped, there is no {program}: {folder}");
        }
        output => {
            let output = output.unwrap();
            let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
            assert!(output.status.success(), "{folder}:\n{said}");
            assert!(
                !said.contains("Ran 0 tests") && !said.contains("# tests 0"),
                "{folder} has no tests:\n{said}"
            );
        }
    }
}

#[test]
fn the_authors_sides_and_the_examples_pass_their_own_tests() {
    tested("guest-js", "node", &["--test"]);
    tested("examples/pii-js", "node", &["--test", "index.test.js"]);
    // -B: no compiled files in the repository.
    tested("guest-py", "python3", &["-B", "-m", "unittest"]);
    tested("examples/summarise-py", "python3", &["-B", "-m", "unittest"]);
}

/// A turn in which a tool of the host gives `output`, and then the extension's own tool is called. What the model saw.
async fn turn(file: &Path, own: Value, output: &str) -> Vec<Value> {
    let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let grant = Grant { decide: vec![Gate::AfterToolCall], ..Default::default() };
    let settings = [(name, ExtensionSettings { grant, ..Default::default() })];
    let loader = Loader::new().unwrap().cache(std::env::temp_dir().join("lathe-tests-cache"));
    let loaded = loader.settings(settings.into()).load_files(vec![file.to_owned()]).await;
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let script = json!([
        {"toolCalls": [{"id": "1", "name": "read", "input": {}}]},
        {"toolCalls": [own]},
        {"text": ["done"]},
    ]);
    let output = json!(output);
    let house = House::new(&script, |agent| {
        agent.tool(FnTool::answers("read", output).arc()).extensions(loaded.extensions)
    })
    .await;
    assert_eq!(house.send("go").await.error, None);
    let requests = house.requests();
    let last = json!(requests.last().unwrap());
    let messages = last["messages"].as_array().unwrap().iter();
    let parts = messages.flat_map(|message| message["content"].as_array().unwrap().clone());
    parts.filter(|part| part["type"] == "tool-result").map(|part| part["output"]["value"].clone()).collect()
}

#[tokio::test]
async fn the_example_in_javascript_works_in_the_sandbox() {
    let file = match script(&root().join("examples/pii-js")) {
        Ok(file) => file,
        Err(why) => return println!("skipped: {why}"),
    };
    let own = json!({"id": "2", "name": "pii_js_masked", "input": {}});
    let seen =
        turn(&file, own, "Ada <ada@example.org> paid by 4111 1111 1111 1111, jörg@exämple.de did not").await;
    assert_eq!(
        seen,
        [json!("Ada <[email]> paid by [card], [email] did not"), json!({"card": 1, "email": 2})]
    );
}

#[test]
fn what_cannot_be_built_is_told_with_what_to_do() {
    let folder = Folder::new();
    folder.write("extensions/a/package.json", r#"{"name": "A", "lathe": {}}"#);
    folder.write("extensions/a/index.js", "");
    folder.write("extensions/b/pyproject.toml", "[project]\nname = \"b\"\n[tool.lathe]\n");
    let broken = folder.lathe(&["build"]);
    assert_eq!(broken.code, Some(2));
    for said in [
        "error: extensions/a could not be built: its name \"A\" is not made of a-z, 0-9 and -\n",
        "error: extensions/b could not be built: there is no extensions/b/app.py\n",
        "error: 2 of 2 extensions could not be built\n",
    ] {
        assert!(broken.err.contains(said), "{}", broken.err);
    }
    folder.write("extensions/b/app.py", "");
    let mut nothing = folder.command(&["build", "extensions/b"]);
    nothing.env("PATH", folder.path());
    let nowhere = ran(nothing);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.err.contains("error: cannot run python3: "), "{}", nowhere.err);
    assert!(
        nowhere.err.contains("\nhint: building extensions in Python needs Python 3.10 or newer"),
        "{}",
        nowhere.err
    );
}
