//! The tool's input and output.

use std::collections::BTreeMap;

use lathe_guest::{Result, storage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::TOOL;

/// How many turns, model requests, steps, tool calls, stream chunks, tokens and errors there were, over all sessions.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Report {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Totals {
    turns: i64,
    model_requests: i64,
    steps: i64,
    tool_calls: i64,
    tool_calls_by_name: BTreeMap<String, i64>,
    failed_tool_calls: i64,
    chunks: i64,
    input_tokens: i64,
    output_tokens: i64,
    total_tokens: i64,
    errors: i64,
}

impl Totals {
    pub(crate) fn read() -> Result<Self> {
        let names = storage::keys(TOOL)?;
        Ok(Self {
            turns: total("turns")?,
            model_requests: total("modelRequests")?,
            steps: total("steps")?,
            tool_calls: total("toolCalls")?,
            tool_calls_by_name: names
                .into_iter()
                .map(|key| Ok((key[TOOL.len()..].to_owned(), total(&key)?)))
                .collect::<Result<_>>()?,
            failed_tool_calls: total("failedToolCalls")?,
            chunks: total("chunks")?,
            input_tokens: total("inputTokens")?,
            output_tokens: total("outputTokens")?,
            total_tokens: total("totalTokens")?,
            errors: total("errors")?,
        })
    }
}

fn total(key: &str) -> Result<i64> {
    Ok(storage::get_json(key)?.unwrap_or(0))
}
