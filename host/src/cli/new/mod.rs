//! `lathe new`: a small extension that works at once.

mod sdk;

use std::io::{self, Write};
use std::path::Path;

use super::Done;
use super::args::{Language, NewArgs};
use super::build::template;
use super::problem::Problem;
use super::style::{GOOD, bold, dim};

/// A file of a template: where it goes, and its text, in which `{{name}}`, `{{Name}}` and `{{sdk}}` are filled in.
type File = (&'static str, &'static str);

const RUST: [File; 5] = [
    ("Cargo.toml", include_str!("../../../templates/rust/Cargo.toml")),
    ("README.md", include_str!("../../../templates/rust/README.md")),
    (".gitignore", include_str!("../../../templates/rust/gitignore")),
    ("src/lib.rs", include_str!("../../../templates/rust/src/lib.rs")),
    ("src/tests.rs", include_str!("../../../templates/rust/src/tests.rs")),
];

pub(super) fn run(args: &NewArgs) -> Result<Done, Problem> {
    let path = &args.path;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    check(name)?;
    if path.exists() {
        return Err(Problem::new(format!("{} is there already", path.display()))
            .hint("choose another name, or remove it first"));
    }
    let made = match args.lang {
        Language::Rust => make(path, name, &RUST),
        Language::JavaScript => write(path, &template::javascript(name)),
        Language::Python => write(path, &template::python(name)),
    };
    made.map_err(|error| Problem::new(format!("cannot make {}: {error}", path.display())))?;
    let mut err = anstream::stderr();
    let _ = writeln!(err, "{} the extension {name} in {}", bold(GOOD, "made"), path.display());
    let next = match args.lang {
        Language::Rust => "cargo test && lathe build && lathe test --sandbox",
        Language::JavaScript | Language::Python => "lathe test && lathe build && lathe test --sandbox",
    };
    let next = format!("cd {} && {next}", path.display());
    let _ = writeln!(err, "{}", dim(&next));
    Ok(Done::Well)
}

/// An extension's name that is a crate's too.
fn check(name: &str) -> Result<(), Problem> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    // What an extension may have, less what a crate may not be called.
    if starts && name.chars().all(fits) && name.len() <= 64 && !["test", "core", "std"].contains(&name) {
        return Ok(());
    }
    Err(Problem::new(format!("\"{name}\" is no name for an extension"))
        .hint("a name is made of a-z, 0-9 and -, begins with a letter, and has at most 64 characters"))
}

fn make(folder: &Path, name: &str, files: &[File]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let sdk = sdk::provide(folder)?;
    let sdk = sdk.to_string_lossy().replace('\\', "/");
    let fill = |text: &str| {
        text.replace("{{name}}", name).replace("{{Name}}", &title(name)).replace("{{sdk}}", &sdk)
    };
    let files: Vec<(String, String)> =
        files.iter().map(|(path, text)| ((*path).to_owned(), fill(text))).collect();
    write(folder, &files)
}

fn write(folder: &Path, files: &[(String, String)]) -> io::Result<()> {
    for (path, text) in files {
        let file = folder.join(path);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, text)?;
    }
    Ok(())
}

/// `my-notes` as `MyNotes`.
fn title(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_extensions_and_crates() {
        for good in ["hello", "a-b", "x1"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "Hello", "1x", "a_b", "a b", "test", "-a"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert_eq!(title("my-notes2"), "MyNotes2");
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("hello"), "hello", &RUST).unwrap();
        for (path, _) in RUST {
            let text = std::fs::read_to_string(folder.path().join("hello").join(path)).unwrap();
            assert!(!text.contains("{{"), "{path}");
        }
    }
}
