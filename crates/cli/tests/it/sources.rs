//! `host` follows its sources: each change on the disk leads to exactly one notification, soon, and what makes no
//! difference to none. Real mounts, git and files, and the program as people run it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::tree::{Tree, mcp_roots};

/// From a change to its notification, at best.
const SOON: Duration = Duration::from_millis(500);
/// How often each change is made, since the machine has other things to do.
const ROUNDS: usize = 3;

/// The running program, whose notifications are counted.
struct Host {
    child: Child,
    stdin: ChildStdin,
    events: Lines<BufReader<ChildStdout>>,
    /// How long each kind of change took at best.
    took: BTreeMap<&'static str, Duration>,
}

impl Host {
    async fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let events = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take().unwrap();
        let mut host = Host { child, stdin, events, took: BTreeMap::new() };
        host.wait_for("boundary").await;
        host
    }

    async fn wait_for(&mut self, name: &str) -> Value {
        self.wait_for_in(name, name).await
    }

    async fn wait_for_in(&mut self, name: &str, what: &str) -> Value {
        let event = async {
            loop {
                let line = self.events.next_line().await.unwrap().expect("an event");
                let event: Value = serde_json::from_str(&line).unwrap();
                if event["event"] == name {
                    return event;
                }
            }
        };
        let event = tokio::time::timeout(Duration::from_secs(30), event).await;
        event.unwrap_or_else(|_| panic!("no event {name}: {what}"))
    }

    /// Makes a change, and waits for the next notification, which must tell of this change alone.
    async fn notifies(&mut self, what: &'static str, change: impl FnOnce(), added: &[&Path], removed: &[&Path]) {
        let started = Instant::now();
        change();
        let notified = self.wait_for_in("notified", what).await;
        let took = started.elapsed();
        let uris =
            |paths: &[&Path]| json!(paths.iter().map(|path| format!("file://{}", path.display())).collect::<Vec<_>>());
        assert_eq!((&notified["added"], &notified["removed"]), (&uris(added), &uris(removed)), "{what}");
        // A change before the server has asked would be in the answer, and not need a notification of its own.
        self.wait_for_in("answered", what).await;
        let best = self.took.entry(what).or_insert(took);
        *best = took.min(*best);
    }

    async fn tell(&mut self, command: &str) {
        self.stdin.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    }

    async fn list(&mut self) -> Value {
        self.tell("list").await;
        self.wait_for("result").await["value"].clone()
    }

    /// Ends the program; how many more notifications there were.
    async fn end(mut self) -> usize {
        self.tell("quit").await;
        let mut more = 0;
        while let Some(line) = self.events.next_line().await.unwrap() {
            more += line.matches(r#""event":"notified""#).count();
        }
        assert!(self.child.wait().await.unwrap().success());
        more
    }

    /// Each kind of change was seen soon, at best.
    fn was_soon(&self) {
        eprintln!("from a change to its notification, at best: {:?}", self.took);
        for (what, took) in &self.took {
            assert!(*took < SOON, "{what}: {took:?}");
        }
    }
}

