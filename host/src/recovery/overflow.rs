/// Words by which providers say that a request is too long, in lower case; all words of an entry stand in the text.
const WORDS: &[&[&str]] = &[
    // OpenAI, Azure, Mistral, Groq, DeepSeek, vLLM, LM Studio.
    &["context_length_exceeded"],
    &["maximum context length"],
    &["model_max_prompt_tokens_exceeded"],
    // OpenAI Responses.
    &["exceeds the context window"],
    // Anthropic.
    &["prompt is too long"],
    &["input length and `max_tokens` exceed context limit"],
    // Bedrock.
    &["input is too long for requested model"],
    &["too many input tokens"],
    // Gemini and Vertex.
    &["input token count", "exceeds the maximum"],
    // xAI.
    &["maximum prompt length is"],
    // OpenRouter and Together.
    &["reduce the length of the messages"],
    &["inputs tokens + max_new_tokens must be <="],
    // Cohere.
    &["too many tokens", "size limit exceeded"],
    // Ollama.
    &["exceeded max context length"],
    // llama.cpp.
    &["exceeds the available context size"],
    &["exceed_context_size_error"],
    // GitHub Copilot and Cerebras.
    &["exceeds the limit of", "tokens"],
    // Workers AI.
    &["exceeded this model context window limit"],
];

/// Whether an error's text says that the conversation is too long for the model (`think.md` §4.7).
#[must_use]
pub fn is_context_overflow(error: &str) -> bool {
    let error = error.to_lowercase();
    WORDS.iter().any(|words| words.iter().all(|word| error.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the providers' servers really answer.
    const OVERFLOWS: &[(&str, &str)] = &[
        (
            "OpenAI",
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. Please reduce the length of the messages.",
        ),
        (
            "OpenAI Responses",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
        ("Anthropic", "prompt is too long: 213462 tokens > 200000 maximum"),
        (
            "Anthropic, with max_tokens",
            "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again",
        ),
        ("Gemini", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
        ("Bedrock", "ValidationException: Input is too long for requested model."),
        ("xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        ("Groq", "Please reduce the length of the messages or completion. (code: context_length_exceeded)"),
        (
            "OpenRouter",
            "This endpoint's maximum context length is 163840 tokens. However, you requested about 200105 tokens",
        ),
        (
            "llama.cpp",
            "the request exceeds the available context size (4096 tokens), try increasing it (exceed_context_size_error)",
        ),
        ("Ollama", "prompt too long; exceeded max context length by 120 tokens"),
        ("Mistral", "Prompt contains 40960 tokens, too large for model with 32768 maximum context length"),
        ("vLLM", "The decoder prompt (length 9000) is longer than the maximum context length of 8192."),
        (
            "Cohere",
            "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.",
        ),
        ("Copilot", "prompt token count of 132000 exceeds the limit of 128000 tokens"),
        (
            "Workers AI",
            "The estimated number of input and maximum output tokens exceeded this model context window limit (24000).",
        ),
    ];

    #[test]
    fn each_providers_words_are_known() {
        for (provider, text) in OVERFLOWS {
            assert!(is_context_overflow(text), "{provider}: {text}");
        }
    }

    #[test]
    fn other_errors_are_none() {
        for text in [
            "429 Too many requests: rate limit of 10000 tokens per minute reached",
            "Incorrect API key provided",
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
            "The server had an error while processing your request",
            "",
        ] {
            assert!(!is_context_overflow(text), "{text}");
        }
    }
}
