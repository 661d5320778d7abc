//! The tools that write: all or nothing, under the roots or not at all.
#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Answers, Client, line, list_changed, roots_of, text_of};
use crate::tools::serving;
use crate::tree::{Tree, mcp_roots};

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// The names in a directory, sorted.
fn names(dir: impl AsRef<Path>) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn files_are_written_edited_and_moved() {
    let tree = Tree::new();
    let dir = tree.at("a");
    let mut client = serving(&dir, &["--write"]).await;
    let path = |name: &str| dir.join(name);
    assert_eq!(
        client.call("create_directory", json!({"path": path("x/y")})).await,
        (format!("Successfully created directory {}", path("x/y").display()), false)
    );
    assert!(!client.call("create_directory", json!({"path": path("x/y")})).await.1, "it may be there already");
    let file = path("x/y/file.txt");
    let written = client.call("write_file", json!({"path": file, "content": "one\ntwo\n"})).await;
    assert_eq!(written, (format!("Successfully wrote to {}", file.display()), false));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o754)).unwrap();

    let edits = json!([{"oldText": "two", "newText": "2"}, {"oldText": "one", "newText": "1"}]);
    let (diff, is_error) = client.call("edit_file", json!({"path": file, "edits": edits, "dryRun": true})).await;
    assert!(!is_error && diff.starts_with("```diff\n") && diff.contains("-one\n-two\n+1\n+2\n"), "{diff}");
    assert_eq!(read(&file), "one\ntwo\n", "nothing is written to try");
    assert_eq!(client.call("edit_file", json!({"path": file, "edits": edits})).await.0, diff);
    assert_eq!(read(&file), "1\n2\n");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o754);
    let half = json!([{"oldText": "1", "newText": "x"}, {"oldText": "missing", "newText": ""}]);
    let (text, is_error) = client.call("edit_file", json!({"path": file, "edits": half})).await;
    assert!(is_error && text.contains("missing") && text.contains("Nothing was changed"), "{text}");
    assert_eq!(read(&file), "1\n2\n", "all edits are made, or none");

    let (text, is_error) = client.call("move_file", json!({"source": file, "destination": path("name")})).await;
    assert!(is_error && text.starts_with("Destination already exists"), "{text}");
    assert!(!client.call("move_file", json!({"source": path("x"), "destination": path("z")})).await.1);
    assert_eq!(read(path("z/y/file.txt")), "1\n2\n");
    assert_eq!(names(&dir), ["name", "z"], "nothing is left behind");
}

#[tokio::test]
async fn nothing_is_written_outside_and_a_link_inside_is_followed() {
    let tree = Tree::new();
    let dir = tree.at("a");
    symlink(tree.at("b"), dir.join("out")).unwrap();
    symlink(tree.at("b/new"), dir.join("dangling")).unwrap();
    symlink("name", dir.join("link")).unwrap();
    let mut client = serving(&dir, &["--write"]).await;
    for outside in
        [tree.at("b/name"), dir.join("out/name"), dir.join("out/new"), dir.join("dangling"), dir.join("../b/name")]
    {
        for (tool, arguments) in [
            ("write_file", json!({"path": outside, "content": "x"})),
            ("edit_file", json!({"path": outside, "edits": [{"oldText": "this", "newText": "that"}]})),
            ("create_directory", json!({"path": outside.join("dir")})),
            ("move_file", json!({"source": dir.join("name"), "destination": outside.join("moved")})),
            ("move_file", json!({"source": outside.join("name"), "destination": dir.join("moved")})),
        ] {
            let (text, is_error) = client.call(tool, arguments.clone()).await;
            assert!(is_error, "{tool} {arguments}: {text}");
        }
    }
    assert_eq!((names(tree.at("b")), read(tree.at("b/name"))), (vec!["name".into()], "this is b\n".into()));
    assert!(!client.call("write_file", json!({"path": dir.join("link"), "content": "through the link"})).await.1);
    assert_eq!(read(dir.join("name")), "through the link");
    assert!(dir.join("link").is_symlink());
}

#[tokio::test]
async fn what_goes_wrong_is_said_and_nothing_is_lost() {
    let tree = Tree::new();
    let dir = tree.at("a");
    std::fs::write(dir.join("latin"), b"caf\xe9\n").unwrap();
    let mut client = serving(&dir, &["--write"]).await;
    for (tool, arguments, said) in [
        ("write_file", json!({"path": dir.join("no/dir/file"), "content": ""}), "No such file or directory"),
        ("write_file", json!({"path": dir, "content": ""}), "a root"),
        ("edit_file", json!({"path": dir.join("latin"), "edits": [{"oldText": "caf", "newText": "x"}]}), "not UTF-8"),
        ("edit_file", json!({"path": dir.join("missing"), "edits": []}), "No such file or directory"),
        ("edit_file", json!({"path": dir, "edits": []}), "is a directory"),
        ("move_file", json!({"source": dir, "destination": dir.join("x")}), "a root itself"),
        (
            "move_file",
            json!({"source": dir.join("missing"), "destination": dir.join("x")}),
            "No such file or directory",
        ),
        ("create_directory", json!({"path": dir.join("name")}), "File exists"),
        ("write_file", json!({"path": r"C:\Users\x", "content": ""}), "a path of Windows"),
    ] {
        let (text, is_error) = client.call(tool, arguments).await;
        assert!(is_error && text.contains(said), "{tool}: {text}");
    }
    assert_eq!(std::fs::read(dir.join("latin")).unwrap(), b"caf\xe9\n");
    assert_eq!(names(&dir), ["latin", "name"]);
}

