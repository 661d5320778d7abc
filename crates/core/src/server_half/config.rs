//! What whoever runs a server decides about roots. Every limit and wait of the half is here.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::mapping::Mapping;
use crate::policy::Policy;
use crate::set::RootSet;
use crate::uri::PathRules;

/// The settings of a [`ServerHalf`](super::ServerHalf). The defaults suit a local server over stdio.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerConfig {
    /// How the operator's directories and the client's roots combine. Default: replace.
    pub policy: Policy,
    /// The directories that whoever runs the server allows. They never change.
    pub operator: RootSet,
    /// When the client can be reached. Default: always.
    pub reach: Reach,
    /// The path rules that the client's URIs are read under. Default: those of this system.
    pub rules: PathRules,
    /// Which of the client's folders are where. The operator's directories, and all that the policy makes of both, are
    /// local. Default: every path is the same on both sides.
    pub mapping: Mapping,
    /// Whether the client's roots count at all. Default: they do.
    pub client_roots: ClientRootsUse,
    /// How long a request waits for a fresh set, and how long a question waits for its answer. Default: 5 s.
    pub deadline: Duration,
    /// What a request gets when no fresh set arrives within the deadline. Default: an error.
    pub on_stale: OnStale,
    /// How a set is kept current when the client does not announce changes. Default: on request, 10 s.
    pub refresh: Refresh,
    /// The wait before the first retry of a failed question; it doubles with each failure. Default: 100 ms.
    pub retry_first: Duration,
    /// The longest wait between retries. Default: 10 s.
    pub retry_cap: Duration,
    /// How many failures in succession it takes until requests no longer wait for the next try. Default: 3.
    pub patience: u32,
    /// How many questions nobody waits for may follow each other at once. Default: 2.
    pub burst: u32,
    /// How many questions nobody waits for may be asked in a second. Default: 10.
    pub per_second: u32,
    /// The least time between two questions that cues lead to. Default: 1 s.
    pub cue_interval: Duration,
    /// How many roots of an answer are taken; the rest is rejected with that reason. Default: 10,000.
    pub max_roots: usize,
    /// How many subscriptions are followed at once. Default: 10,000.
    pub max_subscriptions: usize,
    /// How many requests wait at once for a fresh set. Default: 10,000.
    pub max_waits: usize,
    /// How many of the client's requests in flight are kept in mind as ways to reach it, where that is needed.
    /// Default: 1,024.
    pub max_ways: usize,
    /// Where jitter and ids start from. Two halves that face one client want different seeds. Default: 0.
    pub seed: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            policy: Policy::Replace,
            operator: RootSet::default(),
            reach: Reach::Always,
            rules: PathRules::native(),
            mapping: Mapping::default(),
            client_roots: ClientRootsUse::Use,
            deadline: Duration::from_secs(5),
            on_stale: OnStale::Error,
            refresh: Refresh::OnRequest(Duration::from_secs(10)),
            retry_first: Duration::from_millis(100),
            retry_cap: Duration::from_secs(10),
            patience: 3,
            burst: 2,
            per_second: 10,
            cue_interval: Duration::from_secs(1),
            max_roots: 10_000,
            max_subscriptions: 10_000,
            max_waits: 10_000,
            max_ways: 1_024,
            seed: 0,
        }
    }
}

/// When a server can send a request to its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// At any time, as over stdio.
    #[default]
    Always,
    /// While the client has a stream open, as in a session of Streamable HTTP: the one that it may open by a GET, or
    /// that of a request of its own, up to the response (2025-11-25, basic/transports, Sending Messages to the Server
    /// and Listening for Messages from the Server). The half has to be told of those streams; what it would ask
    /// while there is none stays owed, and is asked on the next.
    Streams,
}

/// Whether a client's roots count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClientRootsUse {
    /// They do, if the client declares them.
    #[default]
    Use,
    /// They do not: the client is treated as if it had declared none. For clients that declare and misbehave.
    Ignore,
}

/// What a request gets when no fresh set arrives within the deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnStale {
    /// An error that says so.
    #[default]
    Error,
    /// The last set that is known; an error if none is.
    Stale,
    /// The operator's directories alone.
    Operator,
}

/// How a set is kept current when the client does not announce changes.
///
/// A client that declares `roots.listChanged` is asked when it announces a change, and none of these
/// applies. A cue re-checks the set under each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refresh {
    /// The first answer stands.
    Static,
    /// Ask again this long after each answer.
    Poll(Duration),
    /// Ask inside the next request that needs roots when the set is older than this.
    OnRequest(Duration),
}

/// A setting that could not be read: what was given, and what would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not {what}: use {choices}")]
pub struct UnknownChoice {
    given: String,
    what: &'static str,
    choices: &'static str,
}

impl FromStr for OnStale {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        match text {
            "error" => Ok(OnStale::Error),
            "stale" => Ok(OnStale::Stale),
            "operator" => Ok(OnStale::Operator),
            _ => Err(unknown(text, "a choice for a missed deadline", "error, stale or operator")),
        }
    }
}

impl FromStr for ClientRootsUse {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        match text {
            "use" => Ok(ClientRootsUse::Use),
            "ignore" => Ok(ClientRootsUse::Ignore),
            _ => Err(unknown(text, "a use of the client's roots", "use or ignore")),
        }
    }
}

/// Reads `static`, `poll:DURATION` and `on-request:DURATION`, a duration being a whole number and `ms`, `s` or `m`.
impl FromStr for Refresh {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let choice = match text.split_once(':') {
            None if text == "static" => Some(Refresh::Static),
            Some(("poll", wait)) => parse_duration(wait).filter(|wait| !wait.is_zero()).map(Refresh::Poll),
            Some(("on-request", age)) => parse_duration(age).map(Refresh::OnRequest),
            _ => None,
        };
        choice.ok_or_else(|| unknown(text, "a way to refresh", "static, poll:30s or on-request:10s"))
    }
}

impl fmt::Display for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refresh::Static => f.write_str("static"),
            Refresh::Poll(wait) => write!(f, "poll:{}ms", wait.as_millis()),
            Refresh::OnRequest(age) => write!(f, "on-request:{}ms", age.as_millis()),
        }
    }
}

/// Reads a duration: a whole number followed by `ms`, `s` or `m`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

fn unknown(given: &str, what: &'static str, choices: &'static str) -> UnknownChoice {
    UnknownChoice { given: given.into(), what, choices }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_bad_ones_say_what_would_do() {
        assert_eq!("static".parse(), Ok(Refresh::Static));
        assert_eq!("poll:30s".parse(), Ok(Refresh::Poll(Duration::from_secs(30))));
        assert_eq!("on-request:250ms".parse(), Ok(Refresh::OnRequest(Duration::from_millis(250))));
        for bad in ["poll", "poll:", "poll:0s", "poll:3h", "poll:-1s", "on-request:1.5s", "sometimes"] {
            let error = bad.parse::<Refresh>().unwrap_err().to_string();
            assert!(error.contains("static, poll:30s or on-request:10s"), "{error}");
        }
        assert!("maybe".parse::<OnStale>().unwrap_err().to_string().contains("error, stale or operator"));
    }
}
