//! What the process is told to do beside what clients ask of its server, line by line, and what it says.
//!
//! In: `{"number": n, "do": ORDER, ...}`. Out: `{"reply": n, "value": ...}` or `{"reply": n, "error": ...}` for each.

use std::io::Write;

use anyhow::bail;
use lathe::agent::SubmitOptions;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::house::House;

/// Until nobody says anything more.
pub(crate) async fn follow(house: House) -> anyhow::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let order: Value = serde_json::from_str(&line)?;
        let number = &order["number"];
        say(&match obey(&house, &order).await {
            Ok(value) => json!({"reply": number, "value": value}),
            Err(error) => json!({"reply": number, "error": format!("{error:#}")}),
        })?;
    }
    Ok(())
}

async fn obey(house: &House, order: &Value) -> anyhow::Result<Value> {
    Ok(match order["do"].as_str().unwrap_or_default() {
        "store" => house.store(&order["messages"]).await?.into(),
        "transcript" => house.transcript().await?,
        "submit" => {
            let messages = serde_json::from_value(order["messages"].clone())?;
            let options = &order["options"];
            let text = |key: &str| options[key].as_str().map(str::to_owned);
            let options = SubmitOptions {
                submission_id: text("submissionId"),
                idempotency_key: text("idempotencyKey"),
                metadata: options.get("metadata").cloned(),
            };
            match house.session().await?.submit_messages(messages, options).await {
                Ok(receipt) => json!(receipt),
                Err(error) => json!({"rejected": error.to_string()}),
            }
        }
        "inspect" => {
            let id = order["id"].as_str().unwrap_or_default();
            json!(house.session().await?.inspect_submission(id).await?)
        }
        "cancelSubmission" => {
            let id = order["id"].as_str().unwrap_or_default();
            json!(house.session().await?.cancel_submission(id, order["reason"].as_str()).await?)
        }
        other => bail!("nobody can {other:?}"),
    })
}

pub(crate) fn say(line: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
