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

/// A call whose tool has run and whose result no hook has seen yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RanCall {
    /// The call.
    pub tool_call_id: String,
    /// What came of it.
    pub ran: ToolRan,
}

/// What came of a [`ToolRun`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// Calls of an earlier turn that a person has approved since: they are not asked about again. Those that have run
    /// already do not run again: the hooks are still to see their results.
    pub(super) fn approved(calls: Vec<ToolCall>, ran: Vec<RanCall>, offered: &[ToolDefinition]) -> Self {
        let offered: Vec<ToolDefinition> =
            offered.iter().map(|tool| ToolDefinition { needs_approval: false, ..tool.clone() }).collect();
        let mut batch = Self::new(calls, &offered, FinishReason::ToolCalls);
        for RanCall { tool_call_id, ran } in ran {
            if let Some(call) = batch.find(&tool_call_id) {
                call.stage = Stage::Ready;
            }
            batch.ran(&tool_call_id, ran);
        }
        batch
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
mod tests;
