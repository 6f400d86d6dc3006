use super::{ShowArgs, explain};
use crate::cli::Done;
use crate::cli::print::whole;
use crate::cli::problem::Problem;
use crate::cli::style::clean;
use crate::config::Config;
use crate::session::Compaction;
use crate::store::{Store, StoreError};
use crate::turn::{ToolState, UiMessage, UiPart, UiRole};

pub(super) async fn show(args: ShowArgs, config: Config) -> Result<Done, Problem> {
    let store = args.data.known(config, &args.name).await?;
    if store.session(&args.name).await?.is_none() {
        return Err(explain(&store, StoreError::NoSession(args.name)).await);
    }
    let messages = store.messages(&args.name).await?;
    store.close().await;
    if args.json {
        return whole(&format!("{:#}\n", serde_json::json!(messages)));
    }
    whole(&messages.iter().map(in_words).collect::<Vec<String>>().join("\n"))
}

/// Who and which; then what is said and done, a part a line at least.
fn in_words(message: &UiMessage) -> String {
    let who = match message.role {
        UiRole::System => "system",
        UiRole::User => "user",
        UiRole::Assistant if Compaction::is_summary(message) => "summary",
        UiRole::Assistant => "assistant",
    };
    let mut text = format!("{who} {}\n", clean(&message.id));
    for part in &message.parts {
        match part {
            UiPart::Text { text: said, .. } => text += &format!("{}\n", clean(said.trim_end())),
            UiPart::Tool(tool) => {
                let result = match &tool.state {
                    ToolState::OutputAvailable(output) => output.to_string(),
                    ToolState::OutputError(error) => format!("failed: {error}"),
                    ToolState::OutputDenied => "not allowed".into(),
                    _ => "waits".into(),
                };
                text += &format!(
                    "  {} {}: {}\n",
                    clean(&tool.tool_name),
                    clean(&tool.input.to_string()),
                    clean(&result)
                );
            }
            UiPart::Other(part) => {
                let kind = part.get("type").and_then(|kind| kind.as_str()).unwrap_or("part");
                text += &format!("  ({})\n", clean(kind));
            }
            UiPart::Reasoning { .. } | UiPart::StepStart => {}
        }
    }
    text
}
