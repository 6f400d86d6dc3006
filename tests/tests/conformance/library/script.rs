//! What goes into a case of the Go library. A key that is not known here is an error: it would be a behaviour that
//! nobody plays.

use std::collections::BTreeMap;

use lathe::turn::FinishReason;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A case without what was recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Script {
    #[serde(default, rename = "name")]
    _name: String,
    #[serde(default, rename = "why")]
    _why: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(default, rename = "pi")]
    _pi: String,
    #[serde(default)]
    pub(crate) host: Host,
    pub(crate) model: Vec<Answer>,
    #[serde(default)]
    pub(crate) queue: Vec<Meanwhile>,
    turns: Option<Vec<Turn>>,
    #[serde(rename = "expect")]
    _expect: Expect,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    #[serde(rename = "events")]
    _events: Vec<Value>,
    #[serde(rename = "requests")]
    _requests: Vec<Value>,
    #[serde(rename = "executions")]
    _executions: Vec<Value>,
    #[serde(rename = "turns")]
    _turns: Vec<Value>,
    #[serde(rename = "messages")]
    _messages: Vec<Value>,
}

/// The agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Host {
    pub(crate) system: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) thinking_level: Option<String>,
    tool_execution: Option<Execution>,
    steering_mode: Option<Mode>,
    follow_up_mode: Option<Mode>,
    pub(crate) tools: BTreeMap<String, Tool>,
    pub(crate) hooks: Hooks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Execution {
    Parallel,
    Sequential,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    OneAtATime,
    All,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Tool {
    pub(crate) description: Option<String>,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) required: Vec<String>,
    pub(crate) result: String,
    pub(crate) echo: bool,
    pub(crate) throw: Option<String>,
    /// True, or a text to panic with.
    pub(crate) panic: Value,
    pub(crate) sequential: bool,
    pub(crate) delay_ms: u64,
    pub(crate) ignore_abort: bool,
    pub(crate) updates: Vec<String>,
    pub(crate) details: Option<Value>,
    pub(crate) terminate: bool,
}

/// The hooks, those around tool calls by tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Hooks {
    pub(crate) before_tool_call: BTreeMap<String, Calls<Before>>,
    pub(crate) after_tool_call: BTreeMap<String, Calls<After>>,
    pub(crate) transform_context: Calls<Transform>,
    pub(crate) prepare_next_turn: Calls<Prepare>,
    pub(crate) should_stop_after_turn: Calls<Stop>,
}

