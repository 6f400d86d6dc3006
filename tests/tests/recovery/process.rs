//! The process that a case kills.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use lathe_tests::binary::built;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};

use crate::frames::frames;

/// How long an order may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// One of a case's processes, with everything that it has said.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    replies: mpsc::UnboundedReceiver<Value>,
    orders: u64,
    heard: Arc<Mutex<Vec<Value>>>,
    news: watch::Receiver<usize>,
}

impl Process {
    /// Starts the process with that number on the store in `folder`.
    pub(crate) fn start(case: &Path, folder: &Path, number: usize) -> anyhow::Result<Self> {
        let log = File::create(folder.join(format!("process-{number}.log")))?;
        let mut child = Command::new(built("recovery-host"))
            .arg(case)
            .arg(folder)
            .arg(number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().context("no way in")?;
        let output = child.stdout.take().context("no way out")?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (sender, replies) = mpsc::unbounded_channel();
        let (count, news) = watch::channel(0);
        let own = heard.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            // Of a line that the kill has cut off nothing is known.
            while let Ok(Some(line)) = lines.next_line().await {
                let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
                if line.get("reply").is_some() {
                    let _ = sender.send(line);
                    continue;
                }
                let mut heard = own.lock();
                heard.extend(frames(&line["event"]));
                count.send_replace(heard.len());
            }
        });
        Ok(Self { child, input, replies, orders: 0, heard, news })
    }

    /// Has it do something, and returns what it says to that.
    pub(crate) async fn order(&mut self, what: &str, mut order: Value) -> anyhow::Result<Value> {
        self.orders += 1;
        order["do"] = json!(what);
        order["number"] = json!(self.orders);
        self.input.write_all(format!("{order}\n").as_bytes()).await?;
        self.input.flush().await?;
        let reply = tokio::time::timeout(PATIENCE, self.replies.recv()).await;
        let mut reply =
            reply.with_context(|| format!("no answer to {what}"))?.context("the process is gone")?;
        match reply["error"].as_str() {
            Some(error) => bail!("{what}: {error}"),
            None => Ok(reply["value"].take()),
        }
    }

    /// Adds a frame that a server would send by itself.
    pub(crate) fn hear(&self, frame: Value) {
        self.heard.lock().push(frame);
    }

    /// How much has been heard so far.
    pub(crate) fn heard(&self) -> usize {
        self.heard.lock().len()
    }

    /// The next frame, from `place` on, that is what is waited for, and the place after it.
    pub(crate) async fn wait(
        &self,
        place: usize,
        patience: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<(Value, usize)> {
        let mut news = self.news.clone();
        let found = async {
            loop {
                {
                    let heard = self.heard.lock();
                    let found = heard.iter().enumerate().skip(place).find(|(_, frame)| wanted(frame));
                    if let Some((at, frame)) = found {
                        return Ok((frame.clone(), at + 1));
                    }
                }
                news.changed().await.context("the process is gone")?;
            }
        };
        match tokio::time::timeout(patience, found).await {
            Ok(found) => found,
            Err(_) => {
                let heard: Vec<Value> = self.heard.lock().iter().skip(place).cloned().collect();
                bail!("it did not come; there was {}", json!(heard))
            }
        }
    }

    /// Waits until nothing was heard for so long.
    pub(crate) async fn quiet(&self, time: Duration) {
        let mut news = self.news.clone();
        news.mark_unchanged();
        while tokio::time::timeout(time, news.changed()).await.is_ok_and(|changed| changed.is_ok()) {}
    }

    /// SIGKILL, at once.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}
