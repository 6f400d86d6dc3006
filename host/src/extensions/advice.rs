//! What the operator should know of rights: those that an extension asks for and does not have, and grants that do
//! nothing. Plain sentences, with the line that would change it.

use super::extension::ExtensionSettings;
use super::grant::{ALL, Grant, own, wants};
use super::manifest::{Manifest, Workspace};
use super::network::HostPattern;

/// What an extension asks for and does not get.
pub(super) fn missing(manifest: &Manifest, effective: &Grant, settings: &ExtensionSettings) -> Vec<String> {
    let asked = &manifest.permissions;
    let mut lines = Vec::new();
    let mut grant = |wish: &str, line: String| {
        lines.push(format!(
            "it asks to {wish} and may not; to allow it, add `{line}` under [extension.{}.grant]",
            manifest.name
        ));
    };
    let decide: Vec<&str> =
        asked.decide.iter().filter(|hook| !effective.decides(**hook)).map(|hook| hook.name()).collect();
    if !decide.is_empty() {
        grant("decide", list("decide", decide));
    }
    if asked.model && !effective.model {
        grant("choose the model", "model = true".into());
    }
    if let Some(access) = asked.workspace
        && effective.workspace.as_ref().is_none_or(|workspace| workspace.access < access)
    {
        let (wish, access) = match access {
            Workspace::Read => ("read files", "read"),
            Workspace::ReadWrite => ("write files", "read-write"),
        };
        grant(wish, format!("workspace = {{ dir = \"FOLDER\", access = \"{access}\" }}"));
    }
    let granted = |host: &&HostPattern| effective.network.iter().any(|grant| grant.host.covers(host));
    let hosts: Vec<String> =
        asked.network.iter().filter(|host| !granted(host)).map(ToString::to_string).collect();
    if !hosts.is_empty() {
        grant(&format!("reach {}", hosts.join(", ")), list("network", hosts));
    }
    let variables = absent(&asked.environment, &effective.environment);
    if !variables.is_empty() {
        grant("read environment variables", list("environment", variables));
    }
    let labels = absent(&asked.context_read, &effective.context_read);
    if !labels.is_empty() && !effective.context_read.iter().any(|label| label == ALL) {
        grant("read context blocks", list("context-read", labels));
    }
    let lacks = |label: &&String| {
        own(std::slice::from_ref(*label), manifest).iter().any(|label| !effective.writes(label))
    };
    let labels: Vec<&String> = asked.context_write.iter().filter(lacks).collect();
    if !labels.is_empty() {
        grant("write context blocks", list("context-write", labels));
    }
    for (wish, name, asked, granted) in [
        ("read the conversation", "messages", asked.messages, effective.messages),
        ("read facts about the session", "session-info", asked.session_info, effective.session_info),
        ("add user messages", "send-message", asked.send_message, effective.send_message),
    ] {
        if asked && !granted {
            grant(wish, format!("{name} = true"));
        }
    }
    if let Some(bytes) = asked.storage_bytes.filter(|bytes| *bytes > settings.limits.storage_bytes) {
        // TOML has no larger numbers.
        let bytes = bytes.min(i64::MAX.unsigned_abs());
        lines.push(format!(
            "it asks for {bytes} bytes of storage and has {}; to allow it, add `storage-bytes = {bytes}` under [extension.{}.limits]",
            settings.limits.storage_bytes, manifest.name
        ));
    }
    lines
}

/// What the operator grants and the extension does not ask for.
pub(super) fn idle(manifest: &Manifest, granted: &Grant) -> Vec<String> {
    let idle = unasked(manifest, granted);
    if idle.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "[extension.{}.grant] has what it does not ask for, which has no effect: {}",
        manifest.name,
        idle.join(", ")
    )]
}

/// The same, in a word or two each: `model`, `network a.org`.
pub(super) fn unasked(manifest: &Manifest, granted: &Grant) -> Vec<String> {
    let effective = &granted.within(manifest);
    let asked = &manifest.permissions;
    let mut idle: Vec<String> = Vec::new();
    let decide = granted.decide.iter().filter(|gate| !effective.decide.contains(gate));
    idle.extend(decide.map(|gate| format!("decide {}", gate.hook().name())));
    let hosts = granted.network.iter().filter(|host| !wants(asked, host));
    idle.extend(hosts.map(|host| format!("network {}", host.host)));
    let variables = absent(&granted.environment, &effective.environment);
    idle.extend(variables.iter().map(|name| format!("environment {name}")));
    for (right, granted, asked) in [
        ("context-read", &granted.context_read, &asked.context_read),
        ("context-write", &granted.context_write, &asked.context_write),
    ] {
        let asked = own(asked, manifest);
        let all = |labels: &[String]| labels.iter().any(|label| label == ALL);
        let wanted = |label: &String| {
            let labels = own(std::slice::from_ref(label), manifest);
            all(&asked)
                || all(&labels) && !asked.is_empty()
                || labels.iter().any(|label| asked.contains(label))
        };
        let unwanted = granted.iter().filter(|label| !wanted(label));
        idle.extend(unwanted.map(|label| format!("{right} {label}")));
    }
    for (right, granted, effective) in [
        ("model", granted.model, effective.model),
        ("reasons", granted.reasons, effective.reasons),
        ("workspace", granted.workspace.is_some(), effective.workspace.is_some()),
        ("messages", granted.messages, effective.messages),
        ("session-info", granted.session_info, effective.session_info),
        ("send-message", granted.send_message, effective.send_message),
    ] {
        if granted && !effective {
            idle.push(right.to_owned());
        }
    }
    idle
}

