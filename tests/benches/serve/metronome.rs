//! A model that says a token each 20 ms, which is the time at which it says it.

use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use lathe::model::{LanguageModel, ModelCall, ModelError, ModelEvent, ModelStream};
use lathe::turn::{FinishReason, Usage};
use tokio::time::{MissedTickBehavior, interval};

/// Tokens of an answer: ten seconds of it.
pub(crate) const TOKENS: usize = 500;

/// 50 a second.
const PACE: Duration = Duration::from_millis(20);

/// What stands about the time in a token.
pub(crate) const MARK: char = '@';

#[derive(Debug)]
pub(crate) struct Metronome;

#[async_trait]
impl LanguageModel for Metronome {
    fn id(&self) -> &str {
        "bench:metronome"
    }

    async fn stream(&self, _: ModelCall) -> Result<ModelStream, ModelError> {
        let mut beat = interval(PACE);
        // A model that was held up does not speak faster afterwards.
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let id = || "t".to_owned();
        let tokens = stream::unfold(beat, move |mut beat| async move {
            beat.tick().await;
            Some((ModelEvent::TextDelta { id: id(), delta: format!("{MARK}{}{MARK} ", now()) }, beat))
        });
        let end = [
            ModelEvent::TextEnd { id: id(), provider_metadata: None },
            ModelEvent::Finish {
                reason: FinishReason::Stop,
                raw_reason: None,
                usage: Usage::default(),
                provider_metadata: None,
            },
        ];
        let answer = stream::iter([ModelEvent::TextStart { id: id() }])
            .chain(tokens.take(TOKENS))
            .chain(stream::iter(end));
        Ok(answer.map(Ok).boxed())
    }
}

/// Now, in nanoseconds: of the machine's clock, since two processes are to agree.
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "no other clock is the same in two processes"
)]
pub(crate) fn now() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}
