use std::fmt;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::labels::{Build, Extension, Health};
use crate::agent::Agent;
use crate::hooks::Condition;
use crate::server::routes::Shared;

const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /metrics`.
pub(in crate::server) async fn metrics(State(shared): State<Shared>) -> Response {
    match text(&shared) {
        Ok(text) => ([(header::CONTENT_TYPE, TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!("the metrics cannot be written: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn text(shared: &Shared) -> Result<String, fmt::Error> {
    let mut text = String::new();
    encode_registry(&mut text, &shared.hubs.metrics.registry)?;
    encode_registry(&mut text, &now(shared))?;
    encode_eof(&mut text)?;
    Ok(text)
}

/// What is known at this moment, rather than counted.
fn now(shared: &Shared) -> Registry {
    let mut registry = Registry::with_prefix("lathe");
    registry.register("build", "The host", Info::new(Build { version: env!("CARGO_PKG_VERSION") }));
    let gauge = |number: usize| {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        gauge
    };
    registry.register("connections", "Connections that are open", gauge(shared.connected()));
    registry.register(
        "sessions",
        "Sessions that somebody is connected to or that work",
        gauge(shared.hubs.open_now()),
    );
    extensions(&mut registry, &shared.hubs.agent);
    registry
}

fn extensions(registry: &mut Registry, agent: &Agent) {
    let health = Family::<Health, Gauge>::default();
    let strikes = Family::<Extension, Gauge>::default();
    let quarantine = Family::<Extension, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
    for extension in agent.extensions() {
        let name = &extension.manifest.name;
        let known = extension.health();
        for (condition, word) in [
            (Condition::Ready, "ready"),
            (Condition::Quarantined, "quarantined"),
            (Condition::Probing, "probing"),
        ] {
            let labels = Health { extension: name.clone(), health: word };
            health.get_or_create(&labels).set(i64::from(known.condition == condition));
        }
        let labels = Extension { extension: name.clone() };
        strikes.get_or_create(&labels).set(i64::from(known.strikes));
        let left = std::time::Duration::from_millis(known.quarantine_ms.unwrap_or_default());
        quarantine.get_or_create(&labels).set(left.as_secs_f64());
    }
    registry.register("extension_health", "1 for how an extension is", health);
    registry.register("extension_strikes", "Calls that failed by an extension's fault, in a row", strikes);
    registry.register(
        "extension_quarantine_seconds",
        "Until an extension in quarantine is tried again",
        quarantine,
    );
}
