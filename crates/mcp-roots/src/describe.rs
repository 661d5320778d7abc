//! Describes rmcp's messages to the halves, and makes messages of what the halves want said.

#![expect(deprecated, reason = "roots are deprecated in the protocol, and they are what this crate is about")]

use mcp_roots_core::frame::{Answer, ClientFrame, RequestId, RootsCapability, ServerFrame};
use mcp_roots_core::set::{RawRoot, RootSet};
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult, ErrorCode, ErrorData,
    GetMeta, InputResponses, JsonRpcMessage, ListRootsRequest, ListRootsResult, NumberOrString, ProtocolVersion,
    ResourceListChangedNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam, Root,
    RootsCapabilities, RootsListChangedNotification, ServerJsonRpcMessage, ServerNotification, ServerRequest,
    ServerResult,
};
use rmcp::service::OriginatingRequestId;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) fn half_id(id: &NumberOrString) -> RequestId {
    match id {
        NumberOrString::Number(number) => RequestId::Number(*number),
        NumberOrString::String(text) => RequestId::Text(text.clone()),
    }
}

/// The id of a request, or of the request that a response is for.
pub(crate) fn message_id<Req, Resp, Not>(message: &JsonRpcMessage<Req, Resp, Not>) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(half_id(&request.id)),
        JsonRpcMessage::Response(response) => Some(half_id(&response.id)),
        JsonRpcMessage::Error(error) => error.id.as_ref().map(half_id),
        JsonRpcMessage::Notification(_) => None,
    }
}

pub(crate) fn wire_id(id: RequestId) -> NumberOrString {
    match id {
        RequestId::Number(number) => NumberOrString::Number(number),
        RequestId::Text(text) => NumberOrString::String(text),
    }
}

/// Describes a message from a client. `id` is the message's own, as [`message_id`] gives it; an
/// answer is read only if the half `awaits` it.
pub(crate) fn client_frame<'a>(
    message: &'a ClientJsonRpcMessage,
    id: Option<&'a RequestId>,
    awaits: impl Fn(&RequestId) -> bool,
) -> ClientFrame<'a> {
    match (message, id) {
        (JsonRpcMessage::Request(request), Some(id)) => match &request.request {
            ClientRequest::InitializeRequest(initialize) => ClientFrame::Initialize {
                roots: initialize
                    .params
                    .capabilities
                    .roots
                    .as_ref()
                    .map(|roots| RootsCapability { list_changed: roots.list_changed.unwrap_or(false) }),
            },
            modern if is_modern(modern) => ClientFrame::ModernRequest,
            ClientRequest::SubscribeRequest(subscribe) => ClientFrame::Subscribe { id, uri: &subscribe.params.uri },
            ClientRequest::UnsubscribeRequest(unsubscribe) => ClientFrame::Unsubscribe { uri: &unsubscribe.params.uri },
            ClientRequest::PingRequest(_) => ClientFrame::Ping,
            _ => ClientFrame::Request,
        },
        (JsonRpcMessage::Notification(notification), _) => match &notification.notification {
            ClientNotification::InitializedNotification(_) => ClientFrame::Initialized,
            ClientNotification::RootsListChangedNotification(_) => ClientFrame::ListChanged,
            _ => ClientFrame::Other,
        },
        (JsonRpcMessage::Response(response), Some(id)) if awaits(id) => {
            ClientFrame::Answer { id, answer: listed(&response.result) }
        }
        (JsonRpcMessage::Error(error), Some(id)) if awaits(id) => ClientFrame::Answer {
            id,
            answer: Answer::Error { code: error.error.code.0.into(), message: error.error.message.to_string() },
        },
        _ => ClientFrame::Other,
    }
}

