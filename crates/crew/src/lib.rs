//! Workers in threads, child processes and on other machines, started together and merged exactly.
//!
//! A [`Crew`] is the coordinator: it tells all workers the same [`Command`](engine::Command)s through its
//! [`Agents`] and adds up their [`Report`](engine::Report)s. An agent is this process ([`Threads`]), a child
//! ([`Child`], whose other end is [`run_child`]), or on another machine (the crate `fleet`); all carry the same
//! messages. A step is:
//!
//! 1. `Step`: every worker connects its share; all answer `Grown`.
//! 2. `Go` at one moment of the common clock; all answer `Loaded` when they have sent everything.
//! 3. Draining: until every expected delivery is in, nothing has arrived for a while, or time is up.
//! 4. `Settle`: every worker closes its books; [`Merge`] turns them into one [`results::Step`].

mod agents;
mod audience;
mod child;
mod costs;
mod course;
mod crew;
mod deadlines;
mod drain;
mod ending;
mod error;
mod examiner;
mod frame;
pub mod http;
mod local;
mod merge;
mod observer;
mod replay;
mod rows;
mod scrape;
mod server_reading;
#[cfg(test)]
#[path = "../../../tests/support/plan.rs"]
mod support;
mod sweep;
mod threads;
mod watch;
mod window;
mod worker_set;

pub use agents::{Agents, LostAgent, OnLoss};
pub use child::{Child, run_child};
pub use course::{Course, Warmup};
pub use crew::{Crew, Shape};
pub use ending::Ending;
pub use error::{Broken, Error};
pub use local::{LocalWorkers, ProcessCapacity};
pub use merge::Merge;
pub use observer::{Observer, Progress, StepPhase};
pub use replay::replay;
pub use scrape::{Metrics, Scrape};
pub use server_reading::{LocalServerReader, ServerReader, ServerReading, ThreadReading, WindowReading};
pub use sweep::Sweep;
pub use threads::{FILES_PER_WORKER, Threads};
pub use watch::ServerWatch;
