//! The agents of a run: this machine, or agents on others.

use std::collections::BTreeMap;

use engine::Command;
use net::clock;
use results::{FleetAgent, MachineUse, Step};

use crate::fleet::Fleet;
use crate::local::Local;

/// How long a command may take to reach every worker before the common start: here, per process and at most;
/// and over a network.
const START_AHEAD_NS: u64 = 20_000_000;
const START_AHEAD_NS_MAX: u64 = 500_000_000;
const START_AHEAD_OF_FLEET_NS: u64 = 500_000_000;
/// Clients below which the kernel's memory says more about the rest of the machine than about them.
const CLIENTS_WEIGHED_MIN: u64 = 10_000;

/// How a run goes on that loses an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The run ends; what was measured is reported.
    #[default]
    Abort,
    /// The run goes on with the other agents.
    Continue,
}

/// All agents of a run.
pub(crate) enum Agents {
    Local(Local),
    Fleet {
        fleet: Fleet,
        /// The causes by which agents were lost, by the agents' names.
        lost: BTreeMap<String, String>,
        on_loss: OnLoss,
    },
}

impl Agents {
    /// Sends a command to every worker.
    pub(crate) fn send(&mut self, command: &Command) {
        match self {
            Self::Local(local) => local.send(command),
            Self::Fleet { fleet, .. } => fleet.send(command),
        }
    }

    /// Returns whether the agents are on other machines.
    pub(crate) fn are_elsewhere(&self) -> bool {
        matches!(self, Self::Fleet { .. })
    }

    /// How far ahead a common start has to be.
    pub(crate) fn start_ahead_ns(&self) -> u64 {
        match self {
            // The command goes through a thread and a pipe for each process, and these share the CPUs.
            Self::Local(local) => (START_AHEAD_NS * u64::from(local.processes())).min(START_AHEAD_NS_MAX),
            Self::Fleet { .. } => START_AHEAD_OF_FLEET_NS,
        }
    }

    /// Memory of all of the generator's processes before the first client; `None` if it is not known.
    pub(crate) fn rss_before(&self) -> Option<u64> {
        match self {
            Self::Local(local) => local.rss_before(),
            Self::Fleet { .. } => self.rss_bytes(),
        }
    }

    /// Memory of all of the generator's processes that are there; `None` if it cannot be read.
    pub(crate) fn rss_bytes(&self) -> Option<u64> {
        match self {
            Self::Local(local) => local.rss_bytes(),
            Self::Fleet { fleet, lost, .. } => {
                let states = fleet.states();
                let present = states.iter().filter(|agent| !lost.contains_key(&agent.name));
                // `None` of any makes the sum `None`: half of a generator's memory would be told as all of
                // it.
                present.map(|agent| agent.rss_bytes).sum()
            }
        }
    }

    /// Returns whether no agent has been lost.
    pub(crate) fn are_all_there(&self) -> bool {
        match self {
            Self::Local(_) => true,
            Self::Fleet { lost, .. } => lost.is_empty(),
        }
    }

    /// The most clients that the agents of a fleet may have; `None` without a fleet.
    pub(crate) fn clients_max_of_fleet(&self) -> Option<u64> {
        let Self::Fleet { fleet, .. } = self else { return None };
        let states = fleet.states();
        // Workers have equal shares, so the weakest counts.
        let weakest = states.iter().map(|agent| agent.clients_max / agent.workers.len() as u64).min();
        Some(weakest.unwrap_or(0) * states.iter().map(|agent| agent.workers.len() as u64).sum::<u64>())
    }

    /// Notes that, in a fleet, the agent of `worker` is lost since `since_ns` of the run. Returns its name
    /// and workers.
    pub(crate) fn lose(
        &mut self,
        worker: u16,
        why: &str,
        epoch_ns: u64,
    ) -> Option<(String, std::ops::Range<u16>, OnLoss)> {
        let Self::Fleet { fleet, lost, on_loss } = self else { return None };
        let states = fleet.states();
        let agent = states.iter().find(|agent| agent.workers.contains(&worker)).expect("an agent's worker");
        let at_s = clock::monotonic_ns().saturating_sub(epoch_ns) as f64 / 1e9;
        lost.insert(agent.name.clone(), format!("{why} (after {at_s:.1} s)"));
        let (name, workers) = (agent.name.clone(), agent.workers.clone());
        drop(states);
        fleet.dismiss(worker);
        Some((name, workers, *on_loss))
    }

    /// Notes in a step which agents carried it, and what was left of the machine if that was this one.
    /// `kernel_grown`: growth of the kernel's memory while the clients connected.
    pub(crate) fn describe(&self, step: &mut Step, machine: MachineUse, kernel_grown: Option<u64>) {
        match self {
            Self::Local(local) => {
                step.agents = local.processes();
                let connected = step.counts.connected;
                let weighed = kernel_grown.filter(|_| connected >= CLIENTS_WEIGHED_MIN);
                let kernel_bytes_per_client = weighed.map(|bytes| bytes as f64 / connected as f64);
                step.machine = Some(MachineUse { kernel_bytes_per_client, ..machine });
            }
            Self::Fleet { fleet, lost, .. } => {
                let states = fleet.states();
                let of = |agent: &crate::fleet::AgentState| FleetAgent {
                    name: agent.name.clone(),
                    workers: agent.workers.len() as u32,
                    clock_offset_ns: agent.offset.map(|offset| offset.offset_ns),
                    clock_error_ns: agent.offset.map(|offset| offset.error_ns),
                    lost: lost.get(&agent.name).cloned(),
                };
                step.fleet = states.iter().map(of).collect();
                // The rest of the machine is not the generator's; these connections were refused by the server's.
                let listen_overflows = machine.listen_overflows;
                step.machine =
                    listen_overflows.map(|_| MachineUse { listen_overflows, ..MachineUse::default() });
                step.agents = step.fleet.iter().filter(|agent| agent.lost.is_none()).count() as u32;
            }
        }
    }
}
