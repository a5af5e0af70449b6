//! A worker's reports in a step, and the bounds of what it can have done by then.

use engine::Delta;
use load::Workload;
use stats::{Counts, Packed};

use super::fault::Fault;

pub(super) const NS_PER_S: u64 = 1_000_000_000;

/// Sums of a worker's reports in the step.
#[derive(Default)]
pub(super) struct Account {
    pub(super) counts: Counts,
    samples: u64,
    handshakes: u64,
    answers: u64,
    errors: u64,
    acks: u64,
    tail: engine::Tail,
    pub(super) held: engine::Held,
    abandoned: engine::Abandoned,
    due: u64,
    sent_bytes: u64,
    received_bytes: u64,
    usage: engine::Usage,
    pub(super) has_settled: bool,
}

/// Bounds of a worker's work in the step by now.
pub(super) struct Bounds {
    pub(super) share: u64,
    /// Clients over all workers.
    pub(super) clients: u64,
    pub(super) connects: u64,
    pub(super) sent: u64,
    pub(super) sent_by_all: u64,
    /// Events of any kind.
    pub(super) events: u64,
    pub(super) bytes: u64,
    pub(super) time_ns: u64,
}

impl Account {
    pub(super) fn add(&mut self, delta: &Delta) {
        self.counts.merge(&delta.counts);
        let samples = delta.figures.iter().map(|(_, samples)| samples).chain([&delta.loop_lag]);
        let samples = samples.map(Packed::count).max().unwrap_or(0);
        let sum = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        sum(&mut self.samples, samples.max(delta.account.from(0).messages));
        sum(&mut self.handshakes, delta.figures.handshake.count());
        for &answers in delta.statuses.values() {
            sum(&mut self.answers, answers);
        }
        for (_, kind) in delta.errors.iter().chain(delta.taken.iter()) {
            sum(&mut self.errors, kind.count);
        }
        sum(&mut self.acks, delta.acks);
        sum(&mut self.due, delta.due);
        sum(&mut self.sent_bytes, delta.sent_bytes);
        sum(&mut self.received_bytes, delta.received_bytes);
        self.tail.merge(&delta.tail);
        self.held.merge(&delta.held);
        self.abandoned.merge(&delta.abandoned);
        self.usage.merge(&delta.usage);
    }

    pub(super) fn check(&self, workload: Workload, bounds: &Bounds) -> Result<(), Fault> {
        let Account { counts, tail, held, abandoned, usage, .. } = self;
        let ended = [counts.connected, counts.connect_timeouts, counts.connect_failures, counts.connecting];
        let ended = ended.into_iter().fold(0, u64::saturating_add);
        if counts.connects > bounds.connects || ended > counts.connects {
            return Err(Fault::Connections);
        }
        let present = bounds.share.saturating_add(counts.connected);
        let has_left = counts.disconnects.max(counts.left).max(counts.cut) > present;
        if has_left || counts.slow.max(counts.not_back) > bounds.share || self.handshakes > counts.connected {
            return Err(Fault::Clients);
        }
        // A message is sent, or waits for its connection, or had no client to send it.
        let asked = counts.sent.saturating_add(held.waiting()).saturating_add(counts.nobody_to_send);
        let is_too_many = asked.max(counts.unacknowledged).max(counts.missing_own) > bounds.sent;
        if is_too_many || held.sent > held.kept || self.acks > counts.sent {
            return Err(Fault::Sent);
        }
        let part =
            [counts.late, counts.in_passing, counts.batched, tail.received, self.answers, abandoned.copies];
        let due = match workload {
            Workload::Echo => counts.sent,
            // Whichever client sent them: one for each client that there was.
            Workload::Broadcast => bounds.sent_by_all.saturating_mul(present),
        };
        if counts.received > due
            || counts.recovered > due
            || part.into_iter().any(|part| part > counts.received)
            || counts.reordered > counts.received.saturating_add(counts.recovered)
        {
            return Err(Fault::Answers);
        }
        let events = [
            counts.waited,
            counts.pushed,
            counts.push_compared,
            counts.received,
            counts.in_flight,
            counts.duplicate,
            counts.unexpected,
            counts.leaked,
            counts.corrupt,
            counts.slow_received,
            tail.sent,
            tail.acks,
            held.kept,
            held.sent,
            abandoned.receivers,
            abandoned.answers,
            abandoned.absent,
            abandoned.messages,
            self.errors,
            self.samples,
        ];
        let time_ns = usage.wall_ns.max(usage.cpu_ns).max(usage.run_queue_ns).max(usage.outstanding_ns);
        let is_too_much = events.into_iter().any(|events| events > bounds.events)
            || self.due.max(abandoned.due) > asked.saturating_mul(bounds.clients)
            || self.sent_bytes.max(self.received_bytes) > bounds.bytes
            || time_ns > bounds.time_ns;
        if is_too_much { Err(Fault::Pace) } else { Ok(()) }
    }
}

/// Returns whether the counts of single kinds of messages, and of single roles, are no more than the totals.
pub(super) fn are_parts(delta: &Delta) -> bool {
    let sum = |parts: &mut dyn Iterator<Item = u64>| parts.fold(0, u64::saturating_add);
    let Delta { says, roles, figures, .. } = delta;
    delta.counts.iter().all(|(count, &all)| {
        sum(&mut says.iter().map(|say| *say.counts.get(count))) <= all
            && sum(&mut roles.iter().map(|role| *role.counts.get(count))) <= all
    }) && sum(&mut says.iter().map(|say| say.rtt.count())) <= figures.rtt.count()
        && sum(&mut says.iter().map(|say| say.delivery.count())) <= figures.delivery.count()
        && sum(&mut roles.iter().map(|role| role.handshake.count())) <= figures.handshake.count()
        && sum(&mut roles.iter().map(|role| role.rtt.count())) <= figures.rtt.count()
        && sum(&mut roles.iter().map(|role| role.delivery.count())) <= figures.delivery.count()
}

/// The most that `per_s` allows since `since_ns`, with one second to spare.
pub(super) fn at_most(per_s: u64, now_ns: u64, since_ns: u64) -> u64 {
    let elapsed_ns = now_ns.saturating_sub(since_ns) + NS_PER_S;
    let most = u128::from(elapsed_ns) * u128::from(per_s) / u128::from(NS_PER_S);
    u64::try_from(most).unwrap_or(u64::MAX)
}
