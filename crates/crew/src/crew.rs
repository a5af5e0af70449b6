//! The coordinator: takes all workers through a step together.

use std::collections::BTreeMap;
use std::process::Command as Process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use engine::events::Batch;
use engine::{Command, Report};
use load::{Connecting, Draining, Plan, Segment, StepOrder};
use net::clock;
use results::{Interrupted, Step};

use crate::agents::Agents;
use crate::deadlines::{DrainClock, PhaseDeadline, SILENCE_NS_MAX};
use crate::drain::{Drain, Next};
use crate::ending::Ending;
use crate::error::{Broken, Error};
use crate::local::{LocalWorkers, START_WITHIN};
use crate::merge::{Merge, Participants};
use crate::observer::{Observer, Progress, StepPhase};
use crate::rows::Seen;
use crate::scrape::Scrape;
use crate::watch::{self, ServerWatch};
use crate::worker_set::{WorkerEvent, WorkerSet};

/// How long before the load the window of usage opens at most, because reading a server's usage takes time.
const WATCH_AHEAD_NS: u64 = 100_000_000;
/// How often the observer is told how far a second has come.
const PROGRESS_INTERVAL_NS: u64 = 50_000_000;
/// The longest silence of other workers that is waited for when one is known to be gone: they may have gone
/// with it.
const SALVAGE_SILENCE_NS: u64 = 2_000_000_000;

/// How many processes and threads carry the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Processes; 1 is this one alone.
    pub processes: u16,
    /// Worker threads in each.
    pub threads: u16,
    /// CPUs to pin the threads to, in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Connections that there is room for: of the most clients of any step, or of the first step's where that
    /// is not known beforehand. A client whose connection falls silent has two for a while.
    pub clients: u64,
}

/// All workers of a run.
pub struct Crew {
    worker_set: WorkerSet,
    participants: Participants,
    connecting: Connecting,
    draining: Draining,
    epoch_ns: u64,
    /// Memory of the generator's processes before the first client, in bytes, if it can be read.
    rss_before: Option<u64>,
    /// Memory of the generator's processes once the clients of the step were connected, in bytes.
    rss_grown: Option<u64>,
    /// Growth of the kernel's memory meanwhile, if that is known.
    kernel_grown: Option<u64>,
    usable: u64,
    /// Clients that became usable before the load.
    reached: u64,
    /// True if the workers were told to begin the step's load.
    was_loaded: bool,
    watch: ServerWatch,
    scrape: Option<Scrape>,
    /// When the observer was told last.
    shown_ns: u64,
}

impl Crew {
    /// Starts the workers. `child` makes the command of a child process that ends up in
    /// [`run_child`](crate::run_child); times in results count from the plan's epoch.
    ///
    /// # Errors
    /// When a worker or a process cannot be started.
    pub fn start(
        plan: &Plan,
        shape: &Shape,
        watch: ServerWatch,
        child: impl Fn() -> Process,
    ) -> Result<Self, Error> {
        let workers = shape.processes * shape.threads;
        let segments: Vec<Segment> = (0..workers).map(|worker| Segment { worker, workers }).collect();
        let processes = shape.processes.into();
        let local = LocalWorkers::start(plan, &segments, processes, &shape.cpus, &child, START_WITHIN);
        let (local, reports) = local.map_err(Error::Start)?;
        Ok(Self::of_agents(plan, Box::new(local), workers, reports, watch))
    }

    /// The coordinator of `agents` whose workers, with the numbers below `workers`, have started and report to
    /// `reports`.
    pub fn of_agents(
        plan: &Plan,
        agents: Box<dyn Agents>,
        workers: u16,
        reports: Receiver<Report>,
        watch: ServerWatch,
    ) -> Self {
        let away_ns = plan.flap.map(|flap| flap.away_ns.unwrap_or(0));
        let (workload, rooms) = (plan.workload, Arc::clone(&plan.rooms));
        let participants = Participants { workload, rooms, workers, away_ns };
        Self {
            rss_before: agents.rss_before(),
            worker_set: WorkerSet::new(plan, agents, workers, reports),
            shown_ns: 0,
            participants,
            connecting: plan.connecting.clone(),
            draining: plan.draining,
            epoch_ns: plan.epoch_ns,
            rss_grown: None,
            kernel_grown: None,
            usable: 0,
            reached: 0,
            was_loaded: false,
            watch,
            scrape: None,
        }
    }

