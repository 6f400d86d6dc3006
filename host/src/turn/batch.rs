//! The tool calls of one step, from the model's answer to the last result.
//!
//! Checks and hooks go in source order, execution in parallel unless a tool of the batch asks to be alone, hooks
//! after it and results in source order again (`or-agent.md` §1.4). Every call ends with exactly one record, but
//! for calls of client tools, which the client answers later.

use serde::{Deserialize, Serialize};

use super::{
    CallOutcome, FinishReason, InvalidInput, Json, ToolCall, ToolDecision, ToolDefinition, ToolError,
    ToolOutput, ToolOverride, ToolRecord,
};

/// The calls of one step and how far each is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Batch {
    sequential: bool,
    calls: Vec<BatchCall>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BatchCall {
    call: ToolCall,
    /// As it would run: checked, and perhaps changed by a hook.
    input: Json,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Stage {
    /// The input is to be checked; `gated` once the hooks have spoken, `approval` if a person is to be asked next.
    Check {
        gated: bool,
        approval: bool,
    },
    Gate,
    Ready,
    /// There is a result, which the hooks have not seen.
    Review(ToolRecord),
    Settled(ToolRecord),
    /// A client will answer, or a person is asked for approval.
    Pending {
        approval: bool,
    },
}

/// What a batch needs done next.
pub(super) enum BatchEffect {
    Check { tool_call_id: String, tool_name: String, input: Json },
    Gate { call: ToolCall, input: Json },
    Run(Vec<ToolRun>),
    Review(ToolRecord),
}

/// A tool call that is to be executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRun {
    /// The call.
    pub tool_call_id: String,
    /// Its tool.
    pub tool_name: String,
    /// The input, checked.
    pub input: Json,
}

/// What came of a [`ToolRun`].
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRan {
    /// What the tool answered.
    pub output: ToolOutput,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// Whether the tool asks to end the turn.
    pub terminate: bool,
    /// What it tells hooks and clients beyond its output.
    pub details: Option<Json>,
}

impl Batch {
    /// Calls of an earlier turn that a person has approved since: they are not asked about again.
    pub(super) fn approved(calls: Vec<ToolCall>, offered: &[ToolDefinition]) -> Self {
        let offered: Vec<ToolDefinition> =
            offered.iter().map(|tool| ToolDefinition { needs_approval: false, ..tool.clone() }).collect();
        Self::new(calls, &offered, FinishReason::ToolCalls)
    }

    /// `offered` are the tools that the model could see in this step.
    pub(super) fn new(calls: Vec<ToolCall>, offered: &[ToolDefinition], finish: FinishReason) -> Self {
        let definition = |call: &ToolCall| offered.iter().find(|tool| tool.name == call.tool_name);
        let sequential = calls.iter().filter_map(definition).any(|tool| tool.sequential);
        let calls = calls
            .into_iter()
            .map(|call| {
                let stage = match definition(&call) {
                    _ if finish == FinishReason::Length => Stage::Review(refused(
                        &call,
                        CallOutcome::Cancelled,
                        "Cancelled",
                        "The answer reached its length limit, so its tool calls were not run. Call the tool again with a shorter answer."
                            .into(),
                    )),
                    None => Stage::Review(refused(&call, CallOutcome::Invalid, "UnknownTool", unknown(&call, offered))),
                    Some(_) if call.malformed.is_some() => {
                        let reason = call.malformed.as_deref().unwrap_or_default();
                        let message = format!("Invalid input for tool \"{}\": {reason}", call.tool_name);
                        Stage::Review(refused(&call, CallOutcome::Invalid, "InvalidInput", message))
                    }
                    Some(tool) if tool.client => Stage::Pending { approval: false },
                    Some(tool) => Stage::Check { gated: false, approval: tool.needs_approval },
                };
                BatchCall { input: call.input.clone(), call, stage }
            })
            .collect();
        Self { sequential, calls }
    }

    /// What is to be done next; none once every call is settled or waits for a client.
    pub(super) fn next(&self) -> Option<BatchEffect> {
        if self.sequential {
            return self.calls.iter().find_map(BatchCall::next);
        }
        if let Some(call) =
            self.calls.iter().find(|call| matches!(call.stage, Stage::Check { .. } | Stage::Gate))
        {
            return call.next();
        }
        let ready: Vec<ToolRun> =
            self.calls.iter().filter(|call| call.stage == Stage::Ready).map(BatchCall::run).collect();
        if !ready.is_empty() {
            return Some(BatchEffect::Run(ready));
        }
        self.calls.iter().find_map(BatchCall::next)
    }

