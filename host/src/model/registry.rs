//! Names of models, and the providers behind them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[cfg(feature = "providers")]
use super::rig;
use super::{DemoModel, LanguageModel, ScriptedModel};

/// What every model is named by: `provider:name`. The name may hold `:` and `/`; `demo` needs none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId {
    provider: String,
    name: String,
}

impl ModelId {
    /// The part before the first colon.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model as its provider calls it; empty for `demo`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for ModelId {
    type Err = ModelIdError;

    fn from_str(id: &str) -> Result<Self, Self::Err> {
        let id = id.trim();
        if id == DEMO {
            return Ok(Self { provider: DEMO.into(), name: String::new() });
        }
        match id.split_once(':') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
                Ok(Self { provider: provider.into(), name: name.into() })
            }
            _ => Err(ModelIdError::Syntax { id: id.into(), known: known(&BTreeMap::new()) }),
        }
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            f.write_str(&self.provider)
        } else {
            write!(f, "{}:{}", self.provider, self.name)
        }
    }
}

/// Why an id names no model that can be asked.
#[derive(Debug, thiserror::Error)]
pub enum ModelIdError {
    /// It is not `provider:name`.
    #[error("`{id}` is not a model id: write `provider:name`, where the provider is one of {known}")]
    Syntax {
        /// What was given.
        id: String,
        /// The providers there are.
        known: String,
    },
    /// Nobody has that name.
    #[error("there is no model provider `{provider}`{hint}: known are {known}")]
    UnknownProvider {
        /// What was given.
        provider: String,
        /// ` (did you mean …?)`, or nothing.
        hint: String,
        /// The providers there are.
        known: String,
    },
    /// The key's variable is not set.
    #[error("the model provider `{provider}` needs a key: set the environment variable {variable}")]
    MissingKey {
        /// Whose key.
        provider: String,
        /// Where it is looked for.
        variable: String,
    },
    /// The base URL cannot be used.
    #[error("the base URL `{url}` of the model provider `{provider}` cannot be used: {reason}")]
    BaseUrl {
        /// Whose URL.
        provider: String,
        /// The URL, without a password it may hold.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// This build has no real providers.
    #[error("the model provider `{provider}` needs a build with the cargo feature `providers`")]
    NeedsFeature {
        /// Who was asked for.
        provider: String,
    },
    /// The script of a scripted model cannot be played.
    #[error("the script `{path}` cannot be played: {reason}")]
    Script {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// OpenAI Chat Completions, which most servers understand.
    Openai,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
}

/// A provider as the operator's configuration adds or changes it, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProviderSettings {
    /// The protocol it speaks.
    pub kind: ProviderKind,
    /// Where it is; the protocol's own maker when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds its key. When absent, a built-in name keeps its own, and a provider with
    /// a base URL of its own is asked without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
}

const DEMO: &str = "demo";
const SCRIPTED: &str = "scripted";
const OLLAMA: &str = "ollama";

/// What is known without any configuration.
struct Builtin {
    name: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    base_url_env: Option<&'static str>,
    api_key_env: Option<&'static str>,
}

#[rustfmt::skip]
const BUILTIN: [Builtin; 6] = [
    Builtin { name: "openai", kind: ProviderKind::Openai, base_url: "https://api.openai.com/v1", base_url_env: Some("OPENAI_BASE_URL"), api_key_env: Some("OPENAI_API_KEY") },
    Builtin { name: "openai-responses", kind: ProviderKind::OpenaiResponses, base_url: "https://api.openai.com/v1", base_url_env: Some("OPENAI_BASE_URL"), api_key_env: Some("OPENAI_API_KEY") },
    Builtin { name: "anthropic", kind: ProviderKind::Anthropic, base_url: "https://api.anthropic.com", base_url_env: Some("ANTHROPIC_BASE_URL"), api_key_env: Some("ANTHROPIC_API_KEY") },
    Builtin { name: "gemini", kind: ProviderKind::Gemini, base_url: "https://generativelanguage.googleapis.com", base_url_env: Some("GEMINI_BASE_URL"), api_key_env: Some("GEMINI_API_KEY") },
    Builtin { name: "openrouter", kind: ProviderKind::Openai, base_url: "https://openrouter.ai/api/v1", base_url_env: None, api_key_env: Some("OPENROUTER_API_KEY") },
    Builtin { name: OLLAMA, kind: ProviderKind::Openai, base_url: "http://localhost:11434/v1", base_url_env: None, api_key_env: None },
];

impl Builtin {
    fn named(name: &str) -> Option<&'static Self> {
        BUILTIN.iter().find(|builtin| builtin.name == name)
    }

