//! Extensions that come, change and go while their agent runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use lathe::TurnStream;
use lathe::extensions::{Extension, ExtensionSettings, Folder, Limits, Loaded, Loader};
use lathe::store::Store;
use lathe::turn::{ToolState, UiMessage};
use lathe_tests::guests::guest;
use lathe_tests::house::{House, call, says};
use lathe_tests::probe::Template;
use lathe_tests::tool::FnTool;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// A folder of probes, and what is loaded of it.
struct Farm {
    template: Template,
    dir: TempDir,
    folder: Folder,
}

impl Farm {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let loader = Loader::new().unwrap().cache(std::env::temp_dir().join("lathe-tests-cache"));
        let folder = Folder::new(loader, dir.path().to_owned());
        Self { template: Template::read(&guest("probe")).unwrap(), dir, folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name).with_extension("wasm")
    }

    /// Puts a version of an extension there.
    fn put(&self, name: &str, plan: &Value) {
        self.template.write(plan, &self.file(name)).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.file(name)).unwrap();
    }

    fn set(&mut self, settings: BTreeMap<String, ExtensionSettings>, order: &[&str]) {
        let order = order.iter().map(|name| (*name).to_owned()).collect();
        self.folder.set(self.dir.path().to_owned(), settings, order);
    }

    async fn load(&mut self) -> Loaded {
        self.folder.load().await.unwrap()
    }

    /// The same; nothing may be wrong.
    async fn good(&mut self) -> Loaded {
        let loaded = self.load().await;
        assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
        loaded
    }
}

/// Adds to the system prompt, and has a tool that answers with its version.
fn math(version: &str) -> Value {
    json!({
        "name": "math",
        "version": version,
        "hooks": {"beforeTurn": {"appendSystem": format!("+{version}")}},
        "tools": {"add": {"result": version}},
    })
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.extensions.iter().map(|extension| &*extension.manifest.name).collect()
}

/// What the last tool call of an answer came to.
fn outcome(message: Option<&UiMessage>) -> String {
    match &message.unwrap().tools().last().unwrap().state {
        ToolState::OutputAvailable(output) => output.to_string(),
        ToolState::OutputError(error) => error.clone(),
        state => format!("{state:?}"),
    }
}

/// A tool that waits until it is let go, and says when it begins.
fn gate() -> (Arc<Notify>, Arc<Notify>, FnTool) {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, goes) = (begun.clone(), go.clone());
    let tool = FnTool::new("wait", move |_, _| {
        let (begins, goes) = (begins.clone(), goes.clone());
        async move {
            begins.notify_one();
            goes.notified().await;
            Ok(json!("waited").into())
        }
    });
    (begun, go, tool)
}

