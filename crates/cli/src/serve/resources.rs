//! Files and directories as resources. Everything here blocks.

use std::ffi::OsStr;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mcp_roots::boundary::{Boundary, BoundaryError, Place};
use rmcp::model::{ErrorData, ListResourcesResult, Resource, ResourceContents};
use serde_json::json;

use super::error::CallError;
use super::listing::{self, Page};
use super::work::Work;
use super::{limits, reading};

/// What a directory is, for want of a registered type; freedesktop's name for it.
const DIRECTORY: &str = "inode/directory";

/// What is at the top of each root, a page at a time. A cursor is how many to skip.
pub(super) fn top_level(boundary: &Boundary, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let skipped: usize = match cursor.map(str::parse) {
        None => 0,
        Some(Ok(skipped)) => skipped,
        Some(Err(_)) => {
            return Err(ErrorData::invalid_params("this cursor is none that this server has given", None));
        }
    };
    let roots = boundary.snapshot().roots.iter().filter_map(|root| root.uri.path().to_native());
    let entries = roots.flat_map(|root| {
        // What cannot be looked at has nothing to list.
        boundary.find_local(&root).and_then(|place| at_top(&place)).unwrap_or_default()
    });
    let mut page: Vec<Resource> = entries.skip(skipped).take(limits::RESOURCES + 1).collect();
    let more = page.len() > limits::RESOURCES;
    page.truncate(limits::RESOURCES);
    let mut result = ListResourcesResult::with_all_items(page);
    result.next_cursor = more.then(|| (skipped + limits::RESOURCES).to_string());
    Ok(result)
}

/// The entries of a root. One that is a file has none, and is one itself.
fn at_top(root: &Place) -> Result<Vec<Resource>, BoundaryError> {
    if !root.metadata()?.is_dir() {
        return Ok(resource(root, Path::new(""), false).into_iter().collect());
    }
    let entries = root.list()?.into_iter();
    Ok(entries.filter_map(|entry| resource(root, entry.name.as_ref(), entry.is_dir)).collect())
}

/// What is at `below` from a root, under the name that the client knows.
fn resource(root: &Place, below: &Path, is_dir: bool) -> Option<Resource> {
    let uri = root.uri_below(below)?;
    let name = String::from_utf8_lossy(uri.path().components().last()?).into_owned();
    let mime_type = if is_dir { Some(DIRECTORY) } else { mime_type(Path::new(&name)) };
    let mut resource = Resource::new(uri.to_string(), name);
    resource.mime_type = mime_type.map(String::from);
    Some(resource)
}

/// A file's contents, as text if it is UTF-8; a directory's listing.
pub(super) fn contents(place: &Place, uri: &str, work: &Work) -> Result<ResourceContents, CallError> {
    if place.metadata()?.is_dir() {
        let listing = listing::plain(place, &Page::default(), work)?;
        let text = std::iter::once(listing.text).chain(listing.note).collect::<Vec<_>>().join("\n");
        return Ok(ResourceContents::text(text, uri).with_mime_type(DIRECTORY));
    }
    let instead = "Read it in parts with the tool read_text_file";
    let mime = mime_type(place.path());
    Ok(match String::from_utf8(reading::bytes(place, limits::BINARY, instead, work)?) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(mime.unwrap_or("text/plain")),
        Err(error) => ResourceContents::blob(BASE64_STANDARD.encode(error.as_bytes()), uri)
            .with_mime_type(mime.unwrap_or("application/octet-stream")),
    })
}

/// The type that a file's name says it has.
pub(super) fn mime_type(path: &Path) -> Option<&'static str> {
    // A guess by name would take a program's source for video.
    let typescript = path.extension().is_some_and(|extension| extension == OsStr::new("ts"));
    if typescript { Some("text/typescript") } else { mime_guess::from_path(path).first_raw() }
}

pub(super) fn not_found(uri: &str, reason: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("Resource not found: {uri}: {reason}"), Some(json!({ "uri": uri })))
}
