//! Servers under test on another machine.
//!
//! A target agent ([`serve`]) has a [`Host`], which knows how servers are installed and started; this module
//! carries what it is asked and what it answers. A coordinator ([`Remote`]) claims the agent like a load
//! agent, and asks one thing at a time. The process that measures asks what a server uses
//! ([`RemoteServerReader`]), without a claim.
//!
//! Orders over the wire name a target and CPUs, and nothing else: no command, no path.

mod reader;
mod remote;
mod session;
mod talk;

pub use reader::RemoteServerReader;
pub use remote::Remote;
pub use session::{Host, Hosts, serve};
pub use talk::{Running, StageFailure};
