use std::sync::Arc;

use async_trait::async_trait;
use lathe::extensions::{LogLevel, LogRecord, LogSource};
use lathe::logs::LogLine;
use lathe::server::{Operator, OperatorError};
use lathe_tests::house::{House, load, says};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::serve;
use crate::web::{chat, get, post, request};

/// Notes what it is asked for.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, name: &str, what: &str) -> Result<(), OperatorError> {
        match name {
            "none" => Err(OperatorError::NotFound("there is no extension \"none\"".into())),
            "stubborn" => Err(OperatorError::Refused("it does not want to".into())),
            "broken" => Err(OperatorError::Failed("the disk is full".into())),
            _ => {
                self.0.lock().push(format!("{what} {name}"));
                Ok(())
            }
        }
    }
}

#[async_trait]
impl Operator for Notes {
    async fn extensions(&self) -> Result<Vec<Value>, OperatorError> {
        Ok(vec![json!({"name": "calc", "health": "ready"})])
    }

    async fn log(&self, name: &str) -> Result<Vec<LogLine>, OperatorError> {
        self.note(name, "log")?;
        let line = |number: usize| {
            let record = LogRecord {
                level: LogLevel::Info,
                source: LogSource::Guest,
                session: if number.is_multiple_of(2) { "even" } else { "odd" }.into(),
                request_id: (number / 100).to_string(),
                failure: None,
                message: number.to_string(),
            };
            LogLine { time: "2026-01-31T12:00:00.000Z".into(), record }
        };
        Ok((0..300).map(line).collect())
    }

    async fn enable(&self, name: &str, enabled: bool) -> Result<(), OperatorError> {
        self.note(name, if enabled { "enable" } else { "disable" })
    }

    async fn reset(&self, name: &str) -> Result<(), OperatorError> {
        self.note(name, "reset")
    }

    async fn grant(&self, name: &str, permissions: &[String]) -> Result<(), OperatorError> {
        self.note(name, &format!("grant {}", permissions.join(" ")))
    }

    async fn revoke(&self, name: &str, permissions: &[String]) -> Result<(), OperatorError> {
        self.note(name, &format!("revoke {}", permissions.join(" ")))
    }
}

#[tokio::test]
async fn what_there_is_is_listed() {
    let extensions = load(&["calc"], Default::default()).await;
    let house = House::new(&json!([says("hello")]), |agent| agent.extensions(extensions)).await;
    let address = serve(&house, |server| server.name("desk")).await;
    let about = json!({
        "agent": "desk", "model": "scripted:test", "version": env!("CARGO_PKG_VERSION"), "operator": false
    });
    assert_eq!(get(&address, "/api/about").await.json(), about);
    for session in ["older", "newer"] {
        chat(&address, session, "u", "hi").await;
    }
    let sessions = get(&address, "/api/sessions").await.json();
    assert_eq!((&sessions[0]["name"], &sessions[1]["name"]), (&json!("newer"), &json!("older")));
    assert!(sessions[0]["changedAt"].is_string() && sessions[0]["messages"] == 2, "{sessions}");
    let calc = &get(&address, "/api/extensions").await.json()[0];
    assert_eq!((&calc["name"], &calc["health"]), (&json!("calc"), &json!("ready")));
    assert_eq!((&calc["totals"]["calls"], &calc["limits"]["strikes"]), (&json!(0), &json!(3)));
}

#[tokio::test]
async fn without_an_operator_nothing_can_be_changed() {
    let house = House::plain(&json!([says("hello")])).await;
    let address = serve(&house, |server| server).await;
    let log = get(&address, "/api/extensions/calc/log").await;
    let disable = post(&address, "/api/extensions/calc/disable", &Value::Null).await;
    for answer in [log, disable] {
        assert_eq!(answer.status, 404);
        assert_eq!(answer.body, "the program that runs this server manages its extensions itself");
    }
}

