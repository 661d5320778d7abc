//! What a request that comes again brings along, and what it must bring along the next time.

use rmcp::model::{ClientRequest, ErrorData, InputResponses};
use serde_json::Value;

use super::KEY;
use super::state::{Carried, States};

/// What came with a request that may be returned with questions: tools/call, prompts/get or resources/read
/// (2026-07-28, basic/utilities/mrtr).
pub(super) struct Input {
    /// The answer on roots.
    pub(super) roots: Option<Value>,
    /// What else came, which is the handler's. A client sends it with one repetition and no further.
    others: Carried,
    /// What the request asks for, to which its state is bound.
    bound: Vec<u8>,
}

impl Input {
    /// Takes the answer on roots out of a request, and gives back to it what an earlier round has put aside. `None`
    /// for a request that cannot be returned.
    ///
    /// # Errors
    ///
    /// When the state is ours and has expired, was altered, or belongs to another request.
    pub(super) fn open(request: &mut ClientRequest, states: &States) -> Result<Option<Self>, ErrorData> {
        let Some((responses, state)) = parts(request) else { return Ok(None) };
        let mut others = Carried { state: state.take(), responses: responses.take().unwrap_or_default() };
        let roots = others.responses.remove(KEY);
        let bound = asked_for(request);
        if let Some(mut earlier) = others.state.as_deref().and_then(|state| states.open(state, &bound)).transpose()? {
            earlier.responses.append(&mut others.responses);
            others = earlier;
        }
        if let Some((responses, state)) = parts(request) {
            *state = others.state.clone();
            *responses = Some(others.responses.clone()).filter(|responses| !responses.is_empty());
        }
        Ok(Some(Input { roots, others, bound }))
    }

    /// What the request must bring along when it comes again with nothing but the answer on roots.
    pub(super) fn carry_on(self, states: &States) -> Option<String> {
        let Carried { state, responses } = &self.others;
        (state.is_some() || !responses.is_empty()).then(|| states.seal(&self.others, &self.bound))
    }
}

fn parts(request: &mut ClientRequest) -> Option<(&mut Option<InputResponses>, &mut Option<String>)> {
    match request {
        ClientRequest::CallToolRequest(request) => {
            Some((&mut request.params.input_responses, &mut request.params.request_state))
        }
        ClientRequest::GetPromptRequest(request) => {
            Some((&mut request.params.input_responses, &mut request.params.request_state))
        }
        ClientRequest::ReadResourceRequest(request) => {
            Some((&mut request.params.input_responses, &mut request.params.request_state))
        }
        _ => None,
    }
}

/// A request without what changes from one round to the next. Its input has been taken out of it.
fn asked_for(request: &ClientRequest) -> Vec<u8> {
    let mut value = serde_json::to_value(request).unwrap_or_default();
    if let Some(params) = value.get_mut("params").and_then(Value::as_object_mut) {
        params.remove("_meta");
    }
    value.to_string().into_bytes()
}
