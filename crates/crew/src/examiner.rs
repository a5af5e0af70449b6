//! Checks whether what workers report can be true. They may be on other machines, and what comes from there
//! may be anything.
//!
//! Rules. A report is held against the plan, the step that was ordered, and the time since: a worker has no
//! more clients than its share, begins each connection once unless clients come back, sends no more than the
//! schedule has, answers no more than was sent, and does nothing faster than [`EVENTS_PER_S_MAX`]. All this
//! holds for what it has reported in the step together, so that many small lies add up to a large one. Books
//! are closed once, with times in order. A worker that says what cannot be is believed nothing more: its
//! report is replaced by one that says that it failed.

mod account;
mod fault;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use engine::events::{BATCH_ENTRIES, Batch};
use engine::{BROADCASTS_PER_WORKER_MAX, Delta, Report, Settled};
use load::{Census, Load, Plan, Rooms, Segment, Senders, StepOrder, Until, Workload};
use stats::Errors;
use stats::errors::{EXAMPLE_BYTES_MAX, ErrorKind};

use account::{Account, Bounds, NS_PER_S, at_most};
use fault::Fault;

/// Events per second beyond which a worker's report cannot be true: a hundred times what one core can do.
const EVENTS_PER_S_MAX: u64 = 100_000_000;
/// Bytes per second beyond which a worker's report cannot be true: a hundred times what one core can do.
const BYTES_PER_S_MAX: u64 = 100_000_000_000;
/// How far a worker's clock reading may be ahead; what a worker did may lie as much before the step.
const AHEAD_NS_MAX: u64 = 60_000_000_000;
/// Most kinds of errors of a run, and most names of a batch of events: there are fewer.
const KINDS_MAX: usize = 256;
/// The longest kind.
const KIND_BYTES_MAX: usize = 64;
/// The share of a schedule's messages that rounding may add.
const ROUNDING_SHARE: f64 = 0.01;
const ROUNDING: u64 = 16;

/// Holds reports against what was asked for.
pub(crate) struct Examiner {
    workers: u16,
    workload: Workload,
    rooms: Arc<Rooms>,
    senders: Senders,
    /// True if clients reconnect, or others in their place.
    comes_back: bool,
    records_events: bool,
    /// True if the workers are this process's own, or its children: what cannot be is then the server's
    /// doing.
    are_own: bool,
    epoch_ns: u64,
    order: Option<StepOrder>,
    /// Each worker's part of its load.
    parts: Vec<Option<Segment>>,
    /// Each sender group's share of the load, and each worker's part of that.
    groups: Vec<(f64, Vec<Option<Segment>>)>,
    began_ns: u64,
    /// The most clients that any step so far has asked for.
    clients_max: u32,
    accounts: HashMap<u16, Account>,
    kinds: BTreeSet<String>,
    events_lost: u64,
}

impl Examiner {
    /// An examiner without an order yet, for a run of this many workers.
    pub(crate) fn new(plan: &Plan, workers: u16) -> Self {
        Self {
            workers,
            workload: plan.workload,
            rooms: Arc::clone(&plan.rooms),
            senders: plan.senders(),
            // Only then may a worker begin more connections than it has clients.
            comes_back: plan.churn.is_some() || plan.flap.is_some() || plan.messages_per_connection.is_some(),
            records_events: plan.records_events,
            are_own: false,
            epoch_ns: plan.epoch_ns,
            order: None,
            parts: Vec::new(),
            groups: Vec::new(),
            began_ns: plan.epoch_ns,
            clients_max: 0,
            accounts: HashMap::new(),
            kinds: BTreeSet::new(),
            events_lost: 0,
        }
    }

    /// Says whether the workers are on this machine.
    pub(crate) fn of_own(self, are_own: bool) -> Self {
        Self { are_own, ..self }
    }

