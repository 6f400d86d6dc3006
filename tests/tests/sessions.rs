//! Sessions that outlive a process: trees, summaries, context blocks, and what an operator does with them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use lathe::agent::{EntryError, SessionError};
use lathe::extensions::{ExtensionSettings, Grant};
use lathe::session::{
    Compaction, CompactionError, Compactor, ContextBlock, ContextError, ContextMode, ContextProvider,
};
use lathe::store::Store;
use lathe::turn::{ModelCall, Part, UiMessage};
use lathe_tests::binary::{Folder, Ran};
use lathe_tests::house::{House, call, load, says};
use lathe_tests::log::Log;
use lathe_tests::tool::FnTool;
use serde_json::{Value, json};

fn script(entries: &[Value]) -> Value {
    Value::Array(entries.to_vec())
}

fn texts(request: &ModelCall) -> Vec<String> {
    let parts = request.messages.iter().flat_map(|message| &message.content);
    let texts = parts.filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

fn tools(request: &ModelCall) -> Vec<&str> {
    request.tools.iter().map(|tool| &*tool.name).collect()
}

async fn ids(house: &House) -> Vec<String> {
    house.session().await.messages().await.unwrap().into_iter().map(|message| message.id).collect()
}

/// Long enough that the ready-made compactor has a middle of it: each message has about 2,600 tokens.
async fn long(house: &House, many: usize) {
    for n in 0..many {
        let message = UiMessage::user(n.to_string(), format!("message {n} {}", "word ".repeat(2_000)));
        house.store.put("s", &message, None).await.unwrap();
    }
}

#[tokio::test]
async fn a_long_conversation_is_shortened_after_a_turn_and_the_next_one_reads_the_summary() {
    let answers = [says("first"), says("SUMMARY of the middle"), says("second")];
    let house = House::new(&script(&answers), |agent| agent.compact_after(20_000)).await;
    long(&house, 16).await;
    house.send("and now?").await;
    let shown = house.transcript().await;
    assert_eq!(shown[3], "assistant: SUMMARY of the middle");
    assert!(shown.len() < 14 && shown.last().unwrap() == "assistant: first", "{}", shown.len());
    let result = house.send("go on").await;
    assert_eq!(result.text, "second");
    let requests = house.requests();
    assert_eq!(requests.len(), 3, "it is as short as it can be: nobody is asked again");
    assert_eq!((requests[1].system.as_deref(), requests[1].tools.len()), (None, 0), "a plain request");
    assert!(texts(&requests[1])[0].contains("User: message 3 word"));
    assert!(texts(&requests[2]).contains(&"SUMMARY of the middle".to_owned()));
    assert!(!texts(&requests[2]).iter().any(|text| text.starts_with("message 3 ")));
    assert_eq!(house.store.path("s").await.unwrap().len(), 20, "nothing is deleted");
}

#[tokio::test]
async fn a_summary_that_fails_costs_nothing() {
    let answers = [json!({"error": "overloaded"})];
    let house = House::new(&script(&answers), |agent| agent).await;
    long(&house, 16).await;
    let before = ids(&house).await;
    let error = house.session().await.compact().await.unwrap_err().to_string();
    assert!(error.contains("overloaded"), "{error}");
    assert_eq!(ids(&house).await, before);
}

/// Finds nothing to shorten.
struct Never;

#[async_trait]
impl Compactor for Never {
    async fn compact(&self, _messages: &[UiMessage]) -> Result<Option<Compaction>, CompactionError> {
        Ok(None)
    }
}

#[tokio::test]
async fn a_conversation_that_cannot_be_shorter_is_warned_of_once() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _here = tracing::subscriber::set_default(subscriber);
    let house =
        House::new(&script(&[says("hm")]), |agent| agent.compaction(Arc::new(Never)).compact_after(1)).await;
    let session = house.session().await;
    for prompt in ["one", "two", "three"] {
        session.send(prompt).await.unwrap().finish().await;
    }
    let log = log.text();
    assert_eq!(log.matches("cannot be made shorter").count(), 1, "{log}");
}

/// Always shortens the first two messages to the same word.
struct FirstTwo;

#[async_trait]
impl Compactor for FirstTwo {
    async fn compact(&self, messages: &[UiMessage]) -> Result<Option<Compaction>, CompactionError> {
        Ok(Some(Compaction::new(&messages[0].id, &messages[1].id, "S")))
    }
}

