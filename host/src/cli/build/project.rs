//! Folders that hold an extension in JavaScript or Python.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Which compiler, and which author's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Language {
    JavaScript,
    Python,
}

/// An extension's folder, told by its `package.json` with a `"lathe"` entry or its `pyproject.toml` with `[tool.lathe]`.
#[derive(Debug)]
pub(in crate::cli) struct Project {
    pub(in crate::cli) folder: PathBuf,
    pub(in crate::cli) language: Language,
    pub(in crate::cli) about: About,
    /// The file that defines the extension, below the folder.
    pub(in crate::cli) main: String,
    /// Whether packages beside its own files are part of it.
    pub(in crate::cli) has_packages: bool,
}

/// What the extension need not say itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct About {
    pub(in crate::cli) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

#[derive(Deserialize)]
struct PackageJson {
    #[serde(flatten)]
    about: About,
    main: Option<String>,
    #[serde(default)]
    dependencies: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct PyProject {
    project: About,
    tool: Tool,
}

#[derive(Deserialize)]
struct Tool {
    lathe: Lathe,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lathe {
    #[serde(default = "app")]
    main: String,
}

fn app() -> String {
    "app.py".into()
}

impl Project {
    /// None if the folder holds no such extension. The error is one for people.
    pub(in crate::cli) fn of(folder: &Path) -> Option<Result<Self, String>> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        if let Some(text) = read("package.json")
            && serde_json::from_str(&text).is_ok_and(|json: serde_json::Value| json.get("lathe").is_some())
        {
            return Some(Self::javascript(folder, &text));
        }
        let text = read("pyproject.toml")?;
        let marked = toml::from_str(&text).is_ok_and(|table: toml::Table| {
            table.get("tool").is_some_and(|tool| tool.get("lathe").is_some())
        });
        marked.then(|| Self::python(folder, &text))
    }

    /// The folder itself, or else those directly below it, by name.
    pub(in crate::cli) fn all(dir: &Path) -> io::Result<Vec<(PathBuf, Result<Self, String>)>> {
        if let Some(project) = Self::of(dir) {
            return Ok(vec![(dir.to_owned(), project)]);
        }
        let mut projects = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let folder = entry?.path();
            if let Some(project) = Self::of(&folder) {
                projects.push((folder, project));
            }
        }
        projects.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(projects)
    }

    fn javascript(folder: &Path, text: &str) -> Result<Self, String> {
        let package: PackageJson =
            serde_json::from_str(text).map_err(|error| format!("package.json: {error}"))?;
        Self {
            folder: folder.to_owned(),
            language: Language::JavaScript,
            about: package.about,
            main: package.main.unwrap_or_else(|| "index.js".into()),
            has_packages: !package.dependencies.is_empty(),
        }
        .checked()
    }

    fn python(folder: &Path, text: &str) -> Result<Self, String> {
        let project: PyProject = toml::from_str(text).map_err(|error| format!("pyproject.toml: {error}"))?;
        let main = project.tool.lathe.main;
        let module = main.strip_suffix(".py").unwrap_or_default();
        let mut letters = module.chars();
        let word = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !word {
            return Err(format!(
                "pyproject.toml: main = \"{main}\" is no module beside it, such as \"app.py\""
            ));
        }
        let has_packages = false;
        Self {
            folder: folder.to_owned(),
            language: Language::Python,
            about: project.project,
            main,
            has_packages,
        }
        .checked()
    }

    fn checked(self) -> Result<Self, String> {
        let name = &self.about.name;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        {
            return Err(format!("its name \"{name}\" is not made of a-z, 0-9 and -"));
        }
        if !self.folder.join(&self.main).is_file() {
            return Err(format!("there is no {}", self.folder.join(&self.main).display()));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> Option<Result<Project, String>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Project::of(folder.path())
    }

    #[test]
    fn a_folder_counts_if_it_says_so() {
        assert!(project(&[("package.json", r#"{"name": "site"}"#), ("index.js", "")]).is_none());
        assert!(project(&[("pyproject.toml", "[project]\nname = \"site\""), ("app.py", "")]).is_none());
        let javascript = r#"{"name": "a-1", "version": "1.0.0", "lathe": {}, "main": "it.js"}"#;
        let found = project(&[("package.json", javascript), ("it.js", "")]).unwrap().unwrap();
        assert_eq!(
            (found.language, &*found.main, found.has_packages),
            (Language::JavaScript, "it.js", false)
        );
        assert_eq!(serde_json::to_string(&found.about).unwrap(), r#"{"name":"a-1","version":"1.0.0"}"#);
        let python = "[project]\nname = \"b\"\n[tool.lathe]\n";
        let found = project(&[("pyproject.toml", python), ("app.py", "")]).unwrap().unwrap();
        assert_eq!((found.language, &*found.main), (Language::Python, "app.py"));
    }

    #[test]
    fn what_is_wrong_with_it_is_said() {
        let said = |files: &[(&str, &str)]| project(files).unwrap().unwrap_err();
        assert!(said(&[("package.json", r#"{"name": "a", "lathe": {}}"#)]).contains("index.js"));
        let scoped = said(&[("package.json", r#"{"name": "@a/b", "lathe": {}}"#), ("index.js", "")]);
        assert_eq!(scoped, "its name \"@a/b\" is not made of a-z, 0-9 and -");
        assert!(said(&[("package.json", r#"{"lathe": {}}"#)]).contains("missing field `name`"));
        let dotted = "[project]\nname = \"b\"\n[tool.lathe]\nmain = \"src/app.py\"";
        assert!(said(&[("pyproject.toml", dotted)]).contains("is no module beside it"));
        let unknown = "[project]\nname = \"b\"\n[tool.lathe]\nmodule = \"app\"";
        assert!(said(&[("pyproject.toml", unknown)]).contains("unknown field `module`"));
    }
}
