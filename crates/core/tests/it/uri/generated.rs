//! What holds of every path and every text, tried on generated ones, with the crate `url` as the judge.

use mcp_roots_core::uri::PathRules::{self, Posix, Windows};
use mcp_roots_core::uri::{RootPath, RootUri};
use proptest::prelude::*;

use super::path;

fn posix_path() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => any::<u8>(), 1 => proptest::sample::select(&b":|%\\ .#?C"[..])];
    let component = proptest::collection::vec(byte.prop_filter("no separator", |b| !matches!(b, 0 | b'/')), 1..8)
        .prop_filter("a name", |component| component != b"." && component != b"..");
    proptest::collection::vec(component, 0..6).prop_map(|components| match components.len() {
        0 => b"/".to_vec(),
        _ => components.into_iter().flat_map(|component| [b"/".to_vec(), component].concat()).collect(),
    })
}

fn windows_path() -> impl Strategy<Value = RootPath> {
    let name = r#"[^\x00-\x1f<>:"|?*/\\]{1,8}"#.prop_filter("a name", |name| name != "." && name != "..");
    let server = prop_oneof![name.clone(), Just("localhost".to_string()), Just("c".to_string())];
    let share = (server, name.clone()).prop_map(|(server, share)| format!(r"\\{server}\{share}"));
    let anchor = prop_oneof!["[a-zA-Z]:", share];
    (anchor, proptest::collection::vec(name, 0..6))
        .prop_map(|(anchor, names)| path(&format!("{anchor}\\{}", names.join("\\")), Windows))
}

/// Texts made of what decides how a text is read.
fn text() -> impl Strategy<Value = String> {
    let part = proptest::sample::select(vec![
        "file:",
        "FILE:",
        "//",
        "/",
        "/",
        "\\",
        "\\\\?\\",
        "UNC\\",
        "C:",
        "c%3A",
        "D|",
        "%2F",
        "%5c",
        "%",
        "%41",
        "%FF",
        "%00",
        "..",
        "%2e",
        ".",
        "a",
        "a",
        "B",
        "é",
        "localhost",
        "host",
        "?",
        "#",
        ":",
        "\0",
        " ",
        "~",
        "@",
        "x-y:",
    ]);
    proptest::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
}

/// Whether this begins with what `url` takes for a drive even where there are none.
fn has_drive(path: &[u8]) -> bool {
    matches!(path, [b'/', letter, b':' | b'|', rest @ ..]
        if letter.is_ascii_alphabetic() && rest.first().is_none_or(|byte| matches!(byte, b'/' | b'\\' | b'?' | b'#')))
}

fn reads_again(path: &RootPath, rules: PathRules) -> Result<(), TestCaseError> {
    let written = RootUri::from_path(path);
    let read = RootUri::parse(written.as_str(), rules).map_err(|no| TestCaseError::fail(format!("{written}: {no}")))?;
    prop_assert_eq!(read.path(), path);
    prop_assert_eq!(read.path().to_string(), path.to_string());
    prop_assert_eq!(read.as_str(), written.as_str());
    prop_assert_eq!(&read, &written);
    Ok(())
}

proptest! {
    #[test]
    fn a_windows_path_is_read_from_its_uri(path in windows_path()) {
        reads_again(&path, Windows)?;
    }

    #[test]
    fn a_windows_path_is_the_same_in_capitals(path in windows_path()) {
        let capitals = path.to_string().to_ascii_uppercase();
        let capitals = RootPath::parse(&capitals, Windows).unwrap();
        prop_assert_eq!(&capitals, &path);
        prop_assert!(capitals.starts_with(&path) && path.starts_with(&capitals));
    }

    #[test]
    fn any_text_is_refused_or_reads_as_paths_that_can_be_written(text in text(), rules in prop_oneof![Just(Posix), Just(Windows)]) {
        if let Ok(uri) = RootUri::parse(&text, rules) {
            prop_assert_eq!(uri.as_str(), &text);
            for reading in [Some(uri.path()), uri.alternative()].into_iter().flatten() {
                reads_again(reading, rules)?;
                prop_assert!(reading.components().all(|name| !matches!(name, b"" | b"." | b"..") && !name.contains(&0)));
                let shown = reading.to_string();
                if !shown.contains(char::REPLACEMENT_CHARACTER) {
                    prop_assert_eq!(&RootPath::parse(&shown, rules).unwrap(), reading);
                }
            }
        }
    }
}

#[cfg(unix)]
mod as_url_reads_them {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use url::Url;

    use super::*;

    fn native(path: &[u8]) -> PathBuf {
        Path::new(OsStr::from_bytes(path)).into()
    }

    proptest! {
        #[test]
        fn a_posix_path_is_read_from_its_uri(path in posix_path()) {
            let native = native(&path);
            let path = RootPath::from_native(&native).unwrap();
            prop_assert_eq!(path.to_native(), Some(native));
            reads_again(&path, Posix)?;
        }

        #[test]
        fn what_url_writes_is_read_as_the_path_it_was(path in posix_path()) {
            prop_assume!(!has_drive(&path));
            let native = native(&path);
            let written = Url::from_file_path(&native).unwrap();
            let read = RootUri::parse(written.as_str(), Posix).unwrap();
            prop_assert_eq!(read.path().to_native(), Some(native));
        }

        #[test]
        fn what_is_written_is_read_by_url_as_the_path_it_was(path in posix_path()) {
            prop_assume!(!has_drive(&path));
            let native = native(&path);
            let written = RootUri::from_path(&RootPath::from_native(&native).unwrap());
            prop_assert_eq!(Url::parse(written.as_str()).unwrap().to_file_path(), Ok(native));
        }

        #[test]
        fn a_proper_uri_is_read_as_url_reads_it(path in posix_path(), escaped in any::<u64>()) {
            prop_assume!(!has_drive(&path));
            let mut text = String::from("file://");
            for (at, &byte) in path.iter().enumerate() {
                let plain = byte == b'/' || (byte.is_ascii_alphanumeric() && escaped >> (at % 64) & 1 == 0);
                text += &if plain { char::from(byte).to_string() } else { format!("%{byte:02x}") };
            }
            let read = RootUri::parse(&text, Posix).unwrap();
            prop_assert_eq!(read.repairs(), []);
            prop_assert_eq!(read.path().to_native(), Url::parse(&text).unwrap().to_file_path().ok());
        }
    }
}
