//! Open issues by words and labels.

use lathe_guest::prelude::*;

use crate::api::Repository;
use crate::issue::{self, Issue};

/// How many are listed, if the model does not say.
const LIMIT: u8 = 20;

/// Lists open issues of a GitHub repository, the ones changed last first. Pull requests are not among them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Issues {
    #[serde(flatten)]
    repository: Repository,
    /// Words to search for in titles and bodies. All open issues if absent.
    query: Option<String>,
    /// Labels that each has to have.
    #[serde(default)]
    labels: Vec<String>,
    /// How many at most; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u8>,
}

#[derive(Deserialize)]
pub(crate) struct Answer {
    total_count: u64,
    items: Vec<issue::Answer>,
}

/// What the model reads.
#[derive(Serialize)]
pub(crate) struct Found {
    /// How many there are, listed or not.
    total: u64,
    issues: Vec<Issue>,
}

impl Issues {
    /// The request for them.
    pub(crate) fn path(self) -> Result<String, ToolError> {
        let mut query = format!("repo:{} is:issue is:open", self.repository.path()?);
        for label in &self.labels {
            query.push_str(&format!(" label:\"{}\"", label.replace('"', "")));
        }
        if let Some(words) = &self.query {
            query.push_str(&format!(" {words}"));
        }
        let limit = self.limit.unwrap_or(LIMIT);
        Ok(format!("/search/issues?q={}&sort=updated&per_page={limit}", encoded(&query)))
    }
}

impl Answer {
    pub(crate) fn shown(self) -> Found {
        Found { total: self.total_count, issues: self.items.into_iter().map(issue::Answer::listed).collect() }
    }
}

/// For a query of a URL: all but letters, digits and `-._~` by their bytes.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
