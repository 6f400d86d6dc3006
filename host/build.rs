//! Puts the sources of `lathe-guest` into the binary: `lathe new` gives each extension a copy.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![root.join("Cargo.toml")];
    for folder in ["guest-sdk/src", "guest-sdk/wit", "guest-sdk/macros/src"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), &mut files)?;
    }
    files.extend(["guest-sdk/Cargo.toml", "guest-sdk/macros/Cargo.toml"].map(|file| root.join(file)));
    let mut code =
        String::from("/// Paths in the repository, and what is there.\nconst FILES: &[(&str, &str)] = &[\n");
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string().replace('\\', "/");
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string());
    }
    code += "];\n";
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("sdk.rs"), code)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
