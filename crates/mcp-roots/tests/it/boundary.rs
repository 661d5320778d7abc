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
        assert!(boundary.locate(&outside).and_then(|place| place.write(b"")).is_err(), "{}", outside.display());
    }
    boundary.locate(&file).unwrap().write(b"written").unwrap();
    assert_eq!(read(&boundary, &file).unwrap(), "written");
    assert!(matches!(boundary.entry(&file), Err(BoundaryError::RootItself { .. })));
}

#[tokio::test]
async fn of_nested_roots_the_deepest_is_the_one_that_a_path_is_under() {
    let folders = Folders::new();
    let (outer, inner) = (folders.at("a"), folders.at("a/inner"));
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("file"), "inside").unwrap();
    symlink("inner", outer.join("link")).unwrap();
    symlink(&inner, folders.at("from-outside")).unwrap();
    for order in [[&outer, &inner], [&inner, &outer]] {
        let boundary = boundary(&order.map(|root| root.as_path())).await;
        let under = |path: &Path| boundary.locate(path).unwrap().root().to_native().unwrap();
        for deep in [inner.join("file"), inner.join("new"), outer.join("link/file"), folders.at("from-outside/new")] {
            assert_eq!(under(&deep), inner, "{}", deep.display());
        }
        assert_eq!(under(&outer.join("new")), outer);
        assert_eq!(boundary.find(inner.join("file")).unwrap().root().to_native().unwrap(), inner);
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

/// Writes through every door that makes or changes something, and says which of them worked.
fn attack(boundary: &Boundary, path: &Path, from: &Path) -> Vec<&'static str> {
    let mut worked = Vec::new();
    let mut attempt = |name, outcome: Result<(), BoundaryError>| {
        if outcome.is_ok() {
            worked.push(name);
        }
    };
    attempt("write", boundary.locate(path).and_then(|place| place.write(b"written")));
    attempt("create_dir_all", boundary.locate(path.join("new/dir")).and_then(|place| place.create_dir_all()));
    let renamed = boundary.entry(from).and_then(|from| from.rename(&boundary.entry(path.join("moved"))?));
    attempt("rename", renamed);
    attempt("remove", boundary.entry(path.join("victim")).and_then(|place| place.remove()));
    worked
}

#[tokio::test]
async fn nothing_is_written_outside_by_any_spelling() {
    let folders = Folders::new();
    let (root, outside) = (folders.at("a"), folders.at("outside"));
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("victim"), "precious").unwrap();
    std::fs::write(root.join("file"), "inside").unwrap();
    symlink(&outside, root.join("absolute")).unwrap();
    symlink("../outside", root.join("relative")).unwrap();
    symlink("absolute", root.join("chained")).unwrap();
    symlink(outside.join("new"), root.join("dangling")).unwrap();
    symlink("../outside/new", root.join("dangling-relative")).unwrap();
    symlink("dangling", root.join("dangling-chained")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let boundary = boundary(&[&root]).await;
    let spellings = [
        "absolute",
        "relative",
        "chained",
        "dangling",
        "dangling-relative",
        "dangling-chained",
        "loop",
        "absolute/new",
        "relative/new",
        "../outside",
        "../outside/new",
        "x/../../outside/new",
        "relative/../outside/new",
        "file/new",
    ];
    for spelling in spellings {
        let worked = attack(&boundary, &root.join(spelling), &root.join("file"));
        assert!(worked.is_empty(), "{spelling}: {worked:?}");
        let refused = boundary.locate(root.join(spelling)).and_then(|place| place.write(b"")).unwrap_err();
        // Where these lead nobody can say, since there is something missing or in the way.
        let inside = ["loop", "file/new", "x/../../outside/new"].contains(&spelling);
        assert_eq!(matches!(refused, BoundaryError::Outside { .. }), !inside, "{spelling}: {refused}");
    }
    // An encoded path is a name like any other, and is made inside.
    boundary.locate(root.join("..%2Foutside%2Fnew")).unwrap().write(b"a name").unwrap();
    let listed = |dir: &Path| std::fs::read_dir(dir).unwrap().count();
    assert_eq!((listed(&outside), std::fs::read_to_string(outside.join("victim")).unwrap().as_str()), (1, "precious"));
    assert_eq!(std::fs::read_to_string(root.join("file")).unwrap(), "inside");
    assert!(root.join("..%2Foutside%2Fnew").exists());
}

