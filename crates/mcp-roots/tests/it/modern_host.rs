//! The modern era on both sides: a host's requests are returned for roots and made again, and nobody notices.

use mcp_roots::{PublishOptions, Workspace, publish_with, track};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::json;

use crate::modern::Asking;
use crate::pair::{Folders, text};

/// A host with a person at it, who has a name.
struct Person;

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("person", "1"))
            .with_protocol_version(ProtocolVersion::V_2026_07_28)
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
    }
}

async fn connected(workspace: &Workspace, options: PublishOptions) -> RunningService<RoleClient, Person> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (transport, roots) = track(near, Default::default());
    tokio::spawn(async move {
        roots.serving(Asking::new(&roots)).serve(transport).await.expect("a client").waiting().await
    });
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let transport = publish_with(far, workspace, options);
    Person.serve_with_lifecycle(transport, lifecycle).await.expect("a server")
}

async fn call(host: &RunningService<RoleClient, Person>, tool: &'static str) -> String {
    text(&host.call_tool(CallToolRequestParams::new(tool)).await.expect("a result"))
}

#[tokio::test]
async fn a_call_sees_the_workspace_as_it_is_and_others_questions_go_to_the_hosts_own_handler() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let host = connected(&workspace, PublishOptions::default()).await;
    let a = folders.at("a").display().to_string();
    assert_eq!(call(&host, "tell").await, a);
    for tool in ["both", "roots-first", "name-first"] {
        assert_eq!(call(&host, tool).await, format!("\"Ada\" {a}"), "{tool}");
    }
    workspace.replace([(folders.at("b"), None)]).unwrap();
    assert_eq!(call(&host, "tell").await, folders.at("b").display().to_string());
    // Many at once, each with its own rounds.
    let calls = (0..50).map(|at| call(&host, ["tell", "hello", "both"][at % 3]));
    for (at, told) in futures_of(calls).await.into_iter().enumerate() {
        let b = folders.at("b").display().to_string();
        assert_eq!(told, [b.clone(), "hello".into(), format!("\"Ada\" {b}")][at % 3]);
    }
}

#[tokio::test]
async fn a_host_that_declares_nothing_is_not_asked() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let host = connected(&workspace, PublishOptions::default().configure(|config| config.declare = None)).await;
    assert_eq!(call(&host, "tell").await, "");
}

#[tokio::test]
async fn a_change_is_not_announced_and_that_is_said() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let options = PublishOptions::default().observe(move |event| drop(said.send(event.to_string())));
    let host = connected(&workspace, options).await;
    call(&host, "hello").await;
    workspace.add(folders.at("b"), None).unwrap();
    assert!(heard.recv().await.unwrap().contains("the server asks with each request"));
    call(&host, "tell").await;
    assert_eq!(heard.recv().await.unwrap(), "the server asked for the roots");
    assert_eq!(heard.recv().await.unwrap(), "answered with 2 roots");
    assert!(heard.try_recv().is_err());
}

/// The outcomes of all, which go on together.
async fn futures_of<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut done = true;
        for (future, outcome) in &mut waiting {
            if outcome.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(ready) => *outcome = Some(ready),
                    std::task::Poll::Pending => done = false,
                }
            }
        }
        if done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    waiting.into_iter().map(|(_, outcome)| outcome.expect("it is done")).collect()
}
