//! A host publishes its workspace: each change once, to every server, and nothing that is no change.

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_roots::core::host_half::{HeldBack, HostEvent};
use mcp_roots::{PublishOptions, TrackOptions, Workspace, WorkspaceError, publish};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleClient, ServiceExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::pair::{Folders, Pair};

/// The events of a connection, as the host's observer hears them.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<HostEvent>>>);

impl Heard {
    pub(crate) fn options(&self) -> PublishOptions {
        let heard = self.clone();
        PublishOptions::default().observe(move |event| heard.0.lock().unwrap().push(event.clone()))
    }

    pub(crate) fn announced(&self) -> usize {
        self.count(|event| matches!(event, HostEvent::Announced { .. }))
    }

    /// Whether the server has asked since the last announcement. A change before that would be in the answer, and not
    /// need an announcement of its own.
    pub(crate) fn answered(&self) -> bool {
        let events = self.0.lock().unwrap();
        let last = |is: fn(&HostEvent) -> bool| events.iter().rposition(is);
        let announced = last(|event| matches!(event, HostEvent::Announced { .. }));
        last(|event| matches!(event, HostEvent::Answered { .. })) > announced
    }

    fn count(&self, is: impl Fn(&HostEvent) -> bool) -> usize {
        self.0.lock().unwrap().iter().filter(|event| is(event)).count()
    }
}

/// Virtual time for all windows to pass. Files are looked at in real time, which does not move the clock.
async fn windows_pass() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

#[tokio::test(start_paused = true)]
async fn each_operation_leads_to_one_notification_and_what_changes_nothing_to_none() {
    let folders = Folders::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| folders.at(name));
    let workspace = Workspace::open([&a]).unwrap();
    let heard = Heard::default();
    let _pair = Pair::connect(&workspace, TrackOptions::default(), heard.options()).await;
    type Operation = Box<dyn Fn(&Workspace) -> Result<(), WorkspaceError>>;
    let named = |folders: &[(&PathBuf, Option<&str>)]| -> Vec<(PathBuf, Option<String>)> {
        folders.iter().map(|(folder, name)| ((*folder).clone(), name.map(String::from))).collect()
    };
    let [same, other] = [named(&[(&a, Some("A")), (&b, None)]), named(&[(&b, None), (&a, Some("A"))])];
    let operations: Vec<(&str, Operation, usize)> = vec![
        (
            "add",
            Box::new({
                let b = b.clone();
                move |workspace| workspace.add(&b, None)
            }),
            1,
        ),
        (
            "add again",
            Box::new({
                let b = b.clone();
                move |workspace| workspace.add(&b, None)
            }),
            0,
        ),
        (
            "rename",
            Box::new({
                let a = a.clone();
                move |workspace| workspace.rename(&a, Some("A"))
            }),
            1,
        ),
        (
            "rename to the same",
            Box::new({
                let a = a.clone();
                move |workspace| workspace.rename(&a, Some("A"))
            }),
            0,
        ),
        ("replace with the same", Box::new(move |workspace| workspace.replace(same.clone())), 0),
        ("replace in another order", Box::new(move |workspace| workspace.replace(other.clone())), 1),
        (
            "add and remove",
            Box::new({
                let c = c.clone();
                move |workspace| {
                    workspace.add(&c, None)?;
                    workspace.remove(&c)
                }
            }),
            0,
        ),
        (
            "a batch",
            Box::new({
                let (a, c) = (a.clone(), c.clone());
                move |workspace| {
                    workspace.batch(|batch| {
                        batch.add(&c, Some("C"))?;
                        batch.remove(&a)?;
                        batch.rename(&c, None)
                    })
                }
            }),
            1,
        ),
        (
            "remove",
            Box::new({
                let c = c.clone();
                move |workspace| workspace.remove(&c)
            }),
            1,
        ),
    ];
    for (name, operation, expected) in operations {
        let before = heard.announced();
        operation(&workspace).unwrap();
        windows_pass().await;
        assert_eq!(heard.announced() - before, expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fails_changes_nothing() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let failed = workspace.batch(|batch| {
        batch.add(folders.at("b"), None)?;
        batch.remove(folders.at("c"))
    });
    assert!(matches!(failed, Err(WorkspaceError::NotThere { .. })));
    assert_eq!(workspace.list().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_is_announced_before_the_request_that_follows_it() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let heard = Heard::default();
    let pair = Pair::connect(&workspace, TrackOptions::default(), heard.options()).await;
    pair.tell().await;
    let started = tokio::time::Instant::now();
    workspace.add(folders.at("b"), None).unwrap();
    assert!(pair.tell().await.ends_with("/b"));
    assert!(started.elapsed() < Duration::from_millis(50), "it did not wait for the window");
    assert_eq!(heard.announced(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_delays_no_other() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let pair = Pair::connect(&workspace, TrackOptions::default(), PublishOptions::default()).await;
    // Shakes hands, and never reads again; the pipe holds next to nothing.
    let (near, mut far) = tokio::io::duplex(256);
    let connecting = tokio::spawn(().serve(publish(near, &workspace)));
    let mut byte = [0];
    while byte != *b"\n" {
        far.read_exact(&mut byte).await.unwrap();
    }
    let welcome = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"deaf","version":"1"}}}"#;
    far.write_all(format!("{welcome}\n").as_bytes()).await.unwrap();
    let deaf = connecting.await.unwrap().unwrap();
    for change in 0..50 {
        let folder = folders.at(if change % 2 == 0 { "b" } else { "c" });
        workspace.replace([(folder.clone(), None)]).unwrap();
        windows_pass().await;
        assert_eq!(pair.tell().await, folder.display().to_string());
    }
    drop((deaf, far));
}

#[tokio::test]
async fn a_folder_that_vanishes_is_withheld_and_comes_back() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.at(name));
    let pair = Pair::of(&[&a, &b]).await;
    std::fs::remove_dir(&b).unwrap();
    pair.workspace.check().await;
    assert_eq!(pair.tell().await, a.display().to_string());
    assert!(pair.workspace.list()[1].withheld.is_some());
    std::fs::create_dir(&b).unwrap();
    pair.workspace.check().await;
    assert_eq!(pair.tell().await, format!("{} {}", a.display(), b.display()));
}

