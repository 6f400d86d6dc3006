use serde_json::json;

use super::*;

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        replay: Default::default(),
        sequential: false,
        client: false,
        needs_approval: false,
        dynamic: false,
    }
}

fn answers(output: Json) -> ToolRan {
    ToolRan { output: ToolOutput::Output(output), duration_ms: 1.0, terminate: false, details: None }
}

fn call(id: &str, tool: &str) -> ToolCall {
    ToolCall {
        tool_call_id: id.into(),
        tool_name: tool.into(),
        input: json!({}),
        malformed: None,
        provider_metadata: None,
    }
}

fn batch(calls: &[(&str, &str)], offered: &[ToolDefinition]) -> Batch {
    let calls = calls.iter().map(|(id, tool)| call(id, tool)).collect();
    Batch::new(calls, offered, FinishReason::ToolCalls)
}

/// Plays a batch to its end: hooks decide by `decide`, tools answer their own id. Returns what was asked for.
fn play(batch: &mut Batch, decide: impl Fn(&str) -> Result<Option<ToolDecision>, ToolError>) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(effect) = batch.next() {
        match effect {
            BatchEffect::Check { tool_call_id: id, input, .. } => {
                seen.push(format!("check {id}"));
                let fits = input.get("bad").is_none();
                let result = if fits { Ok(input) } else { Err(InvalidInput("bad".into())) };
                assert!(batch.checked(&id, result));
            }
            BatchEffect::Gate { call, .. } => {
                seen.push(format!("before {}", call.tool_call_id));
                assert!(batch.decided(&call.tool_call_id, decide(&call.tool_call_id)));
            }
            BatchEffect::Run(runs) => {
                let ids: Vec<&str> = runs.iter().map(|run| &*run.tool_call_id).collect();
                seen.push(format!("run {}", ids.join("+")));
                for run in runs.iter().rev() {
                    assert!(batch.ran(&run.tool_call_id, answers(json!(run.tool_call_id))));
                }
            }
            BatchEffect::Review(record) => {
                seen.push(format!("after {}", record.call.tool_call_id));
                assert!(batch.reviewed(&record.call.tool_call_id, &ToolOverride::default()));
            }
        }
    }
    seen
}

fn allow(_: &str) -> Result<Option<ToolDecision>, ToolError> {
    Ok(None)
}

fn outcomes(batch: &Batch) -> Vec<(String, CallOutcome)> {
    batch.records().into_iter().map(|record| (record.call.tool_call_id, record.outcome)).collect()
}

#[test]
fn hooks_go_in_source_order_around_one_parallel_run() {
    let mut batch = batch(&[("a", "t"), ("b", "t")], &[tool("t")]);
    let seen = play(&mut batch, allow);
    assert_eq!(seen, ["check a", "before a", "check b", "before b", "run a+b", "after a", "after b"]);
}

#[test]
fn one_sequential_tool_makes_the_whole_batch_sequential() {
    let alone = ToolDefinition { sequential: true, ..tool("alone") };
    let mut batch = batch(&[("a", "t"), ("b", "alone")], &[tool("t"), alone]);
    let seen = play(&mut batch, allow);
    assert_eq!(seen, ["check a", "before a", "run a", "after a", "check b", "before b", "run b", "after b"]);
}

#[test]
fn unknown_tools_and_malformed_inputs_are_answered_without_a_hook_before() {
    let mut calls = vec![call("a", "nope"), call("b", "t"), call("c", "t")];
    calls[1].malformed = Some("not JSON".into());
    let mut batch = Batch::new(calls, &[tool("t")], FinishReason::ToolCalls);
    assert_eq!(play(&mut batch, allow), ["check c", "before c", "run c", "after a", "after b", "after c"]);
    assert_eq!(
        outcomes(&batch),
        [
            ("a".into(), CallOutcome::Invalid),
            ("b".into(), CallOutcome::Invalid),
            ("c".into(), CallOutcome::Executed)
        ]
    );
}

