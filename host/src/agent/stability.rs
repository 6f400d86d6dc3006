//! Whether a session is at rest (`think.md` §4.9).

use std::time::Duration;

use tokio::time::Instant;

use super::{EntryError, Session};
use crate::turn::{ToolState, UiRole};

/// How often a session that is not at rest is looked at again: 20 ms, well below the pause in which answers are gathered.
const LOOK: Duration = Duration::from_millis(20);

impl Session {
    /// Whether a call of the last answer waits for a person's approval, or for a client to run it.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn has_pending_interaction(&self) -> Result<bool, EntryError> {
        let messages = self.messages().await?;
        let Some(last) = messages.last().filter(|last| last.role == UiRole::Assistant) else {
            return Ok(false);
        };
        Ok(last.tools().any(|tool| match tool.state {
            ToolState::ApprovalRequested => true,
            ToolState::InputAvailable => {
                let own = self.live.setup.active();
                own.all_tools.get(&tool.tool_name).is_none_or(|tool| tool.definition().client)
            }
            _ => false,
        }))
    }

    /// Waits until no turn runs or waits and nothing goes on by itself. False if that takes longer than `timeout`.
    pub async fn wait_until_stable(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        while self.live.turns.is_busy() || self.live.continuation.is_armed() {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(LOOK).await;
        }
        true
    }
}
