//! Walks below a directory, without what `.gitignore` files name.

use std::io::Read;
use std::path::{Path, PathBuf};

use cap_std::fs::File;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mcp_roots::boundary::{Boundary, Found, Place, Walk};

use super::error::CallError;
use super::limits;
use super::patterns::Excludes;
use super::work::Work;

/// A walk that leaves out what it is told to, and goes into every directory that is left.
pub(super) struct Walking {
    walk: Walk,
    excludes: Excludes,
    /// `None` if they do not count.
    ignored: Option<Ignored>,
    work: Work,
    /// How many entries could not be looked at.
    failed: u64,
}

/// The `.gitignore` files on the way from the root, the outermost first.
struct Ignored {
    levels: Vec<Level>,
    /// How many are above the directory in which the walk began, or in it.
    above: usize,
}

struct Level {
    rules: Gitignore,
    /// The way from this level's directory to where the walk began; empty for those below.
    before: PathBuf,
    /// The way from where the walk began to this level's directory; empty for those above.
    below: PathBuf,
}

impl Walking {
    pub(super) fn new(
        boundary: &Boundary,
        place: &Place,
        excludes: Excludes,
        respect_gitignore: bool,
        work: &Work,
    ) -> Result<Self, CallError> {
        let walk = place.walk()?;
        let ignored = respect_gitignore.then(|| Ignored::above(boundary, place, &walk));
        Ok(Walking { walk, excludes, ignored, work: work.clone(), failed: 0 })
    }

    /// How many entries could not be looked at so far.
    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    /// The next entry; of a directory, what is in it comes after it. An error is that the work is to stop.
    pub(super) fn next(&mut self) -> Result<Option<Found>, CallError> {
        loop {
            self.work.go_on()?;
            let Some(found) = self.walk.next() else { return Ok(None) };
            self.work.advance();
            let Ok(found) = found else {
                self.failed += 1;
                continue;
            };
            let depth = self.walk.depth();
            if self.excludes.cover(found.path())
                || self.ignored.as_mut().is_some_and(|ignored| ignored.cover(&found, depth))
            {
                continue;
            }
            if found.is_dir() {
                match self.walk.enter(&found) {
                    Ok(()) => self.ignored.iter_mut().for_each(|ignored| ignored.enter(&self.walk, found.path())),
                    Err(_) => self.failed += 1,
                }
            }
            return Ok(Some(found));
        }
    }
}

impl Ignored {
    /// Those between the root and where the walk begins, and the one there.
    fn above(boundary: &Boundary, place: &Place, walk: &Walk) -> Self {
        let root = place.root().to_native();
        let way = root.as_ref().and_then(|root| place.path().strip_prefix(root).ok().map(|way| (root, way)));
        let mut levels = Vec::new();
        if let Some((root, way)) = way {
            for before in way.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
                let file =
                    boundary.find_local(root.join(before).join(".gitignore")).and_then(|place| place.open()).ok();
                let before = way.strip_prefix(before).unwrap_or(way).into();
                levels.push(Level { rules: rules(file), before, below: PathBuf::new() });
            }
        }
        let mut ignored = Ignored { above: levels.len(), levels };
        ignored.enter(walk, Path::new(""));
        ignored.above = ignored.levels.len();
        ignored
    }

    fn enter(&mut self, walk: &Walk, below: &Path) {
        let rules = rules(walk.open_here(".gitignore").ok().flatten());
        self.levels.push(Level { rules, before: PathBuf::new(), below: below.into() });
    }

    /// Whether an entry is ignored: the innermost file that says anything about it decides.
    fn cover(&mut self, found: &Found, depth: usize) -> bool {
        // Of the directories that the walk has left.
        self.levels.truncate(self.above + depth - 1);
        if found.name() == ".git" {
            return true;
        }
        for level in self.levels.iter().rev().filter(|level| !level.rules.is_empty()) {
            let path = level.before.join(found.path().strip_prefix(&level.below).unwrap_or(found.path()));
            match level.rules.matched(path, found.is_dir()) {
                Match::None => {}
                decided => return decided.is_ignore(),
            }
        }
        false
    }
}

/// The rules of one file. A line that is no rule is none, as git has it.
fn rules(file: Option<File>) -> Gitignore {
    let mut text = Vec::new();
    if let Some(file) = file {
        // What was read before an error counts.
        let _ = file.take(limits::IGNORE_FILE).read_to_end(&mut text);
    }
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
