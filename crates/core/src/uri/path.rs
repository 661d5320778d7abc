//! Absolute paths under POSIX or Windows rules, on any system.
//!
//! A path is read once and compared as it is named. Nothing here looks at a disk: links, short names and the
//! case rules of one volume are for whoever opens the path.

use std::borrow::Cow;
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

    const fn separator(self) -> u8 {
        match self {
            PathRules::Posix => b'/',
            PathRules::Windows => b'\\',
        }
    }

    fn separates(self, byte: u8) -> bool {
        byte == b'/' || byte == self.separator()
    }
}

/// An absolute path without `.` and `..`. Cheap to clone.
///
/// A path with `..` is refused: where that leads depends on links, which only the disk knows. Under POSIX
/// rules components are bytes of any encoding, under Windows rules they are Unicode.
///
/// Two paths are equal if they name one place: under POSIX rules byte by byte, under Windows rules whatever
/// the case. Case is folded character by character, as NTFS does it, from Unicode's tables instead of the
/// volume's own, which may differ for rare characters.
#[derive(Clone)]
pub struct RootPath(Arc<Spelling>);

struct Spelling {
    rules: PathRules,
    /// How much of `text` is a drive or a share; nothing under POSIX rules.
    anchor: usize,
    /// The drive or share, then each component with one separator before it. So `/` is empty here, and one
    /// path is below another if it begins with it and goes on with a separator.
    text: Box<[u8]>,
    /// `text` as it compares, where that is another.
    folded: Option<Box<[u8]>>,
}

