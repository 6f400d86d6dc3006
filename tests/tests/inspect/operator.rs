//! The binary: what operators change of a server that runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use lathe_tests::binary::Folder;
use serde_json::{Value, json};

use crate::web::{Answer, Inspector, chat, get, post};

const SUM: &str = "What is 21 * 2?";

/// `lathe serve` in a folder of its own.
struct Served {
    folder: Folder,
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: Folder) -> Self {
        let mut command = folder.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let said = lines.find(|line| line.contains("http://")).unwrap();
        let address = said.split("http://").nth(1).unwrap().split(',').next().unwrap().to_owned();
        // What it says later is to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        Self { folder, child, address }
    }

    async fn change(&self, what: &str, body: &Value) -> Answer {
        post(&self.address, &format!("/api/extensions/{what}"), body).await
    }

    /// Changes something without a word.
    async fn changed(&self, what: &str, body: &Value) {
        let answer = self.change(what, body).await;
        assert_eq!((answer.status, &*answer.body), (204, ""), "{what}");
    }

    /// Whether a turn that begins now can calculate.
    async fn calculates(&self, id: &str) -> bool {
        chat(&self.address, "s", id, SUM).await.contains("calc_evaluate")
    }

    async fn listed(&self, name: &str) -> Value {
        let list = get(&self.address, "/api/extensions").await.json();
        list.as_array().unwrap().iter().find(|listing| listing["name"] == name).cloned().unwrap_or_default()
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("lathe.toml")).unwrap_or_default()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn what_is_disabled_is_gone_from_the_next_turn_and_back_once_enabled() {
    let served = Served::start(Folder::new().with(&["calc", "clock"]));
    assert_eq!(get(&served.address, "/api/about").await.json()["operator"], true);
    assert!(served.calculates("u1").await);
    served.changed("calc/disable", &Value::Null).await;
    assert_eq!(served.config(), "[extension.calc]\nenabled = false\n");
    assert_eq!(served.listed("calc").await["health"], "disabled");
    assert_eq!(served.listed("clock").await["health"], "ready");
    assert!(!served.calculates("u2").await);
    served.changed("calc/disable", &Value::Null).await;
    served.changed("calc/enable", &Value::Null).await;
    assert_eq!(served.config(), "");
    assert_eq!(served.listed("calc").await["totals"]["calls"], 1);
    assert!(served.calculates("u3").await);
    let missing = served.change("clac/disable", &Value::Null).await;
    assert_eq!((missing.status, &*missing.body), (404, "there is no extension \"clac\" in extensions"));
    assert_eq!(served.config(), "");
    served.folder.write("lathe.toml", "modle = 1\n");
    let broken = served.change("calc/disable", &Value::Null).await;
    assert_eq!(broken.status, 500);
    assert!(broken.body.contains("there is no key `modle`"), "{broken:?}");
    assert!(served.calculates("u4").await);
}

#[tokio::test]
async fn rights_are_granted_and_taken_back_while_it_runs() {
    let served = Served::start(Folder::new().with(&["gate"]));
    let granted = async || served.listed("gate").await["permissions"]["granted"].clone();
    assert_eq!(granted().await, json!({}));
    let some = json!({"permissions": ["decide:beforeToolCall", "model"]});
    served.changed("gate/grant", &some).await;
    assert_eq!(granted().await, json!({"decide": ["beforeToolCall"], "model": true}));
    assert_eq!(served.config(), "[extension.gate.grant]\ndecide = [\"beforeToolCall\"]\nmodel = true\n");
    served.changed("gate/revoke", &json!({"permissions": ["decide"]})).await;
    assert_eq!(granted().await, json!({"model": true}));
    let before = served.config();
    for (what, permission, why) in [
        ("grant", "network=a.org", "gate does not ask for network a.org: it would have no effect"),
        ("grant", "decide", "`decide` needs a value"),
        ("revoke", "reasons", "gate is not granted reasons"),
    ] {
        let refused = served.change(&format!("gate/{what}"), &json!({"permissions": [permission]})).await;
        assert_eq!((refused.status, &*refused.body), (422, why));
    }
    assert_eq!(served.config(), before);
    let shown = served.folder.lathe(&["ext", "list", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&shown.out).unwrap()[0]["permissions"]["granted"],
        granted().await
    );
}

#[tokio::test]
async fn a_quarantine_ends_at_once_and_the_log_tells_of_it() {
    let folder = Folder::new().with(&["rogue"]);
    folder.write(
        "lathe.toml",
        "[extension.rogue]\nsettings = { do = \"panic\" }\nlimits = { strikes = 1, quarantine-ms = 3600000 }\n",
    );
    let served = Served::start(folder);
    let mut watching = Inspector::new(&served.address, "s", None).await;
    assert_eq!(watching.remembered().await, []);
    let failures = async |watching: &mut Inspector| {
        let events = watching.turn().await.into_iter().map(|(_, event)| event["event"].clone());
        events.filter(|event| event["failure"] == "trap").count()
    };
    chat(&served.address, "s", "u1", "hi").await;
    assert_eq!(failures(&mut watching).await, 1);
    let rogue = served.listed("rogue").await;
    assert_eq!((&rogue["health"], &rogue["strikes"]), (&json!("quarantined"), &json!(1)));
    chat(&served.address, "s", "u2", "hi").await;
    assert_eq!(failures(&mut watching).await, 0, "it is not called");
    served.changed("rogue/reset", &Value::Null).await;
    let rogue = served.listed("rogue").await;
    assert_eq!((&rogue["health"], &rogue["strikes"]), (&json!("ready"), &json!(0)));
    assert_eq!(rogue["totals"]["failures"]["trap"], 1, "what it has cost is kept");
    chat(&served.address, "s", "u3", "hi").await;
    assert_eq!(failures(&mut watching).await, 1, "it is called again");

    let log = get(&served.address, "/api/extensions/rogue/log?session=s").await.json();
    let said: Vec<&str> =
        log.as_array().unwrap().iter().map(|line| line["message"].as_str().unwrap()).collect();
    let count = |start: &str| said.iter().filter(|said| said.starts_with(start)).count();
    assert_eq!(count("in quarantine for 3600 s"), 2, "{said:?}");
    assert_eq!(count("beforeTurn failed: it trapped"), 2, "{said:?}");
    for path in ["/api/extensions/none/log", "/api/extensions/..%2Flogs%2Frogue/log"] {
        assert_eq!(get(&served.address, path).await.status, 404, "{path}");
    }
    assert_eq!(served.change("none/reset", &Value::Null).await.status, 404);
}
