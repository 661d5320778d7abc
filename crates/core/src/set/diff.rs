//! What has changed from one root set to the next.

use super::{Root, RootSet};

/// The difference between two root sets, by place.
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
        if self == newer {
            return diff;
        }
        let mut last_old_place = None;
        for new in newer {
            let Some(old_place) = self.0.index.at(new.uri.path()) else {
                diff.added.push(new.clone());
                continue;
            };
            diff.reordered |= last_old_place.is_some_and(|last| last > old_place);
            last_old_place = Some(old_place);
            let old = &self.0.roots[old_place];
            if old.name != new.name {
                diff.renamed.push(Renamed { old: old.clone(), new: new.clone() });
            }
        }
        diff.removed = self.iter().filter(|old| newer.at(old.uri.path()).is_none()).cloned().collect();
        diff
    }
}
