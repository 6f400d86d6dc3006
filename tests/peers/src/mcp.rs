//! A tool of an MCP server over stdio: this program again, kept running.

use anyhow::{Result, ensure};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::{TokioChildProcess, stdio};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::figures::Figures;
use crate::payload;

/// Makes this program the server.
pub(crate) const SERVE: &str = "serve";

#[derive(Clone)]
struct Server {
    tool_router: ToolRouter<Self>,
}

/// Answers what it is given.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// Any text.
    text: String,
}

#[tool_router(router = tool_router)]
impl Server {
    #[tool(description = "Answers what it is given.")]
    async fn echo(&self, input: Parameters<Echo>) -> String {
        json!({ "text": input.0.text }).to_string()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {}

pub(crate) async fn serve() -> Result<()> {
    let server = Server { tool_router: Server::tool_router() };
    server.serve(stdio()).await?.waiting().await?;
    Ok(())
}

pub(crate) async fn run(figures: &mut Figures) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SERVE);
    let client = ().serve(TokioChildProcess::new(command)?).await?;
    let input = json!({ "text": payload::text() });
    let call = async || {
        let arguments = input.as_object().cloned().unwrap_or_default();
        client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await
    };
    let answer = serde_json::to_value(call().await?)?;
    ensure!(answer["content"][0]["text"] == input.to_string(), "the server does not echo: {answer}");
    figures.take("tool-call", "MCP server over stdio, kept running (rmcp 3.9)", || {
        block_in_place(|| Handle::current().block_on(call()))?;
        Ok(())
    })?;
    client.cancel().await?;
    Ok(())
}
