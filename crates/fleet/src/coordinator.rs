//! The coordinator's end: what the crew has of a run's agents. A [relay](crate::relay) keeps their links in a
//! thread of its own, so that what the crew does never waits for the network.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crew::{Agents, Crew, LostAgent, OnLoss, ServerWatch};
use engine::{Command, Report};
use load::Plan;
use results::{FleetAgent, MachineUse, Step};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::Error;
use crate::agent_link::AgentState;
use crate::bus::runtime;
use crate::gather::AgentSelection;
use crate::relay::{Order, Relay};

/// How far ahead a common start has to be: the command goes over a network.
const START_AHEAD_NS: u64 = 500_000_000;
/// How often the wait for agents checks whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(20);
/// Timeout for claimed agents to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// Most reports that wait for the crew. Beyond it, what agents send is dropped, and sent again later.
const REPORTS_WAITING_MAX: usize = 512;

/// Finds agents on other machines, starts workers there, and makes them the crew of a run.
///
/// # Errors
/// When NATS cannot be reached, there are not enough agents, or the user does not want to wait for them.
pub fn start_crew(
    plan: &Plan,
    wanted: &AgentSelection,
    on_loss: OnLoss,
    watch: ServerWatch,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Crew, Error> {
    let (fleet, reports) = Fleet::start(wanted, on_loss, plan, is_interrupted)?;
    let workers = fleet.states().iter().map(|agent| agent.workers.len() as u16).sum();
    Ok(Crew::of_agents(plan, Box::new(fleet), workers, reports, watch))
}

/// A run's agents on other machines.
struct Fleet {
    orders: UnboundedSender<Order>,
    states: Arc<Mutex<Vec<AgentState>>>,
    /// The causes by which agents were lost, by the agents' names.
    lost: BTreeMap<String, String>,
    on_loss: OnLoss,
    thread: Option<JoinHandle<()>>,
}

impl Fleet {
    /// Finds and claims the agents, and waits until their workers stand. Also returns the receiver of their
    /// reports.
    fn start(
        wanted: &AgentSelection,
        on_loss: OnLoss,
        plan: &Plan,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<(Self, Receiver<Report>), Error> {
        let (orders, inbox) = unbounded_channel();
        let (sender, reports) = mpsc::sync_channel(REPORTS_WAITING_MAX);
        let states = Arc::new(Mutex::new(Vec::new()));
        let (started, outcome) = mpsc::channel();
        let (wanted, plan, shared) = (wanted.clone(), plan.clone(), Arc::clone(&states));
        let deadlines = wanted.wait + READY_TIMEOUT;
        let work = move || {
            let began = runtime().and_then(|runtime| {
                runtime.block_on(async {
                    let (relay, ups) = Relay::begin(&wanted, plan, sender, shared, started.clone()).await?;
                    relay.run(inbox, ups).await;
                    Ok(())
                })
            });
            if let Err(error) = began {
                let _ = started.send(Err(error));
            }
        };
        let thread = thread::Builder::new().name("fleet".into()).spawn(work);
        let thread = thread.map_err(|error| Error::Start(error.to_string()))?;
        let mut fleet = Self { orders, states, lost: BTreeMap::new(), on_loss, thread: Some(thread) };
        let began = Instant::now();
        loop {
            match outcome.recv_timeout(LOOK) {
                Ok(outcome) => return outcome.map(|()| (fleet, reports)),
                Err(RecvTimeoutError::Timeout) if is_interrupted() => {
                    // It ends with this process; those that it has claimed are free by their lease.
                    fleet.thread = None;
                    return Err(Error::Agents("interrupted before the agents were there".into()));
                }
                Err(RecvTimeoutError::Timeout) if began.elapsed() < deadlines => {}
                Err(_) => return Err(Error::Agents(why_not_ready(&fleet.states(), deadlines))),
            }
        }
    }

    /// The state of each agent.
    fn states(&self) -> MutexGuard<'_, Vec<AgentState>> {
        self.states.lock().expect("the relay does not panic")
    }
}

impl Agents for Fleet {
    /// Sends a command to every agent. Before a step, each learns anew how far its clock is from ours.
    fn send(&mut self, command: &Command) {
        let _ = self.orders.send(Order::Command(command.clone()));
    }

    fn are_elsewhere(&self) -> bool {
        true
    }

    fn start_ahead_ns(&self) -> u64 {
        START_AHEAD_NS
    }

    fn rss_before(&self) -> Option<u64> {
        self.rss_bytes()
    }

    fn rss_bytes(&self) -> Option<u64> {
        let states = self.states();
        let present = states.iter().filter(|agent| !self.lost.contains_key(&agent.name));
        // `None` of any makes the sum `None`: half of a generator's memory would be told as all of it.
        present.map(|agent| agent.rss_bytes).sum()
    }

    fn clients_max_of_fleet(&self) -> Option<u64> {
        let states = self.states();
        // Workers have equal shares, so the weakest counts.
        let weakest = states.iter().map(|agent| agent.clients_max / agent.workers.len() as u64).min();
        Some(weakest.unwrap_or(0) * states.iter().map(|agent| agent.workers.len() as u64).sum::<u64>())
    }

    /// Releases the agent of this worker, which hears no more.
    fn lose(&mut self, worker: u16, why: &str, at_ns: u64) -> Option<LostAgent> {
        let states = self.states();
        let agent = states.iter().find(|agent| agent.workers.contains(&worker)).expect("an agent's worker");
        let (name, workers) = (agent.name.clone(), agent.workers.clone());
        drop(states);
        self.lost.insert(name.clone(), format!("{why} (after {:.1} s)", at_ns as f64 / 1e9));
        let _ = self.orders.send(Order::Dismiss(worker));
        Some(LostAgent { name, workers, on_loss: self.on_loss })
    }

    fn describe(&self, step: &mut Step, machine: MachineUse, _: Option<u64>) {
        let of = |agent: &AgentState| FleetAgent {
            name: agent.name.clone(),
            workers: agent.workers.len() as u32,
            clock_offset_ns: agent.offset.map(|offset| offset.offset_ns),
            clock_error_ns: agent.offset.map(|offset| offset.error_ns),
            lost: self.lost.get(&agent.name).cloned(),
        };
        step.fleet = self.states().iter().map(of).collect();
        // The rest of the machine is not the generator's; these connections were refused by the server's.
        let listen_overflows = machine.listen_overflows;
        step.machine = listen_overflows.map(|_| MachineUse { listen_overflows, ..MachineUse::default() });
        step.agents = step.fleet.iter().filter(|agent| agent.lost.is_none()).count() as u32;
    }
}

/// Why a run with these agents has not begun in time, and what to do.
fn why_not_ready(states: &[AgentState], waited: Duration) -> String {
    let late = states.iter().filter(|state| !state.is_ready).map(|state| state.name.as_str());
    let late: Vec<&str> = late.collect();
    let wait_s = waited.as_secs();
    match late[..] {
        [] => format!(
            "no agent could be claimed within {wait_s} s: see what the agents print, and whether NATS answers"
        ),
        _ => format!(
            "not ready after {wait_s} s: {}: see what `throng agent` prints there, and start it anew, or end it to do without",
            late.join(", ")
        ),
    }
}

impl Drop for Fleet {
    /// Releases the agents.
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_are_late_are_named() {
        let agent =
            |name: &str, is_ready| AgentState { name: name.into(), is_ready, ..AgentState::default() };
        let why =
            why_not_ready(&[agent("one", true), agent("two", false), agent("three", false)], READY_TIMEOUT);
        assert!(why.contains("two, three") && !why.contains("one,") && why.contains("throng agent"), "{why}");
        assert!(!why_not_ready(&[], READY_TIMEOUT).contains("throng agent"));
    }
}
