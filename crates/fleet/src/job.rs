//! An agent's work for one run: its workers, and what they report, bundled.

use std::collections::BTreeMap;
use std::io;
use std::process::Command as Process;
use std::thread;
use std::time::Duration;

use crew::{Agents, LocalWorkers, ProcessCapacity};
use engine::{Delta, Report};
use load::Segment;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::agent::{self, AgentOptions, ClaimEnd, Work};
use crate::backlog::Backlog;
use crate::bus::Bus;
use crate::link::Link;
use crate::policy::Policy;
use crate::talk::{Brief, Down, Up};
use crate::{Error, sense};

/// How long deltas are held back, to go out as one: while draining, workers report a hundred times a second.
const BUNDLE_NS: u64 = 200_000_000;
/// The duration of a row.
const ROW_NS: u64 = 1_000_000_000;
/// How long all children may take to be spawned and to start: the agent is silent meanwhile, and is given up
/// after three seconds.
const START_WITHIN: Duration = Duration::from_secs(2);
/// Most reports that wait for the agent's loop. Beyond it, or while the link is full, workers accumulate what
/// they have.
const REPORTS_WAITING_MAX: usize = 64;

/// Resources of an agent that loads.
pub struct AgentResources<'a> {
    /// Worker threads.
    pub threads: u16,
    /// CPUs to pin them to; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Clients that one process may have.
    pub clients_per_process: u32,
    /// Servers it may load.
    pub policy: Policy,
    /// The command of a child process that ends up in [`run_child`](crew::run_child).
    pub child: &'a dyn Fn() -> Process,
}

/// Loads servers for one coordinator after the other, until it is interrupted.
///
/// # Errors
/// NATS cannot be reached at first. When it is lost later, the agent waits for it.
pub fn serve(options: &AgentOptions<'_>, resources: &AgentResources<'_>) -> Result<(), Error> {
    if resources.policy.allowed.is_empty() {
        (options.log)("it may load nothing: --allow names servers, e.g. --allow ws://10.0.0.0/8:*");
    }
    let begin = |run, link| Ok(Job::new(resources, options.log, run, link));
    agent::serve(options, resources.threads, resources.clients_per_process, None, begin)
}

/// One run's work.
struct Job<'a> {
    resources: &'a AgentResources<'a>,
    log: &'a dyn Fn(&str),
    run: String,
    link: Link,
    reports: Receiver<Report>,
    sender: Sender<Report>,
    local: Option<LocalWorkers>,
    /// Its workers' parts of the run, and the clients that they may have together.
    segments: Vec<Segment>,
    clients_max: u64,
    /// True if steps of the run may be storms.
    may_storm: bool,
    /// Deltas that are held back, by worker.
    deltas: BTreeMap<u16, Delta>,
    bundled_ns: u64,
    backlog: Backlog,
}

impl<'a> Job<'a> {
    /// A job without work yet.
    fn new(resources: &'a AgentResources<'a>, log: &'a dyn Fn(&str), run: String, link: Link) -> Self {
        let (sender, reports) = mpsc::channel(REPORTS_WAITING_MAX);
        let (deltas, backlog) = (BTreeMap::new(), Backlog::default());
        let (local, segments, clients_max) = (None, Vec::new(), 0);
        Self {
            resources,
            log,
            run,
            link,
            reports,
            sender,
            local,
            segments,
            clients_max,
            may_storm: false,
            deltas,
            bundled_ns: 0,
            backlog,
        }
    }

    fn handle_brief(&mut self, brief: &Brief) -> Result<(), ClaimEnd> {
        let first =
            brief.segments.first().filter(|_| sense::is_brief(brief)).ok_or(ClaimEnd::ProtocolViolation)?;
        if self.local.is_some() {
            return Err(ClaimEnd::ProtocolViolation);
        }
        let begun = match self.resources.policy.refusal(&brief.plan) {
            Some(why) => {
                (self.log)(&format!("run {}: refused: {why}", self.run));
                Err(why)
            }
            None => {
                (self.log)(&format!("run {}: {} workers", self.run, brief.segments.len()));
                self.start(brief).map_err(|error| net::errors::told(&error))
            }
        };
        self.link.send(&match begun {
            Ok(()) => Up::Ready { rss_bytes: self.local.as_ref().and_then(LocalWorkers::rss_before) },
            Err(message) => Up::Report(Report::Failed { worker: first.worker, message }),
        });
        Ok(())
    }

    /// Starts the workers. Reports go by a thread of their own, so that a worker never waits for the network.
    fn start(&mut self, brief: &Brief) -> io::Result<()> {
        // Before the workers start: their first times are on the run's clock already.
        net::clock::set_offset_ns(brief.offset_ns);
        let Brief { plan, segments, processes, .. } = brief;
        let AgentResources { cpus, child, .. } = self.resources;
        let (local, outbox) =
            LocalWorkers::start(plan, segments, (*processes).into(), cpus, child, START_WITHIN)?;
        let sender = self.sender.clone();
        thread::Builder::new()
            .name("reports".into())
            .spawn(move || outbox.iter().try_for_each(|report| sender.blocking_send(report)))?;
        self.local = Some(local);
        let capacity = ProcessCapacity::of(self.resources.clients_per_process, self.resources.threads);
        self.clients_max = capacity.clients_max(segments.len(), (*processes).into());
        self.segments.clone_from(segments);
        self.may_storm = sense::may_storm(plan);
        Ok(())
    }