#[tokio::test]
async fn what_is_inside_is_written_by_any_spelling() {
    let folders = Folders::new();
    let (real, linked) = (folders.at("a"), folders.at("link-to-a"));
    symlink(&real, &linked).unwrap();
    std::fs::create_dir(real.join("dir")).unwrap();
    symlink("dir", real.join("relative")).unwrap();
    symlink(real.join("dir"), real.join("absolute")).unwrap();
    symlink(real.join("dir/late"), real.join("dangling")).unwrap();
    let boundary = boundary(&[&linked]).await;
    for (spelling, lands) in [
        (linked.join("one"), "one"),
        (real.join("two"), "two"),
        (linked.join("relative/three"), "dir/three"),
        (linked.join("absolute/four"), "dir/four"),
        (linked.join("dangling"), "dir/late"),
        (linked.join("dir/../five"), "five"),
        ("six".into(), "six"),
        (linked.join("two words \"and\" \n more"), "two words \"and\" \n more"),
    ] {
        boundary.locate(&spelling).unwrap().write(spelling.as_os_str().as_bytes()).unwrap();
        let written = std::fs::read(real.join(lands)).expect(lands);
        assert_eq!(written, spelling.as_os_str().as_bytes(), "{lands}");
    }
    assert!(real.join("dangling").is_symlink(), "a link stays a link");
    boundary.locate(linked.join("absolute/x/y/z")).unwrap().create_dir_all().unwrap();
    assert!(real.join("dir/x/y/z").is_dir());
    // What is not there is told from what is outside, however it is spelled.
    for missing in ["missing", "absolute/missing", "relative/missing/deeper", "nowhere/../missing"] {
        let error = boundary.locate(linked.join(missing)).and_then(|place| place.open()).unwrap_err();
        assert!(matches!(error, BoundaryError::Io { .. }) && error.is_not_found(), "{missing}: {error}");
    }
    // A directory must be there before a file is written into it.
    let missing = boundary.locate(linked.join("nowhere/file")).unwrap().write(b"").unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
}

/// Composed as people type it, decomposed as some disks keep it: nobody can see the difference.
#[tokio::test]
async fn a_name_in_another_form_of_unicode_is_the_same_name() {
    let folders = Folders::new();
    let root = folders.at("a");
    let (composed, decomposed) = ("caf\u{e9}/r\u{e9}sum\u{e9}", "cafe\u{301}/re\u{301}sume\u{301}");
    std::fs::create_dir(root.join("cafe\u{301}")).unwrap();
    std::fs::write(root.join(decomposed), "inside").unwrap();
    let boundary = boundary(&[&root]).await;
    assert_eq!(read(&boundary, root.join(composed)).unwrap(), "inside");
    boundary.locate(root.join(composed)).unwrap().write(b"written").unwrap();
    assert_eq!(std::fs::read_to_string(root.join(decomposed)).unwrap(), "written");
    assert!(!root.join("caf\u{e9}").exists(), "no second one that looks the same");
    // What is there as it is spelled is meant, and of two that look the same none is guessed at.
    std::fs::create_dir(root.join("caf\u{e9}")).unwrap();
    assert!(read(&boundary, root.join(composed)).unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_name_is_moved_and_removed_and_not_what_it_leads_to() {
    let folders = Folders::new();
    let [root, nested] = ["a", "a/nested"].map(|name| folders.at(name));
    std::fs::create_dir(&nested).unwrap();
    std::fs::write(root.join("file"), "inside").unwrap();
    symlink("file", root.join("link")).unwrap();
    let boundary = boundary(&[&root]).await;
    let entry = |name: &str| boundary.entry(root.join(name)).unwrap();
    entry("link").rename(&entry("nested/link")).unwrap();
    assert!(nested.join("link").is_symlink() && root.join("file").exists());
    entry("nested/link").remove().unwrap();
    assert!(!nested.join("link").is_symlink() && root.join("file").exists());

    std::fs::write(nested.join("there"), "there").unwrap();
    symlink("missing", nested.join("dangling")).unwrap();
    for taken in ["nested/there", "nested/dangling", "nested"] {
        assert!(entry("file").rename(&entry(taken)).is_err(), "{taken} has that name");
    }
    assert_eq!(std::fs::read_to_string(nested.join("there")).unwrap(), "there");
    entry("nested").rename(&entry("renamed")).unwrap();
    assert!(root.join("renamed/there").exists());
    assert!(entry("renamed").remove().is_err(), "it is not empty");
    assert!(matches!(boundary.entry(&root), Err(BoundaryError::RootItself { .. })));
    assert!(matches!(boundary.entry(root.join("renamed/..")), Err(BoundaryError::Unusable { .. })));
}

#[tokio::test]
async fn links_that_are_swapped_while_something_is_written_lead_nowhere_else() {
    const WRITES: usize = 10_000;
    let folders = Folders::new();
    let [root, inside, outside] = ["a", "a/inside", "outside"].map(|name| folders.at(name));
    for dir in [&inside, &outside] {
        std::fs::create_dir_all(dir).unwrap();
    }
    symlink("inside", root.join("link")).unwrap();
    symlink("inside/file", root.join("leaf")).unwrap();
    let boundary = boundary(&[&root]).await;
    let done = AtomicBool::new(false);
    let mut worked = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let leaf = outside.join("file");
            let targets = [(outside.as_path(), leaf.as_path()), (Path::new("inside"), Path::new("inside/file"))];
            for (dir, file) in targets.iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                for (name, target) in [("link", dir), ("leaf", file)] {
                    symlink(target, root.join("next")).unwrap();
                    std::fs::rename(root.join("next"), root.join(name)).unwrap();
                }
            }
        });
        for round in 0..WRITES {
            let path = root.join(["link/file", "leaf"][round % 2]);
            let outcome = match round % 4 {
                0 | 1 => boundary.locate(path).and_then(|place| place.write(b"written")),
                2 => boundary.locate(root.join("link/new/dir")).and_then(|place| place.create_dir_all()),
                _ => boundary.entry(root.join("link/file")).and_then(|place| place.remove()),
            };
            worked += usize::from(outcome.is_ok());
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(worked > 0 && worked < WRITES, "both were tried: {worked} of {WRITES} worked");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "nothing was written outside");
}

