use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

/// Samples of a figure.
const SAMPLES: usize = 60;

/// How long a sample takes at least: long against the clock's precision.
const SAMPLE: Duration = Duration::from_millis(20);

/// What was measured.
#[derive(Default)]
pub(crate) struct Figures(Vec<Value>);

impl Figures {
    /// Takes the median time of `work`.
    pub(crate) fn take(
        &mut self,
        measure: &str,
        peer: &str,
        mut work: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        eprintln!("{measure}: {peer}");
        let mut sample = |rounds: u32| -> Result<Duration> {
            let begun = Instant::now();
            for _ in 0..rounds {
                work()?;
            }
            Ok(begun.elapsed())
        };
        // Doubled until it takes long enough, which also warms up.
        let mut rounds = 1;
        while sample(rounds)? < SAMPLE {
            rounds *= 2;
        }
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            samples.push(sample(rounds)?.as_secs_f64() * 1e9 / f64::from(rounds));
        }
        samples.sort_by(f64::total_cmp);
        self.0.push(json!({ "measure": measure, "peer": peer, "ns": samples[SAMPLES / 2] }));
        Ok(())
    }

    pub(crate) fn json(self) -> Value {
        Value::Array(self.0)
    }
}
