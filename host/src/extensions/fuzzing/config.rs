use std::sync::Arc;

use futures::FutureExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::guest::{Guest, Nobody};
use super::{Line, lines};
use crate::extensions::bindings::exports::lathe::extension::hooks as wit;
use crate::extensions::bindings::lathe::extension::types::ToolChoice;
use crate::extensions::grant::Grant;
use crate::hooks::Stash;
use crate::hooks::{Dispatcher, HookError, StepContext, Subscriber, ToolCallContext, ToolResultContext};
use crate::turn::{
    Answer, AnswerPart, Assembly, Effect, FinishReason, ModelMessage, Outcome, Role, ToolCall,
    ToolDefinition, ToolOutput, ToolRan, Trigger, TurnConfig, TurnMachine, TurnStart, Usage,
};

/// What guests answer to the hooks that change a turn, in a turn: a step that calls a tool, and a last one.
///
/// Fields: those of `turn-config`; with `step-` before them, those of `step-config`; `allow`, `allow-as`, `block`,
/// `block-as` and `substitute` of a `tool-decision`; `output`, `is-error` and `terminate` of a `tool-override`;
/// `grant-model` and `grant-reasons`. `guest` begins those of another extension.
///
/// # Panics
///
/// If a value that is taken is out of range or not the guest's to set, or the turn could not be read again from the
/// journal, or does not end. False if something of an answer was left out or could not be read.
#[must_use]
pub fn config(bytes: &[u8]) -> bool {
    let guests = read(bytes);
    let mut taken = true;
    for guest in &guests {
        let Some(patch) = guest.patch() else { continue };
        own(&patch.config, &guest.grant);
        taken &= patch.dropped.is_empty();
    }
    let subscribers = guests.iter().cloned().map(|guest| -> Box<dyn Subscriber> { Box::new(guest) });
    let known = |model: &str| if model.contains(':') { Ok(()) } else { Err("no such model".to_owned()) };
    let dispatcher = Dispatcher::new(Arc::new([]), subscribers.collect(), Arc::new(Nobody), Box::new(known));
    taken & turn(&dispatcher).now_or_never().is_none_or(|ended| ended.is_ok())
}

/// Effects that a turn of two steps has at most, with room to spare.
const EFFECTS: usize = 100;

async fn turn(dispatcher: &Dispatcher) -> Result<(), HookError> {
    let cancelled = CancellationToken::new();
    let mut turn = TurnMachine::new(TurnStart {
        request_id: "r".into(),
        message_id: "m".into(),
        trigger: Trigger::Programmatic,
        continuation: false,
        body: None,
        max_steps: 2,
    });
    for _ in 0..EFFECTS {
        let outcome = match turn.next() {
            Effect::Assemble => Outcome::Assembled(Box::new(assembly())),
            Effect::BeforeTurn => {
                let (config, provenance) = dispatcher
                    .before_turn(turn.start(), turn.assembly(), &Stash::default(), &cancelled)
                    .await?;
                Outcome::TurnConfigured(Box::new(config), provenance)
            }
            Effect::BeforeStep => {
                let messages = turn.messages();
                let context = StepContext {
                    request_id: "r",
                    step_number: turn.step_number(),
                    steps: turn.steps(),
                    system: turn.system(),
                    messages: &messages,
                    tools: &turn.tools(),
                    model: turn.model(),
                };
                Outcome::StepConfigured(Box::new(dispatcher.before_step(context, Usage::default()).await?))
            }
            Effect::CallModel => {
                kept(&turn);
                let call = turn.model_call();
                assert!(call.messages.last().is_none_or(|last| last.role != Role::Assistant));
                let offered = |tool: &ToolDefinition| assembly().tools.contains(tool);
                assert!(call.tools.iter().all(offered), "{:?}", call.tools);
                Outcome::ModelAnswered(if turn.steps().is_empty() { calls() } else { Answer::default() })
            }
            Effect::CheckInput { tool_call_id, input, .. } => Outcome::InputChecked(tool_call_id, Ok(input)),
            Effect::BeforeToolCall { call, input } => {
                let context = ToolCallContext {
                    request_id: "r",
                    step_number: turn.step_number(),
                    call: &call,
                    input: &input,
                    dynamic: false,
                    messages: &turn.messages(),
                    cancelled: &cancelled,
                };
                Outcome::ToolDecided(call.tool_call_id.clone(), dispatcher.before_tool_call(context).await)
            }
            Effect::RunTools(runs) => {
                let Some(run) = runs.into_iter().next() else { break };
                let output = ToolOutput::Output(run.input);
                let ran = ToolRan { output, duration_ms: 1.0, terminate: false, details: None };
                Outcome::ToolRan { tool_call_id: run.tool_call_id, ran }
            }
            Effect::AfterToolCall(record) => {
                let context = ToolResultContext {
                    request_id: "r",
                    step_number: turn.step_number(),
                    record: &record,
                    dynamic: false,
                    messages: &turn.messages(),
                };
                let change = dispatcher.after_tool_call(context).await;
                Outcome::ToolReviewed(record.call.tool_call_id.clone(), change)
            }
            Effect::FinishStep => Outcome::StepFinished,
            Effect::PrepareNextStep => Outcome::NextStepPrepared(Box::default()),
            Effect::DecideStop => Outcome::StopDecided(turn.steps().len() > 1),
            Effect::TakeSteering | Effect::TakeFollowUps => Outcome::Taken(None),
            Effect::Store | Effect::StoreApproved(_) => Outcome::Stored,
            Effect::Tell(_) => Outcome::Told,
            Effect::Finished(_) => {
                kept(&turn);
                return Ok(());
            }
        };
        let unexpected = turn.apply(outcome).err();
        assert_eq!(unexpected, None, "the turn waits for something else");
    }
    assert!(matches!(turn.next(), Effect::Finished(_)), "the turn does not end");
    Ok(())
}

