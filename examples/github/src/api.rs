//! Requests to the REST API.

use lathe_guest::http::{self, Request, Response, header};
use lathe_guest::prelude::*;
use serde::de::DeserializeOwned;

use crate::error::GithubError;
use crate::settings::Settings;

/// A repository of GitHub.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Repository {
    /// The user or organisation, such as rust-lang.
    pub(crate) owner: String,
    /// Its name, such as rust.
    pub(crate) repo: String,
}

impl Repository {
    /// `owner/repo`. What could be more than two names in a path is refused.
    pub(crate) fn path(&self) -> Result<String, ToolError> {
        let word = |name: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !name.is_empty() && name.chars().all(fits) && !name.chars().all(|c| c == '.')
        };
        if word(&self.owner) && word(&self.repo) {
            return Ok(format!("{}/{}", self.owner, self.repo));
        }
        Err(ToolError::invalid(format!("\"{}/{}\" is no repository", self.owner, self.repo)))
    }
}

/// Gets what is at a path of the API. A repository with another name by now is found there.
pub(crate) fn get<T: DeserializeOwned>(settings: &Settings, path: &str) -> Result<T, GithubError> {
    let mut answer = ask(&format!("{}{path}", settings.api))?;
    if answer.status().is_redirection()
        && let Some(place) = answer.headers().get(header::LOCATION).and_then(|place| place.to_str().ok())
    {
        answer = ask(place)?;
    }
    if answer.status().is_success() {
        return serde_json::from_slice(answer.body())
            .map_err(|error| GithubError::Unreadable(error.to_string()));
    }
    Err(GithubError::refused(&answer))
}

fn ask(url: &str) -> Result<Response<Vec<u8>>, GithubError> {
    let request = Request::get(url)
        .header(header::ACCEPT, "application/vnd.github+json")
        .header("x-github-api-version", "2022-11-28")
        // Without one, GitHub answers with 403.
        .header(header::USER_AGENT, concat!("lathe-github/", env!("CARGO_PKG_VERSION")))
        .body(Vec::new())
        .map_err(|error| GithubError::Unreachable(format!("{url}: {error}")))?;
    Ok(http::send(request)?)
}
