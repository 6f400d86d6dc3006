//! The host of an author's tests with the real sandbox behind it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use lathe_guest::prelude::*;
use lathe_guest::testing::{Reply, TestHost};
use lathe_tests::binary::lathe;
use lathe_tests::guests::{guest, messenger};

/// Only what the host is told natively: the code that runs is the component's.
#[derive(Default)]
struct Rogue;

#[extension(name = "rogue", description = "Stands for the component")]
impl Extension for Rogue {
    fn before_turn(&mut self, _: TurnSnapshot) -> Result<Option<TurnConfig>> {
        Err("this is not the component".into())
    }
}

#[derive(Default)]
struct Courier;

#[extension(name = "courier", description = "Stands for the component")]
impl Extension for Courier {
    fn permissions() -> Permissions {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Permissions {
            workspace: WorkspaceAccess::ReadWrite,
            network: words(&["*.test"]),
            context_read: words(&["all"]),
            context_write: words(&["own"]),
            messages: true,
            session_info: true,
            ..Permissions::default()
        }
    }

    fn context() -> Vec<ContextBlock> {
        vec![ContextBlock { label: "notes".to_owned(), max_tokens: Some(20), ..ContextBlock::default() }]
    }
}

#[derive(Default)]
struct Messenger;

#[extension(name = "messenger", description = "Stands for the component")]
impl Extension for Messenger {
    fn permissions() -> Permissions {
        Permissions { network: vec!["*.test".to_owned()], ..Permissions::default() }
    }
}

fn rogue(what: &str) -> TestHost<Rogue> {
    let host = TestHost::sandboxed(&lathe(), &guest("rogue"));
    host.set_settings(json!({ "do": what }));
    host
}

/// What a test that fails would say.
fn said(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

fn calls<T: lathe_guest::__private::Registered>(host: &TestHost<T>) -> Vec<String> {
    host.calls().iter().map(ToString::to_string).collect()
}

#[test]
fn hooks_and_tools_run_in_the_component() {
    let host = rogue("");
    let turn = TurnSnapshot { system: "S".to_owned(), ..TurnSnapshot::default() };
    assert_eq!(host.before_turn(turn).unwrap().unwrap().system.unwrap(), "S+rogue");
    assert_eq!(host.call_tool("act", json!({})), Ok(json!("well-behaved")));
    assert_eq!(host.call_tool("none", json!({})), Err(ToolError::UnknownTool));
    assert_eq!(calls(&host), ["settings.get()", "settings.get()"]);
    host.set_settings(json!({ "do": "fail" }));
    let failed = host.before_turn(TurnSnapshot::default()).unwrap_err();
    assert_eq!(failed.to_string(), "kaput");
}

#[test]
fn a_panic_is_told_with_its_message_and_functions() {
    let host = rogue("panic");
    let text = said(|| drop(host.call_tool("act", json!({}))));
    assert!(text.contains("\"rogue\" failed in its tool \"act\""), "{text}");
    assert!(text.contains("on purpose") && text.contains("\n  at "), "{text}");
    assert!(text.contains("rogue::deliberate") || text.contains("rogue::misbehave"), "{text}");
    let text = said(|| drop(host.before_turn(TurnSnapshot::default())));
    assert!(text.contains("hook BeforeTurn") && text.contains("on purpose"), "{text}");
    host.set_settings(json!({}));
    assert_eq!(host.call_tool("act", json!({})), Ok(json!("well-behaved")), "it goes on with a new instance");
}

#[test]
fn limits_are_the_real_ones() {
    let host = rogue("loop");
    let text = said(|| drop(host.before_turn(TurnSnapshot::default())));
    assert!(text.contains("used up its fuel"), "{text}");
    host.set_settings(json!({ "do": "memory" }));
    let text = said(|| drop(host.call_tool("act", json!({}))));
    assert!(text.contains("bytes of memory"), "{text}");
}

#[test]
fn what_is_not_granted_is_refused_and_written_down() {
    let host = rogue("denied");
    let answer = host.call_tool("act", json!({})).unwrap();
    assert!(answer.as_str().unwrap().contains("`session-info` is not granted"), "{answer}");
    let calls = calls(&host);
    assert!(
        calls.iter().any(|call| call == "session.info() = denied: `session-info` is not granted"),
        "{calls:?}"
    );
}

fn act(host: &TestHost<Courier>, deed: &Value) -> Value {
    host.call_tool("act", json!({ "deeds": [deed] })).unwrap()[0].clone()
}

#[test]
fn what_lies_behind_the_imports_is_the_tests() {
    let host = TestHost::<Courier>::sandboxed(&lathe(), &guest("courier"));
    host.add_message("user", "one");
    host.set_context("memory", "m");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "A").unwrap();
    host.set_workspace(folder.path());
    assert_eq!(act(&host, &json!({ "do": "read", "path": "/workspace/a" })), json!({ "ok": "A" }));
    assert_eq!(act(&host, &json!({ "do": "context-get", "label": "memory" })), json!({ "ok": "m" }));
    let set = json!({ "do": "context-set", "label": "courier_notes", "text": "n" });
    assert_eq!(act(&host, &set), json!({ "ok": null }));
    assert_eq!(host.context("courier_notes").as_deref(), Some("n"));
    assert_eq!(
        act(&host, &json!({ "do": "session" })),
        json!({ "ok": { "name": "test", "messageCount": 1 } })
    );
    assert_eq!(act(&host, &json!({ "do": "messages", "limit": 5 }))["ok"][0]["content"], "one");
}

