//! The ways to the client: whether a question can reach it right now, and by which stream.

use std::collections::VecDeque;

use super::config::Reach;
use crate::frame::RequestId;

/// How many requests whose stream broke off are remembered, in case their client resumes it.
const BROKEN: usize = 32;

/// What became of the stream of a client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestStream {
    /// The request is being read.
    Opened,
    /// It ended before the reply.
    Broken,
    /// It is there again.
    Resumed,
}

/// How a question went, or can go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// As any message: the client can be reached at any time.
    Direct,
    /// On the stream that the client keeps open for what belongs to none of its requests.
    Stream,
    /// On the stream of this request of the client's.
    Within(RequestId),
}

/// The streams that the client has open. Nothing is kept here if it can be reached at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ways {
    stream: Stream,
    /// The client's requests in flight whose stream is open, oldest first.
    requests: VecDeque<Carrier>,
    /// Those whose stream broke off.
    broken: VecDeque<Carrier>,
}

/// A client's request on whose stream a question can go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Carrier {
    request: RequestId,
    /// It has paid for a question. Each pays for one.
    paid: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stream {
    #[default]
    Closed,
    Open,
    /// Open as far as anybody knows, but a question on it got no answer within its deadline: the connection under it
    /// may be dead without having been closed.
    Doubted,
}

impl Ways {
    /// The best way to the client now, if there is one. A request in flight goes before the stream, since the client
    /// has just been heard on it, and since a question should belong to a request if there is one (SEP-2260).
    pub(super) fn best(&self, reach: Reach) -> Option<Way> {
        match (reach, self.requests.back()) {
            (Reach::Always, _) => Some(Way::Direct),
            (Reach::Streams, Some(carrier)) => Some(Way::Within(carrier.request.clone())),
            (Reach::Streams, None) => (self.stream == Stream::Open).then_some(Way::Stream),
        }
    }

    /// Whether the best way is a request that pays for the question which goes on its stream.
    pub(super) fn pays(&self) -> bool {
        self.requests.back().is_some_and(|carrier| !carrier.paid)
    }

    /// A question goes this way, and the request whose stream that is pays for it.
    pub(super) fn charge(&mut self, way: &Way) {
        if let Way::Within(request) = way
            && let Some(carrier) = self.requests.iter_mut().rev().find(|carrier| carrier.request == *request)
        {
            carrier.paid = true;
        }
    }

    pub(super) fn set_stream(&mut self, open: bool) {
        self.stream = if open { Stream::Open } else { Stream::Closed };
    }

    /// The stream is not relied on before it is opened anew, or an answer shows that it works.
    pub(super) fn doubt_stream(&mut self) {
        if self.stream == Stream::Open {
            self.stream = Stream::Doubted;
        }
    }

    /// An answer came to a question that went by the stream.
    pub(super) fn trust_stream(&mut self) {
        if self.stream == Stream::Doubted {
            self.stream = Stream::Open;
        }
    }

    /// A request is being read. Past the limit the oldest is forgotten as a way; nothing else comes of that.
    pub(super) fn opened(&mut self, request: &RequestId, limit: usize) {
        self.answered(request);
        push(&mut self.requests, Carrier { request: request.clone(), paid: false }, limit);
    }

    /// The stream of a request broke off.
    pub(super) fn broke(&mut self, request: &RequestId) {
        if let Some(carrier) = take(&mut self.requests, request) {
            push(&mut self.broken, carrier, BROKEN);
        }
    }

    /// The stream of a request was resumed. That of a request which has been answered leads nowhere any more.
    pub(super) fn resumed(&mut self, request: &RequestId, limit: usize) {
        if let Some(carrier) = take(&mut self.broken, request) {
            push(&mut self.requests, carrier, limit);
        }
    }

    /// A request is being answered.
    pub(super) fn answered(&mut self, request: &RequestId) {
        if take(&mut self.requests, request).is_none() {
            take(&mut self.broken, request);
        }
    }
}

/// Adds to the newer end, and drops what is too much at the older.
fn push(carriers: &mut VecDeque<Carrier>, carrier: Carrier, limit: usize) {
    carriers.push_back(carrier);
    if carriers.len() > limit {
        carriers.pop_front();
    }
}

fn take(carriers: &mut VecDeque<Carrier>, request: &RequestId) -> Option<Carrier> {
    // Most requests are answered soon, so the newer end is the place to look first.
    let place = carriers.iter().rposition(|carrier| carrier.request == *request)?;
    carriers.remove(place)
}
