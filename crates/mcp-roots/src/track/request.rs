//! One request of the modern era as a conversation of its own, so that the half that tracks a session's roots also
//! finds out a request's.
//!
//! There is no session there (2026-07-28, basic/index, Statelessness): what the client declares and answers comes with
//! the request. So a half is told, in one go, of a client that has shaken hands and has answered, if it has; and a
//! question that the half would send, if somebody waits for the answer, is one that the request is to be returned
//! with.

use mcp_roots_core::frame::{Answer, ClientFrame, RequestId, RootsCapability, ServerFrame};
use mcp_roots_core::server_half::{Refresh, ServerConfig};
use rmcp::model::ServerJsonRpcMessage;

use super::Session;
use crate::describe;

impl Session {
    /// The roots of one request, whose client has some to give or not.
    pub(crate) fn of_request(config: ServerConfig, declared: bool) -> Self {
        // The client is asked once. An answer that comes to nothing it would only give again, and one cannot be old that
        // came with the request.
        let session = Session::open(ServerConfig { patience: 1, refresh: Refresh::Static, ..config }, true);
        // No change is announced in this era, and none can happen within a request.
        let roots = declared.then_some(RootsCapability { list_changed: false });
        session.turn(|books, now| {
            // Nothing here is a message on a wire, so there is nothing to hand on.
            let _ = books.half.handle_inbound(ClientFrame::Initialize { roots }, now);
            let _ = books.half.handle_outbound(ServerFrame::InitializeResult { resources_list_changed: false }, now);
            let _ = books.half.handle_inbound(ClientFrame::Initialized, now);
        });
        session
    }

    /// Whether the client's roots count, so that it is the one to ask.
    pub(crate) fn would_ask(&self) -> bool {
        !self.books().outbox.questions.is_empty()
    }

    /// The client's answer came with the request.
    pub(crate) fn answer(&self, answer: Answer) {
        if let Some(id) = self.question() {
            self.turn(|books, now| {
                let _ = books.half.handle_inbound(ClientFrame::Answer { id: &id, answer }, now);
            });
        }
    }

    /// There is a hint that the set has changed: for a request that is no matter, and the next one asks anyway.
    pub(crate) fn cue(&self) {
        if !self.of_request {
            self.turn(|books, now| books.half.handle_cue(now));
        }
    }

    /// The question cannot be put to the client, and whoever waits hears that.
    pub(crate) fn cannot_ask(&self) {
        self.turn(|books, now| books.half.handle_no_way(now));
    }

    /// Ends when somebody waits for roots that only the client can give.
    pub(crate) async fn needs_client(&self) {
        while self.books().waits.is_empty() {
            self.woken.notified().await;
        }
    }

    fn question(&self) -> Option<RequestId> {
        match self.books().outbox.questions.pop_front()? {
            ServerJsonRpcMessage::Request(question) => Some(describe::half_id(&question.id)),
            _ => None,
        }
    }
}
