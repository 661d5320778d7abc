//! Reading files, within limits. Everything here blocks.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use cap_std::fs::{File, Metadata};
use mcp_roots::boundary::Place;

use super::error::CallError;
use super::work::Work;

/// How much is read from the end at a time.
const STEP: u64 = 64 << 10;

/// Which part of a file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it from a byte on.
    From(u64),
    FirstLines(u64),
    LastLines(u64),
}

/// A part of a file as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) content: String,
    /// Where to go on, in bytes, if that was not all.
    pub(super) next: Option<u64>,
    /// What to say about what is left out.
    pub(super) note: Option<String>,
}

/// Reads a file as text; what is not UTF-8 is replaced.
pub(super) fn text(place: &Place, part: Part, most: u64, work: &Work) -> Result<Text, CallError> {
    let (file, metadata) = open(place)?;
    let size = metadata.len();
    let read = match part {
        Part::From(offset) => from(file, offset, most, size, work),
        Part::FirstLines(count) => first_lines(file, count, most, size, work),
        Part::LastLines(count) => last_lines(file, count, most, size, work),
    };
    work.go_on()?;
    read.map_err(CallError::io(place))
}

/// Reads a whole file, if it is no longer than `most`.
pub(super) fn bytes(place: &Place, most: u64, instead: &'static str, work: &Work) -> Result<Vec<u8>, CallError> {
    Ok(contents(place, most, instead, work)?.0)
}

/// As [`bytes`], with what the file was when it was read.
pub(super) fn contents(
    place: &Place,
    most: u64,
    instead: &'static str,
    work: &Work,
) -> Result<(Vec<u8>, Metadata), CallError> {
    let (file, metadata) = open(place)?;
    let mut bytes = Vec::new();
    let read = work.reading(file.take(most + 1)).read_to_end(&mut bytes);
    work.go_on()?;
    read.map_err(CallError::io(place))?;
    if bytes.len() as u64 > most {
        return Err(CallError::TooLong { path: place.shown(), size: metadata.len(), most, instead });
    }
    Ok((bytes, metadata))
}

/// Opens a file. What it is is asked of what was opened, so that nothing can take its place between.
pub(super) fn open(place: &Place) -> Result<(File, Metadata), CallError> {
    let file = place.open()?;
    let metadata = file.metadata().map_err(CallError::io(place))?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false if metadata.is_dir() => Err(CallError::Directory(place.shown())),
        false => Err(CallError::NoFile(place.shown())),
    }
}

fn from(mut file: File, offset: u64, most: u64, size: u64, work: &Work) -> std::io::Result<Text> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    work.reading(file.take(most + 1)).read_to_end(&mut bytes)?;
    Ok(up_to(bytes, offset, most, size))
}

/// The first lines, without the end of the last of them.
fn first_lines(file: File, count: u64, most: u64, size: u64, work: &Work) -> std::io::Result<Text> {
    let mut reader = BufReader::new(work.reading(file.take(most + 1)));
    let mut lines = Vec::new();
    for _ in 0..count {
        if reader.read_until(b'\n', &mut lines)? == 0 {
            break;
        }
    }
    if lines.len() as u64 <= most {
        trim_end(&mut lines);
    }
    Ok(up_to(lines, 0, most, size))
}

/// The last lines. Reads backwards, so that a long file costs no more than its end.
fn last_lines(mut file: File, count: u64, most: u64, size: u64, work: &Work) -> std::io::Result<Text> {
    let mut tail = Vec::new();
    let mut start = size;
    // A line's end at the very end begins no line.
    let enough = |tail: &[u8]| {
        let body = tail.strip_suffix(b"\n").unwrap_or(tail);
        body.iter().filter(|&&byte| byte == b'\n').count() as u64 >= count
    };
    while start > 0 && !enough(&tail) && (tail.len() as u64) < most {
        let step = STEP.min(start);
        start -= step;
        file.seek(SeekFrom::Start(start))?;
        let mut chunk = Vec::new();
        work.reading((&mut file).take(step)).read_to_end(&mut chunk)?;
        chunk.append(&mut tail);
        tail = chunk;
    }
    let cut = start > 0 && !enough(&tail);
    trim_end(&mut tail);
    let newlines: Vec<usize> = tail.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at).collect();
    let skipped = match usize::try_from(count) {
        Ok(0) => tail.len(),
        Ok(count) if newlines.len() >= count => newlines[newlines.len() - count] + 1,
        _ => 0,
    };
    let note = cut.then(|| format!("These lines are longer than one answer holds; they begin before byte {start}."));
    Ok(Text { content: lossy(tail.split_off(skipped)), next: None, note })
}

/// Text that was read from `offset` on, with one byte more than there is room for if there is more. Cut at the end
/// of a line if there is one, and never inside a character.
fn up_to(mut bytes: Vec<u8>, offset: u64, most: u64, size: u64) -> Text {
    if bytes.len() as u64 <= most {
        return Text { content: lossy(bytes), ..Text::default() };
    }
    bytes.pop();
    let end_of_line = bytes.iter().rposition(|&byte| byte == b'\n').map(|at| at + 1);
    let end_of_character = || match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    bytes.truncate(end_of_line.unwrap_or_else(end_of_character));
    let next = offset + bytes.len() as u64;
    let note = format!("This is not all: bytes {offset} to {next} of {size}. To go on, call again with offset {next}.");
    Text { content: lossy(bytes), next: Some(next), note: Some(note) }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn trim_end(lines: &mut Vec<u8>) {
    if lines.last() == Some(&b'\n') {
        lines.pop();
    }
    if lines.last() == Some(&b'\r') {
        lines.pop();
    }
}
