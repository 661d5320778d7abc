//! The modern era on a server's side: a handler awaits the client's roots as ever, and its request is returned with
//! `input_required` if they have to be asked for.
//!
//! In protocol 2026-07-28 a server sends no requests. It returns `input_required` with a `roots/list` input request, and
//! the client repeats its request with the answer (2026-07-28, basic/utilities/mrtr). Here a handler that waits for
//! roots is dropped in the middle of its work and its request returned; when it comes again with the answer, the
//! handler runs from its beginning, and does not wait. So a handler should ask for roots before it does anything that
//! must not be done twice.
//!
//! Nothing is kept from one request to the next: each one that needs roots costs the extra round trip.

#![expect(deprecated, reason = "roots are deprecated in the protocol, and they are what this crate is about")]

mod input;
mod state;

use std::borrow::Cow;
use std::sync::Arc;

use mcp_roots_core::server_half::ServerConfig;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest,
    ProtocolVersion, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, Service, ServiceRole};
use rmcp::{RoleServer, ServerHandler};

use crate::describe;
use crate::track::{Roots, Session, TrackOptions};
use input::Input;
use state::States;

/// The key of the input request for roots; a handler's own keys are another's affair.
const KEY: &str = "mcp-roots/roots";

/// A server in either era. Made by [`Roots::serving`].
///
/// In the legacy era it is the server as it is. In the modern era a handler that awaits [`Roots::current`] has its
/// request returned to the client with the question, and is run again with the answer; a handler that returns an
/// `input_required` of its own has the question added to it, if it has asked for roots as well.
#[derive(Clone, Debug)]
pub struct Serving<S> {
    service: S,
    roots: Roots,
    config: ServerConfig,
    states: Arc<States>,
}

impl Roots {
    /// Has `server`, whose handlers hold these roots, serve the modern era too.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use rmcp::ServiceExt;
    ///
    /// let (transport, roots) = mcp_roots::track(mcp_roots::wire::stdio(), Default::default());
    /// # struct MyServer { roots: mcp_roots::Roots }
    /// # impl rmcp::ServerHandler for MyServer {}
    /// let server = MyServer { roots: roots.clone() };
    /// roots.serving(server).serve(transport).await?.waiting().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn serving<S: ServerHandler>(&self, server: S) -> Serving<S> {
        let config = self.own_session().config();
        Serving { service: server, roots: self.clone(), config, states: Arc::new(States::new()) }
    }

    /// Roots that no connection has: for a server whose every request brings its own, as all do in the modern era.
    pub fn of_requests(options: TrackOptions) -> Self {
        Roots::new(Arc::new(Session::new(options.into_config())))
    }
}

impl<S: ServerHandler> Serving<S> {
    /// Handles a request of the modern era, or finds out that it has to be returned first.
    async fn handle_modern(
        &self,
        mut request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let capabilities = context.client_capabilities();
        let declared = capabilities.is_some_and(|capabilities| describe::declares_roots(&capabilities));
        let input = Input::open(&mut request, &self.states)?;
        let session = Arc::new(Session::of_request(self.config.clone(), declared));
        let counts = session.would_ask();
        if let Some(answer) = input.as_ref().and_then(|input| input.roots.clone()) {
            session.answer(describe::listed_json(answer));
        }
        let roots = Roots::new(session.clone());
        context.extensions.insert(roots.clone());
        let handling = roots.within(&self.roots, self.service.handle_request(request, context));
        let mut handling = std::pin::pin!(handling);
        let mut result = loop {
            tokio::select! {
                biased;
                result = &mut handling => break result?,
                () = session.needs_client() => match input {
                    Some(input) => return Ok(question(input.carry_on(&self.states))),
                    None => session.cannot_ask(),
                },
            }
        };
        let answered = input.is_some_and(|input| input.roots.is_some());
        if let ServerResult::InputRequiredResult(returned) = &mut result
            && counts
            && (answered || session.is_wanted())
        {
            // What is not asked for again is not there when the request comes again.
            add_question(returned.input_requests.get_or_insert_default());
        }
        Ok(result)
    }
}

/// A request is returned with nothing but the question for roots.
fn question(carried: Option<String>) -> ServerResult {
    let mut questions = InputRequests::new();
    add_question(&mut questions);
    ServerResult::InputRequiredResult(InputRequiredResult::new(Some(questions), carried))
}

fn add_question(questions: &mut InputRequests) {
    questions.insert(KEY.into(), InputRequest::ListRoots(ListRootsRequest::default()));
}

impl<S: ServerHandler> Service<RoleServer> for Serving<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let modern = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        if modern && !matches!(request, ClientRequest::InitializeRequest(_)) {
            return self.handle_modern(request, context).await;
        }
        // Where a server has many sessions, each message brings its own session's roots along.
        let of_session = Roots::of(&context.extensions).cloned();
        let handling = self.service.handle_request(request, context);
        match of_session {
            Some(roots) => roots.within(&self.roots, handling).await,
            None => handling.await,
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.service.handle_notification(notification, context).await
    }

    fn get_info(&self) -> <RoleServer as ServiceRole>::Info {
        ServerHandler::get_info(&self.service)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.service)
    }
}
