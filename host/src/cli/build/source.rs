//! What goes into a component: the author's files, the author's side, the contract and the entry that joins them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::project::{Language, Project};

macro_rules! embedded {
    ($root:literal: $($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../../../../", $root, "/", $file)))),*]
    };
}

/// Names, below the folder that they are put into, and texts.
pub(super) type Files = &'static [(&'static str, &'static str)];

const WIT: Files =
    embedded!("wit": "bridge.wit", "hooks.wit", "manifest.wit", "tools.wit", "types.wit", "world.wit");

/// `guest-js/`, as far as it runs.
const JAVASCRIPT: Files = embedded!("guest-js": "answer.js", "bridge.js", "component.js", "index.d.ts", "index.js",
    "manifest.js", "package.json", "snapshot.js", "utf8.js", "words.js");

/// The host of its tests. New projects have both beside their own files.
const JAVASCRIPT_TESTS: Files = embedded!("guest-js": "contract.js", "sandbox.js", "testing.d.ts", "testing.js", "wire.js",
    "worker.js");

/// `guest-py/lathe/`, as far as it runs.
const PYTHON: Files = embedded!("guest-py/lathe": "__init__.py", "bridge.py", "component.py", "extension.py", "schema.py",
    "types.py");

const PYTHON_TESTS: Files = embedded!("guest-py/lathe": "sandbox.py", "testing.py", "wire.py");

/// The module that the compiler is given. No author's file has its name.
pub(super) const ENTRY: &str = "lathe_entry";

/// The author's side, where the author's files find it.
pub(in crate::cli) const SIDE: &str = "lathe";

/// Folders that are no part of an extension.
const PASSED_OVER: [&str; 6] = ["node_modules", "__pycache__", "venv", "target", "test", "tests"];

/// More folders in one another than this are links in a circle.
const DEPTH: usize = 24;

/// Everything that goes into one component, by its path in the folder of the compiler.
pub(super) struct Source(BTreeMap<String, Vec<u8>>);

impl Source {
    pub(super) fn of(project: &Project) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        gather(&project.folder, "", project.language, 0, &mut files)?;
        if project.has_packages {
            let packages = project.folder.join("node_modules");
            gather(&packages, "node_modules/", project.language, 0, &mut files)?;
        }
        let mut put = |folder: &str, embedded: Files| {
            for (name, text) in embedded {
                files.insert(format!("{folder}/{name}"), text.as_bytes().to_vec());
            }
        };
        put("wit", WIT);
        let [side, _] = project.language.side();
        put(SIDE, side);
        files.insert(format!("{ENTRY}.{}", project.language.suffix()), entry(project)?.into_bytes());
        Ok(Self(files))
    }

    /// Of everything in it, and of the compiler's name.
    pub(super) fn digest(&self, compiler: &str) -> String {
        let mut hash = Sha256::new();
        for part in [compiler.as_bytes()]
            .into_iter()
            .chain(self.0.iter().flat_map(|(name, content)| [name.as_bytes(), &content[..]]))
        {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        format!("{:x}", hash.finalize())
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        for (name, content) in &self.0 {
            let file = folder.join(name);
            if let Some(parent) = file.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(file, content)?;
        }
        Ok(())
    }
}

impl Language {
    /// The author's side: what runs, and what tests.
    pub(super) fn side(self) -> [Files; 2] {
        match self {
            Self::JavaScript => [JAVASCRIPT, JAVASCRIPT_TESTS],
            Self::Python => [PYTHON, PYTHON_TESTS],
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::JavaScript => "js",
            Self::Python => "py",
        }
    }

    /// Whether a file of this name is a source. Tests are for the author alone.
    fn takes(self, name: &str) -> bool {
        let Some((stem, suffix)) = name.rsplit_once('.') else { return false };
        match self {
            Self::JavaScript => ["js", "mjs", "json"].contains(&suffix) && !stem.ends_with(".test"),
            Self::Python => ["py", "json", "toml", "txt"].contains(&suffix) && !stem.starts_with("test_"),
        }
    }
}

/// Follows links: the author's side may be one.
fn gather(
    folder: &Path,
    at: &str,
    language: Language,
    depth: usize,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> io::Result<()> {
    if depth > DEPTH {
        return Err(io::Error::other(format!(
            "more than {DEPTH} folders in one another: {}",
            folder.display()
        )));
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.starts_with('.') || (depth == 0 && at.is_empty() && name == SIDE) {
            continue;
        }
        if path.is_dir() {
            if !PASSED_OVER.contains(&name) {
                gather(&path, &format!("{at}{name}/"), language, depth + 1, files)?;
            }
        } else if language.takes(name) {
            files.insert(format!("{at}{name}"), std::fs::read(&path)?);
        }
    }
    Ok(())
}

fn entry(project: &Project) -> io::Result<String> {
    let about = serde_json::to_string(&project.about)?;
    Ok(match project.language {
        Language::JavaScript => {
            let main = serde_json::to_string(&format!("./{}", project.main))?;
            include_str!("entry.js").replace("__MAIN__", &main).replace("__ABOUT__", &about)
        }
        Language::Python => {
            let main = project.main.trim_end_matches(".py");
            // A JSON text, as a JSON text: every one is a Python literal too.
            let about = serde_json::to_string(&about)?;
            include_str!("entry.py").replace("__MAIN__", main).replace("__ABOUT__", &about)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_what_runs_and_the_digest_is_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("package.json", r#"{"name": "a", "lathe": {}, "description": "\"it's\""}"#);
        for name in
            ["index.js", "lib/more.js", "index.test.js", "test/all.js", ".git/x.js", "node_modules/x/y.js"]
        {
            write(name, "export default {};");
        }
        let project = Project::of(folder.path()).unwrap().unwrap();
        let source = Source::of(&project).unwrap();
        let own: Vec<&str> =
            source.0.keys().map(String::as_str).filter(|name| !name.starts_with("lathe/")).collect();
        let wit =
            ["bridge", "hooks", "manifest", "tools", "types", "world"].map(|name| format!("wit/{name}.wit"));
        let mut expected = vec!["index.js", "lathe_entry.js", "lib/more.js", "package.json"];
        expected.extend(wit.iter().map(String::as_str));
        assert_eq!(own, expected);
        let before = source.digest("c");
        assert_eq!(Source::of(&project).unwrap().digest("c"), before);
        assert_ne!(source.digest("d"), before);
        write("lib/more.js", "export default 1;");
        assert_ne!(Source::of(&project).unwrap().digest("c"), before);
    }
}
