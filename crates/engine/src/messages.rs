//! Commands to a worker and its reports: plain data, the same over a channel, a pipe or a network.

use std::collections::BTreeMap;
use std::sync::Arc;

use load::{Cut, StepOrder};
use serde::{Deserialize, Serialize};
use stats::{Account, Counts, Errors, Figures, Histogram, Packed};

use crate::contents::Content;
use crate::events::Batch;

/// A command to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Have this step's clients usable, then report [`Report::Grown`].
    Step(StepOrder),
    /// Start the step's load at this moment of the run's clock.
    Go {
        /// Nanoseconds on the run's clock.
        at_ns: u64,
    },
    /// Stop loading if still at it, close the books of the step and report [`Report::Settled`].
    Settle,
    /// Close all connections and report [`Report::Finished`].
    Finish,
    /// Sets the clock of a process that is not the coordinator's: the run's clock is its own plus this.
    Clock {
        /// The run's clock minus the process's own.
        offset_ns: i64,
    },
}

/// A report of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Report {
    /// Every client of the step is usable or has failed.
    Grown {
        /// The worker.
        worker: u16,
        /// Clients usable now.
        usable: u32,
        /// The slow ones among these, to which nothing is due.
        slow: u32,
        /// Clients usable now, and those that were and lost their connection while others connected.
        reached: u32,
    },
    /// Measurements since the last delta.
    Delta(Box<Delta>),
    /// The last message of the step is sent; what follows is draining.
    Loaded {
        /// The worker.
        worker: u16,
        /// Messages sent in the step.
        sent: u64,
        /// When there was nothing left to send, on the run's clock.
        at_ns: u64,
    },
    /// Single events, where the plan asks for them. Events recorded before another report come before it.
    Events(Batch),
    /// The books of a step.
    Settled(Box<Settled>),
    /// Every connection is closed; the worker has ended.
    Finished {
        /// The worker.
        worker: u16,
    },
    /// The worker cannot go on.
    Failed {
        /// The worker.
        worker: u16,
        /// The error, to be shown to the user.
        message: String,
    },
}

impl Report {
    /// The worker that the report is from; `None` for events.
    pub fn worker(&self) -> Option<u16> {
        match self {
            Report::Events(_) => None,
            Report::Delta(delta) => Some(delta.worker),
            Report::Settled(settled) => Some(settled.worker),
            Report::Grown { worker, .. }
            | Report::Loaded { worker, .. }
            | Report::Finished { worker }
            | Report::Failed { worker, .. } => Some(*worker),
        }
    }
}

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

/// The books of one step at one worker, closed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Settled {
    /// The worker.
    pub worker: u16,
    /// Measurements since the last delta, unanswered echoes included.
    pub delta: Delta,
    /// Echo: messages whose answer never came. Broadcast: see `sent` and `tallies`.
    pub unanswered: u64,
    /// The broadcasts that this worker's clients sent, by number.
    pub sent: Vec<SentBroadcast>,
    /// Tallies of all workers' broadcasts at this worker's clients.
    pub tallies: Vec<BroadcastTally>,
    /// Broadcasts: members missing from the rooms here when the load began (at 0), and clients that came and
    /// went later, by time. Slow clients count as missing.
    pub attendance: Vec<Attendance>,
    /// Broadcasts: the clients that left in mid-step.
    pub departures: Vec<Departure>,
    /// The clients that were announced as they came into rooms, by number.
    pub announced: Vec<Announced>,
    /// Tallies of all workers' announcements at this worker's clients.
    pub heard: Vec<BroadcastTally>,
    /// Broadcasts: the clients that lost their connections and were to come back.
    pub absences: Vec<Absence>,
    /// Copies of messages sent in these absences that came before the connections ended, by kind of messages;
    /// kinds that are left out had none.
    pub had_of_says: Vec<u64>,
    /// Copies due in these absences that came, by the [class](age_class) of the message's age when the client
    /// was back.
    pub recovered_by_age: Vec<u64>,
}

/// A change in the number of a room's members that are there, from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    /// On the run's clock.
    pub at_ns: u64,
    /// The room, and the role of the clients that come or go.
    pub place: RoomPlace,
    /// Change in the members present.
    pub change: i32,
}

/// A role's place in a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomPlace {
    /// The kind of rooms.
    pub kind: u16,
    /// The room, among the rooms of its kind.
    pub room: u32,
    /// The role of the clients that come or go; 0 without roles.
    pub role: u8,
}

/// A client that left in mid-step: it was there from one moment to another, on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Its number in the run.
    pub client: u32,
    /// When it was usable.
    pub from_ns: u64,
    /// When it left.
    pub to_ns: u64,
    /// The copies it got in that time.
    pub received: u32,
}

/// The time that a client was away, on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Its number in the run.
    pub client: u32,
    /// The moment from which messages were due to it as to an absent client …
    pub from_ns: u64,
    /// … because its connection ended at this moment.
    pub cut_ns: u64,
    /// When it was usable again; `u64::MAX` if not in this step.
    pub to_ns: u64,
    /// How the connection was cut; `None` if the server or the network ended it.
    pub cut: Option<Cut>,
    /// Copies of messages sent in that time that came before its connection ended.
    pub had: u32,
    /// Copies of messages sent in that time that it got later.
    pub recovered: u32,
    /// True if it was back before the last message of the step had been sent. Only then does a message's age
    /// say how far back a history reaches, because later nothing pushes old messages out.
    pub is_under_load: bool,
}

/// The longest age of each class of messages, and the longest time of each class of absences; the last class
/// is above.
pub const AGES_NS: [u64; 21] = {
    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;
    [
        100 * MS,
        200 * MS,
        300 * MS,
        500 * MS,
        700 * MS,
        S,
        1_500 * MS,
        2 * S,
        3 * S,
        5 * S,
        7 * S,
        10 * S,
        15 * S,
        20 * S,
        30 * S,
        45 * S,
        60 * S,
        90 * S,
        120 * S,
        180 * S,
        300 * S,
    ]
};

/// The class of an age.
pub fn age_class(age_ns: u64) -> usize {
    AGES_NS.partition_point(|&longest_ns| longest_ns < age_ns)
}

/// A broadcast as its sender knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBroadcast {
    /// Its sender's number in the run.
    pub client: u32,
    /// When it was due, on the run's clock.
    pub intended_ns: u64,
    /// When it was sent, as its stamp says it.
    pub sent_ns: u64,
    /// True if its sender's connection ended before it was answered: the server may never have had it.
    pub is_cut_off: bool,
    /// True if the application refused to publish it.
    pub is_refused: bool,
    /// True if its sender was not in the room, as far as that is counted: it had not been let in, or was on
    /// its way out.
    pub is_outside: bool,
}

/// A client that was announced to the others in a room as it came into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// Its number in the run.
    pub client: u32,
    /// The kind of its room.
    pub kind: u16,
    /// When it asked to be let in, on the run's clock.
    pub sent_ns: u64,
    /// True if it was not let in.
    pub is_void: bool,
}

/// One broadcast as seen by the clients of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastTally {
    /// The sender's worker.
    pub worker: u16,
    /// The sender, by its number there.
    pub client: u32,
    /// The message's number among those its worker sent in the step.
    pub number: u32,
    /// How many clients got it.
    pub received: u32,
    /// When the last of them got it, on the run's clock.
    pub last_ns: u64,
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
