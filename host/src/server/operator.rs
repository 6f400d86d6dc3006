use async_trait::async_trait;

use crate::logs::LogLine;
use crate::turn::Json;

/// Who can change what a server's agent works with. A change is in effect for every turn that begins once it is done;
/// turns that run go on as they began.
#[async_trait]
pub trait Operator: Send + Sync {
    /// What is known of each extension, disabled and broken ones included, as
    /// [`Extension::listing`](crate::extensions::Extension::listing) says it.
    ///
    /// # Errors
    ///
    /// If it cannot be found out.
    async fn extensions(&self) -> Result<Vec<Json>, OperatorError>;

    /// What is kept of an extension's log, oldest first.
    ///
    /// # Errors
    ///
    /// If there is no such extension, and no log of one; or the log cannot be read.
    async fn log(&self, name: &str) -> Result<Vec<LogLine>, OperatorError>;

    /// Enables an extension, or disables it. One that is as it is to be stays so.
    ///
    /// # Errors
    ///
    /// If there is no such extension, or it cannot be done.
    async fn enable(&self, name: &str, enabled: bool) -> Result<(), OperatorError>;

    /// Ends an extension's quarantine and forgets its strikes.
    ///
    /// # Errors
    ///
    /// If there is no such extension, or it cannot be done.
    async fn reset(&self, name: &str) -> Result<(), OperatorError>;

    /// Grants an extension permissions beside those that it has. They are texts as `lathe ext grant` takes them:
    /// `messages`, `network=api.example.org,*.example.net`.
    ///
    /// # Errors
    ///
    /// If there is no such extension, it does not ask for one of them, or it cannot be done. Nothing is granted then.
    async fn grant(&self, name: &str, permissions: &[String]) -> Result<(), OperatorError>;

    /// Takes permissions from an extension; of one with a list, all of it where no value is named.
    ///
    /// # Errors
    ///
    /// If there is no such extension, it is not granted one of them, or it cannot be done. All are granted still then.
    async fn revoke(&self, name: &str, permissions: &[String]) -> Result<(), OperatorError>;
}

/// Why something was not done, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// There is no such extension.
    #[error("{0}")]
    NotFound(String),
    /// It is not to be done.
    #[error("{0}")]
    Refused(String),
    /// It was to be done, and could not.
    #[error("{0}")]
    Failed(String),
}