#[tokio::test]
async fn an_embedder_says_what_is_shortened_and_how_tokens_are_counted() {
    let house = House::new(&script(&[says("hm")]), |agent| {
        agent.compaction(Arc::new(FirstTwo)).compact_after(4).token_counter(|messages| messages.len() as u64)
    })
    .await;
    house.send(&"long ".repeat(100)).await;
    assert_eq!(ids(&house).await.len(), 2);
    house.send("again").await;
    assert_eq!(house.transcript().await, ["assistant: S", "user: again", "assistant: hm"]);
    assert!(house.session().await.compact().await.unwrap());
    assert_eq!(house.transcript().await, ["assistant: S", "assistant: hm"]);
}

#[tokio::test]
async fn a_client_with_an_old_copy_does_not_undo_a_summary() {
    let house =
        House::new(&script(&[says("one"), says("two")]), |agent| agent.compaction(Arc::new(FirstTwo))).await;
    house.send(&"long ".repeat(100)).await;
    let mut copy = house.session().await.messages().await.unwrap();
    house.session().await.compact().await.unwrap();
    copy[1] = serde_json::from_value(json!({"id": copy[1].id, "role": "assistant",
        "parts": [{"type": "text", "text": "forged"}]}))
    .unwrap();
    copy.push(UiMessage::user("new", "and?"));
    let mut request = lathe::agent::ChatRequest::from("");
    request.messages = copy;
    house.session().await.send(request).await.unwrap().finish().await;
    assert_eq!(house.transcript().await, ["assistant: S", "user: and?", "assistant: two"]);
    assert_eq!(house.store.path("s").await.unwrap()[1].text(), "one");
}

#[tokio::test]
async fn what_a_summary_stands_for_can_be_answered_again() {
    let house = House::new(&script(&[says("one"), says("two"), says("uno")]), |agent| {
        agent.compaction(Arc::new(FirstTwo))
    })
    .await;
    house.send(&"long ".repeat(100)).await;
    let question = ids(&house).await[0].clone();
    house.send("more").await;
    let session = house.session().await;
    assert!(session.compact().await.unwrap());
    assert_eq!(house.transcript().await, ["assistant: S", "user: more", "assistant: two"]);
    session.regenerate(Some(&question)).unwrap().finish().await;
    assert_eq!(house.transcript().await[1..], ["assistant: uno"]);
    assert_eq!(texts(&house.requests()[2]), ["long ".repeat(100)]);
}

#[tokio::test]
async fn answers_stand_beside_each_other_and_sessions_can_be_copied_at_any_of_them() {
    let house = House::plain(&script(&[says("red"), says("blue"), says("more")])).await;
    house.send("a colour?").await;
    let session = house.session().await;
    let first = session.latest_leaf().await.unwrap().unwrap();
    session.regenerate(None).unwrap().finish().await;
    let branches = session.branches(&first.id).await.unwrap();
    assert_eq!(branches.iter().map(UiMessage::text).collect::<Vec<_>>(), ["red", "blue"]);
    assert_eq!(house.transcript().await, ["user: a colour?", "assistant: blue"]);
    assert_eq!(session.history(&first.id).await.unwrap()[1].text(), "red");
    house.agent.fork("s", Some(&first.id), "red").await.unwrap();
    let red = house.agent.session("red").await.unwrap();
    assert_eq!(red.messages().await.unwrap()[1].text(), "red");
    assert_eq!(session.search("RED").await.unwrap().len(), 1);
    assert_eq!(house.agent.search("red").await.unwrap().len(), 2);
    let names: Vec<String> = house.agent.sessions().await.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["red", "s"]);
    assert!(matches!(house.agent.rename("red", "other").await, Err(SessionError::InUse(_))));
    drop(red);
    house.agent.rename("red", "other").await.unwrap();
    assert!(house.agent.delete("other").await.unwrap());
    assert!(!house.agent.delete("other").await.unwrap());
    assert_eq!(session.delete_messages(&[branches[1].id.clone()]).await.unwrap(), 1);
    assert_eq!(house.transcript().await, ["user: a colour?", "assistant: red"]);
    session.clear_messages().await.unwrap();
    assert_eq!(session.latest_leaf().await.unwrap(), None);
}

#[tokio::test]
async fn without_blocks_the_prompt_and_the_tools_are_what_they_were() {
    let house = House::plain(&script(&[says("hi")])).await;
    house.send("hi").await;
    let requests = house.requests();
    assert_eq!((requests[0].system.as_deref(), requests[0].tools.len()), (Some("SYS"), 0));
}

