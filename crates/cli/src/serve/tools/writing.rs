//! Tools that change files, there only if the operator allows it.

use std::io;

use mcp_roots::boundary::{BoundaryError, Place};
use rmcp::handler::server::common::schema_for_output;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::editing::{self, Edit};
use super::super::error::CallError;
use super::super::server::{FileServer, Target};
use super::super::work::Work;
use super::super::{limits, reading};
use super::reading::PathArgs;
use super::{Parameters, TextOutput, answer};

#[derive(Deserialize, JsonSchema)]
pub(in crate::serve) struct WriteFileArgs {
    path: String,
    content: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::serve) struct EditFileArgs {
    path: String,
    edits: Vec<EditArgs>,
    /// Preview changes using git-style diff format
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct EditArgs {
    /// Text to search for - must match exactly, but for the space around lines
    old_text: String,
    /// Text to replace with
    new_text: String,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::serve) struct MoveFileArgs {
    source: String,
    destination: String,
}

#[tool_router(router = writing_tools, vis = "pub(super)")]
impl FileServer {
    /// Create a new file or completely overwrite an existing file with new content. Whoever reads it sees the old
    /// content or the new, never a part. Only works within allowed directories.
    #[tool(
        title = "Write File",
        annotations(read_only_hint = false, idempotent_hint = true, destructive_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<TextOutput>()
    )]
    async fn write_file(
        &self,
        Parameters(args): Parameters<WriteFileArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let shown = args.path.clone();
        let written = self.change(context, Target::Whole(args.path.into()), move |place, work| {
            put(place, args.content.as_bytes(), work, |_| true)
        });
        answer(written.await.map(|()| format!("Successfully wrote to {shown}")))
    }

    /// Make edits to a text file: each replaces the first place where its text is found, exactly or but for the space
    /// around lines. All are made or none. Returns a git-style diff showing the changes made. Only works within
    /// allowed directories.
    #[tool(
        title = "Edit File",
        annotations(read_only_hint = false, idempotent_hint = false, destructive_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<TextOutput>()
    )]
    async fn edit_file(
        &self,
        Parameters(args): Parameters<EditFileArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let edits: Vec<Edit> =
            args.edits.into_iter().map(|edit| Edit { old: edit.old_text, new: edit.new_text }).collect();
        let edited = self.change(context, Target::Whole(args.path.into()), move |place, work| {
            edit(place, &edits, args.dry_run, work)
        });
        answer(edited.await)
    }

    /// Create a directory, and those that it is in. Succeeds if it is there already. Only works within allowed
    /// directories.
    #[tool(
        title = "Create Directory",
        annotations(read_only_hint = false, idempotent_hint = true, destructive_hint = false, open_world_hint = false),
        output_schema = schema_for_output::<TextOutput>()
    )]
    async fn create_directory(
        &self,
        Parameters(args): Parameters<PathArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let shown = args.path.clone();
        let created = self.change(context, Target::Whole(args.path.into()), |place, work| {
            work.go_on()?;
            Ok(place.create_dir_all()?)
        });
        answer(created.await.map(|()| format!("Successfully created directory {shown}")))
    }

    /// Move or rename a file or directory. Fails if the destination exists. Both must be within allowed directories.
    #[tool(
        title = "Move File",
        annotations(read_only_hint = false, idempotent_hint = false, destructive_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<TextOutput>()
    )]
    async fn move_file(
        &self,
        Parameters(args): Parameters<MoveFileArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let shown = format!("Successfully moved {} to {}", args.source, args.destination);
        let moved = self.changes(
            context,
            [Target::Name(args.source.into()), Target::Name(args.destination.into())],
            |[source, destination], work| {
                work.go_on()?;
                source.rename(destination).map_err(|error| in_move(error, source, destination))
            },
        );
        answer(moved.await.map(|()| shown))
    }
}

fn edit(place: &Place, edits: &[Edit], dry_run: bool, work: &Work) -> Result<String, CallError> {
    let path = place.shown();
    let (bytes, read) = reading::contents(place, limits::EDITED, "Write it anew, or edit it by other means", work)?;
    let before = String::from_utf8(bytes)
        .map_err(|error| CallError::NotText { path: path.clone(), at: error.utf8_error().valid_up_to() })?;
    let after = editing::apply(&before, edits)?;
    let difference = editing::difference(&path, &before, &after);
    if !dry_run && after != before {
        put(place, after.as_bytes(), work, |there| {
            there.is_some_and(|there| there.len() == read.len() && there.modified().ok() == read.modified().ok())
        })?;
    }
    Ok(difference)
}

/// Writes a file, unless the work is to stop, or what is there is not what it should be.
fn put(
    place: &Place,
    contents: &[u8],
    work: &Work,
    expected: impl FnOnce(Option<&cap_std::fs::Metadata>) -> bool,
) -> Result<(), CallError> {
    let mut refused = None;
    let written = place.replace(contents, |there| {
        refused = match work.go_on() {
            Ok(()) if expected(there) => return Ok(()),
            Ok(()) => Some(CallError::Changed(place.shown())),
            Err(stopped) => Some(stopped),
        };
        Err(io::ErrorKind::Other.into())
    });
    match refused {
        Some(refused) => Err(refused),
        None => Ok(written?),
    }
}

fn in_move(error: BoundaryError, source: &Place, destination: &Place) -> CallError {
    let kind = match &error {
        BoundaryError::Io { error, .. } => Some(error.kind()),
        _ => None,
    };
    match kind {
        Some(io::ErrorKind::AlreadyExists) => CallError::Exists(destination.shown()),
        Some(io::ErrorKind::CrossesDevices) => CallError::OtherDisk(source.shown()),
        _ => error.into(),
    }
}
