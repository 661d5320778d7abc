//! What a request that comes again brings along, and what it must bring along the next time.

use rmcp::model::{ClientRequest, ErrorData};
use serde_json::Value;

use super::KEY;
use super::state::{Carried, States};
use crate::describe;

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
        let Some((responses, state)) = describe::input_of(request) else { return Ok(None) };
        let mut others = Carried { state: state.take(), responses: responses.take().unwrap_or_default() };
        let roots = others.responses.remove(KEY);
        let bound = describe::asked_for(request);
        if let Some(mut earlier) = others.state.as_deref().and_then(|state| states.open(state, &bound)).transpose()? {
            earlier.responses.append(&mut others.responses);
            others = earlier;
        }
        if let Some((responses, state)) = describe::input_of(request) {
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
