//! Servers under test on another machine.
//!
//! A target agent ([`serve`]) has a [`Host`], which knows how servers are installed and started; this module carries
//! what it is asked and what it answers. A coordinator ([`Remote`]) claims the agent like a load agent, and asks one
//! thing at a time. The process that measures asks what a server uses ([`FarEyes`]), without a claim.
//!
//! What comes over the wire names a target and CPUs, and nothing else: no command, no path.

mod far;
mod remote;
mod talk;
mod tenancy;

pub use far::FarEyes;
pub use remote::Remote;
pub use talk::{Running, Trouble};
pub use tenancy::{Host, Hosts, serve};
