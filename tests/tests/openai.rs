//! The binary against an OpenAI-compatible server that streams: a turn of two steps, with a tool of an extension.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use lathe_tests::binary::{Folder, Ran, ran};
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::{Value, json};

fn stream(deltas: &[Value], reason: &str) -> Reply {
    let choice = |delta: &Value, reason: Option<&str>| {
        let chunk = json!({"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        format!("data: {chunk}\n\n")
    };
    let mut body: String = deltas.iter().map(|delta| choice(delta, None)).collect();
    body.push_str(&choice(&json!({}), Some(reason)));
    let usage = json!({"id": "r", "model": "m", "choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57}});
    body.push_str(&format!("data: {usage}\n\ndata: [DONE]\n\n"));
    // Pieces that fall anywhere, as from a network.
    Reply::stream(body).in_pieces_of(23)
}

async fn run(server: &ProviderServer, folder: Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env("OPENAI_BASE_URL", format!("{}/v1", server.url())).env("OPENAI_API_KEY", "secret-key");
    tokio::task::spawn_blocking(move || {
        let _folder = folder;
        ran(command)
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_turn_of_two_steps_with_a_tool_call() {
    let call = |function: Value| json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]});
    let server = ProviderServer::start([
        stream(
            &[
                call(json!({"name": "calc_evaluate", "arguments": "{\"expre"})),
                json!({"tool_calls": [{"index": 0, "function": {"arguments": "ssion\":\"2^100\"}"}}]}),
            ],
            "tool_calls",
        ),
        stream(
            &[
                json!({"role": "assistant", "content": "It is "}),
                json!({"content": "1267650600228229401496703205376."}),
            ],
            "stop",
        ),
    ])
    .await
    .unwrap();
    let folder = Folder::new().with(&["calc", "house-rules"]);
    folder
        .write("lathe.toml", "system = \"SYS\"\n[extension.house-rules.settings]\nrules = [\"Be kind.\"]\n");
    let ran = run(&server, folder, &["run", "--model", "openai:some-model", "What is 2^100?"]).await;
    assert_eq!((ran.code, &*ran.out), (Some(0), "It is 1267650600228229401496703205376.\n"), "{}", ran.err);

    let asked = server.asked().await;
    assert_eq!(asked.iter().map(|asked| &*asked.target).collect::<Vec<_>>(), ["/v1/chat/completions"; 2]);
    assert_eq!(asked[0].headers["authorization"], "Bearer secret-key");
    let body = &asked[0].body;
    assert_eq!((&body["model"], &body["stream"]), (&json!("some-model"), &json!(true)));
    assert_eq!(body["tools"][0]["function"]["name"], "calc_evaluate");
    let system = body["messages"][0].to_string();
    assert!(system.contains("SYS") && system.contains("Be kind."), "{system}");
    let messages = asked[1].body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    assert_eq!((&last["role"], &last["tool_call_id"]), (&json!("tool"), &json!("call_1")));
    assert!(last["content"].to_string().contains("1267650600228229401496703205376"), "{last}");
}

#[tokio::test]
async fn a_refused_key_is_an_error_that_does_not_hold_it() {
    let refusal =
        Reply::refusal(401, &json!({"error": {"message": "Incorrect API key provided: secret-key."}}));
    let server = ProviderServer::start([refusal]).await.unwrap();
    let ran = run(&server, Folder::new(), &["run", "--model", "openai:some-model", "hi"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("Incorrect API key") && !ran.err.contains("secret-key"), "{}", ran.err);
}
