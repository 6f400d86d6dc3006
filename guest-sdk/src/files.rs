//! Where files are.

use std::path::PathBuf;

/// The folder that the operator granted, to be read by `std::fs`: `/workspace`. In a native test, the folder that
/// [`TestHost::set_workspace`](crate::testing::TestHost::set_workspace) names.
pub fn workspace() -> PathBuf {
    #[cfg(not(target_family = "wasm"))]
    if let Some(folder) = crate::testing::STATE.with_borrow(|state| state.workspace.clone()) {
        return folder;
    }
    PathBuf::from("/workspace")
}
