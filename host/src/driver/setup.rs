use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use crate::extensions::{Bridge, Extension, Services};
use crate::hooks::{Dispatcher, Hooks};
use crate::model::LanguageModel;
use crate::recovery::{ChatRecovery, ContextOverflow};
use crate::session::{Compactor, ContextBlock, TokenCounter};
use crate::store::Store;
use crate::tools::{NameTaken, Tool, ToolSet};

use super::{Active, EventSender, QueueMode};

/// What every turn of an agent works with.
pub(crate) struct Setup {
    /// The agent's, for traces.
    pub(crate) name: String,
    /// Whether what is said is in the traces.
    pub(crate) trace_content: bool,
    pub(crate) model: Arc<dyn LanguageModel>,
    /// Finds the models that hooks ask for by id.
    pub(crate) models: Box<FindModel>,
    pub(crate) max_steps: u32,
    /// How hard the model should think, unless a hook sets it.
    pub(crate) reasoning_effort: Option<String>,
    /// How interrupted turns are taken up; none for not at all.
    pub(crate) recovery: Option<ChatRecovery>,
    /// What becomes of conversations that are too long.
    pub(crate) overflow: ContextOverflow,
    /// The longest time between two parts of the stream; none for no limit.
    pub(crate) stall_timeout: Option<Duration>,
    /// The embedder's.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// Tools that are offered only where a hook asks for them.
    pub(crate) reserve: ToolSet,
    /// No batch of tool calls runs at once.
    pub(crate) sequential: bool,
    pub(crate) steering: QueueMode,
    pub(crate) follow_ups: QueueMode,
    pub(crate) hooks: Arc<[Arc<dyn Hooks>]>,
    /// The agent's own context blocks.
    pub(crate) blocks: Vec<ContextBlock>,
    /// Says what a conversation is shortened to.
    pub(crate) compactor: Arc<dyn Compactor>,
    /// The tokens at which a conversation is shortened after a turn; none for never.
    pub(crate) compact_after: Option<u64>,
    pub(crate) token_counter: Arc<TokenCounter>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bridge: Arc<dyn Bridge>,
    /// What the next turn to begin takes.
    pub(crate) active: RwLock<Arc<Active>>,
}

/// Finds a model by its id, or says why not.
pub(crate) type FindModel = dyn Fn(&str) -> Result<Arc<dyn LanguageModel>, String> + Send + Sync;

impl Setup {
    /// The model of that id.
    pub(super) fn find_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, String> {
        if id == self.model.id() { Ok(self.model.clone()) } else { (self.models)(id) }
    }

    /// What a turn that begins now works with, to its end.
    pub(crate) fn active(&self) -> Arc<Active> {
        self.active.read().clone()
    }

    /// Puts other extensions in the place of those in use. If tools clash, nothing changes.
    pub(crate) fn set_extensions(&self, extensions: Vec<Arc<Extension>>) -> Result<(), NameTaken> {
        let active = Arc::new(Active::new(&self.tools, &self.reserve, extensions, &self.bridge)?);
        let old = std::mem::replace(&mut *self.active.write(), active);
        // Outside the lock: the last one to let go of an extension unmaps its code.
        drop(old);
        Ok(())
    }

    /// The hooks of one turn.
    pub(crate) fn dispatcher(
        self: &Arc<Self>,
        active: &Active,
        session: &str,
        events: &EventSender,
    ) -> Dispatcher {
        let services = Services {
            bridge: self.bridge.clone(),
            session: session.into(),
            events: Arc::new(events.clone()),
            request_id: events.request_id.clone(),
        };
        let extensions =
            active.extensions.iter().map(|extension| extension.subscribe(services.clone())).collect();
        let setup = self.clone();
        let models = move |id: &str| setup.find_model(id).map(drop);
        Dispatcher::new(self.hooks.clone(), extensions, services.events, Box::new(models))
    }
}