impl RootPath {
    /// Reads an absolute path.
    ///
    /// Under Windows rules it begins with a drive, `\\server\share`, or either of these after `\\?\`.
    ///
    /// # Errors
    ///
    /// When it is not absolute under these rules, holds `..`, or holds what no path can.
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
    /// As [`RootPath::parse`]; where paths are Unicode, also when it is not.
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
        Some(native(&self.written()))
    }

    /// The rules that it was read under.
    pub fn rules(&self) -> PathRules {
        self.0.rules
    }

    /// Its components below the root, drive or share, as they are written.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        let separator = self.rules().separator();
        self.0.text[self.0.anchor..].split(move |&byte| byte == separator).skip(1)
    }

    /// Whether it is `base` or below it.
    pub fn starts_with(&self, base: &RootPath) -> bool {
        let goes_on = |rest: &[u8]| rest.is_empty() || rest.starts_with(&[self.rules().separator()]);
        self.rules() == base.rules() && self.key().strip_prefix(base.key()).is_some_and(goes_on)
    }

    /// The way from `base` to here, empty if it is `base` itself; `None` if it is not below.
    pub fn relative_to(&self, base: &RootPath) -> Option<PathBuf> {
        self.starts_with(base).then(|| self.components().skip(base.components().count()).map(native).collect())
    }

    /// The path at `below` from here, which is one component or several. It is always this one or below it.
    ///
    /// # Errors
    ///
    /// When `below` is absolute, holds `..`, or holds what no path can.
    pub fn join(&self, below: impl AsRef<[u8]>) -> Result<Self, Refusal> {
        let below = below.as_ref();
        let windows = self.rules() == PathRules::Windows;
        if below.first().is_some_and(|&byte| self.rules().separates(byte)) || (windows && begins_with_drive(below)) {
            return Err(Refusal::Absolute);
        }
        if windows && std::str::from_utf8(below).is_err() {
            return Err(Refusal::NotUnicode);
        }
        Self::assemble(self.rules(), self.0.text.to_vec(), self.0.anchor, below)
    }

    /// Reads an absolute path that may hold `..`: each takes off the name before it, as the text has it.
    pub(crate) fn parse_lexically(text: &[u8], rules: PathRules) -> Result<Self, Refusal> {
        // A URI's path has a slash before the drive, and some clients leave it there.
        let after_slash =
            text.strip_prefix(b"/").filter(|below| rules == PathRules::Windows && begins_with_drive(below));
        let text = without_parents(after_slash.unwrap_or(text), rules);
        match rules {
            PathRules::Posix => Self::parse_posix(&text),
            PathRules::Windows => Self::parse_windows(std::str::from_utf8(&text).map_err(|_| Refusal::NotUnicode)?),
        }
    }

    /// The path at `below` from here, which may hold `..` and so lead out.
    pub(crate) fn join_lexically(&self, below: &[u8]) -> Result<Self, Refusal> {
        // On Windows such a path begins at the root of whichever drive is the current one.
        if below.first().is_some_and(|&byte| self.rules().separates(byte)) {
            return Err(Refusal::Absolute);
        }
        Self::parse_lexically(&[&self.written(), "/".as_bytes(), below].concat(), self.rules())
    }

    /// How many components it has below the root, drive or share.
    pub(crate) fn depth(&self) -> usize {
        self.components().count()
    }

    /// The path that is as far below `onto` as this one is below `base`; `None` if it is not below `base`, or if a name
    /// on the way is none under the rules of `onto`.
    pub(crate) fn rebased(&self, base: &RootPath, onto: &RootPath) -> Option<Self> {
        if !self.starts_with(base) {
            return None;
        }
        let below: Vec<&[u8]> = self.components().skip(base.depth()).collect();
        if below.iter().any(|name| name.iter().any(|&byte| onto.rules().separates(byte))) {
            return None;
        }
        onto.join(below.join(&onto.rules().separator())).ok()
    }

    /// As [`RootPath::rebased`], where U+FFFD stands for what no name holds under the rules of `onto`.
    pub(crate) fn rebased_as_nearly(&self, base: &RootPath, onto: &RootPath) -> Option<Self> {
        if !self.starts_with(base) {
            return None;
        }
        let spelled = |letter: char| match u8::try_from(letter) {
            Ok(byte) if onto.rules().separates(byte) || is_reserved(byte) => char::REPLACEMENT_CHARACTER,
            _ => letter,
        };
        let name = |name: &[u8]| String::from_utf8_lossy(name).chars().map(spelled).collect::<String>();
        let below: Vec<String> = self.components().skip(base.depth()).map(name).collect();
        onto.join(below.join(&char::from(onto.rules().separator()).to_string())).ok()
    }

    /// The path as it compares: the drive or share, then each component with one separator before it.
    pub(crate) fn key(&self) -> &[u8] {
        self.0.folded.as_ref().unwrap_or(&self.0.text)
    }

    /// What stands between the separators of [`RootPath::key`]. The first part is a path that contains this
    /// one, and so are the first two, and so on to the path itself.
    pub(crate) fn key_parts(&self) -> impl Iterator<Item = &[u8]> {
        let separator = self.rules().separator();
        self.key().split(move |&byte| byte == separator)
    }

    /// The drive, as `C:`, or the share, as its server and its name; `None` under POSIX rules.
    pub(super) fn anchor(&self) -> Option<Anchor<'_>> {
        let anchor = std::str::from_utf8(&self.0.text[..self.0.anchor]).ok().filter(|anchor| !anchor.is_empty())?;
        Some(match anchor.strip_prefix(r"\\").and_then(|shared| shared.split_once('\\')) {
            Some((server, share)) => Anchor::Share { server, share },
            None => Anchor::Drive(anchor),
        })
    }

    pub(super) fn parse_posix(bytes: &[u8]) -> Result<Self, Refusal> {
        match bytes.first() {
            Some(b'/') => Self::assemble(PathRules::Posix, Vec::new(), 0, bytes),
            _ if looks_windows(bytes) => Err(Refusal::WindowsPath),
            _ => Err(Refusal::Relative),
        }
    }

    pub(super) fn parse_windows(text: &str) -> Result<Self, Refusal> {
        let Some(shared) = text.strip_prefix(SEPARATORS).and_then(|rest| rest.strip_prefix(SEPARATORS)) else {
            return Self::parse_drive(text);
        };
        match shared.split_once(SEPARATORS) {
            Some(("?", verbatim)) => Self::parse_verbatim(verbatim),
            Some((".", _)) => Err(Refusal::Device),
            _ => Self::parse_share(shared),
        }
    }

    fn parse_drive(text: &str) -> Result<Self, Refusal> {
        match split_drive(text.as_bytes()) {
            Some((letter, below)) if begins_with_drive(text.as_bytes()) => {
                Self::assemble(PathRules::Windows, vec![letter.to_ascii_uppercase(), b':'], 2, below)
            }
            None if text.starts_with(SEPARATORS) => Err(Refusal::NoDrive),
            _ => Err(Refusal::Relative),
        }
    }

    /// A path on a share, from `server\share\...`.
    pub(super) fn parse_share(text: &str) -> Result<Self, Refusal> {
        let mut parts = text.splitn(3, SEPARATORS);
        let mut name = || parts.next().filter(|name| !matches!(*name, "" | "."));
        let (Some(server), Some(share)) = (name(), name()) else {
            return Err(Refusal::NoShare);
        };
        let mut anchor = vec![b'\\'];
        append(&mut anchor, server.as_bytes(), PathRules::Windows)?;
        append(&mut anchor, share.as_bytes(), PathRules::Windows)?;
        let length = anchor.len();
        Self::assemble(PathRules::Windows, anchor, length, parts.next().unwrap_or_default().as_bytes())
    }

    /// What follows `\\?\`, the prefix that tells Windows not to look at a path too closely.
    fn parse_verbatim(text: &str) -> Result<Self, Refusal> {
        match text.split_once(SEPARATORS) {
            Some((unc, shared)) if unc.eq_ignore_ascii_case("UNC") => Self::parse_share(shared),
            _ if begins_with_drive(text.as_bytes()) => Self::parse_drive(text),
            _ => Err(Refusal::Device),
        }
    }

    fn assemble(rules: PathRules, mut text: Vec<u8>, anchor: usize, below: &[u8]) -> Result<Self, Refusal> {
        append(&mut text, below, rules)?;
        let folded = match rules {
            PathRules::Posix => None,
            PathRules::Windows => Some(fold(&text)).filter(|folded| **folded != *text),
        };
        Ok(RootPath(Arc::new(Spelling { rules, anchor, text: text.into(), folded })))
    }

    /// The path as it is written: that of a root, drive or share ends with a separator.
    fn written(&self) -> Cow<'_, [u8]> {
        let text = &*self.0.text;
        if text.len() > self.0.anchor { text.into() } else { [text, &[self.rules().separator()]].concat().into() }
    }
}

