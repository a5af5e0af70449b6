//! Agents on other machines, over NATS.
//!
//! ```text
//! throng.call                 coordinator → all agents     who is there? (JSON, answered to an inbox)
//! throng.agent.<id>.claim     coordinator → one agent      work for this run (JSON, answered)
//! throng.agent.<id>.down      coordinator → one agent      packets: beats, parts of Brief and Command
//! throng.run.<run>.<number>   agent → its coordinator      packets: answers, parts of Report
//! throng.agent.<id>.look      anyone → one target agent    what does your server use? (answered)
//! ```
//!
//! A coordinator's end gives a crew its agents ([`start_crew`]); an agent's end has workers on its machine
//! ([`serve`]). The commands and reports are those of threads and child processes.
//!
//! NATS may lose what it carries, so each link has a transport at both ends. A coordinator sends a beat twice
//! a second, which an agent answers with the time on its clock: that keeps the lease, acknowledges, and
//! measures how far apart the clocks are (`offset`). An end that hears nothing for three seconds acts on its
//! own: an agent drops its clients and is free again, a coordinator goes on without the agent, or ends the
//! run.
//!
//! NATS' accounts say who may give an agent orders, and so does a key, if the agent obeys one key alone
//! (`seal`).
//!
//! A target agent ([`host`]) is met, claimed and leased in the same way, but runs servers instead of loading
//! them.
//!
//! Every agent works on the coordinator's clock: the offset is added where the clock is read, so that stamps,
//! deltas and books mean the same everywhere.

mod access;
mod agent;
mod agent_link;
mod backlog;
mod bus;
mod coordinator;
mod envelope;
mod error;
mod gather;
pub mod host;
mod intro;
mod job;
mod link;
mod offset;
mod policy;
mod presence;
mod relay;
mod seal;
mod sense;
#[cfg(test)]
mod simulation;
mod stall;
#[cfg(test)]
#[path = "../../../tests/support/plan.rs"]
mod support;
mod talk;
mod transport;
mod unfit;

pub use access::Nats;
pub use agent::AgentOptions;
pub use coordinator::start_crew;
pub use error::Error;
pub use gather::{AgentSelection, agents, stop, why_busy};
pub use host::RemoteServerReader;
pub use intro::{ClaimChallenge, Hello, HostHello, Labels, VERSION, WORKERS_MAX, label, name};
pub use job::{AgentResources, serve};
pub use policy::{Policy, Rule};
pub use seal::{AgentKey, FleetKey};
pub use unfit::Unfit;
