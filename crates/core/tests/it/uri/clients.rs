//! Every URI that clients in the field send means what their users want.

use mcp_roots_core::uri::PathRules::{self, Posix, Windows};
use mcp_roots_core::uri::{Refusal, Repair, RootUri};

use super::{BOTH, below_root, path, refusal, uri};

/// The text is kept, means this path, and was repaired in these ways.
#[track_caller]
fn means(text: &str, rules: PathRules, expected: &str, repairs: &[Repair]) {
    let uri = uri(text, rules);
    assert_eq!(uri.as_str(), text);
    assert_eq!(uri.path().to_string(), expected, "{text}");
    assert_eq!(uri.repairs(), repairs, "{text}");
}

#[test]
fn an_encoded_drive_is_that_drive() {
    means("file:///c%3A/temp", Windows, r"C:\temp", &[]);
    assert!(uri("file:///c%3A/temp", Windows).same_place(&uri("file:///C:/temp", Windows)));
    assert_eq!(refusal("file:///c%3A/temp", Posix), Refusal::WindowsPath);
}

#[test]
fn escapes_are_decoded_and_no_slash_stays_before_the_drive() {
    let text = "file:///C:/Users/x/OneDrive%20-%20Corp/Vaults/t";
    means(text, Windows, r"C:\Users\x\OneDrive - Corp\Vaults\t", &[]);
    assert_eq!(refusal(text, Posix), Refusal::WindowsPath);
    means("file:///Users/x/OneDrive%20-%20Corp", Posix, "/Users/x/OneDrive - Corp", &[]);
}

#[test]
fn a_bare_path_is_taken_and_noted() {
    means("/Users/x/p", Posix, "/Users/x/p", &[Repair::BarePath]);
    means("C:/Users/x/p", Windows, r"C:\Users\x\p", &[Repair::BarePath]);
    means(r"C:\Users\x\p", Windows, r"C:\Users\x\p", &[Repair::BarePath]);
    means(r"\\nas\team\p", Windows, r"\\nas\team\p", &[Repair::BarePath]);
    // What is left when a client takes the path of a URI for a path.
    means("/c:/temp", Windows, r"C:\temp", &[Repair::BarePath]);
    for windows in ["C:/Users/x/p", r"C:\Users\x\p", r"\\nas\team\p", "/c:/temp"] {
        assert_eq!(refusal(windows, Posix), Refusal::WindowsPath, "{windows}");
    }
    assert_eq!(refusal("/Users/x/p", Windows), Refusal::NoDrive);
}

#[test]
fn a_bare_path_is_decoded_only_for_whoever_finds_that_the_literal_one_does_not_exist() {
    for rules in BOTH {
        let bare = uri(&below_root("Users/x/iOs%20projects/bar", rules), rules);
        assert_eq!(bare.repairs(), [Repair::BarePath]);
        assert_eq!(*bare.path(), path(&below_root("Users/x/iOs%20projects/bar", rules), rules));
        assert_eq!(bare.alternative(), Some(&path(&below_root("Users/x/iOs projects/bar", rules), rules)));
    }
}

#[test]
fn a_bare_path_without_proper_escapes_has_one_reading() {
    for rules in BOTH {
        for tail in ["plain", "100%", "100%25%", "a%2Fb", "a%00b", "%2e%2e/b"] {
            let bare = uri(&below_root(tail, rules), rules);
            assert_eq!(bare.alternative(), None, "{bare}");
        }
    }
    assert_eq!(uri("C:/a%5Cb", Windows).alternative(), None);
    assert_eq!(uri("/a%5Cb", Posix).alternative(), Some(&path(r"/a\b", Posix)));
    assert_eq!(uri("/a%FFb", Posix).alternative().unwrap().components().next(), Some(&b"a\xFFb"[..]));
    assert_eq!(uri("C:/a%FFb", Windows).alternative(), None);
    assert_eq!(uri("file:///a%20b", Posix).alternative(), None);
}

#[test]
fn localhost_is_no_host() {
    for host in ["localhost", "LOCALHOST", "LocalHost"] {
        means(&format!("file://{host}/x"), Posix, "/x", &[]);
        means(&format!("file://{host}/C:/x"), Windows, r"C:\x", &[]);
        assert!(uri(&format!("file://{host}/x"), Posix).same_place(&uri("file:///x", Posix)));
    }
}

#[test]
fn two_slashes_are_refused_with_a_hint_at_the_third() {
    let refusal = refusal("file://home/u/proj", Posix);
    assert_eq!(refusal, Refusal::Host { host: "home".into() });
    assert!(refusal.to_string().contains("third slash: file:///home/..."), "{refusal}");
}

#[test]
fn under_windows_rules_a_host_is_a_file_server_and_the_hint_stays() {
    means("file://home/u/proj", Windows, r"\\home\u\proj", &[Repair::HostAsServer]);
    means("file://nas/my%20team/p", Windows, r"\\nas\my team\p", &[Repair::HostAsServer]);
    assert!(Repair::HostAsServer.to_string().contains("third slash"));
    means("file:////nas/team/p", Windows, r"\\nas\team\p", &[]);
    assert_eq!(refusal("file://nas", Windows), Refusal::NoShare);
    assert_eq!(refusal("file://nas/", Windows), Refusal::NoShare);
    assert_eq!(refusal("file://nas:445/team", Windows), Refusal::Host { host: "nas:445".into() });
}

