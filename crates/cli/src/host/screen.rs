//! What `host` shows: for people, with arrows for directions; for programs, one JSON object a line.

use std::io::Write;

use mcp_roots::core::host_half::HostEvent;
use mcp_roots::core::set::{Diff, RootSet};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Writes a text and a newline where people see it. A prompt needs its own way.
pub(super) type Printer = Box<dyn FnMut(String) + Send>;

/// Shows what happens, in order, on a task of its own: nobody who says something waits for a slow terminal.
#[derive(Clone)]
pub(super) struct Screen {
    queue: mpsc::UnboundedSender<Item>,
}

enum Item {
    Show(Note),
    Flush(oneshot::Sender<()>),
}

/// Something to show.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Note {
    Connected {
        server: String,
        version: String,
        protocol: String,
    },
    Notified {
        direction: &'static str,
        method: &'static str,
        added: Vec<String>,
        removed: Vec<String>,
        renamed: Vec<String>,
        reordered: bool,
    },
    Asked {
        direction: &'static str,
        method: &'static str,
        after_ms: Option<f64>,
    },
    Answered {
        direction: &'static str,
        roots: Vec<String>,
    },
    HeldBack {
        why: String,
    },
    Unheeded {
        waited_ms: u64,
    },
    /// The server's boundary, as its own tool tells it.
    Boundary {
        directories: Vec<String>,
    },
    Withheld {
        folder: String,
        why: String,
    },
    Back {
        folder: String,
    },
    Unchanged,
    ResourceUpdated {
        uri: String,
    },
    ResourceListChanged,
    Log {
        level: String,
        data: Value,
    },
    Result {
        command: String,
        value: Value,
        #[serde(skip)]
        shown: String,
    },
    Error {
        command: String,
        message: String,
    },
}

impl Screen {
    pub(super) fn start(json: bool, mut printer: Printer) -> Self {
        let (queue, mut items) = mpsc::unbounded_channel();
        let style = Style { colours: !json && crate::colours(&std::io::stdout()) };
        tokio::spawn(async move {
            while let Some(item) = items.recv().await {
                match item {
                    Item::Show(note) if json => printer(json!(note).to_string()),
                    Item::Show(note) => printer(style.text(&note)),
                    Item::Flush(done) => {
                        // Whoever asked may have gone.
                        let _ = done.send(());
                    }
                }
            }
        });
        Screen { queue }
    }

    pub(super) fn show(&self, note: Note) {
        // The task ends only with the queue.
        let _ = self.queue.send(Item::Show(note));
    }

    pub(super) fn event(&self, event: &HostEvent) {
        self.show(match event {
            HostEvent::Announced { diff, .. } => announced(diff),
            HostEvent::Asked { after } => Note::Asked {
                direction: "from-server",
                method: "roots/list",
                after_ms: after.map(|after| after.as_secs_f64() * 1e3),
            },
            HostEvent::Answered { roots } => Note::Answered { direction: "to-server", roots: uris(roots) },
            HostEvent::Unheeded { waited } => Note::Unheeded { waited_ms: waited.as_millis() as u64 },
            HostEvent::HeldBack(why) => Note::HeldBack { why: why.to_string() },
            other => Note::HeldBack { why: other.to_string() },
        });
    }

    /// Ends when all that was said before has been shown.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.queue.send(Item::Flush(done)).is_ok() {
            let _ = flushed.await;
        }
    }
}

/// Prints to the standard output.
pub(super) fn plain_printer() -> Printer {
    Box::new(|text| {
        let mut out = std::io::stdout().lock();
        // A reader that has gone away is no reason to stop the session.
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    })
}

struct Style {
    colours: bool,
}

impl Style {
    fn text(&self, note: &Note) -> String {
        match note {
            Note::Connected { server, version, protocol } => {
                self.dim(&format!("connected to {server} {version}, protocol {protocol}"))
            }
            Note::Notified { method, added, removed, renamed, reordered, .. } => {
                let marked = [("+", added), ("-", removed), ("~", renamed)];
                let changes = marked.into_iter().flat_map(|(mark, uris)| uris.iter().map(move |uri| format!(" {mark} {uri}")));
                let order = if *reordered { " (another order)" } else { "" };
                format!("{} {method}{}{order}", self.arrow("→"), changes.collect::<String>())
            }
            Note::Asked { method, after_ms: Some(after), .. } => {
                format!("{} {method} {}", self.arrow("←"), self.dim(&format!("after {after:.1} ms")))
            }
            Note::Asked { method, after_ms: None, .. } => format!("{} {method}", self.arrow("←")),
            Note::Answered { roots, .. } => {
                format!("{} {}: {}", self.arrow("→"), counted(roots.len()), listed(roots))
            }
            Note::HeldBack { why } => format!("· not announced: {why}"),
            Note::Unheeded { waited_ms } => self.warn(&format!(
                "! the server has not asked roots/list {waited_ms} ms after the notification: it ignores roots, or asks \
                 only when it needs them"
            )),
            Note::Boundary { directories } => format!("= the server's boundary: {}", listed(directories)),
            Note::Withheld { folder, why } => self.warn(&format!("! {folder} is withheld until it can be reached: {why}")),
            Note::Back { folder } => format!("! {folder} can be reached again"),
            Note::Unchanged => "· nothing changed for the server".into(),
            Note::ResourceUpdated { uri } => format!("{} notifications/resources/updated {uri}", self.arrow("←")),
            Note::ResourceListChanged => format!("{} notifications/resources/list_changed", self.arrow("←")),
            Note::Log { level, data } => format!("{} {level}: {data}", self.arrow("←")),
            Note::Result { shown, .. } => shown.clone(),
            Note::Error { message, .. } => self.warn(&format!("error: {message}")),
        }
    }

    fn arrow(&self, arrow: &str) -> String {
        self.paint("1;36", arrow)
    }

    fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn warn(&self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}

fn announced(diff: &Diff) -> Note {
    Note::Notified {
        direction: "to-server",
        method: "notifications/roots/list_changed",
        added: diff.added.iter().map(|root| root.uri.to_string()).collect(),
        removed: diff.removed.iter().map(|root| root.uri.to_string()).collect(),
        renamed: diff.renamed.iter().map(|renamed| renamed.new.uri.to_string()).collect(),
        reordered: diff.reordered,
    }
}

fn uris(roots: &RootSet) -> Vec<String> {
    roots.iter().map(|root| root.uri.to_string()).collect()
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "none".into() } else { items.join(", ") }
}

fn counted(roots: usize) -> String {
    if roots == 1 { "1 root".into() } else { format!("{roots} roots") }
}
