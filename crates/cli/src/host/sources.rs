//! The sources that the command line names.

use std::path::Path;

use mcp_roots::{Source, SourceError, Workspace};

use super::HostArgs;
use crate::exit::Exit;

/// Has `workspace` follow them, kind by kind, and in the order of the command line within a kind.
pub(super) async fn follow(workspace: &Workspace, args: &HostArgs) -> Result<(), Exit> {
    let files = args.workspace.iter().map(Source::workspace_file);
    let mounts = args.mounts.iter().map(Source::mounts);
    let projects = args.projects.iter().map(|pattern| Source::projects(with_home(pattern)));
    for source in files.chain(mounts) {
        workspace.follow(source).await.map_err(usage)?;
    }
    for dir in args.dirs.iter().filter(|_| args.worktrees) {
        match workspace.follow(Source::worktrees(dir)).await {
            Err(error @ SourceError::NoRepository { .. }) => tracing::warn!("{error}: it is a plain folder"),
            followed => followed.map_err(usage)?,
        }
    }
    for source in projects {
        workspace.follow(source).await.map_err(usage)?;
    }
    Ok(())
}

fn usage(error: SourceError) -> Exit {
    Exit::Usage(error.to_string())
}

/// A shell leaves `~` alone where the rest is quoted, as a pattern must be.
fn with_home(pattern: &str) -> String {
    let below = Path::new(pattern).strip_prefix("~").ok();
    match below.and_then(|below| Some(std::env::home_dir()?.join(below))) {
        Some(path) => path.display().to_string(),
        None => pattern.into(),
    }
}
