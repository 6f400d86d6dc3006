//! What whoever attends to a session for clients needs, beside what everybody may do.

use tokio::sync::mpsc;

use super::{EntryError, Session, SessionError};
use crate::driver::EventSender;
use crate::hooks::ChatErrorContext;
use crate::recovery::Incident;
use crate::store::Unfinished;
use crate::turn::{ChatStage, ToolDefinition};

/// A turn that an earlier process has left.
pub(crate) struct Left {
    pub(crate) turn: Unfinished,
    /// Whether it had been interrupted before.
    pub(crate) interrupted: bool,
    /// Whether it is time for the next attempt, if one was decided on.
    pub(crate) due: Option<bool>,
}

impl Session {
    /// Takes up what an earlier process has left. Once.
    pub(crate) async fn wake(&self) -> Result<(), SessionError> {
        Ok(self.live.resume().await?)
    }

    /// Whether something of an earlier process waits to be taken up.
    pub(crate) fn sleeps(&self) -> bool {
        !self.live.resumed.initialized() && !self.live.left.lock().is_empty()
    }

    /// Tells the hooks of a request that could not be read.
    pub(crate) fn refused(&self, request_id: &str, error: &str) {
        let live = &*self.live;
        let events = EventSender {
            request_id: request_id.to_owned(),
            name: live.conversation.name.clone(),
            bridge: live.setup.bridge.clone(),
            turn: mpsc::unbounded_channel().0,
            session: live.watchers.clone(),
        };
        let dispatcher = live.setup.dispatcher(&live.setup.active(), &live.conversation.name, &events);
        let told = dispatcher.on_chat_error(ChatErrorContext {
            request_id: Some(request_id),
            stage: ChatStage::Parse,
            message: error,
            classification: None,
            messages_persisted: false,
        });
        tracing::warn!(session = live.conversation.name, request_id, "a request cannot be read: {told}");
        tokio::spawn(async move { dispatcher.flush().await });
    }

    /// Takes the tools that a client runs, for the turns that come.
    pub(crate) async fn set_client_tools(&self, tools: Vec<ToolDefinition>) -> Result<(), EntryError> {
        Ok(self.store().set_client_tools(self.name(), tools).await?)
    }

    /// What was noted of the session under a key.
    pub(crate) async fn noted(&self, key: &str) -> Result<Option<String>, EntryError> {
        Ok(self.store().noted(self.name(), key).await?)
    }

    /// Notes something of the session, or forgets it.
    pub(crate) async fn note(&self, key: &str, text: Option<&str>) -> Result<(), EntryError> {
        Ok(self.store().set_noted(self.name(), key, text).await?)
    }

    /// The turns that an earlier process has left, unless they are taken up.
    pub(crate) async fn left(&self) -> Result<Vec<Left>, SessionError> {
        let left = self.live.left.lock().clone();
        let mut turns = Vec::new();
        for turn in left {
            let (incident, now) = self.store().incident(self.name(), &turn.record.root_request_id).await?;
            let incident: Option<Incident> =
                incident.and_then(|incident| serde_json::from_str(&incident).ok());
            let waiting = incident.as_ref().and_then(|incident| incident.waiting);
            let due = waiting.map(|waiting| waiting.left_ms(now) == 0);
            turns.push(Left { turn, interrupted: incident.is_some(), due });
        }
        Ok(turns)
    }
}
