//! The MCP server: tools and resources over the boundary that the roots draw.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_roots::boundary::{Boundary, BoundaryError, Place};
use mcp_roots::core::uri::PathRules;
use mcp_roots::{Lease, LeaseError, Roots, Unavailable};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, ErrorData, Implementation, InitializeResult,
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceTemplate, ServerCapabilities,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler, tool_handler};

use super::error::CallError;
use super::patterns::Excludes;
use super::subscriptions::{Hearer, Key, Subscriptions};
use super::walking::Walking;
use super::work::{Call, Running, Work, blocking};
use super::{resources, tools};

/// How long a change that is to stop may take to say what became of it.
const GRACE: Duration = Duration::from_secs(1);

/// Which eras of the protocol are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Era {
    #[default]
    Auto,
    Legacy,
    Modern,
}

/// What the operator allows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowed {
    /// Whether files may be changed.
    pub(super) write: bool,
    /// Whether `.gitignore` files count where a call does not say.
    pub(super) gitignore: bool,
    pub(super) era: Era,
}

/// Serves the files under one client's roots.
#[derive(Clone)]
pub(super) struct FileServer {
    roots: Roots,
    allowed: Allowed,
    subscriptions: Subscriptions,
    running: Running,
    /// The boundary of the newest snapshot, kept since it remembers where its roots really are.
    boundary: Arc<Mutex<Option<Boundary>>>,
    /// Made once: it holds the tools' schemas.
    tools: ToolRouter<Self>,
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// By a path, in the client's terms.
    Path(PathBuf),
    /// By a URI that has been read, and so its path is local.
    Resource(PathBuf),
}

impl From<String> for Asked {
    fn from(path: String) -> Self {
        Asked::Path(path.into())
    }
}

/// What a change is made to.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// What is at a path or is to be, links followed.
    Whole(PathBuf),
    /// The name itself, be it a link.
    Name(PathBuf),
}

impl FileServer {
    pub(super) fn new(roots: Roots, allowed: Allowed, running: Running) -> Self {
        FileServer {
            roots,
            allowed,
            subscriptions: Subscriptions::default(),
            running,
            boundary: Arc::default(),
            tools: tools::router(allowed.write),
        }
    }

    /// The same for another client, who shares nothing with this one's but what is the same for all.
    pub(super) fn for_another_client(&self) -> Self {
        FileServer { subscriptions: Subscriptions::default(), boundary: Arc::default(), ..self.clone() }
    }

    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// Whether `.gitignore` files count, for a call that asks for it or not.
    pub(super) fn respects_gitignore(&self, asked: bool) -> bool {
        self.allowed.gitignore && asked
    }