    /// The most clients that the agents of a fleet may have; `None` without a fleet.
    pub fn clients_max_of_fleet(&self) -> Option<u64> {
        self.worker_set.agents.clients_max_of_fleet()
    }

    /// Hands the events that workers record by the plan to this queue. A full queue is not waited for: what
    /// does not fit is lost, and a later batch says how much.
    pub fn log_events(&mut self, queue: SyncSender<Batch>) {
        self.worker_set.log_events(queue);
    }

    /// Measures one step. When interrupted, what was measured so far is the step.
    ///
    /// # Errors
    /// When a worker gives up; what went wrong with single clients is in the step.
    pub fn measure(&mut self, order: StepOrder, observer: &mut dyn Observer) -> Result<Step, Broken> {
        let mut merge = Merge::new(self.participants.clone(), order, self.epoch_ns, clock::monotonic_ns());
        merge.expect(self.worker_set.workers());
        let loaded = self.load(&mut merge, order, observer);
        // Asked here: what the user ends while the books are closed was measured to its end.
        let was_interrupted = observer.is_interrupted();
        let now_ns = clock::monotonic_ns();
        // Before the workers are told to settle: what closing the books costs is not of the step.
        let watch::Seen { server, machine, throttled_percent } = self.watch.finish(self.epoch_ns);
        let silence_ns_max = if loaded.is_ok() { SILENCE_NS_MAX } else { SALVAGE_SILENCE_NS };
        // Sent also when the load was broken off: the books of the workers that are left are the step's
        // result.
        self.worker_set.agents.send(&Command::Settle);
        let settled = self.worker_set.gather_books(&mut merge, observer, silence_ns_max);
        let error = loaded.and(settled).err();
        let usable = merge.usable();
        // At a second interrupt books are left open.
        let is_cut = was_interrupted || observer.is_hurried();
        let ending = if error.is_some() || is_cut { Ending::CutShort } else { Ending::Complete };
        let mut step = merge.finish(now_ns, ending);
        step.interrupted = is_cut.then_some(match self.was_loaded {
            true => Interrupted::Loading,
            false => Interrupted::Connecting,
        });
        let broke_connecting = error.is_some() && !self.was_loaded;
        (step.usable, step.reached) = match step.was_never_loaded() || broke_connecting {
            // Workers tell how many there were to be in all only when all have connected.
            true => (None, Some(usable)),
            false => (Some(self.usable), Some(self.reached)),
        };
        step.workers = self.worker_set.workers().len() as u32;
        step.server = server;
        self.worker_set.agents.describe(&mut step, machine, self.kernel_grown);
        let generator = step.generator.get_or_insert_default();
        // The quota of this machine says nothing of agents on others.
        generator.throttled_percent = throttled_percent.filter(|_| !self.worker_set.agents.are_elsewhere());
        generator.rss_bytes_peak = self.worker_set.agents.rss_bytes().max(self.rss_grown);
        generator.bytes_per_client = self.bytes_per_client();
        if step.is_brief() {
            step.forget_cpu();
        }
        match error {
            None => Ok(step),
            Some(error) => Err(Broken { error, step: Box::new(step) }),
        }
    }

