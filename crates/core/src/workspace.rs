//! The folders of a workspace and which of them are exposed, without touching a disk.
//!
//! Whoever owns the folders looks whether each can be reached and says so here; what cannot be reached is
//! withheld from servers and comes back when it can.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::set::{Origin, Root, RootSet};
use crate::uri::{RootPath, RootUri};

/// The ordered folders of a workspace: first those given by hand, then those of each source, in the order in which
/// the sources were attached. A folder is identified by its place; of two at one place the first stands, so that a
/// folder which is both given and found stays as it is when one of the two claims goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Folders {
    given: Vec<Folder>,
    sources: Vec<Section>,
    /// How many sources there have been, so that none takes another's identity.
    attached: u64,
}

/// The folders of one source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Section {
    id: SourceId,
    source: Arc<str>,
    folders: Vec<Folder>,
}

/// A source that is attached to [`Folders`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceId(u64);

/// A folder of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Folder {
    /// The folder's URI.
    pub uri: RootUri,
    /// What people call it.
    pub name: Option<Arc<str>>,
    /// Why it is not exposed now; `None` if it is.
    pub withheld: Option<Arc<str>>,
    /// What the source that it comes from is called; `None` if it was given by hand.
    pub source: Option<Arc<str>>,
}

impl Folder {
    /// A folder that was given by hand and is exposed.
    pub fn new(uri: RootUri, name: Option<Arc<str>>) -> Self {
        Folder { uri, name, withheld: None, source: None }
    }
}

impl Folders {
    /// The folders, in order, each place once.
    pub fn iter(&self) -> impl Iterator<Item = &Folder> {
        let mut seen = HashSet::new();
        self.claims().filter(move |folder| seen.insert(folder.uri.path()))
    }

    /// Adds a folder by hand, at the end of those given so. If it is among them already it keeps its place, and
    /// takes on the name if one is given.
    pub fn add(&mut self, folder: Folder) {
        match self.place_of(folder.uri.path()) {
            None => self.given.push(folder),
            Some(place) if folder.name.is_some() => self.given[place].name = folder.name,
            Some(_) => {}
        }
    }

    /// Removes a folder that was given by hand; false if it was not, or is not there.
    pub fn remove(&mut self, path: &RootPath) -> bool {
        let place = self.place_of(path);
        place.map(|place| self.given.remove(place)).is_some()
    }

    /// Names a folder that was given by hand, or takes its name away; false if it was not, or is not there.
    pub fn rename(&mut self, path: &RootPath, name: Option<Arc<str>>) -> bool {
        let place = self.place_of(path);
        place.map(|place| self.given[place].name = name).is_some()
    }

    /// What the first source that gives a folder is called; `None` if none does.
    pub fn source_of(&self, path: &RootPath) -> Option<&Arc<str>> {
        let section =
            self.sources.iter().find(|section| section.folders.iter().any(|folder| folder.uri.path() == path));
        section.map(|section| &section.source)
    }

    /// Puts these folders in the place of all that were given by hand. Those that stay keep what is known of their
    /// reach. Of two at one place the first stands.
    pub fn replace(&mut self, folders: impl IntoIterator<Item = Folder>) {
        self.given = self.with_what_is_known(folders);
    }

    /// Takes over what was given by hand in `changed`, a copy of these folders that somebody changed meanwhile.
    pub fn take_given(&mut self, changed: Folders) {
        self.given = self.with_what_is_known(changed.given);
    }

    /// Attaches a source, by the name that people are shown. It has no folders yet.
    pub fn attach(&mut self, source: Arc<str>) -> SourceId {
        let id = SourceId(self.attached);
        self.attached += 1;
        self.sources.push(Section { id, source, folders: Vec::new() });
        id
    }

    /// Detaches a source, with its folders. Nothing, if it is not attached.
    pub fn detach(&mut self, id: SourceId) {
        self.sources.retain(|section| section.id != id);
    }

    /// The source has found these folders, and no others. Those that stay keep what is known of their reach. Of two
    /// at one place the first stands. Nothing, if it is not attached.
    pub fn found(&mut self, id: SourceId, folders: impl IntoIterator<Item = Folder>) {
        let Some(place) = self.sources.iter().position(|section| section.id == id) else {
            return;
        };
        let source = self.sources[place].source.clone();
        let folders = folders.into_iter().map(|folder| Folder { source: Some(source.clone()), ..folder });
        self.sources[place].folders = self.with_what_is_known(folders);
    }

    /// Somebody has looked at folders: each is withheld for the reason found, or exposed if there is none. A folder
    /// that is not there is left out: it was removed while somebody looked at it.
    pub fn looked_at(&mut self, found: &HashMap<RootPath, Option<Arc<str>>>) {
        let found_by_sources = self.sources.iter_mut().flat_map(|section| &mut section.folders);
        for folder in self.given.iter_mut().chain(found_by_sources) {
            if let Some(withheld) = found.get(folder.uri.path()) {
                folder.withheld = withheld.clone();
            }
        }
    }

