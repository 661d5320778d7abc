//! What cannot be a root is refused with a reason that says what to do, whatever it holds.

use mcp_roots_core::uri::PathRules::{self, Posix, Windows};
use mcp_roots_core::uri::{Refusal, RootPath};

use super::{BOTH, below_root, refusal};

fn all_refuse(texts: &[&str], rules: &[PathRules], expected: &Refusal) {
    for &rules in rules {
        for text in texts {
            assert_eq!(refusal(text, rules), *expected, "{text}");
        }
    }
}

#[test]
fn what_is_empty_or_not_absolute() {
    all_refuse(&[""], &BOTH, &Refusal::Empty);
    let relative = ["file:", "file://", "file:x", "file://localhost", "file://./x", "file://../x"];
    all_refuse(&relative, &BOTH, &Refusal::Relative);
    all_refuse(&["file://~/x"], &[Posix], &Refusal::Relative);
    all_refuse(&["x", "./x", "~/x", " file:///x", "C:x", "é:/x"], &BOTH, &Refusal::Relative);
}

#[test]
fn what_leads_up() {
    let windows = [r"C:\a\..\b", "file:///C:/a/..", "file:///C:/%2E%2e/b", r"\\nas\team\..\x", r"\\nas\..\x"];
    all_refuse(&windows, &[Windows], &Refusal::ParentDirectory);
    all_refuse(&["/a/../b", "file:///..", "file:///a/%2e%2E/b"], &[Posix], &Refusal::ParentDirectory);
}

#[test]
fn a_nul() {
    for rules in BOTH {
        all_refuse(&[&below_root("a\0b", rules)], &[rules], &Refusal::Nul);
        all_refuse(&[&format!("file:///{}", below_root("a%00b", rules))], &[rules], &Refusal::Nul);
    }
}

#[test]
fn an_encoded_separator() {
    all_refuse(&["file:///a%2Fb", "file:///a%2fb", "file:///..%2f..%2fetc"], &[Posix], &Refusal::EncodedSeparator);
    let windows = ["file:///C:/a%2Fb", "file:///C:/a%5Cb", "file:///C%3A%5Ca", "file://nas%2fteam/x"];
    all_refuse(&windows, &[Windows], &Refusal::EncodedSeparator);
    assert_eq!(super::uri("file:///a%5Cb", Posix).path().to_string(), r"/a\b");
}

#[test]
fn what_is_not_unicode_where_paths_are() {
    all_refuse(&["file:///C:/a%FFb", "file://nas/t%FF/x"], &[Windows], &Refusal::NotUnicode);
    assert_eq!(super::uri("file:///a%FFb", Posix).path().components().next(), Some(&b"a\xFFb"[..]));
}

#[test]
fn what_no_windows_name_holds() {
    for (text, character) in [
        (r"C:\a\file.txt:stream", ':'),
        ("file:///C:/a/D:/b", ':'),
        (r"C:\a*", '*'),
        (r"\\na|s\team", '|'),
        ("file:///C:/a%0Ab", '\n'),
    ] {
        assert_eq!(refusal(text, Windows), Refusal::Reserved { character }, "{text}");
    }
    assert_eq!(super::uri("file:///a:b*|%0A", Posix).path().to_string(), "/a:b*|\n");
}

#[test]
fn devices_and_shares_without_a_name() {
    all_refuse(&[r"\\.\C:\x", r"\\?\Volume{1}\x", r"\\?\GLOBALROOT\x", r"\\?\\\?\C:\x"], &[Windows], &Refusal::Device);
    all_refuse(&[r"\\nas", r"\\nas\", r"\\nas\.\x", r"\\", r"\\?\UNC\nas"], &[Windows], &Refusal::NoShare);
}

#[test]
fn what_is_too_long_before_it_is_read() {
    let limit = 128 * 1024;
    let text = format!("file:///{}", "x".repeat(limit));
    all_refuse(&[&text], &[Posix], &Refusal::TooLong { length: limit + 8, limit });
    super::uri(&text[..limit], Posix);
}

#[test]
fn a_reason_is_short_and_cannot_write_to_a_terminal() {
    let long = "h".repeat(100_000);
    for text in [
        "file://\x1b[31mhome\r\n\u{202e}/x".to_string(),
        format!("file://{long}/x"),
        format!("{long}:x"),
        format!("file://{}/x", "\u{1}".repeat(50_000)),
    ] {
        let reason = refusal(&text, Posix).to_string();
        assert!(!reason.contains(char::is_control) && !reason.contains('\u{202e}'), "{reason:?}");
        assert!(reason.len() < 4_000, "{} bytes", reason.len());
    }
}

#[test]
fn a_reason_says_what_to_do() {
    for (text, rules, hint) in [
        ("", Posix, "file:// URI"),
        ("C:/x", Posix, "map it"),
        ("/x", Windows, "file:///C:/"),
        ("vscode-remote://x", Posix, "file:// roots"),
        ("file:///a%2Fb", Posix, "write it plainly"),
        ("/a/../b", Posix, "write the path that it leads to"),
        (r"\\nas", Windows, r"\\server\share"),
        (r"\\.\x", Windows, r"\\server\share"),
    ] {
        let reason = refusal(text, rules).to_string();
        assert!(reason.contains(hint), "{text}: {reason}");
    }
}

#[test]
fn joining_stays_inside_or_is_refused() {
    for (root, rules) in [("/srv/share", Posix), ("/", Posix), (r"C:\share", Windows), (r"\\nas\team", Windows)] {
        let root = RootPath::parse(root, rules).unwrap();
        for below in ["x", "x/y", "./x//y/", "", "-secret", "%2e%2e/x"] {
            let joined = root.join(below).unwrap();
            assert!(joined.starts_with(&root), "{joined}");
            assert_eq!(root.join(below).unwrap().relative_to(&root).unwrap(), joined.relative_to(&root).unwrap());
        }
        assert_eq!(root.join("x/y").unwrap().relative_to(&root).unwrap(), std::path::Path::new("x/y"));
        assert_eq!(root.join("/etc").unwrap_err(), Refusal::Absolute);
        assert_eq!(root.join("x/../..").unwrap_err(), Refusal::ParentDirectory);
        assert_eq!(root.join("x\0").unwrap_err(), Refusal::Nul);
    }
    let share = RootPath::parse(r"C:\share", Windows).unwrap();
    for absolute in [r"\x", r"\\nas\x", "D:", r"D:\x"] {
        assert_eq!(share.join(absolute).unwrap_err(), Refusal::Absolute, "{absolute}");
    }
    assert_eq!(share.join("D:x").unwrap_err(), Refusal::Reserved { character: ':' });
    assert_eq!(share.join(b"\xFF").unwrap_err(), Refusal::NotUnicode);
    assert_eq!(RootPath::parse("/srv", Posix).unwrap().join(r"\x").unwrap().to_string(), r"/srv/\x");
}