#[test]
fn each_decision_has_its_outcome() {
    let ids = ["block", "reason", "substitute", "rewrite", "misfit", "throw"];
    let mut batch = batch(&ids.map(|id| (id, "t")), &[tool("t")]);
    let seen = play(&mut batch, |id| {
        Ok(Some(match id {
            "block" => ToolDecision::Block { reason: None },
            "reason" => ToolDecision::Block { reason: Some("no".into()) },
            "substitute" => ToolDecision::Substitute { output: json!(7) },
            "rewrite" => ToolDecision::Allow { input: Some(json!({"x": 1})) },
            "misfit" => ToolDecision::Allow { input: Some(json!({"bad": 1})) },
            _ => return Err(ToolError::failed("kaput")),
        }))
    });
    assert!(seen.contains(&"run rewrite".to_owned()), "{seen:?}");
    let records = batch.records();
    let of = |id: &str| records.iter().find(|record| record.call.tool_call_id == id).unwrap();
    assert_eq!(of("block").output, ToolOutput::Output(json!("Tool \"t\" was blocked.")));
    assert_eq!(
        (of("reason").outcome, &of("reason").output),
        (CallOutcome::Blocked, &ToolOutput::Output(json!("no")))
    );
    assert_eq!(of("substitute").output, ToolOutput::Output(json!(7)));
    assert_eq!(of("rewrite").outcome, CallOutcome::Executed);
    assert_eq!(of("rewrite").call.input, json!({}), "the record keeps what the model wrote");
    assert_eq!(of("misfit").outcome, CallOutcome::Invalid);
    assert_eq!(of("throw").output, ToolOutput::Error(ToolError::failed("kaput")));
}

#[test]
fn an_answer_cut_off_at_its_length_runs_nothing() {
    let mut batch = Batch::new(vec![call("a", "t")], &[tool("t")], FinishReason::Length);
    assert_eq!(play(&mut batch, allow), ["after a"]);
    assert_eq!(outcomes(&batch), [("a".into(), CallOutcome::Cancelled)]);
}

#[test]
fn a_client_tool_waits_and_the_others_do_not() {
    let client = ToolDefinition { client: true, ..tool("ask") };
    let mut batch = batch(&[("a", "ask"), ("b", "t")], &[client, tool("t")]);
    assert_eq!(play(&mut batch, allow), ["check b", "before b", "run b", "after b"]);
    assert!(batch.waits_for_client());
    assert_eq!(outcomes(&batch), [("b".into(), CallOutcome::Executed)]);
}

#[test]
fn a_call_that_needs_approval_is_checked_and_waits() {
    let careful = ToolDefinition { needs_approval: true, ..tool("pay") };
    let mut batch = batch(&[("a", "pay"), ("b", "t")], &[careful.clone(), tool("t")]);
    assert_eq!(play(&mut batch, allow), ["check a", "check b", "before b", "run b", "after b"]);
    let waiting: Vec<&str> = batch.approvals().map(|call| &*call.tool_call_id).collect();
    assert_eq!((batch.waits_for_client(), waiting), (true, vec!["a"]));
    let mut approved = Batch::approved(vec![call("a", "pay")], Vec::new(), &[careful]);
    assert_eq!(play(&mut approved, allow), ["check a", "before a", "run a", "after a"]);
}

#[test]
fn cancelling_answers_what_is_open_and_keeps_what_is_known() {
    let mut batch = batch(&[("a", "t"), ("b", "t")], &[tool("t")]);
    for id in ["a", "b"] {
        assert!(batch.checked(id, Ok(json!({}))) && batch.decided(id, Ok(None)));
    }
    assert!(batch.ran("b", answers(json!(1))));
    batch.cancel();
    assert_eq!(play(&mut batch, allow), ["after a", "after b"]);
    assert_eq!(outcomes(&batch), [("a".into(), CallOutcome::Cancelled), ("b".into(), CallOutcome::Executed)]);
}

#[test]
fn answers_that_nobody_waits_for_are_refused() {
    let mut batch = batch(&[("a", "t")], &[tool("t")]);
    assert!(!batch.decided("a", Ok(None)));
    assert!(!batch.ran("a", answers(json!(1))));
    assert!(!batch.checked("b", Ok(json!({}))));
}
