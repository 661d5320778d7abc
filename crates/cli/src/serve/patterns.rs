//! Glob patterns against paths below a directory: `*` stays within a name, `**` does not, dots are ordinary, and `?` is
//! one byte.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};

use super::error::CallError;

/// One pattern.
pub(super) struct Pattern(GlobMatcher);

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, CallError> {
        Ok(Pattern(glob(pattern)?.compile_matcher()))
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        self.0.is_match(path)
    }
}

/// What is to be left out.
pub(super) struct Excludes(GlobSet);

impl Excludes {
    /// Patterns that match a path from where the walk begins.
    pub(super) fn paths(patterns: &[String]) -> Result<Self, CallError> {
        Self::of(patterns.iter().cloned())
    }

    /// As [`Excludes::paths`]; but one without `*` also leaves out whatever has that name, anywhere, and all below it.
    pub(super) fn paths_or_names(patterns: &[String]) -> Result<Self, CallError> {
        Self::of(patterns.iter().flat_map(|pattern| {
            let anywhere = (!pattern.contains('*')).then(|| [format!("**/{pattern}"), format!("**/{pattern}/**")]);
            std::iter::once(pattern.clone()).chain(anywhere.into_iter().flatten())
        }))
    }

    pub(super) fn cover(&self, path: &Path) -> bool {
        self.0.is_match(path)
    }

    fn of(patterns: impl Iterator<Item = String>) -> Result<Self, CallError> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(glob(&pattern)?);
        }
        Ok(Excludes(set.build().map_err(|error| CallError::Argument(error.to_string()))?))
    }
}

fn glob(pattern: &str) -> Result<Glob, CallError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| CallError::Argument(format!("{pattern:?} is not a pattern: {}", error.kind())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_separators() {
        let matches = |pattern: &str, path: &str| Pattern::new(pattern).unwrap().matches(Path::new(path));
        for (pattern, path) in [
            ("*.txt", "a.txt"),
            ("*.txt", ".hidden.txt"),
            ("**/*.txt", "a.txt"),
            ("**/*.txt", "b/c/a.txt"),
            ("**/name", "name"),
            ("b/**", "b/c/d"),
            ("*.{rs,toml}", "Cargo.toml"),
            ("[ab].txt", "b.txt"),
            ("?.txt", "b.txt"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in
            [("*.txt", "b/a.txt"), ("b/*", "b/c/d"), ("b/**", "b"), ("a", "b/a"), ("?.txt", "ab.txt")]
        {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(Pattern::new("[").is_err() && Pattern::new("{a").is_err());
    }

    #[test]
    fn a_plain_name_is_left_out_wherever_it_is() {
        let excludes = Excludes::paths_or_names(&["target".into(), "*.log".into()]).unwrap();
        for (path, covered) in [
            ("target", true),
            ("a/target", true),
            ("a/target/b", true),
            ("x.log", true),
            ("a/x.log", false),
            ("targets", false),
        ] {
            assert_eq!(excludes.cover(Path::new(path)), covered, "{path}");
        }
    }
}
