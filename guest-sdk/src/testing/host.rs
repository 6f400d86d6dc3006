use std::cell::RefCell;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::STATE;
use super::call::Call;
use super::reply::Reply;
use super::rights::Rights;
use super::sandbox::Sandbox;
use super::state::{Record, State};
use crate::bindings::exports::lathe::extension::hooks::Guest as _;
use crate::bindings::exports::lathe::extension::tools::{self, Guest as _};
use crate::call::{ToolCall, ToolDecision, ToolOverride, ToolResult};
use crate::chat::{ChatError, ChatResponse, Chunk};
use crate::error::{Error, Result, ToolError};
use crate::guest::{Component, Registered};
use crate::manifest::{self, Hook, Manifest, Permissions};
use crate::messages::Message;
use crate::step::{StepConfig, StepFinish, StepSnapshot};
use crate::tools::CallContext;
use crate::turn::{TurnConfig, TurnSnapshot};

/// The host of one extension, in this thread: what it holds for it, and what the extension did to it.
///
/// Everything that the extension asks for is granted, unless [`grant`](Self::grant) says otherwise. There is one host in a
/// thread: a new one starts with nothing left of the one before it.
pub struct TestHost<T> {
    sandbox: Option<RefCell<Sandbox>>,
    /// What it holds is this thread's.
    _extension: PhantomData<*const T>,
}

impl<T: Registered> TestHost<T> {
    /// A fresh host, and nothing left of the one before it in this thread.
    ///
    /// With `LATHE_SANDBOX` (the `lathe` binary) and `LATHE_SANDBOX_FILE` (the component) in the environment it is
    /// [`sandboxed`](Self::sandboxed) by these: that is how `lathe test --sandbox` runs the same tests.
    #[allow(clippy::new_without_default, reason = "it does more than make a value")]
    pub fn new() -> Self {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        match (variable("LATHE_SANDBOX"), variable("LATHE_SANDBOX_FILE")) {
            (Some(lathe), Some(file)) => Self::sandboxed(&lathe, &file),
            _ => Self::with(None),
        }
    }

    /// A fresh host that runs the extension's component in the real sandbox: `lathe` is the binary, `file` the `.wasm`.
    ///
    /// The component is loaded at the first call, and again at the first one after settings, grant or workspace were set;
    /// that ends the turn.
    ///
    /// # Panics
    ///
    /// If the binary cannot be run.
    pub fn sandboxed(lathe: &Path, file: &Path) -> Self {
        Self::with(Some(Sandbox::start(lathe, file, T::NAME)))
    }

    fn with(sandbox: Option<Sandbox>) -> Self {
        STATE.set(State { rights: Rights::of::<T>(), ..State::default() });
        T::with(|extension| *extension = T::default());
        Self { sandbox: sandbox.map(RefCell::new), _extension: PhantomData }
    }

    /// Changes what the component is loaded with.
    fn set(&self, change: impl FnOnce(&mut State)) {
        STATE.with_borrow_mut(change);
        if let Some(sandbox) = &self.sandbox {
            sandbox.borrow_mut().reset();
        }
    }

    /// What the operator wrote for the extension, an object.
    #[allow(clippy::needless_pass_by_value, reason = "read with `json!` in the call")]
    pub fn set_settings(&self, settings: Value) {
        self.set(|state| state.settings = settings.to_string());
    }

    /// What the operator grants, in place of everything that the extension asks for. What it does not ask for has no
    /// effect.
    pub fn grant(&self, granted: Permissions) {
        self.set(|state| state.rights.grant(granted));
    }

    /// The folder that the extension finds by [`workspace`](crate::workspace), if it asks for one and it is granted.
    pub fn set_workspace(&self, folder: impl Into<PathBuf>) {
        let folder = folder.into();
        self.set(|state| state.workspace = Some(folder));
    }

    /// Puts a value into the storage.
    pub fn store(&self, key: &str, value: impl AsRef<[u8]>) {
        STATE.with_borrow_mut(|state| state.storage.insert(key.to_owned(), value.as_ref().to_vec()));
    }

    /// The value in the storage, as text.
    pub fn stored(&self, key: &str) -> Option<String> {
        STATE.with_borrow(|state| {
            state.storage.get(key).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        })
    }

    /// Gives the system prompt a context block.
    pub fn set_context(&self, label: &str, text: &str) {
        STATE.with_borrow_mut(|state| state.context.insert(label.to_owned(), text.to_owned()));
    }

    /// The text of a context block.
    pub fn context(&self, label: &str) -> Option<String> {
        STATE.with_borrow(|state| state.context.get(label).cloned())
    }

    /// Adds a message to the conversation, the newest last.
    pub fn add_message(&self, role: &str, content: &str) {
        STATE.with_borrow_mut(|state| state.add_message(role, content));
    }

    /// The conversation, the newest last.
    pub fn messages(&self) -> Vec<Message> {
        STATE.with_borrow(|state| state.messages.clone())
    }

    /// Sets what the server answers to requests of this method and this very URL. Other requests find no server.
    pub fn respond(&self, method: &str, url: &str, reply: Reply) {
        STATE.with_borrow_mut(|state| state.replies.insert(format!("{method} {url}"), reply));
    }

    /// What the extension logged.
    pub fn log(&self) -> Vec<Record> {
        STATE.with_borrow(|state| state.log.clone())
    }

    /// The calls that the extension made of the host, in order, since the host was made or they were last
    /// [forgotten](Self::forget_calls).
    pub fn calls(&self) -> Vec<Call> {
        STATE.with_borrow(|state| state.calls.clone())
    }

