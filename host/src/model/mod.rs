//! Language models: one trait, one event stream, and what implements them.
//!
//! May use `turn` for messages and usage. Knows nothing of hooks, extensions, sessions or the store. No type of a
//! provider library leaves this room.

mod demo;
mod error;
mod event;
mod registry;
#[cfg(feature = "providers")]
mod rig;
mod scripted;

use std::fmt;

use async_trait::async_trait;
use futures::stream::BoxStream;

pub use demo::DemoModel;
pub use error::{ModelError, ModelErrorKind};
pub use event::ModelEvent;
pub use registry::{ModelId, ModelIdError, ProviderKind, ProviderSettings, resolve};
pub use scripted::{Script, ScriptError, ScriptedModel};

pub use crate::turn::{CallSettings, ModelCall};

/// What a model answers, event by event. It ends after [`ModelEvent::Finish`] or an error; a stream that ends
/// without either was cut off.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A model that can be asked.
#[async_trait]
pub trait LanguageModel: Send + Sync + fmt::Debug {
    /// `provider:name`.
    fn id(&self) -> &str;

    /// Asks. Dropping the stream cancels the request.
    ///
    /// # Errors
    ///
    /// When the request is refused before anything is streamed.
    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError>;
}
