//! One level of load, measured on its own.

use std::collections::BTreeMap;

use stats::error_kind::{is_of_answers, is_of_file, is_of_publishers, is_of_time};
use stats::{Counts, Errors, Figures, Histogram, Interval, Timed};

use crate::absences::{Absences, Ages};
use crate::finding::{Caveat, is_total};
use crate::judgement::Found;
use crate::limit::LimitOutcome;
use crate::rates::Rates;
use crate::resources::{GeneratorUse, MachineUse, ServerUse};
use crate::second::{Second, with_lengths};
use crate::spent::TimeSpent;

mod kept;
mod open;

/// One level of load, measured on its own. Times are from the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Clients asked for.
    pub clients: u64,
    /// Clients usable when the load began; `None`: it did not begin.
    pub usable: Option<u64>,
    /// Clients that became usable before the load began, whether they were still there then or not.
    pub reached: Option<u64>,
    /// The user ended it before its time: what was under way then is no loss, and no rate was missed by it.
    pub interrupted: Option<Interrupted>,
    /// Processes that carried them.
    pub agents: u32,
    /// Threads that carried them, in all agents together.
    pub workers: u32,
    /// The agents on other machines, if there are any; what their clocks showed, and which were lost.
    pub fleet: Vec<FleetAgent>,
    /// The time at which its window opened, from the start of the run.
    pub start_ns: u64,
    /// How long its window was open (METHODOLOGY "Rates"), without connecting, warm-up and drain.
    pub duration_ns: u64,
    /// The phase before the window, which is not in the figures.
    pub warmup: Option<Warmup>,
    /// Asked and achieved rates, per second of the window.
    pub rates: Rates,
    /// Histograms of everything that was timed, in nanoseconds; empty where nothing was.
    pub figures: Figures,
    /// The parts of its round trips.
    pub spent: Option<TimeSpent>,
    /// Counts of messages, connections, pushes and streamed answers.
    pub counts: Counts,
    /// Failures by kind, each with its first text.
    pub errors: Errors,
    /// Answers to requests by their HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Absences of clients that lost their connections and came back, by how the
    /// connection ended and how long they were away.
    pub absences: Vec<Absences>,
    /// The same, by how long ago a message had been sent when its receiver was back.
    pub ages: Vec<Ages>,
    /// Figures by kind of messages, where there are several.
    pub says: Vec<SayFigures>,
    /// Figures by role, where there are roles.
    pub roles: Vec<RoleFigures>,
    /// Usage of the server, when it could be seen.
    pub server: Option<ServerUse>,
    /// Usage of the generator.
    pub generator: Option<GeneratorUse>,
    /// Idle resources of the machine.
    pub machine: Option<MachineUse>,
    /// One row a second while clients connected; its percentiles and density are of the handshake.
    pub connecting: Vec<Second>,
    /// One row a second.
    pub series: Vec<Second>,
    /// The limits asked for, each kept or broken.
    pub limits: Vec<LimitOutcome>,
    /// The limits that hold without being asked for ([`standing`](crate::standing)), as far as they apply.
    pub standing: Vec<LimitOutcome>,
    /// The limit that ends a walk or decides a search, `--limit-rtt`: to break it is to find the end, not to fail.
    pub stop: Option<LimitOutcome>,
    /// The bottleneck, once the step is judged.
    pub bottleneck: Option<Found>,
    /// Caveats of the step's metrics.
    pub caveats: Vec<Caveat>,
}

/// The phase of a step when the user ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// Its clients connected, and its load had not begun.
    Connecting,
    /// It was loaded, or waited for what was under way.
    Loading,
}

/// A load shorter than this is too short for CPU figures: the kernel counts a process's time in ticks of 10 ms, and the
/// window in which all of it is read is no shorter.
pub const CPU_WINDOW_NS_MIN: u64 = 100_000_000;

/// A wait that ends because nothing comes has so many seconds at its end, the last cut short, in which
/// nothing has come.
const SECONDS_OF_QUIET: usize = 2;
/// The shortest wait behind which nothing ordinary comes.
const CUT_OFF_WAIT_NS_MIN: u64 = 2_500_000_000;

