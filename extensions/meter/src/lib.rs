//! Counts what happens in turns, and reports the totals.

mod counts;
mod report;

use counts::Counts;
use lathe_guest::prelude::*;
use report::{Report, Totals};

/// The counts of one turn; the totals are in the storage.
#[derive(Default)]
struct Meter {
    counts: Counts,
    failed: bool,
}

#[extension]
impl Extension for Meter {
    fn tools() -> Tools<Self> {
        Tools::new().with(Tool::new("report", Self::report).replay_safe())
    }

    fn before_turn(&mut self, _: TurnSnapshot) -> Result<Option<TurnConfig>> {
        self.counts.add("turns", 1);
        Ok(None)
    }

    fn before_step(&mut self, _: StepSnapshot) -> Result<Option<StepConfig>> {
        self.counts.add("modelRequests", 1);
        Ok(None)
    }

    fn before_tool_call(&mut self, call: ToolCall) -> Result<Option<ToolDecision>> {
        self.counts.add("toolCalls", 1);
        self.counts.add_tool(&call.tool_name);
        Ok(None)
    }

    fn after_tool_call(&mut self, call: ToolResult) -> Result<Option<ToolOverride>> {
        if matches!(call.outcome, ToolOutcome::Failed | ToolOutcome::Invalid) {
            self.counts.add("failedToolCalls", 1);
        }
        Ok(None)
    }

    fn on_step_finish(&mut self, step: StepFinish) -> Result<()> {
        self.counts.add("steps", 1);
        self.counts.add_tokens(&step.usage);
        self.counts.save()
    }

    fn on_chunk(&mut self, chunks: Vec<Chunk>) -> Result<()> {
        self.counts.add("chunks", u64::try_from(chunks.len())?);
        Ok(())
    }

    fn on_chat_response(&mut self, response: ChatResponse) -> Result<()> {
        if response.status == TurnStatus::Error {
            self.fail();
        }
        log::info!("turn {}: {}", response.request_id, self.counts);
        self.counts.save()
    }

    fn on_chat_error(&mut self, _: ChatError) -> Result<()> {
        self.fail();
        self.counts.save()
    }
}

impl Meter {
    /// A failed turn may come by twice, as an error and as a response.
    fn fail(&mut self) {
        if !self.failed {
            self.failed = true;
            self.counts.add("errors", 1);
        }
    }

    /// In another instance than the hooks: all it knows is in the storage.
    fn report(&mut self, _: Report) -> Result<Totals> {
        Totals::read()
    }
}

#[cfg(test)]
mod tests;
