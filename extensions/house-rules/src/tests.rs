use lathe_guest::Hook;
use lathe_guest::testing::TestHost;

use super::*;

fn turn(settings: Value, system: &str) -> Result<Option<TurnConfig>> {
    let host = TestHost::<HouseRules>::new();
    host.set_settings(settings);
    host.before_turn(TurnSnapshot { system: system.to_owned(), max_steps: 10, ..TurnSnapshot::default() })
}

fn system(settings: Value, system: &str) -> Option<String> {
    turn(settings, system).unwrap().and_then(|config| config.system)
}

#[test]
fn rules_follow_the_system_text() {
    let config = turn(json!({ "rules": ["Be brief.", "Cite sources."], "maxSteps": 5 }), "You help.");
    assert_eq!(
        config,
        Ok(Some(TurnConfig {
            system: Some("You help.\n\nHouse rules:\n- Be brief.\n- Cite sources.".to_owned()),
            max_steps: Some(5),
            ..TurnConfig::default()
        }))
    );
}

#[test]
fn an_empty_system_text_gets_no_blank_lines() {
    assert_eq!(system(json!({ "rules": ["Be brief."] }), " \n").unwrap(), "House rules:\n- Be brief.");
}

#[test]
fn the_heading_can_be_another() {
    let settings = json!({ "rules": ["Be brief."], "heading": "Always:" });
    assert_eq!(system(settings, "You help.").unwrap(), "You help.\n\nAlways:\n- Be brief.");
}

#[test]
fn a_rule_of_two_lines_stays_one_item() {
    let settings = json!({ "rules": ["First line\nsecond line\n", "  "] });
    assert_eq!(system(settings, "").unwrap(), "House rules:\n- First line\n  second line");
}

#[test]
fn no_settings_change_nothing() {
    assert_eq!(turn(json!({}), "You help."), Ok(None));
    assert_eq!(turn(json!({ "rules": [], "heading": "Always:" }), "You help."), Ok(None));
}

#[test]
fn steps_are_capped_without_rules() {
    let config = TurnConfig { max_steps: Some(2), ..TurnConfig::default() };
    assert_eq!(turn(json!({ "maxSteps": 2 }), "You help."), Ok(Some(config)));
    assert_eq!(turn(json!({ "maxSteps": 10 }), "You help."), Ok(None), "the limit is as low already");
}

#[test]
fn bad_settings_say_what_is_wrong() {
    let error = |settings| turn(settings, "").unwrap_err().to_string();
    let text = error(json!({ "rules": "Be brief." }));
    assert!(text.contains("do not fit") && text.contains("Be brief."), "{text}");
    let text = error(json!({ "maxSteps": 0 }));
    assert!(text.contains("do not fit") && text.contains('0'), "{text}");
    let text = error(json!({ "rule": [] }));
    assert!(text.contains("do not fit") && text.contains("rule"), "{text}");
}

#[test]
fn the_manifest_asks_for_one_hook() {
    let manifest = TestHost::<HouseRules>::new().manifest();
    assert_eq!(manifest.name, "house-rules");
    assert_eq!(manifest.hooks, [Hook::BeforeTurn]);
    let schema: Value = manifest.settings_schema.unwrap().parse().unwrap();
    assert_eq!(schema["properties"]["maxSteps"]["minimum"], 1);
}
