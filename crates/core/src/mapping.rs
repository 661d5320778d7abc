//! Between the paths of two sides: what a folder is called by the client whose root it is, and where it is here.
//!
//! A server on another machine, or in a container, does not see a client's folders under the client's paths. A
//! [`Mapping`] says which folder of the client's is which local one. *Client* is the side that names the roots, be it a
//! client of MCP or the host of a program that is run elsewhere; *local* is the side on which files are opened.
//!
//! There is one rule, the same in both directions: the longest prefix wins, what is below it stays below it, and what
//! no prefix covers passes as it is. A path is shown to the client by a name that leads back to it. Where there is none,
//! since another mapping takes the name for another folder, or the client's system has no such names, it passes as it
//! is as well.
//!
//! A local file may have a name that the client's system cannot spell. Then [`Mapping::shown`] says as nearly as it can
//! where the file is for the client, rather than where it is here.
//!
//! The two sides need not have the same path rules. Nothing here looks at a disk.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use crate::set::RootSet;
use crate::uri::{PathRules, Refusal, RootPath, RootUri, excerpt};

/// A folder of the client's, and where it is here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MappedFolder {
    client: RootPath,
    local: RootPath,
    /// Another name of the same place, under which it may come up here. Only for showing what is below it.
    alias: Option<RootPath>,
    /// The client has a root in it. Only for showing, too.
    preferred: bool,
}

/// Which folders of the client's are where. Empty by default, and then every path passes as it is. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mapping(Arc<[MappedFolder]>);

/// Why folders are not mapped, and what would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// There is no `=`.
    #[error("\"{given}\" maps nothing: there is no `=` in it; {EXAMPLE}")]
    NoEquals {
        /// What was given, shortened.
        given: String,
    },
    /// There is nothing on one side of the `=`.
    #[error("\"{given}\" maps nothing: one side of the `=` is empty; {EXAMPLE}")]
    Empty {
        /// What was given, shortened.
        given: String,
    },
    /// The client's side is no absolute path.
    #[error("\"{given}\" cannot be a folder of the client's: {reason}; {EXAMPLE}")]
    Client {
        /// The side, shortened.
        given: String,
        /// Why not.
        reason: Refusal,
    },
    /// The local side is no absolute path.
    #[error("\"{given}\" cannot be where a folder is here: {reason}; {EXAMPLE}")]
    Local {
        /// The side, shortened.
        given: String,
        /// Why not.
        reason: Refusal,
    },
    /// The local side is a path of another system.
    #[error("\"{given}\" cannot be where a folder is here: it is a path of another system; {EXAMPLE}")]
    Foreign {
        /// The side, shortened.
        given: String,
    },
    /// A folder of the client's is in two places.
    #[error("\"{client}\" is mapped twice, to \"{local}\" and to \"{other}\"; leave one of them out")]
    Twice {
        /// The folder, shortened.
        client: String,
        /// Where it is first said to be, shortened.
        local: String,
        /// Where it is then said to be, shortened.
        other: String,
    },
}

const EXAMPLE: &str = r"write CLIENT=LOCAL, both absolute, such as /home/me/app=/srv/app or C:\Users\me\app=/srv/app";

impl MappedFolder {
    /// A folder that the client calls `client`, and that is at `local` here.
    pub fn new(client: RootPath, local: RootPath) -> Self {
        MappedFolder { client, local, alias: None, preferred: false }
    }

    /// Reads `CLIENT=LOCAL`. `rules` are those of the local side.
    ///
    /// CLIENT is an absolute path under POSIX or else Windows rules, or a `file:` URI; LOCAL is an absolute path. Either
    /// may hold a `=`: the first one with an absolute local path behind it separates the sides. So a LOCAL may hold any,
    /// and a CLIENT that holds `=/` is written as a URI, with `%3D` for its `=`.
    ///
    /// # Errors
    ///
    /// When it is not of this form.
    pub fn parse(text: &str, rules: PathRules) -> Result<Self, MappingError> {
        let mut splits = text.match_indices('=').map(|(at, _)| (&text[..at], &text[at + 1..])).peekable();
        let first = *splits.peek().ok_or_else(|| MappingError::NoEquals { given: excerpt(text) })?;
        let (client, local) = splits.find(|(_, local)| is_absolute(local, rules)).unwrap_or(first);
        if client.is_empty() || local.is_empty() {
            return Err(MappingError::Empty { given: excerpt(text) });
        }
        let local = RootPath::parse(local, rules).map_err(|reason| match reason {
            Refusal::WindowsPath | Refusal::NoDrive => MappingError::Foreign { given: excerpt(local) },
            reason => MappingError::Local { given: excerpt(local), reason },
        })?;
        let client = read_client(client).map_err(|reason| MappingError::Client { given: excerpt(client), reason })?;
        Ok(MappedFolder::new(client, local))
    }

