//! The folders of a `.code-workspace` file, as the editor writes it.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use jsonc_parser::{JsonArray, JsonObject, JsonValue, ParseOptions, parse_to_value};
use mcp_roots_core::uri::{PathRules, RootPath, RootUri};
use mcp_roots_core::workspace::Folder;

use super::watch::Interests;
use super::{Look, Sight, SourceError};

/// How long a file may be, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// What the editor accepts beyond JSON, and nothing else.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

#[derive(Debug)]
pub(super) struct WorkspaceFile {
    path: PathBuf,
}

impl WorkspaceFile {
    pub(super) fn new(path: PathBuf) -> Self {
        WorkspaceFile { path }
    }

    fn read(&self) -> Result<Parsed, SourceError> {
        let unreadable = |reason: io::Error| match reason.kind() {
            io::ErrorKind::NotFound => SourceError::Missing { path: self.path.clone() },
            _ => SourceError::Unreadable { path: self.path.clone(), reason },
        };
        let text = read(&self.path).map_err(unreadable)?;
        parse(&text, self.path.parent().unwrap_or(&self.path)).map_err(|wrong| SourceError::Malformed {
            path: self.path.clone(),
            line: wrong.line,
            column: wrong.column,
            reason: wrong.reason,
        })
    }
}

impl Look for WorkspaceFile {
    fn look(&self) -> Sight {
        let mut interests = Interests::default();
        interests.path(&self.path);
        // Behind a link it is another directory in which the file is replaced.
        if let Ok(real) = std::fs::canonicalize(&self.path) {
            interests.path(&real);
        }
        match self.read() {
            Ok(parsed) => Sight { folders: Ok(parsed.folders), interests, left_out: parsed.left_out },
            Err(error) => Sight { folders: Err(error), interests, left_out: Vec::new() },
        }
    }
}

