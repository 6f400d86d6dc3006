//! The process that the recovery cases kill: an agent as a case describes it, on a store in a folder, which does what lines
//! on its standard input say. What happens goes out as lines, too; what cases compare is kept in the folder.
//!
//! `recovery-host CASE FOLDER PROCESS`: `PROCESS` is the place of this process among those of the case, from 1.

mod hooks;
mod house;
mod model;
mod orders;
mod record;
mod tools;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use house::House;
use orders::Orders;
use record::Record;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().context("usage: recovery-host CASE FOLDER PROCESS");
    let (case, folder, process) = (next()?, next()?, next()?.parse()?);
    let case = serde_json::from_str(&std::fs::read_to_string(&case).context(case)?)?;
    let folder = Path::new(&folder);
    let record = Arc::new(Record::open(&folder.join("record.jsonl"), process)?);
    Orders::new(House::open(&case, &folder.join("lathe.db"), record).await?).follow().await
}
