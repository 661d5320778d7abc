//! A server over Streamable HTTP: where it is, what may be sent there, and how.

use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures_core::stream::BoxStream;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use super::server::Server;
use crate::exit::Exit;

/// How long a server may take to accept a connection.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
/// How often a request may be sent on to another place of the same server.
const MOST_REDIRECTS: usize = 5;

#[derive(Args)]
pub(super) struct HttpArgs {
    /// A server over Streamable HTTP instead of a command, such as http://127.0.0.1:8080/mcp.
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(super) url: Option<Url>,
    /// Open no stream by GET, so that the server can ask only within requests. For testing servers.
    #[arg(long, requires = "url")]
    no_get_stream: bool,
    /// Send the folders' paths to a URL of another machine without a warning.
    #[arg(long, requires = "url")]
    tell_paths: bool,
    /// A file with the token to send as `Authorization: Bearer`. Or MCP_ROOTS_TOKEN in the environment.
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
}

pub(super) struct Endpoint {
    name: String,
    gets: bool,
}

/// Makes ready to speak to a server; nothing is sent yet. Warns of what ought not to be sent there.
pub(super) fn reach(
    url: &Url,
    args: &HttpArgs,
    exposing: bool,
) -> Result<(Server, StreamableHttpClientTransport<Client>), Exit> {
    let token = crate::token::read(args.token_file.as_deref())?;
    let local = is_loopback(url);
    let host = url.host_str().unwrap_or_default();
    if exposing && !local && !args.tell_paths {
        tracing::warn!(
            "{host} is another machine, as far as can be told, and will learn the paths of the folders that are open \
             here; it cannot open them. --tell-paths is for those who want that, --declare none for those who do not"
        );
    }
    if token.is_some() && !local && url.scheme() == "http" {
        tracing::warn!("the token goes to {host} in the clear; https would hide it");
    }
    // There may be one already, which does as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut http = reqwest::Client::builder()
        .user_agent(concat!("mcp-roots/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECTS_WITHIN)
        .redirect(Policy::custom(within_the_server));
    if local {
        // A proxy would look for it on its own machine.
        http = http.no_proxy();
    }
    let http = http.build().map_err(|error| Exit::Internal(format!("there can be no HTTP client here: {error}")))?;
    let client = Client { http, gets: !args.no_get_stream };
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    config.auth_header = token;
    let server = Server::Endpoint(Endpoint { name: without_secrets(url), gets: !args.no_get_stream });
    Ok((server, StreamableHttpClientTransport::with_client(client, config)))
}

impl Endpoint {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether there is a stream on which the server can send what belongs to no request, if it wants one.
    pub(super) fn hears(&self) -> bool {
        self.gets
    }

    pub(super) fn obituary(&self) -> String {
        "is a server running there, is /mcp its path, and does it let you in?".into()
    }
}

/// The SDK's client of Streamable HTTP, which may be one that sends no GET.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    gets: bool,
}

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Result<StreamableHttpPostResponse, Failure>> + Send + '_ {
        self.http.post_message(uri, message, session, token, headers)
    }

    fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> impl Future<Output = Result<StreamableHttpPostResponse, Failure>> + Send + '_ {
        self.http.post_message_with_response_limits(uri, message, session, token, headers, limits)
    }

    fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Result<(), Failure>> + Send + '_ {
        self.http.delete_session(uri, session, token, headers)
    }

    fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Result<BoxStream<'static, Result<Sse, SseError>>, Failure>> + Send + '_ {
        let limit = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit)
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        if !self.gets {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        self.http.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit).await
    }
}

/// Follows a redirect to another path of the same server, as some have it for a slash; nothing that is said to one server
/// goes to another.
fn within_the_server(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if same && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

/// A URL as it may be shown.
fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    // A URL that can have none has none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.into()
}

/// Whether a URL's host is this machine by its name, which is all that can be told without asking anybody.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    ip.map_or_else(|_| host == "localhost" || host.ends_with(".localhost"), |ip| ip.to_canonical().is_loopback())
}

fn endpoint(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{error}; use a URL such as http://127.0.0.1:8080/mcp"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err("use a URL of http or https, such as http://127.0.0.1:8080/mcp".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_urls_are_of_this_machine() {
        for (url, local) in [
            ("http://127.0.0.1:1/mcp", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:1/mcp", true),
            ("http://[::ffff:127.0.0.1]/", true),
            ("http://LOCALHOST/", true),
            ("http://a.localhost/", true),
            ("http://0.0.0.0/", false),
            ("https://localhost.example/", false),
            ("https://127.0.0.1.example/", false),
            ("http://192.168.0.1/", false),
        ] {
            assert_eq!(is_loopback(&endpoint(url).unwrap()), local, "{url}");
        }
        for bad in ["127.0.0.1:1", "ftp://localhost/", "file:///mcp", "http://", "mcp"] {
            assert!(endpoint(bad).unwrap_err().contains("http://127.0.0.1:8080/mcp"), "{bad}");
        }
    }
}
