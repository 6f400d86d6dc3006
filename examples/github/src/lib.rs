//! Issues of GitHub repositories, to read.
//!
//! It needs the network, and asks for `api.github.com` alone. The token is no affair of its own: the operator has the host
//! add the header, and neither this code nor the model ever sees it.
//!
//! ```toml
//! [[extension.github.grant.network]]
//! host = "api.github.com"
//! methods = ["GET"]
//! headers = { authorization = { env = "GITHUB_TOKEN", prefix = "Bearer " } }
//! ```
//!
//! Without `headers` it works too, for public repositories and 60 requests an hour. A token that may read issues of the
//! repositories in question, and nothing else, is enough: the model chooses which ones it reads.

mod api;
mod error;
mod issue;
mod search;
mod settings;

use api::Repository;
use issue::Issue;
use lathe_guest::prelude::*;
use search::{Found, Issues};
use settings::Settings;

#[derive(Default)]
struct Github;

#[extension]
impl Extension for Github {
    fn tools() -> Tools<Self> {
        Tools::new()
            .with(Tool::new("issue", Self::issue).replay_safe())
            .with(Tool::new("issues", Self::issues).replay_safe())
    }

    fn permissions() -> Permissions {
        Permissions { network: vec!["api.github.com".to_owned()], ..Permissions::default() }
    }

    fn settings_schema() -> Option<Value> {
        Some(schema::<Settings>())
    }
}

/// Reads an issue or a pull request of a GitHub repository.
#[derive(Deserialize, JsonSchema)]
struct OneIssue {
    #[serde(flatten)]
    repository: Repository,
    /// Its number, without #.
    number: u64,
}

impl Github {
    fn issue(&mut self, OneIssue { repository, number }: OneIssue) -> Result<Issue, ToolError> {
        let settings: Settings = settings()?;
        let path = format!("/repos/{}/issues/{number}", repository.path()?);
        let issue: issue::Answer = api::get(&settings, &path)?;
        Ok(issue.shown(settings.body_characters))
    }

    fn issues(&mut self, input: Issues) -> Result<Found, ToolError> {
        let settings: Settings = settings()?;
        let answer: search::Answer = api::get(&settings, &input.path()?)?;
        Ok(answer.shown())
    }
}

#[cfg(test)]
mod tests;
