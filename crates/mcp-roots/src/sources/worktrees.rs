//! The working trees of a git repository, from its files (gitrepository-layout(5)).

use std::path::{Path, PathBuf};

use super::watch::Interests;
use super::{Look, MOST, Sight, SourceError, unnamed};

/// How much of a file of git's is read, in bytes. Those that are read here are short.
const LONGEST: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Worktrees {
    dir: PathBuf,
}

impl Worktrees {
    pub(super) fn new(dir: PathBuf) -> Self {
        Worktrees { dir }
    }
}

impl Look for Worktrees {
    fn look(&self) -> Sight {
        let mut interests = Interests::default();
        let mut left_out = Vec::new();
        let folders = match Repository::of(&self.dir, &mut interests) {
            Some(repository) => Ok(unnamed(repository.worktrees(&mut interests), &mut left_out)),
            None => Err(SourceError::NoRepository { path: self.dir.clone() }),
        };
        Sight { folders, interests, left_out }
    }
}

/// What all worktrees of a repository have in common.
#[derive(Debug, PartialEq)]
struct Repository {
    /// Where the repository's own files are.
    common: PathBuf,
    /// The main working tree; a bare repository has none.
    main: Option<PathBuf>,
}

impl Repository {
    /// The repository that a directory is in.
    fn of(dir: &Path, interests: &mut Interests) -> Option<Self> {
        for dir in dir.ancestors() {
            let dot_git = dir.join(".git");
            // It may only be in the making.
            ["HEAD", "objects", "refs"].iter().for_each(|part| interests.path(&dot_git.join(part)));
            if let Some(repository) = Self::at(dir, &dot_git, interests) {
                return Some(repository);
            }
        }
        None
    }

    /// The repository whose working tree, or whose own directory, this is.
    fn at(dir: &Path, dot_git: &Path, interests: &mut Interests) -> Option<Self> {
        if is_git_dir(dot_git) {
            return Some(Self::with_main(dot_git.into(), dir));
        }
        if let Some(named) = read(dot_git).as_deref().and_then(git_dir_of_file) {
            let git_dir = joined(dir, &named);
            interests.path(&git_dir.join("HEAD"));
            return match read(&git_dir.join("commondir")) {
                // A linked worktree.
                Some(common) => Self::with_any_main(joined(&git_dir, Path::new(common.trim_end()))),
                // A submodule, or a repository that is kept elsewhere.
                None => is_git_dir(&git_dir).then(|| Self::with_main(git_dir, dir)),
            };
        }
        is_git_dir(dir).then(|| Self::with_any_main(dir.into())).flatten()
    }

    fn with_main(common: PathBuf, main: &Path) -> Self {
        let main = Some(main.to_owned()).filter(|_| setting(&common, "bare").as_deref() != Some("true"));
        Repository { common, main }
    }

    fn with_any_main(common: PathBuf) -> Option<Self> {
        if !is_git_dir(&common) {
            return None;
        }
        let beside = if common.file_name()? == ".git" { common.parent() } else { None };
        let main = setting(&common, "worktree").map(|tree| joined(&common, Path::new(&tree)));
        match main.as_deref().or(beside) {
            Some(main) => Some(Self::with_main(common.clone(), main)),
            None => Some(Repository { common, main: None }),
        }
    }

    /// The main working tree, then the linked ones by path. One counts once its `.git` is there: git writes that
    /// first, and a tree without it is one that has been deleted.
    fn worktrees(self, interests: &mut Interests) -> Vec<PathBuf> {
        let admin = self.common.join("worktrees");
        interests.names_in(&admin);
        let mut linked = Vec::new();
        for entry in std::fs::read_dir(&admin).into_iter().flatten().flatten().take(MOST) {
            let gitdir = entry.path().join("gitdir");
            interests.path(&gitdir);
            let Some(dot_git) = read(&gitdir) else { continue };
            let dot_git = joined(&entry.path(), Path::new(dot_git.trim_end_matches(['\n', '\r'])));
            interests.path(&dot_git);
            if dot_git.exists() {
                linked.extend(dot_git.parent().map(Path::to_owned));
            }
        }
        linked.sort();
        self.main.into_iter().chain(linked).collect()
    }
}

/// As git itself tells one.
fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// The directory that a file `.git` names.
fn git_dir_of_file(text: &str) -> Option<PathBuf> {
    let path = text.strip_prefix("gitdir:")?.trim_start().trim_end_matches(['\n', '\r']);
    (!path.is_empty()).then(|| path.into())
}

/// A setting of the section `core` of a repository's own configuration.
fn setting(common: &Path, key: &str) -> Option<String> {
    core_setting(&read(&common.join("config"))?, key)
}

/// What git writes itself is read: one setting a line, the last one counts. Not what people may write: includes, and
/// values over several lines.
fn core_setting(text: &str, key: &str) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.split(']').next().is_some_and(|section| section.trim().eq_ignore_ascii_case("core"));
        } else if let Some((name, value)) = line.split_once('=').filter(|_| in_core)
            && name.trim().eq_ignore_ascii_case(key)
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

