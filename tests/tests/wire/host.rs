//! The server of a case.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::Agent;
use lathe::model::{Script, ScriptedModel};
use lathe::server::Server;
use lathe::store::SqliteStore;
use lathe::tools::{CallContext, Tool, ToolAnswer};
use lathe::turn::{Json, ToolDefinition, ToolError};
use lathe_tests::built_in::BuiltIn;
use lathe_tests::extensions;
use lathe_tests::probe::Template;
use lathe_tests::recording::{concurrency, definition, entry};
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    pub(crate) model: Arc<ScriptedModel>,
    /// What the built-in hooks were told.
    pub(crate) hooks: Arc<Mutex<Vec<Value>>>,
    _folder: TempDir,
    _stop: DropGuard,
}

impl Host {
    pub(crate) async fn start(case: &Value, probe: Option<&Template>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let extensions = match probe {
            Some(probe) => extensions::load(probe, &case["extensions"], folder.path()).await?,
            None => Vec::new(),
        };
        let script: Value = case["model"].as_array().into_iter().flatten().map(entry).collect();
        let script = Script::parse(&script.to_string()).map_err(anyhow::Error::msg)?;
        let model = Arc::new(ScriptedModel::new("scripted", script));
        let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await?);
        let settings = &case["host"];
        let system = settings["system"].as_str().unwrap_or("SYS");
        let hooks = Arc::new(Mutex::new(Vec::new()));
        let told = hooks.clone();
        let behaviour = settings["hooks"].as_object().cloned().unwrap_or_default();
        let built_in = BuiltIn::new(system, behaviour, move |event| told.lock().push(event));
        let mut agent = Agent::builder(store)
            .model(model.clone())
            .system(system)
            .extensions(extensions)
            .concurrency(concurrency(&settings["messageConcurrency"])?)
            .hooks(Arc::new(built_in));
        for (name, behaviour) in settings["tools"].as_object().into_iter().flatten() {
            let definition = definition(name, behaviour)?;
            agent = agent.tool(Arc::new(CaseTool { definition, behaviour: behaviour.clone() }));
        }
        if let Some(steps) = settings["maxSteps"].as_u64() {
            agent = agent.max_steps(u32::try_from(steps)?);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        tokio::spawn(Server::new(agent.build()?).serve(listener, stopped));
        Ok(Self { address, model, hooks, _folder: folder, _stop: stop.drop_guard() })
    }
}

struct CaseTool {
    definition: ToolDefinition,
    behaviour: Value,
}

#[async_trait]
impl Tool for CaseTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, input: Json, _: &CallContext) -> Result<ToolAnswer, ToolError> {
        if let Some(ms) = self.behaviour["delayMs"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        match &self.behaviour["throw"] {
            Value::String(error) => Err(ToolError::failed(error)),
            _ if self.behaviour["echo"] == true => Ok(input.into()),
            _ => Ok(self.behaviour["result"].clone().into()),
        }
    }
}