/// Waits for the last turn to let go of it.
async fn gone(extension: &Weak<Extension>) {
    while extension.strong_count() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn two_turns() -> Value {
    let add = |id| call(id, "math_add", &json!({}));
    json!([call("w", "wait", &json!({})), add("1"), says("one"), add("2"), says("two")])
}

/// The first of two turns, at a tool that waits; `math_add` is called after it.
struct Halfway {
    farm: Farm,
    /// Version 1 of `math`, with which the turn began.
    old: Weak<Extension>,
    house: House,
    turn: TurnStream,
    go: Arc<Notify>,
}

impl Halfway {
    async fn reached() -> Self {
        let mut farm = Farm::new();
        farm.put("math", &math("1"));
        let loaded = farm.good().await;
        let old = Arc::downgrade(&loaded.extensions[0]);
        let (begun, go, wait) = gate();
        let house =
            House::new(&two_turns(), |agent| agent.tool(wait.arc()).extensions(loaded.extensions)).await;
        let turn = house.session().await.send("go").await.unwrap();
        begun.notified().await;
        Self { farm, old, house, turn, go }
    }
}

#[tokio::test]
async fn a_turn_ends_on_the_code_it_began_with_and_the_next_one_has_the_new() {
    let Halfway { mut farm, old, house, turn, go } = Halfway::reached().await;

    farm.put("math", &math("2"));
    let loaded = farm.good().await;
    assert_eq!(loaded.changes.to_string(), "reloaded math");
    house.agent.set_extensions(loaded.extensions).unwrap();
    assert_eq!(house.agent.extensions()[0].manifest.version, "2");
    assert!(old.upgrade().is_some(), "the turn that runs needs it");
    go.notify_one();
    let first = turn.finish().await;
    assert_eq!(outcome(first.message.as_ref()), "\"1\"");
    gone(&old).await;

    let second = house.send("again").await;
    assert_eq!(outcome(second.message.as_ref()), "\"2\"");
    let systems: Vec<String> = house.requests().into_iter().filter_map(|request| request.system).collect();
    assert_eq!(systems, ["SYS+1", "SYS+1", "SYS+1", "SYS+2", "SYS+2"]);
}

#[tokio::test]
async fn an_extension_that_is_removed_serves_the_turn_that_runs_and_none_after_it() {
    let Halfway { mut farm, old, house, turn, go } = Halfway::reached().await;

    farm.remove("math");
    let loaded = farm.good().await;
    assert_eq!(loaded.changes.to_string(), "removed math");
    house.agent.set_extensions(loaded.extensions).unwrap();
    go.notify_one();
    assert_eq!(outcome(turn.finish().await.message.as_ref()), "\"1\"");
    gone(&old).await;

    let second = house.send("again").await;
    assert!(outcome(second.message.as_ref()).contains("no tool"), "{:?}", second.message);
    let offered: Vec<usize> = house.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!(offered, [2, 2, 2, 1, 1]);
}

#[tokio::test]
async fn a_call_that_is_approved_later_runs_on_the_new_code() {
    let plan = |version: &str| json!({"name": "math", "version": version, "tools": {"add": {"result": version, "needsApproval": true}}});
    let mut farm = Farm::new();
    farm.put("math", &plan("1"));
    let loaded = farm.good().await;
    let script = json!([call("c", "math_add", &json!({})), says("done")]);
    let house = House::new(&script, |agent| agent.extensions(loaded.extensions)).await;
    house.send("go").await;
    farm.put("math", &plan("2"));
    house.agent.set_extensions(farm.good().await.extensions).unwrap();
    let session = house.session().await;
    session.approve("c", true, None, false).await.unwrap();
    session.continue_last_turn(None).unwrap().finish().await;
    let messages = session.messages().await.unwrap();
    let answer = messages.iter().find(|message| message.tools().next().is_some());
    assert_eq!(outcome(answer), "\"2\"");
}

#[tokio::test]
async fn what_is_stored_is_found_by_the_next_version() {
    let mut farm = Farm::new();
    farm.put("math", &math("1"));
    let loaded = farm.good().await;
    let house =
        House::new(&json!([says("one"), says("two")]), |agent| agent.extensions(loaded.extensions)).await;
    house.send("go").await;
    farm.put("math", &math("2"));
    house.agent.set_extensions(farm.good().await.extensions).unwrap();
    house.send("go").await;
    // The probe counts what it was shown.
    assert_eq!(house.store.value("math", "noted").await.unwrap().as_deref(), Some(&b"2"[..]));
}

#[tokio::test]
async fn a_file_that_becomes_broken_stays_as_it_was_until_it_is_mended() {
    let mut farm = Farm::new();
    farm.put("math", &math("1"));
    farm.put("other", &json!({"name": "other"}));
    let first = farm.good().await;
    let whole = std::fs::read(farm.file("math")).unwrap();
    for broken in [&whole[..whole.len() / 2], b"", b"no component"] {
        std::fs::write(farm.file("math"), broken).unwrap();
        let loaded = farm.load().await;
        assert_eq!(names(&loaded), ["math", "other"]);
        assert!(Arc::ptr_eq(&loaded.extensions[0], &first.extensions[0]));
        assert!(loaded.changes.is_empty(), "{:?}", loaded.changes);
        let error = loaded.errors[0].to_string();
        assert!(loaded.errors[0].kept, "{error}");
        assert!(error.ends_with("; the version that was loaded before stays in use"), "{error}");
    }
    // What the operator takes from it is taken all the same.
    let settings =
        ExtensionSettings { settings: json!({"a": 1}).as_object().unwrap().clone(), ..Default::default() };
    farm.set([("math".to_owned(), settings)].into(), &[]);
    assert_eq!(farm.load().await.changes.to_string(), "reloaded math");
    farm.put("math", &math("2"));
    let loaded = farm.good().await;
    assert_eq!(
        (loaded.changes.to_string().as_str(), &*loaded.extensions[0].manifest.version),
        ("reloaded math", "2")
    );
    // One that was never whole has nothing to stay.
    std::fs::write(farm.file("new"), b"no component").unwrap();
    let loaded = farm.load().await;
    assert_eq!((names(&loaded), loaded.errors[0].kept), (vec!["math", "other"], false));
}

#[tokio::test]
async fn only_what_has_changed_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let template = Template::read(&guest("probe")).unwrap();
    let put = |name: &str, plan: Value| template.write(&plan, &dir.path().join(name)).unwrap();
    put("a.wasm", json!({"name": "a"}));
    put("b.wasm", json!({"name": "b"}));
    // Without a cache, whatever is opened is compiled.
    let mut folder = Folder::new(Loader::new().unwrap(), dir.path().to_owned());
    let first = folder.load().await.unwrap();
    assert_eq!((first.compiled, first.changes.to_string().as_str()), (2, "added a, b"));
    let second = folder.load().await.unwrap();
    assert_eq!((second.compiled, second.changes.is_empty()), (0, true));
    put("b.wasm", json!({"name": "b", "version": "2"}));
    put("c.wasm", json!({"name": "c"}));
    std::fs::remove_file(dir.path().join("a.wasm")).unwrap();
    let third = folder.load().await.unwrap();
    assert_eq!((third.compiled, third.changes.to_string().as_str()), (2, "added c; reloaded b; removed a"));
    // Written again as it was: opened, and found to be the same.
    put("c.wasm", json!({"name": "c"}));
    let fourth = folder.load().await.unwrap();
    assert!(fourth.changes.is_empty(), "{:?}", fourth.changes);
    assert!(Arc::ptr_eq(&fourth.extensions[1], &third.extensions[1]));
}

