//! The folders of a workspace and which of them are exposed, without touching a disk.
//!
//! Whoever owns the folders looks whether each can be reached and says so here; what cannot be reached is
//! withheld from servers and comes back when it can.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::set::{Origin, Root, RootSet};
use crate::uri::{RootPath, RootUri};

/// The ordered folders of a workspace. A folder is identified by its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Folders {
    folders: Vec<Folder>,
}

/// A folder of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Folder {
    /// The folder's URI.
    pub uri: RootUri,
    /// What people call it.
    pub name: Option<Arc<str>>,
    /// Why it is not exposed now; `None` if it is.
    pub withheld: Option<Arc<str>>,
}

impl Folder {
    /// A folder that is exposed.
    pub fn new(uri: RootUri, name: Option<Arc<str>>) -> Self {
        Folder { uri, name, withheld: None }
    }
}

impl Folders {
    /// The folders, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Folder> {
        self.folders.iter()
    }

    /// Adds a folder at the end. If it is there already it keeps its place, and takes on the name if one is given.
    pub fn add(&mut self, folder: Folder) {
        match self.place_of(folder.uri.path()) {
            None => self.folders.push(folder),
            Some(place) if folder.name.is_some() => self.folders[place].name = folder.name,
            Some(_) => {}
        }
    }

    /// Removes a folder; false if it was not there.
    pub fn remove(&mut self, path: &RootPath) -> bool {
        let place = self.place_of(path);
        place.map(|place| self.folders.remove(place)).is_some()
    }

    /// Names a folder, or takes its name away; false if it is not there.
    pub fn rename(&mut self, path: &RootPath, name: Option<Arc<str>>) -> bool {
        let place = self.place_of(path);
        place.map(|place| self.folders[place].name = name).is_some()
    }

    /// Puts these folders in the place of all others. Those that stay keep what is known of their reach. Of two
    /// at one place the first stands.
    pub fn replace(&mut self, folders: impl IntoIterator<Item = Folder>) {
        let before = std::mem::take(&mut self.folders);
        let known: HashMap<RootPath, Option<Arc<str>>> =
            before.into_iter().map(|folder| (folder.uri.path().clone(), folder.withheld)).collect();
        let mut seen = HashSet::new();
        for mut folder in folders {
            if let Some(withheld) = known.get(folder.uri.path()) {
                folder.withheld = withheld.clone();
            }
            if seen.insert(folder.uri.path().clone()) {
                self.folders.push(folder);
            }
        }
    }

    /// Somebody has looked at folders: each is withheld for the reason found, or exposed if there is none. A folder
    /// that is not there is left out: it was removed while somebody looked at it.
    pub fn looked_at(&mut self, found: &HashMap<RootPath, Option<Arc<str>>>) {
        for folder in &mut self.folders {
            if let Some(withheld) = found.get(folder.uri.path()) {
                folder.withheld = withheld.clone();
            }
        }
    }

    /// What a `roots/list` is answered with now.
    pub fn exposed(&self) -> RootSet {
        let exposed = self.folders.iter().filter(|folder| folder.withheld.is_none());
        RootSet::from_roots(exposed.map(|folder| Root::new(folder.uri.clone(), folder.name.clone(), Origin::Client)))
    }

    fn place_of(&self, path: &RootPath) -> Option<usize> {
        self.folders.iter().position(|folder| folder.uri.path() == path)
    }
}