#[test]
fn servers_are_the_tests() {
    let host = TestHost::<Courier>::sandboxed(&lathe(), &guest("courier"));
    host.respond("GET", "https://api.test/x", Reply::text(201, "made"));
    let fetch =
        |authority: &str| json!({ "do": "fetch", "scheme": "https", "authority": authority, "path": "x" });
    let answer = act(&host, &fetch("api.test"));
    assert_eq!((&answer["ok"]["status"], &answer["ok"]["body"]), (&json!(201), &json!("made")));
    assert_eq!(act(&host, &fetch("other.test")), json!({ "error": "ConnectionRefused" }));
    assert_eq!(act(&host, &fetch("api.example.org")), json!({ "error": "HttpRequestDenied" }));
    let calls = calls(&host);
    assert_eq!(calls[0], r#"http.send("GET", "https://api.test/x", "")"#);
    assert!(calls[2].ends_with("denied: https://api.example.org/x: the request is not granted"), "{calls:?}");
}

#[test]
fn the_client_of_the_guests_crate_has_the_tests_answers() {
    let host = TestHost::<Messenger>::sandboxed(&lathe(), &messenger());
    host.respond("PUT", "https://api.test/x?y", Reply::json(201, json!({ "made": true })));
    let send = |url: &str| host.call_tool("send", json!({ "method": "PUT", "url": url, "body": "words" }));
    assert_eq!(
        send("https://api.test/x?y"),
        Ok(json!({ "status": 201, "type": "application/json", "body": r#"{"made":true}"# }))
    );
    for (url, said) in [
        (
            "https://api.test/other",
            "failed in the host: https://api.test/other: ErrorCode::ConnectionRefused",
        ),
        ("https://example.org/", "denied: https://example.org/: the request is not granted"),
        ("http://api.test/x?y", "denied: http://api.test/x?y: the request is not granted"),
    ] {
        assert_eq!(send(url), Err(ToolError::Failed(said.to_owned())));
    }
    let calls = calls(&host);
    assert_eq!(calls[0], r#"http.send("PUT", "https://api.test/x?y", "words")"#);
    assert_eq!(calls.len(), 4, "{calls:?}");
}

#[test]
fn another_extensions_file_is_no_use() {
    let host = TestHost::<Rogue>::sandboxed(&lathe(), &guest("calc"));
    let error = host.before_turn(TurnSnapshot::default()).unwrap_err().to_string();
    assert!(error.contains("is the extension \"calc\", not \"rogue\""), "{error}");
}
