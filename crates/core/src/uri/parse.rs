//! Reading and writing file URIs (RFC 8089), and reading what clients send instead.
//!
//! A file URI has no query and no fragment: `?` and `#` are part of the name, as in the directory `c#` of a
//! client that puts `file://` before a path.

use super::path::{Anchor, begins_with_drive};
use super::{PathRules, Refusal, Repair, RootPath, excerpt};

/// No system has paths as long as this, even with every byte escaped.
const LONGEST: usize = 128 * 1024;

pub(super) struct Reading {
    pub(super) path: RootPath,
    pub(super) alternative: Option<RootPath>,
    pub(super) repairs: Vec<Repair>,
}

impl Reading {
    fn of(path: RootPath, repairs: Vec<Repair>) -> Self {
        Reading { path, alternative: None, repairs }
    }
}

pub(super) fn read(text: &str, rules: PathRules) -> Result<Reading, Refusal> {
    if text.is_empty() {
        return Err(Refusal::Empty);
    }
    if text.len() > LONGEST {
        return Err(Refusal::TooLong { length: text.len(), limit: LONGEST });
    }
    match split_scheme(text) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => read_file_uri(rest, rules),
        Some((scheme, _)) => Err(Refusal::Scheme { scheme: excerpt(&scheme.to_ascii_lowercase()) }),
        None => read_bare(text, rules),
    }
}

/// Writes a path as a file URI that reads as that path again.
pub(super) fn write(path: &RootPath) -> String {
    let mut uri = String::from("file://");
    match path.anchor() {
        None => {
            // A second slash, which adds no component, keeps a directory that is called `C:` from being
            // taken for a drive.
            if path.components().next().is_some_and(begins_with_drive) {
                uri.push('/');
            }
        }
        Some(Anchor::Drive(drive)) => {
            uri.push('/');
            uri.push_str(drive);
        }
        Some(Anchor::Share { server, share }) => {
            // As a host, `localhost` would mean that there is none (RFC 8089, section 2; the other way to
            // write a share is in appendix E.3.2).
            if server.eq_ignore_ascii_case("localhost") {
                uri.push_str("//");
            }
            encode(&mut uri, server.as_bytes());
            uri.push('/');
            encode(&mut uri, share.as_bytes());
        }
    }
    let below = uri.len();
    for component in path.components() {
        uri.push('/');
        encode(&mut uri, component);
    }
    if uri.len() == below {
        uri.push('/');
    }
    uri
}

/// A scheme has two letters or more; one letter is a drive.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut chars = scheme.chars();
    let begins = chars.next().is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (scheme.len() > 1 && begins && goes_on).then_some((scheme, rest))
}

/// Reads a path where a URI belongs. It is taken as it stands; what it means decoded is only noted.
fn read_bare(text: &str, rules: PathRules) -> Result<Reading, Refusal> {
    let mut reading = Reading::of(from_uri_path(text.as_bytes(), rules)?, vec![Repair::BarePath]);
    let decoded = Decoded::of(text);
    if decoded.escapes && !decoded.lone_percent && !decoded.hides_separator(rules) {
        reading.alternative = from_uri_path(&decoded.bytes, rules).ok();
    }
    Ok(reading)
}

fn read_file_uri(rest: &str, rules: PathRules) -> Result<Reading, Refusal> {
    let Some(after) = rest.strip_prefix("//") else {
        // `file:/x`, which is proper (RFC 8089, section 2), and `file:C:/x` (appendix E.2).
        return read_path(rest, rules, None);
    };
    if begins_with_drive(&Decoded::of(after).bytes) {
        return read_path(after, rules, Some(Repair::DriveAsHost));
    }
    if after.starts_with('\\') {
        return read_path(after, rules, None);
    }
    let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
    if host.is_empty() || host.eq_ignore_ascii_case("localhost") {
        return read_path(path, rules, None);
    }
    if matches!(host, "." | "..") || (host == "~" && rules == PathRules::Posix) {
        return Err(Refusal::Relative);
    }
    // A host is a file server under Windows rules (appendix E.3.1), where no server's name has a port.
    if rules == PathRules::Posix || host.contains(':') {
        return Err(Refusal::Host { host: excerpt(host) });
    }
    let (decoded, mut repairs) = decode_path(after, rules)?;
    repairs.push(Repair::HostAsServer);
    let text = std::str::from_utf8(&decoded).map_err(|_| Refusal::NotUnicode)?;
    Ok(Reading::of(RootPath::parse_share(text)?, repairs))
}

