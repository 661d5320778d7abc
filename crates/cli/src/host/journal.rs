//! What has happened about roots on this connection, for `status` and for those who wait for it.

use std::time::Duration;

use mcp_roots::core::host_half::HostEvent;

#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    pub(super) announced: u64,
    pub(super) asked: u64,
    pub(super) held_back: u64,
    pub(super) unheeded: u64,
    /// Announced, and not asked about and answered since.
    pub(super) open: bool,
    /// How long the server took over the last announcement that it asked about.
    pub(super) took: Option<Duration>,
}

impl Journal {
    pub(super) fn note(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Announced { .. } => {
                self.announced += 1;
                self.open = true;
            }
            HostEvent::Asked { after } => {
                self.asked += 1;
                self.took = after.or(self.took);
            }
            HostEvent::Answered { .. } => self.open = false,
            HostEvent::HeldBack(_) => self.held_back += 1,
            HostEvent::Unheeded { .. } => self.unheeded += 1,
            _ => {}
        }
    }

    /// Whether a change made at `before` has come to its end: announced and asked about, announced and
    /// ignored, or held back.
    pub(super) fn settled_since(&self, before: &Journal) -> bool {
        let given_up = self.unheeded > before.unheeded || before.ignores_roots();
        self.told_since(before) && (self.held_back > before.held_back || !self.open || given_up)
    }

    /// Whether the server has been told of a change made at `before`, or is not to be.
    pub(super) fn told_since(&self, before: &Journal) -> bool {
        self.held_back > before.held_back || self.announced > before.announced
    }

    /// Whether the server has been told of changes and never asked.
    pub(super) fn ignores_roots(&self) -> bool {
        self.unheeded > 0 && self.asked == 0
    }
}