    fn send_deltas(&mut self) {
        for delta in std::mem::take(&mut self.deltas).into_values() {
            self.link.send(&Up::Report(Report::Delta(Box::new(delta))));
        }
    }
}

impl Work for Job<'_> {
    const WHOLE: &'static str = "run";
    type Order = Down;
    type News = Report;

    fn run(&self) -> &str {
        &self.run
    }

    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn handle_order(&mut self, order: Down) -> Result<(), ClaimEnd> {
        match order {
            Down::Brief(brief) => self.handle_brief(&brief),
            Down::Command(command) => {
                // A coordinator may be anything that reaches NATS: its orders are held against what this
                // agent has.
                if !sense::is_command(&command, &self.segments, self.clients_max, self.may_storm) {
                    return Err(ClaimEnd::ProtocolViolation);
                }
                if let Some(local) = &mut self.local {
                    local.send(&command);
                }
                Ok(())
            }
            Down::Release => Err(ClaimEnd::Done),
        }
    }

    /// Waits for the next report, and pends while the link is full: it is asked again with the next
    /// acknowledgement, or tick.
    async fn next_news(&mut self) -> Option<Report> {
        if self.link.is_full() {
            return std::future::pending().await;
        }
        self.reports.recv().await
    }

    /// Takes a worker's report. A delta waits a little for the next, events until the link has room; any
    /// other report goes out after what was reported before it.
    fn handle_news(&mut self, report: Report) {
        match report {
            Report::Delta(delta) => match self.deltas.get_mut(&delta.worker) {
                Some(earlier) if belong_together(earlier, &delta) => {
                    earlier.merge(&delta);
                    (earlier.at_ns, earlier.usable) = (delta.at_ns, delta.usable);
                    // The worker may go on only once the later one has gone out.
                    earlier.permit = delta.permit;
                }
                _ => {
                    if let Some(earlier) = self.deltas.insert(delta.worker, *delta) {
                        self.link.send(&Up::Report(Report::Delta(Box::new(earlier))));
                    }
                }
            },
            Report::Events(_) => _ = self.backlog.add(report),
            report => {
                self.send_deltas();
                if let Some(report) = self.backlog.add(report) {
                    self.link.send(&Up::Report(report));
                }
            }
        }
    }

    fn handle_leaving(&mut self, why: &str) {
        self.link.send(&Up::Leaving(why.to_owned()));
    }

    async fn pump(&mut self, bus: &Bus, now_ns: u64) {
        self.link.pump(bus, now_ns).await;
        while self.link.has_room() {
            let Some(report) = self.backlog.poll() else { return };
            let up = Up::Report(report);
            self.link.send(&up);
            if let Up::Report(Report::Events(batch)) = up {
                batch.recycle();
            }
            self.link.pump(bus, now_ns).await;
        }
    }

    /// Sends the deltas that have waited long enough.
    fn handle_tick(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.bundled_ns) >= BUNDLE_NS {
            self.bundled_ns = now_ns;
            self.send_deltas();
        }
    }

    /// Memory of the workers' processes, including this one.
    fn rss_bytes(&self) -> Option<u64> {
        self.local.as_ref().map_or_else(|| net::proc::self_rss_bytes().ok(), LocalWorkers::rss_bytes)
    }
}

impl Drop for Job<'_> {
    /// Stops waiting for reports, so that workers and their processes can end, and resets the clock, which
    /// was the coordinator's.
    fn drop(&mut self) {
        self.reports.close();
        while self.reports.try_recv().is_ok() {}
        self.local = None;
        net::clock::set_offset_ns(0);
    }
}

/// Returns whether two deltas of a worker can go out as one: of one step, and together no longer than the
/// second that a row is of.
fn belong_together(earlier: &Delta, delta: &Delta) -> bool {
    earlier.step == delta.step && earlier.usage.wall_ns + delta.usage.wall_ns <= ROW_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Usage;

    #[test]
    fn deltas_of_different_seconds_go_out_apart() {
        let delta = |step, wall_ms: u64| {
            let usage = Usage { wall_ns: wall_ms * 1_000_000, ..Usage::default() };
            Delta { step, usage, ..Delta::default() }
        };
        assert!(belong_together(&delta(1, 190), &delta(1, 10)));
        assert!(!belong_together(&delta(1, 1_000), &delta(1, 1_000)), "put by while the link was full");
        assert!(!belong_together(&delta(1, 10), &delta(2, 10)));
    }
}