#[tokio::test]
async fn a_file_is_seen_whole_whenever_it_is_looked_at() {
    const ROUNDS: usize = 300;
    let folders = Folders::new();
    let file = folders.at("a/file");
    let contents = |letter: u8| vec![letter; 256 << 10];
    std::fs::write(&file, contents(b'a')).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let boundary = boundary(&[&folders.at("a")]).await;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                let letter = b"abc"[round % 3];
                boundary.locate(&file).unwrap().write(&contents(letter)).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            let seen = std::fs::read(&file).expect("it is always there");
            assert!(seen == contents(seen[0]), "half of it was seen");
        }
    });
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o640, "permissions are handed on");
    assert_eq!(std::fs::read_dir(folders.at("a")).unwrap().count(), 1, "nothing is left behind");
}

#[tokio::test]
async fn a_write_that_fails_leaves_what_was_there() {
    let folders = Folders::new();
    let root = folders.at("a");
    std::fs::write(root.join("file"), "before").unwrap();
    let boundary = boundary(&[&root]).await;
    let place = boundary.locate(root.join("file")).unwrap();
    let refused = place.replace(b"after", |there| {
        assert_eq!(there.expect("it is there").len(), 6);
        Err(std::io::Error::other("somebody was faster"))
    });
    assert!(refused.unwrap_err().to_string().contains("somebody was faster"));
    assert!(boundary.locate(&root).unwrap().write(b"").is_err(), "a directory is not written over");
    assert_eq!(std::fs::read_to_string(root.join("file")).unwrap(), "before");
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 1, "nothing is left behind");
}

#[tokio::test]
async fn a_walk_goes_where_it_is_told_and_follows_no_link() {
    let folders = Folders::new();
    let root = folders.at("a");
    std::fs::create_dir_all(root.join("one/two/three")).unwrap();
    std::fs::create_dir(root.join("left-out")).unwrap();
    for file in ["top", "one/two/three/deep", "left-out/unseen"] {
        std::fs::write(root.join(file), "").unwrap();
    }
    symlink("..", root.join("one/up")).unwrap();
    let boundary = boundary(&[&root]).await;
    let mut walk = boundary.find(&root).unwrap().walk().unwrap();
    let mut seen = Vec::new();
    while let Some(found) = walk.next() {
        let found = found.unwrap();
        if found.is_dir() && found.name() != "left-out" {
            walk.enter(&found).unwrap();
        }
        seen.push(found.path().to_str().unwrap().to_owned());
    }
    seen.sort();
    assert_eq!(seen, ["left-out", "one", "one/two", "one/two/three", "one/two/three/deep", "one/up", "top"]);
}

#[tokio::test]
async fn a_pipe_is_opened_without_waiting_for_its_other_end() {
    let folders = Folders::new();
    let pipe = folders.at("a/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no mkfifo");
        return;
    }
    let boundary = boundary(&[&folders.at("a")]).await;
    assert!(!boundary.find(&pipe).unwrap().open().unwrap().metadata().unwrap().is_file());
    assert!(boundary.locate(&pipe).unwrap().write(b"").is_err(), "what is no file is not written over");
}

#[cfg(not(windows))]
#[tokio::test]
async fn a_path_of_windows_is_not_taken_for_a_name() {
    let folders = Folders::new();
    let boundary = boundary(&[&folders.at("a")]).await;
    for path in [r"C:\Users\x\new.txt", "c:/x", r"\\server\share\x"] {
        assert!(matches!(boundary.locate(path), Err(BoundaryError::Unusable { .. })), "{path}");
    }
}
