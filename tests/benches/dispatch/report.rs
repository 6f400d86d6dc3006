//! The figures, as a table and as JSON.

#![allow(clippy::print_stdout, reason = "it is what the bench is for")]

use std::fmt::Write;

use serde_json::{Value, json};

/// A figure that is taken, in nanoseconds unless its unit says otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    ChunkInTurn,
    OnChunk,
    LongTurn,
    BeforeTurn,
    ToolCall,
    Turn,
    Load,
    Memory,
    Throughput,
}

impl Measure {
    const ALL: [Self; 9] = [
        Self::ChunkInTurn,
        Self::OnChunk,
        Self::LongTurn,
        Self::BeforeTurn,
        Self::ToolCall,
        Self::Turn,
        Self::Load,
        Self::Memory,
        Self::Throughput,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ChunkInTurn => "chunk-in-turn",
            Self::OnChunk => "on-chunk",
            Self::LongTurn => "long-turn",
            Self::BeforeTurn => "before-turn",
            Self::ToolCall => "tool-call",
            Self::Turn => "turn",
            Self::Load => "load-20",
            Self::Memory => "memory-20",
            Self::Throughput => "turns-at-once",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// The unit in which it is shown, and how many of what is measured make one.
    fn unit(self) -> (&'static str, f64) {
        match self {
            Self::ChunkInTurn | Self::OnChunk | Self::BeforeTurn | Self::ToolCall => ("µs", 1e3),
            Self::LongTurn | Self::Turn | Self::Load => ("ms", 1e6),
            Self::Memory => ("MB", 1e6),
            Self::Throughput => ("turns/s", 1.0),
        }
    }
}

/// What was measured.
#[derive(Default)]
pub(crate) struct Report {
    lathe: Vec<(Measure, f64)>,
    peers: Vec<(Measure, String, f64)>,
}

impl Report {
    pub(crate) fn lathe(&mut self, measure: Measure, value: f64) {
        self.lathe.push((measure, value / measure.unit().1));
    }

    pub(crate) fn peer(&mut self, measure: Measure, peer: impl Into<String>, value: f64) {
        self.peers.push((measure, peer.into(), value / measure.unit().1));
    }

    pub(crate) fn of(&self, measure: Measure) -> Option<f64> {
        let (_, value) = self.lathe.iter().find(|(of, _)| *of == measure)?;
        Some(value * measure.unit().1)
    }

    /// One line a peer; a measure without one has a line of its own. `ratio` is the peer's figure in Lathe's.
    fn lines(&self) -> Vec<Value> {
        let mut lines = Vec::new();
        for &(measure, lathe) in &self.lathe {
            let mut line = |peer: Option<&str>, value: Option<f64>| {
                lines.push(json!({
                    "measure": measure.name(),
                    "unit": measure.unit().0,
                    "lathe": rounded(lathe),
                    "peer": peer,
                    "peerValue": value.map(rounded),
                    "ratio": value.map(|value| rounded(value / lathe)),
                }));
            };
            let mut alone = true;
            for (_, peer, value) in self.peers.iter().filter(|(of, ..)| *of == measure) {
                alone = false;
                line(Some(peer), Some(*value));
            }
            if alone {
                line(None, None);
            }
        }
        lines
    }

    /// Prints the table, and writes the file that `LATHE_BENCH_JSON` names.
    pub(crate) fn show(&self) {
        let lines = self.lines();
        let mut table = String::from(
            "\n| measure | unit | Lathe | peer | its figure | ratio |\n|---|---|--:|---|--:|--:|\n",
        );
        for line in &lines {
            let text = |key: &str| match &line[key] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let cells = ["measure", "unit", "lathe", "peer", "peerValue", "ratio"].map(text);
            writeln!(table, "| {} |", cells.join(" | ")).unwrap();
        }
        println!("{table}");
        if let Some(file) = std::env::var_os("LATHE_BENCH_JSON") {
            std::fs::write(file, format!("{:#}\n", Value::from(lines))).unwrap();
        }
    }
}

/// To three digits that count.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10f64.powf(2.0 - value.abs().log10().floor());
    if unit > 1.0 { (value * unit).round() / unit } else { value.round() }
}