    /// Forgets the calls so far.
    pub fn forget_calls(&self) {
        STATE.with_borrow_mut(|state| state.calls.clear());
    }

    /// What the extension tells the host about itself.
    pub fn manifest(&self) -> Manifest {
        manifest::describe::<T>()
    }

    /// Begins a turn, with a new instance, and calls the hook. What it answers is what counts.
    ///
    /// # Errors
    ///
    /// The hook's own; or why the host would not load the extension. So for the hooks below, which belong to the same turn.
    ///
    /// # Panics
    ///
    /// If the extension panics, or breaks a limit of the sandbox. So for everything below.
    pub fn before_turn(&self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        T::with(|extension| *extension = T::default());
        let answer = self.hook(Hook::BeforeTurn, turn.into(), Component::<T>::before_turn)?;
        answer.map(TurnConfig::try_from).transpose()
    }

    /// Calls the hook. An answer counts if the extension may decide.
    ///
    /// # Errors
    ///
    /// As above; or that the extension answers without asking for `decide`.
    pub fn before_step(&self, step: StepSnapshot) -> Result<Option<StepConfig>> {
        let answer = self.hook(Hook::BeforeStep, step, Component::<T>::before_step)?;
        self.counts(Hook::BeforeStep, answer)?.map(StepConfig::try_from).transpose()
    }

    /// Calls the hook. An answer counts if the extension may decide.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn before_tool_call(&self, call: ToolCall) -> Result<Option<ToolDecision>> {
        let answer = self.hook(Hook::BeforeToolCall, call.into(), Component::<T>::before_tool_call)?;
        self.counts(Hook::BeforeToolCall, answer)?.map(ToolDecision::try_from).transpose()
    }

    /// Calls the hook. An answer counts if the extension may decide.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn after_tool_call(&self, call: ToolResult) -> Result<Option<ToolOverride>> {
        let answer = self.hook(Hook::AfterToolCall, call.into(), Component::<T>::after_tool_call)?;
        self.counts(Hook::AfterToolCall, answer)?.map(ToolOverride::try_from).transpose()
    }

    /// Calls the hook.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn on_step_finish(&self, step: StepFinish) -> Result<()> {
        self.hook(Hook::OnStepFinish, step.into(), Component::<T>::on_step_finish)
    }

    /// Calls the hook, with all of these at once.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn on_chunk(&self, chunks: Vec<Chunk>) -> Result<()> {
        self.hook(Hook::OnChunk, chunks, Component::<T>::on_chunk)
    }

    /// Calls the hook.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn on_chat_response(&self, response: ChatResponse) -> Result<()> {
        self.hook(Hook::OnChatResponse, response, Component::<T>::on_chat_response)
    }

    /// Calls the hook.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn on_chat_error(&self, error: ChatError) -> Result<()> {
        self.hook(Hook::OnChatError, error, Component::<T>::on_chat_error)
    }

    /// Calls a tool as the host does: in an instance of its own, with JSON text both ways. The input is not checked
    /// against the tool's schema first, as the host does.
    ///
    /// # Errors
    ///
    /// What the tool says; `InvalidInput` if the input does not fit its type; `UnknownTool`.
    #[allow(clippy::needless_pass_by_value, reason = "read with `json!` in the call")]
    pub fn call_tool(&self, name: &str, input: Value) -> Result<Value, ToolError> {
        let context = CallContext {
            tool_call_id: "call".to_owned(),
            request_id: "request".to_owned(),
            step_number: 0,
            idempotency_key: "key".to_owned(),
        };
        let answer = match &self.sandbox {
            Some(sandbox) => {
                sandbox.borrow_mut().tool(name, &input.to_string(), &context).map_err(ToolError::Failed)?
            }
            None => {
                // The turn's instance waits meanwhile.
                let turn = T::with(std::mem::take);
                let answer = Component::<T>::call(name.to_owned(), input.to_string(), context);
                T::with(|extension| *extension = turn);
                answer
            }
        };
        let answer: Result<String, tools::ToolError> = answer;
        match answer {
            Ok(output) => Ok(serde_json::from_str(&output)?),
            Err(tools::ToolError::UnknownTool) => Err(ToolError::UnknownTool),
            Err(tools::ToolError::InvalidInput(text)) => Err(ToolError::InvalidInput(text)),
            Err(tools::ToolError::Failed(text)) => Err(ToolError::Failed(text)),
        }
    }

    /// Calls a hook that the extension has; the host calls no other.
    fn hook<Q: Serialize, A: DeserializeOwned + Default>(
        &self,
        hook: Hook,
        question: Q,
        run: impl FnOnce(Q) -> Result<A, String>,
    ) -> Result<A> {
        if !T::HOOKS.contains(&hook) {
            return Ok(A::default());
        }
        let answer = match &self.sandbox {
            Some(sandbox) => sandbox.borrow_mut().hook(hook, &question).and_then(|answer| answer),
            None => run(question),
        };
        answer.map_err(Error::new)
    }

    /// An answer that changes something, if it may.
    fn counts<A>(&self, hook: Hook, answer: Option<A>) -> Result<Option<A>> {
        let (asks, decides) =
            STATE.with_borrow(|state| (state.rights.asks_to_decide(hook), state.rights.decides(hook)));
        if answer.is_some() && !asks {
            return Err(Error::new(format!(
                "its answer has no effect: `decide` in its permissions does not list {hook:?}"
            )));
        }
        Ok(answer.filter(|_| decides))
    }
}

impl<T> std::fmt::Debug for TestHost<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestHost").field("sandboxed", &self.sandbox.is_some()).finish()
    }
}
