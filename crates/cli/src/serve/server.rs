//! The MCP server: tools and resources over the boundary that the roots draw.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mcp_roots::boundary::{Boundary, BoundaryError, Place};
use mcp_roots::core::uri::{PathRules, RootPath, RootUri};
use mcp_roots::{Lease, LeaseError, Roots, Unavailable};
use rmcp::handler::server::common::schema_for_output;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, Implementation, InitializeResult, ListResourceTemplatesResult,
    ListResourcesResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, ServerCapabilities, SubscribeRequestParams,
    UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::files::{self, Lines, ReadError};
use super::status::RootsStatus;
use super::subscriptions::Subscriptions;

/// How many files a listing of the resources names; the rest is found through the template.
const LISTED: usize = 1_000;

/// Serves the files under one client's roots.
#[derive(Clone)]
pub(super) struct FileServer {
    roots: Roots,
    subscriptions: Subscriptions,
    /// The boundary of the newest snapshot, kept since it remembers where its roots really are.
    boundary: Arc<Mutex<Option<Boundary>>>,
    /// Made once: it holds the tools' schemas.
    tools: ToolRouter<Self>,
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("Access denied: {0}")]
    Roots(#[from] Unavailable),
    #[error("Access denied - path outside allowed directories: {0}")]
    Outside(String),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(
        "{path}: its root left the set of roots while this was under way, so it was stopped. The roots in force now: {roots}"
    )]
    Revoked { path: String, roots: String },
    #[error("{0}")]
    Argument(&'static str),
}

#[derive(Deserialize, JsonSchema)]
struct ReadTextFileArgs {
    /// The path of the file.
    path: String,
    /// If given, only the first N lines.
    head: Option<u64>,
    /// If given, only the last N lines.
    tail: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
struct ListDirectoryArgs {
    /// The path of the directory.
    path: String,
}

#[derive(Serialize, JsonSchema)]
struct TextOutput {
    content: String,
}

#[tool_router]
impl FileServer {
    /// Read the complete contents of a file as text, or its first or last lines. Only works within the allowed directories.
    #[tool(annotations(read_only_hint = true), output_schema = schema_for_output::<TextOutput>())]
    async fn read_text_file(&self, Parameters(args): Parameters<ReadTextFileArgs>) -> CallToolResult {
        let lines = match (args.head, args.tail) {
            (None, None) => Lines::All,
            (Some(head), None) => Lines::First(head),
            (None, Some(tail)) => Lines::Last(tail),
            (Some(_), Some(_)) => {
                return failed(&CallError::Argument("Cannot specify both head and tail parameters simultaneously"));
            }
        };
        answer(self.at(args.path.into(), move |place| files::text(place, lines)).await)
    }

    /// List what is in a directory, each entry marked [FILE] or [DIR]. Only works within the allowed directories.
    #[tool(annotations(read_only_hint = true), output_schema = schema_for_output::<TextOutput>())]
    async fn list_directory(&self, Parameters(args): Parameters<ListDirectoryArgs>) -> CallToolResult {
        answer(self.at(args.path.into(), listing).await)
    }

    /// List the directories that this server may access: the roots in force.
    #[tool(annotations(read_only_hint = true), output_schema = schema_for_output::<TextOutput>())]
    async fn list_allowed_directories(&self) -> CallToolResult {
        let listed = self.roots.current().await.map(|snapshot| {
            let paths = snapshot.roots.iter().map(|root| root.uri.path().to_string());
            std::iter::once("Allowed directories:".into()).chain(paths).collect::<Vec<String>>().join("\n")
        });
        answer(listed.map_err(CallError::from))
    }

