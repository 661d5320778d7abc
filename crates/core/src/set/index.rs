//! From a path to the deepest root that contains it: a tree of path components.

use std::collections::HashMap;

use crate::uri::RootPath;

/// Each node is one place; its edges are component names. A look-up walks down the path it is given, so
/// its cost is the path's depth.
#[derive(Default)]
pub(super) struct Index {
    anchors: HashMap<String, usize>,
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    below: HashMap<Box<[u8]>, usize>,
    /// The root that is here by its own path.
    root: Option<usize>,
    /// A root that is here if its own path turns out not to exist.
    alternative: Option<usize>,
}

impl Index {
    /// Notes that root number `root` is at `path`; gives back the number of the one that is there already,
    /// and then changes nothing.
    pub(super) fn insert(&mut self, path: &RootPath, alternative: Option<&RootPath>, root: usize) -> Option<usize> {
        let node = self.node(path);
        if let Some(there) = self.nodes[node].root {
            return Some(there);
        }
        self.nodes[node].root = Some(root);
        if let Some(alternative) = alternative {
            let node = self.node(alternative);
            self.nodes[node].alternative.get_or_insert(root);
        }
        None
    }

    pub(super) fn at(&self, path: &RootPath) -> Option<usize> {
        let mut node = *self.anchors.get(&path.anchor_key())?;
        for key in path.keys() {
            node = *self.nodes[node].below.get(key)?;
        }
        self.nodes[node].root
    }

    pub(super) fn deepest(&self, path: &RootPath) -> Option<usize> {
        let mut node = *self.anchors.get(&path.anchor_key())?;
        let mut deepest = self.nodes[node].any();
        for key in path.keys() {
            match self.nodes[node].below.get(key) {
                Some(&below) => node = below,
                None => break,
            }
            deepest = self.nodes[node].any().or(deepest);
        }
        deepest
    }

    /// The node of a path, made if it is not there.
    fn node(&mut self, path: &RootPath) -> usize {
        let Index { anchors, nodes } = self;
        let mut node = *anchors.entry(path.anchor_key()).or_insert_with(|| add(nodes));
        for key in path.keys() {
            node = match nodes[node].below.get(key) {
                Some(&below) => below,
                None => {
                    let below = add(nodes);
                    nodes[node].below.insert(key.clone(), below);
                    below
                }
            };
        }
        node
    }
}

impl Node {
    fn any(&self) -> Option<usize> {
        self.root.or(self.alternative)
    }
}

fn add(nodes: &mut Vec<Node>) -> usize {
    nodes.push(Node::default());
    nodes.len() - 1
}
