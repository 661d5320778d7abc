//! Tools that read files.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mcp_roots::boundary::Place;
use rmcp::handler::server::common::schema_for_output;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::error::CallError;
use super::super::reading::{self, Part, Text};
use super::super::server::FileServer;
use super::super::work::Call;
use super::super::{limits, resources};
use super::{Parameters, TextOutput, answer, failed, given};

#[derive(Deserialize, JsonSchema)]
pub(in crate::serve) struct ReadTextFileArgs {
    path: String,
    /// If provided, returns only the last N lines of the file
    tail: Option<u64>,
    /// If provided, returns only the first N lines of the file
    head: Option<u64>,
    /// If provided, goes on from this byte, as an earlier answer says
    offset: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReadTextFileOutput {
    content: String,
    /// The byte from which to go on, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::serve) struct PathArgs {
    pub(super) path: String,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::serve) struct ReadMultipleFilesArgs {
    /// Array of file paths to read. Each path must be a string pointing to a valid file within allowed directories.
    #[schemars(length(min = 1))]
    paths: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct MediaOutput {
    /// One image, audio or resource block, as in the content.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    content: Vec<ContentBlock>,
}

#[tool_router(router = reading_tools, vis = "pub(super)")]
impl FileServer {
    /// Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.
    #[tool(
        title = "Read File (Deprecated)",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<ReadTextFileOutput>()
    )]
    async fn read_file(
        &self,
        arguments: Parameters<ReadTextFileArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        self.read_text_file(arguments, context).await
    }

    /// Read a file as text, whatever its extension: all of it, its first lines (head) or its last (tail). What is not
    /// UTF-8 is replaced. A file that is longer than one answer is read in parts, with offset. Only works within
    /// allowed directories.
    #[tool(
        title = "Read Text File",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<ReadTextFileOutput>()
    )]
    async fn read_text_file(
        &self,
        Parameters(args): Parameters<ReadTextFileArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        // Some clients fill what they leave out with 0.
        let [head, tail] = [args.head, args.tail].map(|count| count.filter(|&count| count > 0));
        let part = match (head, tail, args.offset) {
            (None, None, offset) => Part::From(offset.unwrap_or(0)),
            (Some(head), None, None) => Part::FirstLines(head),
            (None, Some(tail), None) => Part::LastLines(tail),
            (Some(_), Some(_), _) => {
                return failed(&CallError::Argument(
                    "Cannot specify both head and tail parameters simultaneously".into(),
                ));
            }
            (_, _, Some(_)) => {
                return failed(&CallError::Argument("offset goes on with a whole file, without head or tail".into()));
            }
        };
        let read =
            self.at(context, args.path.into(), move |place, work| reading::text(place, part, limits::TEXT, work)).await;
        match read {
            Ok(Text { content, next, note }) => {
                given(content.clone(), note, &ReadTextFileOutput { content, next_offset: next })
            }
            Err(error) => failed(&error),
        }
    }

    /// Read a file and return it as a base64-encoded content block with its MIME type. Image and audio files are
    /// returned as image/audio content; any other file type is returned as an embedded resource. Only works within
    /// allowed directories.
    #[tool(
        title = "Read Media File",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<MediaOutput>()
    )]
    async fn read_media_file(
        &self,
        Parameters(args): Parameters<PathArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let read = self.at(context, args.path.into(), |place, work| {
            let instead = "A file as long as this one can be read in parts as text, with read_text_file";
            let bytes = reading::bytes(place, limits::BINARY, instead, work)?;
            Ok(media(place, &bytes))
        });
        match read.await {
            Ok(block) => {
                let mut result = CallToolResult::success(vec![block.clone()]);
                result.structured_content = Some(json!(MediaOutput { content: vec![block] }));
                result
            }
            Err(error) => failed(&error),
        }
    }

    /// Read several files as text at once. Each file's content is returned with its path as a reference. Failed reads
    /// for individual files won't stop the entire operation. Only works within allowed directories.
    #[tool(
        title = "Read Multiple Files",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<TextOutput>()
    )]
    async fn read_multiple_files(
        &self,
        Parameters(args): Parameters<ReadMultipleFilesArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        if args.paths.is_empty() {
            return failed(&CallError::Argument("At least one file path must be provided".into()));
        }
        let call = Call::from(context);
        let mut room = limits::TEXT;
        let mut parts = Vec::new();
        for path in args.paths {
            if room == 0 {
                parts.push(format!("{path}: Error - this answer is full; read it in another call"));
                continue;
            }
            let read = self.at(call.clone(), path.clone().into(), move |place, work| {
                reading::text(place, Part::From(0), room, work)
            });
            match read.await {
                Ok(Text { content, note, .. }) => {
                    room = room.saturating_sub(content.len() as u64);
                    let note = note.map(|note| format!("\n[{note}]")).unwrap_or_default();
                    parts.push(format!("{path}:\n{content}\n{note}"));
                }
                Err(error) => parts.push(format!("{path}: Error - {error}")),
            }
        }
        answer(Ok(parts.join("\n---\n")))
    }
}

/// A file as the kind of content that its name says it is.
fn media(place: &Place, bytes: &[u8]) -> ContentBlock {
    let data = BASE64_STANDARD.encode(bytes);
    let mime = resources::mime_type(place.path()).unwrap_or("application/octet-stream");
    match mime.split('/').next() {
        Some("image") => ContentBlock::image(data, mime),
        Some("audio") => ContentBlock::audio(data, mime),
        _ => {
            let uri = place.uri().map(|uri| uri.to_string()).unwrap_or_default();
            ContentBlock::resource(ResourceContents::blob(data, uri).with_mime_type(mime))
        }
    }
}