    /// Begins a step, which is ordered at this moment.
    pub(crate) fn begin(&mut self, order: StepOrder, now_ns: u64) {
        self.clients_max = self.clients_max.max(order.clients);
        let senders = order.load.senders(self.senders.clone());
        let parts = |senders: &Senders| senders.parts(order.clients, self.workers);
        self.parts = parts(&senders);
        self.groups = senders.groups().iter().map(|group| (group.share, parts(&group.senders))).collect();
        (self.order, self.began_ns) = (Some(order), now_ns);
        self.accounts.clear();
    }

    /// Checks a report: returns it, fit to be shown, if it can be true, and otherwise a report that its
    /// worker has failed.
    pub(crate) fn examine(&mut self, mut report: Report, now_ns: u64) -> Report {
        let worker = report.worker().unwrap_or_else(|| self.worker_of_events(&report));
        let judged = match &mut report {
            _ if worker >= self.workers => Err(Fault::Worker),
            Report::Grown { usable, slow, reached, .. } => {
                let share = self.share(worker, self.order.map_or(0, |order| order.clients));
                let is_sound = slow <= usable && *usable <= share && *reached <= self.share_max(worker);
                is_sound.then_some(()).ok_or(Fault::Share)
            }
            Report::Delta(delta) => self.delta(delta, now_ns),
            Report::Loaded { sent, at_ns, .. } => self.loaded(worker, *sent, *at_ns, now_ns),
            Report::Events(batch) => {
                batch.lost = self.events_lost(batch.lost, now_ns);
                // Names without events name nothing, and cannot be traced to a worker.
                if batch.entries.is_empty() {
                    batch.names.clear();
                }
                self.events(batch, now_ns)
            }
            Report::Settled(settled) => self.books(settled, now_ns),
            Report::Finished { .. } => Ok(()),
            Report::Failed { message, .. } => {
                *message = plain(message);
                Ok(())
            }
        };
        match judged {
            Ok(()) => report,
            Err(lie) => Report::Failed { worker, message: format!("it reports what cannot be: {lie}") },
        }
    }

    fn delta(&mut self, delta: &mut Delta, now_ns: u64) -> Result<(), Fault> {
        // Clocks of machines differ by a little, and a report takes time: only what is far ahead cannot be.
        if delta.at_ns.max(delta.last_arrival_ns) > now_ns + AHEAD_NS_MAX {
            return Err(Fault::Time);
        }
        if delta.says.len() > self.rooms.says().len()
            || delta.roles.len() > self.rooms.roles().len()
            || !account::are_parts(delta)
        {
            return Err(Fault::Kinds);
        }
        if delta.usable > self.share_max(delta.worker) {
            return Err(Fault::Share);
        }
        if !delta.counts.is_plausible() {
            return Err(Fault::Counts);
        }
        self.errors(&mut delta.errors, now_ns)?;
        self.errors(&mut delta.taken, now_ns)?;
        if !self.are_contents(delta, now_ns) {
            return Err(Fault::Pushes);
        }
        if !delta.statuses.keys().all(|status| (100..1_000).contains(status)) {
            return Err(Fault::Statuses);
        }
        // The sums are checked, not the single report: otherwise many small reports could say what one may
        // not.
        let account = self.accounts.entry(delta.worker).or_default();
        if account.has_settled {
            return Err(Fault::Closed);
        }
        account.add(delta);
        let bounds = self.bounds(delta.worker, now_ns);
        self.accounts[&delta.worker].check(self.workload, &bounds)
    }

    /// Returns whether the contents of pushes came to this worker's clients, as often as pushes were
    /// compared.
    fn are_contents(&self, delta: &Delta, now_ns: u64) -> bool {
        let is_sound = |content: &engine::Content| {
            self.is_here(delta.worker, content.client)
                && content.receivers > 0
                && content.at_ns <= now_ns + AHEAD_NS_MAX
        };
        let receivers = delta.contents.iter().map(|content| u64::from(content.receivers)).sum::<u64>();
        receivers == delta.counts.push_compared && delta.contents.iter().all(is_sound)
    }

