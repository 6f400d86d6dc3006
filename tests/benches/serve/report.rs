//! The figures, as lines.

use std::time::Duration;

use crate::clients::Seen;

pub(crate) fn round(name: &str, seen: &Seen, processor: Duration) {
    let ways: Vec<String> = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("most", 1.0)]
        .into_iter()
        .map(|(name, part)| format!("{name} {:.2} ms", milliseconds(seen.percentile(part))))
        .collect();
    println!(
        "{name}: {} tokens told, {} errors; from the model to the client {}; the server's processor time {:.1} s",
        seen.tokens(),
        seen.errors,
        ways.join(", "),
        processor.as_secs_f64()
    );
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
pub(crate) fn memory(name: &str, bytes: u64) {
    println!("{name}: {:.1} kB", bytes as f64 / 1e3);
}

pub(crate) fn ratio(name: &str, one: Duration, other: Duration) {
    println!("{name}: {:.2} times", one.as_secs_f64() / other.as_secs_f64());
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