#[tokio::test]
async fn what_a_model_writes_is_kept_at_once_and_shown_after_a_refresh() {
    let write = |action: &str, content: &str| {
        call("c", "set_context", &json!({"label": "memory", "action": action, "content": content}))
    };
    let too_long = "x".repeat(500);
    let answers =
        [write("append", "likes tea"), says("noted"), write("replace", &too_long), says("oh"), says("so")];
    let house = House::new(&script(&answers), |agent| {
        agent
            .context_block(ContextBlock::new("memory").initially("Ada").max_tokens(100))
            .context_block(ContextBlock::fixed("soul", "kind"))
    })
    .await;
    house.send("I like tea").await;
    let session = house.session().await;
    assert_eq!(session.context("memory").await.unwrap().as_deref(), Some("Ada\nlikes tea"));
    house.send("write a lot").await;
    assert_eq!(
        session.context("memory").await.unwrap().as_deref(),
        Some("Ada\nlikes tea"),
        "nothing of it is stored"
    );
    let requests = house.requests();
    let system = requests[0].system.clone().unwrap();
    assert!(
        system.starts_with("SYS\n\n══") && system.contains("MEMORY [2% — 2/100 tokens] [writable]"),
        "{system}"
    );
    assert!(system.find("MEMORY").unwrap() < system.find("SOUL [readonly]").unwrap());
    assert_eq!(tools(&requests[0]), ["set_context"]);
    assert_eq!(requests[3].system.as_ref(), Some(&system), "frozen");
    let told = serde_json::to_string(&requests[3].messages).unwrap();
    assert!(
        told.contains("Written to memory. [4% — 4/100 tokens]") && told.contains("nothing was stored"),
        "{told}"
    );
    assert!(session.refresh_system_prompt().await.unwrap().contains("likes tea"));
    house.send("and?").await;
    assert!(house.requests()[4].system.as_ref().unwrap().contains("Ada\nlikes tea"));
}

#[tokio::test]
async fn blocks_come_and_go_while_a_session_is_held() {
    let house =
        House::new(&script(&[says("ok")]), |agent| agent.context_block(ContextBlock::fixed("soul", "kind")))
            .await;
    let session = house.session().await;
    house.send("1").await;
    session.add_context(ContextBlock::new("notes").initially("a note")).unwrap();
    for label in ["soul", "notes", "no label"] {
        assert!(
            matches!(session.add_context(ContextBlock::new(label)), Err(EntryError::Context(_))),
            "{label}"
        );
    }
    house.send("2").await;
    session.refresh_system_prompt().await.unwrap();
    house.send("3").await;
    assert!(session.remove_context("notes") && !session.remove_context("soul"));
    house.send("4").await;
    let requests = house.requests();
    let shown: Vec<bool> =
        requests.iter().map(|request| request.system.as_ref().unwrap().contains("a note")).collect();
    assert_eq!(shown, [false, false, true, true], "shown and gone with a refresh");
    let offered: Vec<usize> = requests.iter().map(|request| request.tools.len()).collect();
    assert_eq!(offered, [0, 1, 1, 0]);
}

/// Lists one skill, and can be searched or loaded from.
struct Shelf(ContextMode);

#[async_trait]
impl ContextProvider for Shelf {
    fn mode(&self) -> ContextMode {
        self.0
    }

    async fn get(&self, _session: &str) -> Result<String, ContextError> {
        Ok("- knots: how to tie them".into())
    }

    async fn load(&self, _session: &str, key: &str) -> Result<Option<String>, ContextError> {
        Ok((key == "knots").then(|| "over, under, through".into()))
    }

    async fn search(&self, session: &str, query: &str) -> Result<String, ContextError> {
        Ok(format!("{session} found {query}"))
    }
}

#[tokio::test]
async fn skills_are_loaded_and_unloaded_and_archives_searched() {
    let block = |name: &str, more: Value| call("c", name, &more);
    let answers = [
        block("load_context", json!({"label": "skills", "key": "knots"})),
        says("I see"),
        block("unload_context", json!({"label": "skills", "key": "knots"})),
        block("search_context", json!({"label": "archive", "query": "rope"})),
        says("done"),
        says("bye"),
    ];
    let house = House::new(&script(&answers), |agent| {
        agent
            .context_block(ContextBlock::provided("skills", Arc::new(Shelf(ContextMode::Loadable))))
            .context_block(ContextBlock::provided("archive", Arc::new(Shelf(ContextMode::Searchable))))
    })
    .await;
    for prompt in ["tie it", "look it up", "bye"] {
        house.send(prompt).await;
    }
    let requests = house.requests();
    assert_eq!(tools(&requests[0]), ["load_context", "unload_context", "search_context"]);
    assert!(requests[0].system.as_ref().unwrap().contains("SKILLS [loadable]"));
    let said = |number: usize| serde_json::to_string(&requests[number].messages).unwrap();
    assert!(said(1).contains("over, under, through"));
    assert!(said(4).contains("s found rope"));
    assert!(!said(5).contains("over, under, through") && said(5).contains("(unloaded;"), "{}", said(5));
}

