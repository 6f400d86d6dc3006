//! Greets people, and knows how often: what `host/templates/js` and `host/templates/python` do, for the bench of languages.

use lathe_guest::prelude::*;

#[derive(Default)]
struct Greeter;

#[extension]
impl Extension for Greeter {
    fn tools() -> Tools<Self> {
        Tools::new().tool("greet", Self::greet)
    }

    fn settings_schema() -> Option<Value> {
        Some(schema::<Settings>())
    }

    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        let system = format!("{}\n\nGreet people by name.", turn.system);
        Ok(Some(TurnConfig { system: Some(system), ..Default::default() }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "hello")]
    greeting: String,
}

fn hello() -> String {
    "Hello".into()
}

/// Greets a person.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet
    name: String,
}

#[derive(Serialize)]
struct Greeting {
    text: String,
    times: i64,
}

impl Greeter {
    fn greet(&mut self, Greet { name }: Greet) -> Result<Greeting> {
        let settings: Settings = settings()?;
        let times = storage::increment(&format!("greeted/{name}"), 1)?;
        Ok(Greeting { text: format!("{}, {name}!", settings.greeting), times })
    }
}
