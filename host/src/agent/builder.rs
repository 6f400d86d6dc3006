use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use super::{Agent, BuildError, Concurrency};
use crate::driver::{Active, FindModel, ModelSummarizer, QueueMode, Setup, StoreBridge, check_names};
use crate::extensions::{Bridge, Extension};
use crate::hooks::Hooks;
use crate::logs::Logs;
use crate::model::{DemoModel, LanguageModel};
use crate::recovery::{ChatRecovery, ContextOverflow};
use crate::session::{
    Compactor, ContextBlock, ContextError, SummaryCompactor, TokenCounter, estimate_tokens,
};
use crate::store::Store;
use crate::tools::{Tool, ToolSet};
use crate::turn::UiMessage;

/// The most steps of a turn, unless set.
pub const MAX_STEPS: u32 = 10;

/// The name of an agent that has none.
const NAME: &str = "lathe";

/// Builds an [`Agent`].
pub struct AgentBuilder {
    name: String,
    trace_content: bool,
    model: Arc<dyn LanguageModel>,
    models: Box<FindModel>,
    system: String,
    max_steps: u32,
    reasoning_effort: Option<String>,
    recovery: Option<ChatRecovery>,
    overflow: ContextOverflow,
    stall_timeout: Option<Duration>,
    tools: Vec<Arc<dyn Tool>>,
    reserve: Vec<Arc<dyn Tool>>,
    sequential: bool,
    steering: QueueMode,
    follow_ups: QueueMode,
    concurrency: Concurrency,
    hooks: Vec<Arc<dyn Hooks>>,
    extensions: Vec<Arc<Extension>>,
    logs: Option<Logs>,
    blocks: Vec<ContextBlock>,
    compactor: Option<Arc<dyn Compactor>>,
    compact_after: Option<u64>,
    token_counter: Arc<TokenCounter>,
    store: Arc<dyn Store>,
}

