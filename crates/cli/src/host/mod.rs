//! `mcp-roots host`: the client half for a person. Opens folders, runs a server, and shows the roots
//! conversation as it happens.

mod command;
mod endpoint;
mod journal;
mod prompt;
mod screen;
mod server;
mod session;
mod sources;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mcp_roots::Workspace;
use mcp_roots::core::frame::RootsCapability;
use rmcp::model::ProtocolVersion;
use rmcp::service::ClientLifecycleMode;

use crate::exit::Exit;
use endpoint::HttpArgs;
use prompt::Lines;
use screen::Screen;
use server::ServerProcess;
use session::{Session, Terms};

/// Open folders, run a server on them, and see what the two say about roots.
///
/// Commands are read from a prompt, or one a line from the standard input; `help` lists them.
#[derive(Args)]
pub(crate) struct HostArgs {
    /// Folders to open.
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Open the folders of a .code-workspace file, as the editor changes it. May be repeated.
    #[arg(long, value_name = "FILE")]
    workspace: Vec<PathBuf>,
    /// Open what is mounted below a directory, as it comes and goes. May be repeated.
    #[arg(long, value_name = "DIR")]
    mounts: Vec<PathBuf>,
    /// Open the git worktrees of each DIR's repository, as they come and go.
    #[arg(long)]
    worktrees: bool,
    /// Open each directory that matches, such as '~/src/*/', as they come and go. May be repeated.
    #[arg(long, value_name = "GLOB")]
    projects: Vec<String>,
    /// Write one JSON object a line, for programs.
    #[arg(long)]
    json: bool,
    /// What to declare of roots: list-changed, plain (without announcements) or none. For testing servers.
    #[arg(long, value_name = "WHAT", value_parser = declaration, default_value = "list-changed")]
    declare: Declaration,
    /// The protocol era: modern (2026-07-28), legacy (up to 2025-11-25), or auto, which asks the server.
    #[arg(long, value_name = "auto|legacy|modern", value_parser = era, default_value = "auto")]
    era: ClientLifecycleMode,
    #[command(flatten)]
    http: HttpArgs,
    /// How long a server may take over a request, such as 500ms, 30s or 5m.
    #[arg(long, value_parser = crate::duration, default_value = "60s")]
    timeout: Duration,
    /// What is logged to the standard error: off, error, warn, info, debug, trace, or directives.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    log: String,
    /// The server's command. Default: the built-in server, `mcp-roots serve`.
    #[arg(last = true, value_name = "CMD", conflicts_with = "url")]
    command: Vec<String>,
}

/// What to declare of roots. Under a name of its own, since an option of type `Option` is one that may be absent.
type Declaration = Option<RootsCapability>;

pub(crate) async fn run(args: HostArgs) -> Result<(), Exit> {
    crate::log::start(&args.log)?;
    let workspace = Workspace::open(&args.dirs).map_err(|error| Exit::Usage(error.to_string()))?;
    sources::follow(&workspace, &args).await?;
    let interactive = std::io::stdin().is_terminal() && !args.json;
    let (mut lines, printer) = Lines::open(interactive)?;
    let screen = Screen::start(args.json, printer);
    let exposing = args.declare.is_some();
    let terms =
        Terms { workspace, declare: args.declare, era: args.era, timeout: args.timeout, screen: screen.clone() };
    let mut session = match &args.http.url {
        Some(url) => {
            let (server, transport) = endpoint::reach(url, &args.http, exposing)?;
            Session::open(server, transport, terms).await?
        }
        None => {
            let (server, transport) = ServerProcess::start(&args.command)?;
            Session::open(server, transport, terms).await?
        }
    };
    let outcome = converse(&mut session, &mut lines).await;
    let ended = session.close().await;
    screen.flush().await;
    outcome.and(ended)
}

/// Carries out one command after the other: each takes effect before the next is read.
async fn converse(session: &mut Session, lines: &mut Lines) -> Result<(), Exit> {
    let (mut failed, mut of) = (0, 0);
    loop {
        let line = tokio::select! {
            line = lines.next() => line?,
            end = session.ended() => return Err(end),
        };
        let Some(line) = line else { break };
        match command::parse(&line) {
            Ok(None) => continue,
            Ok(Some(command::Command::Quit)) => break,
            Ok(Some(command)) => {
                of += 1;
                failed += usize::from(!session.carry_out(&line, command).await?);
            }
            Err(error) => {
                of += 1;
                failed += 1;
                session.failed(&line, &error.to_string());
            }
        }
        session.screen().flush().await;
    }
    // A person has seen what failed; a script has not.
    match failed {
        0 => Ok(()),
        _ if lines.interactive() => Ok(()),
        failed => Err(Exit::CommandsFailed { failed, of }),
    }
}

fn era(text: &str) -> Result<ClientLifecycleMode, String> {
    let modern = || vec![ProtocolVersion::V_2026_07_28];
    match text {
        "auto" => Ok(ClientLifecycleMode::Auto { preferred_versions: modern(), legacy_version: None }),
        "legacy" => Ok(ClientLifecycleMode::Initialize),
        "modern" => Ok(ClientLifecycleMode::Discover { preferred_versions: modern() }),
        _ => Err("use auto, legacy or modern".into()),
    }
}

fn declaration(text: &str) -> Result<Declaration, String> {
    match text {
        "list-changed" => Ok(Some(RootsCapability { list_changed: true })),
        "plain" => Ok(Some(RootsCapability { list_changed: false })),
        "none" => Ok(None),
        _ => Err("use list-changed, plain or none".into()),
    }
}
