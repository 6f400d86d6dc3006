//! What fuzzers call: what clients may send, given to the hub of a session over several connections.
//!
//! `tests/tests/fuzz.rs` plays a corpus of such inputs, `fuzz/` looks for new ones. Only with the feature `fuzzing`;
//! nothing of the host uses it.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::frames::ClientFrame;
use super::hub::Client;
use super::hubs::{Hubs, Seat};
use super::limits::Limits;
use super::outbox::{Frames, outbox};
use crate::agent::Agent;
use crate::model::{LanguageModel, ModelError, ModelErrorKind, ModelEvent, ModelStream};
use crate::store::SqliteStore;
use crate::tools::{CallContext, Tool, ToolAnswer};
use crate::turn::{FinishReason, Json, ModelCall, Role, ToolDefinition, ToolError, Usage};

/// Lines that count: fewer than the requests that may wait for their turn.
const LINES: usize = 40;

/// How long a session may take to answer in the end. Far more than it takes, as long as it is not stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether a turn is over.
const PAUSE: Duration = Duration::from_millis(1);

/// Plays what three clients, `a`, `b` and `c`, do in one session. Each line is a client, a space, and what it does: a frame
/// as JSON, or `join`, `leave`, `wait` (until nothing runs), or a frame by its words: `chat ID TEXT`, `again ID TEXT`
/// (regenerate), `cancel ID`, `clear`, `result CALL`, `failed CALL`, `approve CALL`, `reject CALL`, `resume`, `ack ID`,
/// `rpc METHOD`, `state TEXT`. The model says a few words; asked with `ask` in the text it calls a tool of the
/// client's, with `wipe` one that needs approval, with `add` one of the server's, with `fail` it fails.
///
/// # Panics
///
/// If the session does not answer one more client's question in the end. False if no line was a frame.
#[must_use]
pub fn frames(bytes: &[u8]) -> bool {
    thread_local! {
        static HOUSE: io::Result<House> = House::new();
    }
    HOUSE.with(|house| match house {
        Ok(house) => house.runtime.block_on(play(&house.agent, &String::from_utf8_lossy(bytes))),
        Err(error) => {
            assert_eq!(error.to_string(), "", "the house of the fuzzer cannot be built");
            false
        }
    })
}

struct House {
    runtime: Runtime,
    agent: Agent,
    _folder: TempDir,
}

impl House {
    fn new() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let store = runtime.block_on(SqliteStore::open(&folder.path().join("lathe.db")));
        let agent = Agent::builder(Arc::new(store.map_err(io::Error::other)?))
            .model(Arc::new(Talker))
            .tool(Arc::new(Echo::new("add", false)))
            .tool(Arc::new(Echo::new("wipe", true)))
            .build()
            .map_err(io::Error::other)?;
        Ok(Self { runtime, agent, _folder: folder })
    }
}

async fn play(agent: &Agent, text: &str) -> bool {
    static SESSION: AtomicU64 = AtomicU64::new(0);
    let name = format!("s{}", SESSION.fetch_add(1, Ordering::Relaxed));
    let limits = Limits { queued_bytes: 1 << 20, ..Limits::default() };
    let stop = CancellationToken::new();
    let hubs = Hubs::new(agent.clone(), limits, stop.clone());
    let mut clients: HashMap<char, (Seat, Frames)> = HashMap::new();
    let mut taken = false;
    for line in text.lines().take(LINES) {
        let Some((client, does)) = line.split_once(' ') else { continue };
        let Some(client @ 'a'..='c') = client.chars().next() else { continue };
        match does {
            "leave" => {
                drop(clients.remove(&client));
            }
            "wait" => {
                if let Ok(session) = agent.session(&name).await {
                    let quiet = async {
                        while session.is_busy() {
                            tokio::time::sleep(PAUSE).await;
                        }
                    };
                    assert!(timeout(PATIENCE, quiet).await.is_ok(), "a turn does not end");
                }
            }
            _ => {
                if !clients.contains_key(&client)
                    && let Some(joined) = join(&hubs, &name).await
                {
                    clients.insert(client, joined);
                }
                let Some((seat, _)) = clients.get(&client) else { continue };
                if let Some(frame) = frame(does) {
                    taken = true;
                    assert!(seat.say(frame, 0).await, "the hub is gone");
                }
            }
        }
        // What was asked for may begin, or not.
        tokio::task::yield_now().await;
    }
    let answered = timeout(PATIENCE, answers(&hubs, &name)).await;
    assert_eq!(answered, Ok(true), "the session is stuck");
    drop(clients);
    stop.cancel();
    hubs.close().await;
    let _ = agent.delete(&name).await;
    taken
}

async fn join(hubs: &Hubs, session: &str) -> Option<(Seat, Frames)> {
    let (outbox, frames) = outbox(1 << 20);
    Some((hubs.join(session, Client::Socket(None), "fuzzed", outbox).await.ok()??, frames))
}

