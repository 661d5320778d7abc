//! Logs go to the standard error; the standard output belongs to the protocol or to the person at it.

use tracing_subscriber::EnvFilter;

use crate::exit::Exit;

/// Starts logging. `level` is a level for this program, or directives such as `mcp_roots=debug,rmcp=info`.
pub(crate) fn start(level: &str) -> Result<(), Exit> {
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    let directives = match level {
        "off" => level.to_owned(),
        // The SDK logs each message at `info` and each refused call at `warn`. Why a connection failed is said at the end.
        level if levels.contains(&level) => format!("mcp_roots={level},rmcp=error,rmcp::transport::worker=off"),
        directives => directives.to_owned(),
    };
    let filter = EnvFilter::try_new(&directives).map_err(|error| {
        Exit::Usage(format!("--log {level:?} cannot be read: {error}. Use one of {}", levels.join(", ")))
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(crate::colours(&std::io::stderr()))
        .with_target(false)
        .init();
    Ok(())
}
