//! `docs/wit.md` is what the comments in `wit/` say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use lathe_tests::guests::root;
use lathe_tests::wit::{contract, reference};

#[test]
fn the_reference_is_what_the_contract_says() {
    let page = root().join("docs/wit.md");
    let reference = reference(&contract(&root().join("wit")).unwrap());
    if std::env::var_os("LATHE_WRITE_DOCS").is_some() {
        std::fs::write(&page, &reference).unwrap();
    }
    let written = std::fs::read_to_string(page).unwrap_or_default();
    assert!(
        written == reference,
        "docs/wit.md is out of date: LATHE_WRITE_DOCS=1 cargo test -p lathe-tests --test wit"
    );
}
