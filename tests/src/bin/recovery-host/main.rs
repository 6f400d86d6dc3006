//! The process that the recovery cases kill: an agent as a case describes it, on a store in a folder, behind a server. It says
//! where that is, and does what lines on its standard input say. What hooks and the model see is kept in the folder.
//!
//! `recovery-host CASE FOLDER PROCESS`: `PROCESS` is the place of this process among those of the case, from 1.

mod hooks;
mod house;
mod model;
mod orders;
mod record;
mod tools;

use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use lathe::server::{Limits, Server};
use serde_json::json;
use tokio::net::TcpListener;

use house::House;
use record::Record;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().context("usage: recovery-host CASE FOLDER PROCESS");
    let (case, folder, process) = (next()?, next()?, next()?.parse()?);
    let case = serde_json::from_str(&std::fs::read_to_string(&case).context(case)?)?;
    let folder = Path::new(&folder);
    let record = Arc::new(Record::open(&folder.join("record.jsonl"), process)?);
    let house = House::open(&case, &folder.join("lathe.db"), record).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    orders::say(&json!({"address": listener.local_addr()?}))?;
    // As in the recordings, nothing touches the session until the next step does.
    let limits = Limits { unattended: Duration::from_secs(600), ..Limits::default() };
    tokio::spawn(Server::new(house.agent.clone()).limits(limits).serve(listener, pending()));
    orders::follow(house).await
}
