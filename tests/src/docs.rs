//! Pages of `docs/` as tests read them.

/// A block of code in Markdown.
#[derive(Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The file that it shows, by a comment on the line before it: `<!-- file: examples/x/src/lib.rs -->`.
    pub file: Option<&'a str>,
    /// What stands behind the fence, such as `rust`.
    pub language: &'a str,
    /// What is in it, every line with its end.
    pub text: String,
}

/// The blocks of code of a page, in order.
#[must_use]
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    let mut before = "";
    for line in page.lines() {
        match &mut open {
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some(block) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {
                if let Some(language) = line.strip_prefix("```") {
                    let file = before.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
                    open = Some(Block { file, language, text: String::new() });
                }
            }
        }
        before = line;
    }
    blocks
}

/// Whether a line is what a page shows of it, where `…` stands for any text. Spaces in a row count as one.
#[must_use]
pub fn matches(shown: &str, line: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, line) = (plain(shown), plain(line));
    let mut parts = shown.split('…').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    match last {
        // No `…`: the whole line.
        None => rest.is_empty(),
        Some(last) => last.is_empty() || rest.is_empty() || line.ends_with(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_know_their_file_and_language() {
        let page = "text\n<!-- file: a.rs -->\n```rust\nfn a() {}\n```\n\n```console\n$ a\n```\n";
        let block = |file, language, text: &str| Block { file, language, text: text.to_owned() };
        assert_eq!(
            blocks(page),
            [block(Some("a.rs"), "rust", "fn a() {}\n"), block(None, "console", "$ a\n")]
        );
    }

    #[test]
    fn lines_match_but_for_what_differs() {
        for (shown, line, is) in [
            ("a b", "a  b", true),
            ("a b", "a b c", false),
            ("built x, … kB", "built x, 209 kB", true),
            ("built x, … kB", "built x, 209 kB more", false),
            ("… ms, … fuel", "1.2 ms, 7 fuel", true),
            ("ok. 5 passed; …", "ok. 5 passed; 0 failed", true),
            ("ok. 5 passed; …", "ok. 4 passed; 0 failed", false),
        ] {
            assert_eq!(matches(shown, line), is, "{shown}: {line}");
        }
    }
}
