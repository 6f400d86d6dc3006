use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::meter::Meter;
use crate::hooks::Failure;

/// Room for so many instances at once. Those of turns and those of tool calls are counted apart: a turn keeps its
/// instance while it waits for a tool, so that one room for both could fill up with turns that wait for ever.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    limit: usize,
    turns: Arc<Semaphore>,
    tools: Arc<Semaphore>,
}

/// What an instance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Turn,
    Tool,
}

/// An instance's place; free again once it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _places: [OwnedSemaphorePermit; 2],
}

impl Pool {
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self { limit, turns: Arc::new(Semaphore::new(limit)), tools: Arc::new(Semaphore::new(limit)) }
    }

    /// Waits for room here and in the room of all, as long as the call lasts.
    pub(super) async fn place(&self, all: &Self, of: Use, meter: &Meter) -> Result<Place, Failure> {
        let here = self.wait(of, meter).await?;
        let there = all.wait(of, meter).await?;
        Ok(Place { _places: [here, there] })
    }

    async fn wait(&self, of: Use, meter: &Meter) -> Result<OwnedSemaphorePermit, Failure> {
        let places = match of {
            Use::Turn => &self.turns,
            Use::Tool => &self.tools,
        };
        let busy = || Failure::Busy { limit: self.limit, waited_ms: meter.limit_ms() };
        match meter.in_time(places.clone().acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(busy()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_room_and_no_longer_than_it_may_take() {
        let (own, all) = (Pool::new(1), Pool::new(2));
        let meter = || Meter::new(0, Duration::from_millis(70));
        let first = own.place(&all, Use::Turn, &meter()).await.unwrap();
        own.place(&all, Use::Tool, &meter()).await.expect("a turn does not take its tool's place");
        let busy = own.place(&all, Use::Turn, &meter()).await.unwrap_err();
        assert_eq!(busy, Failure::Busy { limit: 1, waited_ms: 70 });
        let freed = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(first);
        };
        let meter = meter();
        let (second, ()) = tokio::join!(own.place(&all, Use::Turn, &meter), freed);
        let _second = second.expect("it waited for the first");
        let other = Pool::new(9);
        let meter = Meter::new(0, Duration::from_millis(70));
        let _third = other.place(&all, Use::Turn, &meter).await.unwrap();
        assert_eq!(
            other.place(&all, Use::Turn, &meter).await.unwrap_err(),
            Failure::Busy { limit: 2, waited_ms: 70 }
        );
    }
}