fn absent<'a>(wanted: &'a [String], there: &[String]) -> Vec<&'a String> {
    wanted.iter().filter(|name| !there.contains(name)).collect()
}

/// A line of `lathe.toml`.
fn list<T: std::fmt::Display>(key: &str, words: Vec<T>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| quoted(&word.to_string())).collect();
    format!("{key} = [{}]", words.join(", "))
}

/// A text of TOML: a guest's word must not end it, or the line, and begin another.
fn quoted(word: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", word.chars().map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extensions::grant::{Gate, OWN, WorkspaceGrant};
    use crate::extensions::manifest::{ContextBlock, Permissions};
    use crate::extensions::network::HostGrant;
    use crate::hooks::Hook;

    fn asking(permissions: Permissions) -> Manifest {
        Manifest {
            name: "x".into(),
            context: vec![ContextBlock { label: "todo".into(), ..ContextBlock::default() }],
            permissions,
            ..Manifest::default()
        }
    }

    fn told(asked: &Permissions, granted: &Grant) -> (Vec<String>, Vec<String>) {
        let manifest = asking(asked.clone());
        let effective = granted.within(&manifest);
        let missing = missing(&manifest, &effective, &ExtensionSettings::default());
        (missing, idle(&manifest, granted))
    }

    fn everything() -> Permissions {
        Permissions {
            workspace: Some(Workspace::ReadWrite),
            network: vec!["a.org".parse().unwrap(), "*.b.org".parse().unwrap()],
            context_read: vec!["all".into()],
            context_write: vec![OWN.into(), "memory".into()],
            messages: true,
            send_message: true,
            session_info: true,
            decide: vec![Hook::BeforeToolCall],
            model: true,
            environment: vec!["HOME".into(), "TOKEN".into()],
            storage_bytes: Some(1 << 30),
        }
    }

    #[test]
    fn each_wish_that_is_not_granted_comes_with_the_line_to_add() {
        let (missing, idle) = told(&everything(), &Grant::default());
        let lines: Vec<&str> = missing.iter().map(|line| line.split('`').nth(1).unwrap()).collect();
        assert_eq!(
            lines,
            [
                "decide = [\"beforeToolCall\"]",
                "model = true",
                "workspace = { dir = \"FOLDER\", access = \"read-write\" }",
                "network = [\"a.org\", \"*.b.org\"]",
                "environment = [\"HOME\", \"TOKEN\"]",
                "context-read = [\"all\"]",
                "context-write = [\"own\", \"memory\"]",
                "messages = true",
                "session-info = true",
                "send-message = true",
                "storage-bytes = 1073741824",
            ]
        );
        assert!(missing.iter().all(|line| line.contains("[extension.x.")), "{missing:?}");
        // Each is good as it stands, the folder's name aside.
        let section = lines[..10].join("\n");
        let grant: Grant = toml::from_str(&section).unwrap();
        let (missing, _) = told(&Permissions { storage_bytes: None, ..everything() }, &grant);
        assert_eq!((missing.len(), idle.len()), (0, 0), "{missing:?}");
    }

    #[test]
    fn part_of_a_wish_is_not_all_of_it() {
        let granted = Grant {
            workspace: Some(WorkspaceGrant { dir: "w".into(), access: Workspace::Read }),
            network: vec![HostGrant::new("*.b.org".parse().unwrap())],
            environment: vec!["HOME".into()],
            context_read: vec!["memory".into()],
            context_write: vec!["x_todo".into()],
            ..Grant::default()
        };
        let (missing, idle) = told(&everything(), &granted);
        let lines: Vec<&str> = missing.iter().filter_map(|line| line.split('`').nth(1)).collect();
        for line in [
            "workspace = { dir = \"FOLDER\", access = \"read-write\" }",
            "network = [\"a.org\"]",
            "environment = [\"TOKEN\"]",
            "context-read = [\"all\"]",
            "context-write = [\"memory\"]",
        ] {
            assert!(lines.contains(&line), "{line}: {lines:?}");
        }
        assert!(idle.is_empty(), "{idle:?}");
    }

    #[test]
    fn a_guests_word_stays_a_word() {
        let words: Vec<String> = ["A\"]\nmodel = true #", "\\", "\u{7f}\u{9b}"].map(String::from).into();
        let asked = Permissions { environment: words.clone(), ..Permissions::default() };
        let (missing, _) = told(&asked, &Grant::default());
        let line = missing[0].split('`').nth(1).unwrap();
        assert_eq!(toml::from_str::<Grant>(line).unwrap(), Grant { environment: words, ..Grant::default() });
    }

    #[test]
    fn a_grant_that_nobody_asked_for_is_named() {
        let granted = Grant {
            decide: vec![Gate::BeforeStep],
            model: true,
            workspace: Some(WorkspaceGrant { dir: "w".into(), access: Workspace::Read }),
            network: vec![HostGrant::new("c.org".parse().unwrap())],
            environment: vec!["HOME".into()],
            context_read: vec!["all".into()],
            context_write: vec![OWN.into()],
            messages: true,
            ..Grant::default()
        };
        let (missing, idle) = told(&Permissions::default(), &granted);
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(
            idle,
            ["[extension.x.grant] has what it does not ask for, which has no effect: decide beforeStep, \
              network c.org, environment HOME, context-read all, context-write own, model, workspace, messages"]
        );
    }
}
