//! The model of a case: its entries are used up over all processes.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use lathe::model::{LanguageModel, ModelError, ModelErrorKind, ModelStream, Script, ScriptedModel};
use lathe::turn::ModelCall;
use lathe_tests::recording::{entry, pick_content};
use serde_json::{Value, json};

use crate::record::Record;

pub(crate) struct CaseModel {
    pub(crate) entries: Vec<Value>,
    pub(crate) record: Arc<Record>,
}

impl fmt::Debug for CaseModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaseModel").field("entries", &self.entries).finish_non_exhaustive()
    }
}

#[async_trait]
impl LanguageModel for CaseModel {
    fn id(&self) -> &str {
        "scripted"
    }

    async fn stream(&self, call: ModelCall) -> Result<ModelStream, ModelError> {
        let messages = call.messages.iter().map(|message| pick_content(&json!(message))).collect();
        let number = self.record.request(&messages);
        let next = self.entries.get(number).or(self.entries.last()).map(entry);
        let script = Script::parse(&json!([next]).to_string());
        let script = script.map_err(|error| ModelError::new(ModelErrorKind::InvalidRequest, error))?;
        ScriptedModel::new("scripted", script).stream(call).await
    }
}
