//! Faults on purpose: what a server does wrong, to which messages and clients, and when.
//!
//! A report is only as good as the lies it has been checked against. Every fault here has an arithmetic:
//! which message is dropped, and how late one comes, follows from its number and the seed alone. Numbers are
//! given in the order of sending, by one counter for all threads, so that counts are exact whatever the
//! number of threads. With several processes, each counts for itself.
//!
//! Messages are echoes and copies of broadcasts. Acknowledgements, control frames and plain HTTP are left
//! alone.

mod frames;
mod picks;
mod spec;
mod worker_faults;

pub(crate) use frames::whole;
pub use spec::{CloseMethod, Delay, Ending, Faults, MessageSelector, Selector, SlowAccept, Time, Wave};
pub(crate) use worker_faults::{ClientFaults, DeferredFault, EVERYTHING, Shared, WorkerFaults};
