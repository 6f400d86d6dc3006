//! A guest for tests that plays any extension of a conformance case. What it is and does stands in its [`plan`], which
//! the harness writes into the file; what it was shown it leaves in its storage.

mod answer;
mod plan;
mod seen;

use lathe_guest::bindings::exports::lathe::extension::{extension_manifest as manifest, hooks, tools};
use lathe_guest::bindings::lathe::extension::types::Hook;
use lathe_guest::storage;
use serde_json::{Value, json};

/// The component.
pub struct Probe;

#[cfg(target_family = "wasm")]
lathe_guest::bindings::export!(Probe with_types_in lathe_guest::bindings);

const HOOKS: [(&str, Hook); 8] = [
    ("beforeTurn", Hook::BeforeTurn),
    ("beforeStep", Hook::BeforeStep),
    ("beforeToolCall", Hook::BeforeToolCall),
    ("afterToolCall", Hook::AfterToolCall),
    ("onStepFinish", Hook::OnStepFinish),
    ("onChunk", Hook::OnChunk),
    ("onChatResponse", Hook::OnChatResponse),
    ("onChatError", Hook::OnChatError),
];

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

impl manifest::Guest for Probe {
    fn describe() -> manifest::Manifest {
        let plan = plan::read();
        let name = text(&plan["name"]).unwrap_or_default();
        let has = |hook: &str| plan["hooks"].get(hook).is_some();
        let tools = plan["tools"].as_object().into_iter().flatten();
        manifest::Manifest {
            version: text(&plan["version"]).unwrap_or_else(|| "1.0.0".into()),
            description: text(&plan["description"]).unwrap_or_else(|| name.clone()),
            name,
            hooks: HOOKS.into_iter().filter(|(hook, _)| has(hook)).map(|(_, hook)| hook).collect(),
            tools: tools.map(|(name, tool)| definition(name, tool)).collect(),
            permissions: manifest::Permissions::default(),
            context: Vec::new(),
            settings_schema: None,
        }
    }
}

fn definition(name: &str, tool: &Value) -> manifest::ToolDefinition {
    let or = |key: &str, default: Value| tool.get(key).cloned().unwrap_or(default);
    let schema = json!({
        "type": "object",
        "properties": or("parameters", json!({})),
        "required": or("required", json!([])),
    });
    manifest::ToolDefinition {
        name: name.to_owned(),
        description: text(&tool["description"]).unwrap_or_else(|| name.to_owned()),
        input_schema: schema.to_string(),
        replay: manifest::Replay::Never,
        sequential: false,
        needs_approval: tool["needsApproval"].as_bool().unwrap_or_default(),
    }
}

impl tools::Guest for Probe {
    fn call(name: String, input: String, _: tools::CallContext) -> Result<String, tools::ToolError> {
        let plan = plan::read();
        let tool = plan["tools"].get(&name).ok_or(tools::ToolError::UnknownTool)?;
        pause(&tool["delayMs"]);
        if let Some(error) = text(&tool["throw"]) {
            return Err(tools::ToolError::Failed(error));
        }
        if tool["echo"] == true { Ok(input) } else { Ok(tool["result"].to_string()) }
    }
}

impl hooks::Guest for Probe {
    fn before_turn(turn: hooks::TurnSnapshot) -> Result<Option<hooks::TurnConfig>, String> {
        Ok(answer::turn_config(&play("beforeTurn", &seen::turn(&turn))?).map(Into::into))
    }

    fn before_step(step: hooks::StepSnapshot) -> Result<Option<hooks::StepConfig>, String> {
        Ok(answer::step_config(&play("beforeStep", &seen::step(&step))?).map(Into::into))
    }

    fn before_tool_call(call: hooks::ToolCallSnapshot) -> Result<Option<hooks::ToolDecision>, String> {
        Ok(answer::decision(&play("beforeToolCall", &seen::call(&call))?).map(Into::into))
    }

    fn after_tool_call(call: hooks::ToolResultSnapshot) -> Result<Option<hooks::ToolOverride>, String> {
        Ok(answer::change(&play("afterToolCall", &seen::result(call))?).map(Into::into))
    }

    fn on_step_finish(step: hooks::StepFinishSnapshot) -> Result<(), String> {
        play("onStepFinish", &seen::step_finish(step)).map(drop)
    }

    fn on_chunk(chunks: Vec<hooks::Chunk>) -> Result<(), String> {
        play("onChunk", &chunks.iter().map(seen::chunk).collect()).map(drop)
    }

    fn on_chat_response(response: hooks::ChatResponseSnapshot) -> Result<(), String> {
        play("onChatResponse", &seen::response(&response)).map(drop)
    }

    fn on_chat_error(error: hooks::ChatErrorSnapshot) -> Result<(), String> {
        play("onChatError", &seen::error(&error)).map(drop)
    }
}

/// Notes what the hook is shown, then does what the plan says.
fn play(hook: &str, shown: &Value) -> Result<Value, String> {
    note(hook, shown).map_err(|error| error.to_string())?;
    let plan = plan::read();
    let behaviour = match &plan["hooks"][hook] {
        // One entry a call, the last repeats. An instance lives for a turn, so the count is kept outside.
        Value::Array(list) => {
            let count = storage::increment(&format!("calls/{hook}"), 1).map_err(|error| error.to_string())?;
            let last = list.len().saturating_sub(1);
            let call = usize::try_from(count - 1).unwrap_or_default();
            list.get(call.min(last)).cloned().unwrap_or_default()
        }
        one => one.clone(),
    };
    pause(&behaviour["hangMs"]);
    if let Some(error) = text(&behaviour["throw"]) {
        return Err(error);
    }
    let mut answer = behaviour["return"].clone();
    if let Some(more) = behaviour["appendSystem"].as_str() {
        if !answer.is_object() {
            answer = json!({});
        }
        answer["system"] = json!(format!("{}{more}", shown["system"].as_str().unwrap_or_default()));
    }
    Ok(answer)
}

fn note(hook: &str, shown: &Value) -> lathe_guest::Result<()> {
    let number = storage::increment("noted", 1)?;
    storage::set_json(&format!("note/{number:08}"), &json!({"hook": hook, "snapshot": shown}))
}

#[allow(clippy::disallowed_methods, reason = "a guest has no tokio")]
fn pause(ms: &Value) {
    if let Some(ms) = ms.as_u64() {
        std::thread::sleep(std::time::Duration::from_millis(ms));
    }
}
