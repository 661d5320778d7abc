//! A server and a host in one process, each an `rmcp` service behind its half, on a pipe in memory.

use mcp_roots::{Lease, PublishOptions, Roots, Snapshot, TrackOptions, Workspace, publish_with, track};
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorData, InitializeResult, ServerCapabilities};
use rmcp::model::{ReadResourceRequestParams, ReadResourceResponse};
use rmcp::service::{RequestContext, RunningService};
use rmcp::{RoleClient, RoleServer, ServerHandler, ServiceExt, tool, tool_handler, tool_router};

/// A server whose only tool tells the roots that it sees.
#[derive(Clone)]
pub(crate) struct Teller {
    roots: Roots,
}

impl Teller {
    pub(crate) fn new(roots: &Roots) -> Self {
        Teller { roots: roots.clone() }
    }
}

#[tool_router]
impl Teller {
    /// The paths of the roots in force.
    #[tool]
    async fn tell(&self) -> Result<String, String> {
        self.roots.current().await.map(|snapshot| told(&snapshot)).map_err(|error| error.to_string())
    }

    /// Needs no roots.
    #[tool]
    fn hello(&self) -> String {
        "hello".into()
    }
}

#[tool_handler]
impl ServerHandler for Teller {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Err(ErrorData::resource_not_found(request.uri, None))
    }
}

pub(crate) struct Pair {
    pub(crate) workspace: Workspace,
    pub(crate) roots: Roots,
    pub(crate) host: RunningService<RoleClient, ()>,
    pub(crate) server: RunningService<RoleServer, Teller>,
}

impl Pair {
    pub(crate) async fn connect(
        workspace: &Workspace,
        track_options: TrackOptions,
        publish_options: PublishOptions,
    ) -> Self {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (transport, roots) = track(near, track_options);
        let serving = tokio::spawn(Teller::new(&roots).serve(transport));
        let host = ().serve(publish_with(far, workspace, publish_options)).await.expect("the handshake");
        let server = serving.await.expect("no panic").expect("the handshake");
        let pair = Pair { workspace: workspace.clone(), roots, host, server };
        // The first question is behind us, so that a test sees its own changes alone.
        pair.tell().await;
        pair
    }

    /// A pair with default options, and a workspace of these folders.
    pub(crate) async fn of(dirs: &[&std::path::Path]) -> Self {
        let workspace = Workspace::open(dirs).expect("folders");
        Pair::connect(&workspace, TrackOptions::default(), PublishOptions::default()).await
    }

    /// What the tool tells.
    pub(crate) async fn tell(&self) -> String {
        text(&self.host.call_tool(CallToolRequestParams::new("tell")).await.expect("a result"))
    }

    pub(crate) async fn lease(&self, path: &std::path::Path) -> Lease {
        self.roots.lease(path).await.expect("a lease")
    }
}

pub(crate) fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect()
}

pub(crate) fn told(snapshot: &Snapshot) -> String {
    let paths: Vec<String> = snapshot.roots.iter().map(|root| root.uri.path().to_string()).collect();
    paths.join(" ")
}

/// Folders of a test's own.
pub(crate) struct Folders(std::path::PathBuf);

impl Folders {
    pub(crate) fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mcp-roots-lib-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        for folder in ["a", "b", "c"] {
            std::fs::create_dir_all(dir.join(folder)).expect("a folder");
        }
        Folders(dir)
    }

    pub(crate) fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
