//! What is put aside while the client is asked for roots: sealed, bound to its request, and good for a while.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use rmcp::model::{ErrorData, InputResponses, RequestStateCodec, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};

/// How long a client may take to come again. There may be a person in between.
const GOOD_FOR: Duration = Duration::from_secs(10 * 60);
/// What tells our states from those of a handler.
const MARK: &str = "mcp-roots:";

/// What belongs to a handler, and would be lost in a round that is about roots alone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Carried {
    pub(super) state: Option<String>,
    pub(super) responses: InputResponses,
}

/// Seals and opens. The key is this process's own: a request that comes again must come to the same process.
pub(crate) struct States {
    codec: RequestStateCodec,
}

impl std::fmt::Debug for States {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("States")
    }
}

impl States {
    pub(crate) fn new() -> Self {
        // Each of these hashers is keyed by the system's random source.
        let key: Vec<u8> = (0..4).flat_map(|_| RandomState::new().build_hasher().finish().to_le_bytes()).collect();
        States { codec: RequestStateCodec::new_unchecked(key) }
    }

    pub(super) fn seal(&self, carried: &Carried, bound: &[u8]) -> String {
        let json = serde_json::to_vec(carried).unwrap_or_default();
        let sealed = self.codec.seal_with(&json, &SealOptions::new().associated_data(bound).ttl(GOOD_FOR));
        format!("{MARK}{sealed}")
    }

    /// Opens a state; `None` if it is not one of ours.
    pub(super) fn open(&self, state: &str, bound: &[u8]) -> Option<Result<Carried, ErrorData>> {
        let sealed = state.strip_prefix(MARK)?;
        Some(self.codec.open_json_with(sealed, bound).map_err(|error| refused(&error)))
    }
}

fn refused(error: &RequestStateError) -> ErrorData {
    let reason = match error {
        RequestStateError::Expired => "it has expired; make the request anew, without it".into(),
        RequestStateError::IntegrityCheckFailed => {
            "it was altered, or belongs to another request or to a server that has ended".into()
        }
        other => other.to_string(),
    };
    ErrorData::invalid_params(format!("requestState is refused: {reason}"), None)
}
