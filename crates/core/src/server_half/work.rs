//! Work under the roots: leases and subscriptions, and which of them end when the set changes.
//!
//! One rule for both: work is bound to a path and ends when no root in force covers that path any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::frame::RequestId;
use crate::set::RootSet;
use crate::uri::RootPath;

/// A permission to go on working under a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(u64);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Work {
    leases: BTreeMap<LeaseId, RootPath>,
    next_lease: u64,
    subscriptions: BTreeMap<Arc<str>, Subscription>,
    /// Subscribe requests that the server has not replied to.
    requested: BTreeMap<RequestId, Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subscription {
    standing: Standing,
    /// Where the resource is; `None` if it is no file.
    path: Option<RootPath>,
    /// Whether a root has covered it at any time. What none ever covered is none of our business.
    covered: bool,
}

impl Subscription {
    /// Looks at new roots; whether they no longer cover what was covered.
    fn leaves(&mut self, roots: &RootSet) -> bool {
        let covered = self.path.as_ref().is_some_and(|path| roots.find(path).is_some());
        self.covered |= covered;
        self.covered && !covered
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    /// The server has not agreed to it yet.
    Requested,
    Active,
    /// Its root has left. Updates are held back until the client subscribes again.
    Ended,
}

/// What ends with a change of the set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) leases: Vec<LeaseId>,
    pub(super) subscriptions: Vec<Arc<str>>,
}

impl Work {
    pub(super) fn lease(&mut self, path: RootPath) -> LeaseId {
        let id = LeaseId(self.next_lease);
        self.next_lease += 1;
        self.leases.insert(id, path);
        id
    }

    pub(super) fn return_lease(&mut self, id: LeaseId) {
        self.leases.remove(&id);
    }

    pub(super) fn leases(&self) -> usize {
        self.leases.len()
    }

    pub(super) fn subscriptions(&self) -> usize {
        self.subscriptions.values().filter(|subscription| subscription.standing == Standing::Active).count()
    }

    /// Notes a subscribe request for what is at `path`, if it is a file; false if there are `limit` already and this one
    /// is not followed.
    pub(super) fn subscribe(
        &mut self,
        id: &RequestId,
        uri: &str,
        path: Option<RootPath>,
        roots: &RootSet,
        limit: usize,
    ) -> bool {
        if !self.subscriptions.contains_key(uri) && self.subscriptions.len() >= limit {
            self.forget_one_ended();
        }
        let known = self.subscriptions.contains_key(uri);
        if self.requested.len() >= limit || (!known && self.subscriptions.len() >= limit) {
            return false;
        }
        let uri: Arc<str> = uri.into();
        let mut subscription = Subscription { standing: Standing::Requested, path, covered: false };
        subscription.leaves(roots);
        self.subscriptions.insert(uri.clone(), subscription);
        self.requested.insert(id.clone(), uri);
        true
    }

    pub(super) fn unsubscribe(&mut self, uri: &str) {
        self.subscriptions.remove(uri);
    }

    /// The server has replied to `id`. Gives back the resource if that was a subscription whose root has
    /// left in the meantime: the client believes in it, and has to learn that it ended.
    pub(super) fn replied(&mut self, id: &RequestId, agreed: bool, roots: &RootSet) -> Option<Arc<str>> {
        let uri = self.requested.remove(id)?;
        let subscription = self.subscriptions.get_mut(&uri)?;
        if !agreed {
            self.subscriptions.remove(&uri);
            return None;
        }
        let left = subscription.leaves(roots);
        subscription.standing = if left { Standing::Ended } else { Standing::Active };
        left.then_some(uri)
    }

    /// Whether an update of `uri` may still go to the client.
    pub(super) fn may_update(&self, uri: &str) -> bool {
        self.subscriptions.get(uri).is_none_or(|subscription| subscription.standing != Standing::Ended)
    }

    /// Ends what `roots` no longer covers.
    pub(super) fn reconcile(&mut self, roots: &RootSet) -> Ending {
        let mut ending = Ending::default();
        self.leases.retain(|&id, path| {
            let covered = roots.find(path).is_some();
            if !covered {
                ending.leases.push(id);
            }
            covered
        });
        for (uri, subscription) in &mut self.subscriptions {
            if subscription.leaves(roots) && subscription.standing == Standing::Active {
                subscription.standing = Standing::Ended;
                ending.subscriptions.push(uri.clone());
            }
        }
        ending
    }

    fn forget_one_ended(&mut self) {
        let ended = self.subscriptions.iter().find(|(_, subscription)| subscription.standing == Standing::Ended);
        if let Some(uri) = ended.map(|(uri, _)| uri.clone()) {
            self.subscriptions.remove(&uri);
        }
    }
}
