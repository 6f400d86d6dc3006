use lathe::extensions::Fixed;
use serde_json::json;

use super::stage::Stage;

fn environment(name: &str) -> Option<String> {
    match name {
        "COURIER_WORD" => Some("word".to_owned()),
        "COURIER_SECRET" => Some("s3cret".to_owned()),
        _ => None,
    }
}

#[tokio::test]
async fn no_variable_is_inherited() {
    let stage = Stage::with("", |loader| loader.environment(environment));
    assert_eq!(stage.act(json!([{"do": "variables"}])).await, [json!({})]);
}

#[tokio::test]
async fn variables_are_granted_by_name() {
    // The first is asked for and set, the second is asked for and not set, the third is set and not asked for.
    let grant = "environment = [\"COURIER_WORD\", \"COURIER_OTHER\", \"COURIER_SECRET\"]";
    let stage = Stage::with(grant, |loader| loader.environment(environment));
    assert_eq!(stage.act(json!([{"do": "variables"}])).await, [json!({"COURIER_WORD": "word"})]);
}

#[tokio::test]
async fn clock_and_chance_can_be_fixed() {
    let deeds = || json!([{"do": "clocks"}, {"do": "random"}]);
    let fixed = |seed| Stage::with("", move |loader| loader.fixed(Fixed { unix_ms: 86_400_500, seed }));
    let first = fixed(1).act(deeds()).await;
    assert_eq!((&first[0]["seconds"], &first[0]["nanoseconds"]), (&json!(86_400), &json!(500_000_000)));
    let [one, two] = [0, 1].map(|read| first[0]["monotonic"][read].as_u64().unwrap());
    assert!(one < two, "who waits gets on");
    assert_eq!(fixed(1).act(deeds()).await, first);
    assert_ne!(fixed(2).act(deeds()).await[1], first[1]);
}
