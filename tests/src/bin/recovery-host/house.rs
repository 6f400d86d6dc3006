//! The agent of a case, and its one session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lathe::recovery::{ChatRecovery, ContextOverflow, Proactive};
use lathe::store::{SqliteStore, Store};
use lathe::{Agent, Session};
use lathe_tests::built_in::BuiltIn;
use lathe_tests::frames::SESSION;
use lathe_tests::recording::concurrency;
use serde_json::{Value, json};

use crate::hooks::{CaseCompactor, Recovering};
use crate::model::CaseModel;
use crate::record::Record;
use crate::tools::tools;

pub(crate) struct House {
    pub(crate) agent: Agent,
    store: Arc<SqliteStore>,
}

impl House {
    pub(crate) async fn open(case: &Value, file: &Path, record: Arc<Record>) -> anyhow::Result<Self> {
        let host = case.get("host").cloned().unwrap_or(json!({}));
        let store = Arc::new(SqliteStore::open(file).await?);
        let system = host["system"].as_str().unwrap_or("SYS");
        let told = record.clone();
        let hooks = host["hooks"].as_object().cloned().unwrap_or_default();
        let built_in = Arc::new(BuiltIn::new(system, hooks, move |event| told.hook(&event)));
        let entries = case["model"].as_array().cloned().unwrap_or_default();
        let mut builder = Agent::builder(store.clone())
            .model(Arc::new(CaseModel { entries, record: record.clone() }))
            .system(system)
            .concurrency(concurrency(&host["messageConcurrency"])?)
            .hooks(built_in.clone())
            .hooks(Arc::new(Recovering { host: host.clone(), built_in, record: record.clone() }))
            .chat_recovery(chat_recovery(&host["chatRecovery"]))
            .context_overflow(context_overflow(&host["contextOverflow"]))
            .compaction(Arc::new(CaseCompactor {
                compaction: host["compaction"].clone(),
                record: record.clone(),
            }));
        for tool in tools(case, &record)? {
            builder = builder.tool(tool);
        }
        if let Some(ms) = host["chatStreamStallTimeoutMs"].as_u64() {
            builder = builder.chat_stream_stall_timeout(Duration::from_millis(ms));
        }
        if let Some(steps) = number(&host["maxSteps"]) {
            builder = builder.max_steps(steps);
        }
        Ok(Self { agent: builder.build()?, store })
    }

    /// Opens the session: what an earlier process has left is taken up.
    pub(crate) async fn session(&self) -> anyhow::Result<Session> {
        Ok(self.agent.session(SESSION).await?)
    }

    /// Puts messages into the history as they are.
    pub(crate) async fn store(&self, messages: &Value) -> anyhow::Result<()> {
        for message in messages.as_array().into_iter().flatten() {
            self.store.put(SESSION, &serde_json::from_value(message.clone())?, None).await?;
        }
        Ok(())
    }

    /// The conversation, without opening the session.
    pub(crate) async fn transcript(&self) -> anyhow::Result<Value> {
        Ok(json!(self.store.messages(SESSION).await?))
    }
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| number.try_into().ok())
}

fn chat_recovery(told: &Value) -> Option<ChatRecovery> {
    if *told == false {
        return None;
    }
    let usual = ChatRecovery::default();
    let timeout = told["noProgressTimeoutMs"].as_u64().map(Duration::from_millis);
    Some(ChatRecovery {
        max_attempts: number(&told["maxAttempts"]).unwrap_or(usual.max_attempts),
        max_interrupted_attempts: number(&told["maxInterruptedAttempts"])
            .unwrap_or(usual.max_interrupted_attempts),
        no_progress_timeout: timeout.unwrap_or(usual.no_progress_timeout),
        max_recovery_work: told["maxRecoveryWork"].as_u64().unwrap_or(usual.max_recovery_work),
        terminal_message: told["terminalMessage"].as_str().map_or(usual.terminal_message, str::to_owned),
    })
}

fn context_overflow(told: &Value) -> ContextOverflow {
    let usual = ContextOverflow::default();
    let proactive = &told["proactive"];
    ContextOverflow {
        reactive: told["reactive"] == true,
        max_retries: number(&told["maxRetries"]).unwrap_or(usual.max_retries),
        proactive: proactive["maxInputTokens"].as_u64().map(|tokens| {
            let usual = Proactive::new(tokens);
            Proactive {
                headroom: proactive["headroom"].as_f64().unwrap_or(usual.headroom),
                max_compactions: number(&proactive["maxCompactions"]).unwrap_or(usual.max_compactions),
                ..usual
            }
        }),
    }
}
