//! The same small extension in Rust, JavaScript and Python: how large it is, how long it takes to make, to load and to call,
//! and what fuel it burns. `cargo bench -p lathe-tests --bench languages` prints the table of `docs/languages.md`.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]
#![allow(clippy::print_stdout, reason = "it is what it is for")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use lathe::extensions::{Extension, Loader};
use lathe_tests::guests::{guest, root, target};
use lathe_tests::house::{House, watch};
use lathe_tests::scripts::script;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Each with one hook and one tool call.
const TURNS: usize = 200;

/// What one language comes to; times in milliseconds.
struct Row {
    language: &'static str,
    bytes: u64,
    build: f64,
    compile: f64,
    load: f64,
    hook: Call,
    tool: Call,
}

/// The middle one of many calls, each in a fresh instance.
struct Call {
    milliseconds: f64,
    fuel: u64,
}

#[tokio::main]
async fn main() {
    // Else it is a trial run, and cargo wants to know no more than whether it ends.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!(
        "| language | size, kB | `lathe build`, s | first load, s | load, ms | hook, ms | hook, fuel | tool call, ms | tool call, fuel |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    row("Rust", rust()).await;
    for (language, template, main) in [("JavaScript", "js", "index.js"), ("Python", "python", "app.py")] {
        match scripted(template, main) {
            Ok(built) => row(language, built).await,
            Err(why) => println!("| {language} | skipped: {} |", why.trim().replace('\n', " ")),
        }
    }
}

async fn row(language: &'static str, (file, build): (PathBuf, f64)) {
    let cache = tempfile::tempdir().unwrap();
    let (_, compile) = load(&file, cache.path()).await;
    let (extension, load) = load(&file, cache.path()).await;
    let (hook, tool) = calls(extension).await;
    let bytes = std::fs::metadata(&file).unwrap().len();
    println!("{}", Row { language, bytes, build, compile, load, hook, tool }.text());
}

impl Row {
    fn text(&self) -> String {
        let seconds = |ms: f64| format!("{:.1}", ms / 1e3);
        let mut text =
            format!("| {} | {} | {} ", self.language, self.bytes.div_ceil(1000), seconds(self.build));
        write!(text, "| {:.2} | {:.1} ", self.compile / 1e3, self.load).unwrap();
        for call in [&self.hook, &self.tool] {
            write!(text, "| {:.2} | {} ", call.milliseconds, call.fuel).unwrap();
        }
        text + "|"
    }
}

fn since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// Its dependencies are built, its own code is not.
fn rust() -> (PathBuf, f64) {
    let file = guest("greeter");
    // Written anew as it is: cargo goes by the time.
    let source = root().join("tests/guests/greeter/src/lib.rs");
    std::fs::write(&source, std::fs::read(&source).unwrap()).unwrap();
    let begun = Instant::now();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["build", "--quiet", "--profile", "guest", "--target", "wasm32-wasip2"]);
    assert!(cargo.args(["-p", "greeter"]).status().unwrap().success());
    (file, since(begun))
}

/// The template as `lathe new` writes it. The compiler is fetched, the component is not made.
fn scripted(template: &str, main: &str) -> Result<(PathBuf, f64), String> {
    let folder = target().join("languages").join(format!("greeter-{template}"));
    std::fs::create_dir_all(&folder).unwrap();
    let from = root().join("host/templates").join(template);
    for name in ["package.json", "pyproject.toml", main] {
        let Ok(text) = std::fs::read_to_string(from.join(name)) else { continue };
        std::fs::write(folder.join(name), text.replace("NAME", &format!("greeter-{template}"))).unwrap();
    }
    script(&folder)?;
    // A source that was never built.
    let unique = tempfile::tempdir().unwrap();
    let comment = if template == "js" { "//" } else { "#" };
    let text = std::fs::read_to_string(folder.join(main)).unwrap();
    std::fs::write(folder.join(main), format!("{text}{comment} {}\n", unique.path().display())).unwrap();
    let begun = Instant::now();
    Ok((script(&folder)?, since(begun)))
}

async fn load(file: &Path, cache: &Path) -> (Arc<Extension>, f64) {
    let begun = Instant::now();
    let mut loaded = Loader::new().unwrap().cache(cache.to_owned()).load_files(vec![file.to_owned()]).await;
    let took = since(begun);
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    (loaded.extensions.remove(0), took)
}

async fn calls(extension: Arc<Extension>) -> (Call, Call) {
    let name = extension.manifest.tool_name(&extension.manifest.tools[0]);
    let step = [
        json!({"toolCalls": [{"id": "c", "name": name, "input": {"name": "Ada"}}]}),
        json!({"text": ["done"]}),
    ];
    let script: Value = std::iter::repeat_n(step, TURNS).flatten().collect();
    let house = House::new(&script, |agent| agent.extensions([extension])).await;
    let session = house.session().await;
    let mut seen = Vec::new();
    for _ in 0..TURNS {
        let (events, result) = watch(session.send("go").await.unwrap()).await;
        assert!(result.error.is_none(), "{:?}", result.error);
        seen.extend(events.iter().map(|event| json!(event)));
    }
    (middle(&seen, "hook-call"), middle(&seen, "tool-cost"))
}

fn middle(events: &[Value], kind: &str) -> Call {
    let mut calls: Vec<(f64, u64)> = events
        .iter()
        .filter(|event| event["type"] == kind)
        .inspect(|event| assert!(event.get("failure").is_none(), "{event}"))
        .map(|event| (event["durationMs"].as_f64().unwrap(), event["fuel"].as_u64().unwrap()))
        .collect();
    assert_eq!(calls.len(), TURNS, "{kind}");
    calls.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (milliseconds, _) = calls[TURNS / 2];
    calls.sort_by_key(|(_, fuel)| *fuel);
    Call { milliseconds, fuel: calls[TURNS / 2].1 }
}
