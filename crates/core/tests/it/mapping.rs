//! A path of the client's is a path here and the other way round: the longest prefix wins, and what none covers passes.

use mcp_roots_core::mapping::{MappedFolder, Mapping, MappingError};
use mcp_roots_core::policy::Policy;
use mcp_roots_core::server_half::{Action, ServerConfig};
use mcp_roots_core::set::{Origin, RejectReason, RootSet};
use mcp_roots_core::uri::PathRules::{self, Posix, Windows};
use mcp_roots_core::uri::{Refusal, RootPath};
use proptest::prelude::*;

use crate::server::bench::{Bench, config, in_words, operator};

fn folder(text: &str) -> MappedFolder {
    MappedFolder::parse(text, Posix).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A mapping to folders of a POSIX system.
fn mapping(folders: &[&str]) -> Mapping {
    Mapping::new(folders.iter().map(|text| folder(text))).unwrap()
}

fn rules_of(text: &str) -> PathRules {
    if text.starts_with('/') { Posix } else { Windows }
}

fn path(text: &str) -> RootPath {
    RootPath::parse(text, rules_of(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn to_local(mapping: &Mapping, text: &str) -> String {
    mapping.to_local(&path(text)).to_string()
}

fn to_client(mapping: &Mapping, text: &str) -> String {
    mapping.to_client(&path(text)).to_string()
}

#[test]
fn the_longest_prefix_wins_in_both_directions_whatever_the_order() {
    for folders in [
        ["/home/me=/srv/home", "/home/me/app=/data/app", "/opt=/data"],
        ["/opt=/data", "/home/me/app=/data/app", "/home/me=/srv/home"],
    ] {
        let mapping = mapping(&folders);
        for (client, local) in [
            ("/home/me", "/srv/home"),
            ("/home/me/x/y", "/srv/home/x/y"),
            ("/home/me/app", "/data/app"),
            ("/home/me/app/x", "/data/app/x"),
            ("/home/me/application", "/srv/home/application"),
            ("/opt/x", "/data/x"),
        ] {
            assert_eq!(to_local(&mapping, client), local);
            assert_eq!(to_client(&mapping, local), client);
        }
        for uncovered in ["/", "/home", "/home/you", "/home/mean", "/usr"] {
            assert_eq!(to_local(&mapping, uncovered), uncovered);
            assert_eq!(to_client(&mapping, uncovered), uncovered);
        }
    }
}

#[test]
fn a_whole_disk_can_be_mapped_and_so_can_the_root_here() {
    let disk = mapping(&[r"C:\=/mnt/c", r"\\server\share=/mnt/share", "/=/host"]);
    for (client, local) in [
        (r"C:\", "/mnt/c"),
        (r"C:\Users\me", "/mnt/c/Users/me"),
        (r"\\server\share\x", "/mnt/share/x"),
        ("/etc/x", "/host/etc/x"),
    ] {
        assert_eq!(to_local(&disk, client), local);
        assert_eq!(to_client(&disk, local), client);
    }
    let root = mapping(&["/host=/"]);
    assert_eq!(to_local(&root, "/host/etc"), "/etc");
    assert_eq!(to_client(&root, "/etc"), "/host/etc");
}

#[test]
fn a_windows_client_is_understood_whatever_the_case_and_shown_its_own_kind_of_path() {
    let mapping = mapping(&[r"C:\Users\Me\proj=/srv/proj"]);
    for client in [r"C:\Users\Me\proj\Src\a.rs", r"c:/users/me/PROJ/Src/a.rs", r"\\?\C:\Users\Me\proj\Src\a.rs"] {
        assert_eq!(to_local(&mapping, client), "/srv/proj/Src/a.rs", "the case below is kept: it counts here");
        assert_eq!(mapping.find(client), Some(path("/srv/proj/Src/a.rs")));
    }
    assert_eq!(mapping.find("/c:/Users/me/proj/x"), Some(path("/srv/proj/x")), "a URI's path, as it is");
    assert_eq!(to_client(&mapping, "/srv/proj/Src/a.rs"), r"C:\Users\Me\proj\Src\a.rs");
    assert_eq!(mapping.uri_of(&path("/srv/proj/a b")).as_str(), "file:///C:/Users/Me/proj/a%20b");
}

#[test]
fn what_has_no_name_on_the_clients_side_that_leads_back_is_shown_as_it_is() {
    let windows = mapping(&[r"C:\proj=/srv/proj"]);
    for name in ["/srv/proj/a:b", r"/srv/proj/a\b", "/srv/proj/what?"] {
        assert_eq!(to_client(&windows, name), name);
    }
    assert_eq!(windows.shown(&path("/srv/a:b")), path("/srv/a:b"), "no folder covers it");
    // The client's /a/b is another folder than what is at b in its /a.
    let shadowing = mapping(&["/a=/srv/a", "/a/b=/srv/b"]);
    assert_eq!(to_client(&shadowing, "/srv/a/b/x"), "/srv/a/b/x");
    assert_eq!(shadowing.shown(&path("/srv/a/b/x")), path("/srv/a/b/x"));
    assert!(!shadowing.is_unspellable(&path("/srv/a/b/x")));
    assert_eq!(to_client(&shadowing, "/srv/b/x"), "/a/b/x");
    let swapped = mapping(&["/a=/b", "/b=/a"]);
    assert_eq!((to_local(&swapped, "/a/x"), to_client(&swapped, "/b/x")), ("/b/x".into(), "/a/x".into()));
}

#[test]
fn what_the_clients_system_cannot_spell_is_shown_to_be_there_and_leads_nowhere() {
    let windows = mapping(&[r"C:\proj=/srv/proj"]);
    for (local, shown) in [
        ("/srv/proj/a:b", "C:\\proj\\a\u{fffd}b"),
        ("/srv/proj/d?/a\\b", "C:\\proj\\d\u{fffd}\\a\u{fffd}b"),
        ("/srv/proj/C:", "C:\\proj\\C\u{fffd}"),
        ("/srv/proj/\u{1}é", "C:\\proj\\\u{fffd}é"),
    ] {
        assert!(windows.is_unspellable(&path(local)), "{local}");
        assert_eq!(windows.shown(&path(local)).to_string(), shown);
        assert_ne!(windows.find(shown), Some(path(local)));
    }
    for local in ["/srv/proj", "/srv/proj/é", "/srv/a:b"] {
        assert!(!windows.is_unspellable(&path(local)), "{local}");
        assert_eq!(windows.shown(&path(local)), windows.to_client(&path(local)));
    }
    // A client of another system has a name for it, under which it can be had.
    let both = mapping(&[r"C:\proj=/srv/proj", "/proj=/srv/proj"]);
    assert_eq!(both.shown(&path("/srv/proj/a:b")), path("/proj/a:b"));
}

#[test]
fn of_two_names_for_one_folder_the_first_is_shown() {
    let mapping = mapping(&["/z=/srv", r"C:\a=/srv", "/a=/srv"]);
    for client in ["/z/x", r"C:\a\x", "/a/x"] {
        assert_eq!(to_local(&mapping, client), "/srv/x");
    }
    assert_eq!(to_client(&mapping, "/srv/x"), "/z/x");
}

#[test]
fn a_local_folder_is_known_by_where_it_really_is_too_but_only_to_be_shown() {
    let mapping = mapping(&["/home/me/app=/srv/link", "/home/you=/data/app/you"]);
    let resolved = mapping.resolved(|local| (*local == path("/srv/link")).then(|| path("/data/app")));
    assert_eq!(to_client(&resolved, "/data/app/x"), "/home/me/app/x");
    assert_eq!(to_client(&resolved, "/srv/link/x"), "/home/me/app/x");
    assert_eq!(to_client(&resolved, "/data/app/you/x"), "/home/you/x");
    assert_eq!(to_local(&resolved, "/home/me/app/x"), "/srv/link/x");
    assert_eq!(to_client(&mapping, "/data/app/x"), "/data/app/x");
}

#[test]
fn dots_are_taken_off_as_the_client_writes_them() {
    let mapping = mapping(&["/home/me/app=/srv/app", r"C:\app=/srv/win", r"\\server\share=/srv/share"]);
    for (asked, local) in [
        ("/home/me/app/src/../x", Some("/srv/app/x")),
        ("/home/me/app/./a//b/../../x/.", Some("/srv/app/x")),
        ("/home/me/other/../app/x", Some("/srv/app/x")),
        ("/../../home/me/app", Some("/srv/app")),
        // What is beside the folder here is not what is beside it there.
        ("/home/me/app/../x", None),
        ("/home/me/app/..", None),
        (r"C:\app\a\..\x", Some("/srv/win/x")),
        (r"C:\..\app/x", Some("/srv/win/x")),
        (r"C:\app\..\x", None),
        (r"\\server\share\..\..\x", Some("/srv/share/x")),
        ("home/me/app", None),
        ("C:app", None),
        ("..", None),
        ("", None),
    ] {
        assert_eq!(mapping.find(asked), local.map(path), "{asked}");
    }
    assert_eq!(mapping.find_from(&path("/srv/win"), r"src\..\a.rs"), Ok(Some(path("/srv/win/a.rs"))));
    assert_eq!(mapping.find_from(&path("/srv/app"), r"src\a.rs"), Ok(Some(path(r"/srv/app/src\a.rs"))));
    assert_eq!(mapping.find_from(&path("/srv/other"), "a.rs"), Ok(None), "that has no other name");
    // At the root of the current drive, on another drive, another stream of a file: none is below the folder.
    for (asked, refusal) in [
        (r"\a.rs", Refusal::Absolute),
        ("D:a.rs", Refusal::Reserved { character: ':' }),
        ("a.rs:b", Refusal::Reserved { character: ':' }),
    ] {
        assert_eq!(mapping.find_from(&path("/srv/win"), asked), Err(refusal), "{asked}");
    }
    assert_eq!(Mapping::default().find("/home/me/app"), None);
}

#[test]
fn a_uri_keeps_its_text_and_is_read_as_the_local_path() {
    let mapping = mapping(&["/home/me/my app=/srv/app", r"c:\Temp=/srv/temp"]);
    for (text, local) in [
        ("file:///home/me/my%20app/x", "/srv/app/x"),
        ("file:///c%3A/temp/x", "/srv/temp/x"),
        ("file:///C:/TEMP/x", "/srv/temp/x"),
        (r"file://C:\temp\x", "/srv/temp/x"),
        ("C:/temp/x", "/srv/temp/x"),
        ("/home/me/my app/x", "/srv/app/x"),
        // Read as it stands it is covered by nothing, and decoded it is.
        ("/home/me/my%20app/x", "/srv/app/x"),
        ("file:///elsewhere", "/elsewhere"),
    ] {
        let read = mapping.read(text, Posix).unwrap();
        assert_eq!((read.as_str(), read.path(), read.alternative()), (text, &path(local), None));
    }
    assert_eq!(mapping.read("file:///D:/x", Posix), Err(Refusal::WindowsPath));
    assert_eq!(mapping.read("file://home/me/app", Posix), Err(Refusal::Host { host: "home".into() }));
    let both = self::mapping(&["/home/me=/srv/me"]).read("/home/me/a%20b", Posix).unwrap();
    assert_eq!((both.path(), both.alternative()), (&path("/srv/me/a%20b"), Some(&path("/srv/me/a b"))));
}

#[test]
fn a_mapping_is_read_from_both_kinds_of_path_and_from_uris() {
    for (text, client, local) in [
        ("/home/me/=/srv/./app/", "/home/me", "/srv/app"),
        (r"C:\Users\x\proj=/srv/proj", r"C:\Users\x\proj", "/srv/proj"),
        ("c:/x=/srv", r"C:\x", "/srv"),
        (r"\\server\share\x=/srv", r"\\server\share\x", "/srv"),
        ("file:///home/a%20b=/srv", "/home/a b", "/srv"),
        ("file:///c%3A/x=/srv", r"C:\x", "/srv"),
        // A path that is given by hand means what it says.
        ("/home/a%20b=/srv", "/home/a%20b", "/srv"),
        ("/a=b=/srv", "/a=b", "/srv"),
        ("/a==/srv", "/a=", "/srv"),
        ("/a=/srv/x=y", "/a", "/srv/x=y"),
        ("/a=/b=/srv", "/a", "/b=/srv"),
        ("file:///a%3D/b=/srv", "/a=/b", "/srv"),
    ] {
        let folder = folder(text);
        assert_eq!((folder.client().to_string(), folder.local().to_string()), (client.into(), local.into()), "{text}");
    }
    let here = MappedFolder::parse(r"/home/me=D:\app", Windows).unwrap();
    let mapping = Mapping::new([here]).unwrap();
    assert_eq!(to_local(&mapping, "/home/me/a/b"), r"D:\app\a\b");
    assert_eq!(to_client(&mapping, r"d:\APP\a"), "/home/me/a");
    assert_eq!(to_local(&mapping, r"/home/me/a\b"), r"/home/me/a\b", "no name of Windows");
}

#[test]
fn a_bad_mapping_says_what_would_do() {
    let error = |text: &str| MappedFolder::parse(text, Posix).unwrap_err();
    for (text, said) in [
        ("/home/me", "no `=`"),
        ("", "no `=`"),
        ("=/srv", "empty"),
        ("/home/me=", "empty"),
        ("=", "empty"),
        ("app=/srv", "\"app\" cannot be a folder of the client's: it is not an absolute path"),
        ("/home/me=app", "\"app\" cannot be where a folder is here: it is not an absolute path"),
        ("C:x=/srv", "not an absolute path"),
        ("/a/../b=/srv", "`..`"),
        ("/a=/srv/../x", "`..`"),
        (r"/home/me=C:\app", "a path of another system"),
        ("file://home/me=/srv", "third slash"),
        ("https://example.com/x=/srv", "scheme"),
    ] {
        let error = error(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
        assert!(error.contains("/home/me/app=/srv/app"), "{text}: {error}");
    }
    let foreign = MappedFolder::parse("/a=/b", Windows).unwrap_err();
    assert_eq!(foreign, MappingError::Foreign { given: "/b".into() });
    let twice = Mapping::new([folder("c:/x=/a"), folder(r"C:\X\=/b")]).unwrap_err().to_string();
    assert!(twice.contains("/a") && twice.contains("/b") && twice.contains("leave one"), "{twice}");
}

fn mapped(policy: Policy, dirs: &[&str], folders: &[&str]) -> ServerConfig {
    ServerConfig { policy, operator: operator(dirs), mapping: mapping(folders), ..config() }
}

fn paths(roots: &RootSet) -> Vec<String> {
    roots.iter().map(|root| root.uri.path().to_string()).collect()
}

#[test]
fn told_roots_are_local_before_the_policy_and_keep_their_text_and_origin() {
    let folders = ["/home/me=/srv/me", r"C:\work=/srv/work"];
    let told = ["file:///home/me/app", "file:///c%3A/Work", "file:///srv/me/bare", "file:///home/you", "file:///D:/x"];
    let bench = Bench::settled(mapped(Policy::Narrow, &["/srv"], &folders), &told);
    let snapshot = bench.half.snapshot();
    assert_eq!(in_words(snapshot), told[..3]);
    assert_eq!(paths(&snapshot.roots), ["/srv/me/app", "/srv/work", "/srv/me/bare"]);
    assert!(snapshot.roots.iter().all(|root| root.origin == Origin::Client));
    assert_eq!(paths(snapshot.told.as_ref().unwrap()).len(), 4);
    // What is not there is told in the words in which it came.
    let rejected: Vec<_> =
        snapshot.rejected.iter().map(|rejected| (rejected.shown.as_str(), &rejected.reason)).collect();
    assert_eq!(
        rejected,
        [
            ("file:///D:/x", &RejectReason::Refused(Refusal::WindowsPath)),
            ("file:///home/you", &RejectReason::NotAllowed)
        ]
    );
}

#[test]
fn two_roots_that_are_one_here_are_one_and_the_reason_names_the_clients_other() {
    let folders = ["/home/me=/srv", r"C:\me=/srv"];
    let bench = Bench::settled(mapped(Policy::Replace, &[], &folders), &["file:///home/me/x", "file:///C:/me/x"]);
    let snapshot = bench.half.snapshot();
    assert_eq!(in_words(snapshot), ["file:///home/me/x"]);
    let [rejected] = &*snapshot.rejected else { panic!("{:?}", snapshot.rejected) };
    assert_eq!(rejected.shown, "file:///C:/me/x");
    assert!(rejected.reason.to_string().contains("file:///home/me/x"), "{}", rejected.reason);
}

#[test]
fn each_client_is_shown_the_names_by_which_it_told_its_roots() {
    // One folder for clients of two systems, and one in it that has a name of its own.
    let folders = [r"C:\work=/srv", "/home/me=/srv", "/notes=/srv/docs"];
    let shown = |told: &[&str]| {
        let bench = Bench::settled(mapped(Policy::Merge, &["/srv/docs"], &folders), told);
        let snapshot = bench.half.snapshot();
        let name = |local: &str| snapshot.mapping.to_client(&path(local)).to_string();
        (name("/srv/x"), name("/srv/docs/x"), in_words(snapshot)[0].clone())
    };
    let theirs = |x: &str, docs: &str, uri: &str| (x.to_owned(), docs.to_owned(), uri.to_owned());
    assert_eq!(shown(&["file:///home/me/a"]), theirs("/home/me/x", "/home/me/docs/x", "file:///home/me/docs"));
    assert_eq!(shown(&["file:///c%3A/work"]), theirs(r"C:\work\x", r"C:\work\docs\x", "file:///C:/work/docs"));
    // Of several that are alike the deepest stands, and then the first.
    assert_eq!(shown(&[]), theirs(r"C:\work\x", "/notes/x", "file:///notes"));
    assert_eq!(shown(&["file:///notes", "file:///home/me"]), theirs("/home/me/x", "/notes/x", "file:///notes"));
}

#[test]
fn an_operators_directory_is_local_and_the_client_knows_it_by_its_own_name() {
    let config = mapped(Policy::Merge, &["/srv/me/notes", "/opt"], &["/home/me=/srv/me"]);
    let bench = Bench::settled(config, &["file:///home/me/notes/", "file:///home/me/app"]);
    let snapshot = bench.half.snapshot();
    assert_eq!(paths(&snapshot.roots), ["/srv/me/notes", "/opt", "/srv/me/app"]);
    assert_eq!(in_words(snapshot), ["file:///home/me/notes", "file:///opt", "file:///home/me/app"]);
    assert_eq!(snapshot.mapping.to_client(&path("/srv/me/app/x")), path("/home/me/app/x"));
}

#[test]
fn a_subscription_ends_with_its_mapped_root_and_by_the_clients_uri() {
    let mut bench = Bench::settled(mapped(Policy::Replace, &[], &[r"C:\p=/srv/p"]), &["file:///C:/p"]);
    bench.subscribes("file:///c%3A/P/file");
    bench.changes_to(&[]);
    let ended = |action: &Action| matches!(action, Action::ResourceUpdated(uri) if &**uri == "file:///c%3A/P/file");
    assert_eq!(bench.done.iter().filter(|action| ended(action)).count(), 1);
}

fn names() -> impl Strategy<Value = Vec<String>> {
    // Few names, so that prefixes meet.
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "é", "A"]), 0..4)
        .prop_map(|names| names.into_iter().map(String::from).collect())
}

fn client() -> impl Strategy<Value = RootPath> {
    (prop_oneof![Just("/"), Just(r"C:\"), Just(r"\\server\share\")], names())
        .prop_map(|(anchor, names)| path(&format!("{anchor}{}", names.join(if anchor == "/" { "/" } else { r"\" }))))
}

fn local() -> impl Strategy<Value = RootPath> {
    names().prop_map(|names| path(&format!("/{}", names.join("/"))))
}

/// Any mapping, and one whose sides are apart: no local folder is in another.
fn any_mapping() -> impl Strategy<Value = Mapping> {
    proptest::collection::vec((client(), local()), 0..5).prop_map(|sides| {
        let mut folders: Vec<MappedFolder> = Vec::new();
        for (client, local) in sides {
            if folders.iter().all(|there| *there.client() != client) {
                folders.push(MappedFolder::new(client, local));
            }
        }
        Mapping::new(folders).unwrap()
    })
}

fn apart() -> impl Strategy<Value = Mapping> {
    any_mapping().prop_map(|mapping| {
        let apart = mapping
            .iter()
            .enumerate()
            .map(|(at, folder)| MappedFolder::new(folder.client().clone(), path(&format!("/srv/{at}"))));
        Mapping::new(apart).unwrap()
    })
}

proptest! {
    /// Whatever the mapping, the name that a client is shown leads back; or else it is shown what is here.
    #[test]
    fn a_name_that_is_shown_leads_back(mapping in any_mapping(), local in local()) {
        let name = mapping.to_client(&local);
        if name != local {
            prop_assert_eq!(mapping.to_local(&name), local.clone());
            prop_assert_eq!(mapping.find(name.to_string()), Some(local.clone()));
        }
let uri = mapping.read(mapping.uri_of(&local).as_str(), Posix).unwrap();
        prop_assert_eq!(uri.path(), &mapping.to_local(&name));
    }

    #[test]
    fn a_path_that_is_mapped_is_called_what_it_was(mapping in apart(), client in client()) {
        let local = mapping.to_local(&client);
        if local != client {
            // The case of a prefix is the mapping's, and it is equal all the same.
            prop_assert_eq!(mapping.to_client(&local), client);
        }
    }
}
