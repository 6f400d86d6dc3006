//! The tool calls of a step: the hooks around them, and running them.

use std::collections::HashMap;

use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ask::Stopped;
use super::{TurnDriver, tools};
use crate::hooks::{HookError, ToolCallContext, ToolResultContext};
use crate::store::StoreError;
use crate::tools::CallContext;
use crate::turn::{
    Answer, Chunk, Json, Outcome, RanCall, ToolCall, ToolOutput, ToolRecord, ToolRun, ToolState,
};

impl TurnDriver {
    pub(super) async fn before_tool_call(&mut self, call: ToolCall, input: Json) -> Outcome {
        if let Err(error) = self.start().await {
            return Outcome::Failed(error.to_string());
        }
        let messages = self.machine.messages();
        let context = ToolCallContext {
            request_id: &self.machine.start().request_id,
            step_number: self.machine.step_number(),
            call: &call,
            input: &input,
            dynamic: self.is_dynamic(&call.tool_name),
            messages: &messages,
            cancelled: &self.cancel,
        };
        let decision = self.dispatcher.before_tool_call(context).await;
        Outcome::ToolDecided(call.tool_call_id, decision)
    }

    fn is_dynamic(&self, tool_name: &str) -> bool {
        self.input.active.all_tools.get(tool_name).is_some_and(|tool| tool.definition().dynamic)
    }

    /// Notes, before approved calls run, that they do: after a crash they must not run again.
    pub(super) async fn begin_approved(&self, runs: &[ToolRun]) -> Result<(), StoreError> {
        let _tail = self.conversation.answers.tail.lock().await;
        let session = &self.conversation.name;
        let mut history = self.setup.store.messages(session).await?;
        let Some(message) = history.last_mut() else { return Ok(()) };
        for tool in message.tools_mut() {
            let runs = runs.iter().any(|run| run.tool_call_id == tool.tool_call_id);
            if runs && tool.state == ToolState::ApprovalResponded {
                tool.state = ToolState::InputAvailable;
            }
        }
        self.setup.store.put(session, message, None).await
    }

    /// Runs them all, and applies what each comes to as it ends. An outcome is left if the turn is to stop.
    pub(super) async fn run_tools(&mut self, runs: Vec<ToolRun>) -> Option<Outcome> {
        let names: HashMap<String, String> =
            runs.iter().map(|run| (run.tool_call_id.clone(), run.tool_name.clone())).collect();
        let (sender, mut progress) = mpsc::unbounded_channel();
        let runs = runs.into_iter().map(|run| {
            let (sender, id) = (sender.clone(), run.tool_call_id.clone());
            let context = CallContext::new(
                &*self.conversation.name,
                &*self.machine.start().request_id,
                &*self.record().start.message_id,
                self.machine.step_number(),
                &*run.tool_call_id,
                self.cancel.clone(),
                move |output| drop(sender.send((id.clone(), output))),
            );
            (run, context)
        });
        let mut running = tools::run(&self.input.active.all_tools, runs.collect(), self.setup.trace_content);
        // Set once the turn is cancelled: until then what tools still return is heard.
        let mut patience = None;
        loop {
            let stopped = async {
                match patience {
                    Some(until) => {
                        tokio::time::sleep_until(until).await;
                        None
                    }
                    None => Some(self.stopped().await),
                }
            };
            let ran = tokio::select! {
                biased;
                Some((id, output)) = progress.recv() => {
                    if let Err(error) = self.show_progress(&names, id, output).await {
                        return Some(Outcome::Failed(error.to_string()));
                    }
                    continue;
                }
                ran = running.next() => ran?,
                stopped = stopped => match stopped {
                    Some(Stopped::Cancelled) => {
                        patience = Some(Instant::now() + tools::GRACE);
                        continue;
                    }
                    Some(stopped @ Stopped::Stalled(_)) if self.setup.recovery.is_some() => {
                        return Some(self.cut_off(stopped, Answer::default()));
                    }
                    Some(stopped) => return stopped.error().map(Outcome::Failed),
                    None => return Some(Outcome::Aborted(Answer::default())),
                },
            };
            // What a tool said before it returned comes before its result.
            while let Ok((id, output)) = progress.try_recv() {
                if let Err(error) = self.show_progress(&names, id, output).await {
                    return Some(Outcome::Failed(error.to_string()));
                }
            }
            if let Outcome::ToolRan { tool_call_id, ran } = &ran {
                self.journal.ran(&RanCall { tool_call_id: tool_call_id.clone(), ran: ran.clone() });
            }
            self.apply(ran);
        }
    }

    /// Shows how far a tool has got; not for a call that has its result.
    async fn show_progress(
        &self,
        names: &HashMap<String, String>,
        tool_call_id: String,
        output: Json,
    ) -> Result<(), HookError> {
        let Some(tool_name) = names.get(&tool_call_id).filter(|_| self.machine.is_running(&tool_call_id))
        else {
            return Ok(());
        };
        let tool_name = tool_name.clone();
        self.show(Chunk::ToolResult { tool_call_id, tool_name, output, preliminary: true, details: None })
            .await
    }

    pub(super) async fn after_tool_call(&mut self, record: &ToolRecord) -> Outcome {
        if let Err(error) = self.start().await {
            return Outcome::Failed(error.to_string());
        }
        let messages = self.machine.messages();
        let context = ToolResultContext {
            request_id: &self.machine.start().request_id,
            step_number: self.machine.step_number(),
            record,
            dynamic: self.is_dynamic(&record.call.tool_name),
            messages: &messages,
        };
        let change = self.dispatcher.after_tool_call(context).await;
        Outcome::ToolReviewed(record.call.tool_call_id.clone(), change)
    }

    /// Shows the result of a call, as the hooks left it.
    pub(super) async fn show_record(&self, tool_call_id: &str) -> Result<(), HookError> {
        match self.machine.record(tool_call_id) {
            Some(record) => self.show_result(record).await,
            None => Ok(()),
        }
    }

    pub(super) async fn show_result(&self, record: ToolRecord) -> Result<(), HookError> {
        let tool_call_id = record.call.tool_call_id;
        let tool_name = record.call.tool_name;
        let details = record.details;
        self.show(match record.output {
            ToolOutput::Output(output) => {
                Chunk::ToolResult { tool_call_id, tool_name, output, preliminary: false, details }
            }
            ToolOutput::Error(error) => Chunk::ToolError { tool_call_id, tool_name, error },
        })
        .await
    }
}
