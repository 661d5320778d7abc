//! What to answer to a line that is no message.

#![expect(deprecated, reason = "logging is deprecated in the protocol, and still spoken")]

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, CompleteRequestParams, GetPromptRequestParams,
    InitializeRequestParams, JsonRpcMessage, NumberOrString, ReadResourceRequestParams, SetLevelRequestParams,
    SubscribeRequestParams, UnsubscribeRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// An error response, as a line. `id` is null where the request's could not be read (JSON-RPC 2.0, section 5).
pub(super) struct Refused {
    id: Value,
    code: i64,
    message: String,
}

impl Refused {
    pub(super) fn too_long(limit: usize) -> Self {
        Refused::unread(
            INVALID_REQUEST,
            format!("The line is longer than {limit} bytes, which is the limit; it was dropped"),
        )
    }

    pub(super) fn empty_batch() -> Self {
        Refused::unread(INVALID_REQUEST, "The batch is empty".into())
    }

    /// What to answer to a line that could not be read as a message; nothing, if it was an answer itself.
    pub(super) fn unreadable(line: &[u8]) -> Option<Self> {
        match serde_json::from_slice::<Value>(line) {
            Err(error) => Some(Refused::unread(PARSE_ERROR, format!("The line is not JSON: {error}"))),
            Ok(value) => Refused::no_message(&value),
        }
    }

    /// What to answer to JSON that is no message; nothing, if it was an answer itself.
    pub(super) fn no_message(value: &Value) -> Option<Self> {
        if value.get("result").is_some() || value.get("error").is_some() {
            return None;
        }
        let id = value.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        let message = match value {
            Value::Object(object) if object.get("jsonrpc") != Some(&json!("2.0")) => "`jsonrpc` is not \"2.0\"",
            Value::Object(object) if !object.get("method").is_some_and(Value::is_string) => "`method` is not a text",
            Value::Object(_) => "it is not a request, a response or a notification of MCP",
            _ => "it is not an object",
        };
        Some(Refused {
            id: id.cloned().unwrap_or(Value::Null),
            code: INVALID_REQUEST,
            message: format!("The line is not a JSON-RPC message: {message}"),
        })
    }

    pub(super) fn to_line(&self) -> Vec<u8> {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string().into_bytes()
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    fn unread(code: i64, message: String) -> Self {
        Refused { id: Value::Null, code, message }
    }
}

/// The answer to a request of a known method whose parameters do not fit. The SDK takes such a request for a
/// method of somebody else's and would answer that it knows no such method.
pub(super) fn misfit(message: &ClientJsonRpcMessage) -> Option<Refused> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let ClientRequest::CustomRequest(custom) = &request.request else {
        return None;
    };
    let params = custom.params.clone().unwrap_or_else(|| json!({}));
    let reason = match custom.method.as_str() {
        "initialize" => why::<InitializeRequestParams>(params),
        "tools/call" => why::<CallToolRequestParams>(params),
        "prompts/get" => why::<GetPromptRequestParams>(params),
        "resources/read" => why::<ReadResourceRequestParams>(params),
        "resources/subscribe" => why::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => why::<UnsubscribeRequestParams>(params),
        "logging/setLevel" => why::<SetLevelRequestParams>(params),
        "completion/complete" => why::<CompleteRequestParams>(params),
        "ping" | "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            "they are not of its kind".into()
        }
        _ => return None,
    };
    let id = match &request.id {
        NumberOrString::Number(number) => json!(number),
        NumberOrString::String(text) => json!(text.as_ref()),
    };
    Some(Refused { id, code: INVALID_PARAMS, message: format!("Invalid params for {}: {reason}", custom.method) })
}

fn why<T: DeserializeOwned>(params: Value) -> String {
    match serde_json::from_value::<T>(params) {
        Err(error) => error.to_string(),
        Ok(_) => "they are not of its kind".into(),
    }
}
