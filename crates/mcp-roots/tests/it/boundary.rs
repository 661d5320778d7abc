//! What is opened is under a root, whatever the path says and whoever changes it meanwhile.
#![cfg(unix)]

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_roots::boundary::{Boundary, BoundaryError};

use crate::pair::{Folders, Pair};

/// A boundary with these folders as its roots.
async fn boundary(folders: &[&Path]) -> Boundary {
    Boundary::new(Pair::of(folders).await.roots.current().await.expect("roots"))
}

fn read(boundary: &Boundary, path: impl AsRef<Path>) -> Result<String, BoundaryError> {
    let mut text = String::new();
    let read = boundary.find(path)?.open()?.read_to_string(&mut text);
    read.expect("a file that is open can be read");
    Ok(text)
}

#[tokio::test]
async fn a_link_that_is_swapped_while_it_is_opened_leads_nowhere_else() {
    const READS: usize = 10_000;
    let folders = Folders::new();
    let [root, inside, outside] = ["a", "a/inside", "outside"].map(|name| folders.at(name));
    for (dir, text) in [(&inside, "inside"), (&outside, "secret")] {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join("file"), text).unwrap();
    }
    symlink("inside", root.join("link")).unwrap();
    let boundary = boundary(&[&root]).await;
    let done = AtomicBool::new(false);
    let (mut seen_inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A rename puts one link in the place of the other, so that there is always one.
            for target in [outside.as_path(), Path::new("inside")].iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                symlink(target, root.join("next")).unwrap();
                std::fs::rename(root.join("next"), root.join("link")).unwrap();
            }
        });
        for _ in 0..READS {
            match read(&boundary, root.join("link/file")) {
                Ok(text) => {
                    assert_eq!(text, "inside");
                    seen_inside += 1;
                }
                Err(_) => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(seen_inside + refused, READS);
    assert!(seen_inside > 0 && refused > 0, "both were tried: {seen_inside} read, {refused} refused");
}

#[tokio::test]
async fn names_of_every_kind_are_inside() {
    let folders = Folders::new();
    let root = folders.at("a");
    let names: [&[u8]; 7] =
        [b"two words", b"\"quotes\" 'both'", b"line\nbreak", b"not \xff unicode", b"%41", b"c#", b"\\back"];
    for name in names {
        let dir = root.join(OsStr::from_bytes(name));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join(OsStr::from_bytes(name)), "inside").unwrap();
        // As something in a root, and as a root itself.
        for opened in [&root, &dir] {
            let boundary = boundary(&[opened]).await;
            let text = read(&boundary, dir.join(OsStr::from_bytes(name)));
            assert_eq!(text.expect("it is inside"), "inside", "{:?}", String::from_utf8_lossy(name));
        }
    }
}

#[tokio::test]
async fn a_root_may_be_a_single_file() {
    let folders = Folders::new();
    let file = folders.at("a/file");
    std::fs::write(&file, "inside").unwrap();
    std::fs::write(folders.at("a/other"), "outside").unwrap();
    let boundary = boundary(&[&file]).await;
    assert_eq!(read(&boundary, &file).unwrap(), "inside");
    for outside in [folders.at("a/other"), folders.at("a"), file.join("x"), file.join("../other")] {
        assert!(read(&boundary, &outside).is_err(), "{}", outside.display());
    }
}

#[tokio::test]
async fn links_in_chains_and_links_to_nothing_are_judged_by_where_they_lead() {
    let folders = Folders::new();
    let root = folders.at("a");
    std::fs::write(root.join("file"), "inside").unwrap();
    std::fs::write(folders.at("secret"), "secret").unwrap();
    symlink("file", root.join("one")).unwrap();
    symlink(root.join("one"), root.join("two")).unwrap();
    symlink("two", root.join("three")).unwrap();
    symlink(folders.at("secret"), root.join("out")).unwrap();
    symlink("out", root.join("out-again")).unwrap();
    symlink(folders.at("missing"), root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let boundary = boundary(&[&root]).await;
    for inside in ["one", "two", "three", "./three", "../a/three"] {
        assert_eq!(read(&boundary, root.join(inside)).unwrap(), "inside", "{inside}");
    }
    for outside in ["out", "out-again", "dangling", "dangling/new", "loop", "../secret", "file/.."] {
        assert!(read(&boundary, root.join(outside)).is_err(), "{outside}");
    }
}

#[tokio::test]
async fn what_is_asked_for_is_named_with_the_roots_that_were_looked_under() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.at(name));
    let boundary = boundary(&[&a, &b]).await;
    let outside = read(&boundary, folders.at("c/x")).unwrap_err().to_string();
    for named in [folders.at("c/x"), a.clone(), b] {
        assert!(outside.contains(&named.display().to_string()), "{outside}");
    }
    assert!(matches!(read(&boundary, "relative"), Err(BoundaryError::Ambiguous { .. })));
    assert!(matches!(read(&boundary, ""), Err(BoundaryError::Unusable { .. })));
    assert!(matches!(read(&boundary, "a\0b"), Err(BoundaryError::Unusable { .. })));
    let missing = read(&boundary, a.join("missing")).unwrap_err();
    assert!(missing.is_not_found() && missing.to_string().contains("missing"), "{missing}");
}
