use std::sync::Arc;

use crate::extensions::{Bridge, Extension, Services};
use crate::hooks::{Dispatcher, Hooks};
use crate::model::LanguageModel;
use crate::store::Store;
use crate::tools::ToolSet;

use super::EventSender;

/// What every turn of an agent works with.
pub(crate) struct Setup {
    pub(crate) model: Arc<dyn LanguageModel>,
    /// Finds the models that hooks ask for by id.
    pub(crate) models: Box<FindModel>,
    pub(crate) max_steps: u32,
    /// The embedder's and the extensions'.
    pub(crate) tools: ToolSet,
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
    pub(super) fn dispatcher(&self, request_id: &str, events: &EventSender) -> Dispatcher {
        let services = Services {
            bridge: self.bridge.clone(),
            events: Arc::new(events.clone()),
            request_id: request_id.to_owned(),
        };
        let extensions =
            self.extensions.iter().map(|extension| extension.subscribe(services.clone())).collect();
        Dispatcher::new(self.hooks.clone(), extensions, services.events)
    }
}
