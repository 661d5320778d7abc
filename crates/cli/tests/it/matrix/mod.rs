//! {legacy, modern} × {stdio, HTTP with a GET stream, HTTP without} × {roots with listChanged, roots without, no roots}:
//! after the folders change the next call sees the new ones and a removed one is refused, within three round trips plus
//! the call, on a [`Line`] long enough that nothing else counts.
#![cfg(unix)]

mod line;

use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::client::PATIENCE;
use crate::http::Server;
use crate::tree::{Tree, mcp_roots};
use line::{Line, Passed, Towards};

/// One way along the line.
const ONE_WAY: Duration = Duration::from_millis(20);
/// A call, and three round trips more.
const LONGEST: Duration = ONE_WAY.saturating_mul(2 * (1 + 3));
/// How often the folders are changed and changed back. The machine may be busy in all rounds but one.
const ROUNDS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Stdio,
    Http,
    HttpWithoutGet,
}

#[derive(Clone, Copy)]
struct Cell {
    era: &'static str,
    over: Over,
    declare: &'static str,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:?}, {}", self.era, self.over, self.declare)
    }
}

/// What was seen of a session in a cell: what `host` showed, and what passed along the line.
struct Seen {
    events: Vec<Value>,
    passed: Vec<Passed>,
}

#[tokio::test]
async fn in_every_cell_the_next_call_sees_the_change_and_no_later_than_three_round_trips() {
    for era in ["legacy", "modern"] {
        for over in [Over::Stdio, Over::Http, Over::HttpWithoutGet] {
            for declare in ["list-changed", "plain", "none"] {
                let cell = Cell { era, over, declare };
                let tree = Tree::new();
                let seen = cell.run(&tree).await;
                cell.judge(&tree, &seen);
            }
        }
    }
}

impl Cell {
    /// Adds `b` and removes it again, some times, and reads below it each time.
    async fn run(self, tree: &Tree) -> Seen {
        let b = tree.at("b").display().to_string();
        let read = format!("call read_text_file {{\"path\": \"{b}/name\"}}\n");
        let script = format!("add {b}\n{read}remove {b}\n{read}").repeat(ROUNDS);
        let mut serve = mcp_roots(["serve", "--policy", "narrow"]);
        if self.declare == "plain" {
            // Nobody says that the set has changed, and so each call asks.
            serve.args(["--refresh", "on-request:0s"]);
        }
        serve.arg(tree.at(""));
        let mut host = mcp_roots(["host", "--json", "--era", self.era, "--declare", self.declare]);
        host.arg(tree.at("a"));
        // Held to the end: what is dropped is killed.
        let (line, _server) = match self.over {
            Over::Stdio => {
                serve.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
                let mut server = serve.spawn().unwrap();
                let (line, ends) = Line::between_pipes(ONE_WAY, tree.at(""), &mut server);
                host.arg("--").args(ends);
                (line, (Some(server), None))
            }
            Over::Http | Over::HttpWithoutGet => {
                let server = Server::start(serve).await;
                let (line, address) = Line::to(ONE_WAY, server.address().to_owned()).await;
                host.args(["--url", &format!("http://{address}/mcp")]);
                if self.over == Over::HttpWithoutGet {
                    host.arg("--no-get-stream");
                }
                (line, (None, Some(server)))
            }
        };
        let mut host = host.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        host.stdin.take().unwrap().write_all(script.as_bytes()).await.unwrap();
        let output = tokio::time::timeout(PATIENCE, host.wait_with_output()).await.expect("in time").unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let events = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Seen { events, passed: line.passed() }
    }

    fn judge(self, tree: &Tree, seen: &Seen) {
        let [all, a, b] = ["", "a", "b"].map(|dir| text(&tree.at(dir)));
        let all = all.trim_end_matches('/').to_owned();
        // Whoever has no roots has what the operator gives, whatever happens to the folders.
        let (before, after) = match self.declare {
            "none" => (vec![all.clone()], vec![all]),
            _ => (vec![a.clone()], vec![a, b]),
        };
        let mut boundaries = vec![before.clone()];
        let mut worked = Vec::new();
        for _ in 0..ROUNDS {
            boundaries.extend([after.clone(), before.clone()]);
            worked.extend([true, self.declare == "none"]);
        }
        let context = || seen.events.iter().map(|event| format!("\n{event}")).collect::<String>();
        assert_eq!(seen.boundaries(), boundaries, "{self}: {}", context());
        assert_eq!(seen.reads(), worked, "{self}: {}", context());
        let changes = 2 * ROUNDS;
        let counts =
            ["notified", "asked"].map(|what| seen.events.iter().filter(|event| event["event"] == what).count());
        match (self.era, self.declare) {
            (_, "none") => assert_eq!(counts, [0, 0], "{self}"),
            ("legacy", "list-changed") => assert_eq!(counts, [changes, changes + 1], "{self}: {}", context()),
            // A call may look at its roots more than once, and what it saw before is too old then.
            ("legacy", _) => assert!(counts[0] == 0 && counts[1] > changes, "{self}: {}", context()),
            // Once for each call.
            _ => assert_eq!(counts, [0, boundaries.len() + worked.len()], "{self}: {}", context()),
        }
        let took = seen.next_calls();
        if self.declare != "none" {
            // What `host` adds comes into no answer then, and it asks again in vain.
            assert_eq!(took.len(), boundaries.len(), "{self}: asked again, which would hide an old set");
        }
        let best = |parity: usize| took[1..].iter().skip(parity).step_by(2).min().copied().expect("as many as rounds");
        let best = best(0).max(best(1));
        println!("{self}: {:.1} round trips", best.as_secs_f64() / (2 * ONE_WAY).as_secs_f64());
        assert!(best <= LONGEST, "{self}: {best:?} of {took:?}");
    }
}

impl Seen {
    /// The boundary as the server told it at first and after each change.
    fn boundaries(&self) -> Vec<Vec<String>> {
        let told = self.events.iter().filter(|event| event["event"] == "boundary");
        told.map(|event| serde_json::from_value(event["directories"].clone()).unwrap()).collect()
    }

    /// Which calls that read a file worked.
    fn reads(&self) -> Vec<bool> {
        let of_call = |event: &&Value| event["command"].as_str().is_some_and(|command| command.starts_with("call"));
        self.events.iter().filter(of_call).map(|event| event["event"] == "result").collect()
    }

    /// How long each call took that follows a change, from the announcement if there is one, as the client has it.
    fn next_calls(&self) -> Vec<Duration> {
        let mut took = Vec::new();
        let mut begun = None;
        for passed in &self.passed {
            let says = |what: &str| passed.text.contains(what);
            match passed.towards {
                Towards::Server if says("roots/list_changed") || says("list_allowed_directories") => {
                    begun.get_or_insert(passed.entered);
                }
                Towards::Client if says("Allowed directories:") => {
                    took.extend(begun.take().map(|begun| passed.entered + ONE_WAY - begun));
                }
                _ => {}
            }
        }
        took
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
