//! A host half and a server half, past the handshake, each behind a plain shell.

use std::time::Duration;

use mcp_roots_core::frame::{Answer, ClientFrame, RequestId, RootsCapability, ServerFrame};
use mcp_roots_core::host_half::{HostAction, HostConfig, HostHalf};
use mcp_roots_core::server_half::{Action, RequestStream, ServerConfig, ServerHalf};
use mcp_roots_core::set::{RawRoot, RootSet};
use mcp_roots_core::time::Time;

use crate::wire::{Faults, ToClient, ToServer, Wire};

/// The two halves without a wire between them: what is delivered when is for whoever holds them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The host's side.
    pub host: HostHalf,
    /// The server's side.
    pub server: ServerHalf,
    /// The moment.
    pub now: Time,
}

/// What the halves want carried after a step.
pub type Sent = (Vec<ToServer>, Vec<ToClient>);

impl Step {
    /// A connection on which the handshake has just been done, and what it has led to.
    pub fn new(server: ServerConfig, host: HostConfig, exposed: RootSet) -> (Self, Sent) {
        let declared = host.declare;
        let mut step =
            Step { host: HostHalf::new(host, exposed), server: ServerHalf::new(server, Time::ZERO), now: Time::ZERO };
        // The handshake is the SDKs' affair; the halves only have to hear of it.
        let _ = step.host.handle_outbound(ClientFrame::Initialize { roots: None }, step.now);
        let _ = step.server.handle_inbound(ClientFrame::Initialize { roots: declared }, step.now);
        let _ = step.server.handle_outbound(ServerFrame::InitializeResult { resources_list_changed: true }, step.now);
        let _ = step.host.handle_outbound(ClientFrame::Initialized, step.now);
        let _ = step.server.handle_inbound(ClientFrame::Initialized, step.now);
        let sent = step.drain();
        (step, sent)
    }

    /// The workspace changes.
    pub fn change(&mut self, exposed: RootSet) -> Sent {
        self.host.handle_workspace(exposed, self.now);
        self.drain()
    }

    /// A message arrives at the server.
    pub fn at_server(&mut self, message: &ToServer) -> Sent {
        // Whether the SDK would see it too is of no concern here.
        let _ = match message {
            ToServer::ListChanged => self.server.handle_inbound(ClientFrame::ListChanged, self.now),
            ToServer::Answer { id, roots } => {
                let answer = Answer::Listed(roots.iter().map(raw).collect());
                self.server.handle_inbound(ClientFrame::Answer { id, answer }, self.now)
            }
        };
        self.drain()
    }

    /// A message arrives at the client.
    pub fn at_client(&mut self, message: &ToClient) -> Sent {
        let ToClient::ListRoots { id } = message;
        let _ = self.host.handle_inbound(ServerFrame::ListRoots { id }, self.now);
        self.drain()
    }

    /// The client sends a request, and questions can go on its stream until it is answered.
    pub fn request(&mut self, request: &RequestId) -> Sent {
        self.server.handle_request_stream(request, RequestStream::Opened, self.now);
        let _ = self.server.handle_inbound(ClientFrame::Request, self.now);
        self.drain()
    }

    /// The server answers it.
    pub fn reply(&mut self, request: &RequestId) -> Sent {
        let _ = self.server.handle_outbound(ServerFrame::Reply { id: request, error: None }, self.now);
        self.drain()
    }

    /// The stream of that request breaks off or is resumed.
    pub fn request_stream(&mut self, request: &RequestId, became: RequestStream) -> Sent {
        self.server.handle_request_stream(request, became, self.now);
        self.drain()
    }

    /// The client opens or closes its stream.
    pub fn stream(&mut self, open: bool) -> Sent {
        self.server.handle_stream(open, self.now);
        self.drain()
    }