    /// What the client calls it.
    pub fn client(&self) -> &RootPath {
        &self.client
    }

    /// Where it is here.
    pub fn local(&self) -> &RootPath {
        &self.local
    }
}

/// As [`MappedFolder::parse`], where the local side is this system.
impl FromStr for MappedFolder {
    type Err = MappingError;

    fn from_str(text: &str) -> Result<Self, MappingError> {
        MappedFolder::parse(text, PathRules::native())
    }
}

impl Mapping {
    /// A mapping of these folders.
    ///
    /// Two of the client's may be one here, or one in the other, as where clients of several systems share a folder. What
    /// is below it is then shown to a client under the name by which it told its roots ([`Mapping::preferring`]), else
    /// under the longest local prefix, and else under the name that is given first.
    ///
    /// # Errors
    ///
    /// When one of the client's is in two places.
    pub fn new(folders: impl IntoIterator<Item = MappedFolder>) -> Result<Self, MappingError> {
        let mut mapped: Vec<MappedFolder> = Vec::new();
        for folder in folders {
            if let Some(there) = mapped.iter().find(|there| there.client == folder.client) {
                return Err(MappingError::Twice {
                    client: excerpt(&folder.client.to_string()),
                    local: excerpt(&there.local.to_string()),
                    other: excerpt(&folder.local.to_string()),
                });
            }
            mapped.push(folder);
        }
        Ok(Mapping(mapped.into()))
    }

