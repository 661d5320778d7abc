//! Where the commands come from: a prompt with line editing and history, or the standard input, line by line.

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};
use tokio::io::{AsyncBufReadExt, BufReader, Stdin};
use tokio::sync::mpsc;

use super::screen::{Printer, plain_printer};
use crate::exit::Exit;

const PROMPT: &str = "roots> ";

/// The lines that are typed or piped.
pub(super) enum Lines {
    Piped(tokio::io::Lines<BufReader<Stdin>>),
    Typed {
        lines: mpsc::Receiver<String>,
        /// Asks for the next line, once the last one has been dealt with.
        ready: std::sync::mpsc::Sender<()>,
    },
}

impl Lines {
    /// Opens the prompt or the pipe, and what prints beside it.
    pub(super) fn open(interactive: bool) -> Result<(Self, Printer), Exit> {
        if !interactive {
            return Ok((Lines::Piped(BufReader::new(tokio::io::stdin()).lines()), plain_printer()));
        }
        let mut editor = DefaultEditor::new().map_err(no_prompt)?;
        let mut beside = editor.create_external_printer().map_err(no_prompt)?;
        // A terminal that is gone shows nothing any more.
        let printer: Printer = Box::new(move |text| drop(beside.print(text + "\n")));
        let (typed, lines) = mpsc::channel(1);
        let (ready, asked) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                match editor.readline(PROMPT) {
                    Ok(line) => {
                        // Without its history a prompt still works.
                        let _ = editor.add_history_entry(&line);
                        if typed.blocking_send(line).is_err() {
                            return;
                        }
                    }
                    Err(ReadlineError::Interrupted) => drop(typed.blocking_send(String::new())),
                    Err(_) => return,
                }
            }
        });
        Ok((Lines::Typed { lines, ready }, printer))
    }

    /// The next line; `None` at the end. Cancelled, it loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Exit> {
        match self {
            Lines::Piped(lines) => {
                lines.next_line().await.map_err(|error| Exit::Internal(format!("the commands cannot be read: {error}")))
            }
            Lines::Typed { lines, ready } => {
                // The prompt has ended if nobody hears this; the line below says so too.
                let _ = ready.send(());
                Ok(lines.recv().await)
            }
        }
    }

    pub(super) fn interactive(&self) -> bool {
        matches!(self, Lines::Typed { .. })
    }
}

fn no_prompt(error: ReadlineError) -> Exit {
    Exit::Internal(format!("there can be no prompt here: {error}. Pipe the commands in instead"))
}
