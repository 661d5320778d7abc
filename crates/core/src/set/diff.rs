//! What has changed from one root set to the next.

use super::{Root, RootSet};

/// The difference between two root sets, by place: a root that stays at its place under another spelling or
/// from another origin is no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Diff {
    /// Roots that are new, in the order of the newer set.
    pub added: Vec<Root>,
    /// Roots that left, in the order of the older set.
    pub removed: Vec<Root>,
    /// Roots that stayed at their place under another name.
    pub renamed: Vec<Renamed>,
    /// Whether the roots that stayed stand in another order.
    pub reordered: bool,
}

/// A root that stayed at its place under another name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Renamed {
    /// As it was.
    pub old: Root,
    /// As it is.
    pub new: Root,
}

impl Diff {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.renamed.is_empty() && !self.reordered
    }
}

impl RootSet {
    /// What has changed from this set to `newer`.
    pub fn diff(&self, newer: &RootSet) -> Diff {
        let mut diff = Diff::default();
        let mut stayed = vec![false; self.len()];
        let mut after_last = 0;
        for new in newer {
            // Most roots stand in both sets behind the same one, and need no look-up.
            let is_next = self.0.roots.get(after_last).is_some_and(|next| next.uri.same_place(&new.uri));
            let place = if is_next { Some(after_last) } else { self.0.index.at(new.uri.path()) };
            let Some(place) = place else {
                diff.added.push(new.clone());
                continue;
            };
            diff.reordered |= place < after_last;
            after_last = place + 1;
            stayed[place] = true;
            let old = &self.0.roots[place];
            if old.name != new.name {
                diff.renamed.push(Renamed { old: old.clone(), new: new.clone() });
            }
        }
        diff.removed = self.iter().zip(stayed).filter(|(_, stayed)| !stayed).map(|(old, _)| old.clone()).collect();
        diff
    }
}
