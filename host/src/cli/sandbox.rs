//! The sandbox behind the tests of an extension's author: a component, run as the host runs it, for another process.
//!
//! Orders come on standard input and reports go to standard output, each a line of JSON. What lies behind the guest's
//! imports is with the other process (`lathe_guest::testing`), which is asked for it. The two are of one version: the
//! other speaks through a crate that was built against the same contract.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::sync::Mutex;

use super::problem::Problem;
use super::{Done, host};
use crate::config::Config;
use crate::extensions::{
    Bridge, BridgeError, BridgeMessage, ExtensionSettings, GuestCall, Stand, StandError, Transport,
};
use crate::hooks::Failure;
use crate::turn::{Json, JsonObject};

/// Where `lathe test` says which configuration and data folder are its own: tests run in the folder of their extension.
pub(super) const CONFIG: &str = "LATHE_SANDBOX_CONFIG";
pub(super) const DATA: &str = "LATHE_SANDBOX_DATA";

/// The session of a test.
const SESSION: &str = "test";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    Load { file: PathBuf, name: String, settings: JsonObject, granted: Json, workspace: Option<PathBuf> },
    Hook { hook: String, snapshot: Json },
    Tool { name: String, input: String, context: Json },
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Report<'a> {
    Ready,
    Refused(String),
    Called { function: &'a str, arguments: Vec<Json>, error: Option<Json> },
    Ask(Json),
    Answer(Json),
    Failed { error: String, backtrace: Vec<String> },
}

pub(super) async fn run(mut config: Config) -> Result<Done, Problem> {
    if let Some(file) = std::env::var_os(CONFIG) {
        config = Config::load(Some(Path::new(&file)))?;
    }
    if let Some(data) = std::env::var_os(DATA) {
        config.data = data.into();
    }
    let input = BufReader::new(tokio::io::stdin()).lines();
    let wire = Arc::new(Wire { input: Mutex::new(input) });
    let mut stand: Option<Stand> = None;
    while let Some(line) = wire.line().await {
        let order = serde_json::from_str(&line);
        let order =
            order.map_err(|error| Problem::new(format!("that is no order for a sandbox: {error}")))?;
        let answer = match (order, &mut stand) {
            (Order::Load { file, name, settings, granted, workspace }, stand) => {
                let settings = Settings { name, settings, granted, workspace };
                match load(&config, &wire, file, settings).await {
                    Ok(loaded) => {
                        *stand = Some(loaded);
                        say(&Report::Ready);
                    }
                    Err(why) => say(&Report::Refused(why)),
                }
                continue;
            }
            (Order::Hook { hook, snapshot }, Some(stand)) => stand.hook(&hook, snapshot).await,
            (Order::Tool { name, input, context }, Some(stand)) => stand.tool(&name, &input, context).await,
            (_, None) => return Err(Problem::new("nothing is loaded into the sandbox")),
        };
        match answer {
            Ok(answer) => say(&Report::Answer(answer)),
            Err(error) => {
                let backtrace = match &error {
                    StandError::Failure(Failure::Trap { backtrace, .. }) => backtrace.clone(),
                    _ => Vec::new(),
                };
                say(&Report::Failed { error: error.to_string(), backtrace });
            }
        }
    }
    Ok(Done::Well)
}

struct Settings {
    name: String,
    settings: JsonObject,
    granted: Json,
    workspace: Option<PathBuf>,
}

async fn load(config: &Config, wire: &Arc<Wire>, file: PathBuf, set: Settings) -> Result<Stand, String> {
    let Settings { name, settings, granted, workspace } = set;
    let grant = Stand::grant(granted, workspace).map_err(|error| error.to_string())?;
    let limits = config.extension.get(&name).map(|section| section.limits.clone()).unwrap_or_default();
    let settings =
        BTreeMap::from([(name.clone(), ExtensionSettings { enabled: true, settings, limits, grant })]);
    let loader = host::loader(config).map_err(|problem| problem.message().to_owned())?;
    let loaded = loader.settings(settings).transport(Remote(wire.clone())).load_files(vec![file]).await;
    if let Some(error) = loaded.errors.first() {
        return Err(error.reason.to_string());
    }
    let Some(extension) = loaded.extensions.into_iter().next() else {
        return Err("it was not loaded".into());
    };
    if extension.manifest.name != name {
        let other = &extension.manifest.name;
        return Err(format!("{} is the extension \"{other}\", not \"{name}\"", extension.file.display()));
    }
    Ok(Stand::new(extension, Arc::new(Remote(wire.clone())), SESSION))
}

/// If standard output is closed, the other process is gone, and standard input ends too.
fn say(report: &Report<'_>) {
    let mut out = std::io::stdout().lock();
    let written = serde_json::to_string(report).map(|line| writeln!(out, "{line}"));
    let _ = written.map(|_| out.flush());
}

/// The other process's words.
struct Wire {
    input: Mutex<Lines<BufReader<Stdin>>>,
}

impl Wire {
    async fn line(&self) -> Option<String> {
        self.input.lock().await.next_line().await.ok().flatten()
    }

