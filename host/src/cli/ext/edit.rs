use std::io::Write;
use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

use crate::cli::problem::Problem;
use crate::config::{Config, FILE};

/// A change of `lathe.toml` that leaves its comments and its layout as they are.
pub(in crate::cli) struct Edit {
    file: PathBuf,
    document: DocumentMut,
}

impl Edit {
    /// Of the file that was read; of a new one if there is none.
    pub(in crate::cli) fn open(config: &Config) -> Result<Self, Problem> {
        let (file, text) = match &config.file {
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| Problem::new(format!("cannot read {}: {error}", file.display())))?;
                (file.clone(), text)
            }
            None => (FILE.into(), String::new()),
        };
        let document = text
            .parse()
            .map_err(|error| Problem::new(format!("cannot change {}: {error}", file.display())))?;
        Ok(Self { file, document })
    }

    /// What the file would say. What would not be a configuration is refused.
    pub(super) fn check(&self) -> Result<Config, Problem> {
        Config::parse(&self.document.to_string(), &self.file).map_err(|mistake| {
            Problem::new(format!("{} stays as it is: {}", self.file.display(), mistake.message))
        })
    }

    /// Writes the file, all of it or nothing, if it is a configuration.
    pub(in crate::cli) fn save(self) -> Result<(), Problem> {
        self.check()?;
        replace(&self.file, &self.document.to_string())
            .map_err(|error| Problem::new(format!("cannot write {}: {error}", self.file.display())))
    }

    pub(in crate::cli) fn enable(&mut self, name: &str, enabled: bool) -> Result<(), Problem> {
        if enabled {
            let section = &["extension", name];
            let line = self.table(section)?.get_key_value("enabled");
            if line.is_some_and(|(key, value)| is_commented(key, value)) {
                return self.set(section, "enabled", true);
            }
            // It is the default: a line that says no more than that is not needed.
            return self.remove(section, "enabled");
        }
        self.set(&["extension", name], "enabled", enabled)
    }

    /// Sets a key of a table. What is written about it stays.
    pub(super) fn set(&mut self, path: &[&str], key: &str, value: impl Into<Value>) -> Result<(), Problem> {
        let mut value = value.into();
        let table = self.table(path)?;
        match table.get_mut(key) {
            Some(Item::Value(old)) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            _ => {
                table.insert(key, Item::Value(value));
            }
        }
        Ok(())
    }

    /// Adds to a list, what is not in it.
    pub(super) fn add(&mut self, path: &[&str], key: &str, words: &[String]) -> Result<(), Problem> {
        let list = self.table(path)?.entry(key).or_insert(Item::Value(Value::Array(Default::default())));
        for word in words {
            if said(list).contains(word) {
                continue;
            }
            match list {
                Item::Value(Value::Array(list)) => {
                    let mut value = Value::from(word.as_str());
                    // In a list with a line for each, on a line of its own.
                    let last = list.iter().last().and_then(|last| last.decor().prefix()?.as_str());
                    match last.and_then(|prefix| prefix.rfind('\n').map(|end| prefix[end..].to_owned())) {
                        Some(indent) => {
                            value.decor_mut().set_prefix(indent);
                            list.push_formatted(value);
                        }
                        None => list.push(value),
                    }
                }
                Item::ArrayOfTables(list) => {
                    let mut table = Table::new();
                    table.insert("host", toml_edit::value(word.as_str()));
                    list.push(table);
                }
                _ => return Err(self.odd(key)),
            }
        }
        Ok(())
    }

    /// Takes words from a list; the list too, if nothing is left of it.
    pub(super) fn take(&mut self, path: &[&str], key: &str, words: &[String]) -> Result<(), Problem> {
        let list = self.table(path)?.get_mut(key);
        match list {
            Some(Item::Value(Value::Array(list))) => {
                list.retain(|value| !word(value).is_some_and(|word| words.contains(&word)));
                if let Some(first) = list.get_mut(0)
                    && first.decor().prefix().and_then(|prefix| prefix.as_str()) == Some(" ")
                {
                    first.decor_mut().set_prefix("");
                }
            }
            Some(Item::ArrayOfTables(list)) => {
                list.retain(|table| !host(table).is_some_and(|host| words.contains(&host)));
            }
            _ => return Err(self.odd(key)),
        }
        if list.is_none_or(|list| said(list).is_empty()) { self.remove(path, key) } else { Ok(()) }
    }

    /// Removes a key, and the tables that then hold nothing, not even a comment.
    pub(super) fn remove(&mut self, path: &[&str], key: &str) -> Result<(), Problem> {
        self.table(path)?.remove(key);
        if let [before @ .., last] = path {
            let parent = self.table(before)?;
            if parent.get(last).is_some_and(is_bare) {
                return self.remove(before, last);
            }
        }
        Ok(())
    }

    /// A table, made where it is not there.
    fn table(&mut self, path: &[&str]) -> Result<&mut dyn TableLike, Problem> {
        let odd = self.odd(&path.join("."));
        let mut item = self.document.as_item_mut();
        for (depth, name) in path.iter().enumerate() {
            let fresh = match item {
                Item::Table(_) => {
                    let mut table = Table::new();
                    // Only the last one needs a line that names it.
                    table.set_implicit(depth + 1 < path.len());
                    Item::Table(table)
                }
                _ => Item::Value(Value::InlineTable(InlineTable::new())),
            };
            match item.as_table_like_mut() {
                Some(table) => item = table.entry(name).or_insert(fresh),
                None => return Err(odd),
            }
        }
        item.as_table_like_mut().ok_or(odd)
    }

    fn odd(&self, what: &str) -> Problem {
        Problem::new(format!("{}: cannot change how `{what}` is written there", self.file.display()))
            .hint("change it by hand")
    }
}