    fn of_kind(kind: ProviderKind) -> Option<&'static Self> {
        BUILTIN.iter().find(|builtin| builtin.kind == kind)
    }
}

/// The model that `id` names, with `providers` from the operator's configuration before the built-in ones.
///
/// Nothing is asked of the network.
///
/// # Errors
///
/// When the id has no provider that this build and this environment can reach.
pub fn resolve(
    id: &str,
    providers: &BTreeMap<String, ProviderSettings>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn LanguageModel>, ModelIdError> {
    let id: ModelId = match id.parse() {
        Err(ModelIdError::Syntax { id, .. }) => Err(ModelIdError::Syntax { id, known: known(providers) }),
        parsed => parsed,
    }?;
    match (providers.get(id.provider()), id.provider()) {
        (None, DEMO) => Ok(Arc::new(DemoModel::new())),
        (None, SCRIPTED) => match ScriptedModel::from_file(Path::new(id.name())) {
            Ok(model) => Ok(Arc::new(model)),
            Err(error) => Err(ModelIdError::Script { path: id.name().into(), reason: error.to_string() }),
        },
        (settings, provider) => {
            let place = place(provider, settings, providers, env)?;
            connect(id, &place, env)
        }
    }
}

/// Where a provider is and how it is spoken to.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    kind: ProviderKind,
    base_url: String,
    api_key_env: Option<String>,
}

