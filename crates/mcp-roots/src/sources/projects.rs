//! The directories that match a pattern.
//!
//! The pattern is taken apart at its separators and each component is matched by itself, so that it is known which
//! directories were read: a change of the match can only come from one of them.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::watch::Interests;
use super::{Look, MOST, Sight, SourceError, absolute, unnamed};

const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: !cfg!(windows), require_literal_separator: true, require_literal_leading_dot: true };

#[derive(Debug)]
pub(super) struct Projects {
    /// What comes before the first component with a wildcard.
    base: PathBuf,
    below: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Name(OsString),
    Match(Pattern),
}

impl Projects {
    pub(super) fn new(pattern: &str) -> Result<Self, SourceError> {
        let refused = |reason: String| SourceError::Pattern { pattern: pattern.into(), reason };
        if pattern.is_empty() {
            return Err(refused("it is empty".into()));
        }
        let mut base = PathBuf::new();
        let mut below = Vec::new();
        for component in Path::new(pattern).components() {
            let text = component.as_os_str().to_string_lossy();
            match component {
                Component::Normal(_) if text.contains("**") => {
                    return Err(refused("`**` is not supported: write a `*` for each level".into()));
                }
                Component::Normal(_) if text.contains(['*', '?', '[']) => {
                    below.push(Step::Match(Pattern::new(&text).map_err(|error| refused(error.to_string()))?));
                }
                _ if below.is_empty() => base.push(component),
                _ => below.push(Step::Name(component.as_os_str().into())),
            }
        }
        if base.as_os_str().is_empty() {
            base.push(".");
        }
        Ok(Projects { base: absolute(&base)?, below })
    }
}

impl Look for Projects {
    fn look(&self) -> Sight {
        let mut interests = Interests::default();
        let mut left_out = Vec::new();
        interests.path(&self.base);
        let mut matched: Vec<PathBuf> = Some(self.base.clone()).filter(|base| base.is_dir()).into_iter().collect();
        for step in &self.below {
            matched = matched.iter().flat_map(|dir| step.take(dir, &mut interests)).collect();
            matched.sort();
            // The limit is on what is looked at, too, and one more shows that it was passed.
            matched.truncate(MOST + 1);
        }
        let folders = unnamed(matched, &mut left_out);
        Sight { folders: Ok(folders), interests, left_out }
    }
}

impl Step {
    /// The directories that this step leads to from a directory.
    fn take(&self, dir: &Path, interests: &mut Interests) -> Vec<PathBuf> {
        match self {
            Step::Name(name) => {
                let path = dir.join(name);
                interests.path(&path);
                Some(path).filter(|path| path.is_dir()).into_iter().collect()
            }
            Step::Match(pattern) => {
                interests.names_in(dir);
                // What cannot be read has nothing that could be reached.
                let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
                let named = entries.filter(|entry| pattern.matches_with(&entry.file_name().to_string_lossy(), OPTIONS));
                named.filter(leads_to_a_directory).map(|entry| entry.path()).collect()
            }
        }
    }
}

fn leads_to_a_directory(entry: &std::fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir() || (kind.is_symlink() && entry.path().is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, base: &Path) -> Vec<String> {
        let pattern = format!("{}/{pattern}", base.display());
        let folders = Projects::new(&pattern).unwrap().look().folders.unwrap();
        let base = crate::local::root_path(base).unwrap();
        let below = |folder: mcp_roots_core::workspace::Folder| folder.uri.path().relative_to(&base);
        folders.into_iter().map(|folder| below(folder).unwrap().display().to_string()).collect()
    }

    #[test]
    fn directories_match_by_components() {
        let base = std::env::temp_dir().join(format!("mcp-roots-projects-{}", std::process::id()));
        for dir in ["b/app", "a/app", "a/lib", ".hidden/app", "c"] {
            std::fs::create_dir_all(base.join(dir)).unwrap();
        }
        std::fs::write(base.join("file"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(base.join("a"), base.join("link")).unwrap();
        let seen = ["*/", "?", ".*", "*/app", "[ab]/*", "c", "none/*", "*/*/*"].map(|pattern| found(pattern, &base));
        std::fs::remove_dir_all(&base).unwrap();
        let link = |names: &[&str]| {
            names
                .iter()
                .filter(|name| cfg!(unix) || !name.starts_with("link"))
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(seen[0], link(&["a", "b", "c", "link"]));
        assert_eq!(seen[1], ["a", "b", "c"]);
        assert_eq!(seen[2], [".hidden"]);
        assert_eq!(seen[3], link(&["a/app", "b/app", "link/app"]));
        assert_eq!(seen[4], ["a/app", "a/lib", "b/app"]);
        assert_eq!(seen[5], ["c"]);
        assert_eq!((seen[6].len(), seen[7].len()), (0, 0));
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_refused_with_the_reason() {
        for (pattern, reason) in [("", "empty"), ("/a/**/b", "`**`"), ("/a/[", "invalid range")] {
            let refused = Projects::new(pattern).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
