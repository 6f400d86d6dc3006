//! `lathe.toml`: what the operator has set.
//!
//! Plain data, read and checked. May use the settings types of `extensions`, `model` and `recovery`; acts on nothing.

mod error;
mod recovery;
mod server;
mod settings;
mod telemetry;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[cfg(feature = "cli")]
pub(crate) use error::nearest;
pub use error::{ConfigError, Mistake};
pub use recovery::{Overflow, Recovery};
pub use server::{Server, ServerToken};
pub use telemetry::Telemetry;

use crate::extensions::{ExtensionSettings, Grant, Limits};
use crate::model::ProviderSettings;
use crate::turn::JsonObject;

/// The file that is read when none is named.
pub const FILE: &str = "lathe.toml";

const SYSTEM: &str = "You are a helpful assistant. Use the tools on offer where they help. \
    If you do not know something, or a tool fails, say so.";

/// The configuration. Every key has a default.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// `provider:name`, or `demo`.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The most steps of a turn.
    pub max_steps: NonZeroU32,
    /// The tokens of a conversation at which it is shortened after a turn; none for never.
    pub compact_after: Option<NonZeroU64>,
    /// The longest time between two parts of a turn's stream, in milliseconds, time in tools included; none for no limit.
    pub stall_timeout_ms: Option<NonZeroU64>,
    /// How often a turn is taken up that was cut off.
    pub recovery: Recovery,
    /// What becomes of a conversation that is too long for the model.
    pub context_overflow: Overflow,
    /// The folder of the database and of the compile cache.
    pub data: PathBuf,
    /// Which extensions, and in which order.
    pub extensions: Extensions,
    /// What is set for single extensions, by name.
    pub extension: BTreeMap<String, ExtensionSection>,
    /// Model providers added or changed, by name.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// What `lathe serve` listens on, and whom it lets in.
    pub server: Server,
    /// Where traces of turns go.
    pub telemetry: Telemetry,
    /// The file that was read; none if these are the defaults.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// `[extensions]`: which extensions, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Extensions {
    /// The folder; must exist if it is set. Default: `extensions`, if there.
    pub dir: Option<PathBuf>,
    /// Names of those that come first; the others follow by file name.
    pub order: Vec<String>,
    /// Instances of all of them together at once, for turns, and as many for tool calls; 2,000 unless set, which is
    /// also the most.
    pub instances: Option<NonZeroUsize>,
}

/// `[extension.NAME]`: what is set for one extension.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ExtensionSection {
    /// Whether it is loaded. Default: true.
    pub enabled: bool,
    /// What its `settings` returns.
    #[serde(deserialize_with = "settings::json")]
    pub settings: JsonObject,
    /// What it may use.
    pub limits: Limits,
    /// What it may do, as far as it asks for it.
    pub grant: Grant,
}

impl Default for ExtensionSection {
    fn default() -> Self {
        Self {
            enabled: true,
            settings: JsonObject::default(),
            limits: Limits::default(),
            grant: Grant::default(),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            model: "demo".into(),
            system: SYSTEM.into(),
            max_steps: NonZeroU32::MIN.saturating_add(9),
            compact_after: None,
            stall_timeout_ms: None,
            recovery: Recovery::default(),
            context_overflow: Overflow::default(),
            data: ".lathe".into(),
            extensions: Extensions::default(),
            extension: BTreeMap::new(),
            providers: BTreeMap::new(),
            server: Server::default(),
            telemetry: Telemetry::default(),
            file: None,
        }
    }
}

