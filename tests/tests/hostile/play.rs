//! One turn and another with a guest among well-behaved extensions, in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use lathe::extensions::{
    Extension, ExtensionSettings, Gate, Grant, Health, Limits, LoadReason, Loaded, Loader, ManifestError,
};
use lathe::hooks::HookCall;
use lathe::model::{Script, ScriptedModel};
use lathe::store::SqliteStore;
use lathe::turn::TurnStatus;
use lathe::{Agent, TurnEvent, TurnResult};
use lathe_tests::guests::guest;
use serde_json::{Value, json};

use super::table::Guest;

/// What became of a guest.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) load: Option<String>,
    /// Its first hook call.
    pub(super) call: Option<HookCall>,
    /// What the model read of its tool.
    pub(super) tool: String,
    pub(super) health: Health,
}

/// A host for one test.
pub(super) struct Host {
    pub(super) agent: Agent,
    pub(super) model: Arc<ScriptedModel>,
    _folder: tempfile::TempDir,
}

/// An agent with these extensions, whose model says this.
pub(super) async fn host(extensions: Vec<Arc<Extension>>, script: &Value) -> anyhow::Result<Host> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await?);
    let model = Arc::new(ScriptedModel::new(
        "scripted:test",
        Script::parse(&script.to_string()).map_err(anyhow::Error::msg)?,
    ));
    let agent = Agent::builder(store).model(model.clone()).system("SYS").extensions(extensions).build()?;
    Ok(Host { agent, model, _folder: folder })
}

impl Host {
    /// A turn, and the hook calls in it.
    pub(super) async fn turn(&self) -> anyhow::Result<(TurnResult, Vec<HookCall>)> {
        let mut turn = self.agent.session("s").await?.send("go").await?;
        let mut calls = Vec::new();
        while let Some(event) = turn.next().await {
            if let TurnEvent::HookCall(call) = event {
                calls.push(call);
            }
        }
        Ok((turn.finish().await, calls))
    }

    /// A turn that must end with this text.
    pub(super) async fn healthy_turn(&self, text: &str) -> anyhow::Result<Vec<HookCall>> {
        let (result, calls) = self.turn().await?;
        ensure!(
            result.status == TurnStatus::Completed && result.text == text,
            "the turn ended otherwise: {result:?}"
        );
        Ok(calls)
    }
}

/// What the operator has set for a guest.
pub(super) fn settings(of: &Guest) -> ExtensionSettings {
    let settings = of.rogue.iter().map(|deed| ("do".to_owned(), json!(deed))).collect();
    let decide = if of.decide { vec![Gate::BeforeToolCall] } else { Vec::new() };
    ExtensionSettings {
        enabled: true,
        settings,
        limits: of.limits.clone(),
        grant: Grant { decide, ..Grant::default() },
    }
}

/// A loader with the settings of these guests and of the well-behaved ones.
pub(super) fn loader<'a>(guests: impl IntoIterator<Item = &'a Guest>) -> anyhow::Result<Loader> {
    let rules = json!({"rules": ["Be kind."]}).as_object().cloned().unwrap_or_default();
    let rules = ExtensionSettings { settings: rules, ..ExtensionSettings::default() };
    let set = guests.into_iter().map(|guest| (guest.extension().to_owned(), settings(guest)));
    let set = set.chain([("house-rules".to_owned(), rules)]).collect();
    Ok(Loader::new()?.cache(std::env::temp_dir().join("lathe-tests-cache")).settings(set))
}

/// Loads these between two well-behaved ones.
pub(super) async fn load(guests: &[&Guest], files: Vec<PathBuf>) -> anyhow::Result<Loaded> {
    let mut all = vec![guest("calc")];
    all.extend(files);
    all.push(guest("house-rules"));
    Ok(loader(guests.iter().copied())?.load_files(all).await)
}

/// Loads a guest between two well-behaved ones and runs two turns.
pub(super) async fn play(of: &Guest, file: &Path) -> anyhow::Result<Seen> {
    let loaded = load(&[of], vec![file.to_owned()]).await?;
    let others = loaded.extensions.len();
    let mut seen = Seen::default();
    match &*loaded.errors {
        [] => ensure!(others == 3, "{others} extensions were loaded"),
        [error] if error.file == file => {
            ensure!(others == 2, "{others} others were loaded");
            seen.load = Some(load_kind(&error.reason));
        }
        errors => anyhow::bail!("other files were not loaded: {errors:?}"),
    }
    let is_loaded = seen.load.is_none();
    let hostile =
        loaded.extensions.iter().find(|extension| extension.manifest.name == of.extension()).cloned();
    let mut calls = vec![json!({"id": "sum", "name": "calc_evaluate", "input": {"expression": "6 * 7"}})];
    if is_loaded && of.tools > 0 {
        calls.push(json!({"id": "act", "name": of.tool_name(), "input": {}}));
    }
    let script = json!([{"toolCalls": calls}, {"text": ["done"]}, {"text": ["done again"]}]);
    let host = host(loaded.extensions, &script).await?;
    let calls = host.healthy_turn("done").await?;
    seen.call = calls.into_iter().find(|call| call.extension == of.extension());
    let requests = host.model.requests();
    let system = requests.first().and_then(|request| request.system.clone()).unwrap_or_default();
    ensure!(system.contains("Be kind."), "the next extension does not run: {system}");
    let messages = serde_json::to_value(&requests.get(1).context("a second request")?.messages)?;
    let results = messages.pointer("/2/content").and_then(Value::as_array).context("the tools' results")?;
    for result in results {
        let value = &result["output"]["value"];
        match result["toolCallId"].as_str() {
            Some("sum") => ensure!(
                value["result"] == "42" || of.decide,
                "another extension's tool does not work: {value}"
            ),
            _ => seen.tool = value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        }
    }
    host.healthy_turn("done again").await?;
    seen.health = hostile.map(|extension| extension.health()).unwrap_or_default();
    Ok(seen)
}

fn load_kind(reason: &LoadReason) -> String {
    match reason {
        LoadReason::Read(_) => "read".into(),
        LoadReason::NotWasm => "notWasm".into(),
        LoadReason::CoreModule => "coreModule".into(),
        LoadReason::Invalid(_) => "invalid".into(),
        LoadReason::Version { .. } => "version".into(),
        LoadReason::Settings { .. } => "settings".into(),
        LoadReason::World { .. } => "world".into(),
        LoadReason::Link(_) => "link".into(),
        LoadReason::Describe(failure) => format!("describe {}", failure.kind()),
        LoadReason::Manifest(error) => format!("manifest {}", manifest_kind(error)),
        LoadReason::ToolClash { .. } => "toolClash".into(),
        LoadReason::NameClash { .. } => "nameClash".into(),
    }
}

fn manifest_kind(error: &ManifestError) -> &'static str {
    match error {
        ManifestError::Name(_) => "name",
        ManifestError::ToolName(_) => "toolName",
        ManifestError::ToolTwice(_) => "toolTwice",
        ManifestError::ToolSchema { .. } => "toolSchema",
        ManifestError::SettingsSchema(_) => "settingsSchema",
        ManifestError::TooManyTools { .. } => "tooManyTools",
        ManifestError::Host(_) => "host",
        ManifestError::Label(_) => "label",
    }
}

/// The limits of a guest in the words of `lathe.toml`.
pub(super) fn limits(limits: &Limits) -> anyhow::Result<toml::Table> {
    Ok(toml::Table::try_from(limits)?)
}
