//! The contract as a page: what `wit/` says, in Markdown.

use std::path::{Path, PathBuf};

use wit_parser::{
    Docs, Function, FunctionKind, InterfaceId, Resolve, SourceMap, Type, TypeDef, TypeDefKind, TypeOwner,
    WorldItem,
};

/// Reads the contract, without comments that are none of the reference: the parser would take `// a title` for one.
///
/// # Errors
///
/// If a file cannot be read, or is no WIT.
pub fn contract(folder: &Path) -> anyhow::Result<Resolve> {
    let mut sources = SourceMap::new();
    let files = std::fs::read_dir(folder)?.map(|file| Ok(file?.path()));
    let mut files: Vec<PathBuf> = files.collect::<std::io::Result<_>>()?;
    files.sort();
    for file in files {
        if file.extension().is_some_and(|extension| extension == "wit") {
            let text = std::fs::read_to_string(&file)?;
            let is_title = |line: &&str| line.trim_start().starts_with("// ");
            let kept: Vec<&str> = text.lines().filter(|line| !is_title(line)).collect();
            sources.push(&file, kept.join("\n"));
        }
    }
    let group = sources.parse().map_err(|(_, error)| anyhow::anyhow!("{error}"))?;
    let mut resolve = Resolve::default();
    resolve.push_group(group)?;
    Ok(resolve)
}

/// The reference of a package with one world.
///
/// # Panics
///
/// If it has what the contract has not: resources, worlds in worlds, functions without an interface.
#[must_use]
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
pub fn reference(resolve: &Resolve) -> String {
    let (_, package) = resolve.packages.iter().next().expect("a package");
    let (_, world) = resolve.worlds.iter().next().expect("a world");
    let mut page = format!(
        "# The contract, `{}`\n\n<!-- Made of the comments in wit/ by `LATHE_WRITE_DOCS=1 cargo test -p lathe-tests --test \
         wit`. Do not edit. -->\n",
        package.name
    );
    page += &paragraphs(&package.docs);
    page += "\nTypes are those of WIT: `option<T>` may be absent, `result<T, E>` is one or the other, `_` is nothing. \
             What versions mean is in [`wit/README.md`](../wit/README.md).\n";
    let exports: Vec<InterfaceId> = world.exports.values().map(interface).collect();
    let imports: Vec<InterfaceId> = world.imports.values().map(interface).collect();
    for (of, title) in [(&exports, "What an extension exports"), (&imports, "What the host offers")] {
        page += &format!("\n## {title}\n");
        for &id in of {
            // Interfaces of types alone are neither.
            if !resolve.interfaces[id].functions.is_empty() {
                page += &described(resolve, id);
            }
        }
    }
    page += "\n## Types of several interfaces\n";
    for (id, interface) in &resolve.interfaces {
        if interface.functions.is_empty() {
            page += &described(resolve, id);
        }
    }
    page
}

#[allow(clippy::panic, reason = "a test fails by panicking")]
fn interface(item: &WorldItem) -> InterfaceId {
    match item {
        WorldItem::Interface { id, .. } => *id,
        other => panic!("no interface: {other:?}"),
    }
}

fn described(resolve: &Resolve, id: InterfaceId) -> String {
    let interface = &resolve.interfaces[id];
    let mut text = format!("\n### `{}`\n", interface.name.as_deref().unwrap_or_default());
    text += &paragraphs(&interface.docs);
    if !interface.functions.is_empty() {
        text.push('\n');
    }
    for function in interface.functions.values() {
        let docs = line(&function.docs).map_or_else(String::new, |docs| format!(": {docs}"));
        text += &format!("- `{}`{docs}\n", signature(resolve, function));
    }
    let mut types: Vec<(&String, &TypeDef)> =
        interface.types.iter().map(|(name, id)| (name, &resolve.types[*id])).collect();
    // As they stand in the file; the parser has them by what they are made of.
    types.sort_by_key(|(_, kind)| kind.span.start());
    for (name, kind) in types {
        // One that is used here and stands elsewhere.
        if !is_alias(resolve, kind) {
            text += &format!("\n#### `{name}`\n{}", paragraphs(&kind.docs));
            text += &shape(resolve, kind);
        }
    }
    text
}

