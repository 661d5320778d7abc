//! A boundary whose client is on another machine: it is asked, and answers, in the client's terms.
#![cfg(unix)]

use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

use mcp_roots::boundary::{Boundary, BoundaryError};
use mcp_roots::core::mapping::Mapping;
use mcp_roots::core::uri::RootPath;
use mcp_roots::{Policy, PublishOptions, TrackOptions, Workspace};

use crate::pair::{Folders, Pair};

/// Options with these mappings, each of a client's path and a folder of the test's.
fn options(folders: &[(&str, &Path)]) -> TrackOptions {
    let mapped = folders.iter().map(|(client, local)| format!("{client}={}", local.display()).parse().unwrap());
    let mapping = Mapping::new(mapped).unwrap();
    TrackOptions::default().configure(|config| config.mapping = mapping)
}

/// The boundary of an operator who allows these directories, for a client without roots.
async fn boundary(options: TrackOptions, dirs: &[&Path]) -> Boundary {
    let options = options.policy(Policy::Pin).operator_dirs(dirs).unwrap();
    let workspace = Workspace::open::<&str>([]).unwrap();
    let pair = Pair::connect(&workspace, options, PublishOptions::default()).await;
    Boundary::new(pair.roots.current().await.unwrap())
}

fn read(boundary: &Boundary, path: impl AsRef<Path>) -> Result<String, BoundaryError> {
    let mut text = String::new();
    boundary.find(path)?.open()?.read_to_string(&mut text).unwrap();
    Ok(text)
}

/// Folders whose `a/src/file` says where it is.
fn folders() -> Folders {
    let folders = Folders::new();
    std::fs::create_dir(folders.at("a/src")).unwrap();
    std::fs::write(folders.at("a/src/file"), "inside").unwrap();
    folders
}

