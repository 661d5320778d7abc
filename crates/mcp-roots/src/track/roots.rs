//! The handle by which a server's handlers see the client's roots.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Weak};

use mcp_roots_core::server_half::{Demand, Snapshot, Status, Unavailable, WaitId};
use mcp_roots_core::uri::RootPath;
use rmcp::model::Extensions;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{Changes, Lease, LeaseError, Session};

tokio::task_local! {
    /// The roots of the request that this task handles, where a request has roots of its own: whose they are in
    /// place of, and they.
    static OF_THIS_REQUEST: (Weak<Session>, Arc<Session>);
}

/// One client's roots, as its server sees them. Cheap to clone; every clone sees the same.
///
/// In the modern era (2026-07-28) there is no session, and each request has roots of its own. In the task that handles
/// such a request, if the server is served as [`Serving`](crate::Serving), every method here is about those.
#[derive(Clone, Debug)]
pub struct Roots {
    session: Arc<Session>,
}

impl Roots {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Roots { session }
    }

    /// Runs a handler in whose task these roots are those of the request, wherever it holds `connection`'s.
    pub(crate) async fn within<F: Future>(self, connection: &Roots, handling: F) -> F::Output {
        OF_THIS_REQUEST.scope((Arc::downgrade(&connection.session), self.session), handling).await
    }

    pub(crate) fn own_session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The session that these roots are of, here and now.
    fn session(&self) -> Arc<Session> {
        let of_this_request = OF_THIS_REQUEST.try_with(|(connection, request)| {
            std::ptr::eq(connection.as_ptr(), Arc::as_ptr(&self.session)).then(|| request.clone())
        });
        of_this_request.ok().flatten().unwrap_or_else(|| self.session.clone())
    }

    /// The roots of the client that a message came from, out of the message's extensions: a handler finds those in its
    /// context. So one server can serve many sessions, and each handler sees its own client's roots and no other's.
    ///
    /// They are there on every transport that this crate tracks; `None` means that the message came by another, or in
    /// no session.
    ///
    /// ```
    /// # use rmcp::{RoleServer, model::ErrorData, service::RequestContext};
    /// # async fn handle(context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
    /// use mcp_roots::Roots;
    ///
    /// let roots = Roots::of(&context.extensions).ok_or(ErrorData::internal_error("no session", None))?;
    /// let snapshot = roots.current().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A tool of `rmcp`'s may also take `Extension<Roots>` as a parameter.
    pub fn of(extensions: &Extensions) -> Option<&Roots> {
        extensions.get()
    }

    /// The roots in force, current at the time of the call: if the client has announced a change since it
    /// last answered, this waits for the next answer, within the deadline and never longer.
    ///
    /// A client without roots is no error: the snapshot's state is then `Unsupported`, and its roots are
    /// the operator's.
    ///
    /// # Errors
    ///
    /// When no current set could be had in time, and the options say that this is an error. The message
    /// says whose fault it is and what to do.
    pub async fn current(&self) -> Result<Arc<Snapshot>, Unavailable> {
        let session = self.session();
        let (answer, mut outcome) = oneshot::channel();
        let (demand, deadline) = session.turn(|books, now| {
            let demand = books.half.demand(now);
            if let Demand::Wait(wait) = &demand {
                books.waits.insert(*wait, answer);
            }
            (demand, now + books.half.config().deadline)
        });
        let wait = match demand {
            Demand::Now(outcome) => return outcome,
            Demand::Wait(wait) => wait,
        };
        let _withdraw = Withdraw { session: &session, wait };
        loop {
            // The deadline is kept from here, so that it holds even while nobody polls the transport.
            tokio::select! {
                biased;
                outcome = &mut outcome => return outcome.unwrap_or(Err(Unavailable::Closed)),
                () = session.clock.sleep_until(Some(deadline)) => session.tick(),
            }
        }
    }

    /// Says that this request needs roots, without waiting for them: if it is returned to the client for something
    /// else, they are asked for along with that. Only in the modern era does this make a difference.
    pub fn want(&self) {
        self.session().want();
    }

    /// What is known now, without waiting. Its state says how far it can be relied on.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.session().published.borrow().clone()
    }

    /// The changes of the roots in force from now on. One that lags sees several changes as one.
    pub fn changes(&self) -> Changes {
        Changes::new(self.session().published.clone())
    }

    /// A watch on the snapshots themselves, their states included.
    pub fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.session().published.clone()
    }

    /// A permission to work on `path`, which is local, while a root in force covers it. Waits for a current set as
    /// [`Roots::current`] does.
    ///
    /// # Errors
    ///
    /// When no current set could be had, when `path` is not absolute, or when no root in force covers it.
    pub async fn lease(&self, path: impl AsRef<Path>) -> Result<Lease, LeaseError> {
        self.lease_at(RootPath::from_native(path.as_ref()).map_err(LeaseError::Path)?).await
    }

    /// As [`Roots::lease`], for a path that is known already.
    ///
    /// # Errors
    ///
    /// When no current set could be had, or when no root in force covers `path`.
    pub async fn lease_at(&self, path: RootPath) -> Result<Lease, LeaseError> {
        self.current().await?;
        let session = self.session();
        let revoked = CancellationToken::new();
        let lease = session.turn(|books, _| {
            let lease = books.half.lease(&path)?;
            books.leases.insert(lease, revoked.clone());
            Some(lease)
        });
        match lease {
            Some(lease) => Ok(Lease::new(session, lease, path, revoked)),
            None => Err(LeaseError::outside(&path, &self.snapshot())),
        }
    }

    /// Has the set checked, at most once per interval: a hint that it may have changed without a
    /// notification. A ResourceNotFound that a handler answers with is such a hint by itself. In the modern era there is
    /// nothing to check, since each request asks.
    pub fn recheck(&self) {
        self.session().cue();
    }

    /// Ends when the connection has ended, for what goes on until then. It is the connection's own in either era.
    pub async fn closed(&self) {
        let mut published = self.session.published.clone();
        while published.changed().await.is_ok() {}
    }

    /// What has happened on this connection, for diagnostics.
    pub fn status(&self) -> Status {
        self.session().turn(|books, _| books.half.status())
    }
}

/// Gives up the place in the queue when a request is cancelled while it waits.
struct Withdraw<'a> {
    session: &'a Session,
    wait: WaitId,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.session.turn(|books, _| {
            if books.waits.remove(&self.wait).is_some() {
                books.half.withdraw(self.wait);
            }
        });
    }
}
