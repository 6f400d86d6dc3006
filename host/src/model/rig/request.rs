//! A request, as rig takes it.

use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{Message, ToolChoice};
use rig_core::schemars::Schema;

use super::super::registry::ProviderKind;
use super::super::{ModelCall, ModelError, ModelErrorKind};
use super::history::{History, tool_named};
use super::{RigModel, settings};
use crate::turn::{CallSettings, Json, ToolChoice as Choice};

/// What is asked of `model`.
///
/// # Errors
///
/// When a tool has no name, or the output's schema is not one.
pub(super) fn build(model: &RigModel, call: ModelCall) -> Result<CompletionRequest, ModelError> {
    let ModelCall { system, messages, tools, tool_choice, settings } = call;
    let mut history = History::new(model.kind, &model.keeper, model.wire.target());
    if let Some(system) = system {
        history.system(&system);
    }
    for message in messages {
        history.push(message)?;
    }
    let mut request = CompletionRequest::from(history.into_messages());
    if !request.chat_history.iter().any(|message| !matches!(message, Message::System { .. })) {
        let message = "there is nothing to ask: the conversation holds no message with content";
        return Err(ModelError::new(ModelErrorKind::InvalidRequest, message));
    }
    for tool in tools {
        let tool = ToolDefinition::new(tool_named(&tool.name)?, tool.description, tool.input_schema);
        request.tools.push(tool);
    }
    if !request.tools.is_empty() {
        request.tool_choice = match tool_choice {
            // Every provider's own default.
            Choice::Auto => None,
            Choice::None => Some(ToolChoice::None),
            Choice::Required => Some(ToolChoice::Required),
            Choice::Tool { tool_name } => {
                Some(ToolChoice::Specific { function_names: vec![tool_named(&tool_name)?] })
            }
        };
    }
    request.temperature = settings.temperature;
    request.max_tokens = settings.max_output_tokens.map(u64::from);
    request.options = settings::options(model.kind, &settings);
    request.output_schema = schema(model.kind, &settings)?;
    let mut body = settings::body(model.kind, model.own_openai, &settings);
    for key in option_keys(model) {
        if let Some(Json::Object(options)) = settings.provider_options.get(key) {
            settings::merge(&mut body, options);
        }
    }
    request.additional_params = (!body.is_empty()).then_some(Json::Object(body));
    Ok(request)
}

/// The providers whose options these are, the most particular last.
fn option_keys(model: &RigModel) -> Vec<&str> {
    let mut keys = match model.kind {
        // A chat server takes what is meant for it, not what is meant for OpenAI.
        ProviderKind::Openai => vec![],
        ProviderKind::OpenaiResponses => vec!["openai"],
        ProviderKind::Anthropic => vec!["anthropic"],
        ProviderKind::Gemini => vec!["google", "gemini"],
    };
    keys.retain(|key| *key != model.provider);
    keys.push(&model.provider);
    keys
}

/// The schema where rig fits it to the provider; elsewhere it is one of the settings.
fn schema(kind: ProviderKind, settings: &CallSettings) -> Result<Option<Schema>, ModelError> {
    if !matches!(kind, ProviderKind::Anthropic | ProviderKind::Gemini) {
        return Ok(None);
    }
    settings.output.clone().map(Schema::try_from).transpose().map_err(|_| {
        ModelError::new(
            ModelErrorKind::InvalidRequest,
            "the output's schema is neither an object nor a boolean",
        )
    })
}
