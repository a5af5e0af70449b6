//! Many workers' deltas and books → one step of the results.
//!
//! Everything adds up exactly: histograms and counts are sums. Only what no worker can know alone is worked
//! out here: how many copies of a broadcast were due (to all clients that were there when it was sent), and
//! when the last of them came, wherever its receiver was.

mod agreement;
mod closing;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use engine::{Abandoned, Delta, Held, Settled};
use load::{Load, RoomKind, Rooms, StepOrder, Until, Workload};
use results::{Rates, Second, Step, TimeSpent};
use stats::errors::ErrorKind;
use stats::{Counts, Figures, Histogram, error_kind};

use agreement::Agreement;

use crate::audience::{Audience, People};
use crate::costs::Costs;
use crate::ending::Ending;
use crate::rows::{Rows, Seen};
use crate::window::{Loaded, Window, per_s};

/// The error of messages that were never seen.
const CUT_OFF: &str =
    "its client's connection ended before the server is known to have had it: it was due to nobody";

/// The connecting before the load, without clients that reconnect in mid-step.
#[derive(Clone, Copy)]
struct Grown {
    from_ns: u64,
    to_ns: u64,
    connected: u64,
}

/// Copies known to have been due because they came.
#[derive(Clone, Copy, Default)]
struct ArrivedDue {
    /// Copies.
    copies: u64,
    /// Copies sent again to clients that had been away.
    recovered: u64,
}

impl ArrivedDue {
    fn of(counts: &Counts) -> Self {
        Self { copies: certain(counts), recovered: counts.recovered }
    }

    /// Adds `come` to `all`, element by element.
    fn add(all: &mut Vec<Self>, come: impl ExactSizeIterator<Item = Self>) {
        all.resize(all.len().max(come.len()), Self::default());
        for (sum, come) in all.iter_mut().zip(come) {
            sum.copies += come.copies;
            sum.recovered += come.recovered;
        }
    }
}

/// Counts of one worker.
#[derive(Default)]
struct Account {
    counts: Counts,
    /// Counts by kind of messages, where there are several.
    of_says: Vec<ArrivedDue>,
    /// Counts by role, where there are roles.
    of_roles: Vec<ArrivedDue>,
    abandoned: Abandoned,
    held: Held,
}

impl Account {
    fn add(&mut self, delta: &Delta) {
        self.counts.merge(&delta.counts);
        ArrivedDue::add(&mut self.of_says, delta.says.iter().map(|say| ArrivedDue::of(&say.counts)));
        ArrivedDue::add(&mut self.of_roles, delta.roles.iter().map(|role| ArrivedDue::of(&role.counts)));
        self.abandoned.merge(&delta.abandoned);
        self.held.merge(&delta.held);
    }
}

/// The participants and workload of a run.
#[derive(Clone, Debug)]
pub(crate) struct Participants {
    pub(crate) workload: Workload,
    pub(crate) rooms: Arc<Rooms>,
    /// Workers of the run, including lost ones.
    pub(crate) workers: u16,
    /// How long clients that flap stay away.
    pub(crate) away_ns: Option<u64>,
}

/// The figures of one step while they come in.
pub struct Merge {
    workload: Workload,
    people: People,
    order: StepOrder,
    /// When the run began; times in results count from here.
    epoch_ns: u64,
    grown: Grown,
    /// When the load began.
    go_ns: u64,
    totals: Delta<Histogram>,
    loaded: Option<Loaded>,
    costs: Costs,
    /// Clients usable, by worker, as last reported.
    usable: HashMap<u16, u32>,
    /// The workers that are to report, if that is known, and when each did last.
    workers: BTreeSet<u16>,
    heard: HashMap<u16, u64>,
    /// Rows of the phase: connecting, then the load.
    rows: Rows,
    connecting: Vec<Second>,
    settled: Vec<Settled>,
    /// Counts by worker.
    accounts: HashMap<u16, Account>,
    /// Workers whose agent was lost in the step.
    lost: HashSet<u16>,
    agreement: Agreement,
}