#[tokio::test]
async fn an_operator_is_asked_and_its_refusals_are_told() {
    let house = House::plain(&json!([says("hello")])).await;
    let notes = Arc::new(Notes::default());
    let address = serve(&house, |server| server.operator(notes.clone())).await;
    assert_eq!(get(&address, "/api/about").await.json()["operator"], true);
    assert_eq!(get(&address, "/api/extensions").await.json()[0]["name"], "calc");
    let named = json!({"permissions": ["network:a.org", "messages"]});
    for (what, body) in [
        ("enable", &Value::Null),
        ("disable", &json!({})),
        ("reset", &Value::Null),
        ("grant", &named),
        ("revoke", &named),
    ] {
        let answer = post(&address, &format!("/api/extensions/calc/{what}"), body).await;
        assert_eq!((answer.status, &*answer.body), (204, ""));
    }
    let asked =
        ["enable", "disable", "reset", "grant network:a.org messages", "revoke network:a.org messages"];
    assert_eq!(*notes.0.lock(), asked.map(|what| format!("{what} calc")));
    for (name, status, why) in [
        ("none", 404, "there is no extension \"none\""),
        ("stubborn", 422, "it does not want to"),
        ("broken", 500, "the disk is full"),
    ] {
        let answer = post(&address, &format!("/api/extensions/{name}/enable"), &Value::Null).await;
        assert_eq!((answer.status, &*answer.body), (status, why));
    }
    for body in ["", "[]", "{\"permissions\": []}", "{\"permissions\": [1]}", "{\"all\": true}"] {
        let headers = [("content-type", "application/json")];
        let answer = request(&address, "POST /api/extensions/calc/grant", &headers, body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
    assert_eq!(get(&address, "/api/extensions/calc/enable").await.status, 405);
}

#[tokio::test]
async fn a_log_is_told_in_part() {
    let house = House::plain(&json!([says("hello")])).await;
    let address = serve(&house, |server| server.operator(Arc::new(Notes::default()))).await;
    for (query, expected) in [
        ("", (100..300).collect::<Vec<usize>>()),
        ("?limit=2", vec![298, 299]),
        ("?session=odd&limit=2", vec![297, 299]),
        ("?requestId=1&session=even&limit=1", vec![198]),
        ("?session=nobody%20else", vec![]),
    ] {
        let log = get(&address, &format!("/api/extensions/calc/log{query}")).await.json();
        let lines = log.as_array().unwrap().iter();
        let told: Vec<usize> = lines.map(|line| line["message"].as_str().unwrap().parse().unwrap()).collect();
        assert_eq!(told, expected, "{query}");
    }
    assert_eq!(get(&address, "/api/extensions/calc/log?limit=all").await.status, 400);
    assert_eq!(get(&address, "/api/extensions/none/log").await.status, 404);
}

#[tokio::test]
async fn who_may_look_and_who_may_change() {
    let house = House::plain(&json!([says("hello")])).await;
    let notes = Arc::new(Notes::default());
    let open = serve(&house, |server| server.operator(notes.clone()).origin("https://chat.example")).await;
    const ENABLE: &str = "POST /api/extensions/calc/enable";
    let own = format!("http://{open}");
    for (headers, status) in [
        (&[("sec-fetch-site", "same-origin"), ("origin", &*own)][..], 204),
        (&[("sec-fetch-site", "none")], 204),
        // A page that may chat, another server's page on this machine, and what forms send.
        (&[("sec-fetch-site", "cross-site"), ("origin", "https://chat.example")], 403),
        (&[("sec-fetch-site", "same-site"), ("origin", "http://localhost:1")], 403),
        // Not every browser says where its page is from.
        (&[("origin", &*own)], 204),
        (&[("origin", "https://chat.example")], 403),
        (&[("origin", "http://localhost:1")], 403),
        (&[("origin", "null")], 403),
        (&[("origin", "https://evil.example")], 403),
        (&[("content-type", "text/plain")], 415),
        (&[("content-type", "application/x-www-form-urlencoded")], 415),
    ] {
        assert_eq!(request(&open, ENABLE, headers, "").await.status, status, "{headers:?}");
    }
    let untyped =
        request(&open, "POST /api/extensions/calc/grant", &[], "{\"permissions\":[\"model\"]}").await;
    assert_eq!(untyped.status, 415);
    assert_eq!(notes.0.lock().len(), 3, "nothing else was done");
    let embedded = [("sec-fetch-site", "cross-site")];
    assert_eq!(request(&open, "GET /api/sessions/s/events", &embedded, "").await.status, 403);

    let closed = serve(&house, |server| server.operator(notes.clone()).token("s3cret")).await;
    for path in ["/api/about", "/api/sessions", "/api/sessions/s/events", "/api/extensions"] {
        assert_eq!(get(&closed, path).await.status, 401, "{path}");
        let shown = request(&closed, &format!("GET {path}"), &[("origin", "https://evil.example")], "").await;
        assert_eq!(shown.status, 403, "{path}");
    }
    assert_eq!(get(&closed, "/api/about?token=s3cret").await.json()["operator"], true);
    assert_eq!(request(&closed, ENABLE, &[], "").await.status, 401);
    let bearer = [("authorization", "Bearer s3cret")];
    assert_eq!(request(&closed, ENABLE, &bearer, "").await.status, 204);
}