#[test]
fn a_drive_in_the_place_of_the_host_is_repaired_and_noted() {
    means(r"file://H:\proj", Windows, r"H:\proj", &[Repair::DriveAsHost, Repair::Backslashes]);
    means("file://H:/proj", Windows, r"H:\proj", &[Repair::DriveAsHost]);
    means("file://h%3A/proj", Windows, r"H:\proj", &[Repair::DriveAsHost]);
    for text in [r"file://H:\proj", "file://H:/proj", "file://h%3A/proj"] {
        assert_eq!(refusal(text, Posix), Refusal::WindowsPath, "{text}");
    }
}

#[test]
fn backslashes_in_a_uri_are_slashes_under_windows_rules_alone() {
    means(r"file:///C:\proj\x", Windows, r"C:\proj\x", &[Repair::Backslashes]);
    for text in [r"file:\\nas\team\p", r"file://\\nas\team\p", r"file:///\\nas\team\p"] {
        means(text, Windows, r"\\nas\team\p", &[Repair::Backslashes]);
        assert_eq!(refusal(text, Posix), Refusal::WindowsPath, "{text}");
    }
    means(r"file:///a\b", Posix, r"/a\b", &[Repair::Unencoded]);
}

#[test]
fn another_scheme_is_refused_by_its_name() {
    for rules in BOTH {
        for (text, scheme) in [
            ("vscode-remote://wsl%2Bubuntu/home/u", "vscode-remote"),
            ("VSCode-Remote://wsl/home/u", "vscode-remote"),
            ("https://example.org/x", "https"),
            ("untitled:Untitled-1", "untitled"),
        ] {
            let refusal = refusal(text, rules);
            assert_eq!(refusal, Refusal::Scheme { scheme: scheme.into() });
            assert!(refusal.to_string().contains(scheme), "{refusal}");
        }
    }
}

#[test]
fn a_query_and_a_fragment_are_part_of_the_name() {
    means("file:///home/u/c#/proj", Posix, "/home/u/c#/proj", &[Repair::Unencoded]);
    means("file:///home/u/what?", Posix, "/home/u/what?", &[Repair::Unencoded]);
    means("file:///home/u/c%23/what%3F", Posix, "/home/u/c#/what?", &[]);
    means("file:///C:/c#/proj", Windows, r"C:\c#\proj", &[Repair::Unencoded]);
    assert_eq!(refusal("file:///C:/x?y=z", Windows), Refusal::Reserved { character: '?' });
}

#[test]
fn what_belongs_encoded_is_taken_as_it_is_and_noted() {
    means("file:///my projects/é", Posix, "/my projects/é", &[Repair::Unencoded]);
    means("file:///100%/x", Posix, "/100%/x", &[Repair::LonePercent]);
    means("file:///100%/a b%20c", Posix, "/100%/a b c", &[Repair::Unencoded, Repair::LonePercent]);
    means("file:///%E2%82%AC", Posix, "/€", &[]);
}

#[test]
fn the_scheme_may_have_any_case_and_no_authority() {
    means("FILE:///x", Posix, "/x", &[]);
    means("file:/x/y", Posix, "/x/y", &[]);
    means("file:/C:/x", Windows, r"C:\x", &[]);
    means("file:C:/x", Windows, r"C:\x", &[]);
    assert_eq!(refusal("file:C:/x", Posix), Refusal::WindowsPath);
}

#[test]
fn slashes_at_the_end_and_twice_in_a_row_do_not_change_the_place() {
    for text in ["file:///a/b/", "file:///a//b", "file:///a/./b/.", "file:////a/b", "/a/b/"] {
        assert!(uri(text, Posix).same_place(&uri("file:///a/b", Posix)), "{text}");
        assert_ne!(uri(text, Posix), uri("file:///a/b", Posix), "the text is the identity");
    }
    means("file:///", Posix, "/", &[]);
    means("file:///C:", Windows, r"C:\", &[]);
    means("file:///C:/", Windows, r"C:\", &[]);
}

#[test]
fn what_is_written_never_says_something_else() {
    for (text, rules, written) in [
        ("/srv/my share/c#", Posix, "file:///srv/my%20share/c%23"),
        ("/", Posix, "file:///"),
        // A directory that is called as a drive is.
        ("/C:/x", Posix, "file:////C:/x"),
        (r"/\\x", Posix, "file:///%5C%5Cx"),
        ("/100%/%41", Posix, "file:///100%25/%2541"),
        (r"c:\a b", Windows, "file:///C:/a%20b"),
        (r"c:\", Windows, "file:///C:/"),
        (r"\\nas\team\x", Windows, "file://nas/team/x"),
        (r"\\~\team\x", Windows, "file://~/team/x"),
        // As a host, this one would mean that there is none.
        (r"\\localhost\c$\x", Windows, "file:////localhost/c$/x"),
    ] {
        let path = path(text, rules);
        let uri = RootUri::from_path(&path);
        assert_eq!(uri.as_str(), written);
        assert_eq!((uri.path(), uri.repairs(), uri.alternative()), (&path, &[][..], None));
        assert_eq!(*super::uri(written, rules).path(), path, "{written}");
    }
}

#[test]
fn every_repair_says_what_was_done() {
    let repairs = [
        Repair::BarePath,
        Repair::DriveAsHost,
        Repair::HostAsServer,
        Repair::Backslashes,
        Repair::Unencoded,
        Repair::LonePercent,
    ];
    for repair in repairs {
        assert!(repair.to_string().contains(" taken as "), "{repair}");
    }
}
