use super::{ForkArgs, OneArgs, RenameArgs, explain};
use crate::agent::Agent;
use crate::cli::Done;
use crate::cli::print::whole;
use crate::cli::problem::Problem;
use crate::cli::style::clean;
use crate::config::Config;
use crate::store::{Store, StoreError};

pub(super) async fn fork(args: ForkArgs, config: Config) -> Result<Done, Problem> {
    let ForkArgs { name, new, at, data } = args;
    Agent::check_name(&new)?;
    let store = data.known(config, &name).await?;
    if let Err(error) = store.fork(&name, at.as_deref(), &new).await {
        let missing = matches!(error, StoreError::Missing { .. });
        let problem = explain(&store, error).await;
        return Err(if missing {
            problem.hint(format!("`lathe sessions show {name}` shows the ids"))
        } else {
            problem
        });
    }
    store.close().await;
    whole(&format!("{} begins as {}\n", clean(&new), clean(&name)))
}

pub(super) async fn rename(args: RenameArgs, config: Config) -> Result<Done, Problem> {
    let RenameArgs { name, new, data } = args;
    Agent::check_name(&new)?;
    let store = data.known(config, &name).await?;
    if let Err(error) = store.rename(&name, &new).await {
        return Err(explain(&store, error).await);
    }
    store.close().await;
    whole(&format!("{} is {} now\n", clean(&name), clean(&new)))
}

pub(super) async fn delete(args: OneArgs, config: Config) -> Result<Done, Problem> {
    let store = args.data.known(config, &args.name).await?;
    if !store.delete(&args.name).await? {
        return Err(explain(&store, StoreError::NoSession(args.name)).await);
    }
    store.close().await;
    whole(&format!("{} is deleted\n", clean(&args.name)))
}
