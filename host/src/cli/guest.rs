//! One extension in its sandbox, called outside of any turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::{Args, ValueEnum};
use parking_lot::Mutex;
use serde::Serialize;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::host;
use super::logs::{self, Log};
use super::problem::Problem;
use super::snapshot::{HOOKS, Shown};
use crate::config::{Config, ExtensionSection};
use crate::driver::StoreBridge;
use crate::extensions::{Bridge, Extension, Services};
use crate::hooks::{Events, Failure, HealthChange, Hook, HookCall, Subscriber, ToolCost};
use crate::store::SqliteStore;
use crate::tools::{CallContext, InputCheck, OUTPUT_BYTES, Tool, check_output};
use crate::turn::{Json, JsonObject, ToolError};

/// The id under which the calls are made, as if they were one turn.
const REQUEST: &str = "request-1";

/// What the extension finds around it.
#[derive(Debug, Args)]
pub(super) struct Around {
    /// What its `settings` returns, as a JSON object [default: what the configuration says].
    #[arg(long, value_name = "JSON")]
    pub(super) settings: Option<String>,
    /// The folder of a database to work on [default: one that is gone afterwards].
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// The session it is called in.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) session: String,
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Tool,
    Hook,
}

/// One thing to be called, and what with.
#[derive(Clone)]
pub(super) enum Task {
    Tool(usize, Json),
    Hook(Shown),
}

/// What a call came to.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) answer: Result<Json, ToolError>,
    /// None if the input did not fit and nothing was called.
    pub(super) cost: Option<Cost>,
    /// The cause of a failure that is the extension's fault, in one word.
    pub(super) failure: Option<&'static str>,
    /// What of the answer was left out, and why.
    pub(super) dropped: Vec<String>,
}

/// What a call has cost.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cost {
    pub(super) duration_ms: f64,
    pub(super) fuel: u64,
    pub(super) memory_bytes: usize,
    pub(super) output_bytes: usize,
    pub(super) denied: u64,
}

pub(super) struct Guest {
    pub(super) extension: Arc<Extension>,
    tools: Vec<(Arc<dyn Tool>, InputCheck)>,
    worker: Box<dyn Subscriber>,
    heard: Arc<Heard>,
    store: SqliteStore,
    session: String,
    calls: AtomicU32,
    /// Gone with the guest.
    _folder: Option<TempDir>,
}

impl Guest {
    /// Loads a file, with what the configuration says of its extension, changed. From here on the log is that of calls.
    pub(super) async fn open(
        file: &Path,
        mut config: Config,
        around: &Around,
        keep_log: bool,
        change: impl FnOnce(&mut ExtensionSection),
    ) -> Result<(Self, Log), Problem> {
        // Once for its name, by which the configuration knows it; what there is to say is said the second time.
        let name = load(file, &config).await?.manifest.name.clone();
        let log = logs::of_calls(keep_log)?;
        let section = config.extension.entry(name).or_default();
        if let Some(settings) = &around.settings {
            section.settings = object(settings)?;
        }
        change(section);
        let extension = load(file, &config).await?;
        let folder = if around.data.is_none() {
            let made = tempfile::tempdir();
            Some(made.map_err(|error| Problem::new(format!("cannot make a temporary folder: {error}")))?)
        } else {
            None
        };
        let data = folder.as_ref().map(TempDir::path).or(around.data.as_deref()).unwrap_or(Path::new("."));
        let store = SqliteStore::open(&Config { data: data.to_owned(), ..config }.database()).await?;
        let bridge: Arc<dyn Bridge> = Arc::new(StoreBridge::new(Arc::new(store.clone()), None));
        let tool = |tool: Arc<dyn Tool>| {
            let check = InputCheck::new(&tool.definition().input_schema);
            (tool, check)
        };
        let tools = extension.tools(&bridge).map(tool).collect();
        let heard = Arc::new(Heard::default());
        let worker = extension.subscribe(Services {
            bridge,
            session: around.session.as_str().into(),
            events: heard.clone(),
            request_id: REQUEST.into(),
        });
        let (session, calls) = (around.session.clone(), AtomicU32::new(0));
        Ok((Self { extension, tools, worker, heard, store, session, calls, _folder: folder }, log))
    }