    /// Does `work` at a path, for as long as its root is there and the call stands.
    pub(super) async fn at<T: Send + 'static>(
        &self,
        call: impl Into<Call>,
        asked: Asked,
        work: impl FnOnce(&Place, &Work) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        self.boundary_at(call, asked, move |_, place, doing| work(place, doing)).await
    }

    /// As [`FileServer::at`], for work that looks at other places too.
    pub(super) async fn boundary_at<T: Send + 'static>(
        &self,
        call: impl Into<Call>,
        asked: Asked,
        work: impl FnOnce(&Boundary, &Place, &Work) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let call = call.into();
        let (boundary, place, lease) = self.place(asked).await?;
        let shown = place.shown();
        let doing = self.running.begin();
        // What is read after its root has left goes to nobody, so it is not waited for.
        let _stop = doing.stop_with_me();
        let working = blocking({
            let doing = doing.clone();
            move || work(&boundary, &place, &doing)
        });
        tokio::select! {
            biased;
            () = lease.revoked() => Err(CallError::Revoked { path: shown, roots: self.in_words(), done: "" }),
            () = call.cancelled() => Err(cancelled(shown, "")),
            never = call.report(&doing) => match never {},
            outcome = working => outcome,
        }
    }

    /// Walks below a path, as [`FileServer::at`] works at one.
    pub(super) async fn walk<T: Send + 'static>(
        &self,
        call: impl Into<Call>,
        path: String,
        excludes: Excludes,
        respect_gitignore: bool,
        work: impl FnOnce(&Place, Walking) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let gitignore = self.respects_gitignore(respect_gitignore);
        self.boundary_at(call, path.into(), move |boundary, place, doing| {
            work(place, Walking::new(boundary, place, excludes, gitignore, doing)?)
        })
        .await
    }

    /// Makes a change, as [`FileServer::at`] does other work; but a change that is to stop is asked what became of it.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        call: impl Into<Call>,
        target: Target,
        work: impl FnOnce(&Place, &Work) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        self.changes(call, [target], move |[place], doing| work(place, doing)).await
    }

    /// As [`FileServer::change`], between several places.
    pub(super) async fn changes<T: Send + 'static, const N: usize>(
        &self,
        call: impl Into<Call>,
        targets: [Target; N],
        work: impl FnOnce([&Place; N], &Work) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let call = call.into();
        let boundary = self.current_boundary().await?;
        let found =
            blocking(move || targets.iter().map(|target| target.find(&boundary)).collect::<Result<Vec<_>, _>>());
        let places = self.running.counted(found.await.map_err(CallError::from))?;
        let mut leases = Vec::with_capacity(N);
        for place in &places {
            leases.push(self.lease(place).await?);
        }
        let shown = places[0].shown();
        let doing = self.running.begin();
        let _stop = doing.stop_with_me();
        let mut working = Box::pin(blocking({
            let doing = doing.clone();
            move || work(std::array::from_fn(|at| &places[at]), &doing)
        }));
        let revoked = tokio::select! {
            biased;
            () = any_revoked(&leases) => true,
            () = call.cancelled() => false,
            outcome = &mut working => return outcome,
        };
        doing.stop();
        let done = match tokio::time::timeout(GRACE, working).await {
            Ok(Err(CallError::Stopped)) => ". Nothing was changed",
            Ok(outcome) => return outcome,
            Err(_) => ". The disk does not respond, and whether the change was made is not known",
        };
        Err(match revoked {
            true => CallError::Revoked { path: shown, roots: self.in_words(), done },
            false => cancelled(shown, done),
        })
    }

    /// Finds what was asked for under the roots in force, and takes a lease on its root.
    async fn place(&self, asked: Asked) -> Result<(Boundary, Place, Lease), CallError> {
        let boundary = self.current_boundary().await?;
        let (boundary, found) = blocking(move || {
            let found = match asked {
                Asked::Path(path) => boundary.find(path),
                Asked::Resource(path) => boundary.find_local(path),
            };
            (boundary, found)
        })
        .await;
        let place = self.running.counted(found.map_err(CallError::from))?;
        let lease = self.lease(&place).await?;
        Ok((boundary, place, lease))
    }

    async fn lease(&self, place: &Place) -> Result<Lease, CallError> {
        self.roots.lease_at(place.root().clone()).await.map_err(|error| match error {
            LeaseError::Unavailable(unavailable) => unavailable.into(),
            _ => CallError::Revoked { path: place.shown(), roots: self.in_words(), done: "" },
        })
    }

    async fn current_boundary(&self) -> Result<Boundary, Unavailable> {
        let snapshot = self.roots.current().await?;
        let mut kept = self.boundary.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match kept.take_if(|boundary| Arc::ptr_eq(boundary.snapshot(), &snapshot)) {
            Some(boundary) => kept.insert(boundary).clone(),
            None => kept.insert(Boundary::new(snapshot)).clone(),
        })
    }

    /// What a resource's URI names.
    fn resource(&self, uri: &str) -> Result<Asked, ErrorData> {
        match self.roots.snapshot().mapping.read(uri, PathRules::native()).map(|read| read.path().to_native()) {
            Ok(Some(path)) => Ok(Asked::Resource(path)),
            Ok(None) => Err(resources::not_found(uri, "it is a path of another system")),
            Err(refusal) => Err(resources::not_found(uri, &refusal.to_string())),
        }
    }

    fn in_words(&self) -> String {
        mcp_roots::in_words(&self.roots.snapshot())
    }
}