/// Whether a new client's question is answered.
async fn answers(hubs: &Hubs, session: &str) -> bool {
    let Some((seat, mut frames)) = join(hubs, session).await else { return false };
    let Some(frame) = frame("chat the-last-one still there?") else { return false };
    seat.say(frame, 0).await;
    while let Some(text) = frames.next().await {
        let told: Json = serde_json::from_str(&text).unwrap_or_default();
        if told["id"] == "the-last-one" && told["done"] == true {
            return true;
        }
    }
    false
}

/// A frame as JSON, or by its words.
fn frame(does: &str) -> Option<ClientFrame> {
    if does.starts_with('{') {
        return ClientFrame::read(does);
    }
    let (word, rest) = does.split_once(' ').unwrap_or((does, ""));
    let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let chat = |trigger: &str| {
        let message =
            json!({"id": format!("u-{first}"), "role": "user", "parts": [{"type": "text", "text": text}]});
        let tools = json!([{"name": "ask", "description": "asks", "parameters": {"type": "object"}}]);
        let body = json!({"messages": [message], "trigger": trigger, "clientTools": tools}).to_string();
        json!({"type": "cf_agent_use_chat_request", "id": first, "init": {"method": "POST", "body": body}})
    };
    let approval = |approved: bool| json!({"type": "cf_agent_tool_approval", "toolCallId": first, "approved": approved, "autoContinue": true});
    let frame = match word {
        "chat" => chat("submit-message"),
        "again" => chat("regenerate-message"),
        "cancel" => json!({"type": "cf_agent_chat_request_cancel", "id": first}),
        "clear" => json!({"type": "cf_agent_chat_clear"}),
        "result" => {
            json!({"type": "cf_agent_tool_result", "toolCallId": first, "output": text, "autoContinue": true})
        }
        "failed" => {
            json!({"type": "cf_agent_tool_result", "toolCallId": first, "state": "output-error", "errorText": text, "autoContinue": true})
        }
        "approve" => approval(true),
        "reject" => approval(false),
        "resume" => json!({"type": "cf_agent_stream_resume_request"}),
        "ack" => json!({"type": "cf_agent_stream_resume_ack", "id": first}),
        "rpc" => json!({"type": "rpc", "id": "r", "method": first, "args": [text]}),
        "state" => json!({"type": "cf_agent_state", "state": rest}),
        _ => return None,
    };
    ClientFrame::read(&frame.to_string())
}

/// Says what the last message asks for.
#[derive(Debug)]
struct Talker;

#[async_trait]
impl LanguageModel for Talker {
    fn id(&self) -> &str {
        "fuzz:talker"
    }

    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError> {
        let calls = request.messages.iter().filter(|message| message.role == Role::Tool).count();
        let said = json!(request.messages.last()).to_string();
        let is_answer = request.messages.last().is_some_and(|last| last.role == Role::Tool);
        let tool = ["ask", "wipe", "add"].into_iter().find(|tool| !is_answer && said.contains(tool));
        let tool = tool.filter(|tool| request.tools.iter().any(|offered| offered.name == *tool));
        let id = || "t".to_owned();
        let mut events = vec![Ok(ModelEvent::TextStart { id: id() })];
        events.extend((0..3).map(|_| Ok(ModelEvent::TextDelta { id: id(), delta: "word ".into() })));
        if said.contains("fail") {
            events.push(Err(ModelError::new(ModelErrorKind::Other, "it fails, as it was told")));
            return Ok(talked(events));
        }
        events.push(Ok(ModelEvent::TextEnd { id: id(), provider_metadata: None }));
        if let Some(tool) = tool {
            events.push(Ok(ModelEvent::ToolCall {
                id: format!("c{calls}"),
                tool_name: tool.into(),
                input: "{}".into(),
                provider_metadata: None,
            }));
        }
        let reason = if tool.is_some() { FinishReason::ToolCalls } else { FinishReason::Stop };
        let (usage, provider_metadata) = (Usage::default(), None);
        events.push(Ok(ModelEvent::Finish { reason, raw_reason: None, usage, provider_metadata }));
        Ok(talked(events))
    }
}

/// One after the other, so that something can come between.
fn talked(events: Vec<Result<ModelEvent, ModelError>>) -> ModelStream {
    let one = |event| async {
        tokio::task::yield_now().await;
        event
    };
    stream::iter(events).then(one).boxed()
}

/// Answers with what it is given.
struct Echo(ToolDefinition);

impl Echo {
    fn new(name: &str, needs_approval: bool) -> Self {
        Self(ToolDefinition {
            name: name.into(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            replay: Default::default(),
            sequential: false,
            client: false,
            needs_approval,
            dynamic: false,
        })
    }
}

#[async_trait]
impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, input: Json, _: &CallContext) -> Result<ToolAnswer, ToolError> {
        Ok(input.into())
    }
}