    /// Returns whether a client is one of this worker's, by its number in the run.
    fn is_here(&self, worker: u16, client: u32) -> bool {
        client % u32::from(self.workers.max(1)) == u32::from(worker)
    }

    fn errors(&mut self, errors: &mut Errors, now_ns: u64) -> Result<(), Fault> {
        let since_ns = now_ns.saturating_sub(self.epoch_ns) + AHEAD_NS_MAX;
        for (name, kind) in errors.iter() {
            if !is_kind(name) {
                return Err(Fault::ErrorWords);
            }
            if kind.first_ns > kind.last_ns || kind.last_ns > since_ns {
                return Err(Fault::Time);
            }
            if !self.kinds.contains(name) {
                self.kinds.insert(name.to_owned());
            }
        }
        if self.kinds.len() > KINDS_MAX {
            return Err(Fault::ErrorKinds);
        }
        let is_plain = |kind: &ErrorKind| {
            kind.example.len() <= EXAMPLE_BYTES_MAX && kind.example.chars().all(stats::is_shown)
        };
        // An example may come from the server under test, so that it is no lie of the worker's; it is only
        // made harmless for a terminal.
        if !errors.iter().all(|(_, kind)| is_plain(kind)) {
            let mut shown = Errors::default();
            for (name, kind) in errors.iter() {
                shown.add_kind(name, ErrorKind { example: plain(&kind.example), ..kind.clone() });
            }
            *errors = shown;
        }
        Ok(())
    }

    fn loaded(&self, worker: u16, sent: u64, at_ns: u64, now_ns: u64) -> Result<(), Fault> {
        if at_ns > now_ns + AHEAD_NS_MAX {
            return Err(Fault::Time);
        }
        match sent <= self.sent_max(Some(worker), now_ns) {
            true => Ok(()),
            false => Err(Fault::Sent),
        }
    }

    fn events(&self, batch: &Batch, now_ns: u64) -> Result<(), Fault> {
        if !self.records_events {
            return Err(Fault::Unasked);
        }
        let is_sound = |entry: &engine::events::Entry| {
            let client = entry.client() / u32::from(self.workers.max(1));
            let worker = (entry.client() % u32::from(self.workers.max(1))) as u16;
            client < self.share_max(worker)
                && entry.at_ns() <= now_ns.saturating_sub(self.epoch_ns) + AHEAD_NS_MAX
                && entry.detail().is_none_or(|place| place < batch.names.len())
        };
        if batch.entries.len() > BATCH_ENTRIES || !batch.entries.iter().all(is_sound) {
            return Err(Fault::Events);
        }
        if batch.names.len() > KINDS_MAX || !batch.names.iter().all(|name| is_kind(name)) {
            return Err(Fault::EventWords);
        }
        Ok(())
    }

    /// The worker of a report. Events do not name it, but their clients tell. Without a client, events say
    /// only how many were lost, which may always be shown; a fleet's relay has checked that events were asked
    /// for.
    fn worker_of_events(&self, report: &Report) -> u16 {
        let Report::Events(Batch { entries, .. }) = report else { return 0 };
        entries.first().map_or(0, |entry| (entry.client() % u32::from(self.workers.max(1))) as u16)
    }

    /// Caps the events reported lost at the number that can have been.
    fn events_lost(&mut self, lost: u64, now_ns: u64) -> u64 {
        let all_workers = u64::from(self.workers.max(1));
        let most = at_most(EVENTS_PER_S_MAX, now_ns, self.epoch_ns).saturating_mul(all_workers);
        let lost = lost.min(most.saturating_sub(self.events_lost));
        self.events_lost += lost;
        lost
    }