#[tokio::test]
async fn blocks_of_one_label_and_tools_of_one_name_are_refused() {
    let house = House::plain(&script(&[says("x")])).await;
    for block in [ContextBlock::new("a"), ContextBlock::new("b b")] {
        let twice = lathe::Agent::builder(house.store.clone())
            .context_block(ContextBlock::new("a"))
            .context_block(block);
        assert!(twice.build().is_err());
    }
    let own = FnTool::answers("set_context", json!(1)).arc();
    let builder = lathe::Agent::builder(house.store.clone()).tool(own);
    let clash = builder.context_block(ContextBlock::new("a")).build().err().unwrap().to_string();
    assert!(clash.contains("\"set_context\""), "{clash}");
}

#[tokio::test]
async fn blocks_of_extensions_are_there_as_soon_as_their_extension_is() {
    let deeds = json!({"deeds": [{"do": "context-set", "label": "courier_notes", "text": "milk"},
        {"do": "context-set", "label": "shared_memory", "text": "x ".repeat(50)},
        {"do": "context-set", "label": "shared_memory", "text": "ours"},
        {"do": "context-get", "label": "shared_memory"}]});
    let own = json!({"label": "courier_notes", "action": "append", "content": "eggs"});
    let answers = [
        says("nobody here"),
        call("a", "courier_act", &deeds),
        call("b", "set_context", &own),
        says("written"),
        says("shown"),
    ];
    let house = House::new(&script(&answers), |agent| {
        agent.context_block(ContextBlock::new("shared_memory").max_tokens(20))
    })
    .await;
    house.send("hello").await;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let grant = Grant {
        context_read: words(&["all"]),
        context_write: words(&["own", "shared_memory"]),
        ..Grant::default()
    };
    let settings = ExtensionSettings { grant, ..ExtensionSettings::default() };
    let courier = load(&["courier"], [("courier".to_owned(), settings)].into()).await;
    house.agent.set_extensions(courier).unwrap();
    house.send("write").await;
    house.session().await.refresh_system_prompt().await.unwrap();
    house.send("and now?").await;
    let requests = house.requests();
    let systems: Vec<&str> = requests.iter().map(|request| request.system.as_deref().unwrap()).collect();
    assert!(!systems[0].contains("COURIER_NOTES"));
    assert!(systems[1].contains("COURIER_NOTES [0% — 0/20 tokens] [writable]"), "{}", systems[1]);
    assert!(systems[4].contains("milk\neggs") && systems[4].contains("ours"), "{}", systems[4]);
    let told = serde_json::to_string(&requests[2].messages).unwrap();
    assert!(told.contains("at most 20 tokens, not about 65; nothing was stored"), "{told}");
    house.agent.set_extensions([]).unwrap();
    house.send("bye").await;
    assert!(
        !house.requests()[5].system.as_ref().unwrap().contains("COURIER_NOTES"),
        "gone with its extension"
    );
}

fn talk(folder: &Folder, session: &str, prompts: &[&str]) {
    for prompt in prompts {
        assert_eq!(folder.lathe(&["run", "--session", session, prompt]).code, Some(0));
    }
}

