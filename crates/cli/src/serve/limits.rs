//! How much there is of anything in one answer. What is left out is said, with the way to go on.

/// Bytes of text in one answer. JSON makes up to six of one, and the text goes out twice, as text and as structured
/// content, so that any answer stays below the 16 MiB that a message may have.
pub(super) const TEXT: u64 = 1 << 20;
/// Bytes of a file that goes out as base64.
pub(super) const BINARY: u64 = 4 << 20;
/// Bytes of a file that is edited.
pub(super) const EDITED: u64 = 16 << 20;
/// Entries of a directory in one answer.
pub(super) const LISTED: usize = 10_000;
/// Entries of a tree in one answer.
pub(super) const TREE: usize = 20_000;
/// Files that `search_files` names in one answer.
pub(super) const FOUND: usize = 10_000;
/// Lines that `search_text` shows in one answer, if it is not asked for another number.
pub(super) const LINES: usize = 1_000;
/// Characters of a line that `search_text` shows.
pub(super) const LINE: usize = 500;
/// Resources in one page of their list.
pub(super) const RESOURCES: usize = 1_000;
/// Bytes that one line may take in memory while it is searched.
pub(super) const LINE_IN_MEMORY: usize = 16 << 20;
/// Bytes of a `.gitignore`.
pub(super) const IGNORE_FILE: u64 = 1 << 20;
