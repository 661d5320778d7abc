//! A path is compared by its components, under the rules of its system.

use std::collections::HashSet;

use mcp_roots_core::uri::PathRules::{Posix, Windows};
use mcp_roots_core::uri::{Refusal, RootPath};

use super::path;

#[test]
fn containment_goes_by_whole_components() {
    for (root, inside, outside) in
        [("/srv/share", ["/srv/share", "/srv/share/x"], ["/srv/share-secret/x", "/srv"]), ("/", ["/", "/x"], ["", ""])]
    {
        let root = path(root, Posix);
        assert!(inside.iter().all(|inside| path(inside, Posix).starts_with(&root)));
        assert!(outside.iter().filter(|text| !text.is_empty()).all(|out| !path(out, Posix).starts_with(&root)));
    }
    let share = path(r"\\nas\team", Windows);
    assert!(path(r"\\NAS\Team\x", Windows).starts_with(&share));
    assert!(!path(r"\\nas\team2\x", Windows).starts_with(&share));
    assert!(path(r"C:\x", Windows).starts_with(&path("C:", Windows)));
    assert!(!path(r"D:\x", Windows).starts_with(&path("C:", Windows)));
}

#[test]
fn the_rules_are_apart() {
    assert!(!path(r"\\nas\team", Windows).starts_with(&path("/", Posix)));
    assert_ne!(path("/x", Posix).rules(), path("C:/x", Windows).rules());
}

#[test]
fn case_counts_under_posix_rules_and_not_under_windows_rules() {
    assert_ne!(path("/Users", Posix), path("/users", Posix));
    for (one, other) in [
        (r"C:\Users\X", "c:/USERS/x"),
        (r"\\NAS\Team", r"\\nas\TEAM\"),
        (r"C:\Größe\ÉTÉ", r"c:\GRÖßE\été"),
        (r"C:\ΟΔΟΣ", r"C:\οδος"),
        (r"C:\ΟΔΟΣ", r"C:\οδοσ"),
        (r"C:\Ⱥ\x", r"C:\ⱥ\X"),
    ] {
        let paths = HashSet::from([path(one, Windows), path(other, Windows)]);
        assert_eq!(paths.len(), 1, "{one} and {other}");
        assert!(path(&format!("{one}/below"), Windows).starts_with(&path(other, Windows)));
    }
    for (one, other) in [(r"C:\straße", r"C:\STRASSE"), (r"C:\ı", r"C:\I"), (r"C:\ſ", r"C:\S")] {
        assert_ne!(path(one, Windows), path(other, Windows));
    }
}

#[test]
fn a_path_is_shown_as_it_is_written() {
    for (text, shown) in [
        ("c:/Users/X", r"C:\Users\X"),
        (r"c:\", r"C:\"),
        ("//Nas/Team", r"\\Nas\Team\"),
        ("//Nas/Team/a/", r"\\Nas\Team\a"),
        (r"\\?\C:\a", r"C:\a"),
        ("//?/c:/a", r"C:\a"),
        (r"\\?\UNC\nas\team\a", r"\\nas\team\a"),
        (r"\\?\unc\nas\team\a", r"\\nas\team\a"),
    ] {
        assert_eq!(path(text, Windows).to_string(), shown);
    }
    assert_eq!(path("//a/./b//", Posix).to_string(), "/a/b");
    assert_eq!(path("/", Posix).to_string(), "/");
}

#[test]
fn the_way_from_a_root_is_as_it_is_written_even_where_case_changes_its_length() {
    let root = path(r"C:\ⱥ", Windows);
    let below = path(r"c:\Ⱥ\Read Me\x", Windows);
    assert_eq!(below.relative_to(&root).unwrap(), std::path::Path::new("Read Me/x"));
    assert_eq!(root.relative_to(&root).unwrap(), std::path::Path::new(""));
    assert_eq!(root.relative_to(&below), None);
}

#[test]
fn components_leave_the_drive_or_share_out() {
    for (text, rules) in [("/a/b", Posix), ("C:/a/b", Windows), ("//nas/team/a/b", Windows)] {
        assert_eq!(path(text, rules).components().collect::<Vec<_>>(), [b"a", b"b"]);
    }
    for (text, rules) in [("/", Posix), ("C:", Windows), ("//nas/team", Windows)] {
        assert_eq!(path(text, rules).components().count(), 0);
    }
}

#[cfg(unix)]
#[test]
fn a_native_path_goes_there_and_back_whatever_its_encoding() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    for native in [&b"/"[..], b"/a", b"/a/\xFF\xFE/b", b"/C:/x", b"/\\\\x/y"] {
        let native = Path::new(OsStr::from_bytes(native));
        assert_eq!(RootPath::from_native(native).unwrap().to_native().unwrap(), native);
    }
    assert_eq!(RootPath::from_native(Path::new("a/b")), Err(Refusal::Relative));
    assert_eq!(RootPath::from_native(Path::new("/a/../b")), Err(Refusal::ParentDirectory));
    assert_eq!(path("C:/a", Windows).to_native(), None);
}
