//! The attribute, the tools and the bridge, as an author uses them.

use lathe_guest::prelude::*;
use lathe_guest::testing::{Level, Record, TestHost};
use lathe_guest::{BridgeError, Hook, Replay};

#[derive(Default)]
struct Plain;

#[extension(name = "plain")]
impl Extension for Plain {}

#[derive(Default)]
struct Full {
    calls: u32,
}

#[extension(name = "full-1", version = "2.0.0", description = "Does everything")]
impl Extension for Full {
    fn tools() -> Tools<Self> {
        Tools::new()
            .tool("greet", Self::greet)
            .with(
                Tool::new("count", Self::count)
                    .description("Counts.")
                    .replay_safe()
                    .sequential()
                    .needs_approval(),
            )
            .tool("shape", Self::shape)
            .tool("fail", Self::fail)
    }

    fn permissions() -> Permissions {
        Permissions {
            messages: true,
            send_message: true,
            session_info: true,
            context_read: vec!["all".to_owned()],
            context_write: vec!["memory".to_owned(), "none".to_owned(), "own".to_owned()],
            network: vec!["*.example.org".to_owned()],
            decide: vec![Hook::BeforeStep],
            ..Permissions::default()
        }
    }

    fn context() -> Vec<ContextBlock> {
        vec![ContextBlock { label: "notes".to_owned(), ..ContextBlock::default() }]
    }

    fn settings_schema() -> Option<Value> {
        Some(schema::<Settings>())
    }

    fn on_chat_error(&mut self, error: ChatError) -> Result<()> {
        Err(error.message.into())
    }

    // Written out of order and under a condition that does not hold.
    #[cfg(target_os = "none")]
    fn on_chunk(&mut self, _: Vec<Chunk>) -> Result<()> {
        Ok(())
    }

    fn before_step(&mut self, step: StepSnapshot) -> Result<Option<StepConfig>> {
        Ok(Some(StepConfig { system: Some(step.system), ..StepConfig::default() }))
    }
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Settings {
    max_rolls: u8,
}

/// Says hello.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
    #[serde(default)]
    mood: Mood,
}

#[derive(Default, Deserialize, JsonSchema)]
enum Mood {
    #[default]
    Happy,
    Grim,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A shape.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code, reason = "only their schema counts")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

impl Full {
    fn greet(&mut self, input: Greet) -> Result<String, ToolError> {
        match (input.mood, input.name.as_str()) {
            (_, "") => Err(ToolError::invalid("a name is needed")),
            (Mood::Happy, name) => Ok(format!("Hello, {name}!")),
            (Mood::Grim, name) => Ok(format!("{name}.")),
        }
    }

    fn count(
        &mut self,
        _: Nothing,
        CallContext { idempotency_key, .. }: CallContext,
    ) -> Result<Value, ToolError> {
        self.calls += 1;
        Ok(json!({ "calls": self.calls, "key": idempotency_key }))
    }

    fn shape(&mut self, _: Shape) -> Result<()> {
        Ok(())
    }

    fn fail(&mut self, _: Nothing) -> Result<u8, ToolError> {
        Ok("x".parse::<u8>()?)
    }
}

#[test]
fn what_is_not_written_is_not_in_the_manifest() {
    let manifest = TestHost::<Plain>::new().manifest();
    assert_eq!(manifest.name, "plain");
    assert_eq!(manifest.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest.description, env!("CARGO_PKG_DESCRIPTION"));
    assert_eq!(manifest.hooks, []);
    assert_eq!(manifest.tools, []);
    assert_eq!(manifest.permissions, Permissions::default());
    assert_eq!(manifest.context, []);
    assert_eq!(manifest.settings_schema, None);
}

#[test]
fn what_is_written_is_in_the_manifest() {
    let manifest = TestHost::<Full>::new().manifest();
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("full-1", "2.0.0"));
    assert_eq!(manifest.description, "Does everything");
    assert_eq!(manifest.hooks, [Hook::OnChatError, Hook::BeforeStep]);
    assert!(manifest.permissions.messages);
    assert_eq!(manifest.context[0].label, "notes");
    let schema: Value = manifest.settings_schema.unwrap().parse().unwrap();
    assert_eq!(schema["properties"]["maxRolls"]["maximum"], 255);
}

