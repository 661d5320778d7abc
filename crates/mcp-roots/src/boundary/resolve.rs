//! From a path in words to a directory handle and a path under it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use mcp_roots_core::mapping::Mapping;
use mcp_roots_core::server_half::{Snapshot, State};
use mcp_roots_core::set::{Root, RootSet};
use mcp_roots_core::uri::{PathRules, Refusal, RootPath, RootUri};
use unicode_normalization::UnicodeNormalization;

use super::place::missing_directory;
use super::{BoundaryError, Hint, Place};
use crate::track::in_words;

/// How many links to nothing lead on, one after the other; the system's own limit for links.
const MOST_LINKS: usize = 40;

#[derive(Debug)]
pub(super) struct Resolver {
    snapshot: Arc<Snapshot>,
    /// Worked out when the spelling of a path does not decide.
    real: OnceLock<RealRoots>,
    /// The snapshot's mapping, which also knows the local folders by where they really are.
    names: OnceLock<Mapping>,
}

/// The roots by where they really are, and how each is spelled in the snapshot.
#[derive(Debug)]
struct RealRoots {
    roots: RootSet,
    spelled: HashMap<RootPath, RootPath>,
}

impl Resolver {
    pub(super) fn new(snapshot: Arc<Snapshot>) -> Self {
        Resolver { snapshot, real: OnceLock::new(), names: OnceLock::new() }
    }

    pub(super) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    pub(super) fn find(&self, asked: &Path) -> Result<Place, BoundaryError> {
        self.found(self.absolute(asked)?, asked)
    }

    pub(super) fn find_local(&self, path: &Path) -> Result<Place, BoundaryError> {
        let asked = RootPath::from_native(path).map(|path| PathBuf::from(self.names().shown(&path).to_string()));
        self.found(path.into(), asked.as_deref().unwrap_or(path))
    }

    fn found(&self, path: PathBuf, asked: &Path) -> Result<Place, BoundaryError> {
        match self.spelled(&path) {
            Some(Ok(place)) => return Ok(place),
            // What is not there under one spelling is not there under another; but see `the_same_name`.
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound && is_ascii(&path) => {
                return Err(failed(asked, error));
            }
            // A link inside may lead to a place that is inside all the same, or under another root.
            Some(Err(_)) | None => {}
        }
        let place = self.located(path, asked)?;
        place.metadata()?;
        Ok(place)
    }

    pub(super) fn locate(&self, asked: &Path) -> Result<Place, BoundaryError> {
        self.located(self.absolute(asked)?, asked)
    }

