//! The modern era on a server's side: a handler awaits the client's roots as ever, and its request is returned with
//! `input_required` if they have to be asked for.
//!
//! In protocol 2026-07-28 a server sends no requests. It returns `input_required` with a `roots/list` input request, and
//! the client repeats its request with the answer (2026-07-28, basic/utilities/mrtr). Here a handler that waits for
//! roots is dropped in the middle of its work and its request returned; when it comes again with the answer, the
//! handler runs from its beginning, and does not wait. So a handler should ask for roots before it does anything that
//! must not be done twice.
//!
//! Nothing is cached across requests: each one that needs roots is returned once. A call then takes 2.1 times as long as
//! one that needs none, over pipes and over HTTP (`cargo bench -p mcp-roots-cli --bench change`). A cache would have to
//! know whose roots it holds, and until when: there is no session that a client could be known by, and no notification
//! of a change. What is put aside in a request's state is that request's own.

#![expect(deprecated, reason = "roots are deprecated in the protocol, and they are what this crate is about")]

mod handler;
mod input;
mod state;

use std::future::Future;
use std::sync::Arc;

use mcp_roots_core::server_half::ServerConfig;
use rmcp::model::{ErrorData, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use crate::describe;
use crate::track::{Roots, Session, TrackOptions};
use input::{Input, Returnable, Returned};
pub(crate) use state::States;

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
        let (config, states) = (self.own_session().config(), self.own_session().states());
        Serving { service: server, roots: self.clone(), config, states }
    }

    /// Roots that no connection has: for a server whose every request brings its own, as all do in the modern era.
    ///
    /// Make them once, however many servers hold them: a request that comes again must find the state that it was
    /// returned with good, and only servers that hold the same roots know each other's states.
    pub fn of_requests(options: TrackOptions) -> Self {
        Roots::new(Arc::new(Session::new(options.into_config())))
    }
}

impl<S: ServerHandler> Serving<S> {
    /// Handles a request in whose task the roots that its handler holds are those of its session, or its own.
    async fn here<F: Future>(
        &self,
        mut context: RequestContext<RoleServer>,
        handle: impl FnOnce(RequestContext<RoleServer>) -> F,
    ) -> F::Output {
        if !is_modern(&context) {
            // Where a server has many sessions, each message brings its own session's roots along.
            let of_session = Roots::of(&context.extensions).cloned();
            return of_session.unwrap_or_else(|| self.roots.clone()).within(&self.roots, handle(context)).await;
        }
        let session = self.session_of(&context);
        context.extensions.insert(Roots::new(session.clone()));
        self.without_asking(session, handle(context)).await
    }

    /// Handles what cannot be returned, with the roots of its own request: a handler that waits for the client is told
    /// at once that it cannot be asked.
    async fn without_asking<F: Future>(&self, session: Arc<Session>, handling: F) -> F::Output {
        let mut handling = std::pin::pin!(Roots::new(session.clone()).within(&self.roots, handling));
        loop {
            tokio::select! {
                biased;
                outcome = &mut handling => return outcome,
                () = session.needs_client() => session.cannot_ask(),
            }
        }
    }

    /// As [`Serving::here`], for a request that may be returned: it is, if its handler waits for roots.
    async fn here_or_returned<P: Returnable, R: Returned, F: Future<Output = Result<R, ErrorData>>>(
        &self,
        mut request: P,
        mut context: RequestContext<RoleServer>,
        handle: impl FnOnce(P, RequestContext<RoleServer>) -> F,
    ) -> Result<R, ErrorData> {
        if !is_modern(&context) {
            return self.here(context, |context| handle(request, context)).await;
        }
        let input = Input::open(&mut request, &self.states)?;
        let session = self.session_of(&context);
        let counts = session.would_ask();
        if let Some(answer) = input.roots.clone() {
            session.answer(describe::listed_json(answer));
        }
        let roots = Roots::new(session.clone());
        context.extensions.insert(roots.clone());
        let handling = roots.within(&self.roots, handle(request, context));
        tokio::select! {
            biased;
            result = handling => {
                let mut result = result?;
                if let Some(returned) = result.returned()
                    && counts
                    && (input.roots.is_some() || session.is_wanted())
                {
                    // What is not asked for again is not there when the request comes again.
                    add_question(returned.input_requests.get_or_insert_default());
                }
                Ok(result)
            }
            () = session.needs_client() => {
                let mut questions = InputRequests::new();
                add_question(&mut questions);
                Ok(InputRequiredResult::new(Some(questions), input.carry_on(&self.states)).into())
            }
        }
    }

    fn session_of(&self, context: &RequestContext<RoleServer>) -> Arc<Session> {
        let capabilities = context.client_capabilities();
        let declared = capabilities.is_some_and(|capabilities| describe::declares_roots(&capabilities));
        Arc::new(Session::of_request(self.config.clone(), declared))
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn add_question(questions: &mut InputRequests) {
    questions.insert(KEY.into(), InputRequest::ListRoots(ListRootsRequest::default()));
}