    /// Asks the other process. One question at a time: a guest may have several requests under way.
    async fn ask<T: DeserializeOwned>(&self, question: Json) -> Result<T, BridgeError> {
        let mut input = self.input.lock().await;
        say(&Report::Ask(question));
        let gone = || BridgeError::Failed("the test is gone".into());
        let line = input.next_line().await.ok().flatten().ok_or_else(gone)?;
        let answer: Result<T, Refusal> =
            serde_json::from_str(&line).map_err(|error| BridgeError::Failed(error.to_string()))?;
        answer.map_err(BridgeError::from)
    }
}

/// Why the other process did not do it.
#[derive(Deserialize)]
enum Refusal {
    NotFound(String),
    TooLarge(String),
    #[serde(alias = "Denied", alias = "Unavailable")]
    Failed(String),
}

impl From<Refusal> for BridgeError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(text) => Self::NotFound(text),
            Refusal::TooLarge(text) => Self::TooLarge(text),
            Refusal::Failed(text) => Self::Failed(text),
        }
    }
}

/// What lies behind the guest's imports: the other process.
struct Remote(Arc<Wire>);

/// A message as the other process has it.
#[derive(Deserialize)]
struct Message {
    id: String,
    role: String,
    content: String,
}

#[async_trait]
impl Bridge for Remote {
    async fn storage_get(&self, _: &str, key: &str) -> Result<Option<Vec<u8>>, BridgeError> {
        self.0.ask(json!({"storage-get": {"key": key}})).await
    }

    async fn storage_set(&self, _: &str, key: &str, value: Vec<u8>, limit: u64) -> Result<(), BridgeError> {
        self.0.ask(json!({"storage-set": {"key": key, "value": value, "limit": limit}})).await
    }

    async fn storage_delete(&self, _: &str, key: &str) -> Result<bool, BridgeError> {
        self.0.ask(json!({"storage-delete": {"key": key}})).await
    }

    async fn storage_keys(&self, _: &str, prefix: &str) -> Result<Vec<String>, BridgeError> {
        self.0.ask(json!({"storage-keys": {"prefix": prefix}})).await
    }

    async fn storage_increment(
        &self,
        _: &str,
        key: &str,
        delta: i64,
        limit: u64,
    ) -> Result<i64, BridgeError> {
        self.0.ask(json!({"storage-increment": {"key": key, "delta": delta, "limit": limit}})).await
    }

    async fn context_get(&self, _: &str, label: &str) -> Result<Option<String>, BridgeError> {
        self.0.ask(json!({"context-get": {"label": label}})).await
    }

    async fn context_set(&self, _: &str, label: &str, text: String, create: bool) -> Result<(), BridgeError> {
        self.0.ask(json!({"context-set": {"label": label, "text": text, "create": create}})).await
    }

    async fn messages(&self, _: &str, limit: usize) -> Result<Vec<BridgeMessage>, BridgeError> {
        let messages: Vec<Message> = self.0.ask(json!({"messages": {"limit": limit}})).await?;
        let message = |Message { id, role, content }| BridgeMessage { id, role, content };
        Ok(messages.into_iter().map(message).collect())
    }

    async fn message_count(&self, _: &str) -> Result<usize, BridgeError> {
        self.0.ask(json!("message-count")).await
    }

    async fn send_message(&self, _: &str, text: String) -> Result<(), BridgeError> {
        self.0.ask(json!({"send-message": {"text": text}})).await
    }

    fn watches(&self) -> bool {
        true
    }

    fn called(&self, GuestCall { function, arguments, error }: GuestCall) {
        say(&Report::Called { function, arguments, error });
    }
}

/// A server's answer as the other process has it.
#[derive(Deserialize)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Remote {
    fn requested(method: &str, url: &str, body: &[u8], error: Option<Json>) {
        let body = str::from_utf8(body).map_or_else(|_| body.into(), Json::from);
        say(&Report::Called {
            function: "http.send",
            arguments: vec![method.into(), url.into(), body],
            error,
        });
    }
}

#[async_trait]
impl Transport for Remote {
    async fn send(&self, request: http::Request<Vec<u8>>) -> Option<http::Response<Vec<u8>>> {
        let (method, url) = (request.method().as_str(), request.uri().to_string());
        let reply: Result<Reply, _> = self.0.ask(json!({"http": {"method": method, "url": url}})).await;
        let error = reply.as_ref().err().map(|error| json!({"Failed": error.to_string()}));
        Self::requested(method, &url, request.body(), error);
        let Reply { status, headers, body } = reply.ok()?;
        let answer =
            headers.into_iter().fold(http::Response::builder().status(status), |answer, (name, value)| {
                answer.header(name, value)
            });
        answer.body(body).ok()
    }

    fn refused(&self, method: &http::Method, url: &http::Uri) {
        let error = json!({"Denied": format!("{url}: the request is not granted")});
        Self::requested(method.as_str(), &url.to_string(), &[], Some(error));
    }
}