    pub(super) fn entry(&self, asked: &Path) -> Result<Place, BoundaryError> {
        let path = self.absolute(asked)?;
        let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back()) else {
            return Err(BoundaryError::Unusable { path: asked.into(), reason: "it does not end in a name" });
        };
        match self.located(parent.into(), asked) {
            Ok(directory) => directory.below(name, asked),
            Err(outside @ BoundaryError::Outside { .. }) => match real(&path).map(|real| self.inside(&real, asked)) {
                Some(Ok(Some(_))) => Err(BoundaryError::RootItself { path: asked.into() }),
                Some(Err(error)) => Err(error),
                _ => Err(outside),
            },
            Err(error) => Err(error),
        }
    }

    /// By the spelling of the path: the deepest root whose own spelling it begins with.
    fn spelled(&self, path: &Path) -> Option<io::Result<Place>> {
        let known = RootPath::from_native(path).ok()?;
        let root = self.snapshot.roots.find(&known)?;
        Some(self.under(root, &known, path))
    }

    /// By where it really is, or would be: as far as the path exists the system resolves it, and what is missing
    /// goes below that; but a link to nothing leads on.
    fn located(&self, mut path: PathBuf, asked: &Path) -> Result<Place, BoundaryError> {
        for _ in 0..MOST_LINKS {
            let (place, missing) = self.nearest(&path, asked)?;
            let mut names = missing.components();
            let Some(first) = names.next() else { return Ok(place) };
            if missing.components().any(|component| !matches!(component, Component::Normal(_))) {
                return Err(failed(asked, io::Error::new(io::ErrorKind::NotFound, "No such file or directory")));
            }
            let directory = place.directory.open_dir(&place.relative).map_err(|error| failed(asked, error))?;
            let leads_to = match directory.read_link_contents(first) {
                Ok(target) => Some(target),
                Err(_) => the_same_name(&directory, first.as_os_str()),
            };
            match leads_to {
                Some(other) => path = place.path.join(other).join(names.as_path()),
                None => return place.below(&missing, asked),
            }
        }
        Err(failed(asked, io::Error::other("it leads through too many links")))
    }

    /// The deepest thing on the way to `path` that exists, if it is inside, and what comes after it.
    fn nearest(&self, path: &Path, asked: &Path) -> Result<(Place, PathBuf), BoundaryError> {
        for there in path.ancestors() {
            let Some(real) = real(there) else { continue };
            let place = self.inside(&real, asked)?.ok_or_else(|| self.outside(asked))?;
            return Ok((place, path.strip_prefix(there).unwrap_or(Path::new("")).into()));
        }
        Err(self.outside(asked))
    }

    /// What is at a path that the system has resolved: the deepest root that really contains it is opened. What the
    /// system said is only a hint: the path is opened under that root, confined. `None` if it is not inside.
    fn inside(&self, real: &RootPath, asked: &Path) -> Result<Option<Place>, BoundaryError> {
        let known = self.real.get_or_init(|| RealRoots::look(&self.snapshot.roots));
        let Some(root) = known.roots.find(real) else { return Ok(None) };
        match self.under(root, real, asked) {
            Ok(place) => Ok(Some(Place { root: known.spelled[root.uri.path()].clone(), ..place })),
            // A link that leads out of its root after all.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && escapes(&error) => Ok(None),
            Err(error) => Err(failed(asked, error)),
        }
    }

    fn under(&self, root: &Root, path: &RootPath, asked: &Path) -> io::Result<Place> {
        let base = root.uri.reading_above(path).unwrap_or_else(|| root.uri.path());
        let (directory, relative) = open_root(root, base)?;
        let relative = match path.relative_to(base) {
            Some(below) if !below.as_os_str().is_empty() => relative.join(below),
            _ if relative.as_os_str().is_empty() => PathBuf::from("."),
            _ => relative,
        };
        // Looks where the path leads, so that what leads out is told from what is not there.
        directory.metadata(&relative)?;
        Ok(Place {
            asked: asked.into(),
            path: path.to_native().unwrap_or_else(|| asked.into()),
            names: self.names().clone(),
            root: root.uri.path().clone(),
            directory,
            relative,
        })
    }

    fn absolute(&self, asked: &Path) -> Result<PathBuf, BoundaryError> {
        let unusable = |reason| Err(BoundaryError::Unusable { path: asked.into(), reason });
        if asked.as_os_str().is_empty() {
            return unusable("it is empty");
        }
        if asked.as_os_str().as_encoded_bytes().contains(&0) {
            return unusable("it holds a NUL");
        }
        let mapping = &self.snapshot.mapping;
        let native = |local: RootPath| local.to_native();
        let text = asked.as_os_str().as_encoded_bytes();
        if let Some(local) = mapping.find(text).and_then(native) {
            return Ok(local);
        }
        if asked.is_absolute() {
            return Ok(asked.into());
        }
        if !cfg!(windows) && asked.to_str().is_some_and(is_of_windows) {
            // To a client on Windows it is a path like any other.
            return match mapping.iter().any(|folder| folder.client().rules() == PathRules::Windows) {
                true => Err(self.outside(asked)),
                false => unusable("it is a path of Windows, and this is another system"),
            };
        }
        if let Ok(below) = asked.strip_prefix("~") {
            return match std::env::home_dir() {
                Some(home) => Ok(home.join(below)),
                None => unusable("there is no home directory that ~ could stand for"),
            };
        }
        let mut roots = self.snapshot.roots.iter();
        match (roots.next().map(|root| root.uri.path()), roots.next()) {
            (Some(only), None) => {
                let local = match mapping.find_from(only, text) {
                    Ok(Some(mapped)) => native(mapped),
                    Ok(None) => only.to_native().map(|only| only.join(asked)),
                    // Taken as one of this system it would be a name that the client cannot have meant.
                    Err(_) => return unusable("it is neither absolute nor relative on the client's system"),
                };
                local.ok_or_else(|| self.outside(asked))
            }
            (None, None) => Err(self.outside(asked)),
            (_, Some(_)) => Err(BoundaryError::Ambiguous { path: asked.into(), roots: in_words(&self.snapshot) }),
        }
    }

    fn names(&self) -> &Mapping {
        self.names.get_or_init(|| self.snapshot.mapping.resolved(|local| real(&local.to_native()?)))
    }

    fn outside(&self, asked: &Path) -> BoundaryError {
        let hint = match self.snapshot.state {
            State::Fresh | State::Unsupported if self.snapshot.roots.is_empty() => Hint::OpenAFolder,
            State::Fresh | State::Unsupported => Hint::AskElsewhere,
            _ => Hint::Uncertain,
        };
        BoundaryError::Outside { path: asked.into(), roots: in_words(&self.snapshot), hint }
    }
}