/// The journal holds the turn as JSON, and must give it back.
fn kept(turn: &TurnMachine) {
    let text = serde_json::to_string(turn);
    assert!(text.is_ok(), "it cannot be written down: {text:?}");
    let again: Result<TurnMachine, _> = serde_json::from_str(&text.unwrap_or_default());
    assert_eq!(again.as_ref().map_err(ToString::to_string), Ok(turn));
}

/// Nothing of a patch is out of range, or of what is not for extensions.
fn own(config: &TurnConfig, grant: &Grant) {
    assert_eq!(config.clone().drop_invalid(), []);
    assert!(config.model.is_none() || grant.model, "the model is not its to choose");
    let TurnConfig { instructions, tools, stop_when, chat_stream_stall_timeout_ms, telemetry, .. } = config;
    let of_hooks = (instructions, tools, stop_when, chat_stream_stall_timeout_ms, telemetry);
    assert_eq!(of_hooks, (&None, &None, &None, &None, &None));
    for (name, value) in &config.settings.headers {
        let value = value.as_str().unwrap_or("\n");
        assert!(http::HeaderName::try_from(name).is_ok(), "{name:?}");
        assert!(http::HeaderValue::try_from(value).is_ok(), "{value:?}");
    }
}

fn assembly() -> Assembly {
    let tool = |name: &str| ToolDefinition {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        replay: Default::default(),
        sequential: false,
        client: false,
        needs_approval: false,
        dynamic: false,
    };
    Assembly {
        model: "test:m".into(),
        system: "SYS".into(),
        messages: vec![ModelMessage::text(Role::User, "go")],
        new_messages: vec![ModelMessage::text(Role::User, "go")],
        tools: vec![tool("add"), tool("echo")],
        ..Assembly::default()
    }
}

fn calls() -> Answer {
    let call = ToolCall {
        tool_call_id: "c".into(),
        tool_name: "add".into(),
        input: json!({"a": 1}),
        malformed: None,
        provider_metadata: None,
    };
    let mut answer = Answer::default();
    answer.parts.push(AnswerPart::ToolCall(call));
    answer.finish_reason = FinishReason::ToolCalls;
    answer
}

fn read(bytes: &[u8]) -> Vec<Guest> {
    let mut guests = vec![guest(0)];
    for line in lines(bytes) {
        if line.name == "guest" {
            guests.push(guest(guests.len()));
        } else if let Some(guest) = guests.last_mut() {
            set(guest, line);
        }
    }
    guests
}

