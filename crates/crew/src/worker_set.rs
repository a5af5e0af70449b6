//! The workers of a run as the coordinator hears them: which take part, what they report, and which are no
//! longer waited for.
//!
//! Rules. Reports are checked against the orders before they are used ([`Examiner`]). A worker that is
//! silent, does not finish, or has failed is lost: in a fleet with its agent, elsewhere with the run.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::time::Duration;

use engine::events::Batch;
use engine::{Command, Report};
use load::{Plan, StepOrder};
use net::{clock, reserve};
use stats::Counts;

use crate::agents::{Agents, LostAgent, OnLoss};
use crate::deadlines::{PhaseDeadline, SILENCE_NS_MAX, StuckWorkers};
use crate::error::Error;
use crate::examiner::Examiner;
use crate::merge::Merge;
use crate::observer::Observer;

/// How often the coordinator checks its workers when none reports.
// Below `LISTENED_NS_MAX` of `deadlines`: the whole of a look counts as listening.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// The error of a worker that is silent.
const SILENT: &str = "it has said nothing for 10 s; is its process stopped, or its machine overloaded?";
// `SILENT` says 10 s.
const _: () = assert!(SILENCE_NS_MAX == 10_000_000_000);

/// The error of a worker that reports but does not finish its phase.
const IDLE: &str = "it comes to no end of its phase, and reports no progress; is its machine overloaded?";

/// All workers of a run, wherever they are.
pub(crate) struct WorkerSet {
    /// The receiver of reports, dropped before the agents, which have more to report.
    reports: Receiver<Report>,
    pub(crate) agents: Box<dyn Agents>,
    /// Workers that take part: all but the workers of lost agents.
    workers: BTreeSet<u16>,
    examiner: Examiner,
    epoch_ns: u64,
    log: Log,
    /// Workers that do not report.
    silent: StuckWorkers,
    /// Workers that report no progress.
    idle: StuckWorkers,
}

/// Something received from a worker.
pub(crate) enum WorkerEvent {
    /// A merged delta, and whether it began a new second.
    Delta { begins_second: bool },
    /// Something else that a worker reports.
    Report(Report),
    /// Nothing that is waited for.
    Nothing,
}

impl WorkerSet {
    /// The workers that take part in a run.
    pub(crate) fn new(plan: &Plan, agents: Box<dyn Agents>, workers: u16, reports: Receiver<Report>) -> Self {
        Self {
            examiner: Examiner::new(plan, workers).of_own(!agents.are_elsewhere()),
            reports,
            agents,
            workers: (0..workers).collect(),
            epoch_ns: plan.epoch_ns,
            log: Log::default(),
            silent: StuckWorkers::default(),
            idle: StuckWorkers::default(),
        }
    }

    /// The workers that take part.
    pub(crate) fn workers(&self) -> &BTreeSet<u16> {
        &self.workers
    }

    /// Hands the events that workers record by the plan to this queue.
    pub(crate) fn log_events(&mut self, queue: SyncSender<Batch>) {
        self.log.queue = Some(queue);
    }

    /// Orders a step.
    pub(crate) fn order(&mut self, order: StepOrder) {
        let now_ns = clock::monotonic_ns();
        // Between two steps a worker has nothing to report, and is not silent for that.
        self.silent = StuckWorkers::new(now_ns);
        self.examiner.begin(order, now_ns);
        self.agents.send(&Command::Step(order));
    }

    /// Lets all workers end.
    pub(crate) fn dismiss(&mut self) {
        self.agents.send(&Command::Finish);
        self.silent = StuckWorkers::new(clock::monotonic_ns());
    }

    /// Starts to watch for workers that do not finish the phase.
    pub(crate) fn start_phase(&mut self) {
        self.idle = StuckWorkers::new(clock::monotonic_ns());
    }

    /// Receives the next event, if one comes soon. Merges deltas and logs events on the way.
    pub(crate) fn hear(&mut self, merge: &mut Merge) -> Result<WorkerEvent, Error> {
        if reserve::is_given_up() {
            return Err(Error::Memory);
        }
        let heard = self.receive();
        if let Some(worker) = heard.as_ref().ok().and_then(Report::worker) {
            self.silent.handle_report(worker);
        }
        // A worker that is silent is lost, with whatever it still says.
        let workers = self.workers.iter().copied();
        if let Some(worker) = self.silent.poll_stuck(workers, SILENCE_NS_MAX, clock::monotonic_ns()) {
            self.handle_failed(merge, worker, SILENT.to_owned())?;
        }
        match heard {
            Ok(Report::Delta(delta)) if self.workers.contains(&delta.worker) => {
                Ok(WorkerEvent::Delta { begins_second: merge.add(&delta) })
            }
            Ok(Report::Events(batch)) => {
                self.log.add(batch);
                Ok(WorkerEvent::Nothing)
            }
            Ok(Report::Failed { worker, message }) => {
                self.handle_failed(merge, worker, message).map(|()| WorkerEvent::Nothing)
            }
            Ok(report) => Ok(WorkerEvent::Report(report)),
            Err(RecvTimeoutError::Timeout) => Ok(WorkerEvent::Nothing),
            Err(RecvTimeoutError::Disconnected) => Err(Error::Stuck),
        }
    }

