//! How the directories of whoever runs a server and the roots of its client combine.
//!
//! The operator's list never changes, and the combination is worked out afresh each time: a root that leaves
//! the client's set leaves, whatever the policy.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use crate::set::{RejectReason, Rejected, Rejections, Root, RootSet};
use crate::uri::{RootPath, RootUri};

/// How the operator's directories and the client's roots combine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// The client's roots, if it gives any; the operator's directories, if it cannot.
    #[default]
    Replace,
    /// Both, the operator's first.
    Merge,
    /// What is in both: the client can only narrow what the operator allows.
    Narrow,
    /// The operator's directories alone; the client is never asked.
    Pin,
}

/// What is known of the client's roots.
#[derive(Clone, Copy, Debug)]
pub enum ClientRoots<'a> {
    /// It has not answered yet.
    NotYet,
    /// It has none to give.
    None,
    /// It gave these.
    Set(&'a RootSet),
}

/// What a policy made of two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Combined {
    /// The roots in force.
    pub set: RootSet,
    /// The client's roots that the policy does not allow: the first hundred, and the number of the rest.
    pub dropped: Vec<Rejected>,
}

impl Policy {
    /// Combines the operator's directories and the client's roots.
    ///
    /// Before the client has answered, only what its answer cannot take away is in force. A client that has
    /// none to give leaves the operator's directories in force.
    pub fn combine(self, operator: &RootSet, client: ClientRoots<'_>) -> Combined {
        let client = match (self, client) {
            (Policy::Pin, _) | (_, ClientRoots::None) | (Policy::Merge, ClientRoots::NotYet) => {
                return only(operator.clone());
            }
            (Policy::Replace | Policy::Narrow, ClientRoots::NotYet) => return only(RootSet::default()),
            (_, ClientRoots::Set(client)) => client,
        };
        match self {
            Policy::Merge => only(RootSet::from_roots(operator.iter().chain(client).cloned())),
            Policy::Narrow => narrow(operator, client),
            Policy::Replace | Policy::Pin => only(client.clone()),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Policy::Replace => "replace",
            Policy::Merge => "merge",
            Policy::Narrow => "narrow",
            Policy::Pin => "pin",
        })
    }
}

/// A text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a policy: use replace, merge, narrow or pin")]
pub struct UnknownPolicy(String);

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        [Policy::Replace, Policy::Merge, Policy::Narrow, Policy::Pin]
            .into_iter()
            .find(|policy| policy.to_string() == text)
            .ok_or_else(|| UnknownPolicy(text.into()))
    }
}

fn only(set: RootSet) -> Combined {
    Combined { set, dropped: Vec::new() }
}

/// A client's root inside an operator's directory stands, to be opened through that directory. Of a client's
/// root around operator's directories those directories stand.
fn narrow(operator: &RootSet, client: &RootSet) -> Combined {
    let mut around: HashMap<&RootUri, Vec<Root>> = HashMap::new();
    for allowed in operator {
        for wider in readings(&allowed.uri).flat_map(|reading| client.above(reading)) {
            if let Some((uri, _)) = inside(&allowed.uri, &wider.uri) {
                around.entry(&wider.uri).or_default().push(Root { uri, ..allowed.clone() });
            }
        }
    }
    let mut roots = Vec::new();
    let mut dropped = Rejections::default();
    for root in client {
        let allowing = readings(&root.uri).find_map(|reading| operator.find(reading));
        if let Some((uri, within)) = allowing.and_then(|allowed| inside(&root.uri, &allowed.uri)) {
            roots.push(Root { uri, within: Some(within.clone()), ..root.clone() });
        } else if let Some(allowed) = around.remove(&root.uri) {
            roots.extend(allowed);
        } else {
            dropped.push(root.uri.as_str(), RejectReason::NotAllowed);
        }
    }
    Combined { set: RootSet::from_roots(roots), dropped: dropped.finish() }
}

/// A URI as it stands inside another, and the reading of the other that it is inside of: of its own two
/// readings only those remain that are inside there as well.
fn inside<'a>(uri: &RootUri, wider: &'a RootUri) -> Option<(RootUri, &'a RootPath)> {
    let (reading, within) = readings(uri).find_map(|reading| Some((reading, wider.reading_above(reading)?)))?;
    let all = readings(uri).all(|reading| reading.starts_with(within));
    Some((if all { uri.clone() } else { uri.read_as(reading, None) }, within))
}

fn readings(uri: &RootUri) -> impl Iterator<Item = &RootPath> {
    [Some(uri.path()), uri.alternative()].into_iter().flatten()
}
