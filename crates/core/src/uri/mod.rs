//! Root URIs: the text exactly as it came, and the path it means, parsed once.
//!
//! Clients send much that is not a file URI. What can only mean one thing is repaired, and the root carries a
//! note of it; what cannot is refused, alone, with a reason that says what to do. Nothing is repaired silently.

mod parse;
mod path;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use path::{PathRules, RootPath};

/// A root's URI, or a resource's. Cheap to clone.
///
/// Two are equal if they have the same text and were read as the same path. Whether they name one place,
/// however they are written, is [`RootUri::same_place`].
///
/// Where the client's folders are mapped to others ([`Mapping`](crate::mapping::Mapping)), the text is what the client
/// calls the place and the path is where it is here, so that the text does not read as the path.
#[derive(Clone)]
pub struct RootUri(Arc<Parsed>);

struct Parsed {
    text: Box<str>,
    path: RootPath,
    alternative: Option<RootPath>,
    repairs: Vec<Repair>,
}

/// What was repaired in a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Repair {
    /// It was a path, not a URI.
    BarePath,
    /// The drive stood where the host belongs.
    DriveAsHost,
    /// A host was taken as a file server, which Windows does and RFC 8089 leaves open (appendix E.3.1).
    HostAsServer,
    /// Backslashes stood where slashes belong.
    Backslashes,
    /// Characters that a URI may not hold unencoded were taken as they are.
    Unencoded,
    /// A percent sign that begins no escape was taken as it is.
    LonePercent,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Repair::BarePath => "a bare path was taken as a file URI",
            Repair::DriveAsHost => "a drive in the place of the host was taken as the beginning of the path",
            Repair::HostAsServer => {
                "the host was taken as a file server; if it is part of the path, write a third slash"
            }
            Repair::Backslashes => "backslashes were taken as slashes",
            Repair::Unencoded => "characters that belong percent-encoded were taken as they are",
            Repair::LonePercent => "a percent sign that begins no escape was taken as it is",
        })
    }
}

/// Why a URI cannot be a root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is nothing.
    #[error("it is empty; a root is a file:// URI (2025-11-25, client/roots)")]
    Empty,
    /// It is too long to be a path.
    #[error("it is {length} bytes long, and the limit is {limit}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It is a URI, and not of a file.
    #[error("its scheme is {scheme}, and only file can be served; have the client send file:// roots, or map them")]
    Scheme {
        /// The scheme, in lower case, shortened if it is long.
        scheme: String,
    },
    /// It names another host.
    #[error(
        "\"{host}\" stands where a host name belongs; if it is part of the path, write a third slash: file:///{host}/..."
    )]
    Host {
        /// The host, shortened if it is long, with control characters escaped.
        host: String,
    },
    /// It is a Windows path where paths are POSIX paths.
    #[error("it is a Windows path, and this side has POSIX paths; map it to where the folder is here")]
    WindowsPath,
    /// It has no drive where paths are Windows paths.
    #[error(
        "it names no drive, and this side has Windows paths; write file:///C:/..., or map it to where the folder is here"
    )]
    NoDrive,
    /// It names a server and no share.
    #[error("it names a server and no share; write \\\\server\\share")]
    NoShare,
    /// It names a device, or a volume by its number.
    #[error("it names a Windows device or volume; write the path with its drive, or \\\\server\\share")]
    Device,
    /// It is not absolute.
    #[error("it is not an absolute path; a root is a file:// URI of one")]
    Relative,
    /// It is absolute where a path below another belongs.
    #[error("it is an absolute path, and a relative one belongs here")]
    Absolute,
    /// It holds `..`.
    #[error("it holds `..`; write the path that it leads to")]
    ParentDirectory,
    /// It holds a NUL.
    #[error("it holds a NUL, which no path can")]
    Nul,
    /// It holds what no name holds on Windows.
    #[error("it holds {character:?}, which no name holds on Windows")]
    Reserved {
        /// The character.
        character: char,
    },
    /// A separator is percent-encoded.
    #[error("a separator in it is percent-encoded; write it plainly")]
    EncodedSeparator,
    /// It is not Unicode where paths are Unicode.
    #[error("it is not valid Unicode, and paths on this side are")]
    NotUnicode,
}

impl RootUri {
    /// Reads a root's URI, or whatever a client sends for one, under these rules.
    ///
    /// # Errors
    ///
    /// When it cannot be the URI of a file on this side.
    pub fn parse(text: &str, rules: PathRules) -> Result<Self, Refusal> {
        let mut reading = parse::read(text, rules)?;
        reading.repairs.sort();
        reading.repairs.dedup();
        Ok(RootUri(Arc::new(Parsed {
            text: text.into(),
            path: reading.path,
            alternative: reading.alternative,
            repairs: reading.repairs,
        })))
    }

    /// The file URI of a path (RFC 8089).
    pub fn from_path(path: &RootPath) -> Self {
        let text = parse::write(path).into();
        RootUri(Arc::new(Parsed { text, path: path.clone(), alternative: None, repairs: Vec::new() }))
    }

    /// The text, exactly as it came.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The path it means.
    pub fn path(&self) -> &RootPath {
        &self.0.path
    }

    /// What a bare path would mean if it were percent-encoded. It counts only where [`RootUri::path`] does
    /// not exist, which is for whoever can look.
    pub fn alternative(&self) -> Option<&RootPath> {
        self.0.alternative.as_ref()
    }

    /// Which reading of the text is `path` or contains it: [`RootUri::path`], or else
    /// [`RootUri::alternative`]; `None` if neither does.
    pub fn reading_above(&self, path: &RootPath) -> Option<&RootPath> {
        [Some(self.path()), self.alternative()].into_iter().flatten().find(|reading| path.starts_with(reading))
    }

    /// What was repaired; empty for a proper URI.
    pub fn repairs(&self) -> &[Repair] {
        &self.0.repairs
    }

    /// Whether both name one place, however they are written.
    pub fn same_place(&self, other: &RootUri) -> bool {
        self.path() == other.path()
    }

    /// The same text with other readings.
    pub(crate) fn read_as(&self, path: &RootPath, alternative: Option<RootPath>) -> Self {
        let text = self.0.text.clone();
        RootUri(Arc::new(Parsed { text, path: path.clone(), alternative, repairs: self.0.repairs.clone() }))
    }
}

impl PartialEq for RootUri {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.same_place(other)
    }
}

impl Eq for RootUri {}

impl Hash for RootUri {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for RootUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RootUri").field(&self.as_str()).finish()
    }
}

impl fmt::Display for RootUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many characters of a text that somebody sent are shown.
const EXCERPT: usize = 200;

/// A text that somebody sent, as it can be shown: on one line, of bounded length, and without power over a
/// terminal.
pub(crate) fn excerpt(text: &str) -> String {
    const HARMLESS: [char; 3] = ['\\', '"', '\''];
    let end = text.char_indices().nth(EXCERPT).map_or(text.len(), |(end, _)| end);
    let mut shown = String::new();
    for piece in text[..end].split_inclusive(HARMLESS) {
        let escaped = piece.trim_end_matches(HARMLESS);
        shown.extend(escaped.escape_debug());
        shown.push_str(&piece[escaped.len()..]);
    }
    if end < text.len() {
        shown.push_str("...");
    }
    shown
}
