use lathe_guest::testing::{Level, Record, TestHost};
use lathe_guest::{BridgeError, Hook};

use super::*;

type Host = TestHost<Meter>;

fn report(host: &Host) -> Value {
    host.call_tool("report", json!({})).unwrap()
}

fn step(input: u64, output: u64) -> StepFinish {
    let usage = Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() };
    StepFinish { usage, ..StepFinish::default() }
}

fn call(host: &Host, name: &str, outcome: ToolOutcome) {
    let tool_name = name.to_owned();
    let before = ToolCall { tool_name: tool_name.clone(), ..ToolCall::default() };
    assert_eq!(host.before_tool_call(before), Ok(None));
    let after = ToolResult { tool_name, outcome, ..ToolResult::default() };
    assert_eq!(host.after_tool_call(after), Ok(None));
}

/// Two steps, the first with three tool calls of which one fails.
fn turn(host: &Host) {
    assert_eq!(host.before_turn(TurnSnapshot::default()), Ok(None));
    assert_eq!(host.before_step(StepSnapshot::default()), Ok(None));
    host.on_chunk(vec![Chunk::default(); 5]).unwrap();
    call(host, "clock_now", ToolOutcome::Executed);
    call(host, "clock_now", ToolOutcome::Blocked);
    call(host, "calc_evaluate", ToolOutcome::Failed);
    host.on_step_finish(step(100, 20)).unwrap();
    assert_eq!(host.before_step(StepSnapshot::default()), Ok(None));
    host.on_chunk(vec![Chunk::default(); 2]).unwrap();
    host.on_step_finish(step(150, 30)).unwrap();
    host.on_chunk(vec![Chunk::default()]).unwrap();
    let request_id = "r1".to_owned();
    host.on_chat_response(ChatResponse { request_id, ..ChatResponse::default() }).unwrap();
}

#[test]
fn nothing_is_counted_before_the_first_turn() {
    let host = Host::new();
    assert_eq!(report(&host)["turns"], 0);
    assert_eq!(report(&host)["toolCallsByName"], json!({}));
}

#[test]
fn turns_add_up() {
    let host = Host::new();
    turn(&host);
    turn(&host);
    assert_eq!(
        report(&host),
        json!({
            "turns": 2, "modelRequests": 4, "steps": 4,
            "toolCalls": 6, "toolCallsByName": { "clock_now": 4, "calc_evaluate": 2 }, "failedToolCalls": 2,
            "chunks": 16, "inputTokens": 500, "outputTokens": 100, "totalTokens": 600, "errors": 0,
        })
    );
}

#[test]
fn one_line_a_turn() {
    let host = Host::new();
    turn(&host);
    let message = "turn r1: steps 2, tool calls 3 (1 failed), chunks 8, tokens 250 in and 50 out, errors 0";
    assert_eq!(host.log(), [Record { level: Level::Info, message: message.to_owned() }]);
}

#[test]
fn chunks_are_not_written_one_by_one() {
    let host = Host::new();
    host.on_chunk(vec![Chunk::default(); 3]).unwrap();
    assert_eq!(host.stored("chunks"), None);
    host.on_step_finish(step(0, 0)).unwrap();
    assert_eq!(host.stored("chunks").unwrap(), "3");
    host.on_chat_response(ChatResponse::default()).unwrap();
    assert_eq!(host.stored("chunks").unwrap(), "3", "what is written must not be written again");
}

#[test]
fn the_providers_sum_counts() {
    let host = Host::new();
    let usage = Usage { input_tokens: Some(1), total_tokens: Some(9), ..Usage::default() };
    host.on_step_finish(StepFinish { usage, ..StepFinish::default() }).unwrap();
    assert_eq!(report(&host)["totalTokens"], 9);
}

#[test]
fn a_failed_turn_is_one_error() {
    let host = Host::new();
    host.on_chat_error(ChatError::default()).unwrap();
    let response = ChatResponse { status: TurnStatus::Error, ..ChatResponse::default() };
    host.on_chat_response(response.clone()).unwrap();
    assert_eq!(report(&host)["errors"], 1);
    assert_eq!(host.before_turn(TurnSnapshot::default()), Ok(None));
    host.on_chat_response(response).unwrap();
    assert_eq!(report(&host)["errors"], 2);
}

#[test]
fn a_failed_write_is_made_up_for() {
    let host = Host::new();
    host.store("chunks", "no number");
    host.on_chunk(vec![Chunk::default()]).unwrap();
    let error = host.on_step_finish(step(0, 0)).unwrap_err();
    let expected =
        BridgeError::Failed("\"chunks\" holds no whole number, or the sum would not fit".to_owned());
    assert_eq!(error.to_string(), expected.to_string());
    host.store("chunks", "7");
    host.on_chat_response(ChatResponse::default()).unwrap();
    assert_eq!(host.stored("chunks").unwrap(), "8");
    assert_eq!(host.stored("steps").unwrap(), "1");
}

#[test]
fn a_long_tool_name_still_fits_a_key() {
    let host = Host::new();
    call(&host, &"é".repeat(1000), ToolOutcome::Invalid);
    host.on_step_finish(step(0, 0)).unwrap();
    assert_eq!(report(&host)["toolCallsByName"], json!({ "é".repeat(100): 1 }));
}

#[test]
fn the_manifest_asks_for_every_hook() {
    let manifest = Host::new().manifest();
    assert_eq!(
        manifest.hooks,
        [
            Hook::BeforeTurn,
            Hook::BeforeStep,
            Hook::BeforeToolCall,
            Hook::AfterToolCall,
            Hook::OnStepFinish,
            Hook::OnChunk,
            Hook::OnChatResponse,
            Hook::OnChatError,
        ]
    );
    assert_eq!(manifest.tools.len(), 1);
    assert!(manifest.tools[0].description.starts_with("How many turns"));
}
