//! The road of an extension's author: a new crate, its tests, the build, and the tests in the sandbox.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use lathe_tests::binary::{Folder, Ran, lathe, ran};
use lathe_tests::guests::target;

/// A command of the author's, in a folder. What it builds is kept between runs of this test.
fn author(mut command: Command, folder: &Path) -> Ran {
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG") || name.starts_with("CARGO_MANIFEST"))
        {
            command.env_remove(name);
        }
    }
    // What the repository's tests have fetched is all that it needs.
    command.env("CARGO_TARGET_DIR", target().join("author")).env("CARGO_NET_OFFLINE", "true");
    command.current_dir(folder);
    ran(command)
}

#[test]
fn a_new_extension_works_at_once() {
    let folder = Folder::new();
    let made = folder.lathe(&["new", "hello"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(made.err.contains("cargo test && lathe build"), "{}", made.err);
    let hello = folder.path().join("hello");

    let mut cargo = Command::new(env!("CARGO"));
    cargo.arg("test");
    let tested = author(cargo, &hello);
    assert!(tested.code == Some(0) && tested.out.contains("5 passed"), "{}\n{}", tested.out, tested.err);

    let built = author(folder.command(&["build"]), &hello);
    assert_eq!(built.code, Some(0), "{}", built.err);
    let component = std::fs::read(hello.join("hello.wasm")).unwrap();

    let tested = author(folder.command(&["test", "--sandbox"]), &hello);
    assert!(tested.code == Some(0) && tested.out.contains("5 passed"), "{}\n{}", tested.out, tested.err);
    assert!(hello.join(".lathe/cache").is_dir(), "the component was compiled, so it was the sandbox");

    // A component that does something else than the crate: only the sandbox notices.
    let lib = hello.join("src/lib.rs");
    let text = std::fs::read_to_string(&lib).unwrap();
    let wrong = text.replace("Ok(format!(\"{greeting}, {name}!\"))", "Ok(if cfg!(target_family = \"wasm\") { panic!(\"not here\") } else { format!(\"{greeting}, {name}!\") })");
    assert_ne!(wrong, text);
    std::fs::write(&lib, wrong).unwrap();
    let failed = author(folder.command(&["test", "--sandbox"]), &hello);
    assert_eq!(failed.code, Some(1), "{}\n{}", failed.out, failed.err);
    assert!(failed.out.contains("not here") && failed.out.contains("greeting number 1"), "{}", failed.out);
    std::fs::write(&lib, text).unwrap();

    let installed = Command::new("cargo-component").arg("--version").output().is_ok();
    if !installed {
        println!("cargo-component is not installed: its build is not tried");
        return;
    }
    let mut component_build = Command::new("cargo-component");
    component_build.args(["component", "build", "--release"]);
    let built = author(component_build, &hello);
    assert_eq!(built.code, Some(0), "{}", built.err);
    let other = target().join("author/wasm32-wasip1/release/hello.wasm");
    assert_same(&folder, &component, &std::fs::read(&other).unwrap());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.arg("test").env("LATHE_SANDBOX", lathe()).env("LATHE_SANDBOX_FILE", other);
    let tested = author(cargo, &hello);
    assert!(tested.code == Some(0) && tested.out.contains("5 passed"), "{}\n{}", tested.out, tested.err);
}

/// Both components say the same of themselves.
fn assert_same(folder: &Folder, one: &[u8], other: &[u8]) {
    let shown = |name: &str, bytes: &[u8]| {
        folder.write(name, bytes);
        let shown = folder.lathe(&["inspect", name, "--json"]);
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        let mut shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
        for field in ["file", "digest", "imports", "exports"] {
            shown[field].take();
        }
        shown
    };
    assert_eq!(shown("one.wasm", one), shown("other.wasm", other));
}

#[test]
fn what_cannot_be_made_is_told() {
    let folder = Folder::new();
    let refused = folder.lathe(&["new", "Hello World"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("is no name for an extension"),
        "{}",
        refused.err
    );
    folder.write("there/file", "");
    let refused = folder.lathe(&["new", "there"]);
    assert!(refused.code == Some(2) && refused.err.contains("is there already"), "{}", refused.err);
}
