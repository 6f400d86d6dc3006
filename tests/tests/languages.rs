//! The author's sides of JavaScript and Python, the examples in these languages, and what `lathe build` makes of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "to tell what was not tried")]

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use lathe::extensions::{ExtensionSettings, Gate, Grant, Loader};
use lathe_tests::binary::{Folder, Ran, ran};
use lathe_tests::guests::root;
use lathe_tests::house::House;
use lathe_tests::scripts::{data, sandboxed, script, unavailable};
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
fn the_authors_sides_the_examples_and_the_mirrors_pass_their_own_tests() {
    tested("guest-js", "node", &["--test"]);
    tested("examples/pii-js", "node", &["--test", "index.test.js"]);
    // -B: no compiled files in the repository.
    tested("tests/guests/mirror-js", "node", &["--test", "index.test.js"]);
    tested("guest-py", "python3", &["-B", "-m", "unittest"]);
    tested("examples/summarise-py", "python3", &["-B", "-m", "unittest"]);
    tested("tests/guests/mirror-py", "python3", &["-B", "-m", "unittest"]);
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
fn the_examples_and_the_mirrors_pass_their_tests_in_the_sandbox() {
    for (folder, count) in [
        ("examples/pii-js", "pass 6"),
        ("examples/summarise-py", "Ran 6 tests"),
        ("tests/guests/mirror-js", "pass 4"),
        ("tests/guests/mirror-py", "Ran 4 tests"),
    ] {
        match sandboxed(&root().join(folder)) {
            Ok(Ran { code, out, err }) => {
                assert!(code == Some(0) && format!("{out}{err}").contains(count), "{out}\n{err}");
            }
            Err(why) => println!("skipped: {why}"),
        }
    }
}

/// A template: its language, what a run of its tests says, its main file, and what to change there so that the component
/// never answers while the source does.
struct Template {
    language: &'static str,
    passed: &'static str,
    main: &'static str,
    stuck: [[&'static str; 2]; 2],
}

/// The road of an author, from an empty folder.
fn road(template: &Template) {
    let Template { language, passed, main, stuck } = template;
    let folder = Folder::new();
    let config = folder.write("lathe.toml", format!("data = {:?}\n", data()));
    let lathe = |args: &[&str], at: &str| {
        let mut command = folder.command(args);
        command.arg("--config").arg(&config).current_dir(folder.path().join(at));
        let ran = ran(command);
        (ran.code, format!("{}{}", ran.out, ran.err), ran)
    };
    let (hello, wrong) = (&*format!("hello-{language}"), &*format!("wrong-{language}"));
    for name in [hello, wrong] {
        let (code, said, _) = lathe(&["new", name, "--lang", language], "");
        assert!(
            code == Some(0) && said.contains("lathe test && lathe build && lathe test --sandbox"),
            "{said}"
        );
    }
    let file = folder.path().join(wrong).join(main);
    let mut text = std::fs::read_to_string(&file).unwrap();
    for [from, to] in stuck {
        assert!(text.contains(from), "{text}");
        text = text.replacen(from, to, 1);
    }
    std::fs::write(&file, text).unwrap();
    for name in [hello, wrong] {
        let (code, said, ran) = lathe(&["test"], name);
        if let Some(why) = unavailable(&ran) {
            return println!("skipped: {why}");
        }
        assert!(code == Some(0) && said.contains(passed), "{said}");
    }

    let (code, said, ran) = lathe(&["build"], hello);
    if let Some(why) = unavailable(&ran) {
        return println!("skipped: {why}");
    }
    assert_eq!(code, Some(0), "{said}");
    let (code, said, _) = lathe(&["test", "--sandbox"], hello);
    assert!(code == Some(0) && said.contains(passed), "{said}");
    let component = format!("{hello}.wasm");
    let (_, said, ran) =
        lathe(&["call", &component, "tool", "greet", "--input", r#"{"name": "Ada"}"#], hello);
    let answer: Option<Value> = serde_json::from_str(&ran.out).ok();
    assert_eq!(answer, Some(json!({"text": "Hello, Ada!", "times": 1})), "{said}");

    let (code, said, _) = lathe(&["test", "--sandbox"], wrong);
    assert_eq!(code, Some(1), "{said}");
    let failure = format!("the extension \"{wrong}\" failed in its tool \"greet\": it used up its fuel");
    assert!(said.contains(&failure) && said.contains("  log warn: not here"), "{said}");
}

#[test]
fn a_new_extension_in_javascript_works_at_once() {
    road(&Template {
        language: "js",
        passed: "pass 2",
        main: "index.js",
        stuck: [
            ["import { extension,", "import { extension, log,"],
            [
                "      execute({ name }) {\n",
                "      execute({ name }) {\n        if (typeof process === \"undefined\") for (log.warn(\"not here\"); ; );\n",
            ],
        ],
    });
}

#[test]
fn a_new_extension_in_python_works_at_once() {
    road(&Template {
        language: "python",
        passed: "Ran 2 tests",
        main: "app.py",
        stuck: [
            [
                "from typing import Annotated\n\nfrom lathe import Extension,",
                "import sys\nfrom typing import Annotated\n\nfrom lathe import Extension, log,",
            ],
            [
                "        greeting = ",
                "        if sys.platform == \"wasi\":\n            log.warn(\"not here\")\n        \
                 while sys.platform == \"wasi\":\n            pass\n        greeting = ",
            ],
        ],
    });
}

#[test]
fn what_tests_need_is_told() {
    let folder = Folder::new();
    folder.write("a/pyproject.toml", "[project]\nname = \"a\"\n[tool.lathe]\n");
    folder.write("a/app.py", "");
    folder.write("b/package.json", r#"{"name": "b", "lathe": {}}"#);
    folder.write("b/index.js", "");
    let without = |dir: &str| {
        let mut command = folder.command(&["test", dir]);
        command.env("PATH", folder.path());
        ran(command)
    };
    let python = without("a");
    assert_eq!(python.code, Some(2), "{}", python.err);
    assert!(python.err.contains("error: cannot run python3: "), "{}", python.err);
    assert!(
        python.err.contains("\nhint: testing extensions in Python needs Python 3.10 or newer"),
        "{}",
        python.err
    );
    let none = without("b");
    assert_eq!((none.code, &*none.err), (Some(0), "warning: b has no tests: no *.test.js\n"));
    folder.write("b/index.test.js", "");
    let javascript = without("b");
    assert_eq!(javascript.code, Some(2), "{}", javascript.err);
    assert!(
        javascript.err.contains("\nhint: testing extensions in JavaScript needs Node.js 18"),
        "{}",
        javascript.err
    );
    folder.write("b/package.json", r#"{"name": "B", "lathe": {}}"#);
    let broken = without("b");
    let said = "error: b could not be tested: its name \"B\" is not made of a-z, 0-9 and -\n";
    assert_eq!((broken.code, &*broken.err), (Some(1), said));
    folder.write("c/file", "");
    let nothing = without("c");
    assert_eq!(nothing.code, Some(2), "{}", nothing.err);
    assert!(
        nothing.err.contains("there is no extension to test in c\nhint: `lathe new NAME`"),
        "{}",
        nothing.err
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