fn run(program: &str, arguments: &[&Path]) -> Result<(), String> {
    let output = std::process::Command::new(program)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn git(repository: &Path, arguments: &[&str]) -> Result<(), String> {
    let before = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-C"].map(Path::new);
    let arguments: Vec<&Path> = before.into_iter().chain([repository]).chain(arguments.iter().map(Path::new)).collect();
    run("git", &arguments)
}

/// A file system of the test's own, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    fn at(point: PathBuf) -> Result<Self, String> {
        run(
            "mount",
            &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]
                .map(Path::new)
                .iter()
                .copied()
                .chain([point.as_path()])
                .collect::<Vec<_>>(),
        )?;
        Ok(Mount(point))
    }

    fn unmount(&self) {
        run("umount", &[&self.0]).unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // It may be unmounted already, as the test does it.
        let _ = run("umount", &[&self.0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_file_projects_and_a_folder_given() {
    let tree = Tree::new();
    let [a, b, c, file, src] = ["a", "b", "c", "team.code-workspace", "src"].map(|name| tree.at(name));
    std::fs::create_dir(&src).unwrap();
    std::fs::write(&file, r#"{"folders": [{"path": "b", "name": "Bee"}]}"#).unwrap();
    let mut command = mcp_roots(["host", "--json", "--era", "legacy", "--workspace"]);
    command.arg(&file).arg("--projects").arg(src.join("*/")).arg(&a);
    let mut host = Host::start(command).await;
    let project = src.join("new");
    for _ in 0..ROUNDS {
        let both = r#"{"folders": [{"path": "b", "name": "Bee"}, {"path": "c"}, ], /* and */ }"#;
        host.notifies("edited in place", || std::fs::write(&file, both).unwrap(), &[&c], &[]).await;
        // To no effect: another format, and a touch.
        let reformatted = both.replace(' ', "\n  ");
        std::fs::write(&file, reformatted).unwrap();
        std::fs::File::options().append(true).open(&file).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
        let replace = || {
            let new = tree.at("new.tmp");
            std::fs::write(&new, r#"{"folders": [{"path": "b", "name": "Bee"}]}"#).unwrap();
            std::fs::rename(&new, &file).unwrap();
        };
        host.notifies("replaced", replace, &[], &[&c]).await;
        host.notifies("project made", || std::fs::create_dir(&project).unwrap(), &[&project], &[]).await;
        host.notifies("project removed", || std::fs::remove_dir(&project).unwrap(), &[], &[&project]).await;
        host.notifies("root deleted", || std::fs::remove_dir_all(&a).unwrap(), &[], &[&a]).await;
        host.notifies("root made anew", || std::fs::create_dir(&a).unwrap(), &[&a], &[]).await;
    }
    let origins: Vec<Value> =
        host.list().await.as_array().unwrap().iter().map(|folder| folder["source"].clone()).collect();
    assert_eq!(origins, [Value::Null, json!(format!("workspace file {}", file.display()))]);
    host.tell(&format!("remove {}", b.display())).await;
    let refused = host.wait_for("error").await["message"].to_string();
    assert!(refused.contains("comes from a source (workspace file "), "{refused}");
    host.tell(&format!("add {}", b.display())).await;
    host.wait_for("result").await;
    host.was_soon();
    let mut failed = host;
    failed.tell("quit").await;
    assert_eq!(failed.child.wait().await.unwrap().code(), Some(1), "one command has failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn worktrees() {
    let tree = Tree::new();
    let [a, plain] = ["a", "b"].map(|name| tree.at(name));
    if let Err(why) = git(&a, &["init", "-q"]) {
        eprintln!("skipped: {why}");
        return;
    }
    git(&a, &["add", "."]).unwrap();
    git(&a, &["commit", "-q", "-m", "one"]).unwrap();
    let mut command = mcp_roots(["host", "--json", "--era", "legacy", "--worktrees"]);
    command.args([&a, &plain]);
    let mut host = Host::start(command).await;
    let linked = tree.at("linked");
    for round in 0..ROUNDS {
        let branch = format!("branch-{round}");
        let add = || git(&a, &["worktree", "add", "-q", "-b", &branch, "../linked"]).unwrap();
        host.notifies("worktree added", add, &[&linked], &[]).await;
        git(&linked, &["commit", "-q", "--allow-empty", "-m", "to no effect"]).unwrap();
        let remove = || git(&a, &["worktree", "remove", "--force", "../linked"]).unwrap();
        host.notifies("worktree removed", remove, &[], &[&linked]).await;
    }
    host.was_soon();
    assert_eq!(host.end().await, 0);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn mounts() {
    let tree = Tree::new();
    let media = tree.at("media");
    let [disk, other] = ["my disk", "z"].map(|name| media.join(name));
    for point in [&disk, &other] {
        std::fs::create_dir_all(point).unwrap();
    }
    match Mount::at(disk.clone()) {
        Ok(mount) => mount.unmount(),
        Err(why) => {
            eprintln!("skipped: nothing can be mounted here: {why}");
            return;
        }
    }
    let mut command = mcp_roots(["host", "--json", "--era", "legacy", "--mounts"]);
    command.arg(&media).arg(tree.at("a"));
    let mut host = Host::start(command).await;
    let shown = tree.at("media/my%20disk");
    for _ in 0..ROUNDS {
        let mut mounted = None;
        host.notifies("mounted", || mounted = Mount::at(disk.clone()).ok(), &[&shown], &[]).await;
        // To no effect: mounted elsewhere, and once more at the same place.
        drop(Mount::at(tree.at("b")).unwrap());
        drop(Mount::at(disk.clone()).unwrap());
        let mut second = None;
        host.notifies("mounted", || second = Mount::at(other.clone()).ok(), &[&other], &[]).await;
        host.notifies("unmounted", || drop(second), &[], &[&other]).await;
        host.notifies("unmounted", || mounted.iter().for_each(Mount::unmount), &[], &[&shown]).await;
    }
    host.was_soon();
    assert_eq!(host.end().await, 0);
}

#[tokio::test]
async fn a_workspace_file_that_makes_no_sense_is_an_error_of_usage() {
    let tree = Tree::new();
    let file = tree.at("team.code-workspace");
    std::fs::write(&file, "{\n  \"folders\": [{]\n}").unwrap();
    for (file, reason) in [(&file, "team.code-workspace:2:16: "), (&tree.at("no-file"), "no-file is not there")] {
        let mut command = mcp_roots(["host", "--workspace"]);
        command.arg(file).stdin(Stdio::null()).stderr(Stdio::piped());
        let output = command.output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}
