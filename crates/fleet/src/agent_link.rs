//! One agent, as its coordinator knows it.

use std::ops::Range;

use engine::Report;
use engine::events::Entry;
use load::{Plan, Segment};
use results::format::count;

use crate::Error;
use crate::bus::Bus;
use crate::intro::Hello;
use crate::link::Link;
use crate::offset::{Exchanges, Offset};
use crate::talk::{Brief, Down};

/// The most bytes of users' data that an agent is sent: some seconds over 100 Mbit/s, within which it has to
/// be ready.
const ROWS_BYTES_MAX: usize = 64 << 20;

/// The state of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AgentState {
    /// Its name.
    pub(crate) name: String,
    /// Its workers.
    pub(crate) workers: Range<u16>,
    /// Clients that its processes may have.
    pub(crate) clients_max: u64,
    /// True once its workers are ready.
    pub(crate) is_ready: bool,
    /// The offset it adds to its clock, and how wrong that may be by now.
    pub(crate) offset: Option<Offset>,
    /// Memory of its processes, if it can be read.
    pub(crate) rss_bytes: Option<u64>,
}

/// How far an agent has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Met,
    Briefed,
    Ready,
    Lost,
}

/// One agent.
pub(crate) struct AgentLink {
    pub(crate) hello: Hello,
    pub(crate) link: Link,
    pub(crate) phase: Phase,
    pub(crate) exchanges: Exchanges,
    pub(crate) beat_ns: u64,
    /// True if the last beat has not been answered yet.
    pub(crate) awaits_answer: bool,
    pub(crate) segments: Vec<Segment>,
    processes: usize,
}

/// Every agent's part of the run, by each agent's number of workers.
///
/// # Errors
/// There would be more workers than a run can have.
pub(crate) fn parts(workers: impl Iterator<Item = u16> + Clone) -> Result<Vec<Vec<Segment>>, Error> {
    let sum = workers.clone().map(u32::from).sum::<u32>();
    let all = u16::try_from(sum).map_err(|_| {
        let (agents, sum) = (workers.clone().count(), count(sum.into()));
        let most = usize::from(u16::MAX) / agents;
        Error::Agents(format!(
            "{agents} agents would have {sum} workers, and a run has at most 65,535: pass --threads {most}"
        ))
    })?;
    let mut first = 0;
    let part = |workers| {
        let own = first..first + workers;
        first = own.end;
        own.map(|worker| Segment { worker, workers: all }).collect()
    };
    Ok(workers.map(part).collect())
}

/// Checks that an agent can be sent its part of the users' data.
///
/// # Errors
/// It is too much.
pub(crate) fn check_rows(plan: &Plan, agent: &str, segments: &[Segment]) -> Result<(), Error> {
    let bytes = plan.part(segments).client_spec.people.rows.bytes();
    if bytes <= ROWS_BYTES_MAX {
        return Ok(());
    }
    Err(Error::Agents(format!(
        "people's data takes {} MiB for the clients of {agent} alone, and an agent is sent at most {} MiB: use more agents, \
         fewer columns, or columns made of {{person.id}}",
        bytes >> 20,
        ROWS_BYTES_MAX >> 20
    )))
}

impl AgentLink {
    /// The link to an agent that has been claimed for this part of a run; `clients_max` is for the whole run,
    /// if it is known.
    pub(crate) fn new(hello: Hello, link: Link, segments: Vec<Segment>, clients_max: Option<u64>) -> Self {
        let clients_each = clients_max.unwrap_or(0).div_ceil(segments[0].workers.into());
        let processes = hello.capacity().processes(segments.len(), clients_each);
        Self {
            hello,
            link,
            phase: Phase::Met,
            exchanges: Exchanges::default(),
            beat_ns: 0,
            awaits_answer: false,
            segments,
            processes,
        }
    }

    /// Releases the agent, which hears no more: an agent that does not hear even that is free by its lease.
    pub(crate) async fn dismiss(&mut self, bus: &Bus, now_ns: u64) {
        self.phase = Phase::Lost;
        self.link.send(&Down::Release);
        self.link.pump(bus, now_ns).await;
    }

    pub(crate) fn state(&self) -> AgentState {
        let first = self.segments[0].worker;
        AgentState {
            name: self.hello.name.clone(),
            workers: first..first + self.segments.len() as u16,
            clients_max: self.hello.capacity().clients_max(self.segments.len(), self.processes),
            ..AgentState::default()
        }
    }

    pub(crate) fn brief(&mut self, plan: &Plan, now_ns: u64) -> Brief {
        let offset_ns = self.exchanges.apply(now_ns).unwrap_or(0);
        Brief {
            plan: plan.part(&self.segments),
            segments: self.segments.clone(),
            processes: self.processes as u16,
            offset_ns,
        }
    }

    pub(crate) fn is_own(&self, worker: u16) -> bool {
        self.segments.iter().any(|segment| segment.worker == worker)
    }

    /// Returns whether a report can be this agent's: of its own workers, or their clients. The crew checks
    /// whether it can be true. Events without a client do not show whose they are; here it is checked that
    /// events were asked for.
    pub(crate) fn may_say(&self, report: &Report, plan: &Plan, workers: u16) -> bool {
        match report {
            Report::Events(batch) => {
                let is_own = |entry: &Entry| self.is_own((entry.client() % u32::from(workers)) as u16);
                plan.records_events && batch.entries.iter().all(is_own)
            }
            _ => report.worker().is_some_and(|worker| self.is_own(worker)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_share_the_workers() {
        let segment = |worker| Segment { worker, workers: 3 };
        let of = |workers: &[u16]| parts(workers.iter().copied());
        assert_eq!(of(&[2, 1]).unwrap(), [vec![segment(0), segment(1)], vec![segment(2)]]);
        assert!(of(&[1_024; 63]).is_ok());
        let many = of(&[1_024; 64]).unwrap_err().to_string();
        assert!(["64 ", " 65,536 ", "--threads 1023"].iter().all(|named| many.contains(named)), "{many}");
    }
}
