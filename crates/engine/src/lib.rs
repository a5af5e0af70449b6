//! The thread-per-core loop that joins net, wire and load.
//!
//! A [`Worker`] owns its share of the clients, an epoll instance, one read buffer and its figures, and shares
//! nothing with other workers: commands come in and [`Report`]s go out by channel. It never prints and never
//! decides what a figure means; the crew adds up what workers report.

mod awaiting;
mod books;
mod broadcasts;
mod cause;
mod client;
mod echoes;
pub mod events;
mod excerpt;
mod figures;
mod ledger;
mod link;
mod messages;
mod meter;
mod outgoing;
mod pace;
mod probe;
mod recorder;
mod returns;
mod shared;
mod streams;
mod ticket;
mod unrest;
mod worker;

pub use broadcasts::BroadcastTally;
pub use figures::Figures;
pub use messages::{Command, Delta, Departure, Gone, Held, Report, SentBroadcast, Settled, Tail, Usage};
pub use probe::{Encounter, probe};
pub use ticket::Ticket;
pub use worker::Worker;