    /// Finds what is to be called, under the names of the contract, of the host, or of the model.
    pub(super) fn task(&self, kind: Kind, name: &str, input: Json) -> Result<Task, Problem> {
        match kind {
            Kind::Tool => self.tool(name).map(|number| Task::Tool(number, input)),
            Kind::Hook => self.hook(name).and_then(|hook| Shown::read(hook, input)).map(Task::Hook),
        }
    }

    fn tool(&self, name: &str) -> Result<usize, Problem> {
        let manifest = &self.extension.manifest;
        let found =
            manifest.tools.iter().position(|tool| tool.name == name || manifest.tool_name(tool) == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = manifest.tools.iter().map(|tool| &*tool.name).collect();
            unknown(format!("{} has no tool \"{name}\"", manifest.name), name, &names, "tools")
        })
    }

    fn hook(&self, name: &str) -> Result<Hook, Problem> {
        let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
        let hook = HOOKS.into_iter().find(|hook| plain(hook.name()) == plain(name));
        let Some(hook) = hook else {
            let names = HOOKS.map(Hook::name);
            return Err(unknown(format!("there is no hook \"{name}\""), name, &names, "hooks"));
        };
        if !self.worker.subscribes(hook) {
            let manifest = &self.extension.manifest;
            let names: Vec<&str> = manifest.hooks.iter().map(|hook| hook.name()).collect();
            let message = format!("{} does not subscribe to {}", manifest.name, hook.name());
            return Err(unknown(message, "", &names, "hooks"));
        }
        Ok(hook)
    }

    /// The task as people know it: `calc_evaluate`, `beforeTurn`.
    pub(super) fn name(&self, task: &Task) -> &str {
        match task {
            Task::Tool(number, _) => self.tools.get(*number).map_or("", |(tool, _)| &*tool.definition().name),
            Task::Hook(shown) => shown.hook().name(),
        }
    }

    pub(super) async fn call(&self, task: Task) -> Called {
        match task {
            Task::Tool(number, input) => match self.tools.get(number) {
                Some((tool, check)) => self.call_tool(&**tool, check, input).await,
                None => Called::refused(ToolError::named("UnknownTool", "there is no such tool")),
            },
            Task::Hook(shown) => self.call_hook(shown).await,
        }
    }

    async fn call_tool(&self, tool: &dyn Tool, check: &InputCheck, input: Json) -> Called {
        let name = &tool.definition().name;
        let input = match check.check(input) {
            Ok(input) => input,
            Err(error) => {
                let message = format!("Invalid input for tool \"{name}\": {error}");
                return Called::refused(ToolError::named("InvalidInput", message));
            }
        };
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("call-{number}");
        let call = CallContext::new(&*self.session, REQUEST, REQUEST, 0, id, CancellationToken::new(), drop);
        let answer = tool.execute(input, &call).await.and_then(|answer| {
            check_output(name, &answer.output, OUTPUT_BYTES)?;
            Ok(answer.output)
        });
        let cost = self.heard.tool.lock().take();
        // As the cause has it: who it was is told beside it.
        let cause = cost.as_ref().and_then(|cost| cost.error.clone());
        let answer = answer.map_err(|error| ToolError { message: cause.unwrap_or(error.message), ..error });
        Called {
            failure: cost.as_ref().and_then(|cost| cost.failure),
            cost: cost.map(|cost| Cost {
                duration_ms: cost.duration_ms,
                fuel: cost.fuel,
                memory_bytes: cost.memory_bytes,
                output_bytes: cost.output_bytes,
                denied: cost.denied,
            }),
            answer,
            dropped: Vec::new(),
        }
    }

    async fn call_hook(&self, shown: Shown) -> Called {
        match shown {
            Shown::Turn(snapshot) => {
                let (call, answer) = self.worker.before_turn(snapshot).await;
                match answer {
                    Ok(Some(patch)) => {
                        let mut changes = json(&patch.config);
                        if !patch.reset.is_empty() {
                            changes["reset"] = json(&patch.reset);
                        }
                        Called::asked(&call, Ok(Some(changes)), patch.dropped)
                    }
                    Ok(None) => Called::asked(&call, Ok(None), Vec::new()),
                    Err(failure) => Called::asked(&call, Err(failure), Vec::new()),
                }
            }
            Shown::Step(snapshot) => {
                let (call, answer) = self.worker.before_step(snapshot).await;
                match answer {
                    Ok(Some((config, dropped))) => Called::asked(&call, Ok(Some(json(&config))), dropped),
                    Ok(None) => Called::asked(&call, Ok(None), Vec::new()),
                    Err(failure) => Called::asked(&call, Err(failure), Vec::new()),
                }
            }
            Shown::ToolCall(snapshot) => {
                let (call, answer) = self.worker.before_tool_call(snapshot).await;
                Called::asked(&call, answer.map(|decision| decision.as_ref().map(json)), Vec::new())
            }
            Shown::ToolResult(snapshot) => {
                let (call, answer) = self.worker.after_tool_call(snapshot).await;
                Called::asked(&call, answer.map(|change| change.as_ref().map(json)), Vec::new())
            }
            Shown::Observations(hook, observations) => {
                for observation in observations {
                    self.worker.observe(observation);
                }
                self.worker.flush().await;
                let name = &self.extension.manifest.name;
                let call = self.heard.hook.lock().take();
                let set_aside = || {
                    let error = Some(format!("the extension \"{name}\" is in quarantine"));
                    HookCall { error, failure: Some("quarantined"), ..HookCall::new(hook, &**name, 0.0, 0) }
                };
                Called::told(&call.unwrap_or_else(set_aside))
            }
        }
    }

    pub(super) async fn close(self) {
        drop(self.worker);
        self.store.close().await;
    }
}