impl Merge {
    /// A step of which nothing is measured yet, and whose connecting begins now.
    pub(crate) fn new(participants: Participants, order: StepOrder, epoch_ns: u64, now_ns: u64) -> Self {
        let Participants { workload, rooms, workers, .. } = participants;
        Self {
            workload,
            people: People { rooms, step: order.index, clients: order.clients, workers },
            order,
            epoch_ns,
            grown: Grown { from_ns: now_ns, to_ns: now_ns, connected: 0 },
            go_ns: u64::MAX,
            totals: Delta::default(),
            loaded: None,
            costs: Costs::default(),
            usable: HashMap::new(),
            workers: BTreeSet::new(),
            heard: HashMap::new(),
            rows: Rows::new(now_ns, epoch_ns),
            connecting: Vec::new(),
            settled: Vec::new(),
            accounts: HashMap::new(),
            lost: HashSet::new(),
            agreement: Agreement::default(),
        }
    }

    /// Expects reports of these workers.
    pub(crate) fn expect(&mut self, workers: &BTreeSet<u16>) {
        self.workers.clone_from(workers);
        self.rows.expect(workers.clone());
    }

    /// Begins the load at `go_ns`, after connecting ended at `grown_ns`. The workers' work for handshakes
    /// does not count for the load.
    pub fn start(&mut self, grown_ns: u64, go_ns: u64) {
        self.connecting = self.rows.finish();
        self.rows = Rows::new(go_ns, self.epoch_ns);
        self.rows.expect(self.workers.clone());
        // Handshakes cost more than messages: how late the loop was for them says nothing about the load.
        self.totals.loop_lag = Histogram::new();
        self.grown.to_ns = grown_ns;
        self.grown.connected = self.totals.counts.connected;
        self.go_ns = go_ns;
    }

    /// Ends the load at `at_ns`, when all was sent: what comes now comes in the drain, and costs nothing of
    /// the load.
    pub(crate) fn end_load(&mut self, at_ns: u64) {
        self.loaded = Some(Loaded::new(at_ns, &self.totals));
    }

    /// Adds what a worker measured. Returns true if this began a new second, so that one has passed.
    pub fn add(&mut self, delta: &Delta) -> bool {
        self.totals.add(delta);
        for content in &delta.contents {
            self.agreement.add(content);
        }
        self.usable.insert(delta.worker, delta.usable);
        self.heard.insert(delta.worker, delta.at_ns);
        self.accounts.entry(delta.worker).or_default().add(delta);
        let phase_ns = if self.is_loading() { self.go_ns } else { self.grown.from_ns };
        // A worker's last delta of connecting may come after the command to load: its counts belong to the
        // step, and to no row of the load.
        if delta.at_ns < phase_ns {
            return false;
        }
        if self.is_loading() {
            // By its beginning: a delta that reaches over the end of the window was mostly spent within it.
            let from_ns = delta.at_ns.saturating_sub(delta.usage.wall_ns);
            let is_within = self.window().end_ns().is_none_or(|end_ns| from_ns < end_ns);
            self.costs.add(delta.worker, &delta.usage, is_within);
        }
        let main = match self.workload {
            _ if !self.is_loading() => &delta.figures.handshake,
            Workload::Echo => &delta.figures.rtt,
            Workload::Broadcast => &delta.figures.delivery,
        };
        self.rows.add(delta, main)
    }

    /// The time until which every worker has reported; `None` if one has not yet.
    pub(crate) fn heard_ns(&self) -> Option<u64> {
        self.workers.iter().map(|worker| self.heard.get(worker).copied()).min().flatten()
    }

    /// Loses these workers: what they have reported stays, and nothing more is due from them or to them.
    pub fn lose(&mut self, workers: Range<u16>) {
        for worker in workers {
            self.usable.remove(&worker);
            self.workers.remove(&worker);
            self.rows.lose(worker);
            // A lost worker's messages are not due from it, and its books would say that they were.
            self.settled.retain(|settled| settled.worker != worker);
            self.lost.insert(worker);
        }
    }

