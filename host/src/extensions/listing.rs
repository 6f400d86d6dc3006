//! What is known of extensions, as JSON.

use std::path::Path;

use serde_json::json;

use super::admit::Found;
use super::error::LoadError;
use super::extension::{Extension, ExtensionSettings};
use super::grant::Grant;
use super::manifest::Manifest;
use crate::turn::Json;

impl Extension {
    /// What it is and may do: `name`, `version`, `description`, `file`, `digest`, `hooks`, `tools` under the names in
    /// which a model is offered them, and `permissions` with what is `asked` and what is `granted`.
    #[must_use]
    pub fn about(&self) -> Json {
        about(&self.file, &self.digest, &self.manifest, &self.grant)
    }

    /// The same with its `limits`, as `lathe.toml` names them, and how it fares: the fields of
    /// [`Health`](super::Health), with the `condition` as `health`.
    #[must_use]
    pub fn listing(&self) -> Json {
        let mut listing = self.about();
        listing["limits"] = json!(self.limits);
        if let (Json::Object(listing), Json::Object(mut fields)) = (&mut listing, json!(self.health())) {
            listing.insert("health".into(), fields.remove("condition").unwrap_or_default());
            listing.extend(fields);
        }
        listing
    }
}

impl Found {
    /// What it is and might do with these settings, as [`Extension::listing`] says it, with the health `disabled`.
    #[must_use]
    pub fn listing(&self, settings: &ExtensionSettings) -> Json {
        let Self { file, digest, manifest } = self;
        let mut listing = about(file, digest, manifest, &settings.grant.within(manifest));
        listing["limits"] = json!(settings.limits);
        listing["health"] = "disabled".into();
        listing
    }
}

impl LoadError {
    /// The `file`, the health `failed`, and why, as `error`.
    #[must_use]
    pub fn listing(&self) -> Json {
        json!({
            "file": self.file.display().to_string(),
            "health": "failed",
            "error": self.reason.to_string(),
        })
    }
}

fn about(file: &Path, digest: &str, manifest: &Manifest, grant: &Grant) -> Json {
    let tools = manifest.tools.iter().map(|tool| {
        let mut shown = json!(tool);
        shown["name"] = manifest.tool_name(tool).into();
        shown
    });
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "file": file.display().to_string(),
        "digest": digest,
        "hooks": manifest.hooks,
        "tools": tools.collect::<Vec<Json>>(),
        "permissions": {"asked": manifest.permissions, "granted": grant},
    })
}
