//! A client of Streamable HTTP that costs little, for very many sessions from one process: connections are kept and
//! shared, and a session is a name with a root.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Connections to a server's `/mcp`, of which there are as many as requests are under way at once.
pub(crate) struct Http {
    address: String,
    idle: Mutex<Vec<BufReader<TcpStream>>>,
}

/// A response, read as far as its head. Its connection is taken again once it has been read to its end.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    connection: BufReader<TcpStream>,
    body: Body,
    /// What has come of a line that goes on.
    read: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Body {
    Sized(usize),
    Chunked,
    Ended,
}

impl Http {
    pub(crate) fn to(address: &str) -> Arc<Self> {
        Arc::new(Http { address: address.into(), idle: Mutex::default() })
    }

    pub(crate) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> io::Result<Response> {
        let kept = self.idle.lock().expect("no panic").pop();
        let mut connection = match kept {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(&self.address).await?;
                stream.set_nodelay(true)?;
                BufReader::new(stream)
            }
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len(),
        );
        connection.write_all(request.as_bytes()).await?;
        Response::read_head(connection).await
    }

    /// Sends a message of a session, or of none if `session` is empty.
    pub(crate) async fn post(&self, session: &str, message: &Value) -> io::Result<Response> {
        let headers = match session {
            "" => String::new(),
            id => format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n"),
        };
        self.send("POST", "/mcp", &headers, &message.to_string()).await
    }

    /// A page as text.
    pub(crate) async fn get(&self, path: &str) -> io::Result<String> {
        let mut response = self.send("GET", path, "", "").await?;
        let mut text = String::new();
        while let Some(line) = response.line().await? {
            text.push_str(&line);
            text.push('\n');
        }
        self.keep(response);
        Ok(text)
    }

    /// A number out of `/metrics`.
    pub(crate) async fn metric(&self, name: &str) -> io::Result<u64> {
        let metrics = self.get("/metrics").await?;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.ok_or_else(|| io::Error::other(format!("no {name} in {metrics}")))
    }

    /// Reads a response to its end, so that its connection can be taken again.
    pub(crate) async fn finish(&self, mut response: Response) -> io::Result<u16> {
        while response.line().await?.is_some() {}
        let status = response.status;
        self.keep(response);
        Ok(status)
    }

    fn keep(&self, response: Response) {
        self.idle.lock().expect("no panic").push(response.connection);
    }
}

impl Response {
    async fn read_head(mut connection: BufReader<TcpStream>) -> io::Result<Self> {
        let (mut status, mut session, mut body) = (0, None, Body::Ended);
        for number in 0.. {
            let mut line = String::new();
            if connection.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end();
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            match name.to_ascii_lowercase().as_str() {
                "" => break,
                "mcp-session-id" => session = Some(value.trim().to_owned()),
                "transfer-encoding" => body = Body::Chunked,
                "content-length" => body = Body::Sized(value.trim().parse().map_err(io::Error::other)?),
                _ if number == 0 => status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0),
                _ => {}
            }
        }
        Ok(Response { status, session, connection, body, read: Vec::new() })
    }

    /// The next message out of a stream of events, or out of a body; `None` at the end.
    pub(crate) async fn message(&mut self) -> io::Result<Option<Value>> {
        while let Some(line) = self.line().await? {
            let data = line.strip_prefix("data:").unwrap_or(&line).trim();
            if data.starts_with('{') {
                return Ok(Some(serde_json::from_str(data)?));
            }
        }
        Ok(None)
    }

    async fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().into()));
            }
            let size = match self.body {
                Body::Ended if self.read.is_empty() => return Ok(None),
                Body::Ended => {
                    self.read.push(b'\n');
                    continue;
                }
                Body::Sized(size) => size,
                Body::Chunked => {
                    let mut size = String::new();
                    self.connection.read_line(&mut size).await?;
                    usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?
                }
            };
            let start = self.read.len();
            self.read.resize(start + size, 0);
            self.connection.read_exact(&mut self.read[start..]).await?;
            match self.body {
                Body::Chunked => {
                    self.connection.read_line(&mut String::new()).await?;
                    if size == 0 {
                        self.body = Body::Ended;
                    }
                }
                _ => self.body = Body::Ended,
            }
        }
    }
}

