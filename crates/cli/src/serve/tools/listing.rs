//! Tools that say what is there.

use rmcp::handler::server::common::schema_for_output;
use rmcp::model::{CallToolResult, ErrorData};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::error::CallError;
use super::super::listing::{self, Listing, Order, Page};
use super::super::patterns::Excludes;
use super::super::server::FileServer;
use super::super::status::RootsStatus;
use super::super::{limits, tree};
use super::reading::PathArgs;
use super::{Parameters, TextOutput, answer, failed, given, yes};

#[derive(Deserialize, JsonSchema)]
pub(in crate::serve) struct ListDirectoryArgs {
    path: String,
    /// If provided, only entries whose name comes after this one, as an earlier answer says
    after: Option<String>,
    /// At most so many entries
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::serve) struct ListDirectoryWithSizesArgs {
    path: String,
    /// Sort entries by name or size
    #[serde(default)]
    sort_by: SortBy,
    /// If provided, only entries whose name comes after this one, as an earlier answer says
    after: Option<String>,
    /// At most so many entries
    limit: Option<usize>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum SortBy {
    #[default]
    Name,
    Size,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListingOutput {
    content: String,
    /// The name after which to go on, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::serve) struct DirectoryTreeArgs {
    path: String,
    /// Glob patterns of what to leave out; one without * leaves out whatever has that name
    #[serde(default)]
    exclude_patterns: Vec<String>,
    /// Whether what .gitignore files name is left out, and .git itself
    #[serde(default = "yes")]
    respect_gitignore: bool,
}

#[derive(Serialize, JsonSchema)]
struct TreeOutput {
    content: String,
    /// Whether there was more than one answer holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[tool_router(router = listing_tools, vis = "pub(super)")]
impl FileServer {
    /// List what is in a directory, sorted by name, each entry marked [FILE] or [DIR]. Only works within allowed
    /// directories.
    #[tool(
        title = "List Directory",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<ListingOutput>()
    )]
    async fn list_directory(
        &self,
        Parameters(args): Parameters<ListDirectoryArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let page = Page { after: args.after, limit: args.limit };
        listed(self.at(context, args.path.into(), move |place, work| listing::plain(place, &page, work)).await)
    }

    /// List what is in a directory with the sizes of files and their sum, each entry marked [FILE] or [DIR], sorted by
    /// name or size. Only works within allowed directories.
    #[tool(
        title = "List Directory with Sizes",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<ListingOutput>()
    )]
    async fn list_directory_with_sizes(
        &self,
        Parameters(args): Parameters<ListDirectoryWithSizesArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let page = Page { after: args.after, limit: args.limit };
        let order = match args.sort_by {
            SortBy::Name => Order::Name,
            SortBy::Size => Order::Size,
        };
        let listing = self.boundary_at(context, args.path.into(), move |boundary, place, work| {
            listing::with_sizes(boundary, place, &page, order, work)
        });
        listed(listing.await)
    }

    /// Get all that is below a directory as JSON: each entry has a name and a type (file or directory), and a
    /// directory has children, which may be empty. Only works within allowed directories.
    #[tool(
        title = "Directory Tree",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<TreeOutput>()
    )]
    async fn directory_tree(
        &self,
        Parameters(args): Parameters<DirectoryTreeArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let excludes = match Excludes::paths_or_names(&args.exclude_patterns) {
            Ok(excludes) => excludes,
            Err(error) => return failed(&error),
        };
        match self.walk(context, args.path, excludes, args.respect_gitignore, |_, walking| tree::tree(walking)).await {
            Ok((text, truncated)) => {
                let note = truncated.then(|| {
                    format!(
                        "This is not all: the tree has more than {} entries. Ask for its directories one by one, or \
                         leave some out with excludePatterns.",
                        limits::TREE
                    )
                });
                given(text.clone(), note, &TreeOutput { content: text, truncated })
            }
            Err(error) => failed(&error),
        }
    }

    /// Get what is known of a file or directory: its size, times, type and permissions. Only works within allowed
    /// directories.
    #[tool(
        title = "Get File Info",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<TextOutput>()
    )]
    async fn get_file_info(
        &self,
        Parameters(args): Parameters<PathArgs>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        answer(self.at(context, args.path.into(), |place, _| listing::info(place)).await)
    }

    /// List the directories that this server may access: the roots in force. What is below them is accessible too.
    #[tool(
        title = "List Allowed Directories",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<TextOutput>()
    )]
    async fn list_allowed_directories(&self) -> CallToolResult {
        let listed = self.roots().current().await.map(|snapshot| {
            let paths = snapshot.roots.iter().map(|root| snapshot.mapping.shown(root.uri.path()).to_string());
            std::iter::once("Allowed directories:".into()).chain(paths).collect::<Vec<String>>().join("\n")
        });
        answer(listed.map_err(CallError::from))
    }

    /// Say what is known of the client's roots and how it came to be known. Does not wait for the client.
    #[tool(
        title = "Roots Status",
        annotations(read_only_hint = true, open_world_hint = false),
        output_schema = schema_for_output::<RootsStatus>()
    )]
    async fn roots_status(&self) -> Result<CallToolResult, ErrorData> {
        serde_json::to_value(RootsStatus::new(self.roots().status(), self.running().count()))
            .map(CallToolResult::structured)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

fn listed(listing: Result<Listing, CallError>) -> CallToolResult {
    match listing {
        Ok(Listing { text, next, note }) => {
            given(text.clone(), note, &ListingOutput { content: text, next_after: next })
        }
        Err(error) => failed(&error),
    }
}
