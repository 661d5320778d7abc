//! What a server author decides about roots.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use mcp_roots_core::policy::Policy;
use mcp_roots_core::server_half::ServerConfig;
use mcp_roots_core::set::{Origin, Root, RootSet};
use mcp_roots_core::uri::RootUri;

use crate::local::{LocalPathError, root_path};

/// The options of [`track`](super::track). The defaults suit a local server over stdio: the client's roots
/// as they are, 5 s to answer, an error past that.
#[derive(Clone, Debug)]
pub struct TrackOptions {
    config: ServerConfig,
}

impl Default for TrackOptions {
    fn default() -> Self {
        let seed = RandomState::new().build_hasher().finish();
        TrackOptions { config: ServerConfig { seed, ..ServerConfig::default() } }
    }
}

impl TrackOptions {
    /// How the operator's directories and the client's roots combine.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.config.policy = policy;
        self
    }

    /// The directories that whoever runs the server allows. Relative ones are taken from the working
    /// directory; whether they exist is not looked at here.
    ///
    /// # Errors
    ///
    /// When one of them cannot be a root.
    pub fn operator_dirs<P: AsRef<Path>>(mut self, dirs: impl IntoIterator<Item = P>) -> Result<Self, LocalPathError> {
        let roots: Result<Vec<Root>, LocalPathError> =
            dirs.into_iter().map(|dir| operator_root(dir.as_ref())).collect();
        self.config.operator = RootSet::from_roots(roots?);
        Ok(self)
    }

    /// Everything else: deadlines, limits, refresh. `change` is given the settings as they are.
    pub fn configure(mut self, change: impl FnOnce(&mut ServerConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// The same, with a seed of its own.
    #[cfg(feature = "http")]
    pub(crate) fn reseeded(self) -> Self {
        self.configure(|config| config.seed ^= RandomState::new().build_hasher().finish())
    }

    pub(crate) fn into_config(self) -> ServerConfig {
        self.config
    }
}

fn operator_root(dir: &Path) -> Result<Root, LocalPathError> {
    Ok(Root::new(RootUri::from_path(&root_path(dir)?), None, Origin::Operator))
}
