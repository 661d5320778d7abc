//! Glob patterns against paths below a directory: `*` stays within a name, `**` does not, `?` is one character, and
//! dots are ordinary.

use std::path::Path;

use globset::GlobBuilder;
use regex::{Regex, RegexSet};

use super::error::CallError;

/// One pattern.
pub(super) struct Pattern(Regex);

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, CallError> {
        Regex::new(&expression(pattern)?).map(Pattern).map_err(|error| CallError::Argument(error.to_string()))
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        self.0.is_match(&path.to_string_lossy())
    }
}

/// What is to be left out.
pub(super) struct Excludes(RegexSet);

impl Excludes {
    /// Patterns that match a path from where the walk begins.
    pub(super) fn paths(patterns: &[String]) -> Result<Self, CallError> {
        Self::of(patterns.iter().cloned())
    }

    /// As [`Excludes::paths`]; but one without `*` also leaves out whatever has that name, anywhere, and all below it.
    pub(super) fn paths_or_names(patterns: &[String]) -> Result<Self, CallError> {
        Self::of(patterns.iter().flat_map(|pattern| {
            let anywhere = (!pattern.contains('*')).then(|| [format!("**/{pattern}"), format!("**/{pattern}/**")]);
            std::iter::once(pattern.clone()).chain(anywhere.into_iter().flatten())
        }))
    }

    pub(super) fn cover(&self, path: &Path) -> bool {
        !self.0.is_empty() && self.0.is_match(&path.to_string_lossy())
    }

    fn of(patterns: impl Iterator<Item = String>) -> Result<Self, CallError> {
        let expressions = patterns.map(|pattern| expression(&pattern)).collect::<Result<Vec<String>, CallError>>()?;
        RegexSet::new(expressions).map(Excludes).map_err(|error| CallError::Argument(error.to_string()))
    }
}

/// The regular expression that a pattern stands for.
fn expression(pattern: &str) -> Result<String, CallError> {
    let refused = |why: String| CallError::Argument(format!("{pattern:?} is not a pattern: {why}"));
    if pattern.starts_with('!') {
        return Err(refused(
            "`!` has no meaning at the beginning; what is not wanted goes into excludePatterns".into(),
        ));
    }
    if let Some(group) = ["@(", "+(", "?(", "*(", "!("].iter().find(|group| pattern.contains(**group)) {
        return Err(refused(format!("groups such as `{group}…)` are not known; {{a,b}} stands for either")));
    }
    let glob = GlobBuilder::new(&with_plain_braces(pattern).map_err(refused)?.replace("//", "/"))
        .literal_separator(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| refused(error.kind().to_string()))?;
    Ok(of_characters(glob.regex()))
}

/// The library's own matcher takes `?` for a byte: it says at the beginning of its expression that bytes count, and
/// spells what is beyond ASCII as bytes.
fn of_characters(expression: &str) -> String {
    let expression = expression.strip_prefix("(?-u)").unwrap_or(expression);
    let mut parts = expression.split("\\x");
    let mut characters = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => characters.extend(std::iter::once(byte).chain(part[2..].bytes())),
            None => characters.extend([b"\\x", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&characters).into_owned()
}

/// Braces without a comma between them stand for themselves, as in a shell.
fn with_plain_braces(pattern: &str) -> Result<String, String> {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut plain = Vec::new();
    let mut escaped = false;
    for (at, byte) in pattern.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'{' => open.push((at, false)),
            b',' => open.iter_mut().last().into_iter().for_each(|(_, comma)| *comma = true),
            b'}' => match open.pop() {
                Some((_, true)) | None => {}
                Some((start, false)) if pattern[start..at].contains("..") => {
                    return Err("ranges such as {a..c} are not known; {a,b,c} stands for any of them".into());
                }
                Some((start, false)) => plain.extend([start, at]),
            },
            _ => {}
        }
    }
    let shown = |(at, c): (usize, char)| if plain.contains(&at) { format!("[{c}]") } else { c.to_string() };
    Ok(pattern.char_indices().map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_separators() {
        let matches = |pattern: &str, path: &str| Pattern::new(pattern).unwrap().matches(Path::new(path));
        for (pattern, path) in [
            ("*.txt", "a.txt"),
            ("*.txt", ".hidden.txt"),
            ("**/*.txt", "a.txt"),
            ("**/*.txt", "b/c/a.txt"),
            ("**/name", "name"),
            ("b/**", "b/c/d"),
            ("*.{rs,toml}", "Cargo.toml"),
            ("[ab].txt", "b.txt"),
            ("?.txt", "ü.txt"),
            ("[!a].txt", "ü.txt"),
            ("[ü].txt", "ü.txt"),
            ("ü?txt", "ü.txt"),
            ("*🦀", "a🦀"),
            ("{{slug}}/*", "{{slug}}/t"),
            ("{a}.txt", "{a}.txt"),
            ("docs//a", "docs/a"),
            ("{a,b{c,d}}", "bd"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.txt", "b/a.txt"),
            ("b/*", "b/c/d"),
            ("b/**", "b"),
            ("a", "b/a"),
            ("?.txt", "ab.txt"),
            ("[!ü].txt", "ü.txt"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        for refused in ["[", "{a", "!*.txt", "{a..c}", "@(a|b)"] {
            assert!(Pattern::new(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_plain_name_is_left_out_wherever_it_is() {
        let excludes = Excludes::paths_or_names(&["target".into(), "*.log".into()]).unwrap();
        for (path, covered) in [
            ("target", true),
            ("a/target", true),
            ("a/target/b", true),
            ("x.log", true),
            ("a/x.log", false),
            ("targets", false),
        ] {
            assert_eq!(excludes.cover(Path::new(path)), covered, "{path}");
        }
    }
}