#[tokio::test(start_paused = true)]
async fn folders_are_checked_while_they_are_published() {
    let folders = Folders::new();
    let b = folders.at("b");
    let workspace = Workspace::open([folders.at("a"), b.clone()]).unwrap();
    let heard = Heard::default();
    let _pair = Pair::connect(&workspace, TrackOptions::default(), heard.options()).await;
    let mut exposed = workspace.exposed();
    std::fs::remove_dir(&b).unwrap();
    exposed.changed().await.unwrap();
    assert_eq!(exposed.borrow_and_update().len(), 1);
    windows_pass().await;
    assert_eq!(heard.announced(), 1);
    std::fs::create_dir(&b).unwrap();
    exposed.changed().await.unwrap();
    windows_pass().await;
    assert_eq!(heard.announced(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_undone_in_time_is_held_back_and_said_so() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let heard = Heard::default();
    let _pair = Pair::connect(&workspace, TrackOptions::default(), heard.options()).await;
    workspace.add(folders.at("b"), None).unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    workspace.remove(folders.at("b")).unwrap();
    windows_pass().await;
    assert_eq!(heard.announced(), 0);
    assert_eq!(heard.count(|event| *event == HostEvent::HeldBack(HeldBack::TakenBack)), 1);
}

#[test]
fn paths_are_made_absolute_and_bad_ones_are_named() {
    let workspace = Workspace::open(["."]).unwrap();
    assert_eq!(workspace.list()[0].uri.path().to_native().unwrap(), std::env::current_dir().unwrap());
    let above = Workspace::open(["src/.."]).unwrap();
    assert_eq!(above.list()[0].uri.path(), workspace.list()[0].uri.path());
    let missing = Workspace::open(["/no/such/../folder"]).unwrap_err();
    assert!(missing.to_string().contains("/no/such/../folder"), "{missing}");
    let remote = workspace.batch(|batch| batch.add_uri("https://example.com/", None)).unwrap_err();
    assert!(remote.to_string().contains("https"), "{remote}");
    assert!(matches!(workspace.remove("/nowhere"), Err(WorkspaceError::NotThere { .. })));
}

/// A transport whose sends do not keep their order, as POSTs do not: a notification takes its time.
struct Posts {
    sent: Arc<Mutex<Vec<String>>>,
    from_server: tokio::sync::mpsc::UnboundedReceiver<ServerJsonRpcMessage>,
    to_client: tokio::sync::mpsc::UnboundedSender<ServerJsonRpcMessage>,
}

impl Transport<RoleClient> for Posts {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
        let (sent, to_client) = (self.sent.clone(), self.to_client.clone());
        async move {
            let json = serde_json::to_value(&message).unwrap();
            let method = json["method"].as_str().unwrap_or_default().to_owned();
            if method == "notifications/roots/list_changed" {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let result = match method.as_str() {
                "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {},
                    "serverInfo": {"name": "by hand", "version": "1"}}),
                _ => json!({}),
            };
            sent.lock().unwrap().push(method);
            if let Some(id) = json.get("id") {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                to_client.send(serde_json::from_value(answer).unwrap()).unwrap();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.from_server.recv().await
    }

    async fn close(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_does_not_overtake_an_announcement_that_is_still_being_sent() {
    let folders = Folders::new();
    let workspace = Workspace::open([folders.at("a")]).unwrap();
    let sent = Arc::<Mutex<Vec<String>>>::default();
    let (to_client, from_server) = tokio::sync::mpsc::unbounded_channel();
    let transport = publish(Posts { sent: sent.clone(), from_server, to_client }, &workspace);
    let host = ().serve(transport).await.unwrap();
    workspace.add(folders.at("b"), None).unwrap();
    // The announcement is due, and takes longer than this.
    windows_pass().await;
    host.send_request(ClientRequest::PingRequest(Default::default())).await.unwrap();
    let sent = sent.lock().unwrap();
    assert_eq!(sent[2..], ["notifications/roots/list_changed", "ping"], "{sent:?}");
}
