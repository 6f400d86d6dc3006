use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::bindings::ExtensionPre;
use super::bridge::{Bridge, BridgeError};
use super::grant::Grant;
use super::health::{Health, Keeper};
use super::instance::Instance;
use super::limits::Limits;
use super::manifest::Manifest;
use super::meter::Meter;
use super::pool::{Pool, Use};
use super::rights::Rights;
use super::state::{Identity, State};
use super::tool::ExtensionTool;
use super::worker::TurnWorker;
use crate::hooks::{Events, Failure, Subscriber};
use crate::tools::Tool;
use crate::turn::JsonObject;

/// An extension that is loaded: its code, ready to be instantiated, and what is known of it.
pub struct Extension {
    /// Where it is from.
    pub file: PathBuf,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    /// What it says of itself.
    pub manifest: Manifest,
    /// What it may use.
    pub limits: Limits,
    /// What it may do: what it asks for and the operator grants.
    pub grant: Grant,
    /// What the operator has set, as it is written down.
    pub(super) settings: ExtensionSettings,
    pub(super) pre: ExtensionPre<State>,
    pub(super) identity: Identity,
    /// Room for its instances.
    pub(super) pool: Pool,
    /// Room for those of all extensions.
    pub(super) all: Pool,
    pub(super) keeper: Arc<Keeper>,
    /// Where the turns that run now are told of calls, by request id: a tool is the same for all of them.
    pub(super) listeners: Mutex<HashMap<String, Arc<dyn Events>>>,
}

/// What a turn's instances need of the host.
#[derive(Clone)]
pub struct Services {
    /// Storage and what else lies behind the guest's imports.
    pub bridge: Arc<dyn Bridge>,
    /// The session that the turn belongs to.
    pub session: Arc<str>,
    /// Where calls are reported.
    pub events: Arc<dyn Events>,
    /// The host's id of the turn.
    pub request_id: String,
}

/// What the operator has set for an extension.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtensionSettings {
    /// Whether it is loaded. Default: true.
    pub enabled: bool,
    /// What `settings.get` returns.
    pub settings: JsonObject,
    /// What it may use.
    pub limits: Limits,
    /// What it may do, as far as it asks for it.
    pub grant: Grant,
}

impl Default for ExtensionSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            settings: JsonObject::default(),
            limits: Limits::default(),
            grant: Grant::default(),
        }
    }
}

impl Extension {
    pub(super) fn identity(manifest: &Manifest, settings: &ExtensionSettings, rights: Rights) -> Identity {
        Identity {
            extension: manifest.name.as_str().into(),
            session: "".into(),
            request_id: "".into(),
            rights: Arc::new(rights),
            settings: serde_json::Value::Object(settings.settings.clone()).to_string().into(),
            storage_bytes: settings.limits.storage_bytes,
        }
    }

    /// A new instance, within the fuel and the time of the call that needs it.
    pub(super) async fn instantiate(
        &self,
        bridge: Arc<dyn Bridge>,
        session: Arc<str>,
        request_id: &str,
        of: Use,
        meter: &mut Meter,
    ) -> Result<Instance, Failure> {
        let place = self.pool.place(&self.all, of, meter).await?;
        let identity = Identity { session, request_id: request_id.into(), ..self.identity.clone() };
        let state = State::new(identity, &self.limits, bridge).map_err(Failure::Link)?;
        Instance::new(&self.pre, state, &self.limits, Some(place), meter).await
    }

    /// How it fares: over all turns of this process, and what earlier ones have left, once it was called or
    /// [refreshed](Self::refresh_health).
    #[must_use]
    pub fn health(&self) -> Health {
        self.keeper.health()
    }

    /// Takes over what is kept of its health.
    pub async fn refresh_health(&self, bridge: &dyn Bridge) {
        self.keeper.refresh(bridge).await;
    }

    /// Ends its quarantine and forgets its strikes, at once; what it has cost is kept.
    ///
    /// # Errors
    ///
    /// If that cannot be written down. It is so for this process all the same.
    pub async fn reset_health(&self, bridge: &dyn Bridge) -> Result<(), BridgeError> {
        self.keeper.refresh(bridge).await;
        self.keeper.reset();
        self.keeper.write(bridge).await
    }

    /// Its hooks, for the length of one turn.
    #[must_use]
    pub fn subscribe(self: &Arc<Self>, services: Services) -> Box<dyn Subscriber> {
        Box::new(TurnWorker::new(self.clone(), services))
    }

    /// Its tools, under the names in which a model is offered them. `bridge` serves their calls.
    pub fn tools(self: &Arc<Self>, bridge: &Arc<dyn Bridge>) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.manifest.tools.iter().map(move |tool| -> Arc<dyn Tool> {
            Arc::new(ExtensionTool::new(self.clone(), tool, bridge.clone()))
        })
    }
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extension")
            .field("file", &self.file)
            .field("name", &self.manifest.name)
            .finish_non_exhaustive()
    }
}