impl Step {
    /// The figures by which steps are judged, the first that a step has: the first event of a streamed
    /// answer, or the rtt; where nobody is answered, what comes to others or is said by the server itself; or
    /// the handshake, where nothing is said.
    pub const MAIN: [Timed; 6] =
        [Timed::First, Timed::Rtt, Timed::Delivery, Timed::PushAge, Timed::PushGap, Timed::Handshake];

    /// The one of [`MAIN`](Self::MAIN) that this step has.
    pub fn main_timed(&self) -> Timed {
        let is_timed = |timed: &Timed| !self.figures.get(*timed).is_empty();
        Step::MAIN.into_iter().find(is_timed).unwrap_or(Timed::Handshake)
    }

    /// The histogram of [`main_timed`](Self::main_timed); empty where nothing was timed.
    pub fn main_figure(&self) -> &Histogram {
        self.figures.get(self.main_timed())
    }

    /// Messages that did not come: copies or answers.
    pub(crate) fn lacking(&self) -> u64 {
        self.counts.missing.max(self.counts.unacknowledged)
    }

    /// Messages among the errors that the app's file mistakes or does not mention: nothing went wrong with them.
    pub(crate) fn of_file(&self) -> u64 {
        self.errors.iter().filter(|(kind, _)| is_of_file(kind)).map(|(_, error)| error.count).sum()
    }

    /// Errors that no lack of CPU makes, on either side.
    pub(crate) fn errors_of_no_time(&self) -> u64 {
        let is_made = |kind: &str| is_of_time(kind) || is_of_file(kind);
        let others = self.errors.iter().filter(|(kind, error)| !error.local && !is_made(kind));
        others.map(|(_, error)| error.count).sum()
    }

    /// Counts as errors the missing messages that a rule of the app's file took for something else: by the
    /// workers' books, which may hold as missing what was under way to clients that left.
    pub fn explain_missing(&mut self, taken: &Errors) {
        if self.lacking() > 0 {
            self.errors.merge(taken);
        }
    }

    /// Reduces what was timed to what is occupied: a run keeps all of its steps.
    pub fn shrink_to_fit(&mut self) {
        self.figures.shrink_to_fit();
        let says = self.says.iter_mut().flat_map(|say| [&mut say.rtt, &mut say.delivery]);
        let roles = self.roles.iter_mut();
        let roles = roles.flat_map(|role| [&mut role.handshake, &mut role.rtt, &mut role.delivery]);
        let lag = self.generator.iter_mut().map(|generator| &mut generator.loop_lag);
        for histogram in says.chain(roles).chain(lag) {
            histogram.shrink_to_fit();
        }
    }

    /// An example of what most requests to publish something met with that failed; `None`: none did.
    pub fn unpublished(&self) -> Option<&str> {
        let failed = self.errors.iter().filter(|(kind, _)| is_of_publishers(kind));
        failed.max_by_key(|(_, error)| error.count).map(|(_, main)| main.example.as_str())
    }

    /// Returns whether something still came when a long wait for what is missing ended, or the wait was shorter
    /// than half of the messages took: some of that may be late, and not lost. Not told where anything went
    /// wrong, after which nobody waits for its answer.
    pub fn is_cut_off(&self) -> bool {
        let load_end_ns = self.start_ns + self.duration_ns;
        let waited_ns = self.series.last().map_or(0, |last| last.t_ns.saturating_sub(load_end_ns));
        let waited = self.series.windows(2).filter(|pair| pair[0].t_ns >= load_end_ns).map(|pair| &pair[1]);
        let comes = waited.rev().take(SECONDS_OF_QUIET).any(|second| second.received > 0);
        let is_sound = self.counts.disconnects + self.counts.cut == 0 && self.errors.iter().next().is_none();
        // Where most are missing, the median is of those that never came.
        let is_typical = 2 * self.counts.missing < self.counts.due();
        let took_ns = self.main_of_series().quantile_ns(0.5);
        let is_hasty = !self.series.is_empty() && is_typical && waited_ns < took_ns;
        self.counts.missing > 0 && is_sound && (is_hasty || waited_ns > CUT_OFF_WAIT_NS_MIN && comes)
    }

    /// Returns whether clients that were away got nothing of what they missed.
    pub fn keeps_no_history(&self) -> bool {
        let Counts { offline_due, lost_offline, .. } = self.counts;
        // Clients that are away when the user ends a step may still get it.
        !self.was_interrupted() && is_total(lost_offline, offline_due)
    }

