//! What holds for every turn, whatever models, tools, hooks and users do.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Decisions, taken one after the other; when they run out, everything goes well and the turn ends.
struct Choices(std::vec::IntoIter<u8>);

impl Choices {
    /// One of so many; 0 is the harmless one.
    fn of(&mut self, many: u8) -> u8 {
        self.0.next().unwrap_or(0) % many
    }
}

const MAX_STEPS: u32 = 4;

fn assembly() -> Assembly {
    let tool = |name: &str, sequential, client| ToolDefinition {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        replay: Replay::Never,
        sequential,
        client,
        needs_approval: name == "pay",
        dynamic: false,
    };
    Assembly {
        model: "m".into(),
        system: String::new(),
        messages: vec![ModelMessage::text(Role::User, "go")],
        new_messages: vec![ModelMessage::text(Role::User, "go")],
        tools: vec![
            tool("add", false, false),
            tool("alone", true, false),
            tool("ask", false, true),
            tool("pay", false, false),
        ],
        ..Default::default()
    }
}

fn call(id: &str, tool: &str) -> ToolCall {
    ToolCall {
        tool_call_id: id.into(),
        tool_name: tool.into(),
        input: json!({}),
        malformed: None,
        provider_metadata: None,
    }
}

fn answer(choices: &mut Choices) -> Answer {
    let mut answer = Answer { finish_reason: FinishReason::Stop, ..Default::default() };
    for _ in 0..choices.of(5) {
        let tool_name = ["add", "alone", "ask", "unknown", "pay"][usize::from(choices.of(5))].to_owned();
        // From few, so that models use ids twice.
        let id = format!("c{}", choices.of(6));
        let malformed = (choices.of(6) == 5).then(|| "not JSON".to_owned());
        answer.parts.push(AnswerPart::ToolCall(ToolCall { malformed, ..call(&id, &tool_name) }));
        answer.finish_reason =
            if choices.of(8) == 7 { FinishReason::Length } else { FinishReason::ToolCalls };
    }
    answer
}

fn outcome(effect: Effect, choices: &mut Choices) -> Outcome {
    if choices.of(40) == 39 {
        return Outcome::Aborted(answer(choices));
    }
    if choices.of(60) == 59 {
        return Outcome::Failed("a hook failed".into());
    }
    match effect {
        Effect::Assemble => {
            let approved = (0..choices.of(3)).map(|number| call(&format!("a{number}"), "pay")).collect();
            Outcome::Assembled(Box::new(Assembly { approved, ..assembly() }))
        }
        Effect::BeforeTurn => Outcome::TurnConfigured(Box::default(), Provenance::new()),
        Effect::BeforeStep => Outcome::StepConfigured(Box::default()),
        Effect::CallModel if choices.of(12) == 11 => Outcome::ModelFailed("cut".into(), answer(choices)),
        Effect::CallModel => Outcome::ModelAnswered(answer(choices)),
        Effect::CheckInput { tool_call_id, input, .. } => {
            let fits = choices.of(5) != 4;
            Outcome::InputChecked(tool_call_id, if fits { Ok(input) } else { Err(InvalidInput("no".into())) })
        }
        Effect::BeforeToolCall { call, .. } => {
            let decision = match choices.of(7) {
                1 => Ok(Some(ToolDecision::ALLOW)),
                2 => Ok(Some(ToolDecision::Allow { input: Some(json!({"x": 1})) })),
                3 => Ok(Some(ToolDecision::Block { reason: None })),
                4 => Ok(Some(ToolDecision::Substitute { output: json!(1) })),
                5 => Err(ToolError::failed("kaput")),
                _ => Ok(None),
            };
            Outcome::ToolDecided(call.tool_call_id, decision)
        }
        Effect::RunTools(runs) => {
            let run = &runs[usize::from(choices.of(u8::try_from(runs.len()).unwrap()))];
            let failed = choices.of(4) == 3;
            Outcome::ToolRan {
                tool_call_id: run.tool_call_id.clone(),
                ran: ToolRan {
                    output: if failed {
                        ToolOutput::Error(ToolError::failed("no"))
                    } else {
                        ToolOutput::Output(json!(1))
                    },
                    duration_ms: 1.0,
                    terminate: choices.of(3) == 2,
                    details: None,
                },
            }
        }
        Effect::AfterToolCall(record) => {
            let change = match choices.of(4) {
                1 => ToolOverride::error("withheld"),
                2 => ToolOverride { terminate: Some(true), ..Default::default() },
                _ => ToolOverride::default(),
            };
            Outcome::ToolReviewed(record.call.tool_call_id, change)
        }
        Effect::FinishStep => Outcome::StepFinished,
        Effect::PrepareNextStep => Outcome::NextStepPrepared(Box::default()),
        Effect::DecideStop => Outcome::StopDecided(choices.of(8) == 7),
        Effect::TakeSteering | Effect::TakeFollowUps if choices.of(4) == 3 => Outcome::Taken(Some(Taken {
            messages: vec![UiMessage::user("u", "and this")],
            message_id: "m2".into(),
        })),
        Effect::TakeSteering | Effect::TakeFollowUps => Outcome::Taken(None),
        Effect::Store | Effect::StoreApproved(_) if choices.of(10) == 9 => {
            Outcome::NotStored("disk full".into())
        }
        Effect::Store | Effect::StoreApproved(_) => Outcome::Stored,
        Effect::Tell(_) | Effect::Finished(_) => Outcome::Told,
    }
}

