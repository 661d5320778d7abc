//! Sources feed a workspace: each change on the disk leads to one notification, and what makes no difference to none.
//!
//! No test waits for nothing to happen. What must lead to nothing is followed by something that leads to one
//! notification, and then there must be one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mcp_roots::{Source, SourceError, TrackOptions, Workspace, WorkspaceError};

use crate::pair::{Folders, Pair};
use crate::publishing::Heard;

/// A host whose announcements are counted, on folders of a test's own.
struct Host {
    folders: Folders,
    workspace: Workspace,
    heard: Heard,
    announced: usize,
    _pair: Pair,
}

impl Host {
    /// A host of these given folders and what a source gives.
    async fn of(folders: Folders, given: &[&str], source: Option<Source>) -> Self {
        let workspace = Workspace::open(given.iter().map(|name| folders.at(name))).unwrap();
        if let Some(source) = source {
            workspace.follow(source).await.unwrap();
        }
        let heard = Heard::default();
        let pair = Pair::connect(&workspace, TrackOptions::default(), heard.options()).await;
        // What is there has been looked at, and so is watched.
        workspace.check().await;
        Host { folders, workspace, heard, announced: 0, _pair: pair }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folders.at(name)
    }

    fn exposed(&self) -> Vec<String> {
        let base = self.folders.at("").canonicalize().unwrap();
        let exposed = self.workspace.exposed().borrow().clone();
        let shown = exposed.iter().map(|root| {
            let path = root.uri.path().to_native().unwrap();
            let place = path.strip_prefix(self.folders.at("")).or(path.strip_prefix(&base)).unwrap_or(&path);
            let name = root.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            format!("{}{name}", place.display())
        });
        shown.collect()
    }

    /// Waits for one more notification, after which these are exposed.
    async fn tells(&mut self, what: &str, exposed: &[&str]) {
        self.announced += 1;
        let told = async {
            while self.heard.announced() < self.announced || !self.heard.answered() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(20), told).await;
        assert!(in_time.is_ok(), "{what}: no notification, and exposed are {:?}", self.exposed());
        assert_eq!(self.exposed(), exposed, "{what}");
        assert_eq!(self.heard.announced(), self.announced, "{what}");
    }

