//! Whether what workers report can be true. They may be on other machines, and what comes from there may be anything.
//!
//! Rules. A report is held against the plan, the step that was ordered, and the time since: a worker has no more clients than its
//! share, begins each connection once where nobody comes back, sends no more than the schedule has, answers no
//! more than was sent, and does nothing faster than [`EVENTS_PER_S_MAX`]. All this holds for what it has reported in the
//! step together, so that many small lies are one large one. Books are closed once, with times in order. Whoever says what
//! cannot be is believed nothing more: the report becomes that of a worker that failed.

use std::collections::{BTreeSet, HashMap};

use engine::events::{BATCH_ENTRIES, Batch};
use engine::{Delta, Report, Settled};
use load::{Load, Plan, Segment, StepOrder, Until, Workload};
use stats::errors::{EXAMPLE_BYTES_MAX, ErrorKind};
use stats::{Counts, Errors};

/// No worker does anything more often: a hundred times what one core can.
const EVENTS_PER_S_MAX: u64 = 100_000_000;
/// No worker receives more in a second: a hundred times what one core can.
const BYTES_PER_S_MAX: u64 = 100_000_000_000;
/// No reading of a worker's clock is further ahead than this; what a worker did may lie so much before the step.
const AHEAD_NS_MAX: u64 = 60_000_000_000;
/// No worker sends more broadcasts in a step (`engine`'s `BROADCASTS_PER_WORKER_MAX`).
const BROADCASTS_MAX: u32 = 1 << 22;
/// Kinds of errors that a run may have, and words that a batch of events may use: there are fewer.
const KINDS_MAX: usize = 256;
/// The longest kind.
const KIND_BYTES_MAX: usize = 64;
/// Of what is sent on a schedule, so much more is put down to rounding.
const ROUNDING_SHARE: f64 = 0.01;
const ROUNDING: u64 = 16;
const NS_PER_S: u64 = 1_000_000_000;

/// What makes a report a lie, in words.
type Lie = &'static str;

/// Holds reports against what was asked for.
pub(crate) struct Examiner {
    workers: u16,
    workload: Workload,
    is_churning: bool,
    records_events: bool,
    epoch_ns: u64,
    order: Option<StepOrder>,
    began_ns: u64,
    /// The most clients that any step so far has asked for.
    clients_max: u32,
    accounts: HashMap<u16, Account>,
    kinds: BTreeSet<String>,
    events_lost: u64,
}

/// What one worker has reported in the step.
#[derive(Default)]
struct Account {
    counts: Counts,
    samples: u64,
    handshakes: u64,
    answers: u64,
    errors: u64,
    acks: u64,
    tail: engine::Tail,
    held: engine::Held,
    gone: engine::Gone,
    received_bytes: u64,
    usage: engine::Usage,
    has_settled: bool,
}

impl Examiner {
    /// Nothing is ordered yet. The run has so many workers.
    pub(crate) fn new(plan: &Plan, workers: u16) -> Self {
        Self {
            workers,
            workload: plan.workload,
            is_churning: plan.churn.is_some(),
            records_events: plan.records_events,
            epoch_ns: plan.epoch_ns,
            order: None,
            began_ns: plan.epoch_ns,
            clients_max: 0,
            accounts: HashMap::new(),
            kinds: BTreeSet::new(),
            events_lost: 0,
        }
    }

    /// A step is ordered at this moment.
    pub(crate) fn begin(&mut self, order: StepOrder, now_ns: u64) {
        self.clients_max = self.clients_max.max(order.clients);
        (self.order, self.began_ns) = (Some(order), now_ns);
        self.accounts.clear();
    }