    /// The window of the step.
    pub(crate) fn window(&self) -> Window<'_> {
        let (workload, load, totals) = (self.workload, &self.order.load, &self.totals);
        Window { workload, load, go_ns: self.go_ns, loaded: self.loaded, totals }
    }

    /// Returns whether an agent was lost in the step.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Returns whether this worker's agent was lost in the step.
    pub(crate) fn is_lost(&self, worker: u16) -> bool {
        self.lost.contains(&worker)
    }

    /// Deliveries at workers that are still there: received, or left behind by clients that left.
    pub(crate) fn arrived_of_present(&self) -> u64 {
        // What was under way to clients that left will not come: a drain that waited for it would last to its
        // timeout.
        let arrived = |counts: &Counts| counts.received + counts.in_flight;
        arrived(&self.totals.counts) - self.counts_of_lost().map(arrived).sum::<u64>()
    }

    /// Messages abandoned by lost connections, of the workers that are still there.
    pub(crate) fn abandoned_by_present(&self) -> Abandoned {
        let mut all = Abandoned::default();
        for account in self.present() {
            all.merge(&account.abandoned);
        }
        all
    }

    fn present(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter().filter(|(worker, _)| !self.lost.contains(worker)).map(|(_, account)| account)
    }

    /// Returns whether the load has begun.
    pub fn is_loading(&self) -> bool {
        self.go_ns != u64::MAX
    }

    /// Adds a worker's books.
    pub fn close_books(&mut self, mut settled: Settled) {
        let delta = std::mem::take(&mut settled.delta);
        self.add(&delta);
        self.settled.push(settled);
    }

    /// The progress of the phase at this moment, from 0 to 1: of connecting clients, then of the load.
    pub(crate) fn done(&self, now_ns: u64) -> f64 {
        let (done, all) = match (self.is_loading(), self.window().load.duration_ns(), self.order.load) {
            (false, ..) => (self.usable(), self.order.clients.into()),
            (true, Some(schedule_ns), _) => (now_ns.saturating_sub(self.go_ns), schedule_ns),
            (true, None, Load::Closed { until: Until::Samples(samples), .. }) => {
                (self.window().completed(), samples)
            }
            (true, None, _) => (0, 0),
        };
        if all == 0 { 0.0 } else { (done as f64 / all as f64).min(1.0) }
    }

    /// All measurements of the step so far.
    pub fn totals(&self) -> &Delta<Histogram> {
        &self.totals
    }

    /// Returns whether the step is the warm-up.
    pub(crate) fn is_warmup(&self) -> bool {
        self.order.warmup
    }

    /// Clients asked for.
    pub fn clients(&self) -> u32 {
        self.order.clients
    }

    /// Clients usable, as last reported.
    pub fn usable(&self) -> u64 {
        self.usable.values().map(|&n| u64::from(n)).sum()
    }

    /// Adds the server's usage now that a second has passed.
    pub(crate) fn handle_seen(&mut self, seen: Seen) {
        self.rows.handle_seen(seen);
    }

    /// The next second of the load that all workers have reported of.
    pub(crate) fn poll_second(&mut self) -> Option<Second> {
        self.rows.poll()
    }

    /// The last second that all workers have reported of.
    pub(crate) fn last_second(&self) -> Option<&Second> {
        self.rows.last()
    }

    /// Finishes the step, which ended at `now_ns`.
    pub fn finish(mut self, now_ns: u64, ending: Ending) -> Step {
        let mut seconds = self.rows.finish();
        if !self.is_loading() {
            self.connecting = std::mem::take(&mut seconds);
        }
        let mut counts = self.totals.counts;
        let audience = self.account(&mut counts, now_ns, ending);
        let says = self.says(&audience, &counts, ending);
        let roles = self.roles(&audience, ending);
        let Audience { completion, away, unheard_ns, .. } = audience;
        let (window, grown) = (self.window(), self.grown);
        // Books that were left open tell nothing of the time since the last report.
        let known_ns = self.heard.values().max().map_or(now_ns, |heard_ns| now_ns.min(*heard_ns));
        let duration_ns = if self.is_loading() { window.length_ns(known_ns, ending) } else { 0 };
        let connects_per_s = per_s(grown.connected, grown.to_ns - grown.from_ns).filter(|rate| *rate > 0.0);
        let rates = window.rates(duration_ns, Rates { connects_per_s, ..Rates::default() });
        let achieved_if_kept = window.achieved_if_kept(duration_ns);
        let mut totals = self.totals;
        if let Some(differing) = self.agreement.finish(self.epoch_ns) {
            counts.push_differing = differing.count;
            totals.errors.add_kind(error_kind::PUSH_DIFFERS, differing);
        }
        // Where there are several kinds of rooms, those that leaked.
        let leaks = |kind: &&RoomKind| match says.is_empty() {
            true => counts.leaked > 0,
            false => says.iter().any(|say| say.room == kind.name && say.counts.leaked > 0),
        };
        if let Some(joined_by) = self.people.rooms.kinds().iter().filter(leaks).find_map(joined_by) {
            let at_ns = self.go_ns.saturating_sub(self.epoch_ns);
            let (count, first_ns, last_ns, local) = (counts.leaked, at_ns, at_ns, false);
            let leaked = ErrorKind { count, first_ns, last_ns, example: joined_by, local };
            totals.errors.add_kind(error_kind::JOINED_BY_COLUMN, leaked);
        }
        for at_ns in unheard_ns {
            totals.errors.add(error_kind::CUT_OFF, at_ns.saturating_sub(self.epoch_ns), CUT_OFF);
        }
        let generator = self.costs.generator_use(&seconds, totals.loop_lag);
        let mut step = Step {
            clients: self.order.clients.into(),
            start_ns: self.go_ns.min(now_ns).saturating_sub(self.epoch_ns),
            duration_ns,
            rates,
            spent: TimeSpent::of(
                &totals.account,
                totals.figures.get(totals.figures.accounted()),
                self.costs.outstanding_share(),
            ),
            figures: Figures { completion, ..totals.figures },
            counts,
            errors: totals.errors,
            statuses: totals.statuses,
            absences: away.absences,
            ages: away.ages,
            says,
            roles,
            generator: Some(generator),
            connecting: self.connecting,
            series: seconds,
            ..Step::default()
        };
        step.explain_missing(&totals.taken);
        // In this order: a rate that was kept is one over the window alone; senders that get no answer are
        // judged by the copies; an overload by the level at which the series settles.
        if step.keeps_rate() {
            step.rates.achieved_per_s = achieved_if_kept;
        } else if self.workload == Workload::Broadcast && step.figures.rtt.is_empty() {
            // Nothing answers the senders: their messages are achieved as far as the copies came.
            let share = step.counts.received as f64 / step.counts.expected.max(1) as f64;
            step.rates.achieved_per_s = step.rates.achieved_per_s.map(|per_s| per_s * share);
        } else if step.is_rate_missed() {
            step.rates.achieved_per_s = step.steady_per_s().or(step.rates.achieved_per_s);
        }
        // It is kept as long as the run, and nothing is added to it.
        step.shrink_to_fit();
        step
    }

    fn counts_of_lost(&self) -> impl Iterator<Item = &Counts> {
        self.lost.iter().filter_map(|worker| self.accounts.get(worker)).map(|account| &account.counts)
    }
}

/// The mistake of a file that divides clients into rooms by number, and has them join rooms by their data.
fn joined_by(kind: &RoomKind) -> Option<String> {
    let column = kind.joined_by.as_ref()?;
    Some(format!("[room.{}] is joined by {column}: of = \"{column}\" in place of size or count", kind.name))
}

/// Received copies that would be missing if they had not come.
fn certain(counts: &Counts) -> u64 {
    counts.received.saturating_sub(counts.in_passing)
}

#[cfg(test)]
mod tests;
