use crate::turn::{UiMessage, UiRole};

/// What a turn reads of a conversation at most, in bytes as it is stored: 16 MiB, which is more than any model reads. What
/// is older is as if it had never been said; it is there all the same.
pub const RECENT_BYTES: u64 = 16 << 20;

/// Leaves out answers at the beginning whose question has been left out: a provider refuses a conversation that begins with
/// one. If nobody asks anything, all stays.
pub fn begin_with_question(messages: &mut Vec<UiMessage>) {
    if let Some(first) = messages.iter().position(|message| message.role == UiRole::User) {
        messages.drain(..first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_without_their_question_are_left_out() {
        let said = |roles: &[UiRole]| -> Vec<UiMessage> {
            let message = |role: &UiRole| UiMessage { role: *role, ..UiMessage::user("m", "x") };
            roles.iter().map(message).collect()
        };
        let (user, assistant) = (UiRole::User, UiRole::Assistant);
        for (before, after) in [
            (&[assistant, user, assistant][..], &[user, assistant][..]),
            (&[user, assistant], &[user, assistant]),
            (&[assistant], &[assistant]),
            (&[], &[]),
        ] {
            let mut messages = said(before);
            begin_with_question(&mut messages);
            assert_eq!(messages, said(after));
        }
    }
}
