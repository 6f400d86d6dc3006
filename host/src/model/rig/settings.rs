//! Settings, as fields of each protocol's body.
//!
//! rig's typed options refuse what its catalog does not know of a model. Here the caller's word counts, except for
//! reasoning on Anthropic and Gemini, where every model generation has other fields for it.

use rig_core::completion::{Effort, GenerationOptions, OnUnsupported, Reasoning};
use serde_json::json;

use super::super::registry::ProviderKind;
use crate::turn::{CallSettings, Json, JsonObject};

/// The fields that rig has no room of its own for.
pub(super) fn body(kind: ProviderKind, own_openai: bool, settings: &CallSettings) -> JsonObject {
    let mut body = JsonObject::new();
    let mut set = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    let number = |value: Option<f64>| value.map(Json::from);
    let stop = settings.stop_sequences.clone().filter(|stop| !stop.is_empty()).map(Json::from);
    let effort = settings.reasoning_effort.as_deref();
    match kind {
        ProviderKind::Openai => {
            set("top_p", number(settings.top_p));
            set("top_k", settings.top_k.filter(|_| !own_openai).map(Json::from));
            set("presence_penalty", number(settings.presence_penalty));
            set("frequency_penalty", number(settings.frequency_penalty));
            set("stop", stop);
            set("seed", settings.seed.map(Json::from));
            set("reasoning_effort", effort.map(Json::from));
            set(
                "response_format",
                settings
                    .output
                    .as_ref()
                    .map(|schema| json!({"type": "json_schema", "json_schema": named_schema(schema)})),
            );
        }
        ProviderKind::OpenaiResponses => {
            set("top_p", number(settings.top_p));
            set("reasoning", effort.map(|effort| json!({"effort": effort})));
            set(
                "text",
                settings.output.as_ref().map(|schema| {
                    let mut format = named_schema(schema);
                    format["type"] = "json_schema".into();
                    json!({"format": format})
                }),
            );
        }
        ProviderKind::Anthropic => {
            set("top_p", number(settings.top_p));
            set("top_k", settings.top_k.map(Json::from));
            set("stop_sequences", stop);
            let unknown = effort.filter(|effort| reasoning(effort).is_none());
            set("output_config", unknown.map(|effort| json!({"effort": effort})));
        }
        ProviderKind::Gemini => {
            let unknown = effort.filter(|effort| reasoning(effort).is_none());
            let fields = [
                ("topP", number(settings.top_p)),
                ("topK", settings.top_k.map(Json::from)),
                ("presencePenalty", number(settings.presence_penalty)),
                ("frequencyPenalty", number(settings.frequency_penalty)),
                ("stopSequences", stop),
                ("seed", settings.seed.map(Json::from)),
                ("thinkingConfig", unknown.map(|level| json!({"thinkingLevel": level}))),
            ];
            let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            let config: JsonObject = fields.collect();
            set("generationConfig", (!config.is_empty()).then_some(Json::Object(config)));
        }
    }
    body
}

/// The options that rig is better at than we are.
pub(super) fn options(kind: ProviderKind, settings: &CallSettings) -> GenerationOptions {
    let catalogued = matches!(kind, ProviderKind::Anthropic | ProviderKind::Gemini);
    match settings.reasoning_effort.as_deref().filter(|_| catalogued).and_then(reasoning) {
        Some(reasoning) => {
            GenerationOptions::new().reasoning(reasoning).on_unsupported(OnUnsupported::Ignore)
        }
        None => GenerationOptions::new(),
    }
}

fn reasoning(effort: &str) -> Option<Reasoning> {
    Some(Reasoning::Effort(match effort {
        "none" | "off" => return Some(Reasoning::Off),
        "minimal" => Effort::Minimal,
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::XHigh,
        "max" => Effort::Max,
        _ => return None,
    }))
}

/// A schema under its title, as OpenAI wants one.
fn named_schema(schema: &Json) -> Json {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let title = schema.get("title").and_then(Json::as_str).filter(|title| !title.is_empty());
    let name: String = title.unwrap_or("response").chars().map(plain).take(64).collect();
    json!({"name": name, "strict": is_strict(schema), "schema": schema})
}

/// Whether OpenAI can hold a model to the schema: every object is closed and wants all of its properties.
fn is_strict(schema: &Json) -> bool {
    match schema {
        Json::Object(fields) => {
            let closed = fields.get("properties").and_then(Json::as_object).is_none_or(|properties| {
                let required = fields.get("required").and_then(Json::as_array);
                fields.get("additionalProperties") == Some(&Json::Bool(false))
                    && properties
                        .keys()
                        .all(|name| required.is_some_and(|all| all.iter().any(|one| one == name)))
            });
            closed && fields.values().all(is_strict)
        }
        Json::Array(list) => list.iter().all(is_strict),
        _ => true,
    }
}

/// `over` on top of `body`, object by object.
pub(super) fn merge(body: &mut JsonObject, over: &JsonObject) {
    for (name, value) in over {
        match (body.get_mut(name), value) {
            (Some(Json::Object(inner)), Json::Object(over)) => merge(inner, over),
            _ => {
                body.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_strict_only_if_openai_would_take_it_so() {
        let closed = json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false});
        let open = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
        let optional = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
        assert!(is_strict(&closed));
        assert!(!is_strict(&open) && !is_strict(&optional));
        assert!(!is_strict(&json!({"type": "array", "items": open})));
        assert_eq!(named_schema(&json!({"title": "A b"}))["name"], "A_b");
    }

    #[test]
    fn options_win_field_by_field() {
        let mut body = json!({"reasoning": {"effort": "low"}, "seed": 1}).as_object().unwrap().clone();
        merge(&mut body, json!({"reasoning": {"summary": "auto"}, "seed": 2}).as_object().unwrap());
        assert_eq!(Json::Object(body), json!({"reasoning": {"effort": "low", "summary": "auto"}, "seed": 2}));
    }
}