    /// Returns whether clients were ready, and not one message that was due to them came.
    pub fn is_unanswered(&self) -> bool {
        let is_ready = self.usable.is_none_or(|usable| usable > 0);
        is_ready && self.counts.missing > 0 && self.came() == 0 && !self.is_cut_off()
    }

    /// Returns whether its load was over before anybody's CPU time could be told.
    pub fn is_brief(&self) -> bool {
        (1..CPU_WINDOW_NS_MIN).contains(&self.duration_ns)
    }

    /// Returns whether clients were ready to send, and did not get to it until the load was over.
    pub(crate) fn sent_nothing(&self) -> bool {
        // Where requests to publish fail, messages are due and none was sent: that is the server's.
        let Counts { sent, expected, waited, nobody_to_send, .. } = self.counts;
        let was_to_send = self.rates.sent_per_s.is_some()
            && self.usable.is_some_and(|usable| usable > 0)
            && !self.was_interrupted();
        was_to_send && sent + expected + waited + nobody_to_send == 0
    }

    /// Drops shares of CPU, which are of a longer time than the load.
    pub fn forget_cpu(&mut self) {
        if let Some(server) = &mut self.server {
            (server.cpu_percent_mean, server.cpu_percent_peak) = (None, None);
            server.thread_use.clear();
        }
        if let Some(generator) = &mut self.generator {
            (generator.cpu_percent_mean, generator.cpu_percent_peak) = (None, None);
            generator.worker_cpu_percent_max = None;
            (generator.waiting_percent, generator.worker_waiting_percent_max) = (None, None);
        }
        if let Some(machine) = &mut self.machine {
            (machine.idle_percent_mean, machine.steal_percent) = (None, None);
            machine.others.clear();
        }
    }

    /// The limits that broke, the one that ends the walk and those that hold without being asked for included.
    pub fn broken(&self) -> impl Iterator<Item = &LimitOutcome> {
        self.limits.iter().chain(&self.stop).chain(&self.standing).filter(|limit| !limit.passed())
    }

    /// Returns whether agents were lost in it, and their share of the load with them: less was asked of the
    /// server than was meant to be, and how much less is not known.
    pub fn is_short(&self) -> bool {
        self.fleet.iter().any(|agent| agent.lost.is_some())
    }

