//! The process that a case kills.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use lathe_tests::binary::built;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long an order may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// One of a case's processes.
pub(crate) struct Process {
    /// Where its server is.
    pub(crate) address: SocketAddr,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    orders: u64,
}

impl Process {
    /// Starts the process with that number on the store in `folder`.
    pub(crate) async fn start(case: &Path, folder: &Path, number: usize) -> anyhow::Result<Self> {
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
        let mut output = BufReader::new(child.stdout.take().context("no way out")?).lines();
        let said = said(&mut output).await.context("it does not say where its server is")?;
        let address = serde_json::from_value(said["address"].clone())?;
        Ok(Self { address, child, input, output, orders: 0 })
    }

    /// Has it do something, and returns what it says to that.
    pub(crate) async fn order(&mut self, what: &str, mut order: Value) -> anyhow::Result<Value> {
        self.orders += 1;
        order["do"] = json!(what);
        order["number"] = json!(self.orders);
        self.input.write_all(format!("{order}\n").as_bytes()).await?;
        self.input.flush().await?;
        let mut reply = said(&mut self.output).await.with_context(|| format!("no answer to {what}"))?;
        match reply["error"].as_str() {
            Some(error) => bail!("{what}: {error}"),
            None => Ok(reply["value"].take()),
        }
    }

    /// SIGKILL, at once.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}

async fn said(output: &mut Lines<BufReader<ChildStdout>>) -> anyhow::Result<Value> {
    let line = timeout(PATIENCE, output.next_line()).await??.context("the process is gone")?;
    Ok(serde_json::from_str(&line)?)
}