impl Called {
    /// Nothing was called.
    fn refused(error: ToolError) -> Self {
        Self { answer: Err(error), cost: None, failure: None, dropped: Vec::new() }
    }

    fn asked(call: &HookCall, answer: Result<Option<Json>, Failure>, dropped: Vec<String>) -> Self {
        Self {
            cost: Some(Cost::of(call)),
            failure: answer.as_ref().err().map(Failure::kind),
            answer: answer
                .map(Option::unwrap_or_default)
                .map_err(|failure| ToolError::named("ExtensionError", failure.to_string())),
            dropped,
        }
    }

    fn told(call: &HookCall) -> Self {
        let answer = match &call.error {
            Some(error) => Err(ToolError::named("ExtensionError", error)),
            None => Ok(Json::Null),
        };
        Self { cost: Some(Cost::of(call)), failure: call.failure, answer, dropped: Vec::new() }
    }
}

impl Cost {
    fn of(call: &HookCall) -> Self {
        let HookCall { duration_ms, fuel, memory_bytes, output_bytes, denied, .. } = *call;
        Self { duration_ms, fuel, memory_bytes, output_bytes, denied }
    }
}

/// What the last calls have cost.
#[derive(Default)]
struct Heard {
    tool: Mutex<Option<ToolCost>>,
    hook: Mutex<Option<HookCall>>,
}

impl Events for Heard {
    fn hook_called(&self, call: HookCall) {
        *self.hook.lock() = Some(call);
    }

    fn tool_called(&self, cost: ToolCost) {
        *self.tool.lock() = Some(cost);
    }

    fn health_changed(&self, _: HealthChange) {}
}

async fn load(file: &Path, config: &Config) -> Result<Arc<Extension>, Problem> {
    let loaded = host::loader(config)?.load_files(vec![file.to_owned()]).await;
    let error = loaded.errors.into_iter().next();
    loaded.extensions.into_iter().next().ok_or_else(|| {
        error.map_or_else(|| Problem::new(format!("{} was not loaded", file.display())), Problem::from)
    })
}

fn object(settings: &str) -> Result<JsonObject, Problem> {
    match serde_json::from_str(settings) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => Err(Problem::new("the settings must be a JSON object")
            .hint("such as --settings '{\"precision\": 3}'")),
        Err(error) => Err(Problem::new(format!("the settings are not JSON: {error}"))
            .hint("such as --settings '{\"precision\": 3}'")),
    }
}

fn unknown(message: String, name: &str, known: &[&str], what: &str) -> Problem {
    let near = known.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known));
    let near = near.filter(|known| strsim::damerau_levenshtein(name, known) * 3 <= known.len());
    Problem::new(message).hint(match near {
        Some(near) => format!("did you mean {near}?"),
        None if known.is_empty() => format!("it has no {what}"),
        None => format!("there are the {what} {}", known.join(", ")),
    })
}

fn json<T: Serialize>(value: &T) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}