    /// Makes a change by hand, which is the only one since the last.
    async fn ends(mut self) {
        let mut exposed = self.exposed();
        exposed.insert(0, "c (by hand)".into());
        let given = [(self.at("c"), Some("by hand".into()))];
        self.workspace.replace(given).unwrap();
        self.tells("a change by hand", &exposed.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
}

/// As editors do that never leave half a file behind.
fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("tmp");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(&beside, file).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_file_is_followed_through_all_that_an_editor_does() {
    let folders = Folders::new();
    let file = folders.at("team.code-workspace");
    std::fs::write(&file, r#"{"folders": [{"path": "b"}]}"#).unwrap();
    let mut host = Host::of(folders, &[], Some(Source::workspace_file(&file))).await;
    assert_eq!(host.exposed(), ["b"]);
    std::fs::write(&file, "{\n  // in place\n  \"folders\": [{\"path\": \"b\"}, {\"path\": \"./a\"},],\n}").unwrap();
    host.tells("edited in place", &["b", "a"]).await;
    replace(&file, r#"{"folders": [{"path": "a"}, {"path": "b"}]}"#);
    host.tells("reordered by replacing", &["a", "b"]).await;
    // To no effect: another format, and settings; a touch; a text that is cut off, as it is while it is written.
    std::fs::write(&file, "{ \"folders\": [ {\"path\": \"../x/../\"}, ").unwrap();
    replace(&file, "{\"settings\": {\"x\": 1},\n \"folders\": [{\"path\": \"a/.\"}, /* ! */ {\"path\": \"b\"}]}");
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    replace(&file, r#"{"folders": [{"path": "a", "name": "A"}, {"path": "b"}]}"#);
    host.tells("named", &["a (A)", "b"]).await;
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    host.tells("gone", &[]).await;
    std::fs::write(&file, bytes).unwrap();
    host.tells("back", &["a (A)", "b"]).await;
    // Moved aside and written anew: it was never gone.
    std::fs::rename(&file, host.at("team.code-workspace~")).unwrap();
    std::fs::write(&file, r#"{"folders": [{"path": "a", "name": "A"}]}"#).unwrap();
    host.tells("with a backup", &["a (A)"]).await;
    host.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_are_directories_that_match() {
    let folders = Folders::new();
    std::fs::create_dir_all(folders.at("src/one")).unwrap();
    let pattern = format!("{}/*/", folders.at("src").display());
    let mut host = Host::of(folders, &[], Some(Source::projects(pattern))).await;
    assert_eq!(host.exposed(), ["src/one"]);
    std::fs::create_dir(host.at("src/new")).unwrap();
    host.tells("a new project", &["src/new", "src/one"]).await;
    // To no effect.
    std::fs::write(host.at("src/file"), "no directory").unwrap();
    std::fs::create_dir(host.at("src/.hidden")).unwrap();
    std::fs::create_dir(host.at("src/one/below")).unwrap();
    std::fs::remove_dir(host.at("src/new")).unwrap();
    host.tells("a project less", &["src/one"]).await;
    std::fs::rename(host.at("src"), host.at("elsewhere")).unwrap();
    host.tells("the whole directory moved away", &[]).await;
    std::fs::rename(host.at("elsewhere"), host.at("src")).unwrap();
    host.tells("and back", &["src/one"]).await;
    std::fs::create_dir(host.at("src/two")).unwrap();
    host.tells("it is still watched", &["src/one", "src/two"]).await;
    host.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_in_the_middle_of_a_pattern_are_followed_as_they_come() {
    let folders = Folders::new();
    let pattern = format!("{}/later/*/app", folders.at("").display());
    let mut host = Host::of(folders, &[], Some(Source::projects(pattern))).await;
    std::fs::create_dir_all(host.at("later/x/app")).unwrap();
    host.tells("all at once", &["later/x/app"]).await;
    std::fs::create_dir_all(host.at("later/w")).unwrap();
    std::fs::create_dir_all(host.at("later/w/app")).unwrap();
    host.tells("one after the other", &["later/w/app", "later/x/app"]).await;
    let source = Source::projects(format!("{}/later/*/app", host.at("").display()));
    host.workspace.follow(source.clone()).await.unwrap();
    assert_eq!(host.workspace.list().len(), 2, "it is followed already");
    assert!(host.workspace.unfollow(&source) && !host.workspace.unfollow(&source));
    host.tells("followed no longer", &[]).await;
    std::fs::create_dir_all(host.at("later/v/app")).unwrap();
    host.ends().await;
}

/// Whether git did it; false if there is no git.
fn git(dir: &Path, arguments: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    match git.output() {
        Ok(output) => {
            assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            eprintln!("skipped: there is no git: {error}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn worktrees_come_and_go_with_git() {
    let folders = Folders::new();
    let a = folders.at("a");
    if !git(&a, &["init", "-q"]) {
        return;
    }
    std::fs::write(a.join("file"), "text").unwrap();
    git(&a, &["add", "."]);
    git(&a, &["commit", "-q", "-m", "one"]);
    let mut host = Host::of(folders, &["a"], Some(Source::worktrees(&a))).await;
    assert_eq!(host.exposed(), ["a"], "given and found, and there once");
    git(&a, &["worktree", "add", "-q", "../z"]);
    host.tells("the first worktree", &["a", "z"]).await;
    git(&a, &["worktree", "add", "-q", "../d/e"]);
    host.tells("the second", &["a", "d/e", "z"]).await;
    // To no effect.
    git(&host.at("z"), &["commit", "-q", "--allow-empty", "-m", "two"]);
    git(&a, &["worktree", "prune"]);
    git(&a, &["worktree", "remove", "../z"]);
    host.tells("removed", &["a", "d/e"]).await;
    std::fs::remove_dir_all(host.at("d/e")).unwrap();
    host.tells("deleted without git", &["a"]).await;
    git(&a, &["worktree", "prune"]);
    git(&a, &["worktree", "add", "-q", "-b", "again", "../d/e"]);
    host.tells("and added again", &["a", "d/e"]).await;
    git(&a, &["worktree", "move", "../d/e", "../d/f"]);
    host.tells("moved", &["a", "d/f"]).await;
    let refused = host.workspace.remove(host.at("d/f")).unwrap_err();
    assert!(matches!(refused, WorkspaceError::OfSource { .. }));
    assert!(refused.to_string().contains("worktrees of "), "{refused}");
    host.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_goes_is_withheld_and_comes_back() {
    let mut host = Host::of(Folders::new(), &["a", "b"], None).await;
    std::fs::remove_dir_all(host.at("b")).unwrap();
    host.tells("deleted", &["a"]).await;
    std::fs::create_dir(host.at("b")).unwrap();
    host.tells("made anew", &["a", "b"]).await;
    std::fs::rename(host.at("b"), host.at("d")).unwrap();
    host.tells("moved away", &["a"]).await;
    std::fs::rename(host.at("d"), host.at("b")).unwrap();
    host.tells("and back", &["a", "b"]).await;
    // To no effect.
    std::fs::write(host.at("b/file"), "text").unwrap();
    std::fs::create_dir(host.at("d")).unwrap();
    std::fs::remove_dir(host.at("b/../d")).unwrap();
    std::fs::remove_dir_all(host.at("a")).unwrap();
    host.tells("the other one", &["b"]).await;
    std::fs::create_dir(host.at("a")).unwrap();
    host.tells("and its return", &["a", "b"]).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_loses_its_permission_is_withheld_and_comes_back() {
    use std::os::unix::fs::PermissionsExt;
    let mut host = Host::of(Folders::new(), &["a", "b"], None).await;
    let allow = |mode| std::fs::set_permissions(host.at("b"), std::fs::Permissions::from_mode(mode)).unwrap();
    allow(0o000);
    if std::fs::read_dir(host.at("b")).is_ok() {
        allow(0o755);
        eprintln!("skipped: whoever runs this may read everything");
        return;
    }
    let b = host.at("b");
    host.tells("lost", &["a"]).await;
    std::fs::set_permissions(b, std::fs::Permissions::from_mode(0o755)).unwrap();
    host.tells("and given back", &["a", "b"]).await;
}

#[tokio::test]
async fn a_source_that_is_of_no_use_is_refused_with_the_reason() {
    let folders = Folders::new();
    let file = folders.at("team.code-workspace");
    let workspace = Workspace::new();
    let missing = workspace.follow(Source::workspace_file(&file)).await.unwrap_err();
    assert!(matches!(missing, SourceError::Missing { .. }));
    std::fs::write(&file, "{\n  \"folders\": [{]\n}").unwrap();
    let malformed = workspace.follow(Source::workspace_file(&file)).await.unwrap_err().to_string();
    assert!(malformed.contains("team.code-workspace:2:16:"), "{malformed}");
    let plain = workspace.follow(Source::worktrees(folders.at("a"))).await.unwrap_err();
    assert!(matches!(plain, SourceError::NoRepository { .. }));
    let pattern = workspace.follow(Source::projects("/a/[")).await.unwrap_err();
    assert!(matches!(pattern, SourceError::Pattern { .. }));
    workspace.follow(Source::mounts(folders.at("not-there-yet"))).await.unwrap();
    assert!(workspace.list().is_empty());
}
