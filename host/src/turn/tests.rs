//! The machine, driven by hand: no tokio, no clock, no wasmtime.

use serde_json::json;

use super::*;

const LIMIT: u32 = 10;

fn start() -> TurnMachine {
    TurnMachine::new(TurnStart {
        request_id: "r".into(),
        message_id: "m".into(),
        trigger: Trigger::Programmatic,
        continuation: false,
        body: None,
        max_steps: LIMIT,
    })
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        replay: Replay::Never,
        sequential: false,
        client: false,
        needs_approval: false,
        dynamic: false,
    }
}

fn assembly() -> Assembly {
    Assembly {
        model: "test:m".into(),
        system: "SYS".into(),
        messages: vec![ModelMessage::text(Role::User, "go")],
        new_messages: vec![ModelMessage::text(Role::User, "go")],
        tools: vec![tool("add"), tool("echo")],
        ..Default::default()
    }
}

fn says(text: &str) -> Answer {
    let mut answer = Answer { finish_reason: FinishReason::Stop, ..Default::default() };
    answer.parts.push(AnswerPart::Text { text: text.into(), done: true, provider_metadata: None });
    answer
}

fn calls(calls: &[(&str, &str)]) -> Answer {
    let parts = calls.iter().map(|(id, tool)| {
        AnswerPart::ToolCall(ToolCall {
            tool_call_id: (*id).into(),
            tool_name: (*tool).into(),
            input: json!({"a": 1}),
            malformed: None,
            provider_metadata: None,
        })
    });
    Answer { finish_reason: FinishReason::ToolCalls, parts: parts.collect(), ..Default::default() }
}

/// Drives a turn: the model gives `answers` in order (the last repeats), everything else goes well. `change` may
/// answer an effect in another way.
fn drive(
    turn: &mut TurnMachine,
    answers: &[Answer],
    mut change: impl FnMut(&TurnMachine, &Effect) -> Option<Outcome>,
) -> TurnEnd {
    let mut asked = 0;
    for _ in 0..1000 {
        let effect = turn.next();
        if let Effect::Finished(end) = effect {
            return end;
        }
        let outcome = change(turn, &effect).unwrap_or_else(|| match effect.clone() {
            Effect::Assemble => Outcome::Assembled(Box::new(assembly())),
            Effect::BeforeTurn => Outcome::TurnConfigured(Box::default(), Provenance::new()),
            Effect::BeforeStep => Outcome::StepConfigured(Box::default()),
            Effect::CallModel => {
                let answer = answers[asked.min(answers.len() - 1)].clone();
                asked += 1;
                Outcome::ModelAnswered(answer)
            }
            Effect::CheckInput { tool_call_id, input, .. } => Outcome::InputChecked(tool_call_id, Ok(input)),
            Effect::BeforeToolCall { call, .. } => Outcome::ToolDecided(call.tool_call_id, Ok(None)),
            Effect::RunTools(runs) => Outcome::ToolRan {
                tool_call_id: runs[0].tool_call_id.clone(),
                ran: ToolRan {
                    output: ToolOutput::Output(json!(3)),
                    duration_ms: 1.0,
                    terminate: false,
                    details: None,
                },
            },
            Effect::AfterToolCall(record) => {
                Outcome::ToolReviewed(record.call.tool_call_id, ToolOverride::default())
            }
            Effect::FinishStep => Outcome::StepFinished,
            Effect::PrepareNextStep => Outcome::NextStepPrepared(Box::default()),
            Effect::DecideStop => Outcome::StopDecided(false),
            Effect::TakeSteering | Effect::TakeFollowUps => Outcome::Taken(None),
            Effect::Store | Effect::StoreApproved(_) => Outcome::Stored,
            Effect::Tell(_) | Effect::Finished(_) => Outcome::Told,
        });
        turn.apply(outcome).unwrap();
    }
    panic!("the turn does not end");
}

fn no_change(_: &TurnMachine, _: &Effect) -> Option<Outcome> {
    None
}

fn part_types(turn: &TurnMachine) -> Vec<String> {
    let message = serde_json::to_value(turn.message()).unwrap();
    message["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_plain_answer_takes_one_step() {
    let mut turn = start();
    let end = drive(&mut turn, &[says("hello")], no_change);
    assert_eq!(end, TurnEnd { status: TurnStatus::Completed, error: None, stage: None });
    assert_eq!(part_types(&turn), ["step-start", "text"]);
    assert_eq!(turn.message().unwrap().text(), "hello");
}

#[test]
fn a_tool_call_makes_a_second_step_whose_request_holds_the_result() {
    let mut turn = start();
    let mut requests = Vec::new();
    drive(&mut turn, &[calls(&[("c0", "add")]), says("done")], |turn, effect| {
        if *effect == Effect::CallModel {
            requests.push(serde_json::to_value(turn.model_call().messages).unwrap());
        }
        None
    });
    assert_eq!(
        requests[1],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [
                {"type": "tool-call", "toolCallId": "c0", "toolName": "add", "input": {"a": 1}}]},
            {"role": "tool", "content": [
                {"type": "tool-result", "toolCallId": "c0", "toolName": "add", "output": {"type": "json", "value": 3}}]},
        ])
    );
    assert_eq!(part_types(&turn), ["step-start", "tool-add", "step-start", "text"]);
}

