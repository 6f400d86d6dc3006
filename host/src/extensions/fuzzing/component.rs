use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::guest::Nobody;
use crate::extensions::bridge::NoBridge;
use crate::extensions::{Bridge, Extension, Loader, Resolver, Services};
use crate::hooks::{Hook, TurnSnapshot};
use crate::tools::CallContext;
use crate::turn::Trigger;

/// A file in the extensions folder: it is loaded as any other; what loads, is called.
///
/// # Panics
///
/// If it is neither loaded nor refused with a reason.
#[must_use]
pub fn component(bytes: &[u8]) -> bool {
    let Some(place) = &*PLACE else { return false };
    place.runtime.block_on(async {
        let file = place.folder.path().join("guest.wasm");
        if std::fs::write(&file, bytes).is_err() {
            return false;
        }
        let loaded = place.loader.load_files(vec![file]).await;
        assert_eq!(loaded.extensions.len() + loaded.errors.len(), 1);
        assert!(loaded.errors.iter().all(|error| !error.reason.to_string().is_empty()));
        for extension in &loaded.extensions {
            call(extension).await;
        }
        !loaded.extensions.is_empty()
    })
}

struct Place {
    runtime: Runtime,
    loader: Loader,
    folder: TempDir,
}

static PLACE: LazyLock<Option<Place>> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let loader = Loader::new().ok()?.environment(|_| None).resolver(Nowhere);
    Some(Place { runtime, loader, folder: tempfile::tempdir().ok()? })
});

/// Knows no host.
struct Nowhere;

#[async_trait]
impl Resolver for Nowhere {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(Vec::new())
    }
}

/// Its first tools, and its first hook.
async fn call(extension: &Arc<Extension>) {
    const TOOLS: usize = 2;
    let bridge: Arc<dyn Bridge> = Arc::new(NoBridge);
    for tool in extension.tools(&bridge).take(TOOLS) {
        let call = CallContext::new("s", "r", "m", 0, "c", CancellationToken::new(), drop);
        // An error of the guest's is as good an answer as any.
        let _ = tool.execute(json!({}), &call).await;
    }
    let services = Services { bridge, session: "s".into(), events: Arc::new(Nobody), request_id: "r".into() };
    let guest = extension.subscribe(services);
    if guest.subscribes(Hook::BeforeTurn) {
        let snapshot = TurnSnapshot {
            system: "SYS".into(),
            tool_names: vec!["add".into()],
            message_count: 1,
            max_steps: 1,
            continuation: false,
            body: None,
            model_id: "m".into(),
            request_id: "r".into(),
            trigger: Trigger::Programmatic,
        };
        let _ = guest.before_turn(snapshot).await;
    }
}