/// To open a pipe could take for ever, and a device could have no end.
fn read(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let mut text = String::new();
    let length = std::fs::File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

/// What a file says.
#[derive(Debug, Default)]
struct Parsed {
    /// In its order, each place once.
    folders: Vec<Folder>,
    /// Which entries are no folders, and why.
    left_out: Vec<String>,
}

/// What is wrong with a file, and where. The line and the column count from 1.
#[derive(Debug, PartialEq)]
struct Wrong {
    line: usize,
    column: usize,
    reason: String,
}

/// Reads the text of a file. Relative paths are taken from `base`.
fn parse(text: &str, base: &Path) -> Result<Parsed, Wrong> {
    let at_start = |reason: &str| Wrong { line: 1, column: 1, reason: reason.into() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = parse_to_value(text, &OPTIONS).map_err(|error| Wrong {
        line: error.line_display(),
        column: error.column_display(),
        reason: lower_first(&error.kind().to_string()),
    })?;
    let workspace = match &value {
        Some(JsonValue::Object(workspace)) => workspace,
        Some(_) => return Err(at_start("it is no JSON object")),
        None => return Err(at_start("it is empty")),
    };
    match workspace.get("folders") {
        Some(JsonValue::Array(entries)) => Ok(folders(entries, base)),
        Some(_) => Err(at_start("`folders` is no list")),
        None => Err(at_start("it has no `folders`")),
    }
}

fn folders(entries: &JsonArray<'_>, base: &Path) -> Parsed {
    let mut parsed = Parsed::default();
    let mut seen = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        match folder(entry, base) {
            Ok(folder) if seen.insert(folder.uri.path().clone()) => parsed.folders.push(folder),
            // The editor, too, shows it once.
            Ok(_) => {}
            Err(why) => parsed.left_out.push(format!("folder {} is left out: {why}", index + 1)),
        }
    }
    parsed
}

fn folder(entry: &JsonValue<'_>, base: &Path) -> Result<Folder, String> {
    let JsonValue::Object(entry) = entry else {
        return Err("it is no JSON object".into());
    };
    let path = match (string(entry, "path")?, string(entry, "uri")?) {
        (Some(path), _) => {
            RootPath::from_native(&joined(base, Path::new(path))).map_err(|refusal| refusal.to_string())?
        }
        (None, Some(uri)) => {
            let parsed = RootUri::parse(uri, PathRules::native()).map_err(|refusal| refusal.to_string())?;
            parsed.path().clone()
        }
        (None, None) => return Err("it has neither a `path` nor a `uri`".into()),
    };
    let name = string(entry, "name").ok().flatten().filter(|name| !name.is_empty());
    Ok(Folder::new(RootUri::from_path(&path), name.map(Arc::from)))
}

fn string<'a>(entry: &'a JsonObject<'_>, key: &str) -> Result<Option<&'a str>, String> {
    match entry.get(key) {
        Some(JsonValue::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("its `{key}` is no string")),
        None => Ok(None),
    }
}

/// `..` is taken back by name, as the editor does it, and not along links: the folder may not be there yet.
fn joined(base: &Path, path: &Path) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(String, Option<String>)>, Vec<String>) {
        let parsed = parse(text, Path::new("/src/team")).unwrap();
        let shown = |folder: Folder| (folder.uri.as_str().to_owned(), folder.name.map(|name| name.to_string()));
        (parsed.folders.into_iter().map(shown).collect(), parsed.left_out)
    }

    fn uris(text: &str) -> Vec<String> {
        read(text).0.into_iter().map(|(uri, _)| uri).collect()
    }

    #[test]
    fn a_file_as_the_editor_writes_it() {
        let text = "\u{feff}// the team's
            {
                /* both
                   sides */
                \"folders\": [
                    { \"path\": \"app\", \"name\": \"The app\" }, // first
                    { \"path\": \"../lib\" },
                    { \"path\": \".\", \"name\": \"\" },
                    { \"path\": \"/opt/tools/\" },
                    { \"uri\": \"file:///opt/a%20b\", \"name\": \"spaced\" },
                ],
                \"settings\": { \"editor.rulers\": [80, 1.5e1], \"x\": null, },
                \"extensions\": {},
            }";
        let (folders, left_out) = read(text);
        let expected = [
            ("file:///src/team/app", Some("The app")),
            ("file:///src/lib", None),
            ("file:///src/team", None),
            ("file:///opt/tools", None),
            ("file:///opt/a%20b", Some("spaced")),
        ];
        assert_eq!(folders, expected.map(|(uri, name)| (uri.to_owned(), name.map(String::from))));
        assert!(left_out.is_empty());
    }

    #[test]
    fn of_two_entries_at_one_place_the_first_stands() {
        let text = r#"{"folders": [{"path": "a", "name": "A"}, {"uri": "file:///src/team/a"}, {"path": "b/../a/"}]}"#;
        assert_eq!(read(text), (vec![("file:///src/team/a".into(), Some("A".into()))], Vec::new()));
    }

    #[test]
    fn what_is_no_folder_here_is_left_out_alone_with_its_reason() {
        let text = r#"{"folders": [
            {"uri": "vscode-remote://ssh-remote+host/src"}, "app", {}, {"path": 1}, {"path": "a\u0000b"},
            {"name": 1, "path": "b"}, {"uri": "untitled:x"}
        ]}"#;
        let (folders, left_out) = read(text);
        assert_eq!(folders, [("file:///src/team/b".to_owned(), None)]);
        let numbers = left_out.iter().map(|why| why.split(' ').nth(1).unwrap()).collect::<Vec<_>>();
        assert_eq!(numbers, ["1", "2", "3", "4", "5", "7"]);
        for (why, reason) in left_out.iter().zip(["vscode-remote", "no JSON object", "neither", "no string", "NUL"]) {
            assert!(why.contains(reason), "{why}");
        }
    }

    #[test]
    fn links_are_not_followed_by_name_beyond_the_root() {
        assert_eq!(uris(r#"{"folders": [{"path": "../../../../etc"}]}"#), ["file:///etc"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_line_and_column() {
        let wrong = |text: &str| {
            let wrong = parse(text, Path::new("/")).unwrap_err();
            (wrong.line, wrong.column, wrong.reason)
        };
        let (line, column, _) = wrong("{\n  \"folders\": [ { \"path\": } ]\n}");
        assert_eq!((line, column), (2, 26));
        assert_eq!(wrong("").2, "it is empty");
        assert_eq!(wrong("[]").2, "it is no JSON object");
        assert_eq!(wrong("{}").2, "it has no `folders`");
        assert_eq!(wrong(r#"{"folders": {}}"#).2, "`folders` is no list");
        for text in ["{'folders': []}", "{folders: []}", r#"{"folders": [] "x": 1}"#, r#"{"folders": [{"path": "a"#] {
            assert!(parse(text, Path::new("/")).is_err(), "{text}");
        }
        let nested = format!("{{\"folders\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(&nested, Path::new("/")).is_err(), "and does not exhaust the stack");
    }
}