    /// What a `roots/list` is answered with now.
    pub fn exposed(&self) -> RootSet {
        let exposed = self.claims().filter(|folder| folder.withheld.is_none());
        RootSet::from_roots(exposed.map(|folder| Root::new(folder.uri.clone(), folder.name.clone(), Origin::Client)))
    }

    /// All that is given and found. What is claimed twice is there twice, with one and the same reach.
    fn claims(&self) -> impl Iterator<Item = &Folder> {
        self.given.iter().chain(self.sources.iter().flat_map(|section| &section.folders))
    }

    fn with_what_is_known(&self, folders: impl IntoIterator<Item = Folder>) -> Vec<Folder> {
        let known: HashMap<&RootPath, &Option<Arc<str>>> =
            self.claims().map(|folder| (folder.uri.path(), &folder.withheld)).collect();
        let mut seen = HashSet::new();
        let first = folders.into_iter().filter(|folder| seen.insert(folder.uri.path().clone()));
        let first = first.map(|mut folder| {
            if let Some(&withheld) = known.get(folder.uri.path()) {
                folder.withheld = withheld.clone();
            }
            folder
        });
        first.collect()
    }

    fn place_of(&self, path: &RootPath) -> Option<usize> {
        self.given.iter().position(|folder| folder.uri.path() == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uri::PathRules;

    fn path(text: &str) -> RootPath {
        RootPath::parse(text, PathRules::Posix).unwrap()
    }

    fn folder(text: &str) -> Folder {
        Folder::new(RootUri::from_path(&path(text)), None)
    }

    fn exposed(folders: &Folders) -> String {
        folders.exposed().iter().map(|root| root.uri.path().to_string()).collect::<Vec<_>>().join(" ")
    }

    /// `/a` given, `/b` and `/a` from one source, `/c` and `/b` from another.
    fn of_two_sources() -> (Folders, [SourceId; 2]) {
        let mut folders = Folders::default();
        let ids = ["one", "two"].map(|source| folders.attach(source.into()));
        folders.found(ids[1], ["/c", "/b"].map(folder));
        folders.found(ids[0], ["/b", "/a"].map(folder));
        folders.add(folder("/a"));
        (folders, ids)
    }

    #[test]
    fn what_is_given_comes_first_and_then_each_source_in_its_turn() {
        let (folders, _) = of_two_sources();
        assert_eq!(exposed(&folders), "/a /b /c");
        let sources: Vec<Option<&str>> = folders.iter().map(|folder| folder.source.as_deref()).collect();
        assert_eq!(sources, [None, Some("one"), Some("two")]);
    }

    #[test]
    fn a_folder_that_is_claimed_twice_stays_when_one_claim_goes() {
        let (mut folders, [one, _]) = of_two_sources();
        let before = folders.exposed();
        folders.found(one, [folder("/b")]);
        assert_eq!(folders.exposed(), before, "/a is still given");
        folders.found(one, [folder("/b"), folder("/a")]);
        assert!(folders.remove(&path("/a")));
        assert_eq!(exposed(&folders), "/b /a /c", "/a is still found");
    }

    #[test]
    fn what_a_source_gives_is_not_for_hands() {
        let (mut folders, [_, two]) = of_two_sources();
        assert!(!folders.remove(&path("/c")) && !folders.rename(&path("/c"), None));
        let source_of = |place| folders.source_of(&path(place)).map(|source| &**source);
        assert_eq!([source_of("/c"), source_of("/a"), source_of("/d")], [Some("two"), Some("one"), None]);
        folders.replace([folder("/d")]);
        assert_eq!(exposed(&folders), "/d /b /a /c", "and stays when all that was given is replaced");
        folders.detach(two);
        assert_eq!(exposed(&folders), "/d /b /a");
    }

    #[test]
    fn what_is_known_of_a_folder_holds_for_all_who_claim_it() {
        let (mut folders, [one, two]) = of_two_sources();
        folders.looked_at(&HashMap::from([(path("/b"), Some("it is gone".into()))]));
        assert_eq!(exposed(&folders), "/a /c");
        folders.found(one, ["/b", "/e"].map(folder));
        folders.found(two, ["/b", "/b"].map(folder));
        assert_eq!(exposed(&folders), "/a /e");
        folders.add(folder("/f"));
        let mut changed = folders.clone();
        assert!(changed.remove(&path("/f")));
        folders.looked_at(&HashMap::from([(path("/a"), Some("it is gone".into()))]));
        folders.found(two, [folder("/g")]);
        folders.take_given(changed);
        assert_eq!(exposed(&folders), "/e /g", "what happened meanwhile is not undone");
    }
}
