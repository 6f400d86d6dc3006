//! `docs/errors.md` against the source: no error without a row, no row without its error.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use lathe_tests::guests::root;
use lathe_tests::source::Texts;

/// A table of the page, with what stands in the comment before it.
struct Table<'a> {
    /// Whether every error of the files has to have a row.
    is_all: bool,
    files: Vec<&'a str>,
    /// The cells of each row.
    rows: Vec<Vec<&'a str>>,
}

fn tables(page: &str) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("<!-- ") {
            let (which, files) = comment.trim_end_matches(" -->").split_once(": ").unwrap();
            assert!(["all", "some"].contains(&which), "{line}");
            tables.push(Table { is_all: which == "all", files: files.split(' ').collect(), rows: vec![] });
        } else if let Some(row) = line.strip_prefix("| ") {
            let cells: Vec<&str> = row.trim_end_matches('|').split(" | ").map(code).collect();
            if cells[0] != "message" {
                tables.last_mut().unwrap().rows.push(cells);
            }
        }
    }
    tables
}

/// What a cell has between its backticks.
fn code(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix("``")
        .and_then(|cell| cell.strip_suffix("``"))
        .or_else(|| cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`')))
        .unwrap_or(cell)
        .trim()
}

#[test]
fn each_error_has_a_row_and_each_row_is_said() {
    let page = std::fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let tables = tables(&page);
    assert!(tables.len() > 8);
    let mut wrong = Vec::new();
    for Table { is_all, files, rows } in &tables {
        let texts: Vec<Texts> = files.iter().map(|file| Texts::of(&root().join(file))).collect();
        assert!(!rows.is_empty(), "{files:?}");
        for row in rows {
            if !texts.iter().any(|texts| texts.say(row[0])) {
                wrong.push(format!("{files:?} does not say: {}", row[0]));
            }
        }
        let listed: BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
        let errors = texts.iter().flat_map(|texts| &texts.errors).filter(|_| *is_all);
        wrong.extend(
            errors
                .filter(|error| !listed.contains(error.as_str()))
                .map(|error| format!("no row in {files:?} for: {error}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_kind_of_failure_is_named() {
    let file = "host/src/hooks/failure.rs";
    let page = std::fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let tables = tables(&page);
    let table = tables.iter().find(|table| table.files == [file]).unwrap();
    let named: BTreeSet<String> = table.rows.iter().map(|row| row[1].to_owned()).collect();
    // Its only other texts: what a backtrace begins with.
    let is_word = |text: &&String| !text.is_empty() && text.chars().all(char::is_alphabetic);
    let kinds: BTreeSet<String> =
        Texts::of(&root().join(file)).others.iter().filter(is_word).cloned().collect();
    assert_eq!(named, kinds);
}
