//! Commands to a worker and its reports: plain data, the same over a channel, a pipe or a network.

mod delta;
mod settled;

use load::StepOrder;
use serde::{Deserialize, Serialize};

use crate::events::Batch;
pub use delta::{Abandoned, Delta, DeltaPermit, Held, RoleDelta, SayDelta, Tail, Usage};
pub use settled::{
    AGES_NS, Absence, Announced, Attendance, BroadcastTally, Departure, RoomPlace, SentBroadcast, Settled,
    age_class,
};

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
