//! The token that an HTTP server takes and its clients send: the same for both sides, and never on a command line, which
//! everybody on the machine can see.

use std::path::Path;

use crate::exit::Exit;

/// Where the token is looked for if no file is given.
pub(crate) const VARIABLE: &str = "MCP_ROOTS_TOKEN";

/// Reads the token from a file, or else from the environment; `None` if there is none.
pub(crate) fn read(file: Option<&Path>) -> Result<Option<String>, Exit> {
    let token = match file {
        Some(file) => std::fs::read_to_string(file)
            .map(Some)
            .map_err(|error| Exit::Usage(format!("{}: {error}", file.display())))?,
        None => std::env::var(VARIABLE).ok(),
    };
    match token.map(|token| token.trim().to_owned()) {
        Some(token) if token.is_empty() => Err(Exit::Usage("the token is empty".into())),
        token => Ok(token),
    }
}
