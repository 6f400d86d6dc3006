//! What operators do with the extensions of a server that runs: what `lathe ext` does, in effect once it is done.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::ext::{self, Edit};
use super::print::Printer;
use super::problem::Problem;
use super::reload::{Reload, Rest};
use crate::agent::Agent;
use crate::config::Config;
use crate::extensions::{Found, Manifest};
use crate::logs::{LogLine, LogReader, Logs, logged};
use crate::server::{Operator, OperatorError};
use crate::turn::Json;

/// Orders that may wait; who has more waits before. 16.
const WAITING: usize = 16;

/// Takes orders, for the one task that changes extensions.
pub(super) struct Desk {
    agent: Agent,
    rest: Arc<Mutex<Rest>>,
    logs: Logs,
    /// Where they are.
    folder: PathBuf,
    orders: mpsc::Sender<Order>,
}

/// Where they come out.
pub(super) struct Orders(mpsc::Receiver<Order>);

/// A change of what the configuration says of an extension.
pub(super) struct Order {
    name: String,
    change: Change,
    reply: oneshot::Sender<Result<(), OperatorError>>,
}

enum Change {
    Enable(bool),
    Grant(Vec<String>),
    Revoke(Vec<String>),
}

impl Desk {
    pub(super) fn new(agent: Agent, logs: Logs, reload: &Reload) -> (Self, Orders) {
        let (orders, receiver) = mpsc::channel(WAITING);
        let folder = reload.config().logs();
        (Self { agent, rest: reload.rest(), logs, folder, orders }, Orders(receiver))
    }

    async fn order(&self, name: &str, change: Change) -> Result<(), OperatorError> {
        let (reply, done) = oneshot::channel();
        let stops = |()| OperatorError::Failed("the server stops".into());
        let order = Order { name: name.to_owned(), change, reply };
        self.orders.send(order).await.map_err(|_| stops(()))?;
        done.await.map_err(|_| stops(()))?
    }

    fn listings(&self) -> Vec<Json> {
        let rest = self.rest.lock();
        ext::listings(&self.agent.extensions(), &rest.disabled, &rest.errors, &rest.config)
    }
}

#[async_trait]
impl Operator for Desk {
    async fn extensions(&self) -> Result<Vec<Json>, OperatorError> {
        Ok(self.listings())
    }

    async fn log(&self, name: &str) -> Result<Vec<LogLine>, OperatorError> {
        self.logs.flush().await;
        let known = self.listings().iter().any(|listing| listing["name"] == name);
        let (folder, name) = (self.folder.clone(), name.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            // A name that is neither is not to become part of a path.
            if !known && !logged(&folder).contains(&name) {
                return Err(OperatorError::NotFound(format!("there is no extension \"{name}\"")));
            }
            LogReader::new(&folder, &name)
                .read()
                .map_err(|error| OperatorError::Failed(format!("cannot read the log: {error}")))
        });
        read.await.unwrap_or_else(|error| Err(OperatorError::Failed(format!("cannot read the log: {error}"))))
    }

    async fn enable(&self, name: &str, enabled: bool) -> Result<(), OperatorError> {
        self.order(name, Change::Enable(enabled)).await
    }

    async fn reset(&self, name: &str) -> Result<(), OperatorError> {
        match self.agent.reset_health(name).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(OperatorError::NotFound(ext::never_called(name))),
            Err(error) => Err(OperatorError::Failed(format!("cannot reset \"{name}\": {error}"))),
        }
    }

    async fn grant(&self, name: &str, permissions: &[String]) -> Result<(), OperatorError> {
        self.order(name, Change::Grant(permissions.to_vec())).await
    }

    async fn revoke(&self, name: &str, permissions: &[String]) -> Result<(), OperatorError> {
        self.order(name, Change::Revoke(permissions.to_vec())).await
    }
}

impl Orders {
    /// The next one; waits for ever once nobody can give any.
    pub(super) async fn next(&mut self) -> Order {
        match self.0.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        }
    }
}

impl Order {
    /// Does it, and says how that went.
    pub(super) async fn carry_out(self, reload: &mut Reload, printer: &mut Printer) {
        let done = change(&self.name, self.change, reload, printer).await;
        // Whoever asked may be gone.
        let _ = self.reply.send(done);
    }
}

async fn change(
    name: &str,
    change: Change,
    reload: &mut Reload,
    printer: &mut Printer,
) -> Result<(), OperatorError> {
    reload.configure().map_err(|problem| failed(&problem))?;
    let there = reload.there().await.map_err(|problem| failed(&problem))?;
    let config = reload.config();
    let Found { file, manifest, .. } = ext::named(there, config, name)
        .map_err(|problem| OperatorError::NotFound(problem.message().to_owned()))?;
    let runs = !matches!(change, Change::Enable(false));
    if !matches!(change, Change::Enable(enabled) if ext::is_enabled(config, name) == enabled) {
        let mut edit = Edit::open(config).map_err(|problem| failed(&problem))?;
        edited(&mut edit, change, config, &manifest)
            .map_err(|problem| OperatorError::Refused(problem.message().to_owned()))?;
        // It waits for the disk.
        let saved = tokio::task::spawn_blocking(|| edit.save()).await;
        let saved = saved.unwrap_or_else(|error| Err(Problem::new(error.to_string())));
        let read = saved.and_then(|()| reload.ask_others()).and_then(|()| reload.configure());
        read.map_err(|problem| failed(&problem))?;
    }
    reload.renew(printer).await.map_err(|problem| failed(&problem))?;
    let rest = reload.rest();
    let rest = rest.lock();
    match rest.errors.iter().find(|error| runs && error.file == file) {
        Some(error) => Err(OperatorError::Refused(format!("the configuration is changed, but {error}"))),
        None => Ok(()),
    }
}

fn edited(edit: &mut Edit, change: Change, config: &Config, manifest: &Manifest) -> Result<(), Problem> {
    let name = &manifest.name;
    match change {
        Change::Enable(enabled) => return edit.enable(name, enabled),
        Change::Grant(permissions) => ext::add(edit, name, ext::parsed(&permissions)?)?,
        Change::Revoke(permissions) => ext::take(edit, config, name, ext::parsed(&permissions)?)?,
    }
    ext::allowed(edit, config, manifest).map(drop)
}

fn failed(problem: &Problem) -> OperatorError {
    OperatorError::Failed(problem.message().to_owned())
}
