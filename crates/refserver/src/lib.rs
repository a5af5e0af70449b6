//! The reference server: what a server for realtime messages can do on a machine, and no more.
//!
//! A worker per thread, each with its own epoll, listeners and connections; nothing is shared between workers
//! but broadcasts, which travel as finished bytes. What arrives within one turn of a worker's loop leaves in
//! one send per member, which is what keeps a copy cheap.

mod backlog;
mod board;
mod connection;
mod family;
pub mod faults;
mod group;
mod held;
mod link;
mod mailbox;
mod memberships;
mod mesh;
mod options;
mod room_counts;
mod server;
mod sessions;
mod stats;
mod stop;
mod timers;
mod worker;

pub use family::{Family, Sibling};
pub use options::{Options, SlowPolicy};
pub use server::Server;
pub use stats::Stats;
pub use stop::StopFlag;