#[test]
fn steps_stop_at_the_limit() {
    for limit in [1, 3] {
        let mut turn = start();
        let mut asked = 0;
        let end = drive(&mut turn, &[calls(&[("c0", "add")])], |_, effect| match effect {
            Effect::BeforeTurn => {
                let config = TurnConfig { max_steps: Some(limit), ..Default::default() };
                Some(Outcome::TurnConfigured(Box::new(config), Provenance::new()))
            }
            Effect::CallModel => {
                asked += 1;
                None
            }
            _ => None,
        });
        assert_eq!((asked, end.status), (limit, TurnStatus::Completed));
    }
}

#[test]
fn a_step_config_counts_for_its_step_alone() {
    let mut turn = start();
    let mut offered = Vec::new();
    drive(&mut turn, &[calls(&[("c0", "add")]), says("done")], |turn, effect| match effect {
        Effect::BeforeStep if turn.step_number() == 0 => {
            Some(Outcome::StepConfigured(Box::new(StepConfig {
                active_tools: Some(vec!["add".into()]),
                model: Some("test:other".into()),
                ..Default::default()
            })))
        }
        Effect::CallModel => {
            let names: Vec<String> = turn.tools().into_iter().map(|tool| tool.name).collect();
            offered.push((turn.model().to_owned(), names));
            None
        }
        _ => None,
    });
    assert_eq!(
        offered,
        [("test:other".into(), vec!["add".into()]), ("test:m".into(), vec!["add".into(), "echo".into()])]
    );
}

#[test]
fn a_tool_that_is_not_active_is_unknown() {
    let mut turn = start();
    drive(&mut turn, &[calls(&[("c0", "echo")]), says("sorry")], |_, effect| {
        (*effect == Effect::BeforeTurn).then(|| {
            let config = TurnConfig { active_tools: Some(vec!["add".into()]), ..Default::default() };
            Outcome::TurnConfigured(Box::new(config), Provenance::new())
        })
    });
    assert_eq!(turn.steps()[0].records[0].outcome, CallOutcome::Invalid);
}

#[test]
fn terminate_ends_the_turn_only_if_every_call_asks_for_it() {
    for (terminating, steps) in [(vec!["c0", "c1"], 1), (vec!["c0"], 2)] {
        let mut turn = start();
        drive(&mut turn, &[calls(&[("c0", "add"), ("c1", "echo")]), says("done")], |_, effect| {
            let Effect::AfterToolCall(record) = effect else { return None };
            let terminate = Some(terminating.contains(&&*record.call.tool_call_id));
            let change = ToolOverride { terminate, ..Default::default() };
            Some(Outcome::ToolReviewed(record.call.tool_call_id.clone(), change))
        });
        assert_eq!(turn.steps().len(), steps);
    }
}

#[test]
fn a_broken_stream_keeps_what_was_said_and_answers_its_calls() {
    let mut turn = start();
    let end = drive(&mut turn, &[], |_, effect| {
        (*effect == Effect::CallModel).then(|| {
            let mut partial = says("half");
            partial.parts.extend(calls(&[("c0", "add")]).parts);
            Outcome::ModelFailed("connection reset".into(), partial)
        })
    });
    assert_eq!(
        (end.status, end.error.as_deref(), end.stage),
        (TurnStatus::Error, Some("connection reset"), None)
    );
    assert_eq!(part_types(&turn), ["step-start", "text", "tool-add"]);
    assert_eq!(turn.steps()[0].records[0].outcome, CallOutcome::Cancelled);
}

#[test]
fn a_refused_request_stores_nothing() {
    let mut turn = start();
    let end = drive(&mut turn, &[], |_, effect| {
        (*effect == Effect::CallModel).then(|| Outcome::ModelFailed("401".into(), Answer::default()))
    });
    assert_eq!((end.status, turn.message()), (TurnStatus::Error, None));
}

#[test]
fn a_failure_before_the_model_is_asked_is_told_to_on_chat_error() {
    for failing in [Effect::Assemble, Effect::BeforeTurn] {
        let mut turn = start();
        let end =
            drive(&mut turn, &[], |_, effect| (*effect == failing).then(|| Outcome::Failed("kaput".into())));
        assert_eq!((end.status, end.stage), (TurnStatus::Error, Some(ChatStage::Turn)));
        assert_eq!(turn.message(), None);
    }
}

