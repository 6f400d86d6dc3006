//! Real model providers, through `rig-core`.
//!
//! Four protocols: OpenAI Chat Completions (and every server that speaks it), OpenAI Responses, Anthropic Messages
//! and Gemini. May use what its parent may. No type of rig leaves this folder; its releases break things every few
//! weeks, and only these files may notice.
//!
//! # What is not sent
//!
//! A setting that a protocol has no field for is left out without an error:
//!
//! | setting | chat | Responses | Anthropic | Gemini |
//! |---|---|---|---|---|
//! | `topK` | not to OpenAI itself | no | yes | yes |
//! | `presencePenalty`, `frequencyPenalty` | yes | no | no | yes |
//! | `stopSequences` | yes | no | yes | yes |
//! | `seed` | yes | no | no | yes |
//! | `reasoningEffort` | yes | yes | models with effort levels | models with thinking levels |
//! | a file's `filename` | no | no | no | no |
//!
//! Where rig's catalog knows that an Anthropic or Gemini model takes no effort, or no temperature while an effort is
//! set, that one is left out too. Media that a model cannot read is replaced by a line that says so. Reasoning goes
//! back only to the model that wrote it, with what it was signed with. The headers `host`, `content-length`,
//! `connection` and `transfer-encoding` stay the transport's.

mod address;
mod dialect;
mod failure;
mod finish;
mod history;
mod ids;
mod media;
mod metadata;
mod peek;
mod reader;
mod request;
mod seam;
mod settings;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rig_core::completion::{CompletionRequest, ReplayTarget};
use rig_core::driver::Model;
use rig_core::error::ProviderError;
use rig_core::http_client::DynHttpClient;
use rig_core::providers::anthropic::{AnthropicConfig, Messages};
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::gemini::completion::GenerateContent;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::responses_api::wire::Responses;
use rig_core::providers::openai::wire::{Auth, Chat};
use rig_core::streaming::CompletionStream;

pub(super) use address::Address;
use failure::Failures;
use metadata::Keeper;
use reader::Reader;
use seam::Seam;

use super::registry::ProviderKind;
use super::{LanguageModel, ModelCall, ModelError, ModelStream};

/// Where a model is, and as whom it is asked.
pub(super) struct Connection {
    /// The provider's name in the configuration.
    pub(super) provider: String,
    /// The model as the provider calls it.
    pub(super) name: String,
    /// The protocol.
    pub(super) kind: ProviderKind,
    /// The base URL.
    pub(super) address: Address,
    /// The key, if the provider wants one.
    pub(super) key: Option<String>,
}

/// The model behind a connection. Nothing is sent before it is asked.
pub(super) fn connect(connection: Connection) -> Arc<dyn LanguageModel> {
    let Connection { provider, name, kind, address, key } = connection;
    let secret = key.clone().unwrap_or_default();
    let (wire, http) = match kind {
        ProviderKind::Openai => {
            let client = openai(&provider, &address, secret).client().chat(name.as_str());
            (Wire::Chat(client.wire), client.transport)
        }
        ProviderKind::OpenaiResponses => {
            let client = openai(&provider, &address, secret).client().responses(name.as_str());
            (Wire::Responses(client.wire), client.transport)
        }
        ProviderKind::Anthropic => {
            let dialect = dialect::anthropic(&address);
            let config = AnthropicConfig::with_key(&dialect, secret).with_base_url(address.url());
            let client = config.client().completion(name.as_str());
            let mut wire = client.wire;
            // Required there; 8192 is what every model still served takes.
            wire.default_max_tokens = wire.default_max_tokens.or(Some(8192));
            (Wire::Anthropic(wire), client.transport)
        }
        ProviderKind::Gemini => {
            // Without its key, which rig would put into the query: the seam sends it as a header.
            let config = GeminiConfig::new("").with_base_url(address.without("/v1beta"));
            let client = config.client().completion(name.as_str());
            (Wire::Gemini(client.wire), client.transport)
        }
    };
    let keeper = Keeper::new(kind, &provider, &name);
    let own_openai = address.host() == dialect::OPENAI_HOST;
    Arc::new(RigModel {
        id: format!("{provider}:{name}"),
        provider,
        kind,
        own_openai,
        wire,
        http,
        keeper,
        failures: Failures::new(key.clone()),
        key,
    })
}

fn openai(provider: &str, address: &Address, key: String) -> OpenAIConfig {
    let dialect = dialect::openai(provider, address);
    let base_url = if dialect.quirks.completion_path.starts_with("/v1/") {
        address.without("/v1")
    } else {
        address.url()
    };
    let mut config = OpenAIConfig::with_key(&dialect, key).with_base_url(base_url);
    // No key, no header: a server without keys may refuse an empty one.
    config.auth = Auth::OptionalBearer;
    config
}

/// A model behind rig.
struct RigModel {
    id: String,
    provider: String,
    kind: ProviderKind,
    own_openai: bool,
    wire: Wire,
    http: DynHttpClient,
    keeper: Keeper,
    failures: Failures,
    key: Option<String>,
}

enum Wire {
    Chat(Chat),
    Responses(Responses),
    Anthropic(Messages),
    Gemini(GenerateContent),
}

impl Wire {
    fn target(&self) -> &dyn ReplayTarget {
        match self {
            Self::Chat(wire) => wire,
            Self::Responses(wire) => wire,
            Self::Anthropic(wire) => wire,
            Self::Gemini(wire) => wire,
        }
    }

    fn stream(&self, request: CompletionRequest, seam: Seam) -> Result<CompletionStream, Box<ProviderError>> {
        match self {
            Self::Chat(wire) => Model::new(wire.clone(), seam).stream(request),
            Self::Responses(wire) => Model::new(wire.clone(), seam).stream(request),
            Self::Anthropic(wire) => Model::new(wire.clone(), seam).stream(request),
            Self::Gemini(wire) => Model::new(wire.clone(), seam).stream(request),
        }
        .map_err(Box::new)
    }
}

/// Only the id: everything else holds or names the key.
impl fmt::Debug for RigModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RigModel").field("id", &self.id).finish_non_exhaustive()
    }
}

#[async_trait]
impl LanguageModel for RigModel {
    fn id(&self) -> &str {
        &self.id
    }

    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError> {
        let seam = Seam::new(self.http.clone(), self.kind, self.key.as_deref(), &request.settings.headers)?;
        let peek = seam.peek();
        let ids = ids::CallIds::taken_by(&request.messages, peek.clone());
        let request = request::build(self, request)?;
        let stream =
            self.wire.stream(request, seam).map_err(|error| self.failures.model_error(&error, false))?;
        Reader::new(stream, self.kind, self.keeper.clone(), self.failures.clone(), ids, peek).open().await
    }
}
