//! From a client's list to a root set: one bad entry loses itself, and says why.

use std::fmt;

use super::{Inner, Origin, Root, RootSet};
use crate::mapping::Mapping;
use crate::uri::{PathRules, Refusal, RootUri, excerpt};

/// How many rejected entries are kept with their reasons; the rest is counted.
const KEPT: usize = 100;

/// One entry of an answer to `roots/list`, as a shell read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RawRoot {
    /// An entry with a URI.
    Listed {
        /// The URI's text.
        uri: String,
        /// The name.
        name: Option<String>,
    },
    /// An entry that has none.
    Malformed {
        /// The entry, as it came.
        shown: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// An entry that is not in the set, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Rejected {
    /// The entry, shortened, with control characters escaped.
    pub shown: String,
    /// Why it is not in the set.
    pub reason: RejectReason,
}

/// Why an entry is not in the set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectReason {
    /// It cannot be a root.
    Refused(Refusal),
    /// It is at the place of an earlier one.
    Duplicate {
        /// The earlier one.
        of: RootUri,
    },
    /// There are too many.
    OverLimit {
        /// The limit.
        limit: usize,
    },
    /// It is no root at all.
    Malformed(String),
    /// It is outside the directories that whoever runs the server allows.
    NotAllowed,
    /// It stands for this many others that are not shown.
    More {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RejectReason::Refused(refusal) => refusal.fmt(f),
            RejectReason::Duplicate { of } => {
                write!(f, "it is the same place as {}, which came before it", excerpt(of.as_str()))
            }
            RejectReason::OverLimit { limit } => write!(f, "there are more than {limit} roots, and that is the limit"),
            RejectReason::Malformed(reason) => f.write_str(&excerpt(reason)),
            RejectReason::NotAllowed => f.write_str(
                "it is outside the directories that this server was started with, and the policy only lets the \
                 client narrow them",
            ),
            RejectReason::More { count } => write!(f, "{count} more entries were rejected"),
        }
    }
}

/// What became of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admitted {
    /// The roots that stand.
    pub set: RootSet,
    /// The entries that do not: the first hundred with their reasons, and the number of the rest.
    pub rejected: Vec<Rejected>,
}

impl RootSet {
    /// Reads a list entry by entry, in its order, as [`Mapping::read`] does: the roots are at their local paths, and
    /// what is said of an entry is in the words in which it came. `limit` is how many roots are taken.
    pub fn admit(
        raw: impl IntoIterator<Item = RawRoot>,
        rules: PathRules,
        mapping: &Mapping,
        origin: Origin,
        limit: usize,
    ) -> Admitted {
        let mut inner = Inner::default();
        let mut rejections = Rejections::default();
        for entry in raw {
            if let Err((text, reason)) = inner.admit(entry, |text| mapping.read(text, rules), origin, limit) {
                rejections.push(&text, reason);
            }
        }
        Admitted { set: RootSet(inner.into()), rejected: rejections.finish() }
    }
}

/// Rejected entries as they come up, of which a bounded number is kept.
#[derive(Default)]
pub(crate) struct Rejections {
    kept: Vec<Rejected>,
    more: usize,
}

impl Rejections {
    pub(crate) fn push(&mut self, text: &str, reason: RejectReason) {
        if self.kept.len() < KEPT {
            self.kept.push(Rejected { shown: excerpt(text), reason });
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Rejected> {
        if self.more > 0 {
            self.kept.push(Rejected { shown: "...".into(), reason: RejectReason::More { count: self.more } });
        }
        self.kept
    }
}

impl Inner {
    fn admit(
        &mut self,
        entry: RawRoot,
        read: impl Fn(&str) -> Result<RootUri, Refusal>,
        origin: Origin,
        limit: usize,
    ) -> Result<(), (String, RejectReason)> {
        let (text, name) = match entry {
            RawRoot::Listed { uri, name } => (uri, name),
            RawRoot::Malformed { shown, reason } => return Err((shown, RejectReason::Malformed(reason))),
        };
        if self.roots.len() >= limit {
            return Err((text, RejectReason::OverLimit { limit }));
        }
        let uri = match read(&text) {
            Ok(uri) => uri,
            Err(refusal) => return Err((text, RejectReason::Refused(refusal))),
        };
        match self.insert(Root::new(uri, name.map(Into::into), origin)) {
            None => Ok(()),
            Some(there) => Err((text, RejectReason::Duplicate { of: there.uri.clone() })),
        }
    }
}