    /// Whether every path passes as it is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The folders, in the order in which they were given.
    pub fn iter(&self) -> std::slice::Iter<'_, MappedFolder> {
        self.0.iter()
    }

    /// Where a path of the client's is here: itself, if no folder covers it.
    pub fn to_local(&self, path: &RootPath) -> RootPath {
        self.covered(path).unwrap_or_else(|| path.clone())
    }

    /// What the client calls a local path: itself, if there is no name for it that leads back here.
    pub fn to_client(&self, path: &RootPath) -> RootPath {
        self.name_of(path).unwrap_or_else(|| path.clone())
    }

    /// What to show the client for a local path: what it calls it. Where its system cannot spell that, U+FFFD stands for
    /// what it cannot, so that what is shown leads nowhere rather than elsewhere.
    pub fn shown(&self, path: &RootPath) -> RootPath {
        self.name_of(path).or_else(|| self.misspelled(path)).unwrap_or_else(|| path.clone())
    }

    /// Whether a folder covers a local path, and the client's system cannot spell what it would be called.
    pub fn is_unspellable(&self, path: &RootPath) -> bool {
        self.name_of(path).is_none() && self.misspelled(path).is_some()
    }

    fn name_of(&self, path: &RootPath) -> Option<RootPath> {
        let leads_back = |folder: &MappedFolder, name: &RootPath| self.folder_of(name).is_some_and(|of| of == folder);
        self.above(path)
            .into_iter()
            .find_map(|(folder, place)| path.rebased(place, &folder.client).filter(|name| leads_back(folder, name)))
    }

    fn misspelled(&self, path: &RootPath) -> Option<RootPath> {
        let (folder, place) =
            self.above(path).into_iter().find(|(folder, place)| path.rebased(place, &folder.client).is_none())?;
        path.rebased_as_nearly(place, &folder.client)
    }

    /// The folders that a local path is in, each with the name of it that the path has; the best to show it by first.
    fn above(&self, path: &RootPath) -> Vec<(&MappedFolder, &RootPath)> {
        let mut above: Vec<_> = self
            .iter()
            .flat_map(|folder| {
                let alias = folder.alias.as_ref().map(|alias| (alias, true));
                std::iter::once((&folder.local, false)).chain(alias).map(move |(place, alias)| (folder, place, alias))
            })
            .filter(|(_, place, _)| path.starts_with(place))
            .collect();
        // The sort is stable, so of two that are alike the first given stays first.
        above.sort_by_key(|(folder, place, alias)| (!folder.preferred, Reverse(place.depth()), *alias));
        above.into_iter().map(|(folder, place, _)| (folder, place)).collect()
    }

    /// Where a path is here that the client gave as text; `None` if it is not absolute, or no folder covers it.
    ///
    /// It is read under POSIX rules or else under those of Windows. `..` is taken off as the text has it, since only the
    /// client's disk knows of its links, and what lies beside a mapped folder here is not what lies beside it there.
    pub fn find(&self, asked: impl AsRef<[u8]>) -> Option<RootPath> {
        if self.is_empty() {
            return None;
        }
        let asked = asked.as_ref();
        [PathRules::Posix, PathRules::Windows].into_iter().find_map(|rules| {
            let path = RootPath::parse_lexically(asked, rules).ok()?;
            self.covered(&path)
        })
    }

    /// Where a relative path is that the client gave to be taken from a local folder; `None` if it calls that folder
    /// nothing else, and so the path is one of this side. It is read under the rules of the client's system, and what it
    /// leads to passes as it is if no folder covers it.
    ///
    /// # Errors
    ///
    /// When it is no relative path on the client's system.
    pub fn find_from(&self, folder: &RootPath, asked: impl AsRef<[u8]>) -> Result<Option<RootPath>, Refusal> {
        let name = self.to_client(folder);
        if name == *folder {
            return Ok(None);
        }
        Ok(Some(self.to_local(&name.join_lexically(asked.as_ref())?)))
    }

    /// Reads the URI of a root or a resource, or whatever a client sends for one. The text stays the client's, and the
    /// path is the local one. `rules` are those of the local side, under which all is read that no folder covers.
    ///
    /// # Errors
    ///
    /// When no folder covers it and it cannot be the URI of a file on this side.
    pub fn read(&self, text: &str, rules: PathRules) -> Result<RootUri, Refusal> {
        self.read_mapped(text).map_or_else(|| RootUri::parse(text, rules), |(uri, _)| Ok(uri))
    }

    /// Reads a URI that a folder covers, and says which.
    fn read_mapped(&self, text: &str) -> Option<(RootUri, &MappedFolder)> {
        [PathRules::Posix, PathRules::Windows].into_iter().find_map(|rules| {
            let of_client = self.iter().any(|folder| folder.client.rules() == rules);
            let uri = of_client.then(|| RootUri::parse(text, rules).ok()).flatten()?;
            let mut readings = [Some(uri.path()), uri.alternative()].into_iter().flatten();
            // A reading that is covered is meant rather than one that is not.
            let path = readings.find_map(|reading| Some((self.covered(reading)?, self.folder_of(reading)?)));
            let alternative = readings.find_map(|reading| self.covered(reading));
            path.map(|(path, folder)| (uri.read_as(&path, alternative), folder))
        })
    }

    /// The URI of a local path, as [`Mapping::read`] reads it: its text is in the client's terms, as [`Mapping::shown`]
    /// has them.
    pub fn uri_of(&self, path: &RootPath) -> RootUri {
        RootUri::from_path(&self.shown(path)).read_as(path, None)
    }

    /// The same mapping for a client that told these roots: a folder that one of them was read by names what is below it
    /// rather than one that none was.
    pub fn preferring(&self, told: &RootSet) -> Self {
        if self.is_empty() {
            return self.clone();
        }
        let used: HashSet<&RootPath> =
            told.iter().filter_map(|root| self.read_mapped(root.uri.as_str())).map(|(_, by)| &by.client).collect();
        let prefer =
            |folder: &MappedFolder| MappedFolder { preferred: used.contains(&folder.client), ..folder.clone() };
        Mapping(self.iter().map(prefer).collect())
    }

    /// The same mapping, which also knows the local folders by where they really are: for showing what the system has
    /// resolved. `real` says where a path leads; `None` if there is nothing.
    pub fn resolved(&self, real: impl Fn(&RootPath) -> Option<RootPath>) -> Self {
        let resolve = |folder: &MappedFolder| MappedFolder { alias: real(&folder.local), ..folder.clone() };
        Mapping(self.iter().map(resolve).collect())
    }

    /// Where a path of the client's is here, if a folder covers it.
    fn covered(&self, path: &RootPath) -> Option<RootPath> {
        let folder = self.folder_of(path)?;
        path.rebased(&folder.client, &folder.local)
    }

    /// The deepest folder that a path of the client's is in.
    fn folder_of(&self, path: &RootPath) -> Option<&MappedFolder> {
        self.iter().filter(|folder| path.starts_with(&folder.client)).max_by_key(|folder| folder.client.depth())
    }
}

impl<'a> IntoIterator for &'a Mapping {
    type Item = &'a MappedFolder;
    type IntoIter = std::slice::Iter<'a, MappedFolder>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Whether a text is meant as an absolute path of a system with these rules, be there something else wrong with it.
fn is_absolute(text: &str, rules: PathRules) -> bool {
    !matches!(RootPath::parse(text, rules), Err(Refusal::Relative | Refusal::WindowsPath | Refusal::NoDrive))
}

fn read_client(text: &str) -> Result<RootPath, Refusal> {
    // What is given by hand is a path as it stands, or a whole URI. No scheme has one letter: that is a drive.
    let is_uri = text.split_once(':').is_some_and(|(scheme, _)| scheme.len() > 1 && !scheme.contains(['/', '\\']));
    let read = |rules| match is_uri {
        true => RootUri::parse(text, rules).map(|uri| uri.path().clone()),
        false => RootPath::parse(text, rules),
    };
    match read(PathRules::Posix) {
        Err(Refusal::WindowsPath) => read(PathRules::Windows),
        outcome => outcome,
    }
}
