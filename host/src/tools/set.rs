use std::collections::BTreeMap;
use std::sync::Arc;

use super::{InputCheck, Tool};
use crate::turn::{InvalidInput, Json, ToolDefinition};

/// The tools of a turn, by name, in the order in which they were added.
#[derive(Clone, Default)]
pub struct ToolSet {
    order: Vec<String>,
    tools: BTreeMap<String, Entry>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    check: Arc<InputCheck>,
}

/// Two tools of one name: never settled silently.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is already a tool named \"{0}\"")]
pub struct NameTaken(pub String);

impl ToolSet {
    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// If its name is taken.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), NameTaken> {
        let definition = tool.definition();
        let name = definition.name.clone();
        if self.tools.contains_key(&name) {
            return Err(NameTaken(name));
        }
        let check = Arc::new(InputCheck::new(&definition.input_schema));
        self.order.push(name.clone());
        self.tools.insert(name, Entry { tool, check });
        Ok(())
    }

    /// A set of both.
    ///
    /// # Errors
    ///
    /// If both have a tool of one name.
    pub fn with(&self, other: &Self) -> Result<Self, NameTaken> {
        let mut both = self.clone();
        for name in &other.order {
            let Some(entry) = other.tools.get(name) else { continue };
            if both.tools.insert(name.clone(), entry.clone()).is_some() {
                return Err(NameTaken(name.clone()));
            }
            both.order.push(name.clone());
        }
        Ok(both)
    }

    /// What a model is offered.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.order.iter().filter_map(|name| self.get(name)).map(|tool| tool.definition().clone()).collect()
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Brings an input to the types that its tool asks for, and checks it.
    ///
    /// # Errors
    ///
    /// If it does not fit, or there is no such tool.
    pub fn check(&self, name: &str, input: Json) -> Result<Json, InvalidInput> {
        match self.tools.get(name) {
            Some(entry) => entry.check.check(input),
            None => Err(InvalidInput(format!("there is no tool \"{name}\""))),
        }
    }
}
