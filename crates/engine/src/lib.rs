//! The thread-per-core loop that joins net, wire and load.
//!
//! A [`Worker`] owns its share of the clients, an epoll instance, one read buffer and its figures, and shares
//! nothing with other workers: commands come in and [`Report`]s go out by channel. It never prints and never
//! decides what a figure means; the crew adds up what workers report.

mod books;
mod clients;
mod contents;
pub mod events;
mod messages;
mod probe;
mod publishers;
mod reporter;
#[cfg(test)]
#[path = "../../../tests/support/plan.rs"]
mod support;
mod timing;
mod worker;

pub use books::{BROADCASTS_PER_WORKER_MAX, seq};
pub use contents::{CONTENTS_MAX, Content, PushKey};
pub use messages::{
    AGES_NS, Abandoned, Absence, Announced, Attendance, BroadcastTally, Command, Delta, DeltaPermit,
    Departure, Held, Report, RoleDelta, RoomPlace, SayDelta, SentBroadcast, Settled, Tail, Usage, age_class,
};
pub use probe::{ProbeResult, probe};
pub use worker::Worker;