    fn books(&mut self, settled: &mut Settled, now_ns: u64) -> Result<(), Fault> {
        if settled.delta.worker != settled.worker {
            return Err(Fault::Books);
        }
        self.delta(&mut settled.delta, now_ns)?;
        let latest_ns = now_ns + AHEAD_NS_MAX;
        let share = self.share_max(settled.worker);
        let account = self.accounts.get_mut(&settled.worker).expect("its delta was added");
        account.has_settled = true;
        let left = account.counts.left;
        let visits = account.counts.visits.saturating_add(account.counts.join_failures);
        let sent = account.counts.sent.saturating_add(account.held.waiting());
        let (gone, account_recovered) =
            (account.counts.cut + account.counts.disconnects, account.counts.recovered);
        let is_tally = |tally: &engine::BroadcastTally| {
            tally.worker < self.workers
                && tally.number < BROADCASTS_PER_WORKER_MAX
                && tally.received <= share
                && tally.last_ns <= latest_ns
        };
        let are_tallies = |tallies: &[engine::BroadcastTally]| {
            tallies.is_sorted_by(|a, b| (a.worker, a.number) < (b.worker, b.number))
                && tallies.iter().all(is_tally)
        };
        // Later code subtracts these times from one another and indexes by client and room, and so relies
        // on what is checked here.
        let are_sent = settled.sent.iter().all(|sent| sent.sent_ns.max(sent.intended_ns) <= latest_ns);
        let is_here = |client: u32| self.is_here(settled.worker, client);
        let are_from_here = settled.sent.iter().all(|sent| is_here(sent.client));
        let departures = &settled.departures;
        let is_way = |departure: &engine::Departure| {
            is_here(departure.client) && departure.from_ns <= departure.to_ns && departure.to_ns <= latest_ns
        };
        let is_absence = |absence: &engine::Absence| {
            is_here(absence.client)
                && absence.from_ns.max(absence.cut_ns) <= absence.to_ns
                && absence.cut_ns <= latest_ns
                && (absence.to_ns <= latest_ns || absence.to_ns == u64::MAX)
        };
        let recovered = settled.absences.iter().map(|absence| u64::from(absence.recovered)).sum::<u64>();
        let had = settled.absences.iter().map(|absence| u64::from(absence.had)).sum::<u64>();
        let had_of_says = settled.had_of_says.iter().copied().fold(0, u64::saturating_add);
        let by_age = settled.recovered_by_age.iter().copied().fold(0, u64::saturating_add);
        let are_absences = settled.absences.iter().all(is_absence)
            && settled.absences.len() as u64 <= gone
            && recovered.max(by_age) <= account_recovered
            && had_of_says <= had
            && settled.had_of_says.len() <= self.rooms.says().len();
        let is_newcomer = |announced: &engine::Announced| {
            is_here(announced.client)
                && usize::from(announced.kind) < self.rooms.kinds().len()
                && announced.sent_ns <= latest_ns
        };
        if !are_tallies(&settled.tallies) || !are_tallies(&settled.heard) {
            Err(Fault::Copies)
        } else if !settled.announced.iter().all(is_newcomer)
            || settled.announced.len() as u64 > visits.saturating_add(gone)
        {
            Err(Fault::Newcomers)
        } else if !are_sent || !are_from_here || settled.sent.len() as u64 > sent {
            Err(Fault::Broadcasts)
        } else if !self.is_attended(settled, latest_ns) {
            Err(Fault::Attendance)
        } else if !departures.iter().all(is_way) || departures.len() as u64 > left {
            Err(Fault::Departure)
        } else if !are_absences {
            Err(Fault::Absence)
        } else {
            Ok(())
        }
    }

    /// Returns whether the clients that come and go are members of rooms here, one after another.
    fn is_attended(&self, settled: &Settled, latest_ns: u64) -> bool {
        if settled.attendance.is_empty() {
            return true;
        }
        let census = |kind: &load::RoomKind| {
            Census::of(&kind.division, self.clients_max, self.workers, &[settled.worker])
        };
        let censuses: Vec<Census> = self.rooms.kinds().iter().map(census).collect();
        let mut missing: HashMap<(u16, u32), i64> = HashMap::new();
        settled.attendance.is_sorted_by_key(|change| change.at_ns)
            && settled.attendance.iter().all(|change| {
                let engine::RoomPlace { kind, room, role } = change.place;
                let Some(census) = censuses.get(usize::from(kind)) else { return false };
                let missing = missing.entry((kind, room)).or_default();
                *missing -= i64::from(change.change);
                let is_role = usize::from(role) < self.rooms.roles().len().max(1);
                let members = census.members(room);
                is_role && change.at_ns <= latest_ns && (0..=i64::from(members)).contains(missing)
            })
    }