    fn find(&mut self, tool_call_id: &str) -> Option<&mut BatchCall> {
        self.calls.iter_mut().find(|call| call.call.tool_call_id == tool_call_id)
    }

    /// Takes the result of a check. False if the call did not wait for it; so for the ones below.
    pub(super) fn checked(&mut self, tool_call_id: &str, result: Result<Json, InvalidInput>) -> bool {
        let Some(call) = self.find(tool_call_id) else { return false };
        let Stage::Check { gated, approval } = call.stage else { return false };
        match result {
            Ok(input) => {
                call.input = input;
                call.stage = match (approval, gated) {
                    (true, _) => Stage::Pending { approval: true },
                    (false, true) => Stage::Ready,
                    (false, false) => Stage::Gate,
                };
            }
            Err(invalid) => {
                let whose =
                    if gated { "The input that a hook put in place of it does not fit: " } else { "" };
                let message = format!("Invalid input for tool \"{}\": {whose}{invalid}", call.call.tool_name);
                call.stage =
                    Stage::Review(refused(&call.call, CallOutcome::Invalid, "InvalidInput", message));
            }
        }
        true
    }

    pub(super) fn decided(
        &mut self,
        tool_call_id: &str,
        decision: Result<Option<ToolDecision>, ToolError>,
    ) -> bool {
        let Some(call) = self.find(tool_call_id) else { return false };
        if call.stage != Stage::Gate {
            return false;
        }
        let (outcome, output) = match decision {
            Ok(None | Some(ToolDecision::Allow { input: None })) => {
                call.stage = Stage::Ready;
                return true;
            }
            Ok(Some(ToolDecision::Allow { input: Some(input) })) => {
                call.input = input;
                call.stage = Stage::Check { gated: true, approval: false };
                return true;
            }
            Ok(Some(ToolDecision::Block { reason })) => {
                let reason =
                    reason.unwrap_or_else(|| format!("Tool \"{}\" was blocked.", call.call.tool_name));
                (CallOutcome::Blocked, ToolOutput::Output(Json::String(reason)))
            }
            Ok(Some(ToolDecision::Substitute { output })) => {
                (CallOutcome::Substituted, ToolOutput::Output(output))
            }
            Err(error) => (CallOutcome::Failed, ToolOutput::Error(error)),
        };
        let input = call.input.clone();
        call.stage = Stage::Review(ToolRecord { input, ..record(&call.call, outcome, output) });
        true
    }

    pub(super) fn ran(&mut self, tool_call_id: &str, run: ToolRan) -> bool {
        let Some(call) = self.find(tool_call_id) else { return false };
        if call.stage != Stage::Ready {
            return false;
        }
        let ToolRan { output, duration_ms, terminate, details } = run;
        let outcome =
            if matches!(output, ToolOutput::Output(_)) { CallOutcome::Executed } else { CallOutcome::Failed };
        let input = call.input.clone();
        let record = record(&call.call, outcome, output);
        call.stage = Stage::Review(ToolRecord { input, duration_ms, terminate, details, ..record });
        true
    }

    pub(super) fn reviewed(&mut self, tool_call_id: &str, change: &ToolOverride) -> bool {
        let Some(call) = self.find(tool_call_id) else { return false };
        let Stage::Review(record) = &call.stage else { return false };
        let mut record = record.clone();
        record.apply(change);
        call.stage = Stage::Settled(record);
        true
    }

    /// Gives every call that has no result yet the same one: the turn was cancelled. The hooks are still to see them.
    pub(super) fn cancel(&mut self) {
        for call in &mut self.calls {
            if !matches!(call.stage, Stage::Review(_) | Stage::Settled(_)) {
                call.stage = Stage::Review(cancelled(&call.call));
            }
        }
    }

    /// Leaves the results as they are, without showing them to a hook.
    pub(super) fn settle(&mut self) {
        for call in &mut self.calls {
            if let Stage::Review(record) = &call.stage {
                call.stage = Stage::Settled(record.clone());
            }
        }
    }