proptest! {
    #[test]
    fn every_call_has_one_result_in_source_order_and_the_turn_ends(choices in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut choices = Choices(choices.into_iter());
        let mut turn = TurnMachine::new(TurnStart {
            request_id: "r".into(),
            message_id: "m".into(),
            trigger: Trigger::Programmatic,
            continuation: false,
            body: None,
            max_steps: MAX_STEPS,
        });
        let mut effects = 0;
        let end = loop {
            let effect = turn.next();
            if let Effect::Finished(end) = effect {
                break end;
            }
            prop_assert_eq!(&turn.next(), &effect, "asking changes nothing");
            turn.apply(outcome(effect, &mut choices)).unwrap();
            let stored = serde_json::to_string(&turn).unwrap();
            prop_assert_eq!(&serde_json::from_str::<TurnMachine>(&stored).unwrap(), &turn);
            effects += 1;
            prop_assert!(effects < 500, "the turn does not end");
        };
        prop_assert!(turn.steps().len() <= usize::try_from(MAX_STEPS).unwrap());
        let last = turn.steps().len().saturating_sub(1);
        for (number, step) in turn.steps().iter().enumerate() {
            let calls: Vec<&str> = step.answer.tool_calls().map(|call| &*call.tool_call_id).collect();
            let answered: Vec<&str> = step.records.iter().map(|record| &*record.call.tool_call_id).collect();
            let mut unique = calls.clone();
            unique.sort_unstable();
            unique.dedup();
            prop_assert_eq!(unique.len(), calls.len(), "ids are unique in a step");
            let waits = |id: &str| {
                let call = step.answer.tool_calls().find(|call| call.tool_call_id == id).unwrap();
                ["ask", "pay"].contains(&&*call.tool_name) && call.malformed.is_none() && number == last
            };
            let open: Vec<&str> = calls.iter().copied().filter(|id| !answered.contains(id)).collect();
            prop_assert!(open.iter().all(|id| waits(id)), "only calls that wait for somebody stay open, and only at the end: {:?}", open);
            let in_order: Vec<&str> = calls.iter().copied().filter(|id| answered.contains(id)).collect();
            prop_assert_eq!(in_order, answered, "one result each, in source order");
        }
        let stored = turn.stored_messages();
        let calls = |message: &UiMessage| message.tools().count();
        let made: usize = turn.steps().iter().map(|step| step.answer.tool_calls().count()).sum();
        prop_assert_eq!(stored.iter().map(calls).sum::<usize>(), made, "every call is stored once");
        prop_assert_eq!(end.error.is_some(), end.status == TurnStatus::Error);
    }
}
