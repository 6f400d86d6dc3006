//! What hooks may set for a turn and for a step, and what of it reaches the model.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use lathe::hooks::{HookResult, Hooks, StepContext, TurnContext};
use lathe::model::{Script, ScriptedModel};
use lathe::turn::{Role, StepConfig, TurnConfig, TurnStatus};
use lathe::{Session, TurnResult};
use lathe_tests::house::{House, call, says, watch};
use lathe_tests::tool::FnTool;
use serde_json::{Value, json};

/// Answers `before_turn` and `before_step` with what is given, the latter only for the first step.
#[derive(Clone, Default)]
struct Set {
    turn: Value,
    step: Value,
}

#[async_trait]
impl Hooks for Set {
    async fn before_turn(&self, _: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        Ok(serde_json::from_value(self.turn.clone())?)
    }

    async fn before_step(&self, step: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
        let first = step.step_number == 0;
        Ok(if first { serde_json::from_value(self.step.clone())? } else { None })
    }
}

/// A house with the tools `add` and `sub`, and `spare` in reserve; the model calls `add`, then answers.
async fn house(set: Set) -> House {
    let script = json!([
        {"reasoning": ["hm"], "toolCalls": [{"id": "c", "name": "add", "input": {}}]},
        says("{\"sum\": 3}"),
    ]);
    let other = Arc::new(ScriptedModel::new("scripted:other", Script::parse(&script.to_string()).unwrap()));
    let tool = |name: &str| FnTool::answers(name, json!(3)).arc();
    House::new(&script, |agent| {
        agent
            .tool(tool("add"))
            .tool(tool("sub"))
            .reserve_tool(tool("spare"))
            .models(
                move |id| if id == "scripted:other" { Ok(other.clone()) } else { Err(format!("no {id}")) },
            )
            .hooks(Arc::new(set))
    })
    .await
}

async fn turn(set: Value) -> (House, TurnResult) {
    let house = house(Set { turn: set, step: Value::Null }).await;
    let result = house.send("go").await;
    (house, result)
}

#[tokio::test]
async fn settings_of_the_turn_reach_the_model_unchanged_in_every_step() {
    let settings = json!({
        "toolChoice": {"type": "required"},
        "maxOutputTokens": 100, "temperature": 0.5, "topP": 0.9, "topK": 3, "presencePenalty": 0.1,
        "frequencyPenalty": -0.1, "stopSequences": ["END"], "seed": 7, "reasoningEffort": "high",
        "headers": {"x-a": "1"}, "providerOptions": {"p": {"k": 1}},
        "output": {"type": "object"},
    });
    let (house, result) = turn(settings.clone()).await;
    assert_eq!((result.status, house.requests().len()), (TurnStatus::Completed, 2));
    for request in house.requests() {
        let request = json!(request);
        for (name, value) in settings.as_object().unwrap() {
            assert_eq!(request[name], *value, "{name}");
        }
    }
}

#[tokio::test]
async fn system_messages_and_tools_can_be_replaced() {
    let (house, _) = turn(json!({
        "system": "old", "instructions": "NEW",
        "messages": [{"role": "user", "content": "something else"}],
        "tools": ["spare", "unknown"], "activeTools": ["add", "spare"],
    }))
    .await;
    let request = &house.requests()[0];
    assert_eq!(request.system.as_deref(), Some("NEW"), "instructions win over system");
    assert_eq!(json!(request.messages[0])["content"][0]["text"], "something else");
    let names: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["add", "spare"]);
    let (house, _) = turn(Value::Null).await;
    let names: Vec<String> = house.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["add", "sub"], "what is in reserve is not offered by itself");
}

#[tokio::test]
async fn a_step_config_holds_for_one_step() {
    let step = json!({"system": "STEP", "activeTools": ["add"], "toolChoice": "required"});
    let house = house(Set { turn: json!({"system": "TURN"}), step }).await;
    drop(house.send("go").await);
    let requests = house.requests();
    assert_eq!((requests[0].system.as_deref(), requests[0].tools.len()), (Some("STEP"), 1));
    assert_eq!((requests[1].system.as_deref(), requests[1].tools.len()), (Some("TURN"), 2));
    assert_ne!(requests[0].tool_choice, requests[1].tool_choice);
}

#[tokio::test]
async fn another_model_can_be_chosen_for_the_turn_or_a_step() {
    let (house, result) = turn(json!({"model": "scripted:other"})).await;
    assert_eq!((result.status, house.requests().len()), (TurnStatus::Completed, 0));
    let step = house_with_step(json!({"model": "scripted:other"})).await;
    assert_eq!(step.requests()[0].messages.len(), 3, "the agent's own is asked from the second step on");
    let (_, result) = turn(json!({"model": "scripted:nobody"})).await;
    assert_eq!(result.status, TurnStatus::Error);
    assert!(result.error.unwrap().contains("scripted:nobody"));
}

async fn house_with_step(step: Value) -> House {
    let house = house(Set { turn: Value::Null, step }).await;
    drop(house.send("go").await);
    house
}

