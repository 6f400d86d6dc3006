//! What guests and clients may send, given to the host: a corpus of inputs, and mutations of them from a fixed seed.
//!
//! `tests/fuzz/corpus/TARGET/` holds files whose names begin with `good-`, which the host takes, or `bad-`, which it
//! refuses. `cargo fuzz` looks for more of them (see `fuzz/`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::panic::catch_unwind;
use std::path::Path;

use lathe::extensions::fuzzing;
use lathe::server::fuzzing::frames;
use lathe_tests::guests::root;
use lathe_tests::mutation::Mutation;

type Target = fn(&[u8]) -> bool;

fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = root().join("tests/fuzz/corpus").join(name);
    let read = |file: &Path| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read(file).unwrap())
    };
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| read(&entry.unwrap().path())).collect();
    files.sort();
    files
}

/// Plays the corpus, then so many mutations of it.
fn play(name: &str, target: Target, mutations: usize) {
    let files = corpus(name);
    for (file, bytes) in &files {
        let (good, bad) = (file.starts_with("good-"), file.starts_with("bad-"));
        assert!(good != bad, "{name}/{file} is named neither good nor bad");
        assert_eq!(target(bytes), good, "{name}/{file}");
    }
    let seeds: Vec<&[u8]> = files.iter().map(|(_, bytes)| &**bytes).collect();
    let mut mutation = Mutation::new(1);
    let mut taken = 0;
    let failed = std::env::temp_dir().join(format!("lathe-fuzz-{name}"));
    for _ in 0..mutations {
        let bytes = mutation.of(&seeds);
        let played = catch_unwind(|| target(&bytes));
        if played.is_err() {
            std::fs::write(&failed, &bytes).unwrap();
        }
        assert!(played.is_ok(), "{name}: the host fails at {}", failed.display());
        taken += usize::from(played.unwrap());
    }
    assert!(0 < taken && taken < mutations, "{name}: {taken} of {mutations} mutations taken");
    let counts = format!("{name}: {} files, {mutations} mutations, {taken} of them taken", files.len());
    // Not `println`, which is heard of tests that fail alone.
    let mut out = std::io::stdout().lock();
    writeln!(out, "{counts}").unwrap();
}

#[test]
fn components() {
    play("component", fuzzing::component, 500);
}

#[test]
fn configs() {
    play("config", fuzzing::config, 4_000);
}

#[test]
fn frames_of_clients() {
    play("frames", frames, 500);
}

#[test]
fn manifests() {
    play("manifest", fuzzing::manifest, 4_000);
}

#[test]
fn urls() {
    play("url", fuzzing::url, 10_000);
}
