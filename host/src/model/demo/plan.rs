//! Which tools the words of a prompt ask for, and with what input.

use crate::turn::{Json, JsonObject, ToolDefinition};

/// The calls to make, in the order of the tools.
pub(super) fn calls(prompt: &str, tools: &[ToolDefinition]) -> Vec<(String, Json)> {
    let asked = words(prompt);
    tools
        .iter()
        .filter_map(|tool| {
            let input = fill(prompt, &tool.input_schema)?;
            // A formula asks for the tool that takes formulas, whatever the words are.
            let formula = input.keys().any(|name| is_formula(name));
            let meant = words(&tool.name.replace(['_', '-'], " "))
                .iter()
                .chain(&words(&tool.description))
                .any(|word| asked.contains(word));
            (formula || meant).then(|| (tool.name.clone(), Json::Object(input)))
        })
        .collect()
}

/// Words too common to ask for anything.
const COMMON: &[&str] = &[
    "about", "after", "also", "another", "from", "give", "have", "into", "more", "please", "tell", "than",
    "that", "them", "then", "this", "until", "what", "when", "which", "will", "with", "your",
];

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphabetic())
        .map(str::to_lowercase)
        .filter(|word| word.chars().count() > 3 && !COMMON.contains(&&**word))
        .collect()
}

/// The tool's input, as far as the prompt holds it; none if something required is missing.
fn fill(prompt: &str, schema: &Json) -> Option<JsonObject> {
    let mut input = JsonObject::new();
    let none = JsonObject::new();
    let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    for (name, property) in properties {
        if let Some(value) = value(prompt, name, property) {
            input.insert(name.clone(), value);
        } else if required.contains(&&**name) {
            return None;
        }
    }
    Some(input)
}

fn is_formula(name: &str) -> bool {
    ["expression", "formula", "calculation"].contains(&&*name.to_lowercase())
}

fn value(prompt: &str, name: &str, property: &Json) -> Option<Json> {
    if let Some(choices) = property.get("enum").and_then(Json::as_array) {
        let lower = prompt.to_lowercase();
        return choices
            .iter()
            .find(|choice| choice.as_str().is_some_and(|word| lower.contains(&word.to_lowercase())))
            .cloned();
    }
    if is_formula(name) {
        return formula(prompt).map(Json::from);
    }
    if name.to_lowercase().contains("zone") {
        return zone(prompt).map(Json::from);
    }
    match kind(property)? {
        "integer" => prompt.split_whitespace().find_map(|word| word.parse::<i64>().ok()).map(Json::from),
        "number" => prompt.split_whitespace().find_map(|word| word.parse::<f64>().ok()).map(Json::from),
        "string" => quoted(prompt).map(Json::from),
        _ => None,
    }
}

/// The one type of a property; `["string", "null"]` is a text.
fn kind(property: &Json) -> Option<&str> {
    match property.get("type")? {
        Json::String(kind) => Some(kind),
        Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null"),
        _ => None,
    }
}

/// The longest stretch that is arithmetic: numbers, at least one operator between them, parentheses.
fn formula(prompt: &str) -> Option<String> {
    let part = |c: char| c.is_ascii_digit() || "+-*/^%().! ".contains(c);
    prompt
        .split(|c| !part(c))
        .map(|stretch| stretch.trim().trim_end_matches(['.', '-', '+', '!']).trim())
        .filter(|stretch| {
            let digits = stretch.chars().any(|c| c.is_ascii_digit());
            let operator = stretch.trim_start_matches('-').chars().any(|c| "+-*/^%!".contains(c));
            digits && operator
        })
        .max_by_key(|stretch| stretch.len())
        .map(str::to_owned)
}

/// The time zone of the first place that the prompt names: the city of an IANA name.
fn zone(prompt: &str) -> Option<String> {
    let prompt = format!(" {} ", prompt.replace(|c: char| !c.is_alphanumeric(), " ").to_lowercase());
    jiff::tz::db()
        .available()
        .map(|name| name.to_string())
        .filter_map(|name| {
            let city = name.rsplit_once('/')?.1.replace('_', " ").to_lowercase();
            let place = prompt.find(&format!(" {city} "))?;
            // Places such as `Etc/GMT` are no cities, and the shorter of two names is the older one.
            (!name.starts_with("Etc/")).then_some((place, name))
        })
        .min_by_key(|(place, name)| (*place, std::cmp::Reverse(name.len())))
        .map(|(_, name)| name)
}

fn quoted(prompt: &str) -> Option<&str> {
    let (_, rest) = prompt.split_once('"')?;
    rest.split_once('"').map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, schema: &Json) -> ToolDefinition {
        serde_json::from_value(json!({"name": name, "description": description, "inputSchema": schema}))
            .unwrap()
    }

    fn tools() -> Vec<ToolDefinition> {
        vec![
            tool(
                "calc_evaluate",
                "[calc] Evaluates arithmetic exactly.",
                &json!({"properties": {"expression": {"type": "string"}}, "required": ["expression"]}),
            ),
            tool(
                "clock_now",
                "[clock] The current time in a time zone.",
                &json!({"properties": {"timeZone": {"type": ["string", "null"]}}}),
            ),
            tool(
                "clock_add_duration",
                "[clock] Adds a duration to a time.",
                &json!({"properties": {"duration": {"type": "string"}}, "required": ["duration"]}),
            ),
            tool("meter_report", "[meter] What has been counted.", &json!({"type": "object"})),
        ]
    }

    #[test]
    fn the_words_choose_the_tools_and_fill_them_in() {
        for (prompt, expected) in [
            (
                "What is 21 * 2, and what time is it in Tokyo?",
                json!([["calc_evaluate", {"expression": "21 * 2"}], ["clock_now", {"timeZone": "Asia/Tokyo"}]]),
            ),
            ("(1 + 2)! / 3 please", json!([["calc_evaluate", {"expression": "(1 + 2)! / 3"}]])),
            ("the time in new york", json!([["clock_now", {"timeZone": "America/New_York"}]])),
            ("what time is it", json!([["clock_now", {}]])),
            ("add the duration \"P1D\"", json!([["clock_add_duration", {"duration": "P1D"}]])),
            ("a report, please", json!([["meter_report", {}]])),
            ("my sister-in-law is 42", json!([])),
            ("", json!([])),
        ] {
            assert_eq!(json!(calls(prompt, &tools())), expected, "{prompt}");
        }
    }
}
