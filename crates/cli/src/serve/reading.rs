//! Reading files for the tools and the resources, within limits. Everything here blocks.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use mcp_roots::boundary::{BoundaryError, Place};

/// How much of a file goes into one answer, in bytes.
const LONGEST: u64 = 8 << 20;
/// How much is read from the end at a time.
const STEP: u64 = 64 << 10;

/// Which lines of a file are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    All,
    First(u64),
    Last(u64),
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Boundary(#[from] BoundaryError),
    #[error("{0} is a directory; list_directory says what is in it")]
    Directory(String),
    #[error("{0} is neither a file nor a directory; a pipe or a device could keep its reader waiting for ever")]
    NoFile(String),
    #[error("{path} is {size} bytes long, and one answer holds {LONGEST}. Read a part of it with head or tail")]
    TooLong { path: String, size: u64 },
    #[error("{path} cannot be read: {error}")]
    Io { path: String, error: std::io::Error },
}

/// Reads a file as text; what is not UTF-8 is replaced.
pub(super) fn text(place: &Place, lines: Lines) -> Result<String, ReadError> {
    let bytes = match lines {
        Lines::All => bytes(place)?,
        Lines::First(count) => part(place, |file, _| first(file, count))?,
        Lines::Last(count) => part(place, |file, size| last(file, size, count))?,
    };
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Reads a whole file.
pub(super) fn bytes(place: &Place) -> Result<Vec<u8>, ReadError> {
    part(place, |file, _| {
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

fn part(
    place: &Place,
    read: impl FnOnce(cap_std::fs::File, u64) -> std::io::Result<Vec<u8>>,
) -> Result<Vec<u8>, ReadError> {
    let path = place.path().display().to_string();
    let metadata = place.metadata()?;
    if metadata.is_dir() {
        return Err(ReadError::Directory(path));
    }
    if !metadata.is_file() {
        return Err(ReadError::NoFile(path));
    }
    let file = place.open()?;
    match read(file, metadata.len()) {
        Ok(bytes) if bytes.len() as u64 > LONGEST => Err(ReadError::TooLong { path, size: metadata.len() }),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(ReadError::Io { path, error }),
    }
}

/// The first lines, without the end of the last of them.
fn first(file: cap_std::fs::File, count: u64) -> std::io::Result<Vec<u8>> {
    let mut reader = BufReader::new(file.take(LONGEST + 1));
    let mut lines = Vec::new();
    for _ in 0..count {
        if reader.read_until(b'\n', &mut lines)? == 0 {
            return Ok(lines);
        }
    }
    trim_end(&mut lines);
    Ok(lines)
}

/// The last lines. Reads backwards, so that a long file costs no more than its end.
fn last(mut file: cap_std::fs::File, size: u64, count: u64) -> std::io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    let mut start = size;
    // A line's end at the very end begins no line.
    let enough = |tail: &[u8]| {
        let body = tail.strip_suffix(b"\n").unwrap_or(tail);
        body.iter().filter(|&&byte| byte == b'\n').count() as u64 >= count
    };
    while start > 0 && !enough(&tail) && tail.len() as u64 <= LONGEST {
        let step = STEP.min(start);
        start -= step;
        file.seek(SeekFrom::Start(start))?;
        let mut chunk = Vec::new();
        (&mut file).take(step).read_to_end(&mut chunk)?;
        chunk.append(&mut tail);
        tail = chunk;
    }
    trim_end(&mut tail);
    let newlines: Vec<usize> = tail.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at).collect();
    let skipped = match usize::try_from(count) {
        Ok(0) => tail.len(),
        Ok(count) if newlines.len() >= count => newlines[newlines.len() - count] + 1,
        _ => 0,
    };
    Ok(tail.split_off(skipped))
}

fn trim_end(lines: &mut Vec<u8>) {
    if lines.last() == Some(&b'\n') {
        lines.pop();
    }
    if lines.last() == Some(&b'\r') {
        lines.pop();
    }
}
