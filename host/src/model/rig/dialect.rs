//! Which of the servers that speak one protocol is spoken to.
//!
//! Known by its host: the operator writes a base URL, and what is peculiar to that server follows.

use rig_core::providers::anthropic::wire as anthropic;
use rig_core::providers::anthropic::wire::ToolInputStreaming;
use rig_core::providers::openai::wire as openai;
use rig_core::providers::openai::wire::{OutputCap, Quirks};

use super::Address;

/// Where OpenAI itself is.
pub(super) const OPENAI_HOST: &str = "api.openai.com";

/// The port of Ollama, which has a name for itself in the configuration only by default.
const OLLAMA_PORT: u16 = 11434;

/// The dialect of Chat Completions and Responses that is spoken at `address`.
pub(super) fn openai(provider: &str, address: &Address) -> openai::Dialect {
    if provider == "ollama" || address.port() == Some(OLLAMA_PORT) {
        return openai::OLLAMA;
    }
    let known = (!address.is_loopback()).then(|| openai::all().find(|known| is_at(known.base_url, address)));
    known.flatten().copied().unwrap_or_else(|| {
        let mut quirks = Quirks::openai();
        // By the model's name, so it is right behind a proxy too.
        quirks.output_cap = OutputCap::OpenAiReasoningFamilies;
        openai::Dialect::gateway("openai_compatible", "", "").with_quirks(quirks)
    })
}

/// The dialect of Messages that is spoken at `address`.
pub(super) fn anthropic(address: &Address) -> anthropic::Dialect {
    let known = anthropic::all().find(|known| is_at(known.base_url, address));
    known.copied().unwrap_or_else(|| {
        let mut dialect = anthropic::ANTHROPIC;
        // A field that only Anthropic is sure to take.
        dialect.quirks.tool_input_streaming = ToolInputStreaming::Off;
        dialect
    })
}

fn is_at(base_url: &str, address: &Address) -> bool {
    Address::parse(base_url)
        .is_ok_and(|known| known.host() == address.host() && known.port() == address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_their_host() {
        for (provider, url, name) in [
            ("openai", "https://api.openai.com/v1", openai::OPENAI.name),
            ("mine", "https://openrouter.ai/api/v1", openai::OPENROUTER.name),
            ("groq", "https://api.groq.com/openai/v1", openai::GROQ.name),
            ("ollama", "http://box:80/v1", openai::OLLAMA.name),
            ("openai", "http://127.0.0.1:11434/v1", openai::OLLAMA.name),
            ("openai", "http://localhost:8080/v1", "openai_compatible"),
            ("vllm", "https://gpu.example/v1", "openai_compatible"),
        ] {
            assert_eq!(openai(provider, &Address::parse(url).unwrap()).name, name, "{url}");
        }
        let streaming = |url: &str| anthropic(&Address::parse(url).unwrap()).quirks.tool_input_streaming;
        assert_eq!(streaming("https://api.anthropic.com"), ToolInputStreaming::Eager);
        assert_eq!(streaming("https://proxy.example"), ToolInputStreaming::Off);
    }
}
