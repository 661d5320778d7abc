//! What is mounted below a directory, from the system's table of mounts.

use std::path::{Path, PathBuf};

use super::watch::Interests;
use super::{Look, Sight, unnamed};

#[derive(Debug)]
pub(super) struct Mounts {
    dir: PathBuf,
}

impl Mounts {
    pub(super) fn new(dir: PathBuf) -> Self {
        Mounts { dir }
    }
}

impl Look for Mounts {
    fn look(&self) -> Sight {
        // The system's table has real paths. Folders keep the name that people gave the directory.
        let real = std::fs::canonicalize(&self.dir).unwrap_or_else(|_| self.dir.clone());
        let mut points = mounted_below(&real);
        points.sort();
        points.dedup();
        let mut left_out = Vec::new();
        let below = points.iter().filter_map(|point| point.strip_prefix(&real).ok()).map(|below| self.dir.join(below));
        let folders = unnamed(below, &mut left_out);
        let mut interests = Interests::default();
        interests.path(&self.dir);
        Sight { folders: Ok(folders), interests, left_out }
    }

    fn is_of_mounts(&self) -> bool {
        true
    }
}

#[cfg(target_os = "linux")]
fn mounted_below(dir: &Path) -> Vec<PathBuf> {
    match std::fs::read(TABLE) {
        Ok(table) => linux::mount_points(&table).filter(|point| point != dir && point.starts_with(dir)).collect(),
        Err(error) => {
            tracing::debug!(target: "mcp_roots", "the table of mounts cannot be read: {error}");
            Vec::new()
        }
    }
}

/// Where there is no table, another disk tells a mount. A disk that is mounted twice, or below the first level, goes
/// unseen.
#[cfg(all(unix, not(target_os = "linux")))]
fn mounted_below(dir: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let (Ok(entries), Ok(metadata)) = (std::fs::read_dir(dir), std::fs::metadata(dir)) else {
        return Vec::new();
    };
    let other_disk = |path: &PathBuf| {
        std::fs::symlink_metadata(path).is_ok_and(|inside| inside.is_dir() && inside.dev() != metadata.dev())
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(other_disk).collect()
}

#[cfg(not(unix))]
fn mounted_below(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(target_os = "linux")]
const TABLE: &str = "/proc/self/mountinfo";

/// The system's table of mounts, to be told when it changes.
#[derive(Debug)]
pub(super) struct MountTable(
    #[cfg(target_os = "linux")] tokio::io::unix::AsyncFd<std::fs::File>,
    #[cfg(not(target_os = "linux"))] std::convert::Infallible,
);

impl MountTable {
    /// `None` if the system tells nothing, which is said once and leaves the slow look.
    #[cfg(target_os = "linux")]
    pub(super) fn open() -> Option<Self> {
        #[expect(
            deprecated,
            reason = "its successor is unsafe, for the sake of what does not own its descriptor; a file does"
        )]
        let watched = |table| tokio::io::unix::AsyncFd::with_interest(table, tokio::io::Interest::PRIORITY);
        let opened = std::fs::File::open(TABLE).and_then(watched);
        match opened {
            Ok(table) => Some(MountTable(table)),
            Err(error) => {
                tracing::warn!(target: "mcp_roots", "the table of mounts cannot be watched, so mounts are seen late: {error}");
                None
            }
        }
    }

    /// Nothing tells here.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open() -> Option<Self> {
        None
    }

    /// Ends when the table has changed. Cancelled, it loses nothing.
    #[cfg(target_os = "linux")]
    pub(super) async fn changed(&self) {
        match self.0.ready(tokio::io::Interest::PRIORITY).await {
            // What is cleared is that the table has changed since the kernel was last asked, so a later change
            // makes it ready again.
            Ok(mut ready) => ready.clear_ready(),
            // The runtime is ending.
            Err(_) => std::future::pending().await,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) async fn changed(&self) {
        match self.0 {}
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;

    /// The mount points in `/proc/self/mountinfo` (proc_pid_mountinfo(5)), in its order: the fifth field of each line.
    pub(super) fn mount_points(table: &[u8]) -> impl Iterator<Item = PathBuf> {
        let fields = |line: &'_ [u8]| line.split(|&byte| byte == b' ').nth(4).map(unescaped);
        table.split(|&byte| byte == b'\n').filter_map(fields)
    }

    /// A space, a tab, a newline and a backslash are written as a backslash and three octal digits.
    fn unescaped(field: &[u8]) -> PathBuf {
        let mut bytes = Vec::with_capacity(field.len());
        let mut rest = field;
        while let [first, after @ ..] = rest {
            match rest {
                [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                    bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                    rest = after;
                }
                _ => {
                    bytes.push(*first);
                    rest = after;
                }
            }
        }
        PathBuf::from(OsString::from_vec(bytes))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn mount_points_are_read_with_their_escapes() {
            let table = br"36 35 98:0 /mnt1 /mnt/parent rw,noatime master:1 - ext3 /dev/root rw,errors=continue
37 36 0:41 / /mnt/with\040space\011tab\134backslash\012newline rw - tmpfs tmpfs rw
38 36 0:42 / /mnt/f\303\274nf rw shared:7 master:8 - tmpfs none rw
39 36 0:43 / /mnt/not\09octal rw - tmpfs none rw

40 36
";
            let points: Vec<PathBuf> = mount_points(table).collect();
            let expected =
                ["/mnt/parent", "/mnt/with space\ttab\\backslash\nnewline", "/mnt/fünf", r"/mnt/not\09octal"];
            assert_eq!(points, expected.map(PathBuf::from));
        }
    }
}