/// A full disk is a small file system of our own, which takes leave to mount.
#[tokio::test]
async fn a_full_disk_is_said_and_the_file_stays_as_it_was() {
    let tree = Tree::new();
    let disk = tree.at("a/disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = Mounted::tmpfs(&disk, "size=64k") else {
        eprintln!("skipped: nothing can be mounted here");
        return;
    };
    let mut client = serving(&tree.at("a"), &["--write"]).await;
    let file = disk.join("file");
    assert!(!client.call("write_file", json!({"path": file, "content": "before\n"})).await.1);
    let large = "x".repeat(1 << 20);
    let (text, is_error) = client.call("write_file", json!({"path": file, "content": large})).await;
    assert!(is_error && text.contains("No space left"), "{text}");
    let edit = json!({"path": file, "edits": [{"oldText": "before", "newText": large}]});
    let (text, is_error) = client.call("edit_file", edit).await;
    assert!(is_error && text.contains("No space left"), "{text}");
    assert_eq!((read(&file).as_str(), names(&disk)), ("before\n", vec!["file".to_owned()]));
    let other = json!({"source": file, "destination": tree.at("a/file")});
    let (text, is_error) = client.call("move_file", other).await;
    assert!(is_error && text.contains("different file systems"), "{text}");
    assert!(!client.call("write_file", json!({"path": file, "content": "after\n"})).await.1, "it goes on");
}

/// A mounted file system, unmounted when dropped.
pub(crate) struct Mounted(std::path::PathBuf);

impl Mounted {
    /// `None` where nothing can be mounted.
    pub(crate) fn tmpfs(at: &Path, options: &str) -> Option<Self> {
        let mut mount = std::process::Command::new("mount");
        let status = mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(at).stderr(std::process::Stdio::null());
        status.status().is_ok_and(|status| status.success()).then(|| Mounted(at.into()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What is left mounted is under a directory of our own, and says so when that is removed.
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// As somebody who may not write: a read-only file system says so even to the superuser.
#[tokio::test]
async fn what_may_not_be_written_says_so() {
    let tree = Tree::new();
    let disk = tree.at("a/disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = Mounted::tmpfs(&disk, "ro") else {
        eprintln!("skipped: nothing can be mounted here");
        return;
    };
    let mut client = serving(&tree.at("a"), &["--write"]).await;
    for (tool, arguments) in [
        ("write_file", json!({"path": disk.join("x"), "content": ""})),
        ("create_directory", json!({"path": disk.join("x")})),
        ("move_file", json!({"source": tree.at("a/name"), "destination": disk.join("x")})),
    ] {
        let (text, is_error) = client.call(tool, arguments).await;
        assert!(is_error && (text.contains("Read-only") || text.contains("different file systems")), "{tool}: {text}");
    }
}

/// A write that comes behind `list_changed` on one write is judged by the new roots, and none is made half.
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_left_is_not_written_to() {
    const ROUNDS: usize = 500;
    let tree = Tree::new();
    let dirs = [tree.at("a"), tree.at("b")];
    let serve = mcp_roots(["serve", "--write", "--log", "off"]);
    let mut client = Client::connect(serve, json!({"listChanged": true}), roots_of(&dirs[..1])).await;
    for round in 1..=ROUNDS {
        let (now, gone) = (&dirs[round % 2], &dirs[(round + 1) % 2]);
        client.answer_with(roots_of(std::slice::from_ref(now)));
        let content = round.to_string();
        let (refused, refusal) = client.prepare_call("write_file", json!({"path": gone.join("f"), "content": content}));
        let (allowed, answer) = client.prepare_call("write_file", json!({"path": now.join("f"), "content": content}));
        client.write(&[line(&list_changed()), refused, allowed].concat());
        assert!(text_of(&refusal.await.unwrap()).1, "round {round}");
        assert!(!text_of(&answer.await.unwrap()).1, "round {round}");
        assert_eq!(read(now.join("f")), content);
        if round > 1 {
            assert_eq!(read(gone.join("f")), (round - 1).to_string());
        }
    }
}

#[tokio::test]
async fn without_leave_there_are_no_tools_that_write() {
    let tree = Tree::new();
    let mut client = Client::connect(mcp_roots(["serve"]), Value::Null, Answers::Silence).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].take();
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let path = tree.at("a/new");
    client.request("tools/call", json!({"name": "write_file", "arguments": {"path": path, "content": ""}})).await;
    assert!(!path.exists());
}
