//! The event log: one Parquet file with a row for each event of a run (docs/EVENTS.md).
//!
//! An [`EventLog`] is a thread that takes [`Batch`](engine::events::Batch)es from a bounded queue and writes them. What
//! does not fit into the queue, and what comes after the disk is full, is counted as lost; nothing waits for the log.

mod columns;
mod log;
mod read;
mod write;

pub use crate::error::EventsError;
pub use log::{EventLog, LogFile, Totals};
pub use read::{EventRow, read};
pub use write::Header;
