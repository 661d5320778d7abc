//! The tools: what each takes, and what it gives. Names, arguments and results are those of the reference filesystem
//! server as far as that has them, so that people can switch without changing a prompt.

mod listing;
mod reading;
mod searching;
mod writing;

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::error::CallError;
use super::server::FileServer;

/// What most tools give as structured content: the text once more.
#[derive(Serialize, JsonSchema)]
struct TextOutput {
    content: String,
}

/// Every tool that there is.
pub(super) fn router(write: bool) -> ToolRouter<FileServer> {
    let mut tools = FileServer::reading_tools() + FileServer::listing_tools() + FileServer::searching_tools();
    if write {
        tools += FileServer::writing_tools();
    }
    for tool in tools.map.values_mut() {
        let taken = Arc::make_mut(&mut tool.attr.input_schema);
        without_nulls(taken);
        without_formats(taken);
        tool.attr.output_schema.iter_mut().for_each(|given| without_formats(Arc::make_mut(given)));
    }
    tools
}

/// Takes out of a schema the formats of this language's numbers, of which clients know nothing.
fn without_formats(schema: &mut Map<String, Value>) {
    schema.retain(|key, value| key != "format" || !value.as_str().is_some_and(|format| format.starts_with("uint")));
    each_below(schema, without_formats);
}

/// Takes null out of what a tool says it takes. It is accepted all the same; but one type is what every client knows.
fn without_nulls(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    each_below(schema, without_nulls);
}

fn each_below(schema: &mut Map<String, Value>, change: fn(&mut Map<String, Value>)) {
    for value in schema.values_mut() {
        match value {
            Value::Object(below) => change(below),
            Value::Array(several) => several.iter_mut().filter_map(Value::as_object_mut).for_each(change),
            _ => {}
        }
    }
}

/// The arguments of a tool. In place of the SDK's own, since it says which of them does not fit.
struct Parameters<T>(T);

impl<T: JsonSchema> JsonSchema for Parameters<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<S, T: DeserializeOwned> FromContextPart<ToolCallContext<'_, S>> for Parameters<T> {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        let arguments = Value::Object(context.arguments.take().unwrap_or_default());
        serde_path_to_error::deserialize(arguments).map(Parameters).map_err(|error| {
            let text = match error.path().iter().next() {
                Some(_) => format!("{}: {}", error.path(), error.inner()),
                None => error.inner().to_string(),
            };
            ErrorData::invalid_params(text, None)
        })
    }
}

/// A tool's text, or what a caller should read instead.
fn answer(outcome: Result<String, CallError>) -> CallToolResult {
    match outcome {
        Ok(text) => given(text.clone(), None, &TextOutput { content: text }),
        Err(error) => failed(&error),
    }
}

/// A tool's text, what to say about what it leaves out, and the same for programs.
fn given(text: String, note: Option<String>, structured: &impl Serialize) -> CallToolResult {
    let content = std::iter::once(text).chain(note).map(ContentBlock::text).collect();
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(json!(structured));
    result
}

pub(super) fn failed(error: &CallError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

fn yes() -> bool {
    true
}
