//! Messages over lines, as a transport for `rmcp`.

use std::collections::VecDeque;
use std::future::Future;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleClient, RoleServer};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, Stdin};

use super::lines::{Line, LineReader, LineWriter, WriteError};
use super::refuse::{Refused, misfit};

/// How many bad lines in succession are answered. More than that is a peer that speaks something else, or
/// one that answers our answers.
const ANSWERED: u32 = 8;

/// The limits of a [`LineTransport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest message that is read, in bytes. Default: 16 MiB.
    pub message: usize,
    /// How many bytes may wait for a peer that does not read. Default: 64 MiB.
    pub queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { message: 16 << 20, queue: 64 << 20 }
    }
}

/// A transport of one JSON-RPC message a line.
///
/// A server answers a line that is no message with a JSON-RPC error; a client logs it. The messages of a
/// JSON-RPC batch (2025-03-26, basic, Batching) are read one after the other, and answered one by one.
#[derive(Debug)]
pub struct LineTransport<R, Role: ServiceRole> {
    reader: LineReader<R>,
    writer: LineWriter,
    limits: Limits,
    /// The rest of a batch.
    batch: VecDeque<RxJsonRpcMessage<Role>>,
    /// Bad lines since the last good one.
    bad: u32,
}

/// A side of the wire that reads lines: a server or a client.
pub trait Peer: ServiceRole {
    /// The error to answer a request with that was read as something else than what it is.
    #[doc(hidden)]
    fn misread(message: &RxJsonRpcMessage<Self>) -> Option<Vec<u8>>;
}

impl Peer for RoleServer {
    fn misread(message: &ClientJsonRpcMessage) -> Option<Vec<u8>> {
        misfit(message).map(|refused| refused.to_line())
    }
}

impl Peer for RoleClient {
    fn misread(_: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
        None
    }
}

/// The standard input and output of this process, for a server. Must be called inside a runtime.
///
/// A read of the standard input cannot be cancelled: end the process with [`std::process::exit`], or shut the
/// runtime down in the background, once the session is over.
pub fn stdio() -> LineTransport<Stdin, RoleServer> {
    LineTransport::new(tokio::io::stdin(), tokio::io::stdout())
}

impl<R: AsyncRead + Send + Unpin, Role: Peer> LineTransport<R, Role> {
    /// Reads from one stream and writes to another. Must be called inside a runtime.
    pub fn new(read: R, write: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self::with_limits(read, write, Limits::default())
    }

    /// As [`LineTransport::new`], with limits.
    pub fn with_limits(read: R, write: impl AsyncWrite + Send + Unpin + 'static, limits: Limits) -> Self {
        LineTransport {
            reader: LineReader::new(read, limits.message),
            writer: LineWriter::new(write, limits.queue),
            limits,
            batch: VecDeque::new(),
            bad: 0,
        }
    }

    fn read(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        match line.first() {
            None => {}
            Some(b'[') => self.read_batch(line),
            Some(_) => self.read_message(line),
        }
    }

    fn read_batch(&mut self, line: &[u8]) {
        match serde_json::from_slice::<Vec<&RawValue>>(line) {
            Ok(messages) if messages.is_empty() => self.refuse(Refused::empty_batch()),
            Ok(messages) => messages.iter().for_each(|message| self.read_message(message.get().as_bytes())),
            Err(_) => self.unreadable(line),
        }
    }

    fn read_message(&mut self, line: &[u8]) {
        match serde_json::from_slice::<RxJsonRpcMessage<Role>>(line) {
            Ok(message) => {
                self.bad = 0;
                match Role::misread(&message) {
                    None => self.batch.push_back(message),
                    Some(answer) => drop(self.writer.push(answer)),
                }
            }
            Err(_) => self.unreadable(line),
        }
    }

    fn unreadable(&mut self, line: &[u8]) {
        match Refused::unreadable(line) {
            Some(refused) => self.refuse(refused),
            None => tracing::debug!(target: "mcp_roots", "dropped an answer that is no message"),
        }
    }

    fn refuse(&mut self, refused: Refused) {
        self.bad = self.bad.saturating_add(1);
        if Role::IS_CLIENT || self.bad > ANSWERED {
            tracing::debug!(target: "mcp_roots", bad = self.bad, "dropped a line: {}", refused.message());
            return;
        }
        tracing::warn!(target: "mcp_roots", "refused a line: {}", refused.message());
        // It is queued at once; whether the peer reads it is the peer's affair.
        drop(self.writer.push(refused.to_line()));
    }
}

impl<R: AsyncRead + Send + Unpin, Role: Peer> Transport<Role> for LineTransport<R, Role> {
    type Error = WriteError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = Result<(), WriteError>> + Send + 'static {
        // Written out here, and not when the future is polled: this fixes the order.
        let line = serde_json::to_vec(&message);
        let pushed = line.map(|line| self.writer.push(line));
        async move {
            match pushed {
                Ok(pushed) => pushed.await,
                Err(error) => Err(WriteError::Unwritable(error.to_string().into())),
            }
        }
    }

    /// Cancel-safe.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            if let Some(message) = self.batch.pop_front() {
                return Some(message);
            }
            match self.reader.next().await {
                Ok(Some(Line::Whole(line))) => self.read(&line),
                Ok(Some(Line::TooLong)) => self.refuse(Refused::too_long(self.limits.message)),
                Ok(None) => return None,
                Err(error) => {
                    tracing::warn!(target: "mcp_roots", "the peer's messages cannot be read any more: {error}");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), WriteError> {
        self.writer.close().await;
        Ok(())
    }
}
