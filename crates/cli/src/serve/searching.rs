//! Searching for files by their paths, and for lines by their text.

use cap_std::fs::File;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use mcp_roots::boundary::Place;
use schemars::JsonSchema;
use serde::Serialize;

use super::error::CallError;
use super::limits;
use super::patterns::Pattern;
use super::reading;
use super::walking::Walking;
use super::work::Work;

/// Which of the matches are wanted, in the order in which they are found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) offset: usize,
    pub(super) limit: usize,
}

/// The paths of files and directories that match.
pub(super) struct Paths {
    pub(super) paths: Vec<String>,
    /// How many more matches to skip to go on, if those were not all.
    pub(super) next: Option<usize>,
}

/// Files and directories whose path from `place` on matches.
pub(super) fn by_path(
    place: &Place,
    pattern: &Pattern,
    window: Window,
    mut walking: Walking,
) -> Result<Paths, CallError> {
    let (mut matched, mut paths) = (0, Vec::new());
    while let Some(found) = walking.next()? {
        if !pattern.matches(found.path()) {
            continue;
        }
        matched += 1;
        if matched > window.offset.saturating_add(window.limit) {
            return Ok(Paths { paths, next: Some(window.offset + window.limit) });
        }
        if matched > window.offset {
            paths.push(place.shown_below(found.path()));
        }
    }
    Ok(Paths { paths, next: None })
}

/// What `search_text` gives.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lines {
    matches: Vec<LineFound>,
    /// Files that were searched.
    files_searched: u64,
    /// Files that were not, since they are binary or could not be read.
    files_skipped: u64,
    /// How many matches to skip to go on, if those were not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct LineFound {
    path: String,
    /// Its number in the file, from 1.
    line: u64,
    /// The line without its end, cut off where it is very long.
    text: String,
}

/// How a line is to match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matching {
    pub(super) case_sensitive: bool,
    pub(super) literal: bool,
}

/// A search through files, one after the other, until there are as many matches as are wanted.
pub(super) struct TextSearch {
    matcher: RegexMatcher,
    searcher: Searcher,
    window: Window,
    work: Work,
    matched: usize,
    bytes: u64,
    lines: Lines,
}

impl TextSearch {
    pub(super) fn new(pattern: &str, matching: Matching, window: Window, work: &Work) -> Result<Self, CallError> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(!matching.case_sensitive)
            .fixed_strings(matching.literal)
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .map_err(|error| CallError::Argument(format!("{pattern:?} is not a regular expression: {error}")))?;
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .heap_limit(Some(limits::LINE_IN_MEMORY))
            .build();
        Ok(TextSearch { matcher, searcher, window, work: work.clone(), matched: 0, bytes: 0, lines: Lines::default() })
    }

    /// Searches the files of a walk whose path matches, if a pattern is given.
    pub(super) fn below(
        mut self,
        place: &Place,
        files: Option<&Pattern>,
        mut walking: Walking,
    ) -> Result<Lines, CallError> {
        while let Some(found) = walking.next()? {
            if !found.is_file() || files.is_some_and(|files| !files.matches(found.path())) {
                continue;
            }
            match found.open() {
                Ok(file) => self.file(place.shown_below(found.path()), file)?,
                Err(_) => self.lines.files_skipped += 1,
            }
            if self.lines.next_offset.is_some() {
                break;
            }
        }
        self.lines.files_skipped += walking.failed();
        Ok(self.lines)
    }

    /// Searches a single file.
    pub(super) fn within(mut self, place: &Place) -> Result<Lines, CallError> {
        let (file, _) = reading::open(place)?;
        self.file(place.shown(), file)?;
        Ok(self.lines)
    }

    fn file(&mut self, path: String, file: File) -> Result<(), CallError> {
        let reader = self.work.reading(file);
        let mut sink = Collecting {
            path,
            window: self.window,
            matched: &mut self.matched,
            bytes: &mut self.bytes,
            lines: &mut self.lines,
            binary: false,
        };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut sink);
        let binary = sink.binary;
        self.work.go_on()?;
        match searched {
            Ok(()) if !binary => self.lines.files_searched += 1,
            _ => self.lines.files_skipped += 1,
        }
        Ok(())
    }
}

struct Collecting<'a> {
    path: String,
    window: Window,
    matched: &'a mut usize,
    bytes: &'a mut u64,
    lines: &'a mut Lines,
    binary: bool,
}

impl Sink for Collecting<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let full = self.lines.matches.len() >= self.window.limit || *self.bytes >= limits::TEXT;
        if full {
            self.lines.next_offset = Some(*self.matched);
            return Ok(false);
        }
        *self.matched += 1;
        if *self.matched > self.window.offset {
            let text = String::from_utf8_lossy(found.bytes());
            let text: String = text.trim_end_matches(['\n', '\r']).chars().take(limits::LINE).collect();
            *self.bytes += (self.path.len() + text.len()) as u64;
            let line = found.line_number().unwrap_or_default();
            self.lines.matches.push(LineFound { path: self.path.clone(), line, text });
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.binary = true;
        Ok(false)
    }
}

impl Lines {
    /// As text: a line for each match, and what there is to say about the rest.
    pub(super) fn in_words(&self) -> (String, Option<String>) {
        let lines = self.matches.iter().map(|found| format!("{}:{}:{}", found.path, found.line, found.text));
        let text = match self.matches.is_empty() {
            true => format!("No matches in {} files", self.files_searched),
            false => lines.collect::<Vec<_>>().join("\n"),
        };
        let note = self.next_offset.map(|next| {
            format!("This is not all. To go on, call again with offset {next}; or make the pattern narrower.")
        });
        (text, note)
    }
}

#[cfg(test)]
mod tests {
    use grep_matcher::Matcher;

    use super::super::work::Running;
    use super::*;

    #[test]
    fn a_pattern_is_read_once_and_its_fault_is_said() {
        let window = Window { offset: 0, limit: 1 };
        let build = |pattern: &str, literal| {
            TextSearch::new(pattern, Matching { case_sensitive: true, literal }, window, &Running::default().begin())
        };
        assert!(matches!(build("a(", false), Err(CallError::Argument(text)) if text.contains("regular expression")));
        let Ok(literal) = build("a(", true) else { panic!("a literal is any text") };
        assert!(literal.matcher.is_match(b"x a( y").unwrap());
    }
}
