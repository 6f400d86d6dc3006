//! Messages that are accepted now and get their turn in order, whatever happens to the process (`think.md` §4.8).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use uuid::Uuid;

use super::live::{Admission, Live, Plan};
use super::{EntryError, Session, SessionEvent};
use crate::driver::{Arrival, ChatEvent};
use crate::hooks::{RecoveryHooks, SubmissionStatusContext};
use crate::store::{Added, NewSubmission, StoreError, Submission};
use crate::turn::{Json, SubmissionStatus, Trigger, UiMessage};

use SubmissionStatus::{Aborted, Error, Pending, Running};

/// What is said with messages that are submitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmitOptions {
    /// An id for the submission; made up if none.
    pub submission_id: Option<String>,
    /// The same key is the same submission, however often it comes.
    pub idempotency_key: Option<String>,
    /// Kept with it.
    pub metadata: Option<Json>,
}

/// What comes of submitting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// As it is kept.
    #[serde(flatten)]
    pub submission: Submission,
    /// True if it is new; false if its id or its key was known.
    pub accepted: bool,
}

/// Why messages were not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// There is nothing to submit.
    #[error("a submission needs at least one message")]
    Empty,
    /// The id and the key belong to two different submissions.
    #[error("submissionId and idempotencyKey refer to different submissions")]
    Conflict,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Session {
    /// Accepts messages: they get a turn of their own, after those that were submitted before, also if the process dies
    /// meanwhile. Messages whose turn has begun are never given another one. What is accepted already is not accepted
    /// again.
    ///
    /// # Errors
    ///
    /// If there are none, or id and key contradict each other, or the store fails.
    pub async fn submit_messages(
        &self,
        messages: Vec<UiMessage>,
        options: SubmitOptions,
    ) -> Result<Receipt, SubmitError> {
        if messages.is_empty() {
            return Err(SubmitError::Empty);
        }
        let SubmitOptions { submission_id, idempotency_key, metadata } = options;
        let made_up_id = Uuid::now_v7().to_string();
        let new = NewSubmission { submission_id, made_up_id, idempotency_key, messages, metadata };
        let (submission, accepted) = match self.live.setup.store.submit(self.name(), new).await? {
            Added::Accepted(submission) => (submission, true),
            Added::Known(submission) => (submission, false),
            Added::Conflict => return Err(SubmitError::Conflict),
        };
        if accepted {
            self.live.tell_status(&submission.submission_id, Pending, None).await;
        }
        self.live.work_on_submissions();
        Ok(Receipt { submission, accepted })
    }

    /// A submission as it is now; none if there is none of that id.
    ///
    /// # Errors
    ///
    /// If the store fails; so for the ones below.
    pub async fn inspect_submission(&self, submission_id: &str) -> Result<Option<Submission>, EntryError> {
        Ok(self.live.setup.store.submission(self.name(), submission_id).await?)
    }

    /// The session's submissions, the newest first: all, or those with a status. `limit` is at most 100, 50 is usual.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn list_submissions(
        &self,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<Vec<Submission>, EntryError> {
        Ok(self.live.setup.store.submissions(self.name(), status, limit).await?)
    }

    /// Cancels a submission that waits or runs; false if there is none. What its turn has said by then is stored.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn cancel_submission(
        &self,
        submission_id: &str,
        reason: Option<&str>,
    ) -> Result<bool, EntryError> {
        let store = &self.live.setup.store;
        let Some(found) = store.submission(self.name(), submission_id).await? else { return Ok(false) };
        let (from, why) = (&[Pending, Running], reason.map(str::to_owned));
        if !store.set_submission(self.name(), submission_id, from, Aborted, why).await? {
            return Ok(false);
        }
        let _ = self.live.cancel(&found.request_id);
        self.live.tell_status(submission_id, Aborted, reason).await;
        Ok(true)
    }

    /// Forgets a submission that is over; false if there is none.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn delete_submission(&self, submission_id: &str) -> Result<bool, EntryError> {
        Ok(self.live.setup.store.delete_submissions(self.name(), Some(submission_id), None, 1).await? > 0)
    }

    /// Forgets submissions that are over, the oldest first: all, or those with a status. `limit` is at most 500, 100 is
    /// usual. Returns how many.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn delete_submissions(
        &self,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<usize, EntryError> {
        Ok(self.live.setup.store.delete_submissions(self.name(), None, status, limit).await?)
    }
}

