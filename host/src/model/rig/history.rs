//! The conversation, as rig takes it.

use rig_core::completion::ReplayTarget;
use rig_core::message::{
    AssistantContent, AssistantMessage, Message, Opaque, Origin, Reasoning, StopReason, Text, ToolCall,
    ToolFunction, ToolName, ToolResult, ToolResultContent, UserContent,
};

use super::super::registry::ProviderKind;
use super::super::{ModelError, ModelErrorKind};
use super::ids::SentIds;
use super::media;
use super::metadata::Keeper;
use crate::turn::{ModelMessage, Part, ResultOutput, Role};

/// Builds messages, oldest first.
pub(super) struct History<'a> {
    keeper: &'a Keeper,
    origin: Origin,
    ids: SentIds,
    messages: Vec<Message>,
}

impl<'a> History<'a> {
    pub(super) fn new(kind: ProviderKind, keeper: &'a Keeper, target: &dyn ReplayTarget) -> Self {
        let origin = Origin::new(target.api(), target.provider(), target.model());
        Self { keeper, origin, ids: SentIds::new(kind), messages: Vec::new() }
    }

    /// Everything pushed.
    pub(super) fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    /// Adds instructions.
    pub(super) fn system(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.messages.push(Message::system(text));
        }
    }

    /// Adds a message; one with nothing to say is left out, as providers refuse it.
    ///
    /// # Errors
    ///
    /// When a tool has no name.
    pub(super) fn push(&mut self, message: ModelMessage) -> Result<(), ModelError> {
        match message.role {
            Role::System => {
                let texts = message.content.iter().filter_map(|part| match part {
                    Part::Text { text, .. } => Some(text.as_str()),
                    _ => None,
                });
                self.system(&texts.collect::<Vec<_>>().join("\n\n"));
            }
            Role::User | Role::Tool => {
                let mut content = Vec::new();
                for part in message.content {
                    content.extend(self.user_part(part)?);
                }
                if !content.is_empty() {
                    self.messages.push(Message::User { content });
                }
            }
            Role::Assistant => self.assistant(message.content)?,
        }
        Ok(())
    }

    fn user_part(&self, part: Part) -> Result<Option<UserContent>, ModelError> {
        Ok(match part {
            Part::Text { text, .. } => (!text.is_empty()).then(|| UserContent::text(text)),
            Part::File { media_type, url, .. } => Some(media::content(&media_type, &url)),
            Part::ToolResult { tool_call_id, tool_name, output } => {
                let is_error = matches!(output, ResultOutput::ErrorText(_));
                let content = match output {
                    ResultOutput::Json(value) => ToolResultContent::Json { value },
                    ResultOutput::Text(text) | ResultOutput::ErrorText(text) => ToolResultContent::text(text),
                };
                let (call, name) = (self.ids.result(&tool_call_id), tool_named(&tool_name)?);
                Some(UserContent::ToolResult(ToolResult { call, name, content: vec![content], is_error }))
            }
            Part::Reasoning { .. } | Part::ToolCall { .. } => None,
        })
    }

    fn assistant(&mut self, parts: Vec<Part>) -> Result<(), ModelError> {
        let mut content = Vec::new();
        for part in parts {
            content.extend(self.assistant_part(part)?);
        }
        if content.is_empty() {
            return Ok(());
        }
        let calls = content.iter().any(|part| matches!(part, AssistantContent::ToolCall(_)));
        let stop = if calls { StopReason::ToolUse } else { StopReason::Stop };
        // Of this model, so that rig sends the provider's items back and nothing of another's is in them.
        let turn = AssistantMessage::new(content).with_origin(self.origin.clone()).with_stop(stop);
        self.messages.push(Message::Assistant(turn));
        Ok(())
    }

    fn assistant_part(&mut self, part: Part) -> Result<Option<AssistantContent>, ModelError> {
        let (content, options) = match part {
            Part::Text { text, provider_options } => {
                if text.is_empty() && provider_options.is_none() {
                    return Ok(None);
                }
                (AssistantContent::Text(Text::new(text)), provider_options)
            }
            Part::Reasoning { text, provider_options } => {
                if let Some(item) = self.keeper.item(provider_options.as_ref()) {
                    return Ok(Some(AssistantContent::Opaque(Opaque { item, replay: true })));
                }
                let kept = self.keeper.kept(provider_options.as_ref());
                let mut reasoning = Reasoning::new(text);
                reasoning.redacted = kept.is_some_and(|kept| kept.contains_key("redactedData"));
                let content = AssistantContent::Reasoning(reasoning);
                // Without the provider's own item no model takes reasoning back.
                let item = self.keeper.unpack(&content, provider_options.as_ref());
                return Ok(item.map(|item| content.with_native(item)));
            }
            Part::ToolCall { tool_call_id, tool_name, input, provider_options } => {
                let own = self.keeper.call_id(provider_options.as_ref());
                let id = self.ids.call(&tool_call_id, own);
                let function = ToolFunction::new(tool_named(&tool_name)?, input);
                (AssistantContent::ToolCall(ToolCall::new(id, function)), provider_options)
            }
            Part::File { media_type, url, .. } => {
                let UserContent::Image(image) = media::content(&media_type, &url) else { return Ok(None) };
                return Ok(Some(AssistantContent::Image(image)));
            }
            Part::ToolResult { .. } => return Ok(None),
        };
        Ok(Some(match self.keeper.unpack(&content, options.as_ref()) {
            Some(item) => content.with_native(item),
            None => content,
        }))
    }
}

/// A tool's name, which must not be empty.
pub(super) fn tool_named(name: &str) -> Result<ToolName, ModelError> {
    ToolName::new(name).map_err(|_| ModelError::new(ModelErrorKind::InvalidRequest, "a tool has no name"))
}
