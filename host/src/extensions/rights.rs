use std::collections::BTreeMap;
use std::sync::Arc;

use super::grant::Grant;
use super::manifest::Manifest;
use super::network::{Network, Policy, Resolver, Transport};
use super::wasi::Fixed;

/// What instances of an extension may do in the host, ready for use: grant and manifest as one.
pub(super) struct Rights {
    pub(super) grant: Grant,
    /// Granted variables that are set.
    pub(super) environment: Vec<(String, String)>,
    pub(super) network: Network,
    /// Its own context blocks by full label, with the most tokens each may have.
    pub(super) blocks: BTreeMap<String, Option<u32>>,
    /// Clock and chance, where they are not the machine's.
    pub(super) fixed: Option<Fixed>,
}

/// Reads a variable of the host's environment.
pub(super) type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What the host is to extensions: where names and variables come from.
pub(super) struct Surroundings {
    pub(super) variable: Box<Variable>,
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) fixed: Option<Fixed>,
    /// What stands in for the network.
    pub(super) transport: Option<Arc<dyn Transport>>,
}

impl Rights {
    /// `grant` is what takes effect.
    pub(super) fn new(manifest: &Manifest, grant: Grant, host: &Surroundings) -> Self {
        let variable = |name: &String| Some((name.clone(), (host.variable)(name)?));
        let policy = Policy::new(&manifest.permissions.network, &grant.network, &*host.variable);
        Self {
            environment: grant.environment.iter().filter_map(variable).collect(),
            network: Network {
                policy: Arc::new(policy),
                resolver: host.resolver.clone(),
                transport: host.transport.clone(),
            },
            blocks: manifest
                .context
                .iter()
                .map(|block| (manifest.context_label(block), block.max_tokens))
                .collect(),
            fixed: host.fixed,
            grant,
        }
    }

    /// Of an extension that is being described: nothing.
    pub(super) fn none(host: &Surroundings) -> Self {
        Self::new(&Manifest::default(), Grant::default(), host)
    }
}