    fn share(&self, worker: u16, clients: u32) -> u32 {
        Segment { worker, workers: self.workers }.share(clients)
    }

    fn share_max(&self, worker: u16) -> u32 {
        self.share(worker, self.clients_max)
    }

    /// Messages that a worker can have sent in the step, or all of them.
    fn sent_max(&self, worker: Option<u16>, now_ns: u64) -> u64 {
        let at_most = at_most(EVENTS_PER_S_MAX, now_ns, self.began_ns);
        let Some(order) = &self.order else { return 0 };
        let part = match worker {
            None => Segment { worker: 0, workers: 1 },
            Some(worker) => match self.parts.get(usize::from(worker)).copied().flatten() {
                Some(part) => part,
                None => return 0,
            },
        };
        // Each sender group has a rate of its own, and other workers that share it.
        let share: f64 = match worker {
            None => 1.0,
            Some(worker) => {
                let of_group = |(share, parts): &(f64, Vec<Option<Segment>>)| {
                    parts
                        .get(usize::from(worker))
                        .copied()
                        .flatten()
                        .map(|part| share / f64::from(part.workers))
                };
                self.groups.iter().filter_map(of_group).sum()
            }
        };
        let on_schedule = |rate_per_s: f64, duration_ns: u64| {
            let messages = rate_per_s * duration_ns as f64 / NS_PER_S as f64;
            (messages * (1.0 + ROUNDING_SHARE) * share) as u64 + ROUNDING
        };
        at_most.min(match order.load {
            Load::Open { schedule, duration_ns } => {
                on_schedule(schedule.mean_per_s(duration_ns), duration_ns)
            }
            Load::Storm(storm) => on_schedule(storm.rate_per_s.unwrap_or(0.0), storm.whole_ns()),
            Load::Closed { concurrency, until: Until::Samples(samples), .. } => {
                part.share_by_slots(samples, concurrency)
            }
            // Clients that only hold their connections say nothing.
            Load::Hold { .. } => 0,
            // How often answers make room for another message is up to the server; `at_most` is then the
            // only bound.
            Load::Closed { until: Until::Elapsed { .. }, .. } => u64::MAX,
        })
    }

    fn bounds(&self, worker: u16, now_ns: u64) -> Bounds {
        let order = self.order.as_ref();
        let comes_back = self.comes_back || order.is_some_and(|order| matches!(order.load, Load::Storm(_)));
        let share = u64::from(self.share_max(worker));
        let events = at_most(EVENTS_PER_S_MAX, now_ns, self.began_ns);
        Bounds {
            share,
            clients: self.clients_max.into(),
            connects: if comes_back { events } else { share },
            sent: self.sent_max(Some(worker), now_ns),
            // A server may make up copies of broadcasts, of which each worker knows its own alone: with a
            // worker on another machine that is a lie, with one here it must not end the run.
            sent_by_all: if self.are_own { u64::MAX } else { self.sent_max(None, now_ns) },
            events,
            bytes: at_most(BYTES_PER_S_MAX, now_ns, self.began_ns),
            time_ns: now_ns.saturating_sub(self.epoch_ns) + AHEAD_NS_MAX,
        }
    }
}

/// Returns whether a name can be a kind of errors: throng or the author of an app file gives these names.
fn is_kind(name: &str) -> bool {
    (1..=KIND_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Makes text from elsewhere fit to be shown.
fn plain(text: &str) -> String {
    let mut shown: String = text.chars().filter(|c| stats::is_shown(*c)).collect();
    while shown.len() > EXAMPLE_BYTES_MAX {
        shown.pop();
    }
    shown
}

#[cfg(test)]
mod tests;
