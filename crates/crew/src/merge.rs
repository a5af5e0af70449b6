//! Many workers' deltas and books → one step of the results.
//!
//! Everything adds up exactly: histograms and counts are sums. Only what no worker can know alone is worked
//! out here: how many copies of a broadcast were due (to all clients that were there when it was sent), and
//! when the last of them came, wherever its receiver was.

mod agreement;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use engine::{Abandoned, Delta, Held, RoleDelta, Settled};
use load::{Load, RoleKind, RoomKind, Rooms, StepOrder, Until, Workload};
use results::{Rates, RoleFigures, SayFigures, Second, Step, TimeSpent};
use stats::errors::ErrorKind;
use stats::{Counts, Figures, Histogram, error_kind};

use agreement::Agreement;

use crate::audience::{Audience, Due, People};
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
        let duration_ns = if self.is_loading() { window.length_ns(now_ns, ending) } else { 0 };
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

    /// Fills in what was due and what is missing, and returns what else is known of broadcasts.
    fn account(&self, counts: &mut Counts, now_ns: u64, ending: Ending) -> Audience {
        let mut audience = Audience::default();
        match self.workload {
            Workload::Echo => {
                let waiting: u64 = self.present().map(|account| account.held.waiting()).sum();
                // A request that still waits for a connection was due all the same (METHODOLOGY `expected`).
                counts.expected = counts.sent + waiting - self.echoes_of_lost();
                counts.in_flight = self.present().map(|account| account.counts.in_flight).sum();
            }
            Workload::Broadcast => {
                audience = Audience::of(&self.people, &self.settled, now_ns, ending);
                counts.expected = audience.due.copies + counts.in_passing + self.copies_of_lost();
                counts.in_flight = audience.due.left_behind;
                let recovered_of_lost: u64 = self.counts_of_lost().map(|counts| counts.recovered).sum();
                // What was recovered was due, also where the sender's books, which would say so, are lost.
                counts.offline_due = counts.recovered.max(audience.away.due + recovered_of_lost);
                counts.lost_offline = counts.offline_due - counts.recovered;
                (counts.seen_due, counts.seen) = audience.presence;
                counts.unseen = counts.seen_due - counts.seen;
            }
        }
        counts.connecting += self.connecting_without_books();
        charge_outstanding(counts, ending);
        audience
    }

    /// Figures by kind of messages, where there are several. `total` counts all of them together.
    fn says(&self, audience: &Audience, total: &Counts, ending: Ending) -> Vec<SayFigures> {
        let of_lost = self.of_lost_by_say();
        let rooms = &self.people.rooms;
        let mut says: Vec<SayFigures> = Vec::new();
        for (kind, delta) in self.totals.says.iter().enumerate() {
            let (say, due) = (&rooms.says()[kind], audience.of_says.get(kind).copied().unwrap_or_default());
            says.push(SayFigures {
                name: say.name.clone(),
                room: rooms.kinds()[usize::from(say.room)].name.clone(),
                counts: accounted(delta.counts, due, of_lost[kind], ending),
                rtt: delta.rtt.clone(),
                delivery: delta.delivery.clone(),
            });
        }
        // Which of its rooms a client that left had heard of last is not known. How much it lacked is.
        let known: u64 = says.iter().map(|say| say.counts.in_flight).sum();
        // The kinds must add up to the total: what is known only in total is taken from the kinds' missing,
        // in their order.
        let mut unknown = total.in_flight.saturating_sub(known);
        for say in &mut says {
            let taken = unknown.min(say.counts.missing);
            (say.counts.in_flight, say.counts.missing) =
                (say.counts.in_flight + taken, say.counts.missing - taken);
            unknown -= taken;
        }
        says
    }

    /// Figures by role, where there are roles. Of the copies due to a lost agent's clients, only the ones
    /// that came are known.
    fn roles(&self, audience: &Audience, ending: Ending) -> Vec<RoleFigures> {
        let (rooms, role_assignment) = (&self.people.rooms, self.people.rooms.role_assignment());
        let of_lost = self.arrived_at_lost(rooms.roles().len(), |account| &account.of_roles);
        let figures = |(place, (role, delta)): (usize, (&RoleKind, &RoleDelta<Histogram>))| RoleFigures {
            name: role.name.clone(),
            people: role_assignment.people(place, self.people.clients).into(),
            counts: {
                let due = audience.of_roles.get(place).copied().unwrap_or_default();
                accounted(delta.counts, due, of_lost[place], ending)
            },
            handshake: delta.handshake.clone(),
            rtt: delta.rtt.clone(),
            delivery: delta.delivery.clone(),
        };
        rooms.roles().iter().zip(&self.totals.roles).enumerate().map(figures).collect()
    }

    /// Echoes that were under way at lost agents: it is unknown what became of them.
    fn echoes_of_lost(&self) -> u64 {
        self.counts_of_lost().map(|counts| counts.sent.saturating_sub(counts.received)).sum()
    }

    /// Copies that lost agents received, and copies of their messages that others received: they were due,
    /// because they came.
    fn copies_of_lost(&self) -> u64 {
        let to_lost: u64 = self.counts_of_lost().map(certain).sum();
        let tallies = self.settled.iter().flat_map(|settled| &settled.tallies);
        let from_lost = tallies.filter(|tally| self.lost.contains(&tally.worker));
        to_lost + from_lost.map(|tally| u64::from(tally.received)).sum::<u64>()
    }

    /// Copies by kind of messages: those that lost agents received, also again after absences, and copies of
    /// their messages that others received.
    fn of_lost_by_say(&self) -> Vec<ArrivedDue> {
        let mut of_lost = self.arrived_at_lost(self.people.rooms.says().len(), |account| &account.of_says);
        let mix = self.people.rooms.mix(self.people.workers);
        for tally in self.settled.iter().flat_map(|settled| &settled.tallies) {
            if self.lost.contains(&tally.worker) {
                let kind = mix.kind(tally.worker, tally.client, engine::seq(self.order.index, tally.number));
                of_lost[kind].copies += u64::from(tally.received);
            }
        }
        of_lost
    }

    /// Copies that came to lost agents, by kind of messages or by role, of which there are `all`.
    fn arrived_at_lost(&self, all: usize, of: fn(&Account) -> &Vec<ArrivedDue>) -> Vec<ArrivedDue> {
        let mut arrived = vec![ArrivedDue::default(); all];
        for account in self.lost.iter().filter_map(|worker| self.accounts.get(worker)) {
            ArrivedDue::add(&mut arrived, of(account).iter().copied());
        }
        arrived
    }

    /// Connections that were under way at workers that never closed their books: neither usable nor failed.
    fn connecting_without_books(&self) -> u64 {
        let settled: HashSet<u16> = self.settled.iter().map(|settled| settled.worker).collect();
        let under_way = |counts: &Counts| {
            let ended = counts.connected + counts.connect_timeouts + counts.connect_failures;
            counts.connects.saturating_sub(ended + counts.connecting)
        };
        let without_books = self.accounts.iter().filter(|(worker, _)| !settled.contains(worker));
        without_books.map(|(_, account)| under_way(&account.counts)).sum()
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

/// Completes the counts of a part of the messages by what was due, and by what came to and from lost agents.
fn accounted(counted: Counts, due: Due, of_lost: ArrivedDue, ending: Ending) -> Counts {
    let mut counts = counted;
    counts.expected = due.copies + counts.in_passing + of_lost.copies;
    counts.in_flight = due.left_behind;
    charge_outstanding(&mut counts, ending);
    counts.offline_due = counts.recovered.max(due.offline + of_lost.recovered);
    counts.lost_offline = counts.offline_due - counts.recovered;
    counts
}

/// Divides what was due and has not come into what is missing and what is under way: to clients that left,
/// `in_flight` at the most, or in a step that was cut short, all.
fn charge_outstanding(counts: &mut Counts, ending: Ending) {
    // A worker that was lost cannot tell what it sent.
    counts.expected = counts.expected.max(counts.received);
    let outstanding = counts.expected - counts.received;
    counts.in_flight = counts.in_flight.min(outstanding);
    if ending == Ending::CutShort {
        counts.in_flight = outstanding;
        // Acknowledgements that were under way when the step ended are not the server's failure.
        counts.unacknowledged = 0;
    }
    counts.missing = outstanding - counts.in_flight;
}

#[cfg(test)]
mod tests;
