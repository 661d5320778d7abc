//! The program `mcp-roots`: each verb is a module, and each module a shell around the library.

mod exit;
mod host;
mod log;
mod serve;
mod token;

use std::io::IsTerminal;
use std::time::Duration;

use clap::{Parser, Subcommand};
use mcp_roots::core::server_half::parse_duration;

use exit::Exit;

/// MCP roots made right: serve files under a client's roots, and watch both sides talk.
///
/// Exit codes: 0 all went well; 1 a command of `host` failed; 2 the command line is wrong; 3 the other side
/// could not be started or ended the session in error; 4 this side failed.
#[derive(Parser)]
#[command(name = "mcp-roots", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Serve(serve::ServeArgs),
    Host(host::HostArgs),
}

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Exit::Internal(format!("the runtime cannot be started: {error}")).report(),
    };
    let outcome = runtime.block_on(async {
        match cli.verb {
            Verb::Serve(args) => serve::run(args).await,
            Verb::Host(args) => host::run(args).await,
        }
    });
    // A read of the standard input cannot be cancelled, so it is not waited for.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(exit) => exit.report(),
    }
}

/// Reads a duration on the command line.
fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "use a whole number above zero and ms, s or m, such as 500ms, 5s or 1m".into())
}

/// Whether a stream is shown in colours: only a terminal, and not if `NO_COLOR` says otherwise.
fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
