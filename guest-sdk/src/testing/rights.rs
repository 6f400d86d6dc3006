//! What the extension may do: what it asks for, as far as the test's operator grants it.

use crate::bindings::lathe::extension::bridge_error::Error;
use crate::guest::Registered;
use crate::manifest::{Hook, Permissions};

/// Nothing is asked for and nothing granted, unless it is an extension's.
#[derive(Clone, Default)]
pub(crate) struct Rights {
    asked: Permissions,
    granted: Permissions,
    /// Full labels of its own context blocks, and the most tokens each may have.
    own: Vec<(String, Option<u32>)>,
}

type Answer<T> = Result<T, Error>;

impl Rights {
    /// Everything that it asks for is granted.
    pub(crate) fn of<T: Registered>() -> Self {
        let words: Vec<&str> = T::NAME.split('-').filter(|word| !word.is_empty()).collect();
        let own = T::context().into_iter();
        let own = own.map(|block| (format!("{}_{}", words.join("_"), block.label), block.max_tokens));
        Self { asked: T::permissions(), granted: T::permissions(), own: own.collect() }
    }

    pub(crate) fn grant(&mut self, granted: Permissions) {
        self.granted = granted;
    }

    pub(crate) fn granted(&self) -> &Permissions {
        &self.granted
    }

    fn both(&self, has: impl Fn(&Permissions) -> bool) -> bool {
        has(&self.asked) && has(&self.granted)
    }

    pub(crate) fn asks_to_decide(&self, hook: Hook) -> bool {
        self.asked.decide.contains(&hook)
    }

    pub(crate) fn decides(&self, hook: Hook) -> bool {
        self.both(|rights| rights.decide.contains(&hook))
    }

    pub(crate) fn read(&self, label: &str) -> Answer<()> {
        let reads =
            |rights: &Permissions| rights.context_read.iter().any(|word| word == label || word == "all");
        allowed(self.both(reads), &format!("`context-read` for \"{}\"", label.escape_debug()))
    }

    pub(crate) fn write(&self, label: &str) -> Answer<()> {
        let owns = self.block(label).is_some();
        let writes = |rights: &Permissions| {
            rights.context_write.iter().any(|word| word == label || word == "own" && owns)
        };
        allowed(self.both(writes), &format!("`context-write` for \"{}\"", label.escape_debug()))
    }

    /// A context block of the extension's own, and the most tokens that it may have.
    pub(crate) fn block(&self, label: &str) -> Option<Option<u32>> {
        self.own.iter().find(|(own, _)| own == label).map(|(_, tokens)| *tokens)
    }

    pub(crate) fn messages(&self) -> Answer<()> {
        allowed(self.both(|rights| rights.messages), "`messages`")
    }

    pub(crate) fn session_info(&self) -> Answer<()> {
        allowed(self.both(|rights| rights.session_info), "`session-info`")
    }

    pub(crate) fn send_message(&self) -> Answer<()> {
        allowed(self.both(|rights| rights.send_message), "`send-message`")
    }

    /// Requests to this host go out.
    #[cfg(feature = "http")]
    pub(crate) fn reaches(&self, host: &str) -> bool {
        self.both(|rights| rights.network.iter().any(|pattern| matches(pattern, host)))
    }
}

fn allowed(granted: bool, right: &str) -> Answer<()> {
    if granted { Ok(()) } else { Err(Error::Denied(format!("{right} is not granted"))) }
}

/// `*.example.org` is every host below it, and not itself.
#[cfg(feature = "http")]
fn matches(pattern: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    match pattern.strip_prefix('*') {
        Some("") => true,
        Some(suffix) => host.len() > suffix.len() && host.ends_with(&suffix.to_ascii_lowercase()),
        None => pattern.eq_ignore_ascii_case(&host),
    }
}
