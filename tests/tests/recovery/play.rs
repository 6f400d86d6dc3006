//! Plays a case, and says what happened in the form of its `expect`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use lathe_tests::frames::Clients;
use lathe_tests::recording::pick;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::process::Process;

/// As in the recordings: of an inspect step, and how often that looks.
const UNTIL: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// How long the end of a script listens for what nobody asked for.
const QUIET: Duration = Duration::from_millis(300);

/// How long a process is gone, as in the recordings at least: what was to happen in a second is due when the next one is there.
const DOWN: Duration = Duration::from_secs(1);

struct Player<'a> {
    file: &'a Path,
    folder: &'a Path,
    process: Option<Process>,
    processes: usize,
    clients: Clients,
    down: Duration,
    transcripts: Map<String, Value>,
    submissions: Vec<Value>,
}

pub(crate) async fn play(file: &Path, case: &Value) -> anyhow::Result<Value> {
    let folder = tempfile::tempdir()?;
    let process = Process::start(file, folder.path(), 1).await?;
    let mut player = Player {
        file,
        folder: folder.path(),
        clients: Clients::new(process.address),
        process: Some(process),
        processes: 1,
        down: if case["expect"].get("frames").is_some() { DOWN } else { Duration::ZERO },
        transcripts: Map::new(),
        submissions: Vec::new(),
    };
    for (place, step) in case["script"].as_array().context("there is no script")?.iter().enumerate() {
        player.step(step).await.with_context(|| {
            let logs = (1..=player.processes).map(|n| {
                std::fs::read_to_string(folder.path().join(format!("process-{n}.log"))).unwrap_or_default()
            });
            format!("step {place}, {step}\n{}", logs.collect::<String>())
        })?;
    }
    player.clients.quiet(QUIET).await;
    player.note_transcript("end".into()).await?;
    if let Some(process) = player.process.take() {
        process.kill().await?;
    }
    let mut got = json!({"transcripts": player.transcripts, "frames": player.clients.frames()});
    if !player.submissions.is_empty() {
        got["submissions"] = json!(player.submissions);
    }
    recorded(case, folder.path(), player.processes, &mut got)?;
    Ok(got)
}

/// What the processes have written down.
fn recorded(case: &Value, folder: &Path, processes: usize, got: &mut Value) -> anyhow::Result<()> {
    let record = folder.join("record.jsonl");
    let entries = std::fs::read_to_string(&record).unwrap_or_default();
    let entries: Vec<Value> = entries.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let of = |process: usize, kind: &str| -> Value {
        let own = entries.iter().filter(|entry| entry["process"] == process);
        own.filter_map(|entry| entry.get(kind).cloned()).collect()
    };
    got["hooks"] = (1..=processes).map(|process| of(process, "hook")).collect();
    got["requests"] = (1..=processes).map(|process| of(process, "request")).collect();
    let tools = case["host"]["tools"].as_object().into_iter().flatten();
    let begun = |name: &String| {
        let own =
            |entry: &&Value| entry["hook"]["hook"] == "tool begins" && entry["hook"]["toolName"] == **name;
        entries.iter().filter(own).count()
    };
    got["toolExecutions"] =
        Value::Object(tools.map(|(name, _)| (name.clone(), json!(begun(name)))).collect());
    Ok(())
}

impl Player<'_> {
    async fn restart(&mut self) -> anyhow::Result<()> {
        tokio::time::sleep(self.down).await;
        self.processes += 1;
        let process = Process::start(self.file, self.folder, self.processes).await?;
        self.clients.move_to(process.address);
        self.process = Some(process);
        Ok(())
    }

    fn process(&mut self) -> anyhow::Result<&mut Process> {
        self.process.as_mut().context("no process runs")
    }

    async fn note_transcript(&mut self, name: String) -> anyhow::Result<()> {
        let transcript = self.process()?.order("transcript", json!({})).await?;
        self.transcripts.insert(name, transcript);
        Ok(())
    }

    async fn step(&mut self, step: &Value) -> anyhow::Result<()> {
        if let Some(messages) = step.get("submit") {
            let options = step.get("options").cloned().unwrap_or(json!({}));
            let order = json!({"messages": messages, "options": options});
            let answer = self.process()?.order("submit", order).await?;
            self.keep("submit", options, &answer);
        } else if let Some(id) = step.get("inspect") {
            let until = Instant::now() + UNTIL;
            loop {
                let answer = self.process()?.order("inspect", json!({"id": id})).await?;
                let wanted = step.get("until").is_none_or(|status| answer["status"] == *status);
                if wanted || Instant::now() > until {
                    self.keep("inspect", id.clone(), &answer);
                    break;
                }
                tokio::time::sleep(LOOK).await;
            }
        } else if let Some(id) = step.get("cancelSubmission") {
            self.process()?.order("cancelSubmission", json!({"id": id})).await?;
        } else if let Some(messages) = step.get("store") {
            self.process()?.order("store", json!({"messages": messages})).await?;
        } else if step["kill"] == true {
            self.note_transcript(format!("before kill {}", self.processes)).await?;
            self.process.take().context("no process runs")?.kill().await?;
        } else if step["restart"] == true {
            self.restart().await?;
        } else {
            ensure!(self.clients.step(step).await?, "nobody knows this step");
        }
        Ok(())
    }

    fn keep(&mut self, what: &str, asked: Value, answer: &Value) {
        let fields =
            ["submissionId", "idempotencyKey", "requestId", "status", "error", "accepted", "rejected"];
        let mut kept = pick(answer, &fields);
        kept.insert(what.to_owned(), asked);
        self.submissions.push(kept.into());
    }
}
