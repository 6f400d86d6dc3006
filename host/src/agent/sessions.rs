use super::{Agent, SessionError};
use crate::store::{Hit, SessionInfo};

impl Agent {
    /// The sessions of its store, those that have changed last first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, SessionError> {
        Ok(self.setup.store.sessions().await?)
    }

    /// The messages of all sessions that say a phrase; see [`Store::search`](crate::store::Store::search).
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn search(&self, phrase: &str) -> Result<Vec<Hit>, SessionError> {
        Ok(self.setup.store.search(None, phrase).await?)
    }

    /// Copies a session into a new one named `name`: its conversation up to a message, or all of it, and its context
    /// blocks.
    ///
    /// # Errors
    ///
    /// If there is no such session or message, or the name is taken or not usable.
    pub async fn fork(
        &self,
        session: &str,
        message_id: Option<&str>,
        name: &str,
    ) -> Result<(), SessionError> {
        Self::check_name(name)?;
        Ok(self.setup.store.fork(session, message_id, name).await?)
    }

    /// Gives a session another name. Nobody may hold it: whoever does would go on under the old one.
    ///
    /// # Errors
    ///
    /// If somebody holds it, in this process or another one, there is no such session, or the name is taken or not usable.
    pub async fn rename(&self, session: &str, name: &str) -> Result<(), SessionError> {
        Self::check_name(name)?;
        if self.live(session).is_some() || self.live(name).is_some() {
            return Err(SessionError::InUse(session.to_owned()));
        }
        Ok(self.setup.store.rename(session, name).await?)
    }

    /// Deletes a session with all that belongs to it; false if there was none. Whoever holds it may begin it anew.
    ///
    /// # Errors
    ///
    /// If a turn of it runs or waits, another process holds it, or the store fails.
    pub async fn delete(&self, session: &str) -> Result<bool, SessionError> {
        if self.live(session).is_some_and(|live| live.turns.is_busy()) {
            return Err(SessionError::InUse(session.to_owned()));
        }
        Ok(self.setup.store.delete(session).await?)
    }
}
