//! Paths as people give them, made into roots' paths.

use std::path::{Component, Path, PathBuf};

use mcp_roots_core::uri::RootPath;

/// Why a path cannot be a root. The text says which path, and what about it.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be a root: {reason}", path.display())]
pub struct LocalPathError {
    path: PathBuf,
    reason: String,
}

/// The absolute path that `dir` means. It is not resolved further than it must be: a link stays a link, so
/// that the root keeps the name that people gave it.
pub(crate) fn root_path(dir: &Path) -> Result<RootPath, LocalPathError> {
    let refused = |reason: String| LocalPathError { path: dir.into(), reason };
    let mut absolute = std::path::absolute(dir).map_err(|error| refused(error.to_string()))?;
    if absolute.components().any(|component| component == Component::ParentDir) {
        // Where `..` leads after a link only the system knows.
        absolute = std::fs::canonicalize(&absolute).map_err(|error| refused(error.to_string()))?;
    }
    RootPath::from_native(&absolute).map_err(|refusal| refused(refusal.to_string()))
}
