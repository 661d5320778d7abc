//! Every order of things, up to a size, between halves of which one can reach the other only on streams that come and go.

use mcp_roots_core::frame::RequestId;
use mcp_roots_core::host_half::HostConfig;
use mcp_roots_core::server_half::{Reach, RequestStream, ServerConfig};
use mcp_roots_core::uri::PathRules;
use mcp_roots_testkit::{Sent, Step, ToClient, ToServer};
use stateright::{Checker, Model, Property};

use crate::version;

/// How much may happen in a run, apart from the requests that a client goes on to send as long as the server is behind.
struct Streams {
    changes: u32,
    /// Requests that are sent whether the server is behind or not.
    requests: i64,
    /// Streams that the client opens, of requests or not, and that break off at any time.
    openings: u32,
    breaks: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    step: Step,
    to_server: Vec<ToServer>,
    to_client: Vec<Question>,
    changes: u32,
    requests: i64,
    /// The request in flight, and whether its stream is open.
    request: Option<(RequestId, bool)>,
    stream: bool,
    openings: u32,
    breaks: u32,
    /// A question went out although there was no stream.
    lost: bool,
}

/// A question on its stream: it is lost with that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    question: ToClient,
    within: Option<RequestId>,
}

impl World {
    fn send(&mut self, (to_server, to_client): Sent) {
        self.to_server.extend(to_server);
        for question in to_client {
            // A request in flight goes before the other stream.
            let within = self.request.as_ref().filter(|(_, open)| *open).map(|(request, _)| request.clone());
            self.lost |= within.is_none() && !self.stream;
            self.to_client.push(Question { question, within });
        }
    }

    /// All is delivered, and the server is not waited for.
    fn quiet(&self) -> bool {
        self.to_server.is_empty() && self.to_client.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Move {
    Change,
    Timeout,
    AtServer,
    AtClient(usize),
    Request,
    Reply,
    Break,
    Resume,
    Open,
    Close,
}

impl Model for Streams {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        let server = ServerConfig { rules: PathRules::Posix, reach: Reach::Streams, ..ServerConfig::default() };
        let (step, sent) = Step::new(server, HostConfig::default(), version(0));
        let mut world = World {
            step,
            to_server: Vec::new(),
            to_client: Vec::new(),
            changes: 0,
            requests: 0,
            request: None,
            stream: false,
            openings: 0,
            breaks: 0,
            lost: false,
        };
        world.send(sent);
        vec![world]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        let idle = world.quiet() && world.step.next_timeout().is_none();
        if world.changes < self.changes {
            moves.push(Move::Change);
        }
        if world.step.next_timeout().is_some() && world.quiet() {
            moves.push(Move::Timeout);
        }
        // What one side sends to the server stays in order: it is POSTed one after the other.
        if !world.to_server.is_empty() {
            moves.push(Move::AtServer);
        }
        moves.extend((0..world.to_client.len()).map(Move::AtClient));
        match &world.request {
            None if world.requests < self.requests => moves.push(Move::Request),
            None if idle && world.changes == self.changes && !world.step.agrees() => moves.push(Move::Request),
            None => {}
            Some((_, open)) => {
                moves.push(Move::Reply);
                match open {
                    true if world.breaks < self.breaks => moves.push(Move::Break),
                    false => moves.push(Move::Resume),
                    true => {}
                }
            }
        }
        if world.stream {
            if world.breaks < self.breaks {
                moves.push(Move::Close);
            }
        } else if world.openings < self.openings {
            moves.push(Move::Open);
        }
    }

    fn next_state(&self, world: &World, action: Move) -> Option<World> {
        let mut world = world.clone();
        let sent = match action {
            Move::Change => {
                world.changes += 1;
                world.step.change(version(world.changes))
            }
            Move::Timeout => world.step.pass(world.step.next_timeout()?),
            Move::AtServer => {
                let message = world.to_server.remove(0);
                world.step.at_server(&message)
            }
            Move::AtClient(at) => {
                let question = world.to_client.remove(at);
                world.step.at_client(&question.question)
            }
            Move::Request => {
                world.requests += 1;
                let request = RequestId::Number(world.requests);
                world.request = Some((request.clone(), true));
                world.step.request(&request)
            }
            Move::Reply => {
                let (request, _) = world.request.take()?;
                world.step.reply(&request)
            }
            Move::Break => {
                world.breaks += 1;
                let (request, _) = world.request.take()?;
                world.to_client.retain(|question| question.within.as_ref() != Some(&request));
                world.request = Some((request.clone(), false));
                world.step.request_stream(&request, RequestStream::Broken)
            }
            Move::Resume => {
                let (request, _) = world.request.take()?;
                world.request = Some((request.clone(), true));
                world.step.request_stream(&request, RequestStream::Resumed)
            }
            Move::Open | Move::Close => {
                world.stream = action == Move::Open;
                world.openings += u32::from(world.stream);
                world.breaks += u32::from(!world.stream);
                if !world.stream {
                    world.to_client.retain(|question| question.within.is_some());
                }
                world.step.stream(world.stream)
            }
        };
        world.send(sent);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::eventually("b1 converges", |streams: &Streams, world: &World| {
                world.changes == streams.changes && world.step.agrees()
            }),
            Property::always("nothing is asked without a stream", |_, world: &World| !world.lost),
            Property::always("s6 at most one question is in flight and counted", |_, world: &World| {
                let counters = world.step.server.status().counters;
                let done = counters.answered + counters.retries + counters.too_late + counters.set_aside;
                counters.asked <= done + 1
            }),
            Property::always("s9 no failure is counted that is the stream's", |_, world: &World| {
                world.step.server.status().counters.retries == 0
            }),
            Property::sometimes("a question is lost with its stream", |_, world: &World| {
                world.step.server.status().counters.set_aside > 0
            }),
        ]
    }
}

#[test]
fn b1_converges_on_streams_that_come_and_go() {
    for streams in [
        Streams { changes: 2, requests: 2, openings: 1, breaks: 2 },
        Streams { changes: 1, requests: 2, openings: 2, breaks: 3 },
    ] {
        let checker = streams.checker().threads(2).spawn_bfs().join();
        println!("{} states", checker.unique_state_count());
        checker.assert_properties();
    }
}
