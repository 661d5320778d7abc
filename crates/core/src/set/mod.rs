//! Roots and root sets: ordered, without duplicates, with a look-up that does not slow down with their number.

mod admit;
mod diff;
mod index;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub(crate) use admit::Rejections;
pub use admit::{Admitted, RawRoot, RejectReason, Rejected};
pub use diff::{Diff, Renamed};

use crate::uri::{RootPath, RootUri};
use index::Index;

/// A root: where it is, what people call it, and who brought it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Root {
    /// Where it is.
    pub uri: RootUri,
    /// What people call it.
    pub name: Option<Arc<str>>,
    /// Who brought it.
    pub origin: Origin,
    /// The operator's directory that this root must be opened through, so that no link leads out of that
    /// directory. Set by the policy `narrow`.
    pub within: Option<RootPath>,
}

/// Who brought a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The client told it.
    Client,
    /// Whoever runs the server allowed it.
    Operator,
}

impl Root {
    /// A root that is opened as it stands.
    pub fn new(uri: RootUri, name: Option<Arc<str>>, origin: Origin) -> Self {
        Root { uri, name, origin, within: None }
    }
}

/// An ordered list of roots, no two of them at one place. Cheap to clone.
///
/// Two sets are equal if they hold the same roots in the same order, to the letter.
#[derive(Clone, Default)]
pub struct RootSet(Arc<Inner>);

#[derive(Default)]
struct Inner {
    roots: Vec<Root>,
    index: Index,
}

impl RootSet {
    /// A set of these roots, in their order. Of two at one place the first stands.
    pub fn from_roots(roots: impl IntoIterator<Item = Root>) -> Self {
        let mut inner = Inner::default();
        for root in roots {
            inner.insert(root);
        }
        RootSet(Arc::new(inner))
    }

    /// The roots, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Root> {
        self.0.roots.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.roots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.roots.is_empty()
    }

    /// The first root. Some servers take it as their directory.
    pub fn first(&self) -> Option<&Root> {
        self.0.roots.first()
    }

    /// The root whose path is exactly this one.
    pub fn at(&self, path: &RootPath) -> Option<&Root> {
        self.0.index.at(path).map(|place| &self.0.roots[place])
    }

    /// Whether a root's path is exactly this one.
    pub fn contains_place(&self, path: &RootPath) -> bool {
        self.at(path).is_some()
    }

    /// The deepest root that is `path` or contains it. Takes as long as `path` is deep, however many roots
    /// there are.
    ///
    /// A root counts by its path and, where no other root has that path, also by its
    /// [alternative](RootUri::alternative).
    pub fn find(&self, path: &RootPath) -> Option<&Root> {
        self.above(path).next()
    }

    /// The roots that are `path` or contain it, the deepest first.
    pub(crate) fn above(&self, path: &RootPath) -> impl Iterator<Item = &Root> {
        self.0.index.above(path).map(|place| &self.0.roots[place])
    }
}

impl Inner {
    /// Puts a root at the end; gives back the one that is at its place already.
    fn insert(&mut self, root: Root) -> Option<&Root> {
        match self.index.insert(root.uri.path(), root.uri.alternative(), self.roots.len()) {
            None => {
                self.roots.push(root);
                None
            }
            Some(place) => Some(&self.roots[place]),
        }
    }
}

impl<'a> IntoIterator for &'a RootSet {
    type Item = &'a Root;
    type IntoIter = std::slice::Iter<'a, Root>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for RootSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.roots == other.0.roots
    }
}

impl Eq for RootSet {}

impl Hash for RootSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.roots.hash(state);
    }
}

impl fmt::Debug for RootSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}