/// Reads the path of a file URI, as it is written there.
fn read_path(written: &str, rules: PathRules, repair: Option<Repair>) -> Result<Reading, Refusal> {
    // `\\server` is a whole Windows path behind the slash, as a drive is.
    let written = written.strip_prefix('/').filter(|below| below.starts_with(r"\\")).unwrap_or(written);
    let (decoded, mut repairs) = decode_path(written, rules)?;
    repairs.extend(repair);
    Ok(Reading::of(from_uri_path(&decoded, rules)?, repairs))
}

/// Reads a path that may begin as the path of a URI does, with a slash before the drive: `/C:/x`.
fn from_uri_path(path: &[u8], rules: PathRules) -> Result<RootPath, Refusal> {
    let drive = path.strip_prefix(b"/").filter(|below| begins_with_drive(below));
    match rules {
        PathRules::Posix if drive.is_some() => Err(Refusal::WindowsPath),
        PathRules::Posix => RootPath::parse_posix(path),
        PathRules::Windows => {
            RootPath::parse_windows(std::str::from_utf8(drive.unwrap_or(path)).map_err(|_| Refusal::NotUnicode)?)
        }
    }
}

/// Decodes the path of a URI and notes what in it was no URI.
fn decode_path(written: &str, rules: PathRules) -> Result<(Vec<u8>, Vec<Repair>), Refusal> {
    let decoded = Decoded::of(written);
    if decoded.hides_separator(rules) {
        return Err(Refusal::EncodedSeparator);
    }
    let mut repairs = Vec::new();
    if decoded.lone_percent {
        repairs.push(Repair::LonePercent);
    }
    let backslash_separates = rules == PathRules::Windows;
    if backslash_separates && written.contains('\\') {
        repairs.push(Repair::Backslashes);
    }
    let proper = |byte| is_plain(byte) || matches!(byte, b'/' | b'%') || (byte == b'\\' && backslash_separates);
    if !written.bytes().all(proper) {
        repairs.push(Repair::Unencoded);
    }
    Ok((decoded.bytes, repairs))
}

#[derive(Default)]
struct Decoded {
    bytes: Vec<u8>,
    /// There are escapes.
    escapes: bool,
    /// One of them stands for `/`.
    slash: bool,
    /// One of them stands for `\`.
    backslash: bool,
    lone_percent: bool,
}

impl Decoded {
    fn of(text: &str) -> Self {
        let mut decoded = Decoded::default();
        let mut rest = text.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            let escape = (byte == b'%').then(|| escaped(after)).flatten();
            match escape {
                Some(meant) => {
                    decoded.escapes = true;
                    decoded.slash |= meant == b'/';
                    decoded.backslash |= meant == b'\\';
                    decoded.bytes.push(meant);
                    rest = &after[2..];
                }
                None => {
                    decoded.lone_percent |= byte == b'%';
                    decoded.bytes.push(byte);
                    rest = after;
                }
            }
        }
        decoded
    }

    /// Whether decoding made a separator of what was part of a name.
    fn hides_separator(&self, rules: PathRules) -> bool {
        self.slash || (self.backslash && rules == PathRules::Windows)
    }
}

fn escaped(after: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

fn encode(uri: &mut String, component: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in component {
        if is_plain(byte) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(DIGITS[usize::from(byte >> 4)]));
            uri.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// The characters that a path's component may hold unencoded (RFC 3986, section 3.3).
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}