impl Target {
    fn find(&self, boundary: &Boundary) -> Result<Place, BoundaryError> {
        match self {
            Target::Whole(path) => boundary.locate(path),
            Target::Name(path) => boundary.entry(path),
        }
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
        let is_modern = |version: &&ProtocolVersion| **version >= ProtocolVersion::V_2026_07_28;
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        match self.allowed.era {
            Era::Auto => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
            Era::Legacy => known.filter(|version| !is_modern(version)).cloned().collect(),
            Era::Modern => known.filter(is_modern).cloned().collect(),
        }
    }

    /// Arguments that do not fit are a tool's error, which a model is shown and can mend (2025-11-25, server/tools,
    /// Error Handling).
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let known = self.tools.has_route(&request.name);
        match self.tools.call(ToolCallContext::new(self, request, context)).await {
            Err(error) if known && error.code == ErrorCode::INVALID_PARAMS => {
                Ok(tools::failed(&CallError::Argument(error.message.into_owned())).into())
            }
            outcome => outcome,
        }
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let boundary = match self.current_boundary().await {
            Ok(boundary) => boundary,
            // In this era a list cannot ask, and a host asks for it unbidden: it need not be an error there.
            Err(Unavailable::CannotAsk) => {
                return Ok(ListResourcesResult::with_all_items(Vec::new()));
            }
            Err(error) => return Err(ErrorData::internal_error(error.to_string(), None)),
        };
        blocking(move || resources::top_level(&boundary, page.and_then(|page| page.cursor).as_deref())).await
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
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let asked = self.resource(&uri)?;
        let reading = self.at(context, asked, {
            let uri = uri.clone();
            move |place, work| resources::contents(place, &uri, work)
        });
        let contents = reading.await.map_err(|error| no_resource(&uri, error))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let asked = self.resource(&request.uri)?;
        let (_, place, lease) = self.place(asked).await.map_err(|error| no_resource(&request.uri, error))?;
        let key = Key { listener: None, uri: request.uri };
        self.subscriptions
            .add(key, place, lease, Hearer::Session(context.peer))
            .await
            .map_err(|error| ErrorData::invalid_request(error.to_string(), None))
    }

    /// Changes of resources; lists never change within a request, and all that this era has is requests.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten().cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(uris).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let listener = Some(context.request_context().id.clone());
        let uris = context.accepted().resource_subscriptions.iter().flatten().cloned();
        let keys: Vec<Key> = uris.map(|uri| Key { listener: listener.clone(), uri }).collect();
        for key in &keys {
            let asked = self.resource(&key.uri)?;
            let (_, place, lease) = self.place(asked).await.map_err(|error| no_resource(&key.uri, error))?;
            let added = self.subscriptions.add(key.clone(), place, lease, Hearer::Listener(context.sink().clone()));
            added.await.map_err(|error| ErrorData::invalid_request(error.to_string(), None))?;
            // The SDK has told the client that it is heard before anything was watched.
            Hearer::Listener(context.sink().clone()).updated(&key.uri).await;
        }
        tokio::select! {
            () = context.cancelled() => {}
            () = self.roots.closed() => {}
        }
        keys.iter().for_each(|key| self.subscriptions.remove(key));
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&Key { listener: None, uri: request.uri });
        Ok(())
    }
}

/// What came of a call that the client does not want any more. It has no answer, so the log says it.
fn cancelled(path: String, done: &'static str) -> CallError {
    tracing::info!("the client cancelled a call, so it was stopped{done}");
    CallError::Cancelled { path, done }
}

fn no_resource(uri: &str, error: CallError) -> ErrorData {
    match error {
        CallError::Roots(unavailable) => ErrorData::internal_error(unavailable.to_string(), None),
        error => resources::not_found(uri, &error.to_string()),
    }
}

/// Ends when one of the leases is revoked.
async fn any_revoked(leases: &[Lease]) {
    let mut revoked: Vec<_> = leases.iter().map(|lease| Box::pin(lease.revoked())).collect();
    std::future::poll_fn(|context| match revoked.iter_mut().any(|revoked| revoked.as_mut().poll(context).is_ready()) {
        true => std::task::Poll::Ready(()),
        false => std::task::Poll::Pending,
    })
    .await;
}
