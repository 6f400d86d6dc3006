use serde::Deserialize;

/// `[telemetry]`: where traces of turns go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Telemetry {
    /// The address of a collector that takes OTLP over HTTP, such as `http://localhost:4318`. Default: nowhere.
    pub otlp: Option<String>,
    /// Whether what people, models and tools say is in the traces, too. Default: false.
    pub content: bool,
}