    /// Returns whether the user ended it before its time.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted.is_some()
    }

    /// Returns whether the user ended it before its load began.
    pub fn was_never_loaded(&self) -> bool {
        self.interrupted == Some(Interrupted::Connecting)
    }

    /// Returns whether the user ended it before its load began, or before anything came of it: nothing is
    /// known of that load.
    pub fn tells_nothing(&self) -> bool {
        let is_unanswered = self.counts.expected > 0 && self.came() == 0;
        self.was_never_loaded() || self.was_interrupted() && is_unanswered
    }

    /// Returns whether the load was carried: all limits were kept.
    pub fn has_passed(&self) -> bool {
        self.broken().next().is_none()
    }

    /// How many of its clients did not become usable before the load began or, where clients come and go, failed to
    /// come.
    pub fn unusable(&self) -> u64 {
        let absent = self.absent();
        match self.failed_to_come() {
            // Nobody waited for the others.
            0 if self.was_never_loaded() => self.failed_attempts().min(absent),
            failed => failed.min(self.clients).max(absent),
        }
    }

    /// Failed attempts to connect, where clients come and go, if those are more than the clients that were not there
    /// when the load began. A client may have several, and get in at last.
    pub(crate) fn failed_to_come(&self) -> u64 {
        let failed = if self.counts.left > 0 { self.failed_attempts() } else { 0 };
        if failed > self.absent() { failed } else { 0 }
    }

    fn failed_attempts(&self) -> u64 {
        self.counts.connect_timeouts + self.counts.connect_failures
    }

    /// How many of its clients were not usable at any time before the load began.
    fn absent(&self) -> u64 {
        self.reached.or(self.usable).map_or(0, |reached| self.clients.saturating_sub(reached))
    }

    /// The usable connections that could be lost: including those of earlier steps.
    pub fn connections(&self) -> u64 {
        // Without a load, clients of earlier steps are known only as reached.
        self.usable.or(self.reached).unwrap_or(0).max(self.counts.connected)
    }

    /// How often visitors asked to be let into a room, as far as that was answered or is not any more.
    pub fn joins(&self) -> u64 {
        self.counts.visits + self.counts.join_failures
    }

    /// Messages that were not those due: corrupt, a second time, to the wrong client or room, or an answer of HTTP that
    /// is not as expected.
    pub fn wrong(&self) -> u64 {
        let Counts { corrupt, unexpected, leaked, duplicate, .. } = self.counts;
        let answers = self.errors.iter().filter(|(kind, _)| is_of_answers(kind));
        corrupt + unexpected + leaked + duplicate + answers.map(|(_, error)| error.count).sum::<u64>()
    }

    /// Everything that came, right or wrong.
    pub fn came(&self) -> u64 {
        let Counts { received, corrupt, unexpected, leaked, duplicate, .. } = self.counts;
        received + corrupt + unexpected + leaked + duplicate
    }

    /// Pushes per second at all clients together; `None` if there were none.
    pub fn pushed_per_s(&self) -> Option<f64> {
        let seconds = self.duration_ns as f64 / 1e9;
        (self.counts.pushed > 0 && seconds > 0.0).then(|| self.counts.pushed as f64 / seconds)
    }

    /// Clients that were back after a storm; `recovery` has a sample for each that was lost.
    pub fn back(&self) -> u64 {
        self.figures.recovery.count().saturating_sub(self.counts.not_back)
    }

    /// The histogram behind the percentiles of its series: the deliveries of broadcasts, or else the answers.
    pub fn main_of_series(&self) -> &Histogram {
        if self.figures.delivery.is_empty() { &self.figures.rtt } else { &self.figures.delivery }
    }

    /// The rows of its window, and how long each took in ns. Rows of which most lies behind that are left
    /// out: nothing is sent in them, and what is still missing may not come.
    pub fn window(&self) -> impl Iterator<Item = (&Second, u64)> {
        let end_ns = self.start_ns + self.duration_ns;
        // More of the row is in the window than behind it.
        with_lengths(&self.series, self.start_ns).filter(move |(row, ns)| row.t_ns - ns / 2 < end_ns)
    }

    /// The 95% interval, in ns, of the quantile `q` over the step, which holds that: by batch means of its value each
    /// second of the window. `None` when that is too short, or has seconds without samples.
    pub fn interval_ns(&self, q: f64, of_second: impl Fn(&Second) -> Option<u64>) -> Option<Interval> {
        let values: Option<Vec<f64>> =
            self.window().map(|(row, _)| of_second(row).map(|ns| ns as f64)).collect();
        let main = self.main_of_series();
        let whole = (!main.is_empty()).then(|| main.quantile_ns(q) as f64)?;
        let Interval { low, high } = stats::interval::of_series(&values?, whole)?;
        Some(Interval { low: low.max(0.0), high })
    }
}

/// Figures of one kind of messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SayFigures {
    /// Its name in the app's file.
    pub name: String,
    /// The kind of rooms in which it is said.
    pub room: String,
    /// Counts of messages.
    pub counts: Counts,
    /// Intended send → echo, acknowledgement or own copy.
    pub rtt: Histogram,
    /// Intended send → a receiver has its copy.
    pub delivery: Histogram,
}

/// Figures of one role, where users of an app have roles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleFigures {
    /// Its name in the app's file.
    pub name: String,
    /// The step's clients that have it.
    pub people: u64,
    /// Counts of their messages, copies and connections.
    pub counts: Counts,
    /// TCP connect → usable.
    pub handshake: Histogram,
    /// Round trips of their messages: intended send → acknowledgement or own copy.
    pub rtt: Histogram,
    /// Deliveries to them: intended send → they have their copy.
    pub delivery: Histogram,
}

/// An agent on another machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetAgent {
    /// Its name.
    pub name: String,
    /// Its worker threads.
    pub workers: u32,
    /// The coordinator's clock minus its own, as the step ran on it.
    pub clock_offset_ns: Option<i64>,
    /// How wrong that may have become by the end of the step: so wrong may a delivery be from another agent's
    /// client to one of its.
    pub clock_error_ns: Option<u64>,
    /// How it was lost; what it had reported by then is in the figures.
    pub lost: Option<String>,
}

/// A phase before the window: it ran, and is not in the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmup {
    /// Clients that took part.
    pub clients: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Messages sent in it.
    pub sent: u64,
    /// Deliveries seen in it.
    pub received: u64,
}