fn guest(number: usize) -> Guest {
    Guest {
        name: format!("g{number}"),
        grant: Grant::default(),
        turn: None,
        step: None,
        decision: None,
        change: None,
    }
}

fn set(guest: &mut Guest, line: Line) {
    match &*line.name {
        "grant-model" => guest.grant.model = true,
        "grant-reasons" => guest.grant.reasons = true,
        "allow" => guest.decision = Some(wit::ToolDecision::Allow(None)),
        "allow-as" => guest.decision = Some(wit::ToolDecision::Allow(Some(line.value))),
        "block" => guest.decision = Some(wit::ToolDecision::Block(None)),
        "block-as" => guest.decision = Some(wit::ToolDecision::Block(Some(line.value))),
        "substitute" => guest.decision = Some(wit::ToolDecision::Substitute(line.value)),
        "output" | "is-error" | "terminate" => change(guest, line),
        name => match name.strip_prefix("step-") {
            Some(name) => step(guest, name, line.value),
            None => turn_field(guest, line),
        },
    }
}

fn change(guest: &mut Guest, line: Line) {
    let none = wit::ToolOverride { output: None, is_error: None, terminate: None };
    let change = guest.change.get_or_insert(none);
    match &*line.name {
        "output" => change.output = Some(line.value),
        "is-error" => change.is_error = line.read(),
        _ => change.terminate = line.read(),
    }
}

fn step(guest: &mut Guest, name: &str, value: String) {
    let step = guest.step.get_or_insert(wit::StepConfig {
        system: None,
        messages: None,
        active_tools: None,
        tool_choice: None,
        model: None,
    });
    match name {
        "system" => step.system = Some(value),
        "messages" => step.messages = Some(value),
        "active-tool" => step.active_tools.get_or_insert_default().push(value),
        "tool-choice" => step.tool_choice = Some(choice(value)),
        "model" => step.model = Some(value),
        _ => {}
    }
}

fn turn_field(guest: &mut Guest, line: Line) {
    let turn = guest.turn.get_or_insert_with(|| wit::TurnConfig {
        system: None,
        messages: None,
        active_tools: None,
        tool_choice: None,
        max_steps: None,
        send_reasoning: None,
        max_output_tokens: None,
        temperature: None,
        top_p: None,
        top_k: None,
        presence_penalty: None,
        frequency_penalty: None,
        stop_sequences: None,
        seed: None,
        max_retries: None,
        timeout_ms: None,
        headers: Vec::new(),
        provider_options: None,
        model: None,
        reset: Vec::new(),
    });
    match &*line.name {
        "system" => turn.system = Some(line.value),
        "messages" => turn.messages = Some(line.value),
        "active-tool" => turn.active_tools.get_or_insert_default().push(line.value),
        "no-active-tools" => turn.active_tools = Some(Vec::new()),
        "tool-choice" => turn.tool_choice = Some(choice(line.value)),
        "max-steps" => turn.max_steps = line.read(),
        "send-reasoning" => turn.send_reasoning = line.read(),
        "max-output-tokens" => turn.max_output_tokens = line.read(),
        "temperature" => turn.temperature = line.read(),
        "top-p" => turn.top_p = line.read(),
        "top-k" => turn.top_k = line.read(),
        "presence-penalty" => turn.presence_penalty = line.read(),
        "frequency-penalty" => turn.frequency_penalty = line.read(),
        "stop-sequence" => turn.stop_sequences.get_or_insert_default().push(line.value),
        "seed" => turn.seed = line.read(),
        "max-retries" => turn.max_retries = line.read(),
        "timeout-ms" => turn.timeout_ms = line.read(),
        "header" => {
            let (name, value) = line.value.split_once(' ').unwrap_or((&line.value, ""));
            turn.headers.push((name.to_owned(), value.to_owned()));
        }
        "provider-options" => turn.provider_options = Some(line.value),
        "model" => turn.model = Some(line.value),
        "reset" => turn.reset.push(line.value),
        _ => {}
    }
}

fn choice(text: String) -> ToolChoice {
    match &*text {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        _ => ToolChoice::Tool(text),
    }
}
