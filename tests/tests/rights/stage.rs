//! A turn in which the guest does what it is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lathe::config::Config;
use lathe::extensions::Loader;
use lathe::hooks::HookCall;
use lathe::model::{Script, ScriptedModel};
use lathe::store::{SqliteStore, Store};
use lathe::turn::UiMessage;
use lathe::{Agent, TurnEvent};
use lathe_tests::guests::guest;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a `lathe.toml`, its database, and a guest: the courier, unless it is told another one.
pub(crate) struct Stage {
    name: &'static str,
    file: PathBuf,
    folder: TempDir,
    config: Config,
    loader: Loader,
}

/// What was to be seen of a turn.
pub(crate) struct Seen {
    /// What the tool answered. Of the courier: a list of `{"ok": …}` and `{"error": …}`; a text if it failed.
    pub(crate) output: Value,
    /// The system prompt of the first request.
    pub(crate) system: String,
    /// The calls of hooks.
    pub(crate) calls: Vec<HookCall>,
    /// The conversation, as stored.
    pub(crate) messages: Vec<UiMessage>,
}

impl Stage {
    /// With this in `[extension.courier.grant]`, and what follows it.
    pub(crate) fn new(grant: &str) -> Self {
        Self::with(grant, |loader| loader)
    }

    pub(crate) fn with(grant: &str, change: impl FnOnce(Loader) -> Loader) -> Self {
        Self::of("courier", guest("courier"), grant, change)
    }

    /// With another guest.
    pub(crate) fn of(
        name: &'static str,
        file: PathBuf,
        grant: &str,
        change: impl FnOnce(Loader) -> Loader,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("[extension.{name}.grant]\n{grant}");
        let config = Config::parse(&text, &folder.path().join("lathe.toml")).unwrap();
        let loader = Loader::new()
            .unwrap()
            .cache(std::env::temp_dir().join("lathe-tests-cache"))
            .settings(config.extension_settings());
        Self { name, file, folder, config, loader: change(loader) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A turn in which the model calls the courier's tool once with these deeds.
    pub(crate) async fn turn(&self, deeds: Value) -> Seen {
        self.call("act", json!({ "deeds": deeds })).await
    }

    /// A turn in which the model calls a tool of the guest once.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> Seen {
        let loaded = self.loader.load_files(vec![self.file.clone()]).await;
        assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
        let store = Arc::new(SqliteStore::open(&self.config.database()).await.unwrap());
        let call = json!({"id": "c", "name": format!("{}_{tool}", self.name), "input": input});
        let script = json!([{"toolCalls": [call]}, {"text": ["done"]}]);
        let model =
            Arc::new(ScriptedModel::new("scripted:test", Script::parse(&script.to_string()).unwrap()));
        let agent =
            Agent::builder(store.clone()).model(model.clone()).extensions(loaded.extensions).build().unwrap();
        let mut turn = agent.session("ada").await.unwrap().send("go").await.unwrap();
        let mut calls = Vec::new();
        while let Some(event) = turn.next().await {
            if let TurnEvent::HookCall(call) = event {
                calls.push(call);
            }
        }
        let result = turn.finish().await;
        assert_eq!(result.text, "done", "{result:?}");
        let requests = model.requests();
        let asked = serde_json::to_value(&requests[1].messages).unwrap();
        let results = asked.as_array().unwrap().iter().rfind(|message| message["role"] == "tool");
        let output = results.unwrap()["content"][0]["output"]["value"].clone();
        let system = requests[0].system.clone().unwrap_or_default();
        Seen { output, system, calls, messages: store.messages("ada").await.unwrap() }
    }

    /// What came of each deed: its value, or its error as a text.
    pub(crate) async fn act(&self, deeds: Value) -> Vec<Value> {
        let seen = self.turn(deeds).await;
        assert!(seen.output.is_array(), "{}", seen.output);
        let results = seen.output.as_array().unwrap();
        results.iter().map(|result| result.get("ok").unwrap_or(&result["error"]).clone()).collect()
    }
}
