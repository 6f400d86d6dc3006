//! One issue, as GitHub answers and as the model reads it.

use lathe_guest::prelude::*;

/// The fields that are of use, of some sixty.
#[derive(Deserialize)]
pub(crate) struct Answer {
    number: u64,
    title: String,
    state: String,
    html_url: String,
    body: Option<String>,
    #[serde(default)]
    labels: Vec<Label>,
    user: Option<User>,
    comments: u64,
    updated_at: String,
    pull_request: Option<Value>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

/// What the model reads. `author` is absent if the account is gone, `body` in lists.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Issue {
    number: u64,
    title: String,
    state: String,
    is_pull_request: bool,
    labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    comments: u64,
    updated_at: String,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

impl Answer {
    /// With so many characters of its body.
    pub(crate) fn shown(mut self, characters: usize) -> Issue {
        let body = self.body.take().unwrap_or_default();
        Issue { body: Some(shortened(&body, characters)), ..self.listed() }
    }

    /// Without its body.
    pub(crate) fn listed(self) -> Issue {
        Issue {
            number: self.number,
            title: self.title,
            state: self.state,
            is_pull_request: self.pull_request.is_some(),
            labels: self.labels.into_iter().map(|label| label.name).collect(),
            author: self.user.map(|user| user.login),
            comments: self.comments,
            updated_at: self.updated_at,
            url: self.html_url,
            body: None,
        }
    }
}

fn shortened(text: &str, characters: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text[end..].chars().count();
            format!("{}… ({left} more characters)", text[..end].trim_end())
        }
    }
}
