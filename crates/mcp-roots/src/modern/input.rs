//! What a request that comes again brings along, and what it must bring along the next time.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse, InputRequiredResult,
    InputResponses, ReadResourceRequestParams, ReadResourceResponse,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::KEY;
use super::state::{Carried, States};
use crate::describe;

/// A request that may be returned with questions (2026-07-28, basic/utilities/mrtr).
pub(super) trait Returnable: Serialize {
    const METHOD: &'static str;

    /// The answers that came with it, and the state.
    fn input(&mut self) -> (&mut Option<InputResponses>, &mut Option<String>);
}

/// What comes of such a request.
pub(super) trait Returned: From<InputRequiredResult> {
    /// The questions, if it is returned.
    fn returned(&mut self) -> Option<&mut InputRequiredResult>;
}

macro_rules! returnable {
    ($($method:literal: $request:ident -> $response:ident;)*) => {$(
        impl Returnable for $request {
            const METHOD: &'static str = $method;

            fn input(&mut self) -> (&mut Option<InputResponses>, &mut Option<String>) {
                (&mut self.input_responses, &mut self.request_state)
            }
        }

        impl Returned for $response {
            fn returned(&mut self) -> Option<&mut InputRequiredResult> {
                match self {
                    $response::InputRequired(returned) => Some(returned),
                    _ => None,
                }
            }
        }
    )*};
}

returnable! {
    "tools/call": CallToolRequestParams -> CallToolResponse;
    "prompts/get": GetPromptRequestParams -> GetPromptResponse;
    "resources/read": ReadResourceRequestParams -> ReadResourceResponse;
}

/// What came with a request.
pub(super) struct Input {
    /// The answer on roots.
    pub(super) roots: Option<Value>,
    /// What else came, which is the handler's. A client sends it with one repetition and no further.
    others: Carried,
    /// What the request asks for, to which its state is bound.
    bound: Vec<u8>,
}

impl Input {
    /// Takes the answer on roots out of a request, and gives back to it what an earlier round has put aside.
    ///
    /// # Errors
    ///
    /// When the state is ours and has expired, was altered, or belongs to another request.
    pub(super) fn open<P: Returnable>(request: &mut P, states: &States) -> Result<Self, ErrorData> {
        let (responses, state) = request.input();
        let mut others = Carried { state: state.take(), responses: responses.take().unwrap_or_default() };
        let roots = others.responses.remove(KEY);
        let bound = describe::asked_for(&json!({ "method": P::METHOD, "params": &*request }));
        if let Some(mut earlier) = others.state.as_deref().and_then(|state| states.open(state, &bound)).transpose()? {
            earlier.responses.append(&mut others.responses);
            others = earlier;
        }
        let (responses, state) = request.input();
        *state = others.state.clone();
        *responses = Some(others.responses.clone()).filter(|responses| !responses.is_empty());
        Ok(Input { roots, others, bound })
    }

    /// What the request must bring along when it comes again with nothing but the answer on roots.
    pub(super) fn carry_on(self, states: &States) -> Option<String> {
        let Carried { state, responses } = &self.others;
        let any = state.is_some() || !responses.is_empty();
        any.then(|| states.seal(self.others, &self.bound))
    }
}
