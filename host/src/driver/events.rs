use std::sync::Arc;

use serde::Serialize;
use tokio::sync::mpsc;

use super::{ChatEvent, Watchers};
use crate::extensions::{Bridge, LogLevel, LogRecord, LogSource};
use crate::hooks::{Condition, ConfigChanges, Events, HealthChange, HookCall, ToolCost};
use crate::turn::{Chunk, Trigger, TurnStatus, UiMessage};

/// What can be seen of a turn while it runs. In JSON each has a `type`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TurnEvent {
    /// A part of the answer's stream.
    Chunk(Chunk),
    /// A hook of an extension was called: `hook-call`.
    HookCall(HookCall),
    /// Built-in hooks have set something of the turn's config: `config-change`.
    ConfigChange(ConfigChanges),
    /// A tool of an extension was called: `tool-cost`.
    ToolCost(ToolCost),
    /// An extension was set aside, or is well again: `extension-health`.
    Health(HealthChange),
    /// A model request failed for a passing reason and is made again: `retry`.
    Retry(Retry),
    /// The transcript has changed beside the answer: `user-message`, `message-updated`.
    Transcript(TranscriptEvent),
    /// Something that operators want to know: `chat:…`, `submission:…`.
    Chat(ChatEvent),
}

/// A new attempt at a model request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "retry", rename_all = "camelCase")]
pub struct Retry {
    /// The attempt that comes, from 2.
    pub attempt: u32,
    /// The wait before it, in milliseconds.
    pub delay_ms: u64,
    /// Why the one before it failed.
    pub error: String,
}

/// A change of the transcript beside the answer that is being written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum TranscriptEvent {
    /// A waiting message of the user was taken up.
    UserMessage {
        /// As stored.
        message: UiMessage,
    },
    /// The messages that the turn has brought are stored.
    Arrived {
        /// As stored.
        messages: Vec<UiMessage>,
    },
    /// A stored message has changed: a tool call of it has been answered.
    MessageUpdated {
        /// As stored now.
        message: UiMessage,
    },
}

/// What can be seen of a session: all its turns, whoever has begun them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    /// A turn has begun; it may have waited before.
    TurnStarted {
        /// The host's id of the turn.
        request_id: String,
        /// What made it start.
        trigger: Trigger,
        /// True if it goes on without a new user message.
        continuation: bool,
        /// The user's messages of the client's request that it answers; none if no client has asked.
        message_ids: Vec<String>,
    },
    /// Something of a turn.
    Turn {
        /// The host's id of the turn.
        request_id: String,
        /// What.
        event: TurnEvent,
    },
    /// A turn is over, or was skipped.
    TurnEnded {
        /// The host's id of the turn.
        request_id: String,
        /// In one word.
        status: TurnStatus,
        /// What happened, with [`TurnStatus::Error`].
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Something that operators want to know, outside a turn.
    Chat {
        /// What.
        event: ChatEvent,
    },
    /// The transcript has changed outside a turn.
    Transcript {
        /// How.
        event: TranscriptEvent,
    },
}

/// Where a turn's events go: to whoever began it, and to all who watch the session. Nobody need listen.
#[derive(Clone)]
pub(crate) struct EventSender {
    pub(crate) request_id: String,
    /// The session's.
    pub(crate) name: String,
    /// Keeps what extensions fail with.
    pub(crate) bridge: Arc<dyn Bridge>,
    pub(crate) turn: mpsc::UnboundedSender<TurnEvent>,
    pub(crate) session: Watchers,
}

impl EventSender {
    pub(crate) fn send(&self, event: TurnEvent) {
        if !self.session.is_empty() {
            let request_id = self.request_id.clone();
            self.session.tell(SessionEvent::Turn { request_id, event: event.clone() });
        }
        let _ = self.turn.send(event);
    }

    /// Tells operators.
    pub(crate) fn chat(&self, event: ChatEvent) {
        event.log(&self.name);
        self.send(TurnEvent::Chat(event));
    }

    /// Puts a line into an extension's log.
    fn log(&self, extension: &str, level: LogLevel, failure: Option<&str>, message: String) {
        let record = LogRecord {
            level,
            source: LogSource::Host,
            session: self.name.clone(),
            request_id: self.request_id.clone(),
            failure: failure.map(str::to_owned),
            message,
        };
        self.bridge.log(extension, record);
    }
}

impl Events for EventSender {
    fn hook_called(&self, call: HookCall) {
        let HookCall { extension, hook, .. } = &call;
        if let Some(error) = &call.error {
            let message = format!("{} failed: {error}", hook.name());
            self.log(extension, LogLevel::Error, call.failure, message);
        }
        for dropped in &call.dropped {
            self.log(
                extension,
                LogLevel::Warn,
                None,
                format!("a field of its answer to {} was dropped: {dropped}", hook.name()),
            );
        }
        self.send(TurnEvent::HookCall(call));
    }

    fn config_changed(&self, changes: ConfigChanges) {
        self.send(TurnEvent::ConfigChange(changes));
    }

    fn tool_called(&self, cost: ToolCost) {
        if let Some(error) = &cost.error {
            let message = format!("the tool {} failed: {error}", cost.tool_name);
            self.log(&cost.extension, LogLevel::Error, cost.failure, message);
        }
        self.send(TurnEvent::ToolCost(cost));
    }

    fn health_changed(&self, change: HealthChange) {
        let (level, message) = match change.health {
            Condition::Ready => (LogLevel::Info, "well again".to_owned()),
            Condition::Probing => (LogLevel::Info, "its quarantine is over: one call tries it".to_owned()),
            Condition::Quarantined => {
                let seconds = change.quarantine_ms.unwrap_or_default().div_ceil(1_000);
                (LogLevel::Error, format!("in quarantine for {seconds} s"))
            }
        };
        self.log(&change.extension, level, None, message);
        self.send(TurnEvent::Health(change));
    }
}
