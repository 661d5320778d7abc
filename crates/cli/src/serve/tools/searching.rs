//! Tools that search.

use mcp_roots::boundary::Place;
use rmcp::handler::server::common::schema_for_output;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::error::CallError;
use super::super::limits;
use super::super::patterns::{Excludes, Pattern};
use super::super::searching::{self, Lines, Matching, TextSearch, Window};
use super::super::server::FileServer;
use super::super::walking::Walking;
use super::{Parameters, failed, given, yes};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::serve) struct SearchFilesArgs {
    path: String,
    pattern: String,
    /// Glob patterns of what to leave out
    #[serde(default)]
    exclude_patterns: Vec<String>,
    /// Whether what .gitignore files name is left out, and .git itself
    #[serde(default = "yes")]
    respect_gitignore: bool,
    /// Skip so many matches, as an earlier answer says
    #[serde(default)]
    offset: usize,
    /// At most so many matches
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::serve) struct SearchTextArgs {
    /// A directory, or a single file
    path: String,
    /// A regular expression, matched against each line
    pattern: String,
    /// Glob pattern of the files to search, such as **/*.rs
    files: Option<String>,
    /// Glob patterns of what to leave out; one without * leaves out whatever has that name
    #[serde(default)]
    exclude_patterns: Vec<String>,
    /// Whether upper and lower case differ
    #[serde(default = "yes")]
    case_sensitive: bool,
    /// Whether the pattern is plain text instead of a regular expression
    #[serde(default)]
    literal: bool,
    /// Whether what .gitignore files name is left out, and .git itself
    #[serde(default = "yes")]
    respect_gitignore: bool,
    /// Skip so many matches, as an earlier answer says
    #[serde(default)]
    offset: usize,
    /// At most so many matches
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SearchFilesOutput {
    content: String,
    /// How many matches to skip to go on, if these are not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

#[tool_router(router = searching_tools, vis = "pub(super)")]
impl FileServer {
    /// Search for files and directories by a glob pattern that is matched against the path from the given directory
    /// on: '*.ext' matches in that directory, '**/*.ext' in all below it too. Returns full paths. Only searches
    /// within allowed directories.
    #[tool(
        title = "Search Files",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<SearchFilesOutput>()
    )]
    async fn search_files(
        &self,
        Parameters(args): Parameters<SearchFilesArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let patterns =
            Pattern::new(&args.pattern).and_then(|pattern| Ok((pattern, Excludes::paths(&args.exclude_patterns)?)));
        let (pattern, excludes) = match patterns {
            Ok(patterns) => patterns,
            Err(error) => return failed(&error),
        };
        let window = Window { offset: args.offset, limit: at_most(args.limit, limits::FOUND, limits::FOUND) };
        let search = move |place: &Place, walking| searching::by_path(place, &pattern, window, walking);
        match self.walk(context, args.path, excludes, args.respect_gitignore, search).await {
            Ok(found) => {
                let text = if found.paths.is_empty() { "No matches found".into() } else { found.paths.join("\n") };
                let note = found.next.map(|next| format!("This is not all. To go on, call again with offset {next}."));
                given(text.clone(), note, &SearchFilesOutput { content: text, next_offset: found.next })
            }
            Err(error) => failed(&error),
        }
    }

    /// Search the contents of files for lines that match a regular expression. Returns path:line:text for each. Binary
    /// files are left out. Only searches within allowed directories.
    #[tool(
        title = "Search Text",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<Lines>()
    )]
    async fn search_text(
        &self,
        Parameters(args): Parameters<SearchTextArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        match self.lines(context, args).await {
            Ok(lines) => {
                let (text, note) = lines.in_words();
                given(text, note, &lines)
            }
            Err(error) => failed(&error),
        }
    }

    async fn lines(&self, context: RequestContext<RoleServer>, args: SearchTextArgs) -> Result<Lines, CallError> {
        let files = args.files.as_deref().map(Pattern::new).transpose()?;
        let excludes = Excludes::paths_or_names(&args.exclude_patterns)?;
        let matching = Matching { case_sensitive: args.case_sensitive, literal: args.literal };
        let window = Window { offset: args.offset, limit: at_most(args.limit, limits::LINES, limits::FOUND) };
        let gitignore = self.respects_gitignore(args.respect_gitignore);
        self.boundary_at(context, args.path.clone().into(), move |boundary, place, work| {
            let search = TextSearch::new(&args.pattern, matching, window, work)?;
            if !place.metadata()?.is_dir() {
                return search.within(place);
            }
            let walking = Walking::new(boundary, place, excludes, gitignore, work)?;
            search.below(place, files.as_ref(), walking)
        })
        .await
    }
}

fn at_most(asked: Option<usize>, default: usize, most: usize) -> usize {
    asked.unwrap_or(default).clamp(1, most)
}