#[test]
fn tools_are_described_by_their_input() {
    let tools = TestHost::<Full>::new().manifest().tools;
    assert_eq!(
        tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["greet", "count", "shape", "fail"]
    );
    assert_eq!(tools[0].description, "Says hello.");
    assert_eq!(
        (tools[0].replay, tools[0].sequential, tools[0].needs_approval),
        (Replay::Never, false, false)
    );
    assert_eq!(
        tools[0].input_schema.parse::<Value>().unwrap(),
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "mood": { "type": "string", "enum": ["Happy", "Grim"] },
            },
            "required": ["name"],
        })
    );
    assert_eq!(tools[1].description, "Counts.");
    assert_eq!((tools[1].replay, tools[1].sequential, tools[1].needs_approval), (Replay::Safe, true, true));
    assert_eq!(tools[2].input_schema.parse::<Value>().unwrap()["type"], "object");
    assert_eq!(tools[3].input_schema, r#"{"type":"object","properties":{}}"#);
}

#[test]
fn tools_run() {
    let greet = |input| TestHost::<Full>::new().call_tool("greet", input);
    assert_eq!(greet(json!({ "name": "Ada" })), Ok(json!("Hello, Ada!")));
    assert_eq!(greet(json!({ "name": "Ada", "mood": "Grim" })), Ok(json!("Ada.")));
    assert_eq!(greet(json!({ "name": "" })), Err(ToolError::InvalidInput("a name is needed".to_owned())));
    let missing = "missing field `name` at line 1 column 2".to_owned();
    assert_eq!(greet(json!({})), Err(ToolError::InvalidInput(missing)));
    let failed = "invalid digit found in string".to_owned();
    assert_eq!(TestHost::<Full>::new().call_tool("fail", json!({})), Err(ToolError::Failed(failed)));
    assert_eq!(TestHost::<Full>::new().call_tool("gree", json!({})), Err(ToolError::UnknownTool));
}

#[test]
fn every_tool_call_is_an_instance_of_its_own() {
    let count = || TestHost::<Full>::new().call_tool("count", json!({})).unwrap();
    assert_eq!(count(), json!({ "calls": 1, "key": "key" }));
    assert_eq!(count()["calls"], 1);
}

#[test]
fn settings_fit_or_say_why() {
    let host = TestHost::<Full>::new();
    assert!(settings::<Settings>().unwrap_err().to_string().contains("missing field `maxRolls`"));
    host.set_settings(json!({ "maxRolls": 3 }));
    assert_eq!(settings(), Ok(Settings { max_rolls: 3 }));
}

#[test]
fn storage_keeps_values() {
    let host = TestHost::<Full>::new();
    assert_eq!(storage::get("a"), Ok(None));
    storage::set("a/2", [0, 255]).unwrap();
    storage::set_json("a/1", &[1, 2]).unwrap();
    assert_eq!(storage::get("a/2"), Ok(Some(vec![0, 255])));
    assert_eq!(storage::get_json("a/1"), Ok(Some(vec![1, 2])));
    assert_eq!(host.stored("a/1").unwrap(), "[1,2]");
    assert_eq!(storage::keys("a/"), Ok(vec!["a/1".to_owned(), "a/2".to_owned()]));
    assert_eq!((storage::delete("a/1"), storage::delete("a/1")), (Ok(true), Ok(false)));
    assert_eq!((storage::increment("n", 5), storage::increment("n", -7)), (Ok(5), Ok(-2)));
    assert!(matches!(storage::increment("a/2", 1), Err(BridgeError::Failed(_))));
    assert!(matches!(storage::set(&"k".repeat(513), ""), Err(BridgeError::TooLarge(_))));
    let error = storage::get_json::<String>("a/2").unwrap_err().to_string();
    assert!(error.starts_with("what is stored under `a/2` does not fit"), "{error}");
}

#[test]
fn context_messages_and_session() {
    let host = TestHost::<Full>::new();
    host.set_context("memory", "old");
    context::set("memory", "new").unwrap();
    assert_eq!(context::get("memory"), Ok(Some("new".to_owned())));
    assert_eq!(host.context("memory").unwrap(), "new");
    assert!(matches!(context::set("none", ""), Err(BridgeError::NotFound(_))));
    host.add_message("user", "one");
    host.add_message("assistant", "two");
    session::send_message("three").unwrap();
    let texts: Vec<_> = messages::recent(2).unwrap().into_iter().map(|message| message.content).collect();
    assert_eq!(texts, ["two", "three"]);
    assert_eq!(session::info().unwrap().message_count, 3);
}

#[test]
fn a_new_host_knows_nothing_of_the_last() {
    let host = TestHost::<Full>::new();
    host.store("a", "1");
    log::warn!("{} lines", 1);
    assert_eq!(host.log(), [Record { level: Level::Warn, message: "1 lines".to_owned() }]);
    let host = TestHost::<Full>::new();
    assert_eq!((host.stored("a"), host.log()), (None, vec![]));
}