    /// The results so far, in source order.
    pub(super) fn records(&self) -> Vec<ToolRecord> {
        self.calls
            .iter()
            .filter_map(
                |call| if let Stage::Settled(record) = &call.stage { Some(record.clone()) } else { None },
            )
            .collect()
    }

    /// Whether a call runs, or is about to.
    pub(super) fn is_running(&self, tool_call_id: &str) -> bool {
        self.calls.iter().any(|call| call.call.tool_call_id == tool_call_id && call.stage == Stage::Ready)
    }

    /// The calls that wait for a person's approval.
    pub(super) fn approvals(&self) -> impl Iterator<Item = &ToolCall> {
        let waits = |call: &&BatchCall| call.stage == Stage::Pending { approval: true };
        self.calls.iter().filter(waits).map(|call| &call.call)
    }

    /// Whether a client is still to answer a call.
    pub(super) fn waits_for_client(&self) -> bool {
        self.calls.iter().any(|call| matches!(call.stage, Stage::Pending { .. }))
    }
}

impl BatchCall {
    fn next(&self) -> Option<BatchEffect> {
        Some(match &self.stage {
            Stage::Check { .. } => BatchEffect::Check {
                tool_call_id: self.call.tool_call_id.clone(),
                tool_name: self.call.tool_name.clone(),
                input: self.input.clone(),
            },
            Stage::Gate => BatchEffect::Gate { call: self.call.clone(), input: self.input.clone() },
            Stage::Ready => BatchEffect::Run(vec![self.run()]),
            Stage::Review(record) => BatchEffect::Review(record.clone()),
            Stage::Settled(_) | Stage::Pending { .. } => return None,
        })
    }

    fn run(&self) -> ToolRun {
        ToolRun {
            tool_call_id: self.call.tool_call_id.clone(),
            tool_name: self.call.tool_name.clone(),
            input: self.input.clone(),
        }
    }
}

/// The record of a call that the turn's end left without a result.
pub(super) fn cancelled(call: &ToolCall) -> ToolRecord {
    refused(call, CallOutcome::Cancelled, "Cancelled", "The turn ended before this call had a result.".into())
}

fn record(call: &ToolCall, outcome: CallOutcome, output: ToolOutput) -> ToolRecord {
    ToolRecord {
        call: call.clone(),
        input: call.input.clone(),
        outcome,
        output,
        duration_ms: 0.0,
        terminate: false,
        details: None,
    }
}

fn refused(call: &ToolCall, outcome: CallOutcome, name: &str, message: String) -> ToolRecord {
    record(call, outcome, ToolOutput::Error(ToolError::named(name, message)))
}

fn unknown(call: &ToolCall, offered: &[ToolDefinition]) -> String {
    let names: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
    if names.is_empty() {
        format!("There is no tool \"{}\"; no tools are available.", call.tool_name)
    } else {
        format!("There is no tool \"{}\". Available tools: {}.", call.tool_name, names.join(", "))
    }
}

#[cfg(test)]
mod tests {
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
    fn play(
        batch: &mut Batch,
        decide: impl Fn(&str) -> Result<Option<ToolDecision>, ToolError>,
    ) -> Vec<String> {
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
        assert_eq!(
            seen,
            ["check a", "before a", "run a", "after a", "check b", "before b", "run b", "after b"]
        );
    }

    #[test]
    fn unknown_tools_and_malformed_inputs_are_answered_without_a_hook_before() {
        let mut calls = vec![call("a", "nope"), call("b", "t"), call("c", "t")];
        calls[1].malformed = Some("not JSON".into());
        let mut batch = Batch::new(calls, &[tool("t")], FinishReason::ToolCalls);
        assert_eq!(
            play(&mut batch, allow),
            ["check c", "before c", "run c", "after a", "after b", "after c"]
        );
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
        let mut approved = Batch::approved(vec![call("a", "pay")], &[careful]);
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
        assert_eq!(
            outcomes(&batch),
            [("a".into(), CallOutcome::Cancelled), ("b".into(), CallOutcome::Executed)]
        );
    }

    #[test]
    fn answers_that_nobody_waits_for_are_refused() {
        let mut batch = batch(&[("a", "t")], &[tool("t")]);
        assert!(!batch.decided("a", Ok(None)));
        assert!(!batch.ran("a", answers(json!(1))));
        assert!(!batch.checked("b", Ok(json!({}))));
    }
}
