//! Greets people.

use lathe_guest::prelude::*;

/// What one instance knows. Instances come and go with turns and tool calls: what must stay goes to `storage`.
#[derive(Default)]
struct {{Name}};

#[extension]
impl Extension for {{Name}} {
    fn tools() -> Tools<Self> {
        Tools::new().tool("greet", Self::greet)
    }

    fn settings_schema() -> Option<Value> {
        Some(schema::<Settings>())
    }

    /// Adds a line to the system prompt of every turn.
    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        let Settings { greeting } = settings()?;
        let system = format!("{}\n\nTo greet somebody, call the tool; it says \"{greeting}\".", turn.system);
        Ok(Some(TurnConfig { system: Some(system), ..TurnConfig::default() }))
    }
}

/// What the operator may set in lathe.toml, under `[extension.{{name}}.settings]`.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// What stands before the name.
    greeting: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { greeting: "Hello".to_owned() }
    }
}

/// Greets somebody by name.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

impl {{Name}} {
    fn greet(&mut self, Greet { name }: Greet) -> Result<String, ToolError> {
        if name.trim().is_empty() {
            return Err(ToolError::invalid("a name is needed"));
        }
        let Settings { greeting } = settings()?;
        let count = storage::increment("greetings", 1)?;
        log::info!("greeting number {count}");
        Ok(format!("{greeting}, {name}!"))
    }
}

#[cfg(test)]
mod tests;
