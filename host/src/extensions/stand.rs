//! One extension on its own, for the tests of its author.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bindings::exports::lathe::extension::hooks as wit;
use super::bindings::exports::lathe::extension::tools::CallContext;
use super::bindings::lathe::extension::types::Hook;
use super::bridge::Bridge;
use super::convert;
use super::extension::Extension;
use super::grant::{Gate, Grant, WorkspaceGrant};
use super::instance::{Instance, guarded};
use super::json::parse;
use super::manifest;
use super::meter::Meter;
use super::network::HostGrant;
use super::pool::Use;
use super::size::Size;
use crate::hooks::{self, Failure};
use crate::turn::Json;

/// The turn that its calls belong to.
const REQUEST: &str = "test";

/// Calls the hooks and tools of one extension with the records of the contract, as JSON, under all of its limits but those
/// over several calls: there is no turn's fuel and no quarantine.
pub struct Stand {
    extension: Arc<Extension>,
    bridge: Arc<dyn Bridge>,
    session: Arc<str>,
    instance: Option<Instance>,
}

/// Why a call on a stand has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StandError {
    /// What was asked is no record of the contract.
    #[error("it is not what the contract has: {0}")]
    Question(String),
    /// The guest's fault.
    #[error("{0}")]
    Failure(#[from] Failure),
    /// The host would leave out parts of the answer.
    #[error("the host leaves out parts of its answer: {}", .0.join("; "))]
    Dropped(Vec<String>),
}

impl Stand {
    /// With `bridge` behind its imports, in a session of that name.
    #[must_use]
    pub fn new(extension: Arc<Extension>, bridge: Arc<dyn Bridge>, session: &str) -> Self {
        Self { extension, bridge, session: session.into(), instance: None }
    }

    /// The grant of an operator who allows so much, given as the contract's `permissions`, with this folder.
    ///
    /// # Errors
    ///
    /// If these are no permissions.
    pub fn grant(permissions: Json, workspace: Option<PathBuf>) -> Result<Grant, StandError> {
        let granted = manifest::permissions(read(permissions)?)
            .map_err(|error| StandError::Question(error.to_string()))?;
        let gate = |hook: &hooks::Hook| match hook {
            hooks::Hook::BeforeStep => Some(Gate::BeforeStep),
            hooks::Hook::BeforeToolCall => Some(Gate::BeforeToolCall),
            hooks::Hook::AfterToolCall => Some(Gate::AfterToolCall),
            _ => None,
        };
        Ok(Grant {
            decide: granted.decide.iter().filter_map(gate).collect(),
            model: granted.model,
            reasons: false,
            workspace: workspace.zip(granted.workspace).map(|(dir, access)| WorkspaceGrant { dir, access }),
            network: granted.network.into_iter().map(HostGrant::new).collect(),
            environment: granted.environment,
            context_read: granted.context_read,
            context_write: granted.context_write,
            messages: granted.messages,
            session_info: granted.session_info,
            send_message: granted.send_message,
        })
    }

    /// Calls a hook: its contract's name with a capital at each word, such as `BeforeTurn`, which also begins a turn with an
    /// instance of its own. The answer is the contract's `result`, as `{"Ok": …}` or `{"Err": "…"}`.
    ///
    /// # Errors
    ///
    /// If the guest fails, or its answer cannot count as it is.
    pub async fn hook(&mut self, hook: &str, snapshot: Json) -> Result<Json, StandError> {
        macro_rules! ask {
            ($type:ty, $hook:ident, $check:expr) => {{
                let snapshot: $type = read(snapshot)?;
                let mut meter = self.meter(snapshot.size());
                let mut instance = self.ready(&mut meter).await?;
                let limits = &self.extension.limits;
                let answer = guarded!(&mut instance, &mut meter, limits, |guest, store| {
                    guest.lathe_extension_hooks().$hook(store, &snapshot)
                })?;
                self.instance = Some(instance);
                // As the host reads it.
                if let Ok(answer) = &answer {
                    $check(&self.extension, answer.clone())?;
                }
                write(&answer)
            }};
        }
        match read(hook.into())? {
            Hook::BeforeTurn => {
                self.instance = None;
                ask!(wit::TurnSnapshot, call_before_turn, turn_config)
            }
            Hook::BeforeStep => ask!(wit::StepSnapshot, call_before_step, step_config),
            Hook::BeforeToolCall => ask!(wit::ToolCallSnapshot, call_before_tool_call, decision),
            Hook::AfterToolCall => ask!(wit::ToolResultSnapshot, call_after_tool_call, tool_override),
            Hook::OnStepFinish => ask!(wit::StepFinishSnapshot, call_on_step_finish, nothing),
            Hook::OnChunk => ask!(Vec<wit::Chunk>, call_on_chunk, nothing),
            Hook::OnChatResponse => ask!(wit::ChatResponseSnapshot, call_on_chat_response, nothing),
            Hook::OnChatError => ask!(wit::ChatErrorSnapshot, call_on_chat_error, nothing),
        }
    }

