//! A guest for the benches: its hooks and its tool do next to nothing. The peers' guest does the same (`tests/peers/guest`).

use lathe_guest::prelude::*;

#[derive(Default)]
struct Bench {
    chunks: usize,
}

#[extension]
impl Extension for Bench {
    fn tools() -> Tools<Self> {
        Tools::new().with(Tool::new("echo", Self::echo).replay_safe())
    }

    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        let system = turn.system + " Answer in English.";
        Ok(Some(TurnConfig { system: Some(system), ..TurnConfig::default() }))
    }

    fn on_chunk(&mut self, chunks: Vec<Chunk>) -> Result<()> {
        self.chunks += chunks.len();
        Ok(())
    }
}

/// Answers what it is given.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Echo {
    /// Any text.
    text: String,
}

impl Bench {
    fn echo(&mut self, input: Echo) -> Result<Echo> {
        Ok(input)
    }
}
