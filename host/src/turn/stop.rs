use serde::{Deserialize, Serialize};

use super::StepRecord;

/// A condition that ends a turn after a step (AI SDK `stopWhen`). For anything else there is the hook
/// `should_stop_after_step`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StopCondition {
    /// The turn has taken that many steps (AI SDK `stepCountIs`).
    StepCount {
        /// At least 1.
        steps: u32,
    },
    /// The last step called that tool (AI SDK `hasToolCall`).
    ToolCall {
        /// Its full name.
        tool_name: String,
    },
}

impl StopCondition {
    /// Whether it is met after these steps.
    #[must_use]
    pub fn is_met(&self, steps: &[StepRecord]) -> bool {
        match self {
            Self::StepCount { steps: limit } => steps.len() >= usize::try_from(*limit).unwrap_or(usize::MAX),
            Self::ToolCall { tool_name } => steps
                .last()
                .is_some_and(|step| step.answer.tool_calls().any(|call| call.tool_name == *tool_name)),
        }
    }
}