impl Config {
    /// Reads `file`, which must exist; or else [`FILE`] of the current folder, if there; or else the defaults.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has something in it that is not known or of the wrong type.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let (path, text) = match (file, std::fs::read_to_string(file.unwrap_or(Path::new(FILE)))) {
            (file, Ok(text)) => (file.unwrap_or(Path::new(FILE)), text),
            (None, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            (file, Err(error)) => {
                return Err(ConfigError::Read { file: file.unwrap_or(Path::new(FILE)).to_owned(), error });
            }
        };
        Ok(Self::parse(&text, path)?)
    }

    /// Reads the text of `file`. Relative paths in it are taken from the file's folder.
    ///
    /// # Errors
    ///
    /// If something in it is not known or of the wrong type.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Box<Mistake>> {
        let mut config: Self = toml::from_str(text).map_err(|error| Mistake::new(file, text, &error))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        config.data = folder.join(&config.data);
        config.extensions.dir = config.extensions.dir.map(|dir| folder.join(dir));
        if let Some(script) = config.model.strip_prefix("scripted:") {
            config.model = format!("scripted:{}", folder.join(script).display());
        }
        for section in config.extension.values_mut() {
            section.grant = std::mem::take(&mut section.grant).relative_to(folder);
        }
        config.file = Some(file.to_owned());
        Ok(config)
    }

    /// The folder of the extensions.
    #[must_use]
    pub fn extensions_dir(&self) -> &Path {
        self.extensions.dir.as_deref().unwrap_or(Path::new("extensions"))
    }

    /// The file of the sessions.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.data.join("lathe.db")
    }

    /// The folder of compiled extensions.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.data.join("cache")
    }

    /// The folder of what extensions have logged.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.data.join("logs")
    }

    /// What is set for single extensions, as the loader takes it.
    #[must_use]
    pub fn extension_settings(&self) -> BTreeMap<String, ExtensionSettings> {
        let sections = self.extension.clone().into_iter();
        sections
            .map(|(name, ExtensionSection { enabled, settings, limits, grant })| {
                (name, ExtensionSettings { enabled, settings, limits, grant })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse(text, Path::new("conf/lathe.toml")).unwrap()
    }

    #[test]
    fn nothing_set_is_the_defaults() {
        let file = Some("lathe.toml".into());
        assert_eq!(Config::parse("", Path::new("lathe.toml")).unwrap(), Config { file, ..Config::default() });
        assert_eq!(Config::default().max_steps.get(), 10);
        assert_eq!(Config::default().extensions_dir(), Path::new("extensions"));
    }

    #[test]
    fn paths_are_taken_from_the_files_folder() {
        let config = parse("model = \"scripted:s.json\"\ndata = \"state\"\n[extensions]\ndir = \"/opt/x\"");
        assert_eq!(config.model, "scripted:conf/s.json");
        assert_eq!(config.database(), Path::new("conf/state/lathe.db"));
        assert_eq!(config.cache(), Path::new("conf/state/cache"));
        assert_eq!(config.extensions_dir(), Path::new("/opt/x"));
        assert_eq!(parse("[extensions]\ndir = \"e\"").extensions_dir(), Path::new("conf/e"));
    }

    #[test]
    fn an_extension_gets_its_settings_as_json_and_its_limits() {
        let config = parse(
            "[extension.a]\nsettings = { z = [1, 2.5, true], since = 2026-01-02, in = { x = \"y\" } }\n\
             [extension.a.limits]\nfuel-per-call = 7\n[extension.b]\n[extension.c]\nenabled = false",
        );
        let mut settings = config.extension_settings();
        let a = settings.remove("a").unwrap();
        assert_eq!(json!(a.settings), json!({"z": [1, 2.5, true], "since": "2026-01-02", "in": {"x": "y"}}));
        assert_eq!(a.limits, Limits { fuel_per_call: 7, ..Limits::default() });
        assert_eq!(settings.remove("b").unwrap(), ExtensionSettings::default());
        assert_eq!(
            settings.remove("c").unwrap(),
            ExtensionSettings { enabled: false, ..ExtensionSettings::default() }
        );
    }

    #[test]
    fn the_repositorys_own_file_is_good() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lathe.toml");
        let config = Config::load(Some(&file)).unwrap();
        assert_eq!(
            Config {
                file: None,
                data: Config::default().data,
                extensions: Extensions::default(),
                extension: BTreeMap::new(),
                ..config.clone()
            },
            Config::default()
        );
        assert!(config.extension["house-rules"].settings.contains_key("rules"));
    }

    #[test]
    fn a_file_that_is_named_must_be_there() {
        let error = Config::load(Some(Path::new("/nowhere/lathe.toml"))).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the configuration /nowhere/lathe.toml: "), "{error}");
    }
}