    /// Say what is known of the client's roots and how it came to be known. Does not wait for the client.
    #[tool(annotations(read_only_hint = true), output_schema = schema_for_output::<RootsStatus>())]
    async fn roots_status(&self) -> Result<CallToolResult, ErrorData> {
        serde_json::to_value(RootsStatus::from(self.roots.status()))
            .map(CallToolResult::structured)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

impl FileServer {
    pub(super) fn new(roots: Roots) -> Self {
        FileServer {
            roots,
            subscriptions: Subscriptions::default(),
            boundary: Arc::default(),
            tools: Self::tool_router(),
        }
    }

    /// Does `work` at a path, for as long as its root is there.
    async fn at<T: Send + 'static>(
        &self,
        path: PathBuf,
        work: impl FnOnce(&Place) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, CallError> {
        let (place, lease) = self.place(path).await?;
        let shown = place.path().display().to_string();
        let working = blocking(move || work(&place));
        tokio::select! {
            biased;
            () = lease.revoked() => Err(CallError::Revoked { path: shown, roots: self.in_words() }),
            outcome = working => Ok(outcome?),
        }
    }

    /// Finds a path under the roots in force, and takes a lease on its root.
    async fn place(&self, path: PathBuf) -> Result<(Place, Lease), CallError> {
        let boundary = self.current_boundary().await?;
        let found = blocking(move || boundary.find(path)).await;
        let place = found.map_err(CallError::from)?;
        match self.roots.lease_at(place.root().clone()).await {
            Ok(lease) => Ok((place, lease)),
            Err(LeaseError::Unavailable(unavailable)) => Err(unavailable.into()),
            Err(_) => Err(CallError::Revoked { path: place.path().display().to_string(), roots: self.in_words() }),
        }
    }

    async fn current_boundary(&self) -> Result<Boundary, Unavailable> {
        let snapshot = self.roots.current().await?;
        let mut kept = self.boundary.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match kept.take_if(|boundary| Arc::ptr_eq(boundary.snapshot(), &snapshot)) {
            Some(boundary) => kept.insert(boundary).clone(),
            None => kept.insert(Boundary::new(snapshot)).clone(),
        })
    }

    fn in_words(&self) -> String {
        mcp_roots::in_words(&self.roots.snapshot().roots)
    }

    /// The place that a resource's URI names.
    async fn resource(&self, uri: &str) -> Result<(Place, Lease), ErrorData> {
        let path = RootUri::parse(uri, PathRules::native()).map(|parsed| parsed.path().to_native());
        let path = match path {
            Ok(Some(path)) => path,
            Ok(None) => return Err(no_resource(uri, "it is a path of another system")),
            Err(refusal) => return Err(no_resource(uri, &refusal.to_string())),
        };
        self.place(path).await.map_err(|error| match error {
            CallError::Roots(unavailable) => ErrorData::internal_error(unavailable.to_string(), None),
            error => no_resource(uri, &error.to_string()),
        })
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for FileServer {
    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .build();
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new("mcp-roots", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Serves the files under the client's roots, and follows them as they change. list_allowed_directories \
                 names the roots in force; roots_status says where they came from and what was left out.",
            )
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let boundary = self.current_boundary().await;
        let boundary = boundary.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListResourcesResult::with_all_items(blocking(move || top_level(&boundary)).await))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("file:///{+path}", "file")
            .with_description("A file or directory under one of the roots in force");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let (place, lease) = self.resource(&uri).await?;
        let reading = blocking({
            let uri = uri.clone();
            move || contents(&place, &uri)
        });
        let contents = tokio::select! {
            biased;
            () = lease.revoked() => return Err(no_resource(&uri, "its root left while it was read")),
            contents = reading => contents.map_err(|error| no_resource(&uri, &error.to_string()))?,
        };
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (place, lease) = self.resource(&request.uri).await?;
        self.subscriptions
            .add(request.uri, place, lease, context.peer)
            .await
            .map_err(|error| ErrorData::invalid_request(error.to_string(), None))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }
}

impl From<BoundaryError> for CallError {
    fn from(error: BoundaryError) -> Self {
        match error {
            BoundaryError::Outside { .. } => CallError::Outside(error.to_string()),
            error => CallError::Read(error.into()),
        }
    }
}

/// A tool's text, or what a caller should read instead.
fn answer(outcome: Result<String, CallError>) -> CallToolResult {
    match outcome {
        Ok(text) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text.clone())]);
            result.structured_content = Some(json!(TextOutput { content: text }));
            result
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &CallError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

fn no_resource(uri: &str, reason: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("Resource not found: {uri}: {reason}"), Some(json!({ "uri": uri })))
}

fn listing(place: &Place) -> Result<String, ReadError> {
    let entries = place.list()?;
    let lines = entries.iter().map(|entry| {
        let kind = if entry.is_dir { "[DIR]" } else { "[FILE]" };
        format!("{kind} {}", entry.name.to_string_lossy())
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// A file's contents, as text if it is UTF-8; a directory's listing.
fn contents(place: &Place, uri: &str) -> Result<ResourceContents, ReadError> {
    if place.metadata()?.is_dir() {
        return Ok(ResourceContents::text(listing(place)?, uri));
    }
    Ok(match String::from_utf8(files::bytes(place)?) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(error) => ResourceContents::blob(BASE64_STANDARD.encode(error.as_bytes()), uri)
            .with_mime_type("application/octet-stream"),
    })
}

/// The files at the top of each root.
fn top_level(boundary: &Boundary) -> Vec<Resource> {
    let roots = boundary.snapshot().roots.iter().filter_map(|root| root.uri.path().to_native());
    let files = roots.flat_map(|root| {
        let place = boundary.find(&root);
        let entries = place.and_then(|place| place.list()).unwrap_or_default();
        entries.into_iter().filter(|entry| !entry.is_dir).filter_map(move |entry| resource(&root.join(entry.name)))
    });
    files.take(LISTED).collect()
}

fn resource(path: &Path) -> Option<Resource> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let uri = RootUri::from_path(&RootPath::from_native(path).ok()?);
    Some(Resource::new(uri.to_string(), name))
}

/// Runs what blocks where it may. The work cannot panic but by a bug, and then so does this.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
