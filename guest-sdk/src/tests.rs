//! The exports as the host calls them.

use std::fmt;

use crate::bindings::exports::lathe::extension::hooks::{self, Guest};
use crate::guest::Component;
use crate::prelude::*;

#[derive(Default)]
struct Probe {
    turns: u32,
}

#[extension(name = "probe")]
impl Extension for Probe {
    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        self.turns += 1;
        let Some(body) = turn.body else { return Ok(None) };
        Ok(Some(TurnConfig { messages: Some(body), max_steps: Some(self.turns), ..TurnConfig::default() }))
    }

    fn before_tool_call(&mut self, call: ToolCall) -> Result<Option<ToolDecision>> {
        Ok(Some(ToolDecision::Allow(Some(call.input))))
    }

    fn after_tool_call(&mut self, call: ToolResult) -> Result<Option<ToolOverride>> {
        let error = call.result.err().map(|error| error.name.into());
        Ok(Some(ToolOverride { output: error, ..ToolOverride::default() }))
    }

    fn on_chat_error(&mut self, _: ChatError) -> Result<()> {
        Err(Outer.into())
    }
}

#[derive(Debug)]
struct Outer;

#[derive(Debug)]
struct Inner;

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("outer")
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("inner")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&Inner)
    }
}

impl std::error::Error for Inner {}

fn turn(body: Option<&str>) -> Result<Option<hooks::TurnConfig>, String> {
    Component::<Probe>::before_turn(hooks::TurnSnapshot {
        system: String::new(),
        tool_names: vec![],
        message_count: 1,
        max_steps: 10,
        continuation: false,
        body: body.map(str::to_owned),
        model_id: "demo".to_owned(),
        request_id: "r".to_owned(),
        trigger: hooks::Trigger::WsChat,
    })
}

#[test]
fn json_crosses_both_ways_and_the_instance_stays() {
    assert!(turn(None).unwrap().is_none());
    let config = turn(Some(r#"[{"role": "user", "content": "é"}]"#)).unwrap().unwrap();
    assert_eq!(config.messages.unwrap(), r#"[{"role":"user","content":"é"}]"#);
    assert_eq!(config.max_steps, Some(2));
}

#[test]
fn bad_json_from_the_host_is_an_error() {
    let error = turn(Some("{")).unwrap_err();
    assert!(error.starts_with("the host's body is not JSON: EOF"), "{error}");
}

fn call(input: &str) -> hooks::ToolCallSnapshot {
    hooks::ToolCallSnapshot {
        tool_call_id: "c".to_owned(),
        tool_name: "t".to_owned(),
        input: input.to_owned(),
        step_number: 0,
        dynamic: false,
    }
}

#[test]
fn tool_inputs_cross() {
    let decision = Component::<Probe>::before_tool_call(call(r#"{"b": 1, "a": 2}"#)).unwrap();
    let Some(hooks::ToolDecision::Allow(Some(input))) = decision else { panic!("{decision:?}") };
    assert_eq!(input, r#"{"b":1,"a":2}"#, "the order of the keys is the model's");
    assert!(Component::<Probe>::before_tool_call(call("nonsense")).is_err());
}

#[test]
fn tool_errors_cross() {
    let result = Err(ErrorInfo { name: "Timeout".to_owned(), message: String::new() });
    let change = Component::<Probe>::after_tool_call(hooks::ToolResultSnapshot {
        tool_call_id: String::new(),
        tool_name: String::new(),
        input: "{}".to_owned(),
        step_number: 0,
        duration_ms: 1.5,
        outcome: ToolOutcome::Failed,
        result,
        dynamic: false,
    });
    assert_eq!(change.unwrap().unwrap().output.unwrap(), "\"Timeout\"");
}

#[test]
fn errors_tell_their_causes() {
    assert_eq!(Component::<Probe>::on_chat_error(ChatError::default()), Err("outer: inner".to_owned()));
}