impl Live {
    /// Sees to it that somebody works on what was submitted.
    pub(super) fn work_on_submissions(self: &Arc<Self>) {
        if self.submitting.swap(true, Ordering::AcqRel) {
            return;
        }
        let live = self.clone();
        tokio::spawn(async move {
            loop {
                if let Err(error) = live.submissions().await {
                    tracing::error!("submissions cannot be worked on: {error}");
                    live.submitting.store(false, Ordering::Release);
                    return;
                }
                live.submitting.store(false, Ordering::Release);
                // One that was accepted just before that.
                let waits = live.setup.store.open_submissions(&live.conversation.name).await;
                let waits = waits.is_ok_and(|open| !open.is_empty());
                if !waits || live.submitting.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }

    /// Works on them one by one until none waits.
    async fn submissions(self: &Arc<Self>) -> Result<(), StoreError> {
        let store = &self.setup.store;
        let name = &self.conversation.name;
        // Told of every turn's end from before the turn begins.
        let mut events = self.watchers.watch();
        while let Some(next) = store.open_submissions(name).await?.into_iter().next() {
            let id = &*next.submission_id;
            match next.status {
                Running if !next.applied => {
                    store.set_submission(name, id, &[Running], Pending, None).await?;
                    self.tell_status(id, Pending, None).await;
                    continue;
                }
                // This host cannot read it: it would never be done with.
                Error => {
                    store.set_submission(name, id, &[Error], Error, next.error.clone()).await?;
                }
                // An earlier process has begun it: its turn is being taken up, or nobody knows how it ended.
                Running => {
                    let left = store.unfinished(name).await?;
                    // One that is taken up just now has another id already.
                    let is = |id: &str| id == next.request_id || id == next.submission_id;
                    if !left
                        .iter()
                        .any(|turn| is(&turn.record.start.request_id) || is(&turn.record.root_request_id))
                    {
                        let unknown = Some(UNKNOWN.to_owned());
                        store.set_submission(name, id, &[Running], Error, unknown).await?;
                    }
                }
                _ => {
                    if !store.set_submission(name, id, &[Pending], Running, None).await? {
                        continue;
                    }
                    self.tell_status(id, Running, None).await;
                    self.begin_submission(&next);
                }
            }
            let ended = loop {
                match store.submission(name, id).await? {
                    Some(now) if !now.status.is_terminal() => {}
                    ended => break ended,
                }
                loop {
                    match events.next().await {
                        Some(SessionEvent::TurnEnded { .. }) => break,
                        Some(_) => {}
                        // It was left behind: the session is held here.
                        None => {
                            events = self.watchers.watch();
                            break;
                        }
                    }
                }
            };
            // Whoever cancelled it has told.
            if let Some(ended) = ended.filter(|ended| ended.status != Aborted) {
                self.tell_status(id, ended.status, ended.error.as_deref()).await;
            }
        }
        Ok(())
    }

    fn begin_submission(self: &Arc<Self>, submission: &Submission) {
        let admission =
            Admission { request_id: submission.request_id.clone(), ..Admission::new(Trigger::Submission) };
        let messages = submission.messages.clone();
        let turn = self.admit(admission, move |live, admission| {
            Box::pin(async move {
                let last = live.last_request().await.unwrap_or_default();
                Plan::Run(Box::new(live.input(&admission, Arrival::Now(messages), last)))
            })
        });
        turn.detach();
    }

    /// Tells the hooks and operators how far a submission is.
    async fn tell_status(&self, submission_id: &str, status: SubmissionStatus, error: Option<&str>) {
        let context =
            SubmissionStatusContext { session: &self.conversation.name, submission_id, status, error };
        RecoveryHooks(self.setup.hooks.clone()).submission(&context).await;
        let event = ChatEvent::Submission {
            submission_id: submission_id.to_owned(),
            status,
            error: error.map(str::to_owned),
        };
        event.log(&self.conversation.name);
        self.tell(SessionEvent::Chat { event });
    }
}

/// Of a submission whose turn has begun in an earlier process and has left no trace of its end.
const UNKNOWN: &str = "the process died after this submission's turn had begun, and nothing says how it ended; it is not run again";
