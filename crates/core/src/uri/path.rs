//! Absolute paths under POSIX or Windows rules, on any system.
//!
//! A path is taken apart once and compared by its parts. Nothing here looks at a disk: links, short names and
//! the case rules of one volume are for whoever opens the path.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Refusal;

/// Whose rules a path is read under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathRules {
    /// `/` separates, bytes count, case matters.
    Posix,
    /// `\` and `/` separate, there are drives and shares, case does not matter.
    Windows,
}

impl PathRules {
    /// The rules of the system that this runs on.
    pub const fn native() -> Self {
        if cfg!(windows) { PathRules::Windows } else { PathRules::Posix }
    }
}

/// An absolute path without `.` and `..`. Cheap to clone.
///
/// Two paths are equal if they name one place: under POSIX rules byte by byte, under Windows rules whatever
/// the case.
#[derive(Clone)]
pub struct RootPath(Arc<Parts>);

struct Parts {
    anchor: Anchor,
    components: Vec<Box<[u8]>>,
    /// The components as they compare, where that differs from how they are written.
    folded: Option<Vec<Box<[u8]>>>,
}

/// Where a path begins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Anchor {
    /// `/`
    Root,
    /// A drive, by its letter in upper case.
    Drive(char),
    /// A share, lower case for comparison.
    Share { server: String, share: String },
}

impl RootPath {
    /// Reads an absolute path.
    ///
    /// # Errors
    ///
    /// When it is not absolute under these rules, or holds `..` or a NUL.
    pub fn parse(text: &str, rules: PathRules) -> Result<Self, Refusal> {
        match rules {
            PathRules::Posix => Self::parse_posix(text.as_bytes()),
            PathRules::Windows => Self::parse_windows(text),
        }
    }

    /// Takes an absolute path of this system.
    ///
    /// # Errors
    ///
    /// When it is not absolute, or holds `..` or a NUL.
    pub fn from_native(path: &Path) -> Result<Self, Refusal> {
        #[cfg(unix)]
        return Self::parse_posix(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
        #[cfg(not(unix))]
        return Self::parse(path.to_str().ok_or(Refusal::NotUnicode)?, PathRules::native());
    }

    /// The path on this system; `None` if it is one of another system.
    pub fn to_native(&self) -> Option<PathBuf> {
        if self.rules() != PathRules::native() {
            return None;
        }
        #[cfg(unix)]
        return Some(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(self.to_bytes())));
        #[cfg(not(unix))]
        return Some(PathBuf::from(self.to_string()));
    }

    /// The rules that it was read under.
    pub fn rules(&self) -> PathRules {
        match self.0.anchor {
            Anchor::Root => PathRules::Posix,
            Anchor::Drive(_) | Anchor::Share { .. } => PathRules::Windows,
        }
    }