fn json_of(ran: &Ran) -> Value {
    assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn sessions_are_listed_shown_searched_copied_moved_and_deleted() {
    let folder = Folder::new();
    assert_eq!(folder.lathe(&["sessions", "list", "--json"]).out, "[]\n");
    assert!(!folder.path().join(".lathe").exists(), "to look makes nothing");
    talk(&folder, "work", &["remember the kettle", "and the teapot"]);
    talk(&folder, "play", &["a ball"]);
    let list = json_of(&folder.lathe(&["sessions", "list", "--json"]));
    assert_eq!(
        (&list[0]["name"], &list[1]["name"], &list[1]["messages"]),
        (&json!("play"), &json!("work"), &json!(4))
    );
    let table = folder.lathe(&["sessions", "list"]).out;
    assert!(table.starts_with("NAME  MESSAGES  SIZE"), "{table}");
    let shown = json_of(&folder.lathe(&["sessions", "show", "work", "--json"]));
    let id = shown[0]["id"].as_str().unwrap();
    let text = folder.lathe(&["sessions", "show", "work"]).out;
    assert!(text.starts_with(&format!("user {id}\nremember the kettle\n\nassistant ")), "{text}");
    let hits = json_of(&folder.lathe(&["sessions", "search", "the KETTLE", "--json"]));
    assert!(
        hits.as_array().unwrap().iter().any(|hit| hit["messageId"] == id && hit["session"] == "work"),
        "{hits}"
    );
    assert_eq!(folder.lathe(&["sessions", "search", "--session", "play", "kettle"]).out, "");
    assert_eq!(folder.lathe(&["sessions", "fork", "work", "copy", "--at", id]).code, Some(0));
    assert_eq!(json_of(&folder.lathe(&["sessions", "show", "copy", "--json"])).as_array().unwrap().len(), 1);
    assert_eq!(folder.lathe(&["sessions", "rename", "copy", "paste"]).code, Some(0));
    assert_eq!(folder.lathe(&["sessions", "delete", "paste"]).out, "paste is deleted\n");
    for (args, said) in [
        (&["show", "wrok"][..], "error: there is no session \"wrok\"\nhint: did you mean `work`?\n"),
        (
            &["fork", "work", "play"],
            "error: there is a session \"play\" already\nhint: `lathe sessions list` shows the names\n",
        ),
        (
            &["fork", "work", "x", "--at", "y"],
            "error: session \"work\" has no message \"y\"\nhint: `lathe sessions show work` shows the ids\n",
        ),
        (
            &["delete", "elsewhere"],
            "error: there is no session \"elsewhere\"\nhint: `lathe sessions list` shows the names; --data DIR is another folder\n",
        ),
        (
            &["rename", "work", "a\nb"],
            "error: \"a\\nb\" is no name for a session: it needs 1 to 200 characters, none of them a control character\nhint: a name such as `work` will do\n",
        ),
    ] {
        let ran = folder.lathe(&[&["sessions"], args].concat());
        assert_eq!((ran.code, &*ran.err), (Some(2), said));
    }
}

#[test]
fn a_session_leaves_and_comes_back_whole() {
    let folder = Folder::new();
    talk(&folder, "work", &["one", "two"]);
    let out = folder.lathe(&["sessions", "export", "work"]).out;
    assert_eq!(out.lines().count(), 4);
    assert_eq!(folder.lathe(&["sessions", "export", "work", "work.jsonl"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(folder.path().join("work.jsonl")).unwrap(), out);
    assert_eq!(folder.lathe(&["sessions", "import", "back", "work.jsonl"]).code, Some(0));
    assert_eq!(folder.lathe_with(&["sessions", "import", "piped"], out.as_bytes()).code, Some(0));
    for name in ["back", "piped"] {
        assert_eq!(folder.lathe(&["sessions", "export", name]).out, out);
    }
    talk(&folder, "back", &["three"]);
    let torn = &out[..out.len() - 20];
    let ran = folder.lathe_with(&["sessions", "import", "torn"], torn.as_bytes());
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.starts_with("error: standard input, line 4: "), "{}", ran.err);
    assert_eq!(folder.lathe(&["sessions", "show", "torn"]).code, Some(2), "all of it, or nothing");
    let ran = folder.lathe(&["sessions", "import", "work", "work.jsonl"]);
    assert!(ran.err.contains("there is a session \"work\" already"), "{}", ran.err);
}

#[test]
fn a_damaged_database_is_said_to_be_one_and_what_can_be_saved_is_told() {
    let folder = Folder::new();
    let ran = folder.lathe(&["doctor"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("no host has run with it"), "{}", ran.err);
    talk(&folder, "work", &["one"]);
    let ran = folder.lathe(&["doctor"]);
    assert_eq!(
        (ran.code, &*ran.out),
        (Some(0), ".lathe/lathe.db: 1 sessions, 2 messages that can be read\n")
    );
    let file = folder.path().join(".lathe/lathe.db");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let ran = folder.lathe(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("The file is damaged, and was not written to."), "{}", ran.out);
    let report: Value = serde_json::from_str(&folder.lathe(&["doctor", "--json"]).out).unwrap();
    assert_eq!(report["damaged"], true);
    for args in [&["sessions", "list"][..], &["run", "hello"]] {
        let ran = folder.lathe(args);
        assert_eq!(ran.code, Some(2), "{}", ran.out);
        assert!(
            ran.err.contains("lathe.db: ")
                && ran.err.contains("malformed")
                && ran.err.contains("lathe doctor"),
            "{}",
            ran.err
        );
    }
    assert_eq!(std::fs::read(&file).unwrap(), whole[..whole.len() / 2]);
    std::fs::write(
        &file,
        "a shopping list, and nothing else, but long enough to look like a header".repeat(10),
    )
    .unwrap();
    assert_eq!(folder.lathe(&["doctor"]).code, Some(2));
}
