//! The modern era on a host's side: a server asks for roots by returning a request, and gets it again with the answer.
//!
//! In protocol 2026-07-28 a server returns `input_required` with input requests, and the client repeats its request with
//! the responses, under a new id and with the state that the server gave (2026-07-28, basic/utilities/mrtr). A request
//! that is returned for roots alone is repeated here, and whoever made it sees only how it ends. One that is returned
//! for other things too goes to whoever made it without the question for roots, and the answer is put in when it is
//! repeated.

use std::collections::{HashMap, VecDeque};

use mcp_roots_core::frame::RequestId;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, InputRequest, InputRequiredResult,
    InputResponses, JsonRpcMessage, NumberOrString, ServerJsonRpcMessage, ServerResult,
};
use serde_json::Value;

use crate::describe::{self, half_id};

/// How often one request is repeated: as often as SDKs repeat theirs.
const MOST_ROUNDS: usize = 10;
/// How many answers wait for their requests to be repeated. Whoever made them may have given up.
const MOST_SET_ASIDE: usize = 64;

/// The requests that a server may return.
#[derive(Default)]
pub(super) struct Rounds {
    /// By the id that the server knows.
    open: HashMap<RequestId, Round>,
    set_aside: VecDeque<SetAside>,
    repeated: u64,
}

struct Round {
    /// The id that whoever made the request knows.
    known_as: NumberOrString,
    request: ClientRequest,
    repeats: usize,
}

/// Answers on roots for a request that is expected again.
struct SetAside {
    state: Option<String>,
    asked_for: Vec<u8>,
    answers: InputResponses,
}

/// What becomes of a message from the server.
pub(super) enum Arrived {
    Pass(ServerJsonRpcMessage),
    /// It was for us: this goes back.
    Repeat(ClientJsonRpcMessage),
}

impl Rounds {
    /// A message of the modern era is about to be sent.
    pub(super) fn leaving(&mut self, message: &mut ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                let asked_for = describe::asked_for(&request.request);
                let Some((responses, state)) = describe::input_of(&mut request.request) else { return };
                let returned = responses.is_some() || state.is_some();
                let expected = |aside: &SetAside| aside.state == *state && aside.asked_for == asked_for;
                if returned && let Some(place) = self.set_aside.iter().position(expected) {
                    let answers = self.set_aside.remove(place).map(|aside| aside.answers);
                    responses.get_or_insert_default().extend(answers.unwrap_or_default());
                }
                let round = Round { known_as: request.id.clone(), request: request.request.clone(), repeats: 0 };
                self.open.insert(half_id(&request.id), round);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &mut notification.notification
                    && let Some(id) = &mut cancelled.params.request_id
                    && let Some(current) = self.open.iter().find(|(_, round)| round.known_as == *id).map(|(id, _)| id)
                {
                    *id = describe::wire_id(current.clone());
                }
            }
            _ => {}
        }
    }

    /// A message from the server has been read. `roots` gives what a question is answered with, if it is.
    pub(super) fn arriving(
        &mut self,
        mut message: ServerJsonRpcMessage,
        roots: impl FnOnce() -> Option<Value>,
    ) -> Arrived {
        let Some(round) = describe::message_id(&message).and_then(|id| self.open.remove(&id)) else {
            return Arrived::Pass(message);
        };
        match &mut message {
            JsonRpcMessage::Response(response) => {
                response.id = round.known_as.clone();
                if let ServerResult::InputRequiredResult(returned) = &mut response.result
                    && asks_for_roots(returned)
                    && let Some(roots) = roots()
                {
                    let answers = answered(returned, &roots);
                    if returned.input_requests.as_ref().is_none_or(|questions| questions.is_empty()) {
                        return self.repeat(round, answers, returned.request_state.take());
                    }
                    self.set_aside(&round.request, returned.request_state.clone(), answers);
                }
            }
            JsonRpcMessage::Error(error) => error.id = Some(round.known_as),
            _ => {}
        }
        Arrived::Pass(message)
    }

    fn repeat(&mut self, mut round: Round, answers: InputResponses, given: Option<String>) -> Arrived {
        round.repeats += 1;
        if round.repeats > MOST_ROUNDS {
            let text = format!("the server has returned this request with a question for roots {MOST_ROUNDS} times");
            return Arrived::Pass(JsonRpcMessage::error(ErrorData::internal_error(text, None), Some(round.known_as)));
        }
        let mut request = round.request.clone();
        if let Some((responses, state)) = describe::input_of(&mut request) {
            *responses = Some(answers);
            *state = given;
        }
        self.repeated += 1;
        // Text, since SDKs number their requests.
        let id = NumberOrString::String(format!("mcp-roots:again:{}", self.repeated).into());
        self.open.insert(half_id(&id), round);
        Arrived::Repeat(JsonRpcMessage::request(request, id))
    }

    fn set_aside(&mut self, request: &ClientRequest, state: Option<String>, answers: InputResponses) {
        self.set_aside.push_back(SetAside { state, asked_for: describe::asked_for(request), answers });
        if self.set_aside.len() > MOST_SET_ASIDE {
            self.set_aside.pop_front();
        }
    }
}

fn asks_for_roots(returned: &InputRequiredResult) -> bool {
    returned.input_requests.iter().flat_map(|questions| questions.values()).any(is_for_roots)
}

fn is_for_roots(question: &InputRequest) -> bool {
    matches!(question, InputRequest::ListRoots(_))
}

/// Takes the questions for roots out, and gives their answers.
fn answered(returned: &mut InputRequiredResult, roots: &Value) -> InputResponses {
    let mut answers = InputResponses::new();
    if let Some(questions) = &mut returned.input_requests {
        questions.retain(|key, question| {
            let ours = is_for_roots(question);
            if ours {
                answers.insert(key.clone(), roots.clone());
            }
            !ours
        });
    }
    answers
}
