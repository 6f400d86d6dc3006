use crate::tools::check_against;
use crate::turn::{Json, TurnMachine};

/// Reads the text of the last step as the JSON that the turn asked for.
pub(super) fn read(machine: &TurnMachine, schema: &Json) -> Result<Json, String> {
    let text = machine.steps().last().map(|step| step.answer.text()).unwrap_or_default();
    if text.is_empty() {
        return Err("the turn ended without an answer in words".into());
    }
    let value = serde_json::from_str(&text).map_err(|error| format!("the answer is not JSON: {error}"))?;
    check_against(schema, &value)
        .map_err(|error| format!("the answer does not follow its schema: {error}"))?;
    Ok(value)
}