fn place(
    provider: &str,
    settings: Option<&ProviderSettings>,
    providers: &BTreeMap<String, ProviderSettings>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Place, ModelIdError> {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let builtin = Builtin::named(provider);
    let Some(kind) = settings.map(|settings| settings.kind).or(builtin.map(|builtin| builtin.kind)) else {
        return Err(ModelIdError::UnknownProvider {
            provider: provider.into(),
            hint: nearest(provider, providers)
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default(),
            known: known(providers),
        });
    };
    let own_url = settings.and_then(|settings| settings.base_url.clone());
    // A built-in name that the operator gives another protocol is another provider.
    let defaults = builtin.filter(|builtin| builtin.kind == kind).or_else(|| Builtin::of_kind(kind));
    let api_key_env = match settings.and_then(|settings| settings.api_key_env.clone()) {
        None if own_url.is_some() => builtin.and_then(|builtin| builtin.api_key_env).map(Into::into),
        None => defaults.and_then(|builtin| builtin.api_key_env).map(Into::into),
        variable => variable,
    };
    let base_url = own_url
        .or_else(|| (provider == OLLAMA).then(|| set("OLLAMA_HOST")).flatten().map(|host| ollama(&host)))
        .or_else(|| defaults.and_then(|builtin| builtin.base_url_env).and_then(set))
        .or_else(|| defaults.map(|builtin| builtin.base_url.to_owned()))
        .unwrap_or_default();
    Ok(Place { kind, base_url: base_url.trim().to_owned(), api_key_env })
}

#[cfg(feature = "providers")]
fn connect(
    id: ModelId,
    place: &Place,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn LanguageModel>, ModelIdError> {
    let ModelId { provider, name } = id;
    let address = rig::Address::parse(&place.base_url).map_err(|reason| ModelIdError::BaseUrl {
        provider: provider.clone(),
        url: rig::Address::shown(&place.base_url),
        reason: reason.into(),
    })?;
    let key = match &place.api_key_env {
        None => None,
        Some(variable) => {
            match env(variable).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
                None if address.is_loopback() => None,
                None => return Err(ModelIdError::MissingKey { provider, variable: variable.clone() }),
                key => key,
            }
        }
    };
    Ok(rig::connect(rig::Connection { provider, name, kind: place.kind, address, key }))
}

#[cfg(not(feature = "providers"))]
fn connect(
    id: ModelId,
    _: &Place,
    _: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn LanguageModel>, ModelIdError> {
    Err(ModelIdError::NeedsFeature { provider: id.provider })
}

/// The chat endpoint of what `OLLAMA_HOST` says, read as Ollama's own clients read it: the scheme defaults to http,
/// the port to 11434 (80 or 443 where a scheme is given), and a server's `0.0.0.0` is reached on this machine.
fn ollama(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest, port) = match host.split_once("://") {
        Some(("http", rest)) => ("http", rest, "80"),
        Some((scheme, rest)) => (scheme, rest, "443"),
        None => ("http", host, "11434"),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = match authority.rsplit_once(':') {
        // `::1` has colons and no port.
        Some((name, given)) if name.ends_with(']') || !name.contains(':') => (name, given),
        _ => (authority, port),
    };
    let name = match name.trim_matches(['[', ']']) {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        v6 if v6.contains(':') => format!("[{v6}]"),
        name => name.to_owned(),
    };
    let port = if port.parse::<u16>().is_ok() { port } else { "11434" };
    let path = path.trim_end_matches('/');
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{name}:{port}{slash}{path}/v1")
}

fn names(providers: &BTreeMap<String, ProviderSettings>) -> Vec<&str> {
    let mut names: Vec<&str> = BUILTIN.iter().map(|builtin| builtin.name).collect();
    names.extend([DEMO, SCRIPTED]);
    names.extend(providers.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    names
}

fn known(providers: &BTreeMap<String, ProviderSettings>) -> String {
    names(providers).join(", ")
}

/// The known name that a slip of the pen may have turned into `provider`.
fn nearest<'a>(provider: &str, providers: &'a BTreeMap<String, ProviderSettings>) -> Option<&'a str> {
    let provider = provider.to_lowercase();
    let aliases = [("google", "gemini"), ("claude", "anthropic"), ("gpt", "openai")];
    if let Some((_, name)) = aliases.iter().find(|(alias, _)| *alias == provider) {
        return Some(name);
    }
    let near = names(providers).into_iter().map(|name| (distance(&provider, name), name));
    // A third of the word wrong is another word.
    near.filter(|(distance, name)| distance * 3 <= name.len()).min().map(|(_, name)| name)
}

/// Levenshtein's.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(&b) {
            let above = *cell;
            left = (diagonal + usize::from(from != *to)).min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    fn error(id: &str) -> String {
        resolve(id, &BTreeMap::new(), &none).unwrap_err().to_string()
    }

    const KNOWN: &str = "anthropic, demo, gemini, ollama, openai, openai-responses, openrouter, scripted";

    #[test]
    fn a_name_may_hold_colons_and_slashes() {
        for (id, provider, name) in [
            ("openai:gpt-5.2", "openai", "gpt-5.2"),
            ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
            ("openrouter:anthropic/claude-opus-4.5:beta", "openrouter", "anthropic/claude-opus-4.5:beta"),
            ("demo", "demo", ""),
        ] {
            let parsed: ModelId = id.parse().unwrap();
            assert_eq!((parsed.provider(), parsed.name(), parsed.to_string().as_str()), (provider, name, id));
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        for id in ["gpt-5", "", ":x", "openai:"] {
            let said = error(id);
            let expected = format!(
                "`{id}` is not a model id: write `provider:name`, where the provider is one of {KNOWN}"
            );
            assert_eq!(said, expected);
        }
        assert_eq!(
            error("antropic:x"),
            format!("there is no model provider `antropic` (did you mean `anthropic`?): known are {KNOWN}")
        );
        assert_eq!(
            error("Google:x"),
            format!("there is no model provider `Google` (did you mean `gemini`?): known are {KNOWN}")
        );
        assert_eq!(error("bedrock:x"), format!("there is no model provider `bedrock`: known are {KNOWN}"));
    }

    #[cfg(feature = "providers")]
    #[test]
    fn keys_are_asked_for_by_variable_unless_the_server_is_here() {
        assert_eq!(
            error("anthropic:claude"),
            "the model provider `anthropic` needs a key: set the environment variable ANTHROPIC_API_KEY"
        );
        assert!(resolve("ollama:qwen3", &BTreeMap::new(), &none).is_ok());
        let local = |name: &str| (name == "OPENAI_BASE_URL").then(|| "http://127.0.0.1:8080/v1".to_owned());
        assert_eq!(resolve("openai:qwen3", &BTreeMap::new(), &local).unwrap().id(), "openai:qwen3");
    }

    #[cfg(feature = "providers")]
    #[test]
    fn a_bad_base_url_is_named_without_its_password() {
        let env = |name: &str| (name == "GEMINI_BASE_URL").then(|| "ftp://me:secret@host".to_owned());
        let said = resolve("gemini:x", &BTreeMap::new(), &env).unwrap_err().to_string();
        assert!(said.contains("`ftp://host`") && !said.contains("secret"), "{said}");
    }

    #[cfg(not(feature = "providers"))]
    #[test]
    fn without_the_feature_real_providers_say_so() {
        assert_eq!(
            error("openai:x"),
            "the model provider `openai` needs a build with the cargo feature `providers`"
        );
    }

    #[test]
    fn the_operator_adds_and_changes_providers() {
        let providers: BTreeMap<String, ProviderSettings> = toml::from_str(
            r#"
            lab = { kind = "openai", base-url = "http://10.0.0.7:8000/v1" }
            groq = { kind = "openai", base-url = "https://api.groq.com/openai/v1", api-key-env = "GROQ_API_KEY" }
            anthropic = { kind = "anthropic", base-url = "https://proxy.example" }
            second = { kind = "gemini" }
            "#,
        )
        .unwrap();
        let at = |name: &str| {
            let place = place(name, providers.get(name), &providers, &none).unwrap();
            (place.kind, place.base_url, place.api_key_env)
        };
        assert_eq!(at("lab"), (ProviderKind::Openai, "http://10.0.0.7:8000/v1".into(), None));
        assert_eq!(at("groq").2.as_deref(), Some("GROQ_API_KEY"));
        assert_eq!(at("anthropic").1, "https://proxy.example");
        assert_eq!(at("anthropic").2.as_deref(), Some("ANTHROPIC_API_KEY"));
        assert_eq!(at("second").2.as_deref(), Some("GEMINI_API_KEY"));
        assert!(toml::from_str::<ProviderSettings>("kind = 'openai'\nurl = 'x'").is_err());
    }

    #[test]
    fn ollama_host_is_read_as_ollama_reads_it() {
        for (host, expected) in [
            ("example.com", "http://example.com:11434/v1"),
            ("example.com:1234", "http://example.com:1234/v1"),
            ("http://example.com", "http://example.com:80/v1"),
            ("https://example.com", "https://example.com:443/v1"),
            ("https://example.com:8443/ollama/", "https://example.com:8443/ollama/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            (":8080", "http://127.0.0.1:8080/v1"),
            ("[::1]:9", "http://[::1]:9/v1"),
            ("::1", "http://[::1]:11434/v1"),
            ("example.com:99999", "http://example.com:11434/v1"),
            (" \"example.com\" ", "http://example.com:11434/v1"),
        ] {
            assert_eq!(ollama(host), expected, "{host}");
        }
    }
}