#[tokio::test]
async fn what_is_asked_and_what_is_shown_are_the_clients_and_what_is_opened_is_local() {
    let folders = folders();
    let a = folders.at("a");
    for (client, separator, uri) in
        [("/home/me/app", "/", "file:///home/me/app/src/file"), (r"C:\Me\app", r"\", "file:///C:/Me/app/src/file")]
    {
        let boundary = boundary(options(&[(client, &a)]), &[&a]).await;
        let named = |names: &[&str]| [&[client], names].concat().join(separator);
        let place = boundary.find(named(&["src", "file"])).unwrap();
        assert_eq!(place.path(), a.join("src/file"));
        assert_eq!(place.root(), &RootPath::from_native(&a).unwrap());
        assert_eq!((place.shown(), place.uri().unwrap().to_string()), (named(&["src", "file"]), uri.to_owned()));
        let dir = boundary.find(named(&["src"])).unwrap();
        assert_eq!((dir.shown_below("x/y"), dir.uri_below("file").unwrap().as_str()), (named(&["src", "x", "y"]), uri));
        assert_eq!(boundary.in_words(), client);
        // A relative path is taken from the client's folder, as the client writes it.
        for relative in [&["src", "file"][..], &["src", "..", "src", "file"]] {
            assert_eq!(read(&boundary, relative.join(separator)).unwrap(), "inside", "{relative:?}");
        }
        boundary.locate(named(&["new", "file"])).unwrap();
        boundary.locate(named(&["new"])).unwrap().create_dir_all().unwrap();
        boundary.locate(named(&["new", "file"])).unwrap().write(b"new").unwrap();
        boundary.entry(named(&["new", "file"])).unwrap().rename(&boundary.entry(named(&["moved"])).unwrap()).unwrap();
        assert_eq!(std::fs::read(a.join("moved")).unwrap(), b"new");
        boundary.entry(named(&["moved"])).unwrap().remove().unwrap();
        std::fs::remove_dir(a.join("new")).unwrap();

        let missing = boundary.find(named(&["missing"])).unwrap_err();
        assert!(missing.is_not_found() && missing.to_string().starts_with(&named(&["missing"])), "{missing}");
        let beside = boundary.find(named(&["..", "b"])).unwrap_err();
        // What is beside the client's folder is not what is beside it here.
        let outside = matches!(&beside, BoundaryError::Outside { roots, .. } if roots == client);
        assert!(outside || matches!(beside, BoundaryError::Unusable { .. }), "{beside}");
        let itself = boundary.entry(client).unwrap_err();
        assert!(matches!(&itself, BoundaryError::RootItself { path } if path == Path::new(client)), "{itself}");
        for error in [missing, beside, itself] {
            assert!(!error.to_string().contains(a.to_str().unwrap()), "{error}");
        }
    }
}

#[tokio::test]
async fn a_relative_path_that_is_none_on_the_clients_system_makes_no_file_of_that_name_here() {
    let folders = folders();
    let a = folders.at("a");
    let boundary = boundary(options(&[(r"C:\Me\app", &a)]), &[&a]).await;
    for asked in [r"\src\file", r"\new", "D:new", "C:new", "src:new"] {
        for refused in [boundary.find(asked), boundary.locate(asked), boundary.entry(asked)].map(Result::unwrap_err) {
            assert!(matches!(refused, BoundaryError::Unusable { .. }), "{asked}: {refused}");
        }
    }
    for asked in [r"C:\Me", r"C:\Me\app\..\other", r"..\other", r"D:\x"] {
        let refused = boundary.find(asked).unwrap_err();
        let named = matches!(&refused, BoundaryError::Outside { roots, .. } if roots == r"C:\Me\app");
        assert!(named, "{asked}: {refused}");
    }
}

#[tokio::test]
async fn what_no_mapping_covers_stands_or_falls_by_the_roots() {
    let folders = folders();
    let [a, b] = ["a", "b"].map(|name| folders.at(name));
    std::fs::write(b.join("file"), "beside").unwrap();
    let boundary = boundary(options(&[("/home/me/app", &a)]), &[&a, &b]).await;
    assert_eq!(read(&boundary, b.join("file")).unwrap(), "beside");
    assert_eq!(read(&boundary, a.join("src/file")).unwrap(), "inside", "by its local name too");
    assert!(matches!(boundary.find("/home/me/other").unwrap_err(), BoundaryError::Outside { .. }));
    assert!(matches!(boundary.find(r"C:\Users\me").unwrap_err(), BoundaryError::Unusable { .. }));
    assert_eq!(boundary.in_words(), format!("/home/me/app, {}", b.display()));
}

#[tokio::test]
async fn what_the_system_has_resolved_is_still_shown_by_the_clients_name() {
    let folders = folders();
    let (a, link) = (folders.at("a"), folders.at("link"));
    symlink(&a, &link).unwrap();
    // An absolute link inside, which is found by where it really leads.
    symlink(a.join("src"), a.join("absolute")).unwrap();
    // Whichever of its two names the operator gives, and wherever the root is.
    for (mapped, dir) in [(&link, &link), (&link, &a), (&a, &link), (&a, &a)] {
        let boundary = boundary(options(&[("/home/me/app", mapped)]), &[dir]).await;
        for asked in ["/home/me/app/src/file", "/home/me/app/absolute/file"] {
            assert_eq!(read(&boundary, asked).unwrap(), "inside");
            for place in [boundary.find(asked), boundary.locate(asked)] {
                let shown = place.unwrap().shown();
                assert!(["/home/me/app/src/file", asked].contains(&shown.as_str()), "{mapped:?} {dir:?}: {shown}");
            }
        }
        let new = boundary.locate("/home/me/app/absolute/new").unwrap();
        assert_eq!(new.shown(), "/home/me/app/src/new");
    }
}

#[tokio::test]
async fn a_local_path_is_not_mapped_once_more() {
    let folders = folders();
    let a = folders.at("a");
    std::fs::create_dir(a.join("src/src")).unwrap();
    std::fs::write(a.join("src/src/file"), "deeper").unwrap();
    // What the client calls `a` is here what is in it.
    let boundary = boundary(options(&[(a.to_str().unwrap(), &a.join("src"))]), &[&a]).await;
    assert_eq!(read(&boundary, a.join("file")).unwrap(), "inside");
    assert_eq!(read(&boundary, a.join("src/file")).unwrap(), "deeper");
    let local = boundary.find_local(a.join("src/file")).unwrap();
    assert_eq!((local.path(), local.shown()), (&*a.join("src/file"), a.join("file").display().to_string()));
    let missing = boundary.find_local(a.join("src/missing")).unwrap_err().to_string();
    assert!(missing.starts_with(a.join("missing").to_str().unwrap()), "{missing}");
}

#[tokio::test]
async fn a_clients_roots_are_narrowed_as_local_ones_and_leases_are_on_local_paths() {
    let folders = folders();
    let a = folders.at("a");
    let options = options(&[(folders.at("theirs").to_str().unwrap(), &a), ("/elsewhere", &folders.at("b"))]);
    std::fs::create_dir_all(folders.at("theirs/src")).unwrap();
    let workspace = Workspace::open([folders.at("theirs/src")]).unwrap();
    let options = options.policy(Policy::Narrow).operator_dirs([&a]).unwrap();
    let pair = Pair::connect(&workspace, options, PublishOptions::default()).await;
    assert_eq!(pair.tell().await, a.join("src").display().to_string());
    let boundary = Boundary::new(pair.roots.current().await.unwrap());
    let place = boundary.find(folders.at("theirs/src/file")).unwrap();
    let lease = pair.roots.lease(place.path()).await.unwrap();
    let refused = pair.roots.lease(folders.at("b")).await.unwrap_err().to_string();
    assert!(refused.starts_with("/elsewhere is outside"), "{refused}");
    assert!(refused.ends_with(folders.at("theirs/src").to_str().unwrap()), "{refused}");
    workspace.remove(folders.at("theirs/src")).unwrap();
    lease.revoked().await;
}