fn read(file: &Path) -> Option<String> {
    use std::io::Read;
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// `..` follows links, as it does for git. What is not there is left as it is written.
fn joined(base: &Path, path: &Path) -> PathBuf {
    let joined = base.join(path);
    if !path
        .components()
        .any(|component| matches!(component, std::path::Component::ParentDir | std::path::Component::CurDir))
    {
        return joined;
    }
    let real = match (joined.parent(), joined.file_name()) {
        // The last component keeps its name: it may not be there yet.
        (Some(above), Some(name)) => std::fs::canonicalize(above).map(|above| above.join(name)),
        _ => std::fs::canonicalize(&joined),
    };
    real.unwrap_or(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_file_names_a_directory() {
        assert_eq!(git_dir_of_file("gitdir: /a/.git/worktrees/b c\n"), Some("/a/.git/worktrees/b c".into()));
        assert_eq!(git_dir_of_file("gitdir: ../.git/modules/x"), Some("../.git/modules/x".into()));
        assert_eq!(git_dir_of_file("gitdir:\n"), None);
        assert_eq!(git_dir_of_file("/a/.git"), None);
    }

    #[test]
    fn settings_of_the_section_core_are_read() {
        let text =
            "[core]\n\tbare = false\n\tworktree = ../../../sub\n[remote \"core\"]\n\tbare = true\n[Core]\nBare=true\n";
        assert_eq!(core_setting(text, "bare").as_deref(), Some("true"));
        assert_eq!(core_setting(text, "worktree").as_deref(), Some("../../../sub"));
        assert_eq!(core_setting("bare = true", "bare"), None);
    }

    /// A repository of nothing but what tells that it is one.
    fn repository(at: &Path, config: &str) {
        for dir in ["objects", "refs"] {
            std::fs::create_dir_all(at.join(dir)).unwrap();
        }
        std::fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(at.join("config"), config).unwrap();
    }

    /// A worktree that is linked by relative paths.
    fn link(common: &Path, tree: &Path, name: &str) {
        let admin = common.join("worktrees").join(name);
        std::fs::create_dir_all(&admin).unwrap();
        std::fs::create_dir_all(tree).unwrap();
        std::fs::write(admin.join("gitdir"), format!("{}/.git\n", tree.display())).unwrap();
        std::fs::write(admin.join("commondir"), "../..\n").unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
    }

    fn seen(dir: &Path, base: &Path) -> Option<Vec<String>> {
        let repository = Repository::of(dir, &mut Interests::default())?;
        let trees = repository.worktrees(&mut Interests::default());
        Some(trees.iter().map(|tree| tree.strip_prefix(base).unwrap().display().to_string()).collect())
    }

    #[test]
    fn repositories_of_all_shapes_tell_their_worktrees() {
        let base = std::env::temp_dir().join(format!("mcp-roots-worktrees-{}", std::process::id()));
        std::fs::create_dir_all(&base).unwrap();
        let base = base.canonicalize().unwrap();
        let at = |path: &str| base.join(path);
        repository(&at("plain/.git"), "[core]\n\tbare = false\n");
        std::fs::create_dir_all(at("plain/src")).unwrap();
        link(&at("plain/.git"), &at("z-tree"), "z");
        link(&at("plain/.git"), &at("a-tree"), "a");
        link(&at("plain/.git"), &at("gone"), "gone");
        std::fs::remove_dir_all(at("gone")).unwrap();
        repository(&at("bare.git"), "[core]\n\tbare = true\n");
        link(&at("bare.git"), &at("of-bare"), "of-bare");
        repository(&at("hidden/.bare"), "[core]\n\tbare = true\n");
        std::fs::write(at("hidden/.git"), "gitdir: ./.bare\n").unwrap();
        link(&at("hidden/.bare"), &at("hidden/main"), "main");
        repository(&at("super/.git/modules/sub"), "[core]\n\tworktree = ../../../sub\n");
        std::fs::create_dir_all(at("super/sub")).unwrap();
        std::fs::write(at("super/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        link(&at("super/.git/modules/sub"), &at("of-sub"), "of-sub");
        // With a relative path from the admin directory, as git writes it if it is told to.
        std::fs::write(at("plain/.git/worktrees/z/gitdir"), "../../../../z-tree/.git\n").unwrap();
        let dirs = [
            "plain",
            "plain/src",
            "z-tree",
            "bare.git",
            "of-bare",
            "hidden",
            "hidden/main",
            "super/sub",
            "of-sub",
            ".",
        ];
        let seen = dirs.map(|dir| seen(&base.join(dir), &base));
        std::fs::remove_dir_all(&base).unwrap();
        let trees = |trees: &[&str]| Some(trees.iter().map(|tree| (*tree).to_owned()).collect::<Vec<_>>());
        for (dir, seen) in dirs.iter().zip(&seen) {
            let expected = match *dir {
                "plain" | "plain/src" | "z-tree" => trees(&["plain", "a-tree", "z-tree"]),
                "bare.git" | "of-bare" => trees(&["of-bare"]),
                "hidden" | "hidden/main" => trees(&["hidden/main"]),
                "super/sub" | "of-sub" => trees(&["super/sub", "of-sub"]),
                _ => None,
            };
            assert_eq!(*seen, expected, "{dir}");
        }
    }
}
