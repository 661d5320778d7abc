//! `mcp-roots serve`: a filesystem server whose boundary follows its client's roots.

mod editing;
mod error;
mod http;
mod limits;
mod listing;
mod metrics;
mod patterns;
mod reading;
mod resources;
mod searching;
mod server;
mod status;
mod subscriptions;
mod tools;
mod tree;
mod walking;
mod work;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mcp_roots::core::mapping::{MappedFolder, Mapping};
use mcp_roots::core::server_half::ClientRootsUse;
use mcp_roots::core::uri::RootPath;
use mcp_roots::{OnStale, Policy, Refresh, TrackOptions};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use crate::exit::Exit;
use http::HttpArgs;
use server::{Allowed, Era, FileServer};
use work::Running;

/// Serve files under the roots of the client, over the standard streams or Streamable HTTP.
#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Directories that are allowed whatever the client says, subject to the policy.
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Offer the tools that change files: write_file, edit_file, create_directory and move_file.
    #[arg(long)]
    write: bool,
    /// The protocol's era: auto serves both, legacy (up to 2025-11-25) and modern (2026-07-28) one.
    #[arg(long, value_name = "auto|legacy|modern", default_value = "auto")]
    era: Era,
    /// Let trees and searches go into what .gitignore files name, and into .git.
    #[arg(long)]
    no_ignore: bool,
    /// How the DIRs and the client's roots combine: replace, merge, narrow or pin. Default: merge if there are DIRs, else replace.
    #[arg(long)]
    policy: Option<Policy>,
    /// How long a call waits for the client's roots at most, such as 500ms, 5s or 1m.
    #[arg(long, value_parser = crate::duration, default_value = "5s")]
    deadline: Duration,
    /// What a call gets when the roots are not known in time: an error, the stale set, or the operator's DIRs.
    #[arg(long, value_name = "error|stale|operator", default_value = "error")]
    on_stale: OnStale,
    /// How roots are kept current when the client does not announce changes: static, poll:30s or on-request:10s.
    #[arg(long, value_name = "HOW", default_value = "on-request:10s")]
    refresh: Refresh,
    /// Whether the client's roots count: ignore is for clients that declare roots and misbehave.
    #[arg(long, value_name = "use|ignore", default_value = "use")]
    client_roots: ClientRootsUse,
    /// A folder of the client's, which is another one here: for a server on another machine, or in a container. Both are
    /// absolute; CLIENT may be a Windows path or a file:// URI. May be repeated, and the longest prefix wins.
    #[arg(long, value_name = "CLIENT=LOCAL")]
    map: Vec<MappedFolder>,
    #[command(flatten)]
    http: HttpArgs,
    /// What is logged to the standard error: off, error, warn, info, debug, trace, or directives.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: String,
}

pub(crate) async fn run(args: ServeArgs) -> Result<(), Exit> {
    crate::log::start(&args.log)?;
    let remote = args.http.http.is_some() && !args.http.unrestricted;
    if remote
        && (args.dirs.is_empty() || args.policy.is_some_and(|policy| !matches!(policy, Policy::Narrow | Policy::Pin)))
    {
        return Err(Exit::Usage(
            "over HTTP anybody who connects could open what they like: give DIRs, under the policy narrow or pin, or say \
             --unrestricted"
                .into(),
        ));
    }
    let (policy, why) = match (args.policy, args.dirs.is_empty()) {
        (Some(policy), _) => (policy, "it was asked for"),
        (None, false) if remote => (Policy::Narrow, "clients over HTTP can only narrow what the operator allows"),
        (None, false) => {
            (Policy::Merge, "directories were given, and neither they nor the client's roots are to be lost")
        }
        (None, true) => (Policy::Replace, "no directories were given"),
    };
    tracing::info!("policy {policy}, since {why}; {} directories of the operator", args.dirs.len());
    let mapping = Mapping::new(args.map).map_err(|error| Exit::Usage(error.to_string()))?;
    let locals: Vec<PathBuf> = mapping.iter().filter_map(|folder| folder.local().to_native()).collect();
    warn_of_missing(args.dirs.iter().chain(&locals));
    warn_of_unnamed(&args.dirs, &mapping);
    if args.http.http.is_none() && std::io::stdin().is_terminal() {
        tracing::info!("waiting for an MCP client on the standard input; to try it by hand, use `mcp-roots host`");
    }
    let options = TrackOptions::default()
        .policy(policy)
        .operator_dirs(&args.dirs)
        .map_err(|error| Exit::Usage(error.to_string()))?
        .configure(|config| {
            config.deadline = args.deadline;
            config.on_stale = args.on_stale;
            config.refresh = args.refresh;
            config.client_roots = args.client_roots;
            config.mapping = mapping;
        });
    let allowed = Allowed { write: args.write, gitignore: !args.no_ignore, era: args.era };
    if let Some(address) = args.http.http {
        return http::serve(address, args.http, options, allowed).await;
    }
    let (transport, roots) = mcp_roots::track(mcp_roots::wire::stdio(), options);
    let server = FileServer::new(roots.clone(), allowed, Running::default());
    match roots.serving(server).serve(transport).await {
        Ok(session) => match session.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(Exit::Internal(format!("the session ended in error: {error}"))),
        },
        // A client that leaves before it says anything has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Exit::Peer(format!(
            "the client did not complete the handshake: {error}. The first request must be `initialize`, or one of \
             protocol 2026-07-28 with its metadata"
        ))),
    }
}

/// A directory may come later, so this is no error, and people want to know.
fn warn_of_missing<'a>(dirs: impl IntoIterator<Item = &'a PathBuf>) {
    for dir in dirs {
        if let Err(error) = std::fs::metadata(dir) {
            tracing::warn!("{}: {error}; it is served once it is there", dir.display());
        }
    }
}

/// DIRs are paths of this system, and one that is given as the client's would be out of every client's reach.
fn warn_of_unnamed(dirs: &[PathBuf], mapping: &Mapping) {
    for dir in dirs {
        let path = std::path::absolute(dir).ok().and_then(|dir| RootPath::from_native(&dir).ok());
        if path.is_some_and(|path| mapping.to_local(&mapping.to_client(&path)) != path) {
            tracing::warn!(
                "no client can name {}: by --map its path means another folder. DIRs are paths here, not the client's",
                dir.display()
            );
        }
    }
}
