//! Plays a case, and brings what happened into the form in which cases are recorded.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use lathe::Agent;
use lathe::agent::BuildError;
use lathe::extensions::Extension;
use lathe::model::{Script, ScriptedModel};
use lathe::store::{SqliteStore, Store};
use lathe::turn::ModelCall;
use lathe_tests::built_in::BuiltIn;
use lathe_tests::extensions::try_load;
use lathe_tests::probe::Template;
use lathe_tests::recording::{pick, pick_content};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::case::Case;
use crate::host;

/// Plays cases, all with the same guest.
pub(crate) struct Player {
    template: Template,
}

impl Player {
    pub(crate) fn new(probe: &Path) -> anyhow::Result<Self> {
        Ok(Self { template: Template::read(probe)? })
    }

    /// Plays a case in a new house and says what happened, in the form of its `expect`.
    pub(crate) async fn play(&self, case: &Case) -> anyhow::Result<Value> {
        let folder = tempfile::tempdir()?;
        let (mut extensions, mut loads) = self.load(case, folder.path()).await?;
        let script = Script::parse(&case.script().to_string()).map_err(anyhow::Error::msg)?;
        let model = Arc::new(ScriptedModel::new("scripted", script));
        let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await?);
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = events.clone();
        let built_in = Arc::new(BuiltIn::new(case.system(), case.host.hooks.clone(), move |event| {
            told.lock().push(event);
        }));
        let agent = loop {
            let mut builder = Agent::builder(store.clone())
                .model(model.clone())
                .system(case.system())
                .hooks(built_in.clone())
                .extensions(extensions.iter().cloned());
            for tool in host::tools(case)? {
                builder = builder.tool(tool);
            }
            if let Some(steps) = case.host.max_steps {
                builder = builder.max_steps(steps);
            }
            match builder.build() {
                Ok(agent) => break agent,
                Err(BuildError::Tool(taken)) => refuse(&mut extensions, &mut loads, &taken.0, &taken)?,
                Err(error) => return Err(error.into()),
            }
        };
        let session = agent.session("conformance").await?;
        let mut turns = Vec::new();
        for user in case.turns() {
            let result = session.send(user).await?.finish().await;
            turns.push(match (result.stage, result.error) {
                // It never came to a model request: in the recordings the caller's promise rejects.
                (Some(_), error) => json!({"rejected": error}),
                (None, Some(error)) => json!({"status": result.status, "error": error}),
                (None, None) => json!({"status": result.status}),
            });
        }
        let (mut events, mut chunks) = (events.lock().clone(), built_in.chunks.lock().clone());
        for extension in &extensions {
            seen(&*store, &extension.manifest.name, &mut events, &mut chunks).await?;
        }
        let stored = store.messages(session.name()).await?;
        Ok(json!({
            "loads": loads,
            "events": events,
            "chunks": chunks,
            "requests": model.requests().iter().map(request).collect::<Result<Vec<_>, _>>()?,
            "turns": turns,
            "messages": stored.iter().map(|message| pick_message(&json!(message))).collect::<Vec<_>>(),
        }))
    }

    /// The extensions that load, in order, and what `loads` says of each.
    async fn load(&self, case: &Case, folder: &Path) -> anyhow::Result<(Vec<Arc<Extension>>, Vec<Value>)> {
        let (files, loaded) = try_load(&self.template, &case.extensions, folder).await?;
        let loads = case.extensions.iter().zip(&files).map(|(extension, file)| {
            if let Some(loaded) = loaded.extensions.iter().find(|loaded| loaded.file == *file) {
                let manifest = &loaded.manifest;
                let tools: Vec<String> = manifest.tools.iter().map(|tool| manifest.tool_name(tool)).collect();
                return Ok(json!({"name": manifest.name, "tools": tools}));
            }
            let error = loaded.errors.iter().find(|error| error.file == *file).context("a file got lost")?;
            Ok(json!({"name": extension["name"], "error": error.reason.to_string()}))
        });
        let loads = loads.collect::<anyhow::Result<_>>()?;
        Ok((loaded.extensions, loads))
    }
}

/// Goes on without the last extension that has a tool of that name.
fn refuse(
    extensions: &mut Vec<Arc<Extension>>,
    loads: &mut [Value],
    tool: &str,
    error: &dyn std::error::Error,
) -> anyhow::Result<()> {
    let has = |extension: &Arc<Extension>| {
        let manifest = &extension.manifest;
        manifest.tools.iter().any(|own| manifest.tool_name(own) == tool)
    };
    let place = extensions.iter().rposition(has).with_context(|| error.to_string())?;
    let refused = extensions.remove(place);
    for load in loads {
        if load["name"] == *refused.manifest.name && load.get("error").is_none() {
            *load = json!({"name": refused.manifest.name, "error": error.to_string()});
        }
    }
    Ok(())
}

/// What an extension was shown, as the probe has noted it.
async fn seen(
    store: &dyn Store,
    extension: &str,
    events: &mut Vec<Value>,
    chunks: &mut Vec<Value>,
) -> anyhow::Result<()> {
    for key in store.keys(extension, "note/").await? {
        let bytes = store.value(extension, &key).await?.context("a note is gone")?;
        let note: Value = serde_json::from_slice(&bytes)?;
        if note["hook"] == "onChunk" {
            for chunk in note["snapshot"].as_array().into_iter().flatten() {
                let mut fields = Map::from_iter([("extension".to_owned(), json!(extension))]);
                fields.extend(chunk.as_object().cloned().unwrap_or_default());
                chunks.push(fields.into());
            }
        } else {
            events.push(json!({"hook": note["hook"], "extension": extension, "snapshot": note["snapshot"]}));
        }
    }
    Ok(())
}

/// A request as the recorder saw it: system texts apart, and only what it looked at.
fn request(call: &ModelCall) -> serde_json::Result<Value> {
    let call = serde_json::to_value(call)?;
    let list = |key: &str| call[key].as_array().into_iter().flatten();
    let system = call["system"].as_str().map(str::to_owned).into_iter();
    let inline = list("messages").filter(|message| message["role"] == "system").map(|message| {
        let parts = message["content"].as_array().into_iter().flatten();
        parts.filter_map(|part| part["text"].as_str()).collect::<String>()
    });
    let system: Vec<String> = system.chain(inline).collect();
    let mut seen = Map::new();
    seen.insert("system".into(), system.join("\n").into());
    seen.insert(
        "messages".into(),
        list("messages").filter(|message| message["role"] != "system").map(pick_content).collect(),
    );
    seen.insert("tools".into(), list("tools").map(|tool| tool["name"].clone()).collect());
    seen.extend(pick(
        &call,
        &[
            "toolChoice",
            "temperature",
            "maxOutputTokens",
            "topP",
            "topK",
            "presencePenalty",
            "frequencyPenalty",
            "stopSequences",
            "seed",
            "providerOptions",
        ],
    ));
    let headers = call["headers"].as_object().into_iter().flatten();
    let extra = headers.filter(|(name, _)| name.starts_with("x-"));
    seen.insert(
        "headers".into(),
        Value::Object(extra.map(|(name, value)| (name.clone(), value.clone())).collect()),
    );
    Ok(seen.into())
}

fn pick_message(message: &Value) -> Value {
    let keys = ["type", "text", "state", "input", "output", "errorText", "toolCallId"];
    let parts = message["parts"].as_array().into_iter().flatten();
    json!({"role": message["role"], "parts": parts.map(|part| Value::Object(pick(part, &keys))).collect::<Vec<_>>()})
}