/// A client's session, with one root at a time.
pub(crate) struct Session {
    http: Arc<Http>,
    id: String,
    root: Mutex<PathBuf>,
    next_id: AtomicU64,
    /// How often it was asked.
    pub(crate) asked: AtomicU64,
}

impl Session {
    /// Shakes hands.
    pub(crate) async fn open(http: &Arc<Http>, root: PathBuf) -> io::Result<Arc<Self>> {
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {"listChanged": true}},
            "clientInfo": {"name": "load", "version": "1"},
        }});
        let mut response = http.post("", &initialize).await?;
        let id = response.session.take();
        let id = id.ok_or_else(|| io::Error::other(format!("no session, but {}", response.status)))?;
        http.finish(response).await?;
        let (root, next_id, asked) = (Mutex::new(root), AtomicU64::new(1), AtomicU64::new(0));
        let session = Session { http: http.clone(), id, root, next_id, asked };
        session.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(Arc::new(session))
    }

    /// Keeps a GET stream open, and answers what is asked there, until it is aborted or the session ends.
    pub(crate) async fn listen(self: &Arc<Self>) -> io::Result<JoinHandle<io::Result<()>>> {
        let headers = format!("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-11-25\r\n", self.id);
        // A connection that others have used would not do: this one never comes back.
        let http = Http::to(&self.http.address);
        let mut stream = http.send("GET", "/mcp", &headers, "").await?;
        if stream.status != 200 {
            return Err(io::Error::other(format!("a stream is answered with {}", stream.status)));
        }
        let session = self.clone();
        Ok(tokio::spawn(async move {
            while let Some(message) = stream.message().await? {
                session.hear(&message).await?;
            }
            Ok(())
        }))
    }

    /// Has another root from now on, and says that something has changed.
    pub(crate) async fn change(&self, root: PathBuf) -> io::Result<()> {
        *self.root.lock().expect("no panic") = root;
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await
    }

    /// Calls a tool, and answers what is asked meanwhile: the text, and whether it is an error.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> io::Result<(String, bool)> {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        let text = result["content"][0]["text"].as_str().map_or_else(|| result.to_string(), String::from);
        Ok((text, result["isError"] != json!(false)))
    }

    pub(crate) async fn ping(&self) -> io::Result<()> {
        self.request("ping", json!({})).await.map(drop)
    }

    /// Ends the session.
    pub(crate) async fn close(&self) -> io::Result<()> {
        let headers = format!("Mcp-Session-Id: {}\r\n", self.id);
        let response = self.http.send("DELETE", "/mcp", &headers, "").await?;
        match self.http.finish(response).await? {
            202 => Ok(()),
            status => Err(io::Error::other(format!("an end is answered with {status}"))),
        }
    }

    async fn request(&self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut response = self.http.post(&self.id, &request).await?;
        while let Some(mut message) = response.message().await? {
            if message["id"] == id && message.get("method").is_none() {
                self.http.finish(response).await?;
                return Ok(message["result"].take());
            }
            self.hear(&message).await?;
        }
        Err(io::Error::other(format!("{method} is answered with {}, and nothing else", response.status)))
    }

    async fn hear(&self, message: &Value) -> io::Result<()> {
        if message["method"] != "roots/list" {
            return Ok(());
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        let uri = format!("file://{}", self.root.lock().expect("no panic").display());
        self.tell(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": [{ "uri": uri }]}})).await
    }

    async fn tell(&self, message: &Value) -> io::Result<()> {
        let response = self.http.post(&self.id, message).await?;
        match self.http.finish(response).await? {
            202 => Ok(()),
            status => Err(io::Error::other(format!("{message} is answered with {status}"))),
        }
    }
}
