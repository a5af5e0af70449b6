//! Measurements of one worker between two moments of a step, and how they add up.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stats::{Account, Counts, Errors, Figures, Histogram, Packed};

use crate::contents::Content;

/// All that one worker measured between two moments of a step. Deltas add up. They travel with their
/// histograms packed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Delta<H = Packed> {
    /// The worker.
    pub worker: u16,
    /// The step's number.
    pub step: u16,
    /// The end of the interval, on the run's clock.
    pub at_ns: u64,
    /// Clients usable at that moment.
    pub usable: u32,
    /// When the last message came in, on the run's clock; 0: none in this step.
    pub last_arrival_ns: u64,
    /// The samples of the interval.
    pub figures: Figures<H>,
    /// The parts of the round trips in `figures`, in sums.
    pub account: Account,
    /// Received by the kernel → handled; sampled. It is the generator's own time, and no figure of the step.
    pub loop_lag: H,
    /// The counts of the interval. The crew finds out `expected` and `missing`; `in_flight` counts what was
    /// under way to clients that left in a churn.
    pub counts: Counts,
    /// Counts and times by kind of messages; empty where there is one kind only.
    pub says: Vec<SayDelta<H>>,
    /// Counts and times by role of users; empty without roles.
    pub roles: Vec<RoleDelta<H>>,
    /// Copies due for the broadcasts of the interval, if all members of their rooms are there.
    pub due: u64,
    /// Bytes of the messages sent in the interval, as they were written.
    pub sent_bytes: u64,
    /// Payload bytes of the messages that count as received in the interval.
    pub received_bytes: u64,
    /// First acknowledgements received in the interval.
    pub acks: u64,
    /// The part of the interval's messages sent and received after the step's window, where that ends at a
    /// known time.
    pub tail: Tail,
    /// Messages that waited in the interval, and that were sent after waiting.
    pub held: Held,
    /// Messages abandoned with connections that ended in the interval, where no others take their place.
    pub abandoned: Abandoned,
    /// The errors of the interval.
    pub errors: Errors,
    /// Messages that rules of the app's file took for something else, by rule, and that are missing at the step's
    /// end.
    pub taken: Errors,
    /// The pushes of the interval that are compared, by their contents.
    pub contents: Vec<Content>,
    /// The answers of the interval by their HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// The cost of the worker's thread in the interval.
    pub usage: Usage,
    /// The permit of this delta: while it is held, the worker sends no other delta.
    #[serde(skip)]
    pub permit: DeltaPermit,
}

/// Measurements of one kind of messages, where there are several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SayDelta<H = Packed> {
    /// Counts of messages.
    pub counts: Counts,
    /// Intended send → echo, acknowledgement or own copy.
    pub rtt: H,
    /// Intended send → a receiver has its copy.
    pub delivery: H,
}

/// Measurements of one role, where there are roles.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RoleDelta<H = Packed> {
    /// Counts of the role's connections, and of what its clients sent and received.
    pub counts: Counts,
    /// TCP connect → usable.
    pub handshake: H,
    /// Round trips of the role's messages: intended send → acknowledgement or own copy.
    pub rtt: H,
    /// Deliveries to the role's clients: intended send → a client has its copy.
    pub delivery: H,
}

/// Messages sent and received after the window of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Messages that had to wait until after the window.
    pub sent: u64,
    /// Deliveries.
    pub received: u64,
    /// Acknowledgements.
    pub acks: u64,
    /// Events of streamed answers.
    pub events: u64,
    /// Tokens in these events.
    pub tokens: u64,
}

/// Messages that clients had to keep for a while: plain requests that waited for their connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Messages that began to wait.
    pub kept: u64,
    /// Messages sent after waiting.
    pub sent: u64,
}

/// Messages no longer waited for, since their connections ended under load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abandoned {
    /// Clients to which broadcasts were due.
    pub receivers: u64,
    /// Copies that these clients had received.
    pub copies: u64,
    /// Echoes and acknowledgements that these clients waited for.
    pub answers: u64,
    /// Clients to which broadcasts were to be due, lost before the load.
    pub absent: u64,
    /// Broadcasts that were to be published, and that no publisher sent.
    pub messages: u64,
    /// Copies due of these by the size of their rooms.
    pub due: u64,
}

/// The time of a worker's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Length of the interval.
    pub wall_ns: u64,
    /// CPU time in user and kernel mode.
    pub cpu_ns: u64,
    /// Time spent ready to run, waiting for a CPU.
    pub run_queue_ns: u64,
    /// Time in which at least one message was without an answer.
    pub outstanding_ns: u64,
}

