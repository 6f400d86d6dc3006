//! Plays a case, and says what happened in the form of its `expect`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use lathe_tests::recording::pick;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::frames::RESPONSE;
use crate::process::Process;

/// As in the recordings: of an await without a limit of its own, of an inspect step, and how often that looks.
const AWAIT_MS: u64 = 10_000;
const UNTIL: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// How long the end of a script listens for what nobody asked for.
const QUIET: Duration = Duration::from_millis(300);

struct Player<'a> {
    file: &'a Path,
    folder: &'a Path,
    process: Option<Process>,
    processes: usize,
    /// Connections by name: the place up to which they have read what the process says, and whether they asked what there
    /// is to be resumed.
    connections: BTreeMap<String, (usize, bool)>,
    saved: Map<String, Value>,
    transcripts: Map<String, Value>,
    submissions: Vec<Value>,
}

pub(crate) async fn play(file: &Path, case: &Value) -> anyhow::Result<Value> {
    let folder = tempfile::tempdir()?;
    let mut player = Player {
        file,
        folder: folder.path(),
        process: None,
        processes: 0,
        connections: BTreeMap::new(),
        saved: Map::new(),
        transcripts: Map::new(),
        submissions: Vec::new(),
    };
    player.start()?;
    for (place, step) in case["script"].as_array().context("there is no script")?.iter().enumerate() {
        player.step(step).await.with_context(|| {
            let logs = (1..=player.processes).map(|n| {
                std::fs::read_to_string(folder.path().join(format!("process-{n}.log"))).unwrap_or_default()
            });
            format!("step {place}, {step}\n{}", logs.collect::<String>())
        })?;
    }
    player.process()?.quiet(QUIET).await;
    player.note_transcript("end".into()).await?;
    if let Some(process) = player.process.take() {
        process.kill().await?;
    }
    let mut got = json!({"transcripts": player.transcripts});
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
    fn start(&mut self) -> anyhow::Result<()> {
        self.processes += 1;
        self.process = Some(Process::start(self.file, self.folder, self.processes)?);
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
        let text = |key: &str| step[key].as_str();
        if let Some(name) = text("connect") {
            let place = self.process()?.heard();
            let opened = self.process()?.order("open", json!({})).await?;
            if opened["busy"] == true {
                self.process()?.hear(json!({"type": "cf_agent_stream_resuming"}));
            }
            self.connections.insert(name.to_owned(), (place, false));
        } else if let Some(name) = text("send") {
            let frame = self.filled(&step["frame"]);
            self.answer(name, &frame)?;
            self.process()?.order("frame", json!({"frame": frame})).await?;
        } else if let Some(name) = text("await") {
            self.wait(name, step).await?;
        } else if let Some(ms) = step["sleepMs"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        } else if let Some(ms) = step["waitIdleMs"].as_u64() {
            self.process()?.quiet(Duration::from_millis(ms)).await;
        } else if let Some(name) = text("close") {
            self.connections.remove(name);
        } else if let Some(messages) = step.get("submit") {
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
            self.connections.clear();
        } else if step["restart"] == true {
            self.start()?;
        } else {
            anyhow::bail!("nobody knows this step");
        }
        Ok(())
    }

    /// What a server would answer by itself, without the session.
    fn answer(&mut self, name: &str, frame: &Value) -> anyhow::Result<()> {
        let connection = self.connections.get_mut(name).context("nobody has that name")?;
        match frame["type"].as_str() {
            Some("cf_agent_stream_resume_request") => {
                connection.1 = true;
                let probe = &frame["probeId"];
                self.process()?
                    .hear(json!({"type": "cf_agent_stream_resuming", "probeId": probe, "id": "resumed"}));
            }
            // What was asked for is played again, up to its end.
            Some("cf_agent_stream_resume_ack") => {
                let done = connection.1;
                self.process()?.hear(json!({"type": RESPONSE, "replayComplete": true, "done": done}));
            }
            _ => {}
        }
        Ok(())
    }

    async fn wait(&mut self, name: &str, step: &Value) -> anyhow::Result<()> {
        let (place, _) = *self.connections.get(name).context("nobody has that name")?;
        let patience = Duration::from_millis(step["timeoutMs"].as_u64().unwrap_or(AWAIT_MS));
        let wanted = |frame: &Value| frame["type"] == step["type"] && holds(frame, &step["where"]);
        let (frame, next) = self.process()?.wait(place, patience, wanted).await?;
        if let Some(connection) = self.connections.get_mut(name) {
            connection.0 = next;
        }
        if let Some(name) = step["as"].as_str() {
            self.saved.insert(name.to_owned(), frame);
        }
        Ok(())
    }

    /// A frame with the values that it takes from others.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text.starts_with('$') => {
                let mut names = text.trim_start_matches('$').split('.');
                let saved = names.next().and_then(|name| self.saved.get(name));
                names
                    .try_fold(saved.unwrap_or(&Value::Null), |value, name| value.get(name))
                    .cloned()
                    .unwrap_or_default()
            }
            Value::Array(list) => list.iter().map(|value| self.filled(value)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect())
            }
            other => other.clone(),
        }
    }

    fn keep(&mut self, what: &str, asked: Value, answer: &Value) {
        let fields =
            ["submissionId", "idempotencyKey", "requestId", "status", "error", "accepted", "rejected"];
        let mut kept = pick(answer, &fields);
        kept.insert(what.to_owned(), asked);
        self.submissions.push(kept.into());
    }
}

/// Whether a frame has all that is waited for, at any depth.
fn holds(frame: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Null => true,
        Value::Object(wanted) => {
            wanted.iter().all(|(key, wanted)| frame.get(key).is_some_and(|frame| holds(frame, wanted)))
        }
        other => frame == other,
    }
}
