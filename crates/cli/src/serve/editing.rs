//! Edits of a text, and the difference that they make.
//!
//! An edit is looked for as it stands, and if it is not there, line by line without regard to the space around each
//! line. Ends of lines count as one whichever they are, and a file keeps those that it has.

use std::fmt::Write;

use similar::{ChangeTag, TextDiff};

use super::error::CallError;

/// Lines around a change that a difference shows.
const CONTEXT: usize = 4;

/// A replacement of one text by another.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
}

/// The text after all edits, in their order; or the first that does not fit, and then none has been made.
pub(super) fn apply(original: &str, edits: &[Edit]) -> Result<String, CallError> {
    let ends = Ends::of(original);
    let mut text = original.to_owned();
    for (at, edit) in edits.iter().enumerate() {
        let (old, new) = (normal(&edit.old), normal(&edit.new));
        let plain = Normal::new(&text);
        let exact = plain.text.find(&old).map(|start| (start..start + old.len(), new.clone()));
        let Some((range, new)) = exact.or_else(|| loosely(&plain.text, &old, &new)) else {
            return Err(CallError::NoMatch { number: at + 1, text: edit.old.clone() });
        };
        let range = plain.origin(range.start)..plain.origin(range.end);
        text.replace_range(range, &ends.put_into(&new));
    }
    Ok(text)
}

/// The difference between two texts, as git shows it, in a fence that nothing in it closes.
pub(super) fn difference(path: &str, before: &str, after: &str) -> String {
    let (before, after) = (normal(before), normal(after));
    let diff = TextDiff::from_lines(&before, &after);
    let rule = "=".repeat(67);
    let mut shown = format!("Index: {path}\n{rule}\n--- {path}\toriginal\n+++ {path}\tmodified\n");
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        // Writing to a string cannot fail.
        let _ = writeln!(shown, "@@ -{} +{} @@", span(&old), span(&new));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value();
            let _ = match line.strip_suffix('\n') {
                Some(line) => writeln!(shown, "{sign}{line}"),
                None => writeln!(shown, "{sign}{line}\n\\ No newline at end of file"),
            };
        }
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}diff\n{shown}{fence}\n\n")
}

/// Where a hunk begins, from 1, and how many lines it has. One without lines begins before them.
fn span(lines: &std::ops::Range<usize>) -> String {
    let start = if lines.is_empty() { lines.start } else { lines.start + 1 };
    format!("{start},{}", lines.len())
}

