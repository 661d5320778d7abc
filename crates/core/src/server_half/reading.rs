//! Reading: what each message from the client means for the half's books. Nothing is sent, published or released
//! here; that is [settled](super::settling) afterwards.

use super::asking::Question;
use super::config::ServerConfig;
use super::event::{Action, Event};
use super::snapshot::Problem;
use super::ways::Way;
use super::{Link, ServerHalf, Told};
use crate::frame::{Answer, ClientFrame, Verdict};
use crate::set::{Origin, Rejected, RootSet};
use crate::time::Time;

/// JSON-RPC's "method not found".
const METHOD_NOT_FOUND: i64 = -32601;

impl ServerHalf {
    pub(super) fn read(&mut self, frame: ClientFrame<'_>, now: Time) -> Verdict {
        match frame {
            ClientFrame::Initialize { roots } if self.link == Link::Opening => {
                self.link = Link::Introduced;
                self.capability = roots;
                self.recombine();
            }
            ClientFrame::Initialized => self.open(),
            ClientFrame::ListChanged => return self.notified(),
            ClientFrame::Answer { id, answer } => {
                if let Some(question) = self.asking.answered(id) {
                    self.answered(question, answer, now);
                    return Verdict::Swallow;
                }
                // A stream that is resumed may deliver a question once more, and a client answer it once more.
                if self.asking.knows(id) {
                    return Verdict::Swallow;
                }
            }
            ClientFrame::Subscribe { id, uri } => {
                self.open_if_welcomed();
                let limit = self.config.max_subscriptions;
                let path = self.config.mapping.read(uri, self.config.rules).ok().map(|read| read.path().clone());
                if !self.work.subscribe(id, uri, path, &self.view.in_force, limit) {
                    self.report(Event::NotFollowed { limit });
                }
            }
            ClientFrame::Unsubscribe { uri } => self.work.unsubscribe(uri),
            ClientFrame::Request => self.open_if_welcomed(),
            _ => {}
        }
        Verdict::Pass
    }

    /// A client that sends requests after the welcome regards the handshake as done, even if its
    /// `notifications/initialized` is late or missing. Before that, a server sends nothing but pings and
    /// logging (2025-11-25, basic/lifecycle, Initialization).
    fn open_if_welcomed(&mut self) {
        if self.link == Link::Welcomed {
            self.open();
        }
    }

    fn open(&mut self) {
        if self.link < Link::Open {
            self.link = Link::Open;
        }
    }

    fn notified(&mut self) -> Verdict {
        if !self.announces() {
            self.counters.discarded += 1;
            self.report(Event::Discarded { count: self.counters.discarded });
            return Verdict::Swallow;
        }
        self.counters.notified += 1;
        // It is there, and it speaks of roots: what it failed at before may go well now.
        self.asking.heard();
        if self.view.refused {
            self.view.refused = false;
            self.recombine();
        }
        self.invalidate();
        Verdict::Pass
    }

    fn answered(&mut self, question: Question, answer: Answer, now: Time) {
        if question.way == Way::Stream {
            self.ways.trust_stream();
        }
        let problem = match answer {
            Answer::Listed(entries) => {
                let ServerConfig { rules, mapping, max_roots, .. } = &self.config;
                let set = RootSet::admit(entries, *rules, mapping, Origin::Client, *max_roots);
                return self.told(question, set.set, set.rejected, now);
            }
            Answer::Error { code, message } => Problem::Error { code, message },
            Answer::Unreadable(what) => Problem::Unreadable(what),
        };
        if means_no(&problem) {
            if self.asking.apply(&question) {
                self.refused(problem);
            }
        } else if self.asking.in_flight.is_none() {
            // A later question may still do better than this one did.
            self.question_failed(problem, now);
        }
    }

    fn told(&mut self, question: Question, set: RootSet, rejected: Vec<Rejected>, now: Time) {
        if !self.asking.apply(&question) {
            self.counters.too_late += 1;
            self.report(Event::AnswerTooLate { id: question.id });
            return;
        }
        self.asking.heard();
        self.counters.answered += 1;
        self.report(Event::Answered {
            took: now.since(question.asked_at),
            roots: set.len(),
            rejected: rejected.len(),
            fresh: question.covers == self.generation,
        });
        self.view.told = Some(Told { set, rejected, covers: question.covers, at: now });
        self.recombine();
    }

    fn refused(&mut self, problem: Problem) {
        self.asking.heard();
        self.last_problem = Some(problem.clone());
        self.report(Event::Refused { problem });
        self.view.refused = true;
        self.view.told = None;
        self.recombine();
    }

    pub(super) fn question_failed(&mut self, problem: Problem, now: Time) {
        let retry_at = self.asking.failed(&self.config, now);
        self.counters.retries += 1;
        self.last_problem = Some(problem.clone());
        self.report(Event::Failed { problem, retry_in: retry_at.since(now), failures: self.asking.failures() });
    }

    pub(super) fn cue(&mut self, now: Time) {
        if !self.may_ask() {
            return;
        }
        if self.cued_at.is_some_and(|cued_at| now.since(cued_at) < self.config.cue_interval) {
            self.counters.cues_ignored += 1;
            return;
        }
        self.cued_at = Some(now);
        self.counters.cues += 1;
        self.invalidate();
    }

    pub(super) fn invalidate(&mut self) {
        self.generation = self.generation.next();
    }

    pub(super) fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Report(event));
    }
}

/// Whether a problem is a client's way to say that it has no roots to give. Clients in the field use several
/// codes for that, so the words count as well.
fn means_no(problem: &Problem) -> bool {
    let Problem::Error { code, message } = problem else {
        return false;
    };
    let message = message.to_lowercase();
    *code == METHOD_NOT_FOUND
        || ["not supported", "unsupported", "not implemented", "method not found", "unknown method"]
            .iter()
            .any(|no| message.contains(no))
}