#[tokio::test]
async fn max_steps_and_stop_conditions_end_the_turn() {
    for (set, steps) in [
        (json!({"maxSteps": 1}), 1),
        (json!({"stopWhen": [{"type": "tool-call", "toolName": "add"}]}), 1),
        (
            json!({"stopWhen": [{"type": "tool-call", "toolName": "sub"}, {"type": "step-count", "steps": 1}]}),
            1,
        ),
        (json!({"stopWhen": [{"type": "tool-call", "toolName": "sub"}]}), 2),
    ] {
        let (_, result) = turn(set.clone()).await;
        assert_eq!((result.status, result.steps), (TurnStatus::Completed, steps), "{set}");
    }
}

#[tokio::test]
async fn reasoning_that_is_not_sent_is_shown_and_stored_nowhere() {
    let seen = async |set| {
        let house = house(Set { turn: set, step: Value::Null }).await;
        let (events, result) = watch(house.session().await.send("go").await.unwrap()).await;
        let types = events.iter().map(|event| json!(event)["type"].clone());
        let shown =
            types.filter(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("reasoning"))).count();
        (shown, json!(result.message)["parts"][1]["type"].clone())
    };
    assert_eq!(seen(json!({"sendReasoning": false})).await, (0, json!("tool-add")));
    assert_eq!(seen(Value::Null).await, (3, json!("reasoning")));
}

#[tokio::test]
async fn output_is_read_from_the_last_step_and_checked() {
    let schema = json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]});
    let (house, result) = turn(json!({"output": schema})).await;
    assert_eq!(result.output, Some(Ok(json!({"sum": 3}))), "tools ran before it");
    assert_eq!(house.requests()[0].settings.output, Some(schema));
    let other = json!({"type": "object", "required": ["total"]});
    let (_, result) = turn(json!({"output": other})).await;
    assert_eq!(
        result.status,
        TurnStatus::Completed,
        "the answer is there, it is just not what was asked for"
    );
    assert!(result.output.unwrap().unwrap_err().contains("total"));
    let (_, result) = turn(json!({"output": {"type": "object"}, "maxSteps": 1})).await;
    assert!(result.output.unwrap().unwrap_err().contains("without an answer"));
    let (_, result) = turn(Value::Null).await;
    assert_eq!(result.output, None);
}

#[tokio::test]
async fn a_turn_has_a_time_limit_and_a_stream_a_longest_pause() {
    for (set, said) in [
        (json!({"timeoutMs": 50}), "timeoutMs"),
        (json!({"chatStreamStallTimeoutMs": 50}), "chatStreamStallTimeoutMs"),
    ] {
        let script = json!([{"text": ["half", {"holdMs": 86_400_000}]}]);
        let hooks = Arc::new(Set { turn: set, step: Value::Null });
        let house = House::new(&script, |agent| agent.hooks(hooks).chat_recovery(None)).await;
        let result = house.send("go").await;
        assert_eq!((result.status, &*result.text), (TurnStatus::Error, "half"));
        assert!(result.error.unwrap().contains(said));
    }
    // 0 switches off what the agent sets, also while a tool runs.
    let slow = FnTool::new("slow", |_, _| async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        Ok(json!(1).into())
    });
    let slow = slow.arc();
    for (set, status) in
        [(json!({"chatStreamStallTimeoutMs": 0}), TurnStatus::Completed), (json!({}), TurnStatus::Error)]
    {
        let script = json!([call("c", "slow", &json!({})), says("done")]);
        let hooks = Arc::new(Set { turn: set, step: Value::Null });
        let pause = std::time::Duration::from_millis(50);
        let build = |agent: lathe::agent::AgentBuilder| {
            agent.hooks(hooks).tool(slow.clone()).chat_stream_stall_timeout(pause).chat_recovery(None)
        };
        assert_eq!(House::new(&script, build).await.send("go").await.status, status);
    }
}

#[tokio::test]
async fn retries_follow_the_turns_number() {
    let script = json!([{"error": "no"}]);
    let hooks = Arc::new(Set { turn: json!({"maxRetries": 0}), step: Value::Null });
    let house = House::new(&script, |agent| agent.hooks(hooks)).await;
    assert_eq!(house.send("go").await.status, TurnStatus::Error);
    assert_eq!(house.requests().len(), 1);
}

#[tokio::test]
async fn older_messages_are_shown_in_part_and_stored_whole() {
    let long = "x".repeat(20_000);
    let house = House::plain(&json!([says("ok")])).await;
    drop(house.send(&long).await);
    for _ in 0..2 {
        drop(house.send("more").await);
    }
    let shown = |request: usize| json!(house.requests()[request].messages[0])["content"][0]["text"].clone();
    assert_eq!(shown(1).as_str().unwrap().len(), 20_000);
    assert!(shown(2).as_str().unwrap().ends_with("... [truncated 20000 chars]"));
    let session: Session = house.session().await;
    assert_eq!(session.messages().await.unwrap()[0].text().len(), 20_000);
    assert_eq!(house.requests()[2].messages[0].role, Role::User);
}
