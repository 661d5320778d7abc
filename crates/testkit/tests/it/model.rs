//! Every order of things, up to a size: a model checker delivers, loses, duplicates and delays as it likes.

use mcp_roots_core::host_half::HostConfig;
use mcp_roots_core::server_half::ServerConfig;
use mcp_roots_core::uri::PathRules;
use mcp_roots_testkit::{Step, ToClient, ToServer};
use stateright::{Checker, Model, Property};

use crate::version;

/// How much may happen in a run.
struct Roots {
    changes: u32,
    losses: u32,
    duplicates: u32,
    /// How often a timeout comes although messages are under way.
    delays: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    step: Step,
    to_server: Vec<ToServer>,
    to_client: Vec<ToClient>,
    changes: u32,
    losses: u32,
    duplicates: u32,
    delays: u32,
    /// The newest version that has been announced.
    announced: u32,
    /// An answer was sent that is older than what had been announced.
    answered_behind: bool,
}

impl World {
    /// What the halves want carried is under way from now on.
    fn send(&mut self, (to_server, to_client): (Vec<ToServer>, Vec<ToClient>)) {
        for message in &to_server {
            match message {
                ToServer::ListChanged => self.announced = self.changes,
                ToServer::Answer { roots, .. } => {
                    self.answered_behind |= (0..self.announced).any(|older| *roots == version(older));
                }
            }
        }
        self.to_server.extend(to_server);
        self.to_client.extend(to_client);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Move {
    Change,
    Timeout,
    AtServer(usize),
    AtClient(usize),
    LoseAnswer(usize),
    LoseQuestion(usize),
    DuplicateToServer(usize),
    DuplicateQuestion(usize),
}

impl Model for Roots {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        let server = ServerConfig { rules: PathRules::Posix, ..ServerConfig::default() };
        let (step, (to_server, to_client)) = Step::new(server, HostConfig::default(), version(0));
        vec![World {
            step,
            to_server,
            to_client,
            changes: 0,
            losses: 0,
            duplicates: 0,
            delays: 0,
            announced: 0,
            answered_behind: false,
        }]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        let quiet = world.to_server.is_empty() && world.to_client.is_empty();
        if world.changes < self.changes {
            moves.push(Move::Change);
        }
        if world.step.next_timeout().is_some() && (quiet || world.delays < self.delays) {
            moves.push(Move::Timeout);
        }
        for (at, message) in world.to_server.iter().enumerate() {
            moves.push(Move::AtServer(at));
            // A lost notification is made good by nobody: a wire that loses those does not deliver.
            if world.losses < self.losses && *message != ToServer::ListChanged {
                moves.push(Move::LoseAnswer(at));
            }
            if world.duplicates < self.duplicates {
                moves.push(Move::DuplicateToServer(at));
            }
        }
        for at in 0..world.to_client.len() {
            moves.push(Move::AtClient(at));
            if world.losses < self.losses {
                moves.push(Move::LoseQuestion(at));
            }
            if world.duplicates < self.duplicates {
                moves.push(Move::DuplicateQuestion(at));
            }
        }
    }

    fn next_state(&self, world: &World, action: Move) -> Option<World> {
        let mut world = world.clone();
        let quiet = world.to_server.is_empty() && world.to_client.is_empty();
        match action {
            Move::Change => {
                world.changes += 1;
                let sent = world.step.change(version(world.changes));
                world.send(sent);
            }
            Move::Timeout => {
                world.delays += u32::from(!quiet);
                let sent = world.step.pass(world.step.next_timeout()?);
                world.send(sent);
            }
            Move::AtServer(at) => {
                let message = world.to_server.remove(at);
                let sent = world.step.at_server(&message);
                world.send(sent);
            }
            Move::AtClient(at) => {
                let message = world.to_client.remove(at);
                let sent = world.step.at_client(&message);
                world.send(sent);
            }
            Move::LoseAnswer(at) => {
                world.losses += 1;
                world.to_server.remove(at);
            }
            Move::LoseQuestion(at) => {
                world.losses += 1;
                world.to_client.remove(at);
            }
            Move::DuplicateToServer(at) => {
                world.duplicates += 1;
                world.to_server.push(world.to_server[at].clone());
            }
            Move::DuplicateQuestion(at) => {
                world.duplicates += 1;
                world.to_client.push(world.to_client[at].clone());
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            // Runs end, since what may go wrong in one is limited; so this speaks of the end of each.
            Property::eventually("b1 converges", |roots: &Roots, world: &World| {
                world.changes == roots.changes && world.step.agrees()
            }),
            Property::always("s6 at most one question is in flight and counted", |_, world: &World| {
                let counters = world.step.server.status().counters;
                counters.asked <= counters.answered + counters.retries + counters.too_late + 1
            }),
            Property::always("h4 an answer holds what was announced before it", |_, world: &World| {
                !world.answered_behind
            }),
            Property::sometimes("the fence is tried", |_, world: &World| {
                world.step.server.snapshot().state == mcp_roots_core::server_half::State::Refreshing
            }),
        ]
    }
}

#[test]
fn b1_converges_in_every_order() {
    for roots in [
        Roots { changes: 2, losses: 1, duplicates: 1, delays: 1 },
        Roots { changes: 3, losses: 0, duplicates: 1, delays: 0 },
        Roots { changes: 1, losses: 2, duplicates: 1, delays: 1 },
    ] {
        let checker = roots.checker().threads(2).spawn_bfs().join();
        println!("{} states", checker.unique_state_count());
        checker.assert_properties();
    }
}
