//! The agents of a run, as its coordinator sees them.

use std::ops::Range;

use engine::Command;
use results::{MachineUse, Step};

/// The processes whose workers make a run's load, on this machine or on others.
pub trait Agents {
    /// Sends a command to every worker.
    fn send(&mut self, command: &Command);

    /// Returns whether the agents are on other machines.
    fn are_elsewhere(&self) -> bool;

    /// How far ahead a common start has to be.
    fn start_ahead_ns(&self) -> u64;

    /// Memory of all of the generator's processes before the first client; `None` if it is not known.
    fn rss_before(&self) -> Option<u64>;

    /// Memory of all of the generator's processes that are there; `None` if it cannot be read.
    fn rss_bytes(&self) -> Option<u64>;

    /// The most clients that the agents of a fleet may have; `None` without a fleet.
    fn clients_max_of_fleet(&self) -> Option<u64>;

    /// Loses the agent of `worker`, which is gone or gave up at `at_ns` of the run, for `why`. `None` if the
    /// run cannot do without it.
    fn lose(&mut self, worker: u16, why: &str, at_ns: u64) -> Option<LostAgent>;

    /// Notes in a step which agents carried it, and what was left of the machine if that was this one.
    /// `kernel_grown`: growth of the kernel's memory while the clients connected.
    fn describe(&self, step: &mut Step, machine: MachineUse, kernel_grown: Option<u64>);
}

/// An agent that a run has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostAgent {
    /// Its name.
    pub name: String,
    /// Its workers.
    pub workers: Range<u16>,
    /// How the run goes on.
    pub on_loss: OnLoss,
}

/// How a run goes on that loses an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The run ends; what was measured is reported.
    #[default]
    Abort,
    /// The run goes on with the other agents.
    Continue,
}