#[test]
fn cancelling_while_tools_run_answers_every_call() {
    let mut turn = start();
    let end = drive(&mut turn, &[calls(&[("c0", "add"), ("c1", "echo")])], |turn, effect| match effect {
        Effect::RunTools(runs) if runs.len() == 1 => {
            assert_eq!(turn.step_number(), 0);
            Some(Outcome::Aborted(Answer::default()))
        }
        _ => None,
    });
    assert_eq!(end.status, TurnStatus::Aborted);
    let outcomes: Vec<CallOutcome> = turn.steps()[0].records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [CallOutcome::Executed, CallOutcome::Cancelled]);
}

#[test]
fn one_id_used_twice_in_an_answer_gives_two_calls_with_a_result_each() {
    let mut turn = start();
    drive(&mut turn, &[calls(&[("c0", "add"), ("c0", "echo")]), says("done")], no_change);
    let ids: Vec<&str> = turn.steps()[0].records.iter().map(|record| &*record.call.tool_call_id).collect();
    assert_eq!(ids, ["c0", "c0-2"]);
}

#[test]
fn a_conversation_that_ends_with_the_model_is_continued() {
    let mut turn = start();
    drive(&mut turn, &[says("more")], |turn, effect| match effect {
        Effect::Assemble => {
            let mut assembly = assembly();
            assembly.messages.push(ModelMessage::text(Role::Assistant, "half"));
            Some(Outcome::Assembled(Box::new(assembly)))
        }
        Effect::CallModel => {
            let roles: Vec<Role> =
                turn.model_call().messages.into_iter().map(|message| message.role).collect();
            assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
            None
        }
        _ => None,
    });
}

#[test]
fn an_outcome_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut turn = start();
    let before = turn.clone();
    let error = turn.apply(Outcome::Stored).unwrap_err();
    assert_eq!(error.to_string(), "the turn waits for Assembled, not for Stored");
    assert_eq!(turn, before);
}

#[test]
fn a_turn_goes_on_from_its_stored_state_at_any_point() {
    let mut turn = start();
    let mut stored = 0;
    drive(&mut turn, &[calls(&[("c0", "add"), ("c1", "nope")]), says("done")], |turn, _| {
        let text = serde_json::to_string(turn).unwrap();
        let back: TurnMachine = serde_json::from_str(&text).unwrap();
        assert_eq!(&back, turn);
        stored += 1;
        None
    });
    assert!(stored > 10, "{stored}");
}

#[test]
fn the_next_step_may_have_another_model_effort_and_context() {
    let mut turn = start();
    let mut asked = Vec::new();
    drive(&mut turn, &[calls(&[("c0", "add")]), calls(&[("c1", "add")]), says("done")], |turn, effect| {
        match effect {
            Effect::PrepareNextStep if turn.steps().len() == 1 => {
                assert_eq!(turn.step_number(), 0);
                let last = turn.messages().split_off(2);
                Some(Outcome::NextStepPrepared(Box::new(StepUpdate {
                    model: Some("test:other".into()),
                    reasoning_effort: Some("high".into()),
                    system: Some("NEW".into()),
                    messages: Some(last),
                })))
            }
            Effect::CallModel => {
                let call = turn.model_call();
                let roles: Vec<Role> = call.messages.iter().map(|message| message.role).collect();
                asked.push((
                    turn.model().to_owned(),
                    call.settings.reasoning_effort,
                    call.system.unwrap(),
                    roles,
                ));
                None
            }
            _ => None,
        }
    });
    let (user, assistant, tool) = (Role::User, Role::Assistant, Role::Tool);
    let other = |roles| ("test:other".to_owned(), Some("high".to_owned()), "NEW".to_owned(), roles);
    assert_eq!(
        asked,
        [
            ("test:m".to_owned(), None, "SYS".to_owned(), vec![user]),
            other(vec![tool]),
            other(vec![tool, assistant, tool])
        ]
    );
    assert_eq!(turn.steps().len(), 3, "the transcript keeps every step");
}

#[test]
fn a_stop_is_asked_for_after_every_step_and_ends_the_turn() {
    for (stop_after, steps) in [(1, 1), (2, 2), (9, 3)] {
        let mut turn = start();
        let mut asked = 0;
        let answers = [calls(&[("c0", "add")]), calls(&[("c1", "add")]), says("done")];
        let end = drive(&mut turn, &answers, |turn, effect| {
            (*effect == Effect::DecideStop).then(|| {
                asked += 1;
                Outcome::StopDecided(turn.steps().len() == stop_after)
            })
        });
        assert_eq!((end.status, turn.steps().len(), asked), (TurnStatus::Completed, steps, steps));
    }
}