impl AgentBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            name: NAME.into(),
            trace_content: false,
            model: Arc::new(DemoModel::new()),
            models: Box::new(|id| Err(format!("there is no model \"{id}\""))),
            system: String::new(),
            max_steps: MAX_STEPS,
            reasoning_effort: None,
            recovery: Some(ChatRecovery::default()),
            overflow: ContextOverflow::default(),
            stall_timeout: None,
            tools: Vec::new(),
            reserve: Vec::new(),
            sequential: false,
            steering: QueueMode::default(),
            follow_ups: QueueMode::default(),
            concurrency: Concurrency::default(),
            hooks: Vec::new(),
            extensions: Vec::new(),
            logs: None,
            blocks: Vec::new(),
            compactor: None,
            compact_after: None,
            token_counter: Arc::new(estimate_tokens),
            store,
        }
    }

    /// The agent's name in traces; `lathe` unless set.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Puts what people, models and tools say into traces, too; it stays out of them unless set.
    #[must_use]
    pub fn trace_content(mut self, content: bool) -> Self {
        self.trace_content = content;
        self
    }

    /// The model that is asked; the demo model unless set.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.model = model;
        self
    }

    /// Finds the other models that hooks may ask for by id, the embedder's own included; none unless set.
    #[must_use]
    pub fn models(
        mut self,
        find: impl Fn(&str) -> Result<Arc<dyn LanguageModel>, String> + Send + Sync + 'static,
    ) -> Self {
        self.models = Box::new(find);
        self
    }

    /// The system prompt; empty unless set.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// The most steps of a turn; [`MAX_STEPS`] unless set, at least 1.
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps.max(1);
        self
    }

    /// How hard the model should think: `low`, `medium`, `high` or what the provider knows; the provider's default unless
    /// set.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.reasoning_effort = Some(effort.into());
        self
    }

    /// The longest time between two parts of a turn's stream, time in tools included; no limit unless set.
    #[must_use]
    pub fn chat_stream_stall_timeout(mut self, timeout: Duration) -> Self {
        self.stall_timeout = (!timeout.is_zero()).then_some(timeout);
        self
    }

    /// How often an interrupted turn is taken up again; as [`ChatRecovery::default`] says unless set, and not at all with
    /// none: then what a crash leaves is stored when the session is opened, and a stall or a failing provider ends the
    /// turn.
    #[must_use]
    pub fn chat_recovery(mut self, recovery: Option<ChatRecovery>) -> Self {
        self.recovery = recovery;
        self
    }

    /// What becomes of a turn whose conversation is too long for the model; it fails unless set.
    #[must_use]
    pub fn context_overflow(mut self, overflow: ContextOverflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a tool that is offered only in turns for which a `before_turn` hook asks for it
    /// ([`TurnConfig::tools`](crate::turn::TurnConfig::tools)).
    #[must_use]
    pub fn reserve_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.reserve.push(tool);
        self
    }

    /// Runs the tool calls of a step one after the other, all of them; side by side unless set.
    #[must_use]
    pub fn sequential_tools(mut self) -> Self {
        self.sequential = true;
        self
    }

    /// How many of the messages that steer a turn are taken up at a time; one unless set.
    #[must_use]
    pub fn steering(mut self, mode: QueueMode) -> Self {
        self.steering = mode;
        self
    }

    /// How many of the messages that wait for a turn's end are taken up at a time; one unless set.
    #[must_use]
    pub fn follow_ups(mut self, mode: QueueMode) -> Self {
        self.follow_ups = mode;
        self
    }

    /// What becomes of a message that comes while a turn runs; [`Concurrency::Queue`] unless set.
    #[must_use]
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Adds built-in hooks, after those that are there.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.hooks.push(hooks);
        self
    }

    /// Adds extensions, in the order in which they are called.
    #[must_use]
    pub fn extensions(mut self, extensions: impl IntoIterator<Item = Arc<Extension>>) -> Self {
        self.extensions.extend(extensions);
        self
    }

    /// Where what extensions log is kept, and what they fail with; nowhere unless set.
    #[must_use]
    pub fn logs(mut self, logs: Logs) -> Self {
        self.logs = Some(logs);
        self
    }

    /// Adds a context block, which every session has. Those of extensions that may write them come after.
    #[must_use]
    pub fn context_block(mut self, block: ContextBlock) -> Self {
        self.blocks.push(block);
        self
    }

    /// Says what a conversation is shortened to; a [`SummaryCompactor`] that asks the agent's model unless set.
    #[must_use]
    pub fn compaction(mut self, compactor: Arc<dyn Compactor>) -> Self {
        self.compactor = Some(compactor);
        self
    }

    /// Shortens a conversation when a turn has ended and it has about that many tokens; never unless set. One that is as
    /// short as it can be stays so: that is warned of once.
    #[must_use]
    pub fn compact_after(mut self, tokens: u64) -> Self {
        self.compact_after = Some(tokens);
        self
    }

    /// Counts the tokens of messages; [`estimate_tokens`] unless set.
    #[must_use]
    pub fn token_counter(mut self, count: impl Fn(&[UiMessage]) -> u64 + Send + Sync + 'static) -> Self {
        self.token_counter = Arc::new(count);
        self
    }

    /// Builds it.
    ///
    /// # Errors
    ///
    /// If two tools have one name, or two context blocks one label.
    pub fn build(self) -> Result<Agent, BuildError> {
        let bridge: Arc<dyn Bridge> =
            Arc::new(StoreBridge::new(self.store.clone(), self.logs).with_blocks(self.blocks.clone()));
        for (number, block) in self.blocks.iter().enumerate() {
            block.check()?;
            if self.blocks.iter().take(number).any(|other| other.label() == block.label()) {
                return Err(ContextError::Taken(block.label().to_owned()).into());
            }
        }
        let mut reserve = ToolSet::default();
        for tool in self.reserve {
            reserve.add(tool)?;
        }
        let active = Active::new(&self.tools, &reserve, self.extensions, &bridge)?;
        check_names(&self.blocks, &active)?;
        let compactor = self.compactor.unwrap_or_else(|| {
            let summarizer = Arc::new(ModelSummarizer(self.model.clone()));
            Arc::new(SummaryCompactor::new(summarizer).token_counter(self.token_counter.clone()))
        });
        let setup = Setup {
            name: self.name,
            trace_content: self.trace_content,
            model: self.model,
            models: self.models,
            max_steps: self.max_steps,
            reasoning_effort: self.reasoning_effort,
            recovery: self.recovery,
            overflow: self.overflow,
            stall_timeout: self.stall_timeout,
            tools: self.tools,
            reserve,
            sequential: self.sequential,
            steering: self.steering,
            follow_ups: self.follow_ups,
            hooks: self.hooks.into(),
            blocks: self.blocks,
            compactor,
            compact_after: self.compact_after,
            token_counter: self.token_counter,
            store: self.store,
            bridge,
            active: RwLock::new(Arc::new(active)),
        };
        Ok(Agent::new(setup, self.system, self.concurrency))
    }
}
