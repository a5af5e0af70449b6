//! The coordinator's end: what the crew has of a run's agents. A [relay](super::relay) keeps their links in a
//! thread of its own, so that what the crew does never waits for the network.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::{Command, Report};
use load::Plan;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::Error;
use super::agent_link::AgentState;
use super::bus::runtime;
use super::gather::AgentSelection;
use super::relay::{Order, Relay};

/// How often the wait for agents checks whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(20);
/// Timeout for claimed agents to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// Most reports that wait for the crew. Beyond it, what agents send is dropped, and sent again later.
const REPORTS_WAITING_MAX: usize = 512;

/// A run's agents on other machines.
pub struct Fleet {
    orders: UnboundedSender<Order>,
    states: Arc<Mutex<Vec<AgentState>>>,
    thread: Option<JoinHandle<()>>,
}

impl Fleet {
    /// Finds and claims the agents, and waits until their workers stand. Also returns the receiver of their
    /// reports.
    pub(crate) fn start(
        wanted: &AgentSelection,
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
        let mut fleet = Self { orders, states, thread: Some(thread) };
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

    /// Sends a command to every agent. Before a step, each learns anew how far its clock is from ours.
    pub(crate) fn send(&mut self, command: &Command) {
        let _ = self.orders.send(Order::Command(command.clone()));
    }

    /// Releases the agent of this worker, which hears no more.
    pub(crate) fn dismiss(&self, worker: u16) {
        let _ = self.orders.send(Order::Dismiss(worker));
    }

    /// The state of each agent.
    pub(crate) fn states(&self) -> MutexGuard<'_, Vec<AgentState>> {
        self.states.lock().expect("the relay does not panic")
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