    /// Takes the workers from the first connect to the last answer.
    fn load(
        &mut self,
        merge: &mut Merge,
        order: StepOrder,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        (self.usable, self.reached, self.rss_grown, self.kernel_grown) = (0, 0, None, None);
        self.was_loaded = false;
        // Twice in a step: for the memory while clients connect, and again at the load for what is used under
        // it.
        self.watch.start();
        let kernel_before = kernel_bytes();
        self.worker_set.order(order);
        let deadline = PhaseDeadline::growing(&self.connecting, self.worker_set.workers().len());
        let grown =
            self.gather(merge, observer, StepPhase::Connecting, deadline, BTreeMap::new(), |report| {
                match report {
                    Report::Grown { usable, slow, reached, .. } => {
                        Some([*usable, *slow, *reached].map(u64::from))
                    }
                    _ => None,
                }
            })?;
        // Slow readers are not counted: nothing is due to them.
        let receivers =
            grown.iter().map(|(worker, [usable, slow, _])| (*worker, usable.saturating_sub(*slow))).collect();
        self.usable = grown.values().map(|[usable, ..]| usable).sum();
        self.reached = grown.values().map(|[.., reached]| reached).sum();
        let grown_ns = clock::monotonic_ns();
        self.rss_grown = self.worker_set.agents.rss_bytes();
        self.kernel_grown = kernel_bytes().zip(kernel_before).map(|(is, was)| is.saturating_sub(was));
        self.watch.start();
        // A moment ahead, so that the command reaches every worker before it and all begin at once. From now
        // on, because all that was read of processes took its time: a load that begins late has a burst.
        let go_ns = clock::monotonic_ns() + self.worker_set.agents.start_ahead_ns();
        merge.start(grown_ns, go_ns);
        if self.usable == 0 || observer.is_interrupted() {
            return Ok(());
        }
        self.was_loaded = true;
        self.worker_set.agents.send(&Command::Go { at_ns: go_ns });
        observer.handle_start(go_ns);
        let idle = self.wait_for_start(merge, observer, go_ns)?;
        let deadline = PhaseDeadline::loading(&order.load, self.draining, go_ns);
        let loaded = self.gather(merge, observer, StepPhase::Loading, deadline, idle, loaded)?;
        if observer.is_interrupted() {
            return Ok(()); // not everything is sent
        }
        let now_ns = clock::monotonic_ns();
        let ends_ns = loaded.values().map(|(_, at_ns)| *at_ns);
        // Not after now: an agent's clock may be ahead by its error.
        merge.end_load(ends_ns.max().unwrap_or(now_ns).min(now_ns));
        let sent = loaded.into_iter().map(|(worker, (sent, _))| (worker, sent)).collect();
        let mut drain = Drain::new(self.participants.clone(), self.draining, sent, receivers, now_ns);
        let mut clock = DrainClock::new(now_ns);
        while !observer.is_interrupted() {
            let time_ns = clock.time_ns(merge.heard_ns(), clock::monotonic_ns());
            match drain.poll(merge, time_ns) {
                Next::Wait => _ = self.next_report(merge, observer, StepPhase::Draining)?,
                Next::CloseWindow => self.watch.close(),
                Next::Over => break,
            }
        }
        Ok(())
    }

    /// Waits until the load starts. A fleet is told long before: what is used until then does not belong to
    /// the load. Returns the reports of workers that have nothing to send, for example without clients: they
    /// are done before the others begin.
    fn wait_for_start(
        &mut self,
        merge: &mut Merge,
        observer: &mut dyn Observer,
        go_ns: u64,
    ) -> Result<BTreeMap<u16, (u64, u64)>, Error> {
        let mut idle = BTreeMap::new();
        let watch_ns = go_ns.saturating_sub(WATCH_AHEAD_NS);
        if clock::monotonic_ns() >= watch_ns {
            return Ok(idle);
        }
        while clock::monotonic_ns() < watch_ns && !observer.is_interrupted() {
            if let Some(report) = self.next_report(merge, observer, StepPhase::Loading)? {
                idle.extend(report.worker().zip(loaded(&report)));
            }
        }
        self.watch.start();
        Ok(idle)
    }

    /// The generator's memory per client, with the memory of lost agents.
    fn bytes_per_client(&self) -> Option<f64> {
        let grown = self.rss_grown.zip(self.rss_before).map(|(is, was)| is.saturating_sub(was));
        let are_all_there = self.worker_set.workers().len() == usize::from(self.participants.workers);
        let is_known = self.usable > 0 && are_all_there;
        grown.filter(|_| is_known).map(|bytes| bytes as f64 / self.usable as f64)
    }

    /// Puts the target's own metrics onto the timeline of each step.
    pub fn set_scrape(&mut self, scrape: Scrape) {
        self.scrape = Some(scrape);
    }

    /// The target's own metrics, if they are read.
    pub fn scrape(&self) -> Option<&Scrape> {
        self.scrape.as_ref()
    }

