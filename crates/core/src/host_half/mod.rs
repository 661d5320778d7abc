//! The host half: stands on the client's side of the wire and publishes a workspace's roots to one server.
//!
//! It is driven as the [server half](crate::server_half) is: told what happens and when, then drained of
//! actions. It declares, answers and announces, so none of the three can be there without the others
//! (2025-11-25, client/roots, Capabilities).
//!
//! What decides an announcement is what the server has been *told*: the set of the last answer or of the
//! last announcement, whichever came later. If that is what a `roots/list` would be answered with, there is
//! nothing to say.

mod event;

use std::collections::VecDeque;
use std::time::Duration;

pub use event::{HeldBack, HostAction, HostEvent};

use crate::frame::{ClientFrame, RequestId, RootsCapability, ServerFrame, Verdict};
use crate::set::RootSet;
use crate::time::Time;

/// How many answered questions are remembered.
const REMEMBERED: usize = 64;

/// The settings of a [`HostHalf`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostConfig {
    /// What to declare. `None` exposes nothing: no capability, no answer, no announcement. Default: roots
    /// with `listChanged`.
    pub declare: Option<RootsCapability>,
    /// How long the set must be still before a change is announced. Default: 50 ms.
    pub window: Duration,
    /// How long an announcement waits at most while changes keep coming. Default: 250 ms.
    pub window_cap: Duration,
    /// How long after an announcement a server that has not asked is reported. Default: 2 s.
    pub patience: Duration,
}

impl Default for HostConfig {
    fn default() -> Self {
        HostConfig {
            declare: Some(RootsCapability { list_changed: true }),
            window: Duration::from_millis(50),
            window_cap: Duration::from_millis(250),
            patience: Duration::from_secs(2),
        }
    }
}

/// Publishes a workspace's roots to one server. See the [module](self) for how to drive it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostHalf {
    config: HostConfig,
    link: Link,
    /// What a `roots/list` is answered with now.
    exposed: RootSet,
    /// What the server knows, or has been told to ask for.
    told: RootSet,
    pending: Option<Pending>,
    /// The last announcement, until the server asks.
    unheeded: Option<Unheeded>,
    /// The questions answered last. A wire may deliver one twice, and its asker takes only the first answer.
    answered: VecDeque<RequestId>,
    actions: VecDeque<HostAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Link {
    Opening,
    /// `initialize` has gone out with the capability.
    Declared,
    /// `notifications/initialized` has gone out.
    Open,
    /// There is no session: each request declares, and is answered for itself.
    Modern,
    Closed,
}

/// A change that has not been announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pending {
    first: Time,
    last: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Unheeded {
    announced_at: Time,
    reported: bool,
}

/// What arrives and what leaves.
impl HostHalf {
    /// A half for a connection that has just been opened, and what the workspace exposes.
    pub fn new(config: HostConfig, exposed: RootSet) -> Self {
        HostHalf {
            config,
            link: Link::Opening,
            told: exposed.clone(),
            exposed,
            pending: None,
            unheeded: None,
            answered: VecDeque::new(),
            actions: VecDeque::new(),
        }
    }

    /// The client is about to send a message. The actions that follow go out *before* it: a change that
    /// was made before a request is announced before that request.
    #[must_use = "it says whether the message is handed on"]
    pub fn handle_outbound(&mut self, frame: ClientFrame<'_>, now: Time) -> Verdict {
        match frame {
            // A client that has tried the modern era in vain begins anew.
            ClientFrame::Initialize { .. } if matches!(self.link, Link::Opening | Link::Modern) => {
                self.link = Link::Declared;
                return Verdict::Declare(self.config.declare);
            }
            ClientFrame::Initialized if self.link < Link::Open => {
                self.link = Link::Open;
                // A server asks after this, so what changed before needs no announcement.
                self.told = self.exposed.clone();
            }
            ClientFrame::ModernRequest => {
                self.link = self.link.max(Link::Modern);
                return Verdict::Declare(self.config.declare);
            }
            // Nobody but this half may announce: it knows whether there is anything to say.
            ClientFrame::ListChanged => {
                self.report(HostEvent::HeldBack(HeldBack::NotOurs));
                return Verdict::Swallow;
            }
            ClientFrame::Request | ClientFrame::Subscribe { .. } => self.announce_pending(now),
            _ => {}
        }
        Verdict::Pass
    }

    /// A message from the server has been read.
    #[must_use = "it says whether the message is handed on"]
    pub fn handle_inbound(&mut self, frame: ServerFrame<'_>, now: Time) -> Verdict {
        let ServerFrame::ListRoots { id } = frame else {
            return Verdict::Pass;
        };
        self.asked(id, now);
        Verdict::Swallow
    }

