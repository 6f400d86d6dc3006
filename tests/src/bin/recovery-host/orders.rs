//! What the process is told to do, line by line, and what it says.
//!
//! In: `{"number": n, "do": ORDER, ...}`. Out: `{"reply": n, "value": ...}` or `{"reply": n, "error": ...}` for each, and
//! `{"event": ...}` for what happens in the session.

use std::io::Write;

use anyhow::{Context, bail};
use lathe::Session;
use lathe::agent::{AnswerError, ChatRequest, SubmitOptions};
use lathe::turn::{ToolDefinition, ToolError, Trigger, UiMessage};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::house::House;

pub(crate) struct Orders {
    house: House,
    session: Option<Session>,
}

impl Orders {
    pub(crate) fn new(house: House) -> Self {
        Self { house, session: None }
    }

    /// Until nobody says anything more.
    pub(crate) async fn follow(mut self) -> anyhow::Result<()> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Some(line) = lines.next_line().await? {
            let order: Value = serde_json::from_str(&line)?;
            let number = &order["number"];
            say(&match self.obey(&order).await {
                Ok(value) => json!({"reply": number, "value": value}),
                Err(error) => json!({"reply": number, "error": format!("{error:#}")}),
            })?;
        }
        Ok(())
    }

    async fn obey(&mut self, order: &Value) -> anyhow::Result<Value> {
        Ok(match order["do"].as_str().unwrap_or_default() {
            "store" => self.house.store(&order["messages"]).await?.into(),
            "transcript" => self.house.transcript().await?,
            "open" => json!({"busy": self.session().await?.is_busy()}),
            "frame" => self.frame(&order["frame"]).await?.into(),
            "submit" => {
                let messages = serde_json::from_value(order["messages"].clone())?;
                let options = &order["options"];
                let text = |key: &str| options[key].as_str().map(str::to_owned);
                let options = SubmitOptions {
                    submission_id: text("submissionId"),
                    idempotency_key: text("idempotencyKey"),
                    metadata: options.get("metadata").cloned(),
                };
                match self.session().await?.submit_messages(messages, options).await {
                    Ok(receipt) => json!(receipt),
                    Err(error) => json!({"rejected": error.to_string()}),
                }
            }
            "inspect" => {
                let id = order["id"].as_str().unwrap_or_default();
                json!(self.session().await?.inspect_submission(id).await?)
            }
            "cancelSubmission" => {
                let id = order["id"].as_str().unwrap_or_default();
                json!(self.session().await?.cancel_submission(id, order["reason"].as_str()).await?)
            }
            other => bail!("nobody can {other:?}"),
        })
    }

    /// The session, which is opened when it is first touched, and watched from then on.
    async fn session(&mut self) -> anyhow::Result<Session> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let session = self.house.session().await?;
        let mut events = session.watch();
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                say(&json!({"event": event}))?;
            }
            anyhow::Ok(())
        });
        self.session = Some(session.clone());
        Ok(session)
    }

    /// What a client sends. Nothing comes of a frame that only a server would answer.
    async fn frame(&mut self, frame: &Value) -> anyhow::Result<()> {
        let session = self.session().await?;
        let call = || frame["toolCallId"].as_str().context("a frame has no toolCallId");
        let go_on = frame["autoContinue"] == true;
        match frame["type"].as_str().unwrap_or_default() {
            "cf_agent_use_chat_request" => request(&session, frame).await?,
            "cf_agent_tool_result" => {
                let result = match frame["errorText"].as_str().filter(|_| frame["state"] == "output-error") {
                    Some(error) => Err(ToolError::failed(error)),
                    None => Ok(frame["output"].clone()),
                };
                refused(session.tool_result(call()?, result, go_on).await);
            }
            "cf_agent_tool_approval" => {
                refused(session.approve(call()?, frame["approved"] == true, None, go_on).await);
            }
            "cf_agent_chat_request_cancel" => {
                let _ = session.cancel(frame["id"].as_str().unwrap_or_default());
            }
            "cf_agent_stream_resume_request" | "cf_agent_stream_resume_ack" => {}
            other => bail!("a frame of type {other:?} cannot be played"),
        }
        Ok(())
    }
}

/// A client is told, and the case goes on.
fn refused(answer: Result<(), AnswerError>) {
    if let Err(error) = answer {
        tracing::warn!("an answer is not taken: {error}");
    }
}

async fn request(session: &Session, frame: &Value) -> anyhow::Result<()> {
    let mut body = frame["init"]["body"].clone();
    let fields = body.as_object_mut().context("a request has no body")?;
    let messages: Vec<UiMessage> = serde_json::from_value(fields.remove("messages").unwrap_or_default())?;
    let trigger = fields.remove("trigger");
    let tools = fields.remove("clientTools").map(|tools| {
        let tools = tools.as_array().into_iter().flatten();
        let tool = |tool: &Value| -> serde_json::Result<ToolDefinition> {
            serde_json::from_value(json!({
                "name": tool["name"],
                "description": tool["description"],
                "inputSchema": tool["parameters"],
                "client": true,
            }))
        };
        tools.map(tool).collect::<Result<Vec<_>, _>>()
    });
    if trigger.is_some_and(|trigger| trigger == "regenerate-message") {
        session.regenerate(None)?.detach();
        return Ok(());
    }
    let request = ChatRequest {
        request_id: frame["id"].as_str().map(str::to_owned),
        messages,
        client_tools: tools.transpose()?,
        trigger: Trigger::WsChat,
        channel: None,
        regenerate: false,
        body: Some(body).filter(|body| body.as_object().is_some_and(|fields| !fields.is_empty())),
    };
    session.send(request).await?.detach();
    Ok(())
}

fn say(line: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