    /// Treats as failed a worker that has not `ended` a phase whose time is over, and reports no progress: it
    /// may be anything that speaks over a network.
    pub(crate) fn part_with_idle(
        &mut self,
        merge: &mut Merge,
        deadline: PhaseDeadline,
        ended: impl Fn(u16) -> bool,
    ) -> Result<(), Error> {
        let now_ns = clock::monotonic_ns();
        if now_ns < deadline.from_ns || !self.agents.are_elsewhere() {
            return Ok(());
        }
        let late = self.workers.iter().copied().filter(|&worker| !ended(worker));
        match self.idle.poll_stuck(late, deadline.idle_ns_max, now_ns) {
            Some(worker) => self.handle_failed(merge, worker, IDLE.to_owned()),
            None => Ok(()),
        }
    }

    /// Waits for the books of all workers. They are closed at once, but may be large, with events before
    /// them: a worker is stuck only when nothing has come for that long.
    pub(crate) fn gather_books(
        &mut self,
        merge: &mut Merge,
        observer: &dyn Observer,
        silence_ns_max: u64,
    ) -> Result<(), Error> {
        let mut settled_workers = BTreeSet::new();
        self.start_phase();
        let mut silent = Duration::ZERO;
        while let Some(&waited_for) = self.workers.difference(&settled_workers).next() {
            if observer.is_hurried() {
                return Ok(());
            }
            let heard = self.receive();
            self.part_with_idle(merge, PhaseDeadline::at_once(), |worker| settled_workers.contains(&worker))?;
            // Counted by looks: a coordinator that was stopped has not listened.
            silent = if heard.is_ok() { Duration::ZERO } else { silent + LOOK_INTERVAL };
            let report = match heard {
                Ok(report) => report,
                Err(RecvTimeoutError::Timeout) if silent.as_nanos() <= silence_ns_max.into() => continue,
                Err(RecvTimeoutError::Timeout) => {
                    silent = Duration::ZERO;
                    self.handle_failed(merge, waited_for, SILENT.to_owned())?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Stuck),
            };
            match report {
                Report::Settled(settled) if self.workers.contains(&settled.worker) => {
                    settled_workers.insert(settled.worker);
                    merge.close_books(*settled);
                }
                Report::Delta(delta) if self.workers.contains(&delta.worker) => _ = merge.add(&delta),
                Report::Events(batch) => self.log.add(batch),
                Report::Failed { worker, message } => self.handle_failed(merge, worker, message)?,
                _ => {}
            }
        }
        self.log.flush();
        Ok(())
    }

    /// The next report of a worker that takes part, if it can be true; otherwise a report that the worker has
    /// failed.
    fn receive(&mut self) -> Result<Report, RecvTimeoutError> {
        loop {
            let report = self.reports.recv_timeout(LOOK_INTERVAL)?;
            if report.worker().is_none_or(|worker| self.workers.contains(&worker)) {
                let report = self.examiner.examine(report, clock::monotonic_ns());
                self.note_news(&report);
                return Ok(report);
            }
        }
    }

    /// Notes a report as progress of its worker, or of all workers: events do not name theirs, and books
    /// share the way with others'.
    fn note_news(&mut self, report: &Report) {
        match report {
            // An empty delta says that the worker lives, and not that it gets on.
            Report::Delta(delta) if delta.counts != Counts::default() => {
                self.idle.handle_report(delta.worker);
            }
            Report::Events(_) | Report::Settled(_) => {
                for &worker in &self.workers {
                    self.idle.handle_report(worker);
                }
            }
            _ => {}
        }
    }

    /// Handles a worker that gave up. In a fleet, its agent is lost; elsewhere the run cannot go on.
    fn handle_failed(&mut self, merge: &mut Merge, worker: u16, message: String) -> Result<(), Error> {
        // Where this process has run out of memory, a worker's error is a consequence, and hides the cause.
        if reserve::is_given_up() {
            return Err(Error::Memory);
        }
        let at_ns = clock::monotonic_ns().saturating_sub(self.epoch_ns);
        let Some(LostAgent { name, workers, on_loss }) = self.agents.lose(worker, &message, at_ns) else {
            return Err(Error::Worker { worker, message });
        };
        self.workers.retain(|worker| !workers.contains(worker));
        merge.lose(workers);
        match on_loss {
            OnLoss::Continue if !self.workers.is_empty() => Ok(()),
            _ => Err(Error::Lost { agent: name, why: message }),
        }
    }
}

/// The queue of events that workers noted.
#[derive(Default)]
struct Log {
    queue: Option<SyncSender<Batch>>,
    /// Events that found the queue full.
    lost: u64,
}

impl Log {
    /// Adds a batch. A full queue is not waited for: what does not fit is lost.
    fn add(&mut self, mut batch: Batch) {
        let Some(queue) = &self.queue else { return batch.recycle() };
        // Told with the next batch that fits: the log then says where events are missing.
        batch.lost = batch.lost.saturating_add(std::mem::take(&mut self.lost));
        if let Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) = queue.try_send(batch) {
            self.lost = batch.lost + batch.entries.len() as u64;
            batch.recycle();
        }
    }

    /// Hands over the number of lost events. Between two steps there is time to wait; a log that is gone
    /// needs no count.
    fn flush(&mut self) {
        if let Some(queue) = self.queue.as_ref().filter(|_| self.lost > 0) {
            let _ = queue.send(Batch { lost: std::mem::take(&mut self.lost), ..Batch::default() });
        }
    }
}
