//! Reading and writing file URIs (RFC 8089), and reading what clients send instead.

use super::path::looks_windows;
use super::{PathRules, Refusal, Repair, RootPath};

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
        Some((scheme, _)) => Err(Refusal::Scheme { scheme: scheme.to_lowercase() }),
        None => read_bare(text, rules),
    }
}

/// Writes a path as a file URI.
pub(super) fn write(path: &RootPath) -> String {
    let mut uri = String::from("file://");
    match path.rules() {
        PathRules::Posix => {}
        PathRules::Windows => {
            // `\\server\share` is a host and the first part of its path; `C:` is the first part of a path.
            let anchor = path.to_string();
            match anchor.strip_prefix(r"\\") {
                Some(shared) => {
                    let mut parts = shared.split('\\');
                    encode(&mut uri, parts.next().unwrap_or_default().as_bytes());
                    uri.push('/');
                    encode(&mut uri, parts.next().unwrap_or_default().as_bytes());
                }
                None => {
                    uri.push('/');
                    uri.push_str(&anchor[..2]);
                }
            }
        }
    }
    let mut empty = true;
    for component in path.components() {
        uri.push('/');
        encode(&mut uri, component);
        empty = false;
    }
    if empty {
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

fn read_bare(text: &str, rules: PathRules) -> Result<Reading, Refusal> {
    let mut reading = Reading::of(RootPath::parse(text, rules)?, vec![Repair::BarePath]);
    if rules == PathRules::Windows && text.contains('\\') {
        // Backslashes are how a Windows path is written; there is nothing to repair in a path.
        reading.alternative = None;
    }
    let decoded = decode(text);
    if decoded.escapes > 0 && !decoded.lone_percent {
        reading.alternative = from_bytes(&decoded.bytes, rules).ok();
    }
    Ok(reading)
}

fn read_file_uri(rest: &str, rules: PathRules) -> Result<Reading, Refusal> {
    let Some(after) = rest.strip_prefix("//") else {
        // `file:/path`, which RFC 8089 allows, and `file:C:/path`, which it does not.
        if rest.starts_with('/') || looks_windows(rest) {
            return read_path(rest, rules, Vec::new());
        }
        return Err(Refusal::Relative);
    };
    if looks_windows(after) || looks_windows(&String::from_utf8_lossy(&decode(after).bytes)) {
        return read_path(after, rules, vec![Repair::DriveAsHost]);
    }
    let slash = after.find('/').unwrap_or(after.len());
    let (host, path) = after.split_at(slash);
    if host.is_empty() || host.eq_ignore_ascii_case("localhost") {
        return read_path(path, rules, Vec::new());
    }
    match rules {
        PathRules::Posix => Err(Refusal::Host { host: host.into() }),
        // A host is a file server there (RFC 8089, appendix E.3.1).
        PathRules::Windows => {
            let (decoded, repairs) = decode_path(after, rules)?;
            let text = String::from_utf8(decoded).map_err(|_| Refusal::NotUnicode)?;
            Ok(Reading::of(RootPath::parse_share(&text)?, repairs))
        }
    }
}

/// Reads the path of a file URI, as it is written there.
fn read_path(written: &str, rules: PathRules, mut repairs: Vec<Repair>) -> Result<Reading, Refusal> {
    let (decoded, more) = decode_path(written, rules)?;
    repairs.extend(more);
    // A drive is the first component of a URI's path: `/C:/x`.
    let below = decoded.strip_prefix(b"/").unwrap_or(&decoded);
    let drive = looks_windows(&String::from_utf8_lossy(below));
    if drive && rules == PathRules::Posix {
        return Err(Refusal::WindowsPath);
    }
    let path = from_bytes(if drive { below } else { &decoded }, rules)?;
    Ok(Reading::of(path, repairs))
}

fn from_bytes(bytes: &[u8], rules: PathRules) -> Result<RootPath, Refusal> {
    match rules {
        PathRules::Posix => RootPath::parse_posix(bytes),
        PathRules::Windows => RootPath::parse_windows(std::str::from_utf8(bytes).map_err(|_| Refusal::NotUnicode)?),
    }
}

/// Decodes the path of a URI and notes what in it was no URI.
fn decode_path(written: &str, rules: PathRules) -> Result<(Vec<u8>, Vec<Repair>), Refusal> {
    let decoded = decode(written);
    if decoded.separator || (decoded.backslash && rules == PathRules::Windows) {
        return Err(Refusal::EncodedSeparator);
    }
    if decoded.bytes.contains(&0) {
        return Err(Refusal::Nul);
    }
    let mut repairs = Vec::new();
    if decoded.lone_percent {
        repairs.push(Repair::LonePercent);
    }
    if rules == PathRules::Windows && written.contains('\\') {
        repairs.push(Repair::Backslashes);
    }
    let plain = |byte: u8| is_plain(byte) || matches!(byte, b'/' | b'%' | b'\\');
    if !written.bytes().all(plain) || (rules == PathRules::Posix && written.contains('\\')) {
        repairs.push(Repair::Unencoded);
    }
    Ok((decoded.bytes, repairs))
}

#[derive(Default)]
struct Decoded {
    bytes: Vec<u8>,
    escapes: usize,
    /// An escape stood for `/`.
    separator: bool,
    /// An escape stood for `\`.
    backslash: bool,
    lone_percent: bool,
}

fn decode(text: &str) -> Decoded {
    let mut decoded = Decoded::default();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = (byte == b'%').then(|| escaped(after)).flatten();
        match escape {
            Some(meant) => {
                decoded.escapes += 1;
                decoded.separator |= meant == b'/';
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
