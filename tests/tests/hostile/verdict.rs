//! Whether what became of a guest is what the table expects.

use lathe::hooks::HookCall;

use super::play::Seen;
use super::table::Guest;

/// What was seen, in a few words; as an error if it is not what was expected.
pub(super) fn verdict(of: &Guest, seen: &Seen) -> Result<String, String> {
    let mut wrong = Vec::new();
    let mut words = Vec::new();
    if let Some(load) = &seen.load {
        words.push(format!("not loaded: {load}"));
    }
    if seen.load != of.load {
        wrong.push(format!("load: expected {:?}, got {:?}", of.load, seen.load));
    }
    if let Some(expected) = &of.hook {
        let got = match &seen.call {
            None => "no call",
            Some(call) => call.failure.unwrap_or("ok"),
        };
        words.push(got.to_owned());
        words.extend(seen.call.as_ref().map(cost));
        if got != expected {
            wrong.push(format!("hook: expected {expected}, got {got}"));
        }
    }
    if let Some(expected) = &of.tool {
        words.push(format!("tool: {}", short(&seen.tool)));
        if !seen.tool.contains(expected) {
            wrong.push(format!("tool: expected {expected:?}, got {:?}", short(&seen.tool)));
        }
    }
    if let Some(expected) = &of.text {
        let call = seen.call.as_ref().and_then(|call| serde_json::to_string(call).ok()).unwrap_or_default();
        words.push(expected.clone());
        if !call.contains(expected) {
            wrong.push(format!("text: expected {expected:?}, got {}", short(&call)));
        }
    }
    if let Some(expected) = &of.health {
        let got = serde_json::to_value(seen.health.condition).unwrap_or_default();
        words.push(expected.clone());
        if got != **expected {
            wrong.push(format!("health: expected {expected}, got {got}: {:?}", seen.health));
        }
    }
    if wrong.is_empty() { Ok(words.join("; ")) } else { Err(wrong.join("; ")) }
}

/// What a call has taken.
fn cost(call: &HookCall) -> String {
    let HookCall { fuel, duration_ms, memory_bytes, .. } = call;
    format!("{fuel} fuel, {duration_ms:.1} ms, {} KiB", memory_bytes >> 10)
}

fn short(text: &str) -> String {
    text.chars().take(300).collect()
}
