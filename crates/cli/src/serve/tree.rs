//! All that is below a directory, as JSON.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::CallError;
use super::limits;
use super::walking::Walking;

/// An entry of a tree. Files have no children, and directories may have none.
#[derive(Debug, Serialize)]
struct Node {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Node>>,
}

/// The tree as text, and whether it was cut off.
pub(super) fn tree(mut walking: Walking) -> Result<(String, bool), CallError> {
    let mut children: HashMap<PathBuf, Vec<(PathBuf, Node)>> = HashMap::new();
    let mut room = limits::TREE;
    let mut cut = false;
    while let Some(found) = walking.next()? {
        if room == 0 {
            cut = true;
            break;
        }
        room -= 1;
        let name = found.name().to_string_lossy().into_owned();
        let (kind, below) = if found.is_dir() { ("directory", Some(Vec::new())) } else { ("file", None) };
        let parent = found.path().parent().unwrap_or(Path::new("")).to_owned();
        children.entry(parent).or_default().push((found.path().into(), Node { name, kind, children: below }));
    }
    let top = assembled(Path::new(""), &mut children);
    let text = serde_json::to_string_pretty(&top).map_err(|error| CallError::Argument(error.to_string()))?;
    Ok((text, cut))
}

/// The nodes of a directory, sorted, with what is below each.
fn assembled(directory: &Path, children: &mut HashMap<PathBuf, Vec<(PathBuf, Node)>>) -> Vec<Node> {
    let mut nodes = children.remove(directory).unwrap_or_default();
    nodes.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
    let assemble = |(path, node): (PathBuf, Node)| match node.children {
        Some(_) => Node { children: Some(assembled(&path, children)), ..node },
        None => node,
    };
    nodes.into_iter().map(assemble).collect()
}
