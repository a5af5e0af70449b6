//! The workload of one step at one worker: the next client to send, and when.
//!
//! Rules. Under the **open** model, sender groups with a rate of their own have turns of their own; under the
//! **closed** model, all clients here share the slots. A step that holds its connections sends nothing.

mod closed;
mod next;
mod open;

use load::{Load, Schedule, StepOrder};

use crate::timing::senders::LocalSenders;
use closed::Closed;
pub(crate) use next::Next;
use open::Open;

/// The sending side of a step.
#[derive(Debug)]
pub(crate) enum Pace {
    /// By sender group; one at least.
    Open(Vec<Open>),
    Closed(Closed),
    /// Nothing to send until this moment, nor then.
    Hold(u64),
}

impl Pace {
    /// This worker's part of the load of `order` from `start_ns` on, sent by `all`. In an open load, each of
    /// the `groups` sends its share.
    pub(crate) fn new(
        order: &StepOrder,
        all: LocalSenders,
        groups: Vec<LocalSenders>,
        start_ns: u64,
        seed: u64,
    ) -> Self {
        match order.load {
            Load::Open { schedule, duration_ns } => {
                let open = |group| Open::new(schedule, duration_ns, start_ns, group);
                Self::Open(groups.into_iter().map(open).collect())
            }
            Load::Storm(storm) => {
                let duration_ns = storm.whole_ns();
                let Some(rate_per_s) = storm.rate_per_s.filter(|_| !all.clients.is_empty()) else {
                    // A storm without a rate, or without senders here, still lasts: clients have to be
                    // watched coming back.
                    return Self::Hold(start_ns + duration_ns);
                };
                let schedule = Schedule::constant(rate_per_s);
                let open = |group| Open::new(schedule, duration_ns, start_ns, group).in_storm(duration_ns);
                Self::Open(groups.into_iter().map(open).collect())
            }
            Load::Hold { duration_ns } => Self::Hold(start_ns + duration_ns),
            Load::Closed { concurrency, per_client, until } => {
                Self::Closed(Closed::new(all, concurrency, per_client, until, start_ns, seed))
            }
        }
    }

    /// Has an open loop pass over clients that are not usable: others are there in their place.
    pub(crate) fn pass_over_absent(&mut self) {
        if let Self::Open(groups) = self {
            for open in groups {
                open.pass_over_absent();
            }
        }
    }

    /// Has due messages of an open loop wait for a client that takes them, as long as one may come back.
    pub(crate) fn wait_for_absent(&mut self, waits: bool) {
        if let Self::Open(groups) = self {
            for open in groups {
                open.wait_for_absent(waits);
            }
        }
    }

    /// The action at `now_ns`, with `most` messages at the most, which is one at least. Each [`Next::Send`]
    /// is given once and counts as sent. `takes` says how many of a number of messages a client takes now,
    /// and counts them as taken. A closed loop passes over clients that take none; an open one names them, so
    /// that what could not be sent is known.
    pub(crate) fn poll(&mut self, now_ns: u64, most: u32, takes: impl Fn(u32, u32) -> u32) -> Next {
        match self {
            Self::Open(groups) => {
                // A group that has sent everything is due never, and so comes last: it then says when all
                // is over.
                let first = groups.iter_mut().min_by_key(|open| open.next_ns());
                first.expect("there is a group").poll(now_ns, takes)
            }
            Self::Closed(closed) => closed.poll(now_ns, most, takes),
            Self::Hold(end_ns) if now_ns < *end_ns => Next::At(*end_ns),
            Self::Hold(_) => Next::Over,
        }
    }

    /// The action at `now_ns` once everything is sent; `None` while there is more to send.
    pub(crate) fn poll_rest(&self, now_ns: u64) -> Option<Next> {
        let until = |end_ns: u64| if now_ns < end_ns { Next::At(end_ns) } else { Next::Over };
        match self {
            Self::Open(groups) => {
                let is_sent = groups.iter().all(Open::is_sent);
                is_sent.then(|| until(groups.iter().map(Open::end_ns).max().unwrap_or(0)))
            }
            Self::Closed(closed) => closed.is_over(now_ns).then_some(Next::Over),
            Self::Hold(end_ns) => Some(until(*end_ns)),
        }
    }

    /// Frees the slots of `messages` messages of `client` that were answered, or given up.
    pub(crate) fn handle_answers(&mut self, client: u32, messages: u32) {
        if let Self::Closed(closed) = self {
            closed.handle_answers(client, messages);
        }
    }

    /// Handles messages of `client` that had no connection to go out by: a closed loop that has a number of
    /// samples to take sends others in their place.
    pub(crate) fn handle_unsent(&mut self, client: u32, messages: u32) {
        if let Self::Closed(closed) = self {
            closed.handle_unsent(client, messages);
        }
    }

    /// Notes that a client that took no message, because it was gone or outside, may take one again.
    pub(crate) fn handle_return(&mut self, client: u32) {
        match self {
            Self::Open(groups) => {
                for open in groups {
                    open.handle_return(client);
                }
            }
            Self::Closed(closed) => closed.handle_return(client),
            Self::Hold(_) => {}
        }
    }

    /// When message `number` of the client at `place` (its index in the list given to `new`) was due. `None`
    /// where that depends on answers, on absences, or on which group sends: then messages under way have to be
    /// kept.
    pub(crate) fn due_ns(&self, place: usize, number: u32) -> Option<u64> {
        let Self::Open(groups) = self else { return None };
        let [open] = &groups[..] else { return None };
        open.due_ns(place, number)
    }

    /// Returns whether the messages under way have to be kept, client by client.
    pub(crate) fn awaits(&self) -> bool {
        match self {
            Self::Open(groups) => groups.iter().any(Open::has_absences),
            Self::Closed(_) => true,
            Self::Hold(_) => false,
        }
    }

    /// Returns whether there is more to send, no answer to wait for, and no client left to send it.
    pub(crate) fn is_stranded(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.is_stranded())
    }

    /// Returns whether answers decide what is sent.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

#[cfg(test)]
mod tests;
