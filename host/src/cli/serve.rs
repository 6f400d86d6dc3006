//! The server, until it is told to stop.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Done;
use super::args::Place;
use super::host::Host;
use super::operator::{Desk, Orders};
use super::print::Printer;
use super::problem::Problem;
use super::reload::Reload;
use crate::config::{self, Config};
use crate::server::{Limits, Server, Token};

pub(super) const EXAMPLES: &str = "\
Examples:
  lathe serve                                            for this machine
  lathe serve --listen 0.0.0.0:8787 --token-env TOKEN    for others, who show the token

A client connects to ws://ADDRESS/agents/AGENT/SESSION, as clients of Cloudflare's agents do. Ctrl-C or SIGTERM stops the
server once the turns that run are over, or after ten seconds; what is not over then goes on when it starts again.";

/// Where it listens, unless told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

/// How often it is looked whether somebody has asked for the extensions to be taken anew: 1 s.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The address; port 0 takes any that is free [default: 127.0.0.1:8787].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The agent's name in the path; any, unless set.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The variable with the token that clients must show; needed on an address that other machines reach.
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Lets in the web pages of that origin, such as https://chat.example.org.
    #[arg(long, value_name = "ORIGIN")]
    origin: Vec<String>,
    #[command(flatten)]
    place: Place,
    /// The model, as `provider:name`, `demo` or `scripted:FILE`.
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Send traces to the OpenTelemetry collector at that address, such as http://localhost:4318.
    #[arg(long, value_name = "URL")]
    pub(super) otlp: Option<String>,
}

pub(super) async fn run(args: ServeArgs, mut config: Config) -> Result<Done, Problem> {
    let ServeArgs { listen, agent: name, token_env, origin, mut place, model, otlp: _ } = args;
    config.server.agent = name.or(config.server.agent.take());
    let typed = place.clone();
    place.apply(&mut config);
    config.model = model.unwrap_or(config.model);
    let settings = config.server.clone();
    let address = listen.or(settings.listen).unwrap_or(LISTEN);
    let tokens = tokens(token_env.as_ref().or(settings.token_env.as_ref()), &settings.tokens)?;
    if tokens.is_empty() && !address.ip().is_loopback() {
        return Err(Problem::new(format!(
            "{address} can be reached from other machines, and no token is set"
        ))
        .hint("--token-env NAME names the variable that holds one; --listen 127.0.0.1:8787 needs none"));
    }
    // Before anything else: it is what fails most often.
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Problem::new(format!("cannot listen on {address}: {error}")))?;
    let address = listener.local_addr().map_err(|error| Problem::new(error.to_string()))?;
    let mut printer = Printer::new(false, false);
    let (agent, mut reload, files) = Host::build(config, typed, &mut printer).await?;
    let (desk, orders) = Desk::new(agent.clone(), files.logs().clone(), &reload);
    let mut server = Server::new(agent).operator(Arc::new(desk)).limits(limits(&settings));
    if let Some(name) = settings.agent {
        server = server.name(name);
    }
    for token in tokens {
        server = server.admit(token);
    }
    for origin in origin.iter().chain(&settings.origins) {
        server = server.origin(origin);
    }
    let stop = CancellationToken::new();
    printer.note(&format!("listening on http://{address}, Ctrl-C ends"));
    let mut serving = tokio::spawn(server.serve(listener, stop.clone().cancelled_owned()));
    if let Err(problem) = reload.watch() {
        problem.print();
    }
    let served = tokio::select! {
        served = &mut serving => served,
        () = told_to_stop() => {
            printer.note("stopping");
            stop.cancel();
            tokio::select! {
                served = serving => served,
                // Told a second time.
                () = told_to_stop() => return Ok(Done::Interrupted),
            }
        }
        never = reloading(&mut reload, orders, &mut printer) => match never {},
    };
    files.close().await;
    match served {
        Ok(Ok(())) => Ok(Done::Well),
        Ok(Err(error)) => Err(Problem::new(format!("the server failed: {error}"))),
        Err(error) => Err(Problem::new(format!("the server broke off: {error}"))),
    }
}

/// The tokens of the variables that are named.
fn tokens(token_env: Option<&String>, more: &[config::ServerToken]) -> Result<Vec<Token>, Problem> {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    let mut read = |variable| {
        let token = token(variable)?;
        match known.insert(token.clone(), variable) {
            Some(other) => Err(Problem::new(format!("{other} and {variable} hold one token"))
                .hint("what a token may do is known by the token: give each its own")),
            None => Ok(Token::new(&token)),
        }
    };
    let mut tokens = Vec::new();
    if let Some(variable) = token_env {
        tokens.push(read(variable)?.operator(true));
    }
    for config::ServerToken { env, agents, sessions, operator } in more {
        let token = agents.iter().fold(read(env)?.operator(*operator), Token::agent);
        tokens.push(match sessions {
            Some(sessions) => token.sessions(sessions.get()),
            None => token,
        });
    }
    Ok(tokens)
}

/// The token in that variable.
fn token(variable: &str) -> Result<String, Problem> {
    let token = std::env::var(variable).ok().filter(|token| !token.is_empty());
    token.ok_or_else(|| {
        Problem::new(format!("the variable {variable} is to hold the token, and is not set"))
            .hint(format!("{variable}=$(openssl rand -hex 32) lathe serve … makes one"))
    })
}

/// What clients may use, as the configuration says.
fn limits(settings: &config::Server) -> Limits {
    let known = Limits::default();
    Limits {
        unattended: known.unattended,
        connections: settings.connections.map_or(known.connections, NonZeroUsize::get),
        sessions: settings.sessions.map_or(known.sessions, NonZeroUsize::get),
        frame_bytes: settings.frame_bytes.map_or(known.frame_bytes, NonZeroUsize::get),
        queued_bytes: settings.queued_bytes.map_or(known.queued_bytes, NonZeroUsize::get),
        requests: settings.requests.map_or(known.requests, NonZeroUsize::get),
        idle: settings.idle_timeout_s.map_or(known.idle, |seconds| Duration::from_secs(seconds.get().into())),
        stop: settings.stop_timeout_s.map_or(known.stop, |seconds| Duration::from_secs(seconds.into())),
        ..known
    }
}

/// Takes changed extensions for the turns that begin then, and does what operators ask for. Never ends.
async fn reloading(reload: &mut Reload, mut orders: Orders, printer: &mut Printer) -> Infallible {
    loop {
        tokio::select! {
            change = reload.changed() => drop(reload.take(change, printer).await),
            order = orders.next() => order.carry_out(reload, printer).await,
            () = tokio::time::sleep(LOOK) => reload.due(printer).await,
        }
    }
}

/// Waits for Ctrl-C or SIGTERM.
async fn told_to_stop() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terminated = async {
            match signal(SignalKind::terminate()) {
                Ok(mut signal) => drop(signal.recv().await),
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! { () = interrupted => {}, () = terminated => {} }
    }
    #[cfg(not(unix))]
    interrupted.await;
}
