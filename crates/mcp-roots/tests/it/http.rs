//! Sessions of Streamable HTTP, against a client of plain HTTP on a real port: each sees its own roots, current at each
//! call, with a GET stream or without.

mod peers;

use std::time::{Duration, Instant};

use mcp_roots::{State, TrackOptions};
use peers::{Asked, Client, Server};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

fn deadline(deadline: Duration) -> TrackOptions {
    TrackOptions::default().configure(|config| config.deadline = deadline)
}

async fn one(roots: &[&str]) -> (Server, Client) {
    let server = Server::start(TrackOptions::default()).await;
    let client = Client::connect(&server, roots).await;
    (server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_fence_without_a_get_stream() {
    let (_server, client) = one(&["file:///a"]).await;
    assert_eq!(client.tells().await, "/a");
    for change in 0..100 {
        let (root, path) = (format!("file:///v{change}"), format!("/v{change}"));
        client.change(&[&root]).await;
        assert_eq!(client.tells().await, path);
        let gone = client.call("/a/file").await.unwrap_err();
        assert!(gone.contains(&format!("outside the roots in force: {path}")), "{gone}");
    }
    assert!(client.asked().iter().all(|asked| matches!(asked, Asked::Within(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_fence_with_a_get_stream() {
    let (_server, client) = one(&["file:///a"]).await;
    let stream = client.listen().await;
    assert_eq!(client.tells().await, "/a");
    for change in 0..100 {
        let (root, path) = (format!("file:///v{change}"), format!("/v{change}"));
        client.change(&[&root]).await;
        assert_eq!(client.tells().await, path);
        let gone = client.call("/a/file").await.unwrap_err();
        assert!(gone.contains(&format!("outside the roots in force: {path}")), "{gone}");
    }
    stream.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_needs_no_roots_takes_the_question_along_before_its_response() {
    let (server, client) = one(&["file:///a"]).await;
    client.tells().await;
    for change in 0..200 {
        client.change(&[&format!("file:///v{change}")]).await;
        assert_eq!(client.call("hello").await.unwrap(), "hello");
        assert_eq!(client.asked().len(), change + 2);
    }
    assert_eq!(client.tells().await, "/v199");
    let counters = server.sessions.roots(&client.session()).unwrap().status().counters;
    assert_eq!((counters.asked, counters.retries, counters.set_aside), (201, 0, 0));
}

#[tokio::test]
async fn a_client_with_a_get_stream_is_asked_at_once_and_one_without_within_its_next_request() {
    let (server, client) = one(&["file:///a"]).await;
    let roots = server.sessions.roots(&client.session()).unwrap();
    assert_eq!(roots.snapshot().state, State::NotYet);
    let stream = client.listen().await;
    client.asked_times(1).await;
    roots.snapshots().wait_for(|snapshot| snapshot.state == State::Fresh).await.unwrap();
    client.change(&["file:///b"]).await;
    client.asked_times(2).await;
    roots.snapshots().wait_for(|snapshot| snapshot.state == State::Fresh).await.unwrap();
    assert_eq!(client.asked(), [Asked::OnStream, Asked::OnStream]);

    stream.abort();
    let _ = stream.await;
    // The server learns of it when the connection closes. Until then it may still ask on the stream.
    client.change(&["file:///c"]).await;
    roots.snapshots().wait_for(|snapshot| snapshot.state == State::Stale).await.unwrap();
    assert_eq!(client.call("hello").await.unwrap(), "hello");
    assert!(matches!(client.asked().last(), Some(Asked::Within(_))), "{:?}", client.asked());
    assert_eq!(client.tells().await, "/c");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_after_a_change_takes_under_ten_pings_without_a_get_stream() {
    let (_server, client) = one(&["file:///a"]).await;
    client.tells().await;
    let (mut pings, mut calls) = (Vec::new(), Vec::new());
    for change in 0..50 {
        let started = Instant::now();
        client.ping().await;
        pings.push(started.elapsed());
        client.change(&[&format!("file:///v{change}")]).await;
        let started = Instant::now();
        assert_eq!(client.tells().await, format!("/v{change}"));
        calls.push(started.elapsed());
    }
    pings.sort();
    calls.sort();
    let (ping, call) = (pings[pings.len() / 2], calls[calls.len() / 2]);
    println!("a ping takes {ping:?}, a call after a change {call:?}: {:.1} pings", call.div_duration_f64(ping));
    assert!(call < ping * 10, "a ping takes {ping:?}, a call after a change {call:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s12_sessions_are_apart() {
    let server = Server::start(TrackOptions::default()).await;
    let mut sessions = tokio::task::JoinSet::new();
    let mut clients = Vec::new();
    for number in 0..50 {
        let client = Client::connect(&server, &[&format!("file:///s{number}/v0")]).await;
        clients.push(client.clone());
        sessions.spawn(async move {
            let stream = if number % 2 == 0 { Some(client.listen().await) } else { None };
            for change in 1..=10 {
                let root = format!("/s{number}/v{change}");
                client.change(&[&format!("file://{root}")]).await;
                let (one, other, near) = tokio::join!(client.tells(), client.tells(), client.call(&root));
                assert_eq!((one, other, near), (root.clone(), root.clone(), Ok(root)));
                let neighbour = format!("/s{}/v{change}", number ^ 1);
                assert!(client.call(&neighbour).await.is_err());
            }
            stream.inspect(|stream| stream.abort());
        });
    }
    sessions.join_all().await;
    assert_eq!(server.sessions.len(), 50);
    for client in clients {
        let counters = server.sessions.roots(&client.session()).expect("a session").status().counters;
        assert_eq!((counters.retries, counters.missed), (0, 0), "nobody had to wait for a deadline");
    }
}

#[tokio::test]
async fn a_notification_is_answered_although_the_client_owes_an_answer() {
    let (server, client) = one(&["file:///a"]).await;
    client.tells().await;
    client.answers(false);
    let stream = client.listen().await;
    client.change(&["file:///b"]).await;
    client.asked_times(2).await;
    // It has the question, and each of these POSTs is answered all the same.
    client.change(&["file:///c"]).await;
    client.change(&["file:///d"]).await;
    assert_eq!(client.call("hello").await.unwrap(), "hello");
    assert_eq!(server.sessions.roots(&client.session()).unwrap().status().counters.answered, 1);
    client.answers(true);
    client.answer_newest().await;
    assert_eq!(client.tells().await, "/d");
    stream.abort();
}

#[tokio::test]
async fn a_client_that_never_answers_costs_a_deadline_and_holds_up_no_other_request() {
    let server = Server::start(deadline(Duration::from_millis(400))).await;
    let client = Client::connect(&server, &["file:///a"]).await;
    client.answers(false);
    let started = Instant::now();
    let (id, mut waiting) = client.begin("tell").await;
    for _ in 0..20 {
        assert_eq!(client.call("hello").await.unwrap(), "hello");
    }
    let error = client.finish(id, &mut waiting).await.unwrap().unwrap_err();
    let waited = started.elapsed();
    assert!(error.contains("roots/list") && error.contains("fault is the client's"), "{error}");
    assert!((Duration::from_millis(400)..Duration::from_secs(3)).contains(&waited), "{waited:?}");
    // And it costs no second one. Once it answers, all is well.
    client.call("tell").await.unwrap_err();
    client.answer_newest().await;
    assert_eq!(client.tells().await, "/a");
}

#[tokio::test]
async fn a_stream_that_is_resumed_loses_nothing() {
    let (_server, client) = one(&["file:///a"]).await;
    client.tells().await;
    client.answers(false);
    client.change(&["file:///b"]).await;
    let (id, mut events) = client.begin("tell").await;
    let last = events.next().await.unwrap().id.expect("an id to resume from");
    // The connection breaks off before the client has read the question.
    drop(events);
    client.answers(true);
    let mut events = client.resume(Some(&last)).await;
    assert_eq!(client.finish(id, &mut events).await, Some(Ok("/b".into())));
}

#[tokio::test]
async fn a_request_that_is_resumed_takes_questions_again() {
    let (server, client) = one(&["file:///a"]).await;
    client.answers(false);
    let (id, mut events) = client.begin("tell").await;
    let last = events.next().await.unwrap().id.expect("an id to resume from");
    drop(events);
    let roots = server.sessions.roots(&client.session()).unwrap();
    // What was asked on the stream is given up on as soon as the server notices.
    while roots.status().counters.set_aside == 0 {
        tokio::task::yield_now().await;
    }
    let mut events = client.resume(Some(&last)).await;
    // The question that was given up on is there once more, and the one after it.
    client.answers(true);
    assert_eq!(client.finish(id, &mut events).await, Some(Ok("/a".into())));
    assert_eq!(roots.status().counters.asked, 2);
    assert_eq!(client.asked().first(), Some(&Asked::Within(id)));
}

#[tokio::test]
async fn a_get_stream_that_is_resumed_delivers_what_was_asked_meanwhile() {
    let (server, client) = one(&["file:///a"]).await;
    client.tells().await;
    let stream = client.listen().await;
    client.change(&["file:///b"]).await;
    client.asked_times(2).await;
    stream.abort();
    let _ = stream.await;
    let roots = server.sessions.roots(&client.session()).unwrap();
    client.change(&["file:///c"]).await;
    roots.snapshots().wait_for(|snapshot| snapshot.state == State::Stale).await.unwrap();
    let again = client.listen().await;
    roots.snapshots().wait_for(|snapshot| snapshot.state == State::Fresh).await.unwrap();
    assert_eq!(client.tells().await, "/c");
    again.abort();
}

#[tokio::test]
async fn a_second_get_stream_is_not_relied_on() {
    let (server, client) = one(&["file:///a"]).await;
    client.tells().await;
    let first = client.listen().await;
    let second = client.listen().await;
    client.change(&["file:///b"]).await;
    client.asked_times(2).await;
    first.abort();
    let _ = first.await;
    let roots = server.sessions.roots(&client.session()).unwrap();
    client.change(&["file:///c"]).await;
    // Nothing is sent on the second, although it is open.
    roots.snapshots().wait_for(|snapshot| snapshot.state == State::Stale).await.unwrap();
    assert_eq!(client.tells().await, "/c");
    second.abort();
}

#[tokio::test]
async fn a_session_that_is_deleted_is_gone_with_all_that_waits_in_it() {
    let server = Server::start(TrackOptions::default()).await;
    let client = Client::connect(&server, &["file:///a"]).await;
    let stays = Client::connect(&server, &["file:///b"]).await;
    client.answers(false);
    let roots = server.sessions.roots(&client.session()).unwrap();
    let mut snapshots = roots.snapshots();
    drop(roots);
    let stream = client.listen().await;
    let (id, mut waiting) = client.begin("tell").await;
    client.asked_times(1).await;
    client.delete().await;
    // The handler is told, and both streams end.
    assert!(!matches!(client.finish(id, &mut waiting).await, Some(Ok(_))));
    stream.await.unwrap();
    while snapshots.changed().await.is_ok() {}
    assert!(server.sessions.roots(&client.session()).is_none());
    assert_eq!(server.sessions.len(), 1);
    assert_eq!(stays.tells().await, "/b");
}

#[tokio::test]
async fn a_session_that_expires_is_gone_too() {
    let mut inner = LocalSessionManager::default();
    inner.session_config.keep_alive = Some(Duration::from_millis(100));
    let server = Server::with(inner, TrackOptions::default()).await;
    let client = Client::connect(&server, &["file:///a"]).await;
    let mut snapshots = server.sessions.roots(&client.session()).expect("a session").snapshots();
    while snapshots.changed().await.is_ok() {}
    while !server.sessions.is_empty() {
        tokio::task::yield_now().await;
    }
}