/// What a hook says, call by call.
#[derive(Clone, Debug)]
pub(crate) struct Calls<T>(Vec<Option<T>>);

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Calls<T> {
    /// At the call of that number, from 0; the last entry repeats.
    pub(crate) fn at(&self, call: usize) -> Option<&T> {
        self.0.get(call).or(self.0.last())?.as_ref()
    }

    pub(crate) fn said(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Calls<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = match Value::deserialize(deserializer)? {
            Value::Array(list) => list,
            one => vec![one],
        };
        let entries = list.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        entries.map(Self).map_err(D::Error::custom)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Before {
    pub(crate) block: bool,
    pub(crate) reason: Option<String>,
    pub(crate) throw: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct After {
    pub(crate) content: Option<String>,
    pub(crate) is_error: Option<bool>,
    pub(crate) details: Option<Value>,
    pub(crate) terminate: Option<bool>,
    pub(crate) only_errors: bool,
    pub(crate) throw: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Transform {
    pub(crate) keep_last: Option<usize>,
    pub(crate) throw: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Prepare {
    pub(crate) model: Option<String>,
    pub(crate) thinking_level: Option<String>,
    pub(crate) system: Option<String>,
    pub(crate) keep_last: Option<usize>,
    pub(crate) throw: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Stop {
    Always(bool),
    When(StopWhen),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct StopWhen {
    pub(crate) after_messages: Option<usize>,
    pub(crate) when_result_contains: Option<String>,
    pub(crate) throw: Option<String>,
}

impl<'de> Deserialize<'de> for Stop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(always) => Ok(Self::Always(always)),
            other => serde_json::from_value(other).map(Self::When).map_err(D::Error::custom),
        }
    }
}

/// What the model says to one request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) text: Vec<Delta>,
    pub(crate) reasoning: Vec<Delta>,
    pub(crate) tool_calls: Vec<Call>,
    pub(crate) finish: Option<FinishReason>,
    /// What it cost is not compared.
    #[serde(rename = "usage")]
    _usage: Value,
    /// An error after all the above.
    pub(crate) stream_error: Option<String>,
    /// The request is refused.
    pub(crate) error: Option<String>,
    pub(crate) hold_ms: u64,
    pub(crate) delay_ms: u64,
    pub(crate) no_finish: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Delta {
    Text(String),
    Hold(u64),
}

impl<'de> Deserialize<'de> for Delta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Hold {
            hold_ms: u64,
        }
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(text)),
            other => serde_json::from_value::<Hold>(other)
                .map(|hold| Self::Hold(hold.hold_ms))
                .map_err(D::Error::custom),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) input: Value,
}

/// Something that the user does while the agent works.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Meanwhile {
    pub(crate) when: When,
    pub(crate) steer: Option<String>,
    pub(crate) follow_up: Option<String>,
    pub(crate) prompt: Option<String>,
    #[serde(default)]
    pub(crate) abort: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the first turn.
    Start,
    /// While the request of that number, from 0, is answered: before anything, or after that many text deltas.
    Request { request: usize, delta: Option<usize> },
    /// While a tool runs, for the n-th time.
    Tool { tool: String, call: usize },
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Request {
            request: usize,
            delta: Option<usize>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Tool {
            tool: String,
            call: Option<usize>,
        }
        match Value::deserialize(deserializer)? {
            Value::String(word) if word == "start" => Ok(Self::Start),
            value if value.get("tool").is_some() => serde_json::from_value::<Tool>(value)
                .map(|Tool { tool, call }| Self::Tool { tool, call: call.unwrap_or(1).max(1) }),
            value => serde_json::from_value::<Request>(value)
                .map(|Request { request, delta }| Self::Request { request, delta }),
        }
        .map_err(D::Error::custom)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Turn {
    User(String),
    Continue,
}

impl<'de> Deserialize<'de> for Turn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Continue {
            r#continue: bool,
        }
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::User(text)),
            other => match serde_json::from_value::<Continue>(other) {
                Ok(Continue { r#continue: true }) => Ok(Self::Continue),
                Ok(_) => Err(D::Error::custom("a turn that does not continue has a text")),
                Err(error) => Err(D::Error::custom(error)),
            },
        }
    }
}

impl Script {
    pub(crate) fn turns(&self) -> Vec<Turn> {
        self.turns.clone().unwrap_or_else(|| vec![Turn::User("go".into())])
    }

    /// The texts that hooks can give to a call.
    pub(crate) fn hook_texts(&self) -> Vec<&str> {
        let hooks = &self.host.hooks;
        let before = hooks.before_tool_call.values().flat_map(Calls::said);
        let after = hooks.after_tool_call.values().flat_map(Calls::said);
        let reasons = before.filter_map(|said| said.reason.as_deref());
        reasons.chain(after.filter_map(|said| said.content.as_deref())).collect()
    }

    /// Whether the text of a call of that tool that runs is the tool's own, whatever becomes of it.
    pub(crate) fn answers(&self, tool_name: &str) -> bool {
        self.host
            .tools
            .get(tool_name)
            .is_some_and(|tool| matches!(tool.panic, Value::Null | Value::Bool(false)))
    }

    /// Whether the text of a call of that tool that is blocked is a reason of the script.
    pub(crate) fn gives_reasons(&self, tool_name: &str) -> bool {
        self.host.hooks.before_tool_call.get(tool_name).is_some_and(|calls| {
            calls.said().all(|said| said.throw.is_none() && (!said.block || said.reason.is_some()))
        })
    }
}

impl Host {
    pub(crate) fn is_sequential(&self) -> bool {
        self.tool_execution == Some(Execution::Sequential)
    }

    /// Whether all that steer, and all follow-ups, are taken up at once.
    pub(crate) fn takes_all(&self) -> (bool, bool) {
        (self.steering_mode == Some(Mode::All), self.follow_up_mode == Some(Mode::All))
    }
}