fn is_alias(resolve: &Resolve, kind: &TypeDef) -> bool {
    let TypeDefKind::Type(Type::Id(other)) = kind.kind else { return false };
    matches!((kind.owner, resolve.types[other].owner), (TypeOwner::Interface(here), TypeOwner::Interface(there)) if here != there)
}

#[allow(clippy::panic, reason = "a test fails by panicking")]
fn signature(resolve: &Resolve, function: &Function) -> String {
    assert!(matches!(function.kind, FunctionKind::Freestanding), "{}", function.name);
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| format!("{}: {}", param.name, spelled(resolve, &param.ty)))
        .collect();
    let result =
        function.result.map_or_else(String::new, |result| format!(" -> {}", spelled(resolve, &result)));
    format!("{}: func({}){result}", function.name, params.join(", "))
}

/// What a type is made of.
#[allow(clippy::panic, reason = "a test fails by panicking")]
fn shape(resolve: &Resolve, kind: &TypeDef) -> String {
    let row = |name: &str, of: &str, docs: &Docs| {
        format!("| `{name}` | {of} | {} |\n", line(docs).unwrap_or_default())
    };
    let code = |of: &Type| format!("`{}`", spelled(resolve, of));
    match &kind.kind {
        TypeDefKind::Record(record) => {
            let rows = record.fields.iter().map(|field| row(&field.name, &code(&field.ty), &field.docs));
            format!("\n| field | type | |\n|---|---|---|\n{}", rows.collect::<String>())
        }
        TypeDefKind::Variant(variant) => {
            let of = |of: &Option<Type>| of.as_ref().map_or_else(String::new, code);
            let rows = variant.cases.iter().map(|case| row(&case.name, &of(&case.ty), &case.docs));
            format!("\n| case | with | |\n|---|---|---|\n{}", rows.collect::<String>())
        }
        TypeDefKind::Enum(cases) if cases.cases.iter().all(|case| case.docs.contents.is_none()) => {
            let names: Vec<String> = cases.cases.iter().map(|case| format!("`{}`", case.name)).collect();
            format!("\nOne of {}.\n", names.join(", "))
        }
        TypeDefKind::Enum(cases) => {
            let docs = |docs: &Docs| line(docs).unwrap_or_default();
            let rows = cases.cases.iter().map(|case| format!("| `{}` | {} |\n", case.name, docs(&case.docs)));
            format!("\n| case | |\n|---|---|\n{}", rows.collect::<String>())
        }
        TypeDefKind::Type(other) => format!("\nA `{}`.\n", spelled(resolve, other)),
        other => panic!("the contract has no {}", other.as_str()),
    }
}

/// A type as WIT has it.
#[allow(clippy::panic, reason = "a test fails by panicking")]
fn spelled(resolve: &Resolve, of: &Type) -> String {
    let of = match of {
        Type::Id(id) => &resolve.types[*id],
        Type::String => return "string".to_owned(),
        other => return format!("{other:?}").to_lowercase(),
    };
    if let Some(name) = &of.name {
        return name.clone();
    }
    let maybe = |of: &Option<Type>| of.as_ref().map_or_else(|| "_".to_owned(), |of| spelled(resolve, of));
    match &of.kind {
        TypeDefKind::Option(of) => format!("option<{}>", spelled(resolve, of)),
        TypeDefKind::List(of) => format!("list<{}>", spelled(resolve, of)),
        TypeDefKind::Result(of) => format!("result<{}, {}>", maybe(&of.ok), maybe(&of.err)),
        TypeDefKind::Tuple(of) => {
            let of: Vec<String> = of.types.iter().map(|of| spelled(resolve, of)).collect();
            format!("tuple<{}>", of.join(", "))
        }
        other => panic!("the contract has no {}", other.as_str()),
    }
}

/// Comments as they stand, with a line's space around.
fn paragraphs(docs: &Docs) -> String {
    docs.contents.as_deref().map_or_else(String::new, |text| format!("\n{}\n", text.trim()))
}

/// Comments in one line, fit for a table.
fn line(docs: &Docs) -> Option<String> {
    let text = docs.contents.as_deref()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|"))
}
