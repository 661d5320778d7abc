//! Lines come apart and together exactly, in order and within limits, however the stream cuts them.

use std::time::Duration;

use mcp_roots::wire::LineTransport;
use mcp_roots::wire::lines::{Line, LineReader, LineWriter, WriteError};
use proptest::prelude::*;
use rmcp::RoleServer;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

type Server = LineTransport<DuplexStream, RoleServer>;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A server's transport, what it reads from, and the lines that it writes.
fn server() -> (Server, DuplexStream, tokio::io::Lines<BufReader<DuplexStream>>) {
    let (to_server, read) = tokio::io::duplex(1 << 20);
    let (write, from_server) = tokio::io::duplex(1 << 20);
    (LineTransport::new(read, write), to_server, BufReader::new(from_server).lines())
}

fn is_ping(message: Option<ClientJsonRpcMessage>) -> bool {
    serde_json::to_value(message).unwrap()["method"] == "ping"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn lines_come_together_however_they_are_cut(
        lines in prop::collection::vec("[^\r\n]{0,40}", 1..20),
        cuts in prop::collection::vec(1..9_usize, 1..20),
        crlf: bool,
        ended: bool,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut stream = lines.join(end);
        if ended {
            stream.push_str(end);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = runtime.block_on(async {
            let (mut into, out) = tokio::io::duplex(7);
            let writing = tokio::spawn(async move {
                let mut rest = stream.as_bytes();
                for cut in cuts.iter().cycle() {
                    if rest.is_empty() {
                        return;
                    }
                    let (now, later) = rest.split_at((*cut).min(rest.len()));
                    into.write_all(now).await.unwrap();
                    rest = later;
                }
            });
            let mut reader = LineReader::new(out, 1_000);
            let mut read = Vec::new();
            while let Some(Line::Whole(line)) = reader.next().await.unwrap() {
                read.push(String::from_utf8(line).unwrap());
            }
            writing.await.unwrap();
            read
        });
        // A last line that is empty and has no end is not there.
        let mut expected = lines;
        if !ended && expected.last().is_some_and(String::is_empty) {
            expected.pop();
        }
        prop_assert_eq!(read, expected);
    }
}

#[tokio::test]
async fn a_line_over_the_limit_is_dropped_and_the_next_one_read() {
    let stream = [b"x".repeat(100), b"\n".to_vec(), b"y".repeat(10), b"\n".to_vec(), b"z".repeat(11)].concat();
    let mut reader = LineReader::new(stream.as_slice(), 10);
    assert_eq!(reader.next().await.unwrap(), Some(Line::TooLong));
    assert_eq!(reader.next().await.unwrap(), Some(Line::Whole(b"y".repeat(10))));
    assert_eq!(reader.next().await.unwrap(), Some(Line::TooLong));
    assert_eq!(reader.next().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_leave_in_the_order_of_the_calls_whoever_waits_for_them() {
    let (write, read) = tokio::io::duplex(1 << 10);
    let writer = LineWriter::new(write, 64 << 20);
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..10_000 {
        waiting.spawn(writer.push(number.to_string().into_bytes()));
    }
    let mut lines = BufReader::new(read).lines();
    for number in 0..10_000 {
        assert_eq!(lines.next_line().await.unwrap(), Some(number.to_string()));
    }
    while let Some(written) = waiting.join_next().await {
        written.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_named_and_does_not_keep_us_from_closing() {
    let (write, read) = tokio::io::duplex(16);
    let mut writer = LineWriter::new(write, 1_000);
    let first = tokio::spawn(writer.push(vec![b'x'; 900]));
    let error = writer.push(vec![b'y'; 200]).await.unwrap_err();
    assert!(matches!(error, WriteError::Full { queued: 901, limit: 1_000 }), "{error}");
    let started = tokio::time::Instant::now();
    writer.close().await;
    assert!(started.elapsed() < Duration::from_secs(3));
    assert!(matches!(first.await.unwrap(), Err(WriteError::Closed(_))));
    drop(read);
}

#[tokio::test]
async fn what_is_queued_is_written_before_the_end() {
    let (write, read) = tokio::io::duplex(16);
    let mut writer = LineWriter::new(write, 1_000);
    let pushed = writer.push(vec![b'x'; 500]);
    let reading = tokio::spawn(async move { BufReader::new(read).lines().next_line().await });
    writer.close().await;
    pushed.await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap().unwrap().len(), 500);
}

#[tokio::test]
async fn a_read_that_is_cancelled_in_the_middle_of_a_line_loses_nothing() {
    let (mut transport, mut to_server, _lines) = server();
    for byte in PING.bytes() {
        to_server.write_all(&[byte]).await.unwrap();
        // Polled until there is no more to be had, then dropped.
        let cancelled = tokio::time::timeout(Duration::ZERO, transport.receive()).await;
        assert!(cancelled.is_err());
    }
    to_server.write_all(b"\n").await.unwrap();
    assert!(is_ping(transport.receive().await));
}

#[tokio::test]
async fn garbage_without_end_is_not_answered_without_end() {
    let (mut transport, mut to_server, mut lines) = server();
    for burst in 0..2 {
        to_server.write_all(&b"garbage\n".repeat(1_000)).await.unwrap();
        to_server.write_all(format!("{PING}\n").as_bytes()).await.unwrap();
        assert!(is_ping(transport.receive().await), "in burst {burst}");
    }
    transport.close().await.unwrap();
    let mut answers = 0;
    while let Some(line) = lines.next_line().await.unwrap() {
        assert!(line.contains("-32700"), "{line}");
        answers += 1;
    }
    assert_eq!(answers, 16, "eight for each burst, since a good line comes between");
}

#[tokio::test]
async fn a_clients_transport_answers_no_garbage_and_reads_on() {
    let (mut to_client, read) = tokio::io::duplex(1 << 20);
    let (write, from_client) = tokio::io::duplex(1 << 20);
    let mut transport: LineTransport<_, rmcp::RoleClient> = LineTransport::new(read, write);
    to_client.write_all(b"Server started on stdio\n").await.unwrap();
    to_client.write_all(format!("{PING}\n").as_bytes()).await.unwrap();
    let message = serde_json::to_value(transport.receive().await).unwrap();
    assert_eq!(message["method"], "ping");
    transport.close().await.unwrap();
    assert_eq!(BufReader::new(from_client).lines().next_line().await.unwrap(), None);
}

#[tokio::test]
async fn answers_are_not_answered_and_marks_and_blank_lines_are_passed_over() {
    let (mut transport, mut to_server, mut lines) = server();
    to_server.write_all(b"{\"jsonrpc\":\"2.0\",\"result\":{}}\n{\"error\":{}}\n\n  \r\n\xEF\xBB\xBF").await.unwrap();
    to_server.write_all(format!("{PING}\r\n").as_bytes()).await.unwrap();
    assert!(is_ping(transport.receive().await));
    transport.close().await.unwrap();
    assert_eq!(lines.next_line().await.unwrap(), None);
}