impl PartialEq for RootPath {
    fn eq(&self, other: &Self) -> bool {
        self.rules() == other.rules() && self.key() == other.key()
    }
}

impl Eq for RootPath {}

impl Hash for RootPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// What is not Unicode in it shows as U+FFFD.
impl fmt::Display for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.written()))
    }
}

impl fmt::Debug for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RootPath").field(&self.to_string()).finish()
    }
}

/// Where a Windows path begins.
pub(super) enum Anchor<'a> {
    Drive(&'a str),
    Share { server: &'a str, share: &'a str },
}

/// Whether a path begins as one does only under Windows rules: with a drive, or with two backslashes.
fn looks_windows(path: &[u8]) -> bool {
    path.starts_with(br"\\") || begins_with_drive(path)
}

/// Whether a path begins with a drive and is absolute on it.
pub(super) fn begins_with_drive(path: &[u8]) -> bool {
    split_drive(path).is_some_and(|(_, below)| below.first().is_none_or(|&byte| PathRules::Windows.separates(byte)))
}

const SEPARATORS: [char; 2] = ['/', '\\'];

fn split_drive(path: &[u8]) -> Option<(u8, &[u8])> {
    match path {
        [letter, b':', below @ ..] if letter.is_ascii_alphabetic() => Some((*letter, below)),
        _ => None,
    }
}

/// Puts the components of `below` at the end of a path.
fn append(path: &mut Vec<u8>, below: &[u8], rules: PathRules) -> Result<(), Refusal> {
    for component in below.split(|&byte| rules.separates(byte)) {
        match component {
            b"" | b"." => continue,
            b".." => return Err(Refusal::ParentDirectory),
            _ if component.contains(&0) => return Err(Refusal::Nul),
            _ => {}
        }
        if let Some(&byte) = component.iter().find(|byte| rules == PathRules::Windows && is_reserved(**byte)) {
            return Err(Refusal::Reserved { character: char::from(byte) });
        }
        path.push(rules.separator());
        path.extend_from_slice(component);
    }
    Ok(())
}

/// Takes the names off that `..` leaves again; at the root, drive or share there is nothing to take off.
fn without_parents(path: &[u8], rules: PathRules) -> Vec<u8> {
    let shared = rules == PathRules::Windows && path.len() > 1 && path[..2].iter().all(|&byte| rules.separates(byte));
    // Before what can be left stands nothing or a drive; or two times nothing, the server and the share.
    let anchor = if shared { 4 } else { 1 };
    let mut kept: Vec<&[u8]> = Vec::new();
    for name in path.split(|&byte| rules.separates(byte)) {
        match name {
            _ if kept.len() < anchor => kept.push(name),
            b"" | b"." => {}
            b".." => kept.truncate(anchor.max(kept.len() - 1)),
            _ => kept.push(name),
        }
    }
    // A root, drive or share ends with its separator.
    if kept.len() == anchor {
        kept.push(b"");
    }
    kept.join(&rules.separator())
}

/// What no name holds on Windows. The colon matters most: behind one stands another stream of a file, or
/// another drive.
fn is_reserved(byte: u8) -> bool {
    byte < b' ' || br#"<>:"|?*"#.contains(&byte)
}

/// Folds the case of a Windows path.
fn fold(text: &[u8]) -> Box<[u8]> {
    if text.is_ascii() {
        return text.to_ascii_uppercase().into();
    }
    String::from_utf8_lossy(text).chars().map(fold_char).collect::<String>().into_bytes().into()
}

/// One character stays one, and none but a Latin letter becomes one: that keeps `ß` and `ı` apart from `SS`
/// and `I`, as NTFS does.
fn fold_char(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) if c.is_ascii() || !upper.is_ascii() => upper,
        _ => c,
    }
}

fn native(path: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
    #[cfg(not(unix))]
    return PathBuf::from(String::from_utf8_lossy(path).into_owned());
}
