//! Many sessions on one server, whose roots change all the while: each sees its own, current at each call, and never
//! another's.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::PATIENCE;
use crate::load::{Http, Session};

/// Two roots for each session, which it has in turn.
pub(crate) const ROOTS: usize = 2;

/// One of the many.
pub(crate) struct Member {
    number: usize,
    session: Arc<Session>,
    base: PathBuf,
    /// How many changes it has seen.
    changes: usize,
}

/// The roots of so many sessions, each with a file that says whose it is.
pub(crate) fn make_roots(base: &Path, sessions: usize) -> io::Result<()> {
    for number in 0..sessions {
        for change in 0..ROOTS {
            let root = root_of(base, number, change);
            std::fs::create_dir_all(&root)?;
            std::fs::write(root.join("name"), content_of(number, change))?;
        }
    }
    Ok(())
}

fn root_of(base: &Path, number: usize, change: usize) -> PathBuf {
    base.join(format!("s{number}/v{}", change % ROOTS))
}

fn content_of(number: usize, change: usize) -> String {
    format!("session {number}, root {}\n", change % ROOTS)
}

/// Starts a server, which says on the standard error where it listens.
pub(crate) async fn start(mut command: Command) -> (Child, Arc<Http>) {
    let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().expect("the server starts");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let line = tokio::time::timeout(PATIENCE, said.next_line()).await.expect("in time").expect("text").expect("a line");
    let address = line.split("http://").nth(1).and_then(|url| url.strip_suffix("/mcp"));
    let http = Http::to(address.unwrap_or_else(|| panic!("{line}")));
    (child, http)
}

impl Member {
    pub(crate) async fn open(http: &Arc<Http>, base: &Path, number: usize) -> io::Result<Self> {
        let session = Session::open(http, root_of(base, number, 0)).await?;
        Ok(Member { number, session, base: base.into(), changes: 0 })
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// It sees its root, and nothing besides.
    pub(crate) async fn sees_its_own(&self) -> io::Result<()> {
        let (text, is_error) = self.session.call("list_allowed_directories", json!({})).await?;
        let root = root_of(&self.base, self.number, self.changes);
        let expected = format!("Allowed directories:\n{}", root.display());
        self.check(!is_error && text == expected, || format!("it was told {text:?} in place of {expected:?}"))
    }

    /// Has another root, and checks all that the server says from then on: how long the first call took.
    pub(crate) async fn change(&mut self) -> io::Result<Duration> {
        self.changes += 1;
        self.session.change(root_of(&self.base, self.number, self.changes)).await?;
        let started = Instant::now();
        self.sees_its_own().await?;
        let first = started.elapsed();
        self.reads(self.number, self.changes, true).await?;
        // What has left, and what is another's.
        self.reads(self.number, self.changes + 1, false).await?;
        self.reads(self.number ^ 1, self.changes, false).await?;
        Ok(first)
    }

    async fn reads(&self, number: usize, change: usize, may: bool) -> io::Result<()> {
        let path = root_of(&self.base, number, change).join("name");
        let (text, is_error) = self.session.call("read_text_file", json!({ "path": path })).await?;
        let expected = if may { text == content_of(number, change) } else { text.contains("outside") };
        self.check(is_error != may && expected, || format!("{} gave {text:?}", path.display()))
    }

    fn check(&self, holds: bool, what: impl FnOnce() -> String) -> io::Result<()> {
        if holds {
            return Ok(());
        }
        Err(io::Error::other(format!("session {} after {} changes: {}", self.number, self.changes, what())))
    }
}
