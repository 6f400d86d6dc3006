//! Calls that wait for a person, at the command line.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use lathe_tests::binary::Folder;
use lathe_tests::guests::guest;
use serde_json::json;

#[test]
fn without_a_terminal_the_call_waits_and_the_person_is_told_how_to_answer() {
    let folder = Folder::new();
    let extensions = folder.path().join("extensions");
    std::fs::create_dir(&extensions).unwrap();
    std::fs::copy(guest("gate"), extensions.join("gate.wasm")).unwrap();
    let script =
        json!([{"toolCalls": [{"id": "c", "name": "gate_danger", "input": {}}]}, {"text": ["never"]}]);
    std::fs::write(folder.path().join("script.json"), script.to_string()).unwrap();
    let ran = folder.lathe(&["run", "--model", "scripted:script.json", "--session", "s", "go"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), ""), "{}", ran.err);
    let told = "gate_danger {} waits for approval; `lathe dev --session s` in a terminal asks for it";
    assert!(ran.err.contains(told), "{}", ran.err);
}