/// The input that came with a request, and the state: only these three requests may be returned with questions
/// (2026-07-28, basic/utilities/mrtr).
pub(crate) fn input_of(request: &mut ClientRequest) -> Option<(&mut Option<InputResponses>, &mut Option<String>)> {
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

/// What a request asks for: all of it but what changes from one round to the next.
pub(crate) fn asked_for(request: &impl Serialize) -> Vec<u8> {
    let mut value = serde_json::to_value(request).unwrap_or_default();
    if let Some(params) = value.get_mut("params").and_then(Value::as_object_mut) {
        for changing in ["_meta", "inputResponses", "requestState"] {
            params.remove(changing);
        }
    }
    value.to_string().into_bytes()
}

/// Whether a request is of the modern era: those say so themselves.
pub(crate) fn is_modern(request: &ClientRequest) -> bool {
    request.get_meta().protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Whether a client has roots to give.
pub(crate) fn declares_roots(capabilities: &ClientCapabilities) -> bool {
    capabilities.roots.is_some()
}

/// Describes a message from a server.
pub(crate) fn server_frame<'a>(message: &'a ServerJsonRpcMessage, id: Option<&'a RequestId>) -> ServerFrame<'a> {
    match (message, id) {
        (JsonRpcMessage::Request(request), Some(id))
            if matches!(request.request, ServerRequest::ListRootsRequest(_)) =>
        {
            ServerFrame::ListRoots { id }
        }
        (JsonRpcMessage::Response(response), Some(id)) => match &response.result {
            ServerResult::InitializeResult(initialized) => {
                let resources = initialized.capabilities.resources.as_ref();
                ServerFrame::InitializeResult {
                    resources_list_changed: resources.and_then(|resources| resources.list_changed).unwrap_or(false),
                }
            }
            _ => ServerFrame::Reply { id, error: None },
        },
        (JsonRpcMessage::Error(error), Some(id)) => ServerFrame::Reply { id, error: Some(error.error.code.0.into()) },
        (JsonRpcMessage::Notification(notification), _) => match &notification.notification {
            ServerNotification::ResourceUpdatedNotification(updated) => {
                ServerFrame::ResourceUpdated { uri: &updated.params.uri }
            }
            _ => ServerFrame::Other,
        },
        _ => ServerFrame::Other,
    }
}

pub(crate) fn list_roots(id: RequestId) -> ServerJsonRpcMessage {
    let request = ListRootsRequest { method: Default::default(), extensions: Default::default() };
    JsonRpcMessage::request(ServerRequest::ListRootsRequest(request), wire_id(id))
}

/// As [`list_roots`], marked as belonging to a request of the client's, whose stream it goes out on.
pub(crate) fn list_roots_within(id: RequestId, request: RequestId) -> ServerJsonRpcMessage {
    let mut message = list_roots(id);
    message.insert_extension(OriginatingRequestId(wire_id(request)));
    message
}

/// Whether a message is a request that a question can be asked within: any but the first.
pub(crate) fn is_request_within_session(message: &ClientJsonRpcMessage) -> bool {
    match message {
        JsonRpcMessage::Request(request) => !matches!(request.request, ClientRequest::InitializeRequest(_)),
        _ => false,
    }
}

pub(crate) fn resource_updated(uri: &str) -> ServerJsonRpcMessage {
    let updated = ResourceUpdatedNotification::new(ResourceUpdatedNotificationParam::new(uri));
    JsonRpcMessage::notification(ServerNotification::ResourceUpdatedNotification(updated))
}

pub(crate) fn resource_list_changed() -> ServerJsonRpcMessage {
    let changed = ResourceListChangedNotification { method: Default::default(), extensions: Default::default() };
    JsonRpcMessage::notification(ServerNotification::ResourceListChangedNotification(changed))
}

pub(crate) fn roots_list_changed() -> ClientJsonRpcMessage {
    let changed = RootsListChangedNotification { method: Default::default(), extensions: Default::default() };
    JsonRpcMessage::notification(ClientNotification::RootsListChangedNotification(changed))
}

pub(crate) fn roots_answer(id: RequestId, roots: &RootSet) -> ClientJsonRpcMessage {
    JsonRpcMessage::response(ClientResult::ListRootsResult(roots_result(roots)), wire_id(id))
}

/// What a question for roots is answered with, as JSON.
pub(crate) fn roots_json(roots: &RootSet) -> Value {
    json!(roots_result(roots))
}

fn roots_result(roots: &RootSet) -> ListRootsResult {
    let roots = roots.iter().map(|root| {
        let wire = Root::new(root.uri.as_str());
        match &root.name {
            Some(name) => wire.with_name(name.as_ref()),
            None => wire,
        }
    });
    ListRootsResult::new(roots.collect())
}

pub(crate) fn roots_refusal(id: RequestId) -> ClientJsonRpcMessage {
    let error =
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Roots not supported: this client did not declare them", None);
    JsonRpcMessage::error(error, Some(wire_id(id)))
}

/// Declares the capability, or none, in the place of whatever stood there: in an `initialize` request, or in any request
/// of the modern era, which has no announcements to declare.
pub(crate) fn declare(message: &mut ClientJsonRpcMessage, capability: Option<RootsCapability>) {
    let JsonRpcMessage::Request(request) = message else { return };
    let mut roots = capability.map(|_| RootsCapabilities::default());
    if let ClientRequest::InitializeRequest(initialize) = &mut request.request {
        if let (Some(roots), Some(capability)) = (&mut roots, capability) {
            roots.list_changed = Some(capability.list_changed);
        }
        initialize.params.capabilities.roots = roots;
    } else {
        let meta = request.request.get_meta_mut();
        let mut capabilities = meta.client_capabilities().unwrap_or_default();
        capabilities.roots = roots;
        meta.set_client_capabilities(capabilities);
    }
}

/// Reads the entries of an answer one by one, so that a malformed one loses itself and not the list.
fn listed(result: &ClientResult) -> Answer {
    match result {
        ClientResult::ListRootsResult(result) => Answer::Listed(
            result
                .roots
                .iter()
                .map(|root| RawRoot::Listed { uri: root.uri.clone(), name: root.name.clone() })
                .collect(),
        ),
        // Whatever else the SDK took it for: its JSON says what it was.
        other => match serde_json::to_value(other) {
            Ok(value) => listed_json(value),
            Err(error) => Answer::Unreadable(error.to_string()),
        },
    }
}

pub(crate) fn listed_json(mut result: Value) -> Answer {
    match result.get_mut("roots").map(Value::take) {
        Some(Value::Array(entries)) => Answer::Listed(entries.into_iter().map(entry).collect()),
        Some(other) => Answer::Unreadable(format!("`roots` is {}, not an array", kind(&other))),
        None => Answer::Unreadable(format!("the result is {} without `roots`", kind(&result))),
    }
}

fn entry(value: Value) -> RawRoot {
    let reason = match (value.get("uri"), value.get("name")) {
        (Some(Value::String(uri)), name) => {
            // A name is decoration: one that is not text is left out, and the root stands.
            return RawRoot::Listed { uri: uri.clone(), name: name.and_then(Value::as_str).map(String::from) };
        }
        (Some(other), _) => format!("its `uri` is {}, not a text", kind(other)),
        (None, _) if value.is_object() => "it has no `uri`".into(),
        (None, _) => format!("it is {}, not an object", kind(&value)),
    };
    RawRoot::Malformed { shown: value.to_string(), reason }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_entry_loses_itself_and_not_the_list() {
        let answer = listed_json(json!({"roots": [
            {"uri": "file:///a", "name": 7}, 5, {"name": "x"}, {"uri": null}, {"uri": "file:///b", "name": "b"}
        ]}));
        let Answer::Listed(entries) = answer else { panic!("{answer:?}") };
        let shape: Vec<_> = entries
            .iter()
            .map(|entry| match entry {
                RawRoot::Listed { uri, name } => (uri.as_str(), name.as_deref()),
                RawRoot::Malformed { reason, .. } => (reason.as_str(), None),
            })
            .collect();
        assert_eq!(
            shape,
            [
                ("file:///a", None),
                ("it is a number, not an object", None),
                ("it has no `uri`", None),
                ("its `uri` is null, not a text", None),
                ("file:///b", Some("b")),
            ]
        );
    }

    #[test]
    fn what_is_no_list_says_what_it_is() {
        assert_eq!(listed_json(json!({"roots": "x"})), Answer::Unreadable("`roots` is a text, not an array".into()));
        assert_eq!(listed_json(json!({})), Answer::Unreadable("the result is an object without `roots`".into()));
    }
}
