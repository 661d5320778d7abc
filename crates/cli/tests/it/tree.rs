//! A directory of a test's own, with files in it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::Command;

/// Removed when dropped.
pub(crate) struct Tree(PathBuf);

impl Tree {
    /// Directories `a`, `b` and `c`, each with a file `name` that says which it is.
    pub(crate) fn new() -> Self {
        Tree::under(&std::env::temp_dir())
    }

    /// As [`Tree::new`], on a disk in memory where there is one: for very many files.
    pub(crate) fn in_memory() -> Self {
        let in_memory = Path::new("/dev/shm");
        if in_memory.is_dir() { Tree::under(in_memory) } else { Tree::new() }
    }

    fn under(dir: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = dir.join(format!("mcp-roots-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory of our own");
        // What the system calls it, so that texts can be compared.
        let tree = Tree(dir.canonicalize().expect("a directory"));
        for name in ["a", "b", "c"] {
            std::fs::create_dir(tree.at(name)).expect("a directory");
            std::fs::write(tree.at(name).join("name"), format!("this is {name}\n")).expect("a file");
        }
        tree
    }

    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // It is under the system's directory for such things, which cleans up after us if this fails.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program, with these arguments.
pub(crate) fn mcp_roots<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-roots"));
    command.args(arguments).stderr(std::process::Stdio::null());
    command
}
