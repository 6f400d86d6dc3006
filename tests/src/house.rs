//! An agent with a scripted model and a database of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use lathe::agent::AgentBuilder;
use lathe::extensions::{Extension, ExtensionSettings, Loader};
use lathe::model::{Script, ScriptedModel};
use lathe::store::SqliteStore;
use lathe::turn::ModelCall;
use lathe::{Agent, Session, TurnEvent, TurnResult, TurnStream};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::guests::guest;

/// An agent, and what its tests look at.
pub struct House {
    /// Gone with the house.
    pub folder: TempDir,
    /// Its sessions.
    pub store: Arc<SqliteStore>,
    /// What it asks.
    pub model: Arc<ScriptedModel>,
    /// The agent.
    pub agent: Agent,
}

#[allow(clippy::expect_used, reason = "a test fails by panicking")]
impl House {
    /// With that script and nothing else.
    ///
    /// # Panics
    ///
    /// If it cannot be built; so for the ones below.
    pub async fn plain(script: &Value) -> Self {
        Self::new(script, |agent| agent).await
    }

    /// With that script and what `build` adds.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    pub async fn new(script: &Value, build: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.expect("a database");
        let store = Arc::new(store);
        let script = Script::parse(&script.to_string()).expect("a script");
        let model = Arc::new(ScriptedModel::new("scripted:test", script));
        let builder = Agent::builder(store.clone()).model(model.clone()).system("SYS");
        let agent = build(builder).build().expect("an agent");
        Self { folder, store, model, agent }
    }

    /// The session `s`.
    ///
    /// # Panics
    ///
    /// If it cannot be opened.
    pub async fn session(&self) -> Session {
        self.agent.session("s").await.expect("a session")
    }

    /// One turn of the session `s`, to its end.
    ///
    /// # Panics
    ///
    /// If it cannot begin.
    pub async fn send(&self, prompt: &str) -> TurnResult {
        self.session().await.send(prompt).await.expect("a turn").finish().await
    }

    /// What the model was asked.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelCall> {
        self.model.requests()
    }

    /// The stored conversation of the session `s`: each message as its role and its text.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    pub async fn transcript(&self) -> Vec<String> {
        let messages = self.session().await.messages().await.expect("the messages");
        messages.iter().map(|message| format!("{}: {}", role(&json!(message.role)), message.text())).collect()
    }
}

fn role(role: &Value) -> &str {
    role.as_str().unwrap_or("?")
}

/// Loads guests by their packages, with their settings.
///
/// # Panics
///
/// If one does not load.
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
pub async fn load(packages: &[&str], settings: BTreeMap<String, ExtensionSettings>) -> Vec<Arc<Extension>> {
    let loader = Loader::new().expect("an engine");
    let loader = loader.cache(std::env::temp_dir().join("lathe-tests-cache")).settings(settings);
    let loaded = loader.load_files(packages.iter().map(|package| guest(package)).collect()).await;
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    loaded.extensions
}

/// Settings of one extension.
#[must_use]
pub fn settings(name: &str, settings: &Value) -> (String, ExtensionSettings) {
    let settings = settings.as_object().cloned().unwrap_or_default();
    (name.to_owned(), ExtensionSettings { settings, ..Default::default() })
}

/// A turn to its end, with all that could be seen of it.
pub async fn watch(mut turn: TurnStream) -> (Vec<TurnEvent>, TurnResult) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.finish().await)
}

/// An entry of a script: one call of a tool.
#[must_use]
pub fn call(id: &str, tool: &str, input: &Value) -> Value {
    json!({"toolCalls": [{"id": id, "name": tool, "input": input}]})
}

/// An entry of a script: a text.
#[must_use]
pub fn says(text: &str) -> Value {
    json!({"text": [text]})
}