#[tokio::test]
async fn order_and_what_is_disabled_can_change() {
    let mut farm = Farm::new();
    for name in ["a", "b", "c"] {
        farm.put(name, &json!({"name": name}));
    }
    farm.set(BTreeMap::new(), &["c", "b"]);
    assert_eq!(names(&farm.good().await), ["c", "b", "a"]);
    let disabled = ExtensionSettings { enabled: false, ..Default::default() };
    farm.set([("b".to_owned(), disabled)].into(), &["b", "a"]);
    let loaded = farm.good().await;
    assert_eq!((names(&loaded), loaded.changes.to_string().as_str()), (vec!["a", "c"], "removed b"));
    assert_eq!((&*loaded.disabled[0].manifest.name, &loaded.disabled[0].file), ("b", &farm.file("b")));
    assert_eq!(farm.good().await.disabled, loaded.disabled, "nothing has changed");
    farm.set(BTreeMap::new(), &[]);
    let loaded = farm.good().await;
    assert_eq!((names(&loaded), loaded.changes.to_string().as_str()), (vec!["a", "b", "c"], "added b"));
}

#[tokio::test]
async fn a_disabled_extension_does_not_take_a_name() {
    let mut farm = Farm::new();
    farm.put("1", &json!({"name": "a-b"}));
    farm.put("2", &json!({"name": "a--b"}));
    assert_eq!(names(&farm.load().await), ["a-b"]);
    let disabled = ExtensionSettings { enabled: false, ..Default::default() };
    farm.set([("a-b".to_owned(), disabled)].into(), &[]);
    assert_eq!(names(&farm.good().await), ["a--b"]);
}

#[tokio::test]
async fn a_clash_leaves_everything_as_it_was() {
    let mut farm = Farm::new();
    farm.put("math", &math("1"));
    let loaded = farm.good().await;
    let script = json!([says("one")]);
    let own = FnTool::answers("other_add", json!(1)).arc();
    let house = House::new(&script, |agent| agent.tool(own).extensions(loaded.extensions)).await;
    farm.put("math", &json!({"name": "math", "version": "2"}));
    farm.put("other", &json!({"name": "other", "tools": {"add": {"result": 1}}}));
    let error = house.agent.set_extensions(farm.good().await.extensions).unwrap_err();
    assert_eq!(error.to_string(), "there is already a tool named \"other_add\"");
    assert_eq!(house.agent.extensions()[0].manifest.version, "1");
    house.send("go").await;
    assert_eq!(house.requests()[0].system.as_deref(), Some("SYS+1"));
    let tools: Vec<String> = house.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(tools, ["other_add", "math_add"]);
}

#[tokio::test]
async fn strikes_are_those_of_a_file_whatever_is_set() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rogue.wasm");
    std::fs::copy(guest("rogue"), &file).unwrap();
    let loader = Loader::new().unwrap().cache(std::env::temp_dir().join("lathe-tests-cache"));
    let mut folder = Folder::new(loader, dir.path().to_owned());
    let set = |folder: &mut Folder, strikes: u32| {
        let settings = json!({"do": "panic", "strikes": strikes}).as_object().unwrap().clone();
        let limits = Limits { strikes, ..Limits::default() };
        let settings = ExtensionSettings { settings, limits, ..Default::default() };
        folder.set(dir.path().to_owned(), [("rogue".to_owned(), settings)].into(), Vec::new());
    };
    set(&mut folder, 100);
    let loaded = folder.load().await.unwrap();
    let house =
        House::new(&json!([says("one"), says("two")]), |agent| agent.extensions(loaded.extensions)).await;
    house.send("go").await;
    let strikes = || house.agent.extensions()[0].health().strikes;
    let before = strikes();
    assert!(before > 0);
    house.agent.set_extensions(folder.load().await.unwrap().extensions).unwrap();
    assert_eq!(strikes(), before, "nothing has changed");
    set(&mut folder, 99);
    let loaded = folder.load().await.unwrap();
    assert_eq!(loaded.changes.to_string(), "reloaded rogue");
    house.agent.set_extensions(loaded.extensions).unwrap();
    assert_eq!(strikes(), before, "only its limits have changed");
    // A section more, of no meaning: other bytes.
    let bytes = [std::fs::read(&file).unwrap(), b"\0\x02\x01x".to_vec()].concat();
    std::fs::write(&file, bytes).unwrap();
    house.agent.set_extensions(folder.load().await.unwrap().extensions).unwrap();
    assert_eq!(strikes(), 0, "a new version begins anew");
}
