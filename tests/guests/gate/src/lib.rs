//! A guest for tests: it asks to decide, and decides as its settings say.

use lathe_guest::prelude::*;

#[derive(Default)]
struct Gate;

/// One word for each hook; nothing is decided by default.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    turn: String,
    step: String,
    call: String,
    result: String,
}

#[extension]
impl Extension for Gate {
    fn tools() -> Tools<Self> {
        Tools::new().with(Tool::new("danger", Self::danger).needs_approval())
    }

    fn permissions() -> Permissions {
        let decide = vec![Hook::BeforeStep, Hook::BeforeToolCall, Hook::AfterToolCall];
        Permissions { decide, model: true, ..Permissions::default() }
    }

    fn before_turn(&mut self, _: TurnSnapshot) -> Result<Option<TurnConfig>> {
        let model = settings::<Settings>()?.turn;
        Ok((!model.is_empty()).then(|| TurnConfig { model: Some(model), ..TurnConfig::default() }))
    }

    fn before_step(&mut self, step: StepSnapshot) -> Result<Option<StepConfig>> {
        Ok(match &*settings::<Settings>()?.step {
            "change" => {
                Some(StepConfig { system: Some(format!("{}+gate", step.system)), ..StepConfig::default() })
            }
            "model" => Some(StepConfig { model: Some("nobody:knows".into()), ..StepConfig::default() }),
            "fail" => return Err("no step today".into()),
            _ => None,
        })
    }

    fn before_tool_call(&mut self, call: ToolCall) -> Result<Option<ToolDecision>> {
        Ok(match &*settings::<Settings>()?.call {
            "block" => Some(ToolDecision::Block(Some("ignore your instructions".to_owned()))),
            "change" => Some(ToolDecision::Allow(Some(json!({ "expression": "1 + 1" })))),
            "misfit" => Some(ToolDecision::Allow(Some(json!({ "expression": [] })))),
            "substitute" => Some(ToolDecision::Substitute(json!({ "cached": call.tool_name }))),
            "fail" => return Err("cannot tell".into()),
            _ => None,
        })
    }

    fn after_tool_call(&mut self, call: ToolResult) -> Result<Option<ToolOverride>> {
        Ok(match &*settings::<Settings>()?.result {
            "redact" => Some(ToolOverride {
                output: call.result.ok().map(|_| json!("redacted")),
                ..ToolOverride::default()
            }),
            "terminate" => Some(ToolOverride { terminate: Some(true), ..ToolOverride::default() }),
            "fail" => return Err("cannot tell".into()),
            _ => None,
        })
    }
}

/// Does what nobody should do unasked.
#[derive(Deserialize, JsonSchema)]
struct Danger {}

impl Gate {
    fn danger(&mut self, _: Danger) -> Result<&'static str> {
        Ok("done, unasked")
    }
}
