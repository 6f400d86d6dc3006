//! The host of a test: what it grants, what it writes down, and what it answers.

use lathe_guest::prelude::*;
use lathe_guest::testing::TestHost;
use lathe_guest::{BridgeError, http};

#[derive(Default)]
struct Guard {
    steps: u32,
}

#[extension(name = "my-guard", description = "Uses everything")]
impl Extension for Guard {
    fn tools() -> Tools<Self> {
        Self::offered().tool("double", double)
    }

    fn permissions() -> Permissions {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Permissions {
            context_read: words(&["memory"]),
            context_write: words(&["own"]),
            network: words(&["api.example.org", "*.example.net"]),
            messages: true,
            workspace: WorkspaceAccess::Read,
            decide: vec![Hook::BeforeToolCall],
            ..Permissions::default()
        }
    }

    fn context() -> Vec<ContextBlock> {
        vec![ContextBlock { label: "notes".to_owned(), max_tokens: Some(3), ..ContextBlock::default() }]
    }

    fn before_turn(&mut self, _: TurnSnapshot) -> Result<Option<TurnConfig>> {
        Ok(None)
    }

    fn before_step(&mut self, step: StepSnapshot) -> Result<Option<StepConfig>> {
        self.steps += 1;
        let system = format!("{} {}", step.system, self.steps);
        Ok(Some(StepConfig { system: Some(system), ..StepConfig::default() }))
    }

    fn before_tool_call(&mut self, call: ToolCall) -> Result<Option<ToolDecision>> {
        self.steps += 1;
        Ok(Some(ToolDecision::Substitute(json!([call.tool_name, self.steps]))))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    number: i64,
}

/// A plain function is a tool as well as a method.
fn double(Number { number }: Number) -> Result<i64, ToolError> {
    number.checked_mul(2).ok_or_else(|| ToolError::invalid("too large"))
}

/// Words for the model that the method's own replace.
#[derive(Deserialize, JsonSchema)]
struct Page {
    url: String,
}

#[tools]
impl Guard {
    /// Fetches a page,
    /// and says its status.
    ///
    /// Nothing else.
    #[tool(replay_safe, sequential)]
    fn fetch(&mut self, Page { url }: Page) -> Result<String> {
        let answer = http::get(&url)?;
        Ok(format!("{}: {}", answer.status().as_u16(), String::from_utf8_lossy(answer.body())))
    }

    #[tool]
    fn read(&mut self, page: Page) -> Result<String> {
        Ok(std::fs::read_to_string(workspace().join(page.url))?)
    }

    /// No tool.
    fn context(label: &str, text: &str) -> Result<(), BridgeError> {
        context::set(label, text)
    }
}

fn calls(host: &TestHost<Guard>) -> Vec<String> {
    host.calls().iter().map(ToString::to_string).collect()
}

#[test]
fn methods_and_functions_are_tools_with_their_comments() {
    let tools = TestHost::<Guard>::new().manifest().tools;
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["fetch", "read", "double"]);
    assert_eq!(tools[0].description, "Fetches a page, and says its status.\n\nNothing else.");
    assert_eq!(tools[1].description, "Words for the model that the method's own replace.");
    assert!(tools[0].sequential && !tools[1].sequential);
    assert_eq!(TestHost::<Guard>::new().call_tool("double", json!({ "number": 21 })), Ok(json!(42)));
}

