//! Permissions as they are typed: `NAME`, or `NAME=VALUE,VALUE`; a colon does as well.

use crate::cli::problem::Problem;
use crate::config::nearest;

/// What can be granted, by its name in `lathe.toml`, and what it means.
pub(super) const PERMISSIONS: [(&str, Kind, &str); 11] = [
    ("decide", Kind::Words, "its answers to these hooks count"),
    ("model", Kind::Flag, "choose another model"),
    ("reasons", Kind::Flag, "tell the model in its own words why a call is blocked"),
    ("workspace", Kind::Folder, "use a folder, as /workspace"),
    ("network", Kind::Words, "reach hosts by https"),
    ("environment", Kind::Words, "read variables of the host"),
    ("context-read", Kind::Words, "read context blocks"),
    ("context-write", Kind::Words, "write context blocks"),
    ("messages", Kind::Flag, "read the conversation"),
    ("session-info", Kind::Flag, "read the session's name and number of messages"),
    ("send-message", Kind::Flag, "add user messages"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Flag,
    Words,
    Folder,
}

/// A permission, and the values that were typed with it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) struct Permission {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) values: Vec<String>,
}

impl Permission {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let (typed, values) = match text.split_once(['=', ':']) {
            Some((name, values)) => (name, Some(values)),
            None => (text, None),
        };
        let known: Vec<String> = PERMISSIONS.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let Some(&(name, kind, _)) = PERMISSIONS.iter().find(|(name, ..)| *name == typed) else {
            let problem =
                Problem::new(format!("there is no permission `{typed}`: known are {}", known.join(", ")));
            return Err(match nearest(typed, &known) {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None => problem,
            });
        };
        let values: Vec<String> = match (kind, values) {
            (_, None) => Vec::new(),
            (Kind::Flag, Some(_)) => {
                return Err(Problem::new(format!("`{name}` takes no value")).hint(format!("just `{name}`")));
            }
            (Kind::Folder, Some(folder)) => vec![folder.to_owned()],
            (Kind::Words, Some(words)) => words.split(',').map(str::trim).map(str::to_owned).collect(),
        };
        if values.iter().any(String::is_empty) {
            return Err(Problem::new(format!("`{text}` has an empty value")));
        }
        // Hooks as they are written in code and on command lines, too.
        let values = if name == "decide" { values.iter().map(|hook| camel(hook)).collect() } else { values };
        Ok(Self { name, kind, values })
    }

    /// With its values there, where it takes some.
    pub(super) fn complete(self) -> Result<Self, Problem> {
        let example = match self.name {
            "decide" => "beforeToolCall",
            "workspace" => "notes:rw",
            "network" => "api.example.org",
            "environment" => "LANG",
            "context-read" => "all",
            _ => "own",
        };
        if self.kind == Kind::Flag || !self.values.is_empty() {
            return Ok(self);
        }
        Err(Problem::new(format!("`{}` needs a value", self.name))
            .hint(format!("such as `{}={example}`", self.name)))
    }
}

/// A folder and how far it may be used, out of `DIR`, `DIR:ro` or `DIR:rw`.
pub(super) fn folder(text: &str) -> (&str, &'static str) {
    match text.rsplit_once(':') {
        Some((dir, "rw" | "read-write")) => (dir, "read-write"),
        Some((dir, "ro" | "read")) => (dir, "read"),
        _ => (text, "read"),
    }
}

/// `before-tool-call` as `beforeToolCall`.
fn camel(name: &str) -> String {
    let mut words = name.split('-');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Permission::parse(text).and_then(Permission::complete).unwrap_err().message().to_owned()
    }

    #[test]
    fn permissions_are_names_with_their_values() {
        for (text, name, values) in [
            ("messages", "messages", &[][..]),
            ("network=a.org,*.b.org", "network", &["a.org", "*.b.org"]),
            ("decide=before-tool-call, afterToolCall", "decide", &["beforeToolCall", "afterToolCall"]),
            ("workspace=a,b=c:rw", "workspace", &["a,b=c:rw"]),
            ("network:a.org", "network", &["a.org"]),
        ] {
            let permission = Permission::parse(text).and_then(Permission::complete).unwrap();
            assert_eq!(
                (permission.name, &*permission.values),
                (name, &*values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>())
            );
        }
        assert_eq!(folder("notes"), ("notes", "read"));
        assert_eq!(folder("C:/notes:rw"), ("C:/notes", "read-write"));
        assert_eq!(folder("a:ro"), ("a", "read"));
    }

    #[test]
    fn mistakes_are_told() {
        assert!(problem("netwrok=a").starts_with("there is no permission `netwrok`: known are decide, "));
        assert_eq!(problem("messages=yes"), "`messages` takes no value");
        assert_eq!(problem("network=a,,b"), "`network=a,,b` has an empty value");
        assert_eq!(problem("network"), "`network` needs a value");
    }
}
