use lathe::turn::UiRole;
use serde_json::{Value, json};

use super::stage::Stage;

fn everything() -> Value {
    json!([
        {"do": "messages", "limit": 5},
        {"do": "session"},
        {"do": "send", "text": "psst"},
        {"do": "context-get", "label": "courier_notes"},
        {"do": "context-set", "label": "courier_notes", "text": "x"},
    ])
}

#[tokio::test]
async fn each_call_without_its_right_is_denied_by_name() {
    let stage = Stage::new("");
    let seen = stage.turn(everything()).await;
    let said: Vec<&str> =
        seen.output.as_array().unwrap().iter().map(|result| result["error"].as_str().unwrap()).collect();
    assert_eq!(
        said,
        [
            "denied: `messages` is not granted",
            "denied: `session-info` is not granted",
            "denied: `send-message` is not granted",
            "denied: `context-read` for \"courier_notes\" is not granted",
            "denied: `context-write` for \"courier_notes\" is not granted",
        ]
    );
    assert_eq!(seen.messages.len(), 2, "a question and an answer");
}

#[tokio::test]
async fn denials_of_a_hook_are_counted_in_its_event() {
    let settings = json!({"extension": {"courier": {"settings": {"turn": everything()}}}});
    let grant = format!("session-info = true\n{}", toml::to_string(&settings).unwrap());
    let seen = Stage::new(&grant).turn(json!([])).await;
    assert_eq!(seen.calls[0].denied, 4);
    assert!(seen.system.contains("`messages` is not granted"), "{}", seen.system);
    assert!(seen.system.contains("\"name\":\"ada\""), "a hook knows its session too: {}", seen.system);
}

#[tokio::test]
async fn the_last_messages_can_be_read() {
    let stage = Stage::new("messages = true");
    stage.turn(json!([])).await;
    let deeds = json!([{"do": "messages", "limit": 2}, {"do": "messages", "limit": 0}, {"do": "messages", "limit": 4_000_000_000_u32}]);
    let results = stage.act(deeds).await;
    let told: Vec<Value> =
        results[0].as_array().unwrap().iter().map(|m| json!([m["role"], m["content"]])).collect();
    assert_eq!(told, [json!(["assistant", "done"]), json!(["user", "go"])]);
    assert!(results[0][0]["id"].is_string());
    assert_eq!(results[1], json!([]));
    assert_eq!(results[2].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn the_session_can_be_known() {
    let stage = Stage::new("session-info = true");
    let results = stage.act(json!([{"do": "session"}])).await;
    assert_eq!(results, [json!({"name": "ada", "messageCount": 1})]);
}

#[tokio::test]
async fn a_message_can_be_added_and_is_there_at_once() {
    let stage = Stage::new("send-message = true\nmessages = true");
    let deeds = json!([{"do": "send", "text": "psst"}, {"do": "messages", "limit": 9}]);
    let seen = stage.turn(deeds).await;
    let stored: Vec<(UiRole, String)> =
        seen.messages.iter().map(|message| (message.role, message.text())).collect();
    assert!(stored.contains(&(UiRole::User, "psst".to_owned())), "{stored:?}");
    assert_eq!(stored.len(), 3);
    assert_eq!(seen.output[1]["ok"][1]["content"], "psst");
    assert_eq!(seen.output[1]["ok"][1]["role"], "user");
}

#[tokio::test]
async fn messages_can_be_added_so_often_and_no_more() {
    let deeds: Vec<Value> = (0..17).map(|_| json!({"do": "send", "text": "psst"})).collect();
    let results = Stage::new("send-message = true").act(json!(deeds)).await;
    assert_eq!(results.iter().filter(|result| result.is_null()).count(), 16);
    assert_eq!(results[16], "too large: an instance adds at most 16 messages");
}

#[tokio::test]
async fn its_own_context_block_can_be_written_and_lasts() {
    let stage = Stage::new("context-read = [\"all\"]\ncontext-write = [\"own\"]");
    let get = json!({"do": "context-get", "label": "courier_notes"});
    let set = json!({"do": "context-set", "label": "courier_notes", "text": "milk"});
    assert_eq!(stage.act(json!([get, set, get])).await, [Value::Null, Value::Null, json!("milk")]);
    assert_eq!(stage.act(json!([get])).await, [json!("milk")]);
}

#[tokio::test]
async fn a_context_block_has_a_largest_size() {
    let stage = Stage::new("context-write = [\"own\"]");
    let long = "word ".repeat(30);
    let results = stage.act(json!([{"do": "context-set", "label": "courier_notes", "text": long}])).await;
    assert_eq!(results, ["too large: \"courier_notes\" has at most 20 tokens, not about 39"]);
}

#[tokio::test]
async fn blocks_of_others_need_their_own_word() {
    let stage = Stage::new("context-read = [\"shared_memory\"]\ncontext-write = [\"own\"]");
    let results = stage
        .act(json!([
            {"do": "context-get", "label": "courier_notes"},
            {"do": "context-get", "label": "shared_memory"},
            {"do": "context-set", "label": "shared_memory", "text": "x"},
            {"do": "context-set", "label": "own", "text": "x"},
        ]))
        .await;
    assert_eq!(results[0], "denied: `context-read` for \"courier_notes\" is not granted");
    assert_eq!(results[1], Value::Null, "an unknown block has no text");
    assert_eq!(results[2], "denied: `context-write` for \"shared_memory\" is not granted");
    assert_eq!(results[3], "denied: `context-write` for \"own\" is not granted");
}

#[tokio::test]
async fn a_block_of_others_that_is_not_there_is_not_made() {
    let stage = Stage::new("context-write = [\"shared_memory\"]");
    let results = stage.act(json!([{"do": "context-set", "label": "shared_memory", "text": "x"}])).await;
    assert_eq!(results, ["not found: there is no context block \"shared_memory\""]);
}
