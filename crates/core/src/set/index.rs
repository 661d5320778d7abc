//! From a path to the roots that contain it.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use crate::uri::RootPath;

/// The places of roots by the hash of their paths.
///
/// A look-up hashes its path part by part and so learns the hash of every path above it on the way. It costs
/// as much as the path is deep, however many roots there are; and the index is as large as there are roots,
/// however deep they are.
#[derive(Default)]
pub(super) struct Index {
    hashing: RandomState,
    places: HashMap<u64, Vec<Place>, BuildHasherDefault<AsIs>>,
    /// Of how many parts the deepest place consists; a look-up need not go deeper.
    deepest: usize,
}

struct Place {
    path: RootPath,
    /// The root that is here by its own path.
    root: Option<usize>,
    /// A root that is here if its own path turns out not to exist.
    alternative: Option<usize>,
}

impl Index {
    /// Notes that root number `root` is at `path`; gives back the number of the one that is there already,
    /// and then changes nothing.
    pub(super) fn insert(&mut self, path: &RootPath, alternative: Option<&RootPath>, root: usize) -> Option<usize> {
        let place = self.place_mut(path);
        if let Some(there) = place.root {
            return Some(there);
        }
        place.root = Some(root);
        if let Some(alternative) = alternative {
            self.place_mut(alternative).alternative.get_or_insert(root);
        }
        None
    }

    pub(super) fn at(&self, path: &RootPath) -> Option<usize> {
        let (hash, length) = self.prefixes(path, usize::MAX).last()?;
        self.place(path, hash, length)?.root
    }

    /// The roots that are `path` or contain it, the deepest first.
    pub(super) fn above(&self, path: &RootPath) -> impl Iterator<Item = usize> {
        let prefixes: Vec<_> = self.prefixes(path, self.deepest).collect();
        prefixes.into_iter().rev().filter_map(move |(hash, length)| {
            let place = self.place(path, hash, length)?;
            place.root.or(place.alternative)
        })
    }

    /// The path and those above it, the highest first and at most `most` of them: the hash of each, and how
    /// much of the path's key it is.
    fn prefixes(&self, path: &RootPath, most: usize) -> impl Iterator<Item = (u64, usize)> {
        let mut hasher = self.hashing.build_hasher();
        let mut end = 0;
        path.key_parts().take(most).map(move |part| {
            hasher.write(part);
            hasher.write_u8(0);
            let length = end + part.len();
            end = length + 1;
            (hasher.finish(), length)
        })
    }

    /// What is at the first `length` bytes of the path's key, of which this is the hash.
    fn place(&self, path: &RootPath, hash: u64, length: usize) -> Option<&Place> {
        let same = |place: &&Place| place.path.key().len() == length && path.starts_with(&place.path);
        self.places.get(&hash)?.iter().find(same)
    }

    /// What is at a path, made if there is nothing.
    fn place_mut(&mut self, path: &RootPath) -> &mut Place {
        let (mut whole, mut parts) = (0, 0);
        for (hash, _) in self.prefixes(path, usize::MAX) {
            whole = hash;
            parts += 1;
        }
        self.deepest = self.deepest.max(parts);
        let places = self.places.entry(whole).or_default();
        let there = places.iter().position(|place| place.path == *path).unwrap_or_else(|| {
            places.push(Place { path: path.clone(), root: None, alternative: None });
            places.len() - 1
        });
        &mut places[there]
    }
}

/// Hashes a hash: as itself.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a hash is the only key");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uri::PathRules;

    fn index(paths: impl Iterator<Item = String>) -> Index {
        let mut index = Index::default();
        for (root, path) in paths.enumerate() {
            let path = RootPath::parse(&path, PathRules::Posix).expect("an absolute path");
            assert_eq!(index.insert(&path, None, root), None);
        }
        index
    }

    #[test]
    fn a_look_up_takes_as_many_steps_among_ten_roots_as_among_ten_thousand() {
        let asked = RootPath::parse("/work/7/below/by/many/more/levels", PathRules::Posix).expect("an absolute path");
        for count in [10, 10_000] {
            let index = index((0..count).map(|number| format!("/work/{number}")));
            // One step for each level that has roots, and one place to compare with at each.
            assert_eq!(index.prefixes(&asked, index.deepest).count(), 3);
            assert_eq!(index.places.values().map(Vec::len).max(), Some(1));
            assert_eq!(index.above(&asked).collect::<Vec<_>>(), [7]);
        }
    }

    #[test]
    fn the_index_has_one_place_for_each_root_however_deep() {
        let index = index((0..10).map(|number| format!("/{number}{}", "/a".repeat(10_000))));
        assert_eq!(index.places.values().map(Vec::len).sum::<usize>(), 10);
    }

    #[test]
    fn paths_whose_hashes_are_the_same_are_told_apart() {
        let mut index = index(["/a", "/a/b"].map(String::from).into_iter());
        let all: Vec<Place> = index.places.drain().flat_map(|(_, places)| places).collect();
        let b = RootPath::parse("/a/b", PathRules::Posix).expect("an absolute path");
        let (hash, _) = index.prefixes(&b, usize::MAX).last().expect("a path has a part");
        index.places.insert(hash, all);
        assert_eq!(index.at(&b), Some(1));
        assert_eq!(index.above(&b).collect::<Vec<_>>(), [1]);
        assert_eq!(index.insert(&b, None, 2), Some(1));
    }
}