    /// When one of the halves wants to be called.
    pub fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout().into_iter().chain(self.server.next_timeout()).min()
    }

    /// Time passes, up to this moment.
    pub fn pass(&mut self, to: Time) -> Sent {
        self.now = self.now.max(to);
        self.host.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
        self.drain()
    }

    /// Whether the server sees what the host exposes, and knows that it does.
    pub fn agrees(&self) -> bool {
        let snapshot = self.server.snapshot();
        let exposed: Vec<_> = self.host.exposed().iter().map(|root| (root.uri.as_str(), &root.name)).collect();
        let seen: Vec<_> = snapshot.roots.iter().map(|root| (root.uri.as_str(), &root.name)).collect();
        snapshot.state == mcp_roots_core::server_half::State::Fresh && exposed == seen
    }

    fn drain(&mut self) -> Sent {
        let (mut to_server, mut to_client) = Sent::default();
        while let Some(action) = self.host.poll_action() {
            match action {
                HostAction::Announce => to_server.push(ToServer::ListChanged),
                HostAction::Answer { id, roots } => to_server.push(ToServer::Answer { id, roots }),
                _ => {}
            }
        }
        while let Some(action) = self.server.poll_action() {
            if let Action::Ask(id) | Action::AskWithin { id, .. } = action {
                to_client.push(ToClient::ListRoots { id });
            }
        }
        (to_server, to_client)
    }
}

/// A [`Step`] on a faulty wire, run by the clock.
#[derive(Clone, Debug)]
pub struct Pair {
    step: Step,
    to_server: Wire<ToServer>,
    to_client: Wire<ToClient>,
}

impl Pair {
    /// A connection on a wire with these faults.
    pub fn new(faults: Faults, seed: u64, exposed: RootSet) -> Self {
        let server = ServerConfig { seed, rules: mcp_roots_core::uri::PathRules::Posix, ..ServerConfig::default() };
        let host = HostConfig { declare: Some(RootsCapability { list_changed: true }), ..HostConfig::default() };
        let (step, sent) = Step::new(server, host, exposed);
        let mut pair =
            Pair { step, to_server: Wire::new(faults, seed), to_client: Wire::new(faults, seed.wrapping_mul(3)) };
        pair.send(sent);
        pair
    }

    /// The halves.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// The workspace changes.
    pub fn change(&mut self, exposed: RootSet) {
        let sent = self.step.change(exposed);
        self.send(sent);
    }

    /// From now on the wire carries everything in time.
    pub fn mend(&mut self) {
        self.to_server.mend();
        self.to_client.mend();
    }

    /// Lets time pass, with all that happens in it.
    pub fn run(&mut self, time: Duration) {
        let end = self.step.now + time;
        while let Some(next) = self.next_event().filter(|&next| next <= end) {
            let sent = self.step.pass(next);
            self.send(sent);
            while let Some(message) = self.to_server.receive(self.step.now) {
                let sent = self.step.at_server(&message);
                self.send(sent);
            }
            while let Some(message) = self.to_client.receive(self.step.now) {
                let sent = self.step.at_client(&message);
                self.send(sent);
            }
        }
        let sent = self.step.pass(end);
        self.send(sent);
    }

    fn next_event(&self) -> Option<Time> {
        let arrivals = self.to_server.next_arrival().into_iter().chain(self.to_client.next_arrival());
        arrivals.chain(self.step.next_timeout()).min()
    }

    /// A lost notification is not made good by anybody, so the wire may lose only what is retried.
    fn send(&mut self, (to_server, to_client): Sent) {
        for message in to_server {
            let may_be_lost = message != ToServer::ListChanged;
            self.to_server.send(message, may_be_lost, self.step.now);
        }
        for message in to_client {
            self.to_client.send(message, true, self.step.now);
        }
    }
}

fn raw(root: &mcp_roots_core::set::Root) -> RawRoot {
    RawRoot::Listed { uri: root.uri.as_str().into(), name: root.name.as_deref().map(String::from) }
}