/// Token of a delta under way. Its worker has a clone, and is free to send the next delta once it holds the
/// only one. In another process, dropping it frees no worker.
#[derive(Clone, Debug, Default)]
pub struct DeltaPermit(Arc<()>);

impl DeltaPermit {
    /// Returns whether there is no other clone.
    pub(crate) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

// What one end of a network adds up may be anything: nothing here overflows.

impl Tail {
    /// Adds a further interval, or another worker's.
    pub fn merge(&mut self, other: &Tail) {
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.acks = self.acks.saturating_add(other.acks);
        self.events = self.events.saturating_add(other.events);
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}

impl Held {
    /// Adds a further interval, or another worker's.
    pub fn merge(&mut self, other: &Held) {
        self.kept = self.kept.saturating_add(other.kept);
        self.sent = self.sent.saturating_add(other.sent);
    }

    /// Messages still waiting.
    pub fn waiting(&self) -> u64 {
        self.kept.saturating_sub(self.sent)
    }
}

impl Abandoned {
    /// Adds a further interval, or another worker's.
    pub fn merge(&mut self, other: &Abandoned) {
        self.receivers = self.receivers.saturating_add(other.receivers);
        self.copies = self.copies.saturating_add(other.copies);
        self.answers = self.answers.saturating_add(other.answers);
        self.absent = self.absent.saturating_add(other.absent);
        self.messages = self.messages.saturating_add(other.messages);
        self.due = self.due.saturating_add(other.due);
    }
}

impl Usage {
    /// Adds a further interval, or another thread's.
    pub fn merge(&mut self, other: &Usage) {
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.run_queue_ns = self.run_queue_ns.saturating_add(other.run_queue_ns);
        self.outstanding_ns = self.outstanding_ns.saturating_add(other.outstanding_ns);
    }
}

impl Delta<Histogram> {
    /// Adds what `other` measured, in another interval or at another worker. `self` keeps its time, number of
    /// clients and contents of pushes, for the caller to combine.
    pub fn add(&mut self, other: &Delta) {
        self.figures.add(&other.figures);
        self.loop_lag.add(&other.loop_lag);
        // A sum begins without kinds, and a worker reports each of them.
        self.says.resize_with(self.says.len().max(other.says.len()), SayDelta::default);
        for (own, other) in self.says.iter_mut().zip(&other.says) {
            own.counts.merge(&other.counts);
            own.rtt.add(&other.rtt);
            own.delivery.add(&other.delivery);
        }
        self.roles.resize_with(self.roles.len().max(other.roles.len()), RoleDelta::default);
        for (own, other) in self.roles.iter_mut().zip(&other.roles) {
            own.counts.merge(&other.counts);
            own.handshake.add(&other.handshake);
            own.rtt.add(&other.rtt);
            own.delivery.add(&other.delivery);
        }
        self.add_all_but_figures(other);
    }
}

impl Delta {
    /// Adds another delta, where both are packed.
    pub fn merge(&mut self, other: &Delta) {
        self.figures.merge(&other.figures);
        self.loop_lag.merge(&other.loop_lag);
        self.says.resize_with(self.says.len().max(other.says.len()), SayDelta::default);
        for (own, other) in self.says.iter_mut().zip(&other.says) {
            own.counts.merge(&other.counts);
            own.rtt.merge(&other.rtt);
            own.delivery.merge(&other.delivery);
        }
        self.roles.resize_with(self.roles.len().max(other.roles.len()), RoleDelta::default);
        for (own, other) in self.roles.iter_mut().zip(&other.roles) {
            own.counts.merge(&other.counts);
            own.handshake.merge(&other.handshake);
            own.rtt.merge(&other.rtt);
            own.delivery.merge(&other.delivery);
        }
        self.contents.extend_from_slice(&other.contents);
        self.add_all_but_figures(other);
    }
}

impl<H> Delta<H> {
    fn add_all_but_figures(&mut self, other: &Delta) {
        self.last_arrival_ns = self.last_arrival_ns.max(other.last_arrival_ns);
        self.account.merge(&other.account);
        self.counts.merge(&other.counts);
        self.due = self.due.saturating_add(other.due);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.received_bytes = self.received_bytes.saturating_add(other.received_bytes);
        self.acks = self.acks.saturating_add(other.acks);
        self.tail.merge(&other.tail);
        self.held.merge(&other.held);
        self.abandoned.merge(&other.abandoned);
        self.taken.merge(&other.taken);
        self.errors.merge(&other.errors);
        for (&status, &answers) in &other.statuses {
            let sum = self.statuses.entry(status).or_default();
            *sum = sum.saturating_add(answers);
        }
        self.usage.merge(&other.usage);
    }
}
