use serde::{Deserialize, Serialize};

use super::{CallSettings, ModelMessage, Role, ToolChoice, ToolDefinition, TurnMachine, UiMessage};

/// One request to a model (AI SDK `LanguageModelV3CallOptions`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelCall {
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// The tools on offer.
    pub tools: Vec<ToolDefinition>,
    /// How the model may use them.
    pub tool_choice: ToolChoice,
    /// The settings of the turn.
    #[serde(flatten)]
    pub settings: CallSettings,
}

impl TurnMachine {
    /// The id of the model that the step asks.
    #[must_use]
    pub fn model(&self) -> &str {
        self.step_config().model.as_ref().or(self.config().model.as_ref()).unwrap_or(&self.assembly().model)
    }

    /// The system prompt of the step.
    #[must_use]
    pub fn system(&self) -> &str {
        let turn = self.config().instructions.as_ref().or(self.config().system.as_ref());
        self.step_config().system.as_ref().or(turn).unwrap_or(&self.assembly().system)
    }

    /// The tools on offer in the step.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolDefinition> {
        let active = self.step_config().active_tools.as_ref().or(self.config().active_tools.as_ref());
        let offered = |tool: &&ToolDefinition| active.is_none_or(|names| names.contains(&tool.name));
        let wanted = self.config().tools.as_deref().unwrap_or_default();
        let reserve = self.assembly().reserve.iter().filter(|tool| wanted.contains(&tool.name));
        self.assembly().tools.iter().chain(reserve).filter(offered).cloned().collect()
    }

    /// The conversation as the step's request holds it; while tools run, with the answer that called them.
    #[must_use]
    pub fn messages(&self) -> Vec<ModelMessage> {
        if let Some(messages) = &self.step_config().messages
            && !self.runs_tools()
        {
            return messages.clone();
        }
        let mut messages = self.config().messages.clone().unwrap_or_else(|| self.assembly().messages.clone());
        // Where the user speaks next there is nothing to ask for.
        let next = self.steps().get(self.shown_from());
        if next.map_or(self.taken(), |step| step.taken.as_ref()).is_none() {
            end_with_user(&mut messages);
        }
        for step in self.steps().iter().skip(self.shown_from()) {
            step.push_messages(&mut messages);
        }
        if let Some(step) = self.steps().last().filter(|_| self.runs_tools()) {
            step.push_open_calls(&mut messages);
        }
        messages
            .extend(self.taken().into_iter().flat_map(|taken| &taken.messages).flat_map(UiMessage::to_model));
        messages
    }

    /// The request of the step.
    #[must_use]
    pub fn model_call(&self) -> ModelCall {
        let system = self.system();
        let mut call = ModelCall {
            system: (!system.is_empty()).then(|| system.to_owned()),
            messages: self.messages(),
            tools: self.tools(),
            tool_choice: self
                .step_config()
                .tool_choice
                .clone()
                .or(self.config().tool_choice.clone())
                .unwrap_or_default(),
            settings: self.config().settings.clone(),
        };
        end_with_user(&mut call.messages);
        call
    }
}

impl ModelCall {
    /// Sees to it that a provider takes it, whatever hooks have made of its messages.
    pub fn end_with_user(&mut self) {
        end_with_user(&mut self.messages);
    }
}

/// Providers refuse a conversation that ends with their own words: such a one gets a user's message that asks to go on, for
/// this turn's requests alone (`think.md` §1.4).
fn end_with_user(messages: &mut Vec<ModelMessage>) {
    if messages.last().is_some_and(|message| message.role == Role::Assistant) {
        messages.push(ModelMessage::text(Role::User, CONTINUE));
    }
}

/// What the model is told when a turn goes on after its own words.
const CONTINUE: &str =
    "Continue your previous response from exactly where it left off. Do not repeat any of it.";