    /// A request of the modern era has been returned with a question for roots: the answer, if there is one.
    pub fn handle_returned(&mut self) -> Option<RootSet> {
        self.config.declare?;
        self.report(HostEvent::Asked { after: None });
        self.report(HostEvent::Answered { roots: self.exposed.clone() });
        Some(self.exposed.clone())
    }

    /// The workspace exposes this from now on.
    pub fn handle_workspace(&mut self, exposed: RootSet, now: Time) {
        let changed = self.exposed != exposed;
        self.exposed = exposed;
        if self.link == Link::Modern && changed {
            self.report(HostEvent::HeldBack(HeldBack::NoSession));
        }
        if self.link != Link::Open {
            return;
        }
        if self.exposed == self.told {
            if self.pending.take().is_some() {
                self.report(HostEvent::HeldBack(HeldBack::TakenBack));
            }
            return;
        }
        if !self.announces() {
            self.report(HostEvent::HeldBack(HeldBack::NotDeclared));
            self.told = self.exposed.clone();
            return;
        }
        let first = self.pending.map_or(now, |pending| pending.first);
        self.pending = Some(Pending { first, last: now });
    }

    /// The time of [`HostHalf::next_timeout`] has come, or some later time.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.announcement_due().is_some_and(|due| due <= now) {
            self.announce_pending(now);
        }
        if self.report_due().is_some_and(|due| due <= now)
            && let Some(unheeded) = &mut self.unheeded
        {
            unheeded.reported = true;
            let waited = now.since(unheeded.announced_at);
            self.report(HostEvent::Unheeded { waited });
        }
    }

    /// The connection has ended.
    pub fn handle_close(&mut self) {
        self.link = Link::Closed;
        self.pending = None;
        self.unheeded = None;
    }

    /// The next thing to do. Drain it after each call above.
    pub fn poll_action(&mut self) -> Option<HostAction> {
        self.actions.pop_front()
    }

    /// When [`HostHalf::handle_timeout`] is due, if nothing happens before.
    pub fn next_timeout(&self) -> Option<Time> {
        [self.announcement_due(), self.report_due()].into_iter().flatten().min()
    }
}

/// What is known.
impl HostHalf {
    /// What a `roots/list` is answered with now.
    pub fn exposed(&self) -> &RootSet {
        &self.exposed
    }

    /// Whether a change waits to be announced.
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a change has been announced and the server has not asked since.
    pub fn is_unheeded(&self) -> bool {
        self.unheeded.is_some()
    }
}

impl HostHalf {
    fn asked(&mut self, id: &RequestId, now: Time) {
        let after = self.unheeded.take().map(|unheeded| now.since(unheeded.announced_at));
        self.report(HostEvent::Asked { after });
        if self.config.declare.is_none() {
            self.actions.push_back(HostAction::Refuse(id.clone()));
            return;
        }
        self.actions.push_back(HostAction::Answer { id: id.clone(), roots: self.exposed.clone() });
        self.report(HostEvent::Answered { roots: self.exposed.clone() });
        if self.answered.contains(id) {
            return;
        }
        self.answered.push_back(id.clone());
        if self.answered.len() > REMEMBERED {
            self.answered.pop_front();
        }
        self.told = self.exposed.clone();
        if self.pending.take().is_some() {
            self.report(HostEvent::HeldBack(HeldBack::AlreadyAsked));
        }
    }

    fn announce_pending(&mut self, now: Time) {
        if self.pending.take().is_none() {
            return;
        }
        let diff = self.told.diff(&self.exposed);
        self.told = self.exposed.clone();
        self.unheeded = Some(Unheeded { announced_at: now, reported: false });
        self.actions.push_back(HostAction::Announce);
        self.report(HostEvent::Announced { diff, roots: self.exposed.clone() });
    }

    fn announces(&self) -> bool {
        self.config.declare.is_some_and(|roots| roots.list_changed)
    }

    fn announcement_due(&self) -> Option<Time> {
        let pending = self.pending?;
        Some((pending.last + self.config.window).min(pending.first + self.config.window_cap))
    }

    fn report_due(&self) -> Option<Time> {
        let unheeded = self.unheeded.filter(|unheeded| !unheeded.reported)?;
        Some(unheeded.announced_at + self.config.patience)
    }

    fn report(&mut self, event: HostEvent) {
        self.actions.push_back(HostAction::Report(event));
    }
}