    /// The watch on the server.
    pub fn watch(&self) -> &ServerWatch {
        &self.watch
    }

    /// Closes all connections and lets the workers end.
    pub fn finish(mut self, observer: &mut dyn Observer) {
        self.worker_set.dismiss();
        let mut merge = Merge::new(self.participants.clone(), StepOrder::IDLE, self.epoch_ns, 0);
        // What goes wrong now costs no result.
        let _ = self.gather(
            &mut merge,
            observer,
            StepPhase::Closing,
            PhaseDeadline::at_once(),
            BTreeMap::new(),
            |report| matches!(report, Report::Finished { .. }).then_some(()),
        );
    }

    /// Waits until every worker has reported what `pick` picks, counting the ones `picked` before, and merges
    /// deltas meanwhile. Returns what was picked by worker: less when interrupted.
    fn gather<T>(
        &mut self,
        merge: &mut Merge,
        observer: &mut dyn Observer,
        phase: StepPhase,
        deadline: PhaseDeadline,
        mut picked: BTreeMap<u16, T>,
        pick: impl Fn(&Report) -> Option<T>,
    ) -> Result<BTreeMap<u16, T>, Error> {
        // Goodbyes are said in spite of an earlier interrupt.
        let was_interrupted = phase == StepPhase::Closing && observer.is_interrupted();
        self.worker_set.start_phase();
        while !self.worker_set.workers().iter().all(|worker| picked.contains_key(worker)) {
            if observer.is_hurried() || observer.is_interrupted() && !was_interrupted {
                break;
            }
            if let Some(report) = self.next_report(merge, observer, phase)? {
                picked.extend(report.worker().zip(pick(&report)));
            }
            self.worker_set.part_with_idle(merge, deadline, |worker| picked.contains_key(&worker))?;
        }
        // Workers may have been lost after they reported: nothing is expected of them in the next phase.
        picked.retain(|worker, _| self.worker_set.workers().contains(worker));
        Ok(picked)
    }

    /// The next report, if one comes soon. Merges and shows deltas on the way.
    fn next_report(
        &mut self,
        merge: &mut Merge,
        observer: &mut dyn Observer,
        phase: StepPhase,
    ) -> Result<Option<Report>, Error> {
        self.watch.poll((phase == StepPhase::Connecting).then(|| merge.usable()));
        match self.worker_set.hear(merge)? {
            WorkerEvent::Delta { begins_second } => {
                if begins_second {
                    merge.handle_seen(self.seen());
                }
                self.show(merge, observer, phase);
                Ok(None)
            }
            WorkerEvent::Report(report) => Ok(Some(report)),
            WorkerEvent::Nothing => Ok(None),
        }
    }

    /// Tells the observer every second of the load, and the progress in between.
    fn show(&mut self, merge: &mut Merge, observer: &mut dyn Observer, phase: StepPhase) {
        let now_ns = clock::monotonic_ns();
        let mut is_due = now_ns.saturating_sub(self.shown_ns) >= PROGRESS_INTERVAL_NS;
        while let Some(second) = merge.poll_second() {
            observer.handle_progress(&Progress::of_second(merge, phase, second));
            (self.shown_ns, is_due) = (now_ns, false);
        }
        if is_due {
            let second = merge.last_second().cloned();
            observer.handle_progress(&Progress::of(merge, phase, second));
            self.shown_ns = now_ns;
        }
    }

    /// The server's usage now.
    fn seen(&self) -> Seen {
        let (cpu_percent, rss_bytes) = self.watch.now();
        let metrics = self.scrape.as_ref().map(Scrape::latest).unwrap_or_default();
        Seen { cpu_percent, rss_bytes, metrics }
    }
}

/// The messages a worker sent, and when it was done, if the report says so.
fn loaded(report: &Report) -> Option<(u64, u64)> {
    match report {
        Report::Loaded { sent, at_ns, .. } => Some((*sent, *at_ns)),
        _ => None,
    }
}

/// The kernel's memory: connections and everything else of its own.
fn kernel_bytes() -> Option<u64> {
    net::memory::Memory::read().ok().map(|memory| memory.slab_bytes + memory.tcp_bytes)
}
