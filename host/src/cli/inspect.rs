use serde_json::json;

use super::Done;
use super::args::InspectArgs;
use super::ext::words;
use super::host;
use super::print::whole;
use super::problem::Problem;
use super::style::clip;
use crate::config::Config;
use crate::extensions::{Extension, Interfaces, LoadError};
use crate::hooks::Condition;

pub(super) async fn run(args: InspectArgs, config: Config) -> Result<Done, Problem> {
    let loader = host::loader(&config)?;
    let interfaces = loader.interfaces(&args.file).await?;
    let loaded = loader.load_files(vec![args.file.clone()]).await;
    drop(loader);
    let Some(extension) = loaded.extensions.first() else {
        // A component, but no extension: what it is made of says why.
        if args.json {
            whole(&format!("{:#}\n", json!({"imports": interfaces.imports, "exports": interfaces.exports})))?;
        } else {
            whole(&rows(&names(&interfaces)))?;
        }
        return Err(loaded
            .errors
            .into_iter()
            .next()
            .map_or_else(|| Problem::new("it was not loaded"), Problem::from));
    };
    if args.json {
        let mut shown = extension.about();
        shown["health"] = json!(Condition::Ready);
        shown["imports"] = json!(interfaces.imports);
        shown["exports"] = json!(interfaces.exports);
        return whole(&format!("{shown:#}\n"));
    }
    whole(&rows(&[about(extension), names(&interfaces)].concat()))
}

type Row = (&'static str, Vec<String>);

fn about(extension: &Extension) -> Vec<Row> {
    let manifest = &extension.manifest;
    let tools =
        manifest.tools.iter().map(|tool| format!("{}: {}", manifest.tool_name(tool), tool.description));
    vec![
        ("name", vec![manifest.name.clone()]),
        ("version", vec![manifest.version.clone()]),
        ("description", vec![manifest.description.clone()]),
        ("file", vec![extension.file.display().to_string()]),
        ("digest", vec![extension.digest.clone()]),
        ("hooks", manifest.hooks.iter().map(|hook| hook.name().to_owned()).collect()),
        ("tools", tools.collect()),
        ("asked", vec![words(manifest.permissions.asked())]),
        ("granted", vec![words(extension.grant.names())]),
        ("health", vec!["ready".into()]),
    ]
}

fn names(interfaces: &Interfaces) -> Vec<Row> {
    vec![("imports", interfaces.imports.clone()), ("exports", interfaces.exports.clone())]
}

/// A name, and beside it its values, one a line.
fn rows(rows: &[Row]) -> String {
    let mut text = String::new();
    for (name, values) in rows {
        let none = ["-".to_owned()];
        let values = if values.is_empty() { &none[..] } else { values };
        for (number, value) in values.iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            text += format!("{name:<11}  {}", clip(value, usize::MAX)).trim_end();
            text.push('\n');
        }
    }
    text
}

impl From<LoadError> for Problem {
    fn from(error: LoadError) -> Self {
        Self::new(error.to_string())
            .hint("an extension is a component that exports lathe:extension, as `lathe build` makes")
    }
}
