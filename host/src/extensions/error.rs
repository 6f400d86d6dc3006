use std::path::PathBuf;

use super::manifest::ManifestError;
use crate::hooks::Failure;

/// Why a file of the extensions folder was not loaded. The others are.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {reason}{}", .file.display(), if *.kept { KEPT } else { "" })]
pub struct LoadError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it, and what to do.
    pub reason: LoadReason,
    /// Whether the version that was loaded before stays in use until the file is mended.
    pub kept: bool,
}

const KEPT: &str = "; the version that was loaded before stays in use";

/// What is wrong with a file of the extensions folder.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadReason {
    /// It could not be read.
    #[error("cannot read it: {0}")]
    Read(String),
    /// It is no WebAssembly at all.
    #[error("it is not a WebAssembly file")]
    NotWasm,
    /// It is a module, not a component.
    #[error(
        "it is a WebAssembly module, not a component; build it for wasm32-wasip2, or turn it into a component with `wasm-tools component new`"
    )]
    CoreModule,
    /// It does not compile.
    #[error("it is not a valid component: {0}")]
    Invalid(String),
    /// It was made for another contract.
    #[error(
        "it was built for lathe:extension@{found}, and this host speaks {offered}; rebuild it with a matching `lathe-guest`"
    )]
    Version {
        /// What the file was built for.
        found: String,
        /// What the host speaks.
        offered: String,
    },
    /// It exports nothing of the contract.
    #[error("it is a component, but no Lathe extension: it does not export {missing}")]
    World {
        /// The first interface that is missing.
        missing: String,
    },
    /// It asks for imports that the host does not have, or in another form.
    #[error("it does not link: {0}")]
    Link(String),
    /// `describe` failed.
    #[error("it could not describe itself: {0}")]
    Describe(Failure),
    /// The manifest is not usable.
    #[error("{0}")]
    Manifest(#[from] ManifestError),
    /// The operator's settings do not fit its schema.
    #[error(
        "the settings of \"{name}\" do not fit: {reason}; they stand under [extension.{name}.settings] in lathe.toml"
    )]
    Settings {
        /// Its name.
        name: String,
        /// Which field, and what is wrong with it.
        reason: String,
    },
    /// One of its tools would be offered under the name of another's.
    #[error("its tool would be offered as \"{tool}\", as one of \"{other}\" already is; rename one of them")]
    ToolClash {
        /// The full name.
        tool: String,
        /// The extension that was there before.
        other: String,
    },
    /// Its name is taken.
    #[error(
        "its name \"{name}\" clashes with \"{other}\" of {}: their tools would have the same names; rename one of them", .other_file.display()
    )]
    NameClash {
        /// Its name.
        name: String,
        /// The name that was there before.
        other: String,
        /// Where that one is from.
        other_file: PathBuf,
    },
}