fn normal(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A text with one kind of line end, that knows where each of its bytes was.
struct Normal {
    text: String,
    /// Where, in `text`, each line end is that was longer.
    shortened: Vec<usize>,
}

impl Normal {
    fn new(original: &str) -> Self {
        let shortened = original.match_indices("\r\n").enumerate().map(|(earlier, (at, _))| at - earlier).collect();
        Normal { text: normal(original), shortened }
    }

    /// Where a byte of this text was in the original.
    fn origin(&self, at: usize) -> usize {
        at + self.shortened.partition_point(|&end| end < at)
    }
}

/// The line ends of a text: of the kind that most of its lines have.
#[derive(Clone, Copy)]
enum Ends {
    Short,
    Long,
}

impl Ends {
    fn of(text: &str) -> Self {
        let (long, all) = (text.matches("\r\n").count(), text.matches('\n').count());
        if long * 2 > all { Ends::Long } else { Ends::Short }
    }

    fn put_into(self, text: &str) -> String {
        match self {
            Ends::Short => text.into(),
            Ends::Long => text.replace('\n', "\r\n"),
        }
    }
}

/// The first lines that are those of `old` but for the space around them, and `new` with the indentation that is
/// there.
fn loosely(text: &str, old: &str, new: &str) -> Option<(std::ops::Range<usize>, String)> {
    let old: Vec<&str> = old.split('\n').collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let fits = |at: &[&str]| at.iter().zip(&old).all(|(line, old)| line.trim() == old.trim());
    let first = lines.windows(old.len()).position(fits)?;
    let start: usize = lines[..first].iter().map(|line| line.len() + 1).sum();
    let matched = &lines[first..first + old.len()];
    let length = matched.iter().map(|line| line.len()).sum::<usize>() + matched.len() - 1;
    let indented = new.split('\n').enumerate().map(|(at, line)| reindented(at, line, &old, indentation(matched[0])));
    Some((start..start + length, indented.collect::<Vec<_>>().join("\n")))
}

/// A new line with the indentation of the place, deeper by what it was deeper than the line that it replaces.
fn reindented(at: usize, line: &str, old: &[&str], place: &str) -> String {
    if at == 0 {
        return format!("{place}{}", line.trim_start());
    }
    let before = old.get(at).map_or("", |old| indentation(old));
    let after = indentation(line);
    if before.is_empty() || after.is_empty() {
        return line.into();
    }
    let deeper = after.chars().count().saturating_sub(before.chars().count());
    format!("{place}{}{}", " ".repeat(deeper), line.trim_start())
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edited(text: &str, edits: &[(&str, &str)]) -> Result<String, CallError> {
        let edits: Vec<Edit> = edits.iter().map(|(old, new)| Edit { old: (*old).into(), new: (*new).into() }).collect();
        apply(text, &edits)
    }

    #[test]
    fn edits_are_made_in_their_order_and_only_the_first_place_counts() {
        assert_eq!(edited("a a\n", &[("a", "b"), ("b", "c")]).unwrap(), "c a\n");
        assert_eq!(edited("x", &[("x", "$& $1")]).unwrap(), "$& $1");
        assert_eq!(edited("one\ntwo\nthree\n", &[("one\ntwo", "1\n2"), ("three", "3")]).unwrap(), "1\n2\n3\n");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = edited("a\n", &[("a", "b"), ("missing", "x")]).unwrap_err().to_string();
        assert!(error.contains("edit 2") && error.contains("missing"), "{error}");
    }

    #[test]
    fn indentation_is_kept_where_only_space_differs() {
        let text = "fn f() {\n        if x {\n            y();\n        }\n}\n";
        let edit = ("if x {\n    y();\n}", "if z {\n    y();\n      w();\n}");
        let expected = "fn f() {\n        if z {\n        y();\n      w();\n}\n}\n";
        assert_eq!(edited(text, &[edit]).unwrap(), expected);
    }

    #[test]
    fn a_file_keeps_its_line_ends() {
        assert_eq!(edited("a\r\nb\r\nc\r\n", &[("a\nb", "x\ny\nz")]).unwrap(), "x\r\ny\r\nz\r\nc\r\n");
        assert_eq!(edited("a\nb\r\nc\n", &[("c", "d\r\ne")]).unwrap(), "a\nb\r\nd\ne\n");
        assert_eq!(edited("  a\r\n  b\r\n", &[("a\nb", "c\nd")]).unwrap(), "  c\r\nd\r\n");
    }

    #[test]
    fn a_difference_is_shown_as_git_does() {
        let shown = difference("/f", "1\n2\n3\n4\n5\n6\n7", "1\n2\n3\n4\n5\n6\nseven");
        let rule = "=".repeat(67);
        let expected = format!(
            "```diff\nIndex: /f\n{rule}\n--- /f\toriginal\n+++ /f\tmodified\n@@ -3,5 +3,5 @@\n 3\n 4\n 5\n 6\n\
             -7\n\\ No newline at end of file\n+seven\n\\ No newline at end of file\n```\n\n"
        );
        assert_eq!(shown, expected);
        assert!(difference("f", "", "````\n").starts_with("`````diff\n"));
        assert!(difference("f", "", "a\n").contains("@@ -0,0 +1,1 @@"));
    }

    proptest! {
        /// Whatever is around an edit stays as it is, byte for byte.
        #[test]
        fn nothing_else_changes(before in "[a-c\r\n é]{0,20}", after in "[a-c\r\n é]{0,20}", new in "[a-c\n]{0,5}") {
            // A line end must not come about where the parts meet.
            prop_assume!(!before.ends_with('\r') && !after.starts_with('\n'));
            let text = format!("{before}<old>{after}");
            let edited = edited(&text, &[("<old>", &new)]).unwrap();
            prop_assert!(edited.starts_with(&before) && edited.ends_with(&after));
            prop_assert_eq!(normal(&edited[before.len()..edited.len() - after.len()]), new);
        }
    }
}
