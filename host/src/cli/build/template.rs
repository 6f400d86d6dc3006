//! What a new extension in JavaScript or Python starts with: its files, and the author's side beside them, so that its
//! tests run at once and editors know the types. `lathe build` has an author's side of its own.

use super::project::Language;

macro_rules! template {
    ($folder:literal: $($file:literal => $path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../../../templates/", $folder, "/", $file)))),*]
    };
}

/// Paths and texts of a new extension in JavaScript.
pub(in crate::cli) fn javascript(name: &str) -> Vec<(String, String)> {
    let files = template!("js": "package.json" => "package.json", "index.js" => "index.js",
        "index.test.js" => "index.test.js", "gitignore" => ".gitignore");
    with_side(name, &files, Language::JavaScript)
}

/// Paths and texts of a new extension in Python.
pub(in crate::cli) fn python(name: &str) -> Vec<(String, String)> {
    let files = template!("python": "pyproject.toml" => "pyproject.toml", "app.py" => "app.py",
        "test_app.py" => "test_app.py", "gitignore" => ".gitignore");
    with_side(name, &files, Language::Python)
}

fn with_side(name: &str, own: &[(&str, &str)], language: Language) -> Vec<(String, String)> {
    let own = own.iter().map(|(path, text)| ((*path).to_owned(), text.replace("NAME", name)));
    let side = language.side().into_iter().flatten();
    own.chain(side.map(|(path, text)| (format!("lathe/{path}"), (*text).to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::project::Project;
    use super::*;

    fn written(files: Vec<(String, String)>, folder: &Path) -> Project {
        for (path, text) in files {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        Project::of(folder).unwrap().unwrap()
    }

    #[test]
    fn what_is_written_can_be_built_under_its_name() {
        for files in [javascript("hello-1"), python("hello-1")] {
            let folder = tempfile::tempdir().unwrap();
            assert_eq!(written(files, folder.path()).about.name, "hello-1");
            assert!(!std::fs::read_to_string(folder.path().join(".gitignore")).unwrap().is_empty());
        }
    }
}
