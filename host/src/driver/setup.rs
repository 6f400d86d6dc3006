use std::sync::Arc;
use std::time::Duration;

use crate::extensions::{Bridge, Extension, Services};
use crate::hooks::{Dispatcher, Hooks};
use crate::model::LanguageModel;
use crate::store::Store;
use crate::tools::ToolSet;

use super::{EventSender, QueueMode};

/// What every turn of an agent works with.
pub(crate) struct Setup {
    pub(crate) model: Arc<dyn LanguageModel>,
    /// Finds the models that hooks ask for by id.
    pub(crate) models: Box<FindModel>,
    pub(crate) max_steps: u32,
    /// How hard the model should think, unless a hook sets it.
    pub(crate) reasoning_effort: Option<String>,
    /// The longest time between two parts of the stream; none for no limit.
    pub(crate) stall_timeout: Option<Duration>,
    /// The embedder's and the extensions'.
    pub(crate) tools: ToolSet,
    /// Tools that are offered only where a hook asks for them.
    pub(crate) reserve: ToolSet,
    /// Both of them.
    pub(crate) all_tools: ToolSet,
    /// No batch of tool calls runs at once.
    pub(crate) sequential: bool,
    pub(crate) steering: QueueMode,
    pub(crate) follow_ups: QueueMode,
    pub(crate) hooks: Arc<[Arc<dyn Hooks>]>,
    pub(crate) extensions: Vec<Arc<Extension>>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bridge: Arc<dyn Bridge>,
}

/// Finds a model by its id, or says why not.
pub(crate) type FindModel = dyn Fn(&str) -> Result<Arc<dyn LanguageModel>, String> + Send + Sync;

impl Setup {
    /// The model of that id.
    pub(super) fn find_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, String> {
        if id == self.model.id() { Ok(self.model.clone()) } else { (self.models)(id) }
    }

    /// The hooks of one turn.
    pub(super) fn dispatcher(self: &Arc<Self>, session: &str, events: &EventSender) -> Dispatcher {
        let services = Services {
            bridge: self.bridge.clone(),
            session: session.into(),
            events: Arc::new(events.clone()),
            request_id: events.request_id.clone(),
        };
        let extensions =
            self.extensions.iter().map(|extension| extension.subscribe(services.clone())).collect();
        let setup = self.clone();
        let models = move |id: &str| setup.find_model(id).map(drop);
        Dispatcher::new(self.hooks.clone(), extensions, services.events, Box::new(models))
    }
}
