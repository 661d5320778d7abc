//! What is put aside while the client is asked for roots: sealed, bound to its request, and good for a while.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use rmcp::model::{ErrorData, InputResponses, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};

use crate::shell::Clock;

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

/// What is sealed.
#[derive(Serialize, Deserialize)]
struct Sealed {
    /// The request that it belongs to: an empty text, sealed for that request alone. Apart from the seal around it all, so
    /// that a state put on another request can be told from one that was altered.
    of: String,
    /// Until when it is good, in milliseconds of this process's own clock, which nobody sets.
    until: u128,
    carried: Carried,
}

/// Seals and opens. The key is this process's own: a request that comes again must come to the same process.
pub(crate) struct States {
    codec: RequestStateCodec,
    clock: Clock,
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
        States { codec: RequestStateCodec::new_unchecked(key), clock: Clock::start() }
    }

    /// `bound` is what the request asks for.
    pub(super) fn seal(&self, carried: Carried, bound: &[u8]) -> String {
        let of = self.codec.seal_with(&[], &SealOptions::new().associated_data(bound));
        let until = (self.clock.now() + GOOD_FOR).since_origin().as_millis();
        let json = serde_json::to_vec(&Sealed { of, until, carried }).unwrap_or_default();
        format!("{MARK}{}", self.codec.seal(&json))
    }

    /// Opens a state; `None` if it is not one of ours.
    ///
    /// # Errors
    ///
    /// When it was altered, has expired, or belongs to another request.
    pub(super) fn open(&self, state: &str, bound: &[u8]) -> Option<Result<Carried, ErrorData>> {
        let sealed = state.strip_prefix(MARK)?;
        Some(self.unseal(sealed, bound).map_err(|reason| {
            ErrorData::invalid_params(
                format!("requestState is refused: it {reason}. Make the request anew, without it"),
                None,
            )
        }))
    }

    fn unseal(&self, sealed: &str, bound: &[u8]) -> Result<Carried, &'static str> {
        // Nothing that was altered gets past this.
        let sealed: Sealed =
            self.codec.open_json(sealed).map_err(|_| "was altered, or made by a server that has ended")?;
        self.codec.open_with(&sealed.of, bound).map_err(|_| "belongs to another request")?;
        if self.clock.now().since_origin().as_millis() > sealed.until {
            return Err("has expired");
        }
        Ok(sealed.carried)
    }
}
