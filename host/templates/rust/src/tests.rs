use lathe_guest::testing::TestHost;

use super::*;

#[test]
fn it_greets() {
    let host = TestHost::<{{Name}}>::new();
    assert_eq!(host.call_tool("greet", json!({ "name": "Ada" })), Ok(json!("Hello, Ada!")));
    assert_eq!(host.stored("greetings").as_deref(), Some("1"));
    assert_eq!(host.log()[0].message, "greeting number 1");
}

#[test]
fn it_asks_nothing_else_of_the_host() {
    let host = TestHost::<{{Name}}>::new();
    host.call_tool("greet", json!({ "name": "Ada" })).unwrap();
    let calls: Vec<String> = host.calls().iter().map(ToString::to_string).collect();
    assert_eq!(
        calls,
        ["settings.get()", "storage.increment(\"greetings\", 1)", "log.log(\"info\", \"greeting number 1\")"]
    );
}

#[test]
fn the_greeting_is_the_operators() {
    let host = TestHost::<{{Name}}>::new();
    host.set_settings(json!({ "greeting": "Servus" }));
    assert_eq!(host.call_tool("greet", json!({ "name": "Ada" })), Ok(json!("Servus, Ada!")));
    let turn = TurnSnapshot { system: "You are brief.".to_owned(), ..TurnSnapshot::default() };
    let config = host.before_turn(turn).unwrap().unwrap();
    let system = config.system.unwrap();
    assert!(system.starts_with("You are brief.\n\n") && system.contains("Servus"), "{system}");
}

#[test]
fn nobody_is_not_greeted() {
    let host = TestHost::<{{Name}}>::new();
    let refused = ToolError::InvalidInput("a name is needed".to_owned());
    assert_eq!(host.call_tool("greet", json!({ "name": " " })), Err(refused));
    assert_eq!(host.stored("greetings"), None);
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let host = TestHost::<{{Name}}>::new();
    host.set_settings(json!({ "greeting": 7 }));
    let error = host.before_turn(TurnSnapshot::default()).unwrap_err().to_string();
    assert!(error.contains("do not fit"), "{error}");
}