impl Place {
    /// The place at `missing` below this directory.
    fn below(self, missing: impl AsRef<Path>, asked: &Path) -> Result<Place, BoundaryError> {
        let missing = missing.as_ref();
        let directory =
            self.directory.open_dir(&self.relative).map_err(|error| failed(asked, missing_directory(error)))?;
        Ok(Place { path: self.path.join(missing), directory, relative: missing.into(), ..self })
    }
}

/// What a directory has in the place of a name that it does not have: the one name that is the same text in another
/// form of Unicode. People and programs write composed what some disks keep decomposed, and cannot see the difference.
fn the_same_name(directory: &Dir, name: &OsStr) -> Option<PathBuf> {
    let name = name.to_str().filter(|name| !name.is_ascii())?;
    let same = |other: &OsString| other.to_str().is_some_and(|other| other.nfc().eq(name.nfc()));
    let names = directory.entries().ok()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut same = names.filter(same).filter(|other| other != name);
    let only = same.next()?;
    same.next().is_none().then(|| only.into())
}

fn is_of_windows(path: &str) -> bool {
    matches!(RootPath::parse(path, PathRules::Windows), Ok(_) | Err(Refusal::ParentDirectory))
}

fn is_ascii(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().is_ascii()
}

fn failed(asked: &Path, error: io::Error) -> BoundaryError {
    BoundaryError::Io { path: asked.into(), error }
}

/// Opens a root, and gives the way from the handle to it: empty for a directory, the name for a single file.
fn open_root(root: &Root, base: &RootPath) -> io::Result<(Dir, PathBuf)> {
    let elsewhere = || io::Error::new(io::ErrorKind::Unsupported, "the root is a path of another system");
    let native = base.to_native().ok_or_else(elsewhere)?;
    if let Some(within) = &root.within {
        let directory = Dir::open_ambient_dir(within.to_native().ok_or_else(elsewhere)?, ambient_authority())?;
        let beside = || io::Error::new(io::ErrorKind::PermissionDenied, "the root is outside the operator's directory");
        let below = base.relative_to(within).ok_or_else(beside)?;
        return match below.as_os_str().is_empty() {
            true => Ok((directory, below)),
            false if directory.metadata(&below)?.is_dir() => Ok((directory.open_dir(below)?, PathBuf::new())),
            false => Ok((directory, below)),
        };
    }
    if std::fs::metadata(&native)?.is_dir() {
        return Ok((Dir::open_ambient_dir(&native, ambient_authority())?, PathBuf::new()));
    }
    let (Some(parent), Some(Component::Normal(name))) = (native.parent(), native.components().next_back()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the root is neither a directory nor a file in one"));
    };
    Ok((Dir::open_ambient_dir(parent, ambient_authority())?, name.into()))
}

impl RealRoots {
    /// Asks the system. A root that is not there now is left out; of two at one place the first stands.
    fn look(roots: &RootSet) -> Self {
        let mut spelled = HashMap::new();
        let real = roots.iter().filter_map(|root| {
            let real_path = |path: &RootPath| real(&path.to_native()?);
            let real = [Some(root.uri.path()), root.uri.alternative()].into_iter().flatten().find_map(real_path)?;
            let within = root.within.as_ref().and_then(real_path);
            // A root that a link leads out of the operator's directory is no root.
            if root.within.is_some() && !within.as_ref().is_some_and(|within| real.starts_with(within)) {
                return None;
            }
            spelled.entry(real.clone()).or_insert_with(|| root.uri.path().clone());
            let mut root = root.clone();
            root.uri = RootUri::from_path(&real);
            root.within = within;
            Some(root)
        });
        RealRoots { roots: RootSet::from_roots(real), spelled }
    }
}

/// Where a path really leads, as the system says; `None` if there is nothing.
fn real(path: &Path) -> Option<RootPath> {
    RootPath::from_native(&std::fs::canonicalize(path).ok()?).ok()
}

/// Whether cap-std says that a path led out of its directory; it has no kind of its own for that.
fn escapes(error: &io::Error) -> bool {
    error.to_string().contains("outside of the filesystem")
}
