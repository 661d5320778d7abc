//! How the program ends when not all went well: by kind, with a message that says what to do.

use std::process::ExitCode;

/// Why the program ends.
#[derive(Debug)]
pub(crate) enum Exit {
    /// Some commands of a script failed. They have said so themselves.
    CommandsFailed { failed: usize, of: usize },
    /// The command line asks for something that cannot be.
    Usage(String),
    /// The other side could not be started, or ended the session in error.
    Peer(String),
    /// This side failed.
    Internal(String),
}

impl Exit {
    /// Says why on the standard error, and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (code, message) = match self {
            Exit::CommandsFailed { failed, of } => (1, format!("{failed} of {of} commands failed")),
            Exit::Usage(message) => (2, message),
            Exit::Peer(message) => (3, message),
            Exit::Internal(message) => (4, message),
        };
        eprintln!("mcp-roots: {message}");
        ExitCode::from(code)
    }
}