    /// Its components below the root, drive or share, as they are written.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.components.iter().map(AsRef::as_ref)
    }

    /// Whether it is `base` or below it.
    pub fn starts_with(&self, base: &RootPath) -> bool {
        self.0.anchor == base.0.anchor && self.keys().starts_with(base.keys())
    }

    /// The way from `base` to here, empty if it is `base` itself; `None` if it is not below.
    pub fn relative_to(&self, base: &RootPath) -> Option<PathBuf> {
        let below = self.starts_with(base).then(|| &self.0.components[base.0.components.len()..])?;
        Some(below.iter().map(|component| native_component(component)).collect())
    }

    /// The path one level up; `None` at the root, drive or share.
    pub fn parent(&self) -> Option<RootPath> {
        let (_, above) = self.0.components.split_last()?;
        Some(Self::assemble(self.0.anchor.clone(), above.to_vec()))
    }

    /// The components as they compare.
    pub(crate) fn keys(&self) -> &[Box<[u8]>] {
        self.0.folded.as_ref().unwrap_or(&self.0.components)
    }

    /// What tells roots, drives and shares apart in an index.
    pub(crate) fn anchor_key(&self) -> String {
        format!("{:?}", self.0.anchor)
    }

    pub(super) fn parse_posix(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.first() != Some(&b'/') {
            let text = String::from_utf8_lossy(bytes);
            return Err(if looks_windows(&text) { Refusal::WindowsPath } else { Refusal::Relative });
        }
        Ok(Self::assemble(Anchor::Root, components(bytes, |&byte| byte == b'/')?))
    }

    pub(super) fn parse_windows(text: &str) -> Result<Self, Refusal> {
        let text = plain_windows(text);
        if let Some(shared) =
            text.strip_prefix([SLASH, BACKSLASH]).and_then(|rest| rest.strip_prefix([SLASH, BACKSLASH]))
        {
            return Self::parse_share(shared);
        }
        let Some((letter, below)) = split_drive(&text) else {
            return Err(if text.starts_with([SLASH, BACKSLASH]) { Refusal::NoDrive } else { Refusal::Relative });
        };
        if !below.is_empty() && !below.starts_with([SLASH, BACKSLASH]) {
            return Err(Refusal::Relative);
        }
        Ok(Self::assemble(Anchor::Drive(letter.to_ascii_uppercase()), windows_components(below)?))
    }

    /// A path on a share, from `server\share\...`.
    pub(super) fn parse_share(text: &str) -> Result<Self, Refusal> {
        let mut parts = text.splitn(3, [SLASH, BACKSLASH]);
        match (parts.next(), parts.next()) {
            (Some(server), Some(share)) if !server.is_empty() && !share.is_empty() => {
                let anchor = Anchor::Share { server: server.to_lowercase(), share: share.to_lowercase() };
                Ok(Self::assemble(anchor, windows_components(parts.next().unwrap_or_default())?))
            }
            _ => Err(Refusal::NoShare),
        }
    }

    fn assemble(anchor: Anchor, components: Vec<Box<[u8]>>) -> Self {
        let folded = (anchor != Anchor::Root).then(|| components.iter().map(|component| fold(component)).collect());
        RootPath(Arc::new(Parts { anchor, components, folded }))
    }

    #[cfg(unix)]
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for component in self.components() {
            bytes.push(b'/');
            bytes.extend_from_slice(component);
        }
        if bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes
    }
}

impl PartialEq for RootPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.anchor == other.0.anchor && self.keys() == other.keys()
    }
}

impl Eq for RootPath {}

impl Hash for RootPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.anchor.hash(state);
        self.keys().hash(state);
    }
}

impl fmt::Display for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = match &self.0.anchor {
            Anchor::Root => "/",
            Anchor::Drive(letter) => {
                write!(f, "{letter}:")?;
                "\\"
            }
            Anchor::Share { server, share } => {
                write!(f, r"\\{server}\{share}")?;
                "\\"
            }
        };
        if self.0.components.is_empty() {
            return f.write_str(separator);
        }
        self.components().try_for_each(|component| write!(f, "{separator}{}", String::from_utf8_lossy(component)))
    }
}

impl fmt::Debug for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootPath({self})")
    }
}

const SLASH: char = '/';
const BACKSLASH: char = '\\';

/// Whether a text begins as only a Windows path does: with a drive, or with two backslashes.
pub(super) fn looks_windows(text: &str) -> bool {
    text.starts_with(r"\\")
        || split_drive(text).is_some_and(|(_, below)| below.is_empty() || below.starts_with([SLASH, BACKSLASH]))
}

fn split_drive(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    (chars.next() == Some(':')).then_some((letter, chars.as_str()))
}

/// Takes the prefix off that tells Windows not to look at a path too closely.
fn plain_windows(text: &str) -> std::borrow::Cow<'_, str> {
    match text.strip_prefix(r"\\?\") {
        Some(rest) => match rest.get(..4).filter(|unc| unc.eq_ignore_ascii_case(r"UNC\")) {
            Some(unc) => format!(r"\\{}", &rest[unc.len()..]).into(),
            None => rest.into(),
        },
        None => text.into(),
    }
}

fn windows_components(below: &str) -> Result<Vec<Box<[u8]>>, Refusal> {
    components(below.as_bytes(), |&byte| byte == b'/' || byte == b'\\')
}

fn components(bytes: &[u8], separates: impl FnMut(&u8) -> bool) -> Result<Vec<Box<[u8]>>, Refusal> {
    let mut components = Vec::new();
    for component in bytes.split(separates) {
        match component {
            b"" | b"." => {}
            b".." => return Err(Refusal::ParentDirectory),
            _ if component.contains(&0) => return Err(Refusal::Nul),
            _ => components.push(component.into()),
        }
    }
    Ok(components)
}

fn fold(component: &[u8]) -> Box<[u8]> {
    String::from_utf8_lossy(component).to_lowercase().into_bytes().into()
}

fn native_component(component: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(component));
    #[cfg(not(unix))]
    return PathBuf::from(String::from_utf8_lossy(component).into_owned());
}