    /// Calls a tool by the guest's own name of it, in an instance of its own. The answer is the contract's `result`.
    ///
    /// # Errors
    ///
    /// If the guest fails, or its output is no JSON.
    pub async fn tool(&self, name: &str, input: &str, context: Json) -> Result<Json, StandError> {
        let context: CallContext = read(context)?;
        let (name, input) = (name.to_owned(), input.to_owned());
        let limits = &self.extension.limits;
        let mut meter = Meter::new(limits.fuel(input.len()), limits.tool_timeout());
        let mut instance = self.instantiate(Use::Tool, &mut meter).await?;
        let answer = guarded!(&mut instance, &mut meter, limits, |guest, store| {
            guest.lathe_extension_tools().call_call(store, &name, &input, &context)
        })?;
        if let Ok(output) = &answer {
            parse::<Json>(output, limits.json_depth())?;
        }
        write(&answer)
    }

    fn meter(&self, bytes: usize) -> Meter {
        let limits = &self.extension.limits;
        Meter::new(limits.fuel(bytes), limits.hook_timeout())
    }

    /// The turn's instance; a new one after a failure.
    async fn ready(&mut self, meter: &mut Meter) -> Result<Instance, Failure> {
        match self.instance.take() {
            Some(instance) => Ok(instance),
            None => self.instantiate(Use::Turn, meter).await,
        }
    }

    async fn instantiate(&self, of: Use, meter: &mut Meter) -> Result<Instance, Failure> {
        self.extension.instantiate(self.bridge.clone(), self.session.clone(), REQUEST, of, meter).await
    }
}

type Checked = Result<(), StandError>;

fn dropped(dropped: Vec<String>) -> Checked {
    if dropped.is_empty() { Ok(()) } else { Err(StandError::Dropped(dropped)) }
}

fn turn_config(extension: &Extension, config: Option<wit::TurnConfig>) -> Checked {
    let Some(config) = config else { return Ok(()) };
    dropped(convert::patch(config, &extension.grant, extension.limits.json_depth()).dropped)
}

fn step_config(extension: &Extension, config: Option<wit::StepConfig>) -> Checked {
    let Some(config) = config else { return Ok(()) };
    dropped(convert::step_config(config, &extension.grant, extension.limits.json_depth()).1)
}

fn decision(extension: &Extension, decision: Option<wit::ToolDecision>) -> Checked {
    let Some(decision) = decision else { return Ok(()) };
    let Extension { manifest, grant, limits, .. } = extension;
    convert::decision(decision, &manifest.name, grant, limits.json_depth())?;
    Ok(())
}

fn tool_override(extension: &Extension, change: Option<wit::ToolOverride>) -> Checked {
    let Some(change) = change else { return Ok(()) };
    convert::tool_override(&change, extension.limits.json_depth())?;
    Ok(())
}

#[allow(clippy::unnecessary_wraps, reason = "as the others")]
fn nothing(_: &Extension, (): ()) -> Checked {
    Ok(())
}

fn read<T: DeserializeOwned>(question: Json) -> Result<T, StandError> {
    serde_json::from_value(question).map_err(|error| StandError::Question(error.to_string()))
}

fn write(answer: &impl Serialize) -> Result<Json, StandError> {
    serde_json::to_value(answer).map_err(|error| Failure::Malformed(error.to_string()).into())
}