/// Whether something is written about a line, before it or behind it.
fn is_commented(key: &Key, value: &Item) -> bool {
    let (before, behind) = (key.leaf_decor(), value.as_value().map(Value::decor));
    let texts = [before.prefix(), behind.and_then(|decor| decor.suffix())];
    texts.into_iter().flatten().filter_map(|text| text.as_str()).any(|text| text.contains('#'))
}

/// Whether a table can go: it says nothing, not even in a comment.
fn is_bare(item: &Item) -> bool {
    match item {
        Item::Table(table) => {
            let decor = table.decor();
            let says = [decor.prefix(), decor.suffix()].into_iter().flatten();
            table.is_empty() && !says.filter_map(|text| text.as_str()).any(|text| text.contains('#'))
        }
        Item::Value(Value::InlineTable(table)) => table.is_empty(),
        _ => false,
    }
}

/// The words of a list: texts, and the hosts of tables.
fn said(list: &Item) -> Vec<String> {
    match list {
        Item::Value(Value::Array(list)) => list.iter().filter_map(word).collect(),
        Item::ArrayOfTables(list) => ArrayOfTables::iter(list).filter_map(host).collect(),
        _ => Vec::new(),
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::InlineTable(table) => table.get("host")?.as_str().map(str::to_owned),
        value => value.as_str().map(str::to_owned),
    }
}

fn host(table: &Table) -> Option<String> {
    table.get("host")?.as_str().map(str::to_owned)
}

