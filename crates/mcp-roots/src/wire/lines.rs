//! Lines of bytes: a reader that never holds more than its limit, and a writer that keeps the order.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How much is handed to the stream at once.
const CHUNK: usize = 64 * 1024;
/// How long closing waits for a peer that does not read.
const CLOSE_DEADLINE: Duration = Duration::from_secs(2);

/// What a read came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end. The last one of a stream need not have had an end.
    Whole(Vec<u8>),
    /// A line longer than the limit. It has been dropped.
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub struct LineReader<R> {
    stream: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    /// The rest of the line is dropped. Kept here, since a read may be cancelled in the middle of it.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of up to `limit` bytes.
    pub fn new(stream: R, limit: usize) -> Self {
        LineReader { stream: BufReader::with_capacity(CHUNK, stream), line: Vec::new(), limit, skipping: false }
    }

    /// The next line; `None` at the end of the stream. Cancel-safe.
    ///
    /// # Errors
    ///
    /// What the stream says.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.stream.fill_buf().await?;
            if available.is_empty() {
                return Ok(self.last());
            }
            // From here to the end of the turn nothing waits, so a cancelled read loses nothing.
            let newline = available.iter().position(|&byte| byte == b'\n');
            let taken = newline.unwrap_or(available.len());
            if !self.skipping && self.line.len() + taken > self.limit {
                self.skipping = true;
                self.line = Vec::new();
            }
            if !self.skipping {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.stream.consume(taken + usize::from(newline.is_some()));
            if newline.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn last(&mut self) -> Option<Line> {
        (self.skipping || !self.line.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> Line {
        if std::mem::take(&mut self.skipping) {
            return Line::TooLong;
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Line::Whole(line)
    }
}

/// Why a line was not written.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The peer does not read.
    #[error("{queued} bytes wait to be read by the peer, and the limit is {limit}: it does not read")]
    Full {
        /// How much waits.
        queued: usize,
        /// The limit.
        limit: usize,
    },
    /// The stream has failed or been closed.
    #[error("the stream is closed: {0}")]
    Closed(Arc<str>),
    /// The message cannot be written as JSON.
    #[error("the message cannot be written as JSON: {0}")]
    Unwritable(Arc<str>),
}

/// Writes lines, in the order in which they are pushed, on a task of its own.
#[derive(Debug)]
pub struct LineWriter {
    queue: Option<mpsc::UnboundedSender<Queued>>,
    books: Arc<Books>,
    limit: usize,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Books {
    queued: AtomicUsize,
    failure: OnceLock<Arc<str>>,
}

#[derive(Debug)]
struct Queued {
    line: Vec<u8>,
    written: oneshot::Sender<()>,
}

impl LineWriter {
    /// Writes to `stream`; at most `limit` bytes wait for the peer. Must be called inside a runtime.
    pub fn new(stream: impl AsyncWrite + Send + Unpin + 'static, limit: usize) -> Self {
        let (queue, lines) = mpsc::unbounded_channel();
        let books = Arc::new(Books::default());
        let task = tokio::spawn(write(stream, lines, books.clone()));
        LineWriter { queue: Some(queue), books, limit, task: Some(task) }
    }

    /// Queues a line at once, and ends when it has been written. `line` holds no newline.
    ///
    /// # Errors
    ///
    /// When the peer does not read, or the stream is closed.
    pub fn push(&self, line: Vec<u8>) -> impl Future<Output = Result<(), WriteError>> + Send + use<> {
        let written = self.enqueue(line);
        let books = self.books.clone();
        async move { written?.await.map_err(|_| books.closed()) }
    }

    fn enqueue(&self, line: Vec<u8>) -> Result<oneshot::Receiver<()>, WriteError> {
        let size = line.len() + 1;
        let queued = self.books.queued.fetch_add(size, Ordering::Relaxed);
        let (written, outcome) = oneshot::channel();
        // A single line may be longer than what is left, so long as others are not kept waiting for it.
        let refused = if queued > 0 && queued + size > self.limit {
            Some(WriteError::Full { queued, limit: self.limit })
        } else {
            let accepted = self.queue.as_ref().map(|queue| queue.send(Queued { line, written }).is_ok());
            (accepted != Some(true)).then(|| self.books.closed())
        };
        match refused {
            None => Ok(outcome),
            Some(error) => {
                self.books.queued.fetch_sub(size, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Writes what is queued, as far as the peer reads it in time, and closes the stream.
    pub async fn close(&mut self) {
        self.queue = None;
        if let Some(mut task) = self.task.take()
            && tokio::time::timeout(CLOSE_DEADLINE, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Books {
    fn closed(&self) -> WriteError {
        WriteError::Closed(self.failure.get().cloned().unwrap_or_else(|| "it was closed on this side".into()))
    }
}

async fn write(mut stream: impl AsyncWrite + Unpin, mut lines: mpsc::UnboundedReceiver<Queued>, books: Arc<Books>) {
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut waiting = Vec::new();
    while let Some(first) = lines.recv().await {
        let mut next = Some(first);
        while let Some(Queued { line, written }) = next {
            chunk.extend_from_slice(&line);
            chunk.push(b'\n');
            waiting.push(written);
            next = if chunk.len() < CHUNK { lines.try_recv().ok() } else { None };
        }
        let written = async {
            stream.write_all(&chunk).await?;
            stream.flush().await
        };
        if let Err(error) = written.await {
            // Nothing more can be written; those who wait are told when their senders are dropped.
            let _ = books.failure.set(error.to_string().into());
            return;
        }
        books.queued.fetch_sub(chunk.len(), Ordering::Relaxed);
        for written in waiting.drain(..) {
            // Whoever pushed it may have stopped waiting.
            let _ = written.send(());
        }
        chunk.clear();
        chunk.shrink_to(CHUNK);
    }
    // The peer may be gone already.
    let _ = stream.shutdown().await;
}
