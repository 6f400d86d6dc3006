//! Makes components of the guests' texts.

use std::path::PathBuf;

use anyhow::{Context, bail};
use lathe_tests::guests::{guest, root};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::table::Guest;

/// The bytes of a guest's file.
pub(super) fn make(of: &Guest) -> anyhow::Result<Vec<u8>> {
    if of.rogue.is_some() {
        return Ok(std::fs::read(guest("rogue"))?);
    }
    let Some(kind) = &of.bytes else { return component(of) };
    let calc = || std::fs::read(guest("calc"));
    Ok(match &**kind {
        "text" => b"a shopping list".to_vec(),
        "empty" => Vec::new(),
        "cut" => {
            let whole = calc()?;
            whole.get(..whole.len() / 2).unwrap_or_default().to_vec()
        }
        "module" => wat::parse_str("(module)")?,
        "world" => wat::parse_str("(component)")?,
        "version" => wat::parse_str(
            "(component (instance) (export \"lathe:extension/extension-manifest@0.9.0\" (instance 0)))",
        )?,
        "import" => wat::parse_str(
            "(component (import \"somebody:else/thing@1.0.0\" (instance (export \"f\" (func))))
             (instance) (export \"lathe:extension/extension-manifest@0.1.0\" (instance 1))
             (instance) (export \"lathe:extension/tools@0.1.0\" (instance 3))
             (instance) (export \"lathe:extension/hooks@0.1.0\" (instance 5)))",
        )?,
        other => bail!("nobody knows the bytes \"{other}\""),
    })
}

fn folder() -> PathBuf {
    root().join("tests/hostile")
}

fn component(of: &Guest) -> anyhow::Result<Vec<u8>> {
    let own = folder().join("guests").join(format!("{}.wat", of.wat.as_ref().unwrap_or(&of.name)));
    let own = std::fs::read_to_string(&own).with_context(|| own.display().to_string())?;
    let base = std::fs::read_to_string(folder().join("base.wat"))?;
    let mut module = wat::parse_str(module(&own, &base, of)).context("its text is wrong")?;
    let mut resolve = Resolve::default();
    resolve.push_dir(root().join("wit"))?;
    let package =
        resolve.push_str("contract.wit", &std::fs::read_to_string(folder().join("contract.wit"))?)?;
    let world = resolve.select_world(&[package], Some("guest"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().validate(true).module(&module)?.encode()
}

/// The guest's own parts, and those of the base that it does not have.
fn module(own: &str, base: &str, of: &Guest) -> String {
    let own_parts: Vec<&str> = parts(own);
    let has = |part: &str| own_parts.iter().any(|own| head(own) == head(part) && head(part).len() == 2);
    let rest: String = parts(base).into_iter().filter(|part| !has(part)).collect::<Vec<_>>().join("\n");
    let byte = |number: u8| format!("\\{number:02x}");
    let [low, high] = of.tools.to_le_bytes();
    let rest = rest
        .replace("@name-length@", &byte(u8::try_from(of.name.len()).unwrap_or(u8::MAX)))
        .replace("@name@", &of.name)
        .replace("@hooks@", &byte(of.hooks))
        .replace("@tools@", &(byte(low) + &byte(high)))
        .replace("@decide@", &byte(u8::from(of.decide)));
    // Imports come first, and the memory of the base is the first one.
    let (imports, others): (Vec<&str>, Vec<&str>) =
        own_parts.into_iter().partition(|part| part.starts_with("(import"));
    format!("(module {} {rest} {})", imports.join("\n"), others.join("\n"))
}

/// Its kind and its name, as in `(func $name`.
fn head(part: &str) -> Vec<&str> {
    let mut words = part.trim_start_matches('(').split(|c: char| c.is_whitespace() || c == ')');
    let kind = words.next().unwrap_or_default();
    let name = words.next().filter(|word| word.starts_with('$'));
    std::iter::once(kind).chain(name).collect()
}

/// The texts in parentheses at the top level, without comments between them.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    let (mut in_string, mut in_comment, mut escaped) = (false, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' => in_comment = false,
            _ if in_comment => {}
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b';' => in_comment = true,
            b'(' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b')' => {
                depth -= 1;
                if depth == 0 {
                    parts.extend(text.get(start..=at));
                }
            }
            _ => {}
        }
    }
    parts
}