/// Puts a new file in the place of the old one, at once. A link stays one.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file; temporary ones are for their owner alone.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut new = builder.prefix(".lathe-").suffix(".toml").tempfile_in(folder)?;
    new.write_all(text.as_bytes())?;
    if let Ok(old) = std::fs::metadata(&file) {
        new.as_file().set_permissions(old.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(&file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, change: impl FnOnce(&mut Edit)) -> String {
        let mut edit = Edit { file: FILE.into(), document: text.parse().unwrap() };
        change(&mut edit);
        let text = edit.document.to_string();
        Config::parse(&text, Path::new(FILE)).unwrap();
        text
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    const FULL: &str = "# mine\nmodel = \"demo\" # good\n\n[extension.a] # the first\nsettings = { x = 1 }\n\n\
        # what it may do\n[extension.a.grant]\nnetwork = [\n  \"a.org\",   # ours\n  \"b.org\",\n]\n\n[extensions]\norder = [\"a\"]\n";

    #[test]
    fn comments_and_layout_stay() {
        let off = edited(FULL, |edit| edit.enable("a", false).unwrap());
        assert_eq!(off, FULL.replace("settings = { x = 1 }\n", "settings = { x = 1 }\nenabled = false\n"));
        assert_eq!(edited(&off, |edit| edit.enable("a", true).unwrap()), FULL);
        let grant = &["extension", "a", "grant"];
        let more = edited(FULL, |edit| edit.add(grant, "network", &words(&["b.org", "c.org"])).unwrap());
        assert_eq!(more, FULL.replace("  \"b.org\",\n", "  \"b.org\",\n  \"c.org\",\n"));
        assert_eq!(edited(&more, |edit| edit.take(grant, "network", &words(&["c.org"])).unwrap()), FULL);
    }

    #[test]
    fn what_is_made_goes_again_and_what_is_written_about_stays() {
        let off = edited("", |edit| edit.enable("a", false).unwrap());
        assert_eq!(off, "[extension.a]\nenabled = false\n");
        assert_eq!(edited(&off, |edit| edit.enable("a", true).unwrap()), "");
        let off = "# why\n[extension.a]\nenabled = false\n";
        assert_eq!(edited(off, |edit| edit.enable("a", true).unwrap()), "# why\n[extension.a]\n");
        let off = "[extension.a]\nenabled = false # too slow\n";
        assert_eq!(edited(off, |edit| edit.enable("a", true).unwrap()), off.replace("false", "true"));
        let grant = &["extension", "a", "grant"];
        let granted = edited("model = \"demo\"\n", |edit| {
            edit.set(grant, "messages", true).unwrap();
            edit.add(grant, "environment", &words(&["LANG"])).unwrap();
        });
        assert_eq!(
            granted,
            "model = \"demo\"\n\n[extension.a.grant]\nmessages = true\nenvironment = [\"LANG\"]\n"
        );
        let less = edited(&granted, |edit| {
            edit.remove(grant, "messages").unwrap();
            edit.take(grant, "environment", &words(&["LANG"])).unwrap();
        });
        assert_eq!(less, "model = \"demo\"\n");
    }

    #[test]
    fn other_ways_to_write_the_same_are_kept() {
        let grant = &["extension", "a", "grant"];
        for text in ["extension = { a = { enabled = true } }\n", "extension.a.enabled = true\n"] {
            let more = edited(text, |edit| edit.add(grant, "environment", &words(&["X"])).unwrap());
            assert!(more.starts_with(text.split_once(" }").map_or(text, |(start, _)| start)), "{more}");
            let config = Config::parse(&more, Path::new(FILE)).unwrap();
            assert_eq!(config.extension["a"].grant.environment, ["X"]);
        }
        let tables = "[[extension.a.grant.network]]\nhost = \"a.org\"\nhttp = true\n";
        let more = edited(tables, |edit| edit.add(grant, "network", &words(&["a.org", "b.org"])).unwrap());
        assert_eq!(more, format!("{tables}\n[[extension.a.grant.network]]\nhost = \"b.org\"\n"));
        assert_eq!(edited(&more, |edit| edit.take(grant, "network", &words(&["b.org"])).unwrap()), tables);
    }

    #[test]
    fn what_would_be_no_configuration_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        std::fs::write(&file, "# mine\n").unwrap();
        let config = Config::load(Some(&file)).unwrap();
        let mut edit = Edit::open(&config).unwrap();
        edit.add(&["extension", "a", "grant"], "network", &words(&["http://x"])).unwrap();
        let problem = edit.save().unwrap_err();
        assert!(
            problem.message().contains("stays as it is: \"http://x\" is no host"),
            "{}",
            problem.message()
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left lying about");
    }
}
