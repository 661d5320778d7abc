//! A long line between a client and a server: all that enters leaves unchanged, in order and later, and is noted.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::Instant;

#[derive(Clone)]
pub(super) struct Line {
    one_way: Duration,
    passed: Arc<Mutex<Vec<Passed>>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Towards {
    Client,
    Server,
}

/// What was written at once.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) towards: Towards,
    pub(super) entered: Instant,
    pub(super) text: String,
}

impl Line {
    fn new(one_way: Duration) -> Self {
        Line { one_way, passed: Arc::default() }
    }

    /// A line to a server's process, and the command whose standard streams are the client's end of it.
    pub(super) fn between_pipes(one_way: Duration, dir: PathBuf, server: &mut Child) -> (Self, [OsString; 5]) {
        let line = Line::new(one_way);
        let [there, back] = ["there", "back"].map(|name| dir.join(name));
        for pipe in [&there, &back] {
            assert!(std::process::Command::new("mkfifo").arg(pipe).status().expect("mkfifo").success());
        }
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let from_client = pipe::OpenOptions::new().open_receiver(&there).expect("a pipe");
        line.carry(Towards::Server, from_client, input);
        let (carrier, path) = (line.clone(), back.clone());
        tokio::spawn(async move {
            // It opens when the other end does.
            let opened = tokio::task::spawn_blocking(move || std::fs::File::options().write(true).open(path)).await;
            let to_client = pipe::Sender::from_file(opened.expect("no panic").expect("a pipe")).expect("a pipe");
            carrier.carry(Towards::Client, output, to_client);
        });
        let command = "cat \"$1\" & exec cat > \"$0\"";
        (line, ["sh".into(), "-c".into(), command.into(), there.into(), back.into()])
    }

    /// A line to a server's address, and the address of the client's end of it.
    pub(super) async fn to(one_way: Duration, server: String) -> (Self, String) {
        let line = Line::new(one_way);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let carrier = line.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server listens");
                for stream in [&client, &server] {
                    stream.set_nodelay(true).expect("an option");
                }
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                carrier.carry(Towards::Server, from_client, to_server);
                carrier.carry(Towards::Client, from_server, to_client);
            }
        });
        (line, address)
    }

    pub(super) fn passed(&self) -> Vec<Passed> {
        self.passed.lock().unwrap().clone()
    }

    fn carry(
        &self,
        towards: Towards,
        mut from: impl AsyncRead + Unpin + Send + 'static,
        mut to: impl AsyncWrite + Unpin + Send + 'static,
    ) {
        let (enters, mut leaves) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
        let (one_way, passed) = (self.one_way, self.passed.clone());
        tokio::spawn(async move {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = from.read(&mut buffer).await {
                let bytes = buffer[..length].to_vec();
                let (entered, text) = (Instant::now(), String::from_utf8_lossy(&bytes).into_owned());
                passed.lock().unwrap().push(Passed { towards, entered, text });
                if enters.send((entered, bytes)).is_err() {
                    break;
                }
            }
        });
        tokio::spawn(async move {
            while let Some((entered, bytes)) = leaves.recv().await {
                tokio::time::sleep_until(entered + one_way).await;
                if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
                    break;
                }
            }
        });
    }
}