#[test]
fn rights_are_those_that_it_asks_for_and_gets() {
    let host = TestHost::<Guard>::new();
    host.set_context("memory", "m");
    host.set_context("other", "o");
    assert_eq!(context::get("memory"), Ok(Some("m".to_owned())));
    let denied = |right: &str| BridgeError::Denied(format!("{right} is not granted"));
    assert_eq!(context::get("other"), Err(denied("`context-read` for \"other\"")));
    assert_eq!(Guard::context("memory", ""), Err(denied("`context-write` for \"memory\"")));
    assert_eq!(Guard::context("my_guard_notes", "a b"), Ok(()));
    assert!(matches!(Guard::context("my_guard_notes", "far too many words"), Err(BridgeError::TooLarge(_))));
    assert_eq!(session::info().unwrap_err(), denied("`session-info`"));
    assert_eq!(messages::recent(1), Ok(vec![]));
    host.grant(Permissions { session_info: true, ..Permissions::default() });
    assert_eq!(session::info().unwrap_err(), denied("`session-info`"), "it did not ask");
    assert_eq!(messages::recent(1), Err(denied("`messages`")));
    assert_eq!(host.context("my_guard_notes").as_deref(), Some("a b"));
    assert_eq!(
        calls(&host)[..3],
        [
            "context.get(\"memory\")",
            "context.get(\"other\") = denied: `context-read` for \"other\" is not granted",
            "context.set(\"memory\", \"\") = denied: `context-write` for \"memory\" is not granted",
        ]
    );
    host.forget_calls();
    assert_eq!(host.calls(), []);
}

#[test]
fn an_answer_counts_if_it_may_decide() {
    let host = TestHost::<Guard>::new();
    let call = || ToolCall { tool_name: "t".to_owned(), ..ToolCall::default() };
    assert_eq!(host.before_turn(TurnSnapshot::default()), Ok(None));
    assert_eq!(host.before_tool_call(call()), Ok(Some(ToolDecision::Substitute(json!(["t", 1])))));
    assert_eq!(host.before_tool_call(call()), Ok(Some(ToolDecision::Substitute(json!(["t", 2])))));
    let error = host.before_step(StepSnapshot::default()).unwrap_err().to_string();
    assert!(error.contains("BeforeStep"), "{error}");
    host.grant(Permissions::default());
    assert_eq!(host.before_tool_call(call()), Ok(None), "not granted");
    assert_eq!(host.on_chunk(vec![]), Ok(()), "a hook that it does not have is not called");
}

#[test]
fn a_turn_has_an_instance_and_a_tool_call_another() {
    let host = TestHost::<Guard>::new();
    let steps = || match host.before_tool_call(ToolCall::default()) {
        Ok(Some(ToolDecision::Substitute(value))) => value[1].clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((steps(), steps()), (json!(1), json!(2)));
    host.call_tool("double", json!({ "number": 1 })).unwrap();
    assert_eq!(steps(), json!(3));
    host.before_turn(TurnSnapshot::default()).unwrap();
    assert_eq!(steps(), json!(1));
}

#[test]
fn servers_answer_as_set_and_only_to_those_who_may() {
    use lathe_guest::testing::Reply;
    let host = TestHost::<Guard>::new();
    host.respond("GET", "https://api.example.org/a?b=c", Reply::text(404, "none"));
    host.respond("GET", "https://x.example.net/", Reply::json(200, json!({ "ok": true })));
    let fetch = |url: &str| host.call_tool("fetch", json!({ "url": url }));
    assert_eq!(fetch("https://api.example.org/a?b=c"), Ok(json!("404: none")));
    assert_eq!(fetch("https://x.example.net/"), Ok(json!("200: {\"ok\":true}")));
    for denied in ["https://example.net/", "http://api.example.org/", "https://api.example.org:8443/"] {
        assert!(fetch(denied).unwrap_err().to_string().contains("denied: "), "{denied}");
    }
    let error = fetch("https://api.example.org/other").unwrap_err().to_string();
    assert!(error.contains("no answer to GET https://api.example.org/other"), "{error}");
    assert_eq!(calls(&host)[0], r#"http.send("GET", "https://api.example.org/a?b=c", "")"#);
    assert_eq!(host.calls().len(), 6);
}

#[test]
fn files_are_where_the_test_says() {
    let host = TestHost::<Guard>::new();
    host.set_workspace(concat!(env!("CARGO_MANIFEST_DIR"), "/wit"));
    let world = host.call_tool("read", json!({ "url": "world.wit" })).unwrap();
    assert!(world.as_str().unwrap().contains("world extension"));
}
