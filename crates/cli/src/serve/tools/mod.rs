//! The tools: what each takes, and what it gives. Names, arguments and results are those of the reference filesystem
//! server as far as that has them, so that people can switch without changing a prompt.

mod listing;
mod reading;
mod searching;
mod writing;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::error::CallError;
use super::server::FileServer;

/// What most tools give as structured content: the text once more.
#[derive(Serialize, JsonSchema)]
struct TextOutput {
    content: String,
}

/// Every tool that there is.
pub(super) fn router(write: bool) -> ToolRouter<FileServer> {
    let reading = FileServer::reading_tools() + FileServer::listing_tools() + FileServer::searching_tools();
    if write { reading + FileServer::writing_tools() } else { reading }
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