    /// The report, fit to be shown, if it can be true; else that its worker has failed.
    pub(crate) fn examine(&mut self, mut report: Report, now_ns: u64) -> Report {
        let worker = report.worker().unwrap_or_else(|| self.worker_of_events(&report));
        let judged = match &mut report {
            _ if worker >= self.workers => Err("a worker that is not of the run"),
            Report::Grown { usable, slow, reached, .. } => {
                let share = self.share(worker, self.order.map_or(0, |order| order.clients));
                let is_sound = slow <= usable && *usable <= share && *reached <= self.share_max(worker);
                is_sound.then_some(()).ok_or("more clients than its share")
            }
            Report::Delta(delta) => self.delta(delta, now_ns),
            Report::Loaded { sent, at_ns, .. } => self.loaded(*sent, *at_ns, now_ns),
            Report::Events(batch) => {
                batch.lost = self.events_lost(batch.lost, now_ns);
                self.events(batch, now_ns)
            }
            Report::Settled(settled) => self.settled(settled, now_ns),
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

    fn delta(&mut self, delta: &mut Delta, now_ns: u64) -> Result<(), Lie> {
        if delta.at_ns.max(delta.last_arrival_ns) > now_ns + AHEAD_NS_MAX {
            return Err("a time that is not yet");
        }
        if delta.usable > self.share_max(delta.worker) {
            return Err("more clients than its share");
        }
        if !delta.counts.is_plausible() {
            return Err("counts beyond counting");
        }
        self.errors(delta, now_ns)?;
        if !delta.statuses.keys().all(|status| (100..1_000).contains(status)) {
            return Err("statuses that HTTP does not have");
        }
        let account = self.accounts.entry(delta.worker).or_default();
        if account.has_settled {
            return Err("something after its books were closed");
        }
        account.add(delta);
        let bounds = self.bounds(delta.worker, now_ns);
        self.accounts[&delta.worker].check(self.workload, &bounds)
    }

    fn errors(&mut self, delta: &mut Delta, now_ns: u64) -> Result<(), Lie> {
        let since_ns = now_ns.saturating_sub(self.epoch_ns) + AHEAD_NS_MAX;
        for (name, kind) in delta.errors.iter() {
            if !is_kind(name) {
                return Err("kinds of errors that are no words");
            }
            if kind.first_ns > kind.last_ns || kind.last_ns > since_ns {
                return Err("a time that is not yet");
            }
            if !self.kinds.contains(name) {
                self.kinds.insert(name.to_owned());
            }
        }
        if self.kinds.len() > KINDS_MAX {
            return Err("more kinds of errors than there are");
        }
        let is_plain = |kind: &ErrorKind| {
            kind.example.len() <= EXAMPLE_BYTES_MAX && !kind.example.chars().any(char::is_control)
        };
        if !delta.errors.iter().all(|(_, kind)| is_plain(kind)) {
            let mut shown = Errors::default();
            for (name, kind) in delta.errors.iter() {
                shown.add_kind(name, ErrorKind { example: plain(&kind.example), ..kind.clone() });
            }
            delta.errors = shown;
        }
        Ok(())
    }

    fn loaded(&self, sent: u64, at_ns: u64, now_ns: u64) -> Result<(), Lie> {
        if at_ns > now_ns + AHEAD_NS_MAX {
            return Err("a time that is not yet");
        }
        match sent <= self.sent_max(now_ns) {
            true => Ok(()),
            false => Err("more messages than were to be sent"),
        }
    }

    fn events(&self, batch: &Batch, now_ns: u64) -> Result<(), Lie> {
        if !self.records_events {
            return Err("events that nobody asked for");
        }
        let is_sound = |entry: &engine::events::Entry| {
            let client = entry.client() / u32::from(self.workers.max(1));
            let worker = (entry.client() % u32::from(self.workers.max(1))) as u16;
            client < self.share_max(worker)
                && entry.at_ns() <= now_ns.saturating_sub(self.epoch_ns) + AHEAD_NS_MAX
                && entry.detail().is_none_or(|place| place < batch.names.len())
        };
        if batch.entries.len() > BATCH_ENTRIES || !batch.entries.iter().all(is_sound) {
            return Err("events of nobody, or of no time");
        }
        if batch.names.len() > KINDS_MAX || !batch.names.iter().all(|name| is_kind(name)) {
            return Err("events with words that are none");
        }
        Ok(())
    }

    /// Events do not say whose they are, but their clients do.
    fn worker_of_events(&self, report: &Report) -> u16 {
        let Report::Events(Batch { entries, .. }) = report else { return 0 };
        entries.first().map_or(0, |entry| (entry.client() % u32::from(self.workers.max(1))) as u16)
    }

    /// Of events that are said to be lost, those that there can have been.
    fn events_lost(&mut self, lost: u64, now_ns: u64) -> u64 {
        let all_workers = u64::from(self.workers.max(1));
        let most = at_most(EVENTS_PER_S_MAX, now_ns, self.epoch_ns).saturating_mul(all_workers);
        let lost = lost.min(most.saturating_sub(self.events_lost));
        self.events_lost += lost;
        lost
    }

    fn settled(&mut self, settled: &mut Settled, now_ns: u64) -> Result<(), Lie> {
        if settled.delta.worker != settled.worker {
            return Err("another worker's books");
        }
        self.delta(&mut settled.delta, now_ns)?;
        let latest_ns = now_ns + AHEAD_NS_MAX;
        let share = self.share_max(settled.worker);
        let account = self.accounts.get_mut(&settled.worker).expect("its delta was added");
        account.has_settled = true;
        let tallies = &settled.tallies;
        let is_tally = |tally: &engine::BroadcastTally| {
            tally.worker < self.workers
                && tally.number < BROADCASTS_MAX
                && tally.received <= share
                && tally.last_ns <= latest_ns
        };
        let are_once = tallies.is_sorted_by(|a, b| (a.worker, a.number) < (b.worker, b.number));
        let are_sent = settled.sent.iter().all(|sent| sent.sent_ns.max(sent.intended_ns) <= latest_ns);
        let population = &settled.population;
        let departures = &settled.departures;
        let is_way = |departure: &engine::Departure| {
            departure.from_ns <= departure.to_ns && departure.to_ns <= latest_ns
        };
        if !are_once || !tallies.iter().all(is_tally) {
            Err("copies of no broadcast, or to more clients than it has")
        } else if !are_sent || settled.sent.len() as u64 > account.counts.sent {
            Err("broadcasts that it has not sent")
        } else if !population.is_sorted_by_key(|&(at_ns, _)| at_ns)
            || population.iter().any(|&(at_ns, clients)| at_ns > latest_ns || clients > share)
        {
            Err("clients that were never there")
        } else if !departures.iter().all(is_way) || departures.len() as u64 > account.counts.left {
            Err("a departure that never was")
        } else {
            Ok(())
        }
    }

    fn share(&self, worker: u16, clients: u32) -> u32 {
        Segment { worker, workers: self.workers }.share(clients)
    }

    fn share_max(&self, worker: u16) -> u32 {
        self.share(worker, self.clients_max)
    }

    /// Messages that a worker can have sent in the step.
    fn sent_max(&self, now_ns: u64) -> u64 {
        let at_most = at_most(EVENTS_PER_S_MAX, now_ns, self.began_ns);
        let Some(order) = &self.order else { return 0 };
        let on_schedule = |rate_per_s: f64, duration_ns: u64| {
            let messages = rate_per_s * duration_ns as f64 / NS_PER_S as f64;
            (messages * (1.0 + ROUNDING_SHARE)) as u64 + ROUNDING
        };
        at_most.min(match order.load {
            Load::Open { schedule, duration_ns } => {
                on_schedule(schedule.mean_per_s(duration_ns), duration_ns)
            }
            Load::Storm(storm) => {
                on_schedule(storm.rate_per_s, storm.lead_ns.saturating_add(storm.duration_ns))
            }
            Load::Closed { until: Until::Samples(samples), .. } => samples,
            Load::Hold { .. } => 0,
            Load::Closed { until: Until::Elapsed { .. }, .. } => u64::MAX,
        })
    }

    fn bounds(&self, worker: u16, now_ns: u64) -> Bounds {
        let order = self.order.as_ref();
        let comes_back = self.is_churning || order.is_some_and(|order| matches!(order.load, Load::Storm(_)));
        let share = u64::from(self.share_max(worker));
        let events = at_most(EVENTS_PER_S_MAX, now_ns, self.began_ns);
        Bounds {
            share,
            connects: if comes_back { events } else { share },
            sent: self.sent_max(now_ns),
            events,
            bytes: at_most(BYTES_PER_S_MAX, now_ns, self.began_ns),
            time_ns: now_ns.saturating_sub(self.epoch_ns) + AHEAD_NS_MAX,
        }
    }
}

/// What a worker can have done in the step by now.
struct Bounds {
    share: u64,
    connects: u64,
    sent: u64,
    /// Of anything.
    events: u64,
    bytes: u64,
    time_ns: u64,
}

impl Account {
    fn add(&mut self, delta: &Delta) {
        self.counts.merge(&delta.counts);
        let samples = delta.figures.iter().map(|samples| samples.count()).max().unwrap_or(0);
        let sum = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        sum(&mut self.samples, samples);
        sum(&mut self.handshakes, delta.figures.handshake.count());
        delta.statuses.values().for_each(|&answers| sum(&mut self.answers, answers));
        delta.errors.iter().for_each(|(_, kind)| sum(&mut self.errors, kind.count));
        sum(&mut self.acks, delta.acks);
        sum(&mut self.received_bytes, delta.received_bytes);
        self.tail.merge(&delta.tail);
        self.held.merge(&delta.held);
        self.gone.merge(&delta.gone);
        self.usage.merge(&delta.usage);
    }

    fn check(&self, workload: Workload, bounds: &Bounds) -> Result<(), Lie> {
        let Account { counts, tail, held, gone, usage, .. } = self;
        let ended = [counts.connected, counts.connect_timeouts, counts.connect_failures, counts.connecting];
        let ended = ended.into_iter().fold(0, u64::saturating_add);
        if counts.connects > bounds.connects || ended > counts.connects {
            return Err("connections that it cannot have begun");
        }
        let present = bounds.share.saturating_add(counts.connected);
        let has_left = counts.disconnects.max(counts.left) > present;
        if has_left || counts.slow.max(counts.not_back) > bounds.share || self.handshakes > counts.connected {
            return Err("clients that it cannot have had");
        }
        // A message is sent, or waits for its connection.
        let due = counts.sent.saturating_add(held.waiting());
        if due > bounds.sent || held.sent > held.kept || self.acks > counts.sent {
            return Err("more messages than were to be sent");
        }
        let part = [counts.late, counts.reordered, tail.received, self.answers, gone.copies];
        let due = match workload {
            Workload::Echo => counts.sent,
            // Whoever sent them: one for each client that there was.
            Workload::Broadcast => bounds.sent.saturating_mul(present),
        };
        if counts.received > due || part.into_iter().any(|part| part > counts.received) {
            return Err("more answers than can have come");
        }
        let events = [
            counts.waited,
            counts.received,
            counts.in_flight,
            counts.duplicate,
            counts.unexpected,
            counts.corrupt,
            counts.slow_received,
            tail.sent,
            tail.acks,
            held.kept,
            held.sent,
            gone.receivers,
            gone.answers,
            self.errors,
            self.samples,
        ];
        let time_ns = usage.wall_ns.max(usage.cpu_ns).max(usage.run_queue_ns);
        let is_too_much = events.into_iter().any(|events| events > bounds.events)
            || self.received_bytes > bounds.bytes
            || time_ns > bounds.time_ns;
        if is_too_much { Err("more than the time was enough for") } else { Ok(()) }
    }
}

/// What comes to no more than so much a second, since then; a second is given for free.
fn at_most(per_s: u64, now_ns: u64, since_ns: u64) -> u64 {
    let elapsed_ns = now_ns.saturating_sub(since_ns) + NS_PER_S;
    let most = u128::from(elapsed_ns) * u128::from(per_s) / u128::from(NS_PER_S);
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// Whether it can be a kind of errors: these are names that throng, or whoever describes a dialect, has given.
fn is_kind(name: &str) -> bool {
    (1..=KIND_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// What came from elsewhere, fit to be shown.
fn plain(text: &str) -> String {
    let mut shown: String = text.chars().filter(|c| !c.is_control()).collect();
    while shown.len() > EXAMPLE_BYTES_MAX {
        shown.pop();
    }
    shown
}

#[cfg(test)]
mod tests;
