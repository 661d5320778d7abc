//! What is in a directory, however large: what is in memory is no more than what goes into the answer.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::fmt::Write;

use mcp_roots::boundary::{Boundary, Place};

use super::error::CallError;
use super::limits;
use super::work::Work;

/// How entries are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Name,
    /// The largest first.
    Size,
}

/// A part of a listing, as text.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) text: String,
    /// The name after which to go on, if that was not all.
    pub(super) next: Option<String>,
    pub(super) note: Option<String>,
}

/// Which part of a directory is wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// Only names after this one.
    pub(super) after: Option<String>,
    pub(super) limit: Option<usize>,
}

/// Sorts as it is declared: by size, if that is asked for, and then by name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    rank: u64,
    name: String,
    is_dir: bool,
    size: u64,
}

#[derive(Default)]
struct Totals {
    files: u64,
    directories: u64,
    size: u64,
    /// Entries that were asked for, whether or not there is room for them.
    wanted: usize,
}

/// The entries by name, each marked as a file or a directory.
pub(super) fn plain(place: &Place, page: &Page, work: &Work) -> Result<Listing, CallError> {
    let (lines, totals) = collect(place, page, Order::Name, |_| 0, work)?;
    let text = lines.iter().map(|line| format!("{} {}", line.mark(), line.name)).collect::<Vec<_>>().join("\n");
    Ok(listing(text, &lines, &totals, Order::Name))
}

/// The entries with their sizes, and the totals.
pub(super) fn with_sizes(
    boundary: &Boundary,
    place: &Place,
    page: &Page,
    order: Order,
    work: &Work,
) -> Result<Listing, CallError> {
    // A link may lead to another root, or be absolute. What cannot be looked at counts as empty.
    let elsewhere = |name: &OsStr| boundary.find_local(place.path().join(name)).and_then(|place| place.metadata());
    let size = |name: &OsStr| place.metadata_of(name).or_else(|_| elsewhere(name)).map_or(0, |found| found.len());
    let (lines, totals) = collect(place, page, order, size, work)?;
    let mut text = String::new();
    for line in &lines {
        let size = if line.is_dir { String::new() } else { format!("{:>10}", in_units(line.size)) };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {:<30} {size}", line.mark(), line.name);
    }
    let _ = write!(
        text,
        "\nTotal: {} files, {} directories\nCombined size: {}",
        totals.files,
        totals.directories,
        in_units(totals.size)
    );
    Ok(listing(text, &lines, &totals, order))
}

/// The first entries of those wanted, in order.
fn collect(
    place: &Place,
    page: &Page,
    order: Order,
    size: impl Fn(&OsStr) -> u64,
    work: &Work,
) -> Result<(Vec<Line>, Totals), CallError> {
    let room = page.limit.unwrap_or(limits::LISTED).min(limits::LISTED);
    let mut totals = Totals::default();
    let mut kept = BinaryHeap::new();
    for entry in place.entries()? {
        work.go_on()?;
        work.advance();
        let entry = entry?;
        let size = if entry.is_dir { 0 } else { size(&entry.name) };
        if entry.is_dir {
            totals.directories += 1
        } else {
            totals.files += 1
        }
        totals.size += size;
        let name = entry.name.to_string_lossy().into_owned();
        if page.after.as_ref().is_some_and(|after| name <= *after) {
            continue;
        }
        totals.wanted += 1;
        let rank = if order == Order::Size { u64::MAX - size } else { 0 };
        kept.push(Line { rank, name, is_dir: entry.is_dir, size });
        if kept.len() > room {
            kept.pop();
        }
    }
    Ok((kept.into_sorted_vec(), totals))
}

fn listing(text: String, lines: &[Line], totals: &Totals, order: Order) -> Listing {
    let left_out = totals.wanted - lines.len();
    let (next, note) = match (left_out, order) {
        (0, _) => (None, None),
        (_, Order::Size) => (
            None,
            Some(format!(
                "This is not all: {left_out} smaller entries are left out. Sorted by name, the list can be gone through in parts."
            )),
        ),
        (_, Order::Name) => {
            let last = lines.last().map(|line| line.name.clone());
            let after = last.as_deref().unwrap_or_default();
            let note =
                format!("This is not all: {left_out} more entries follow. To go on, call again with after {after:?}.");
            (last, Some(note))
        }
    };
    Listing { text, next, note }
}

impl Line {
    fn mark(&self) -> &'static str {
        if self.is_dir { "[DIR]" } else { "[FILE]" }
    }
}

/// A size with two decimals in the largest unit that keeps it above one.
fn in_units(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut size, mut unit) = (bytes as f64 / 1024.0, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.2} {}", UNITS[unit])
}

/// What is known of a file or directory, a line for each thing.
pub(super) fn info(place: &Place) -> Result<String, CallError> {
    let found = place.metadata()?;
    let time = |time: std::io::Result<cap_std::time::SystemTime>| match time {
        Ok(time) => humantime::format_rfc3339_millis(time.into_std()).to_string(),
        Err(_) => "unknown".into(),
    };
    Ok([
        format!("size: {}", found.len()),
        format!("created: {}", time(found.created())),
        format!("modified: {}", time(found.modified())),
        format!("accessed: {}", time(found.accessed())),
        format!("isDirectory: {}", found.is_dir()),
        format!("isFile: {}", found.is_file()),
        format!("permissions: {}", permissions(&found)),
    ]
    .join("\n"))
}

#[cfg(unix)]
fn permissions(found: &cap_std::fs::Metadata) -> String {
    format!("{:03o}", cap_std::fs::MetadataExt::mode(found) & 0o777)
}

/// What the mode bits would be, as far as there is something like them.
#[cfg(not(unix))]
fn permissions(found: &cap_std::fs::Metadata) -> String {
    if found.permissions().readonly() { "444".into() } else { "666".into() }
}
