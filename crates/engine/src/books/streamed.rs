//! An answer that comes in pieces: its first event, the gaps between its events, and which of these were
//! stalls.
//!
//! Rules: the first event counts from when its request was due, each further one from the event before. A gap
//! is a stall if it is above a multiple of the median of its answer's gaps, which is known when the answer
//! has ended. Events that came in one read have no gap between them that says anything of the server: they
//! are in the figure, and not in the median. A stall was read late if the gap is within the bound once the
//! generator's lateness is taken off: the kernel's receive times tell it, and the delay of the turn. It is
//! for want of a CPU if the generator was ready to run for half of that time.

use std::collections::BTreeMap;

use codec::Stamp;
use stats::Reach;

use super::meter::Meter;

/// The shortest gap that is a stall: a scheduler's time slice (Linux, CONFIG_HZ=100) can make any shorter gap
/// as long.
const STALL_NS_MIN: u64 = 10_000_000;
/// Gaps kept of one answer; a longer one has a median for each part of this length.
const GAPS_MAX: usize = 4096;

/// Answers that come in pieces.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Gaps above this many times the median of their answer are stalls.
    stall_times: u64,
    /// Answers under way, by client and by the number of their request: over HTTP/2 a client has several.
    under_way: BTreeMap<(u32, u32), Streamed>,
    /// Buffers for gaps, from answers that have ended: at most as many as were under way at once.
    rooms: Vec<Vec<Gap>>,
}

impl Streams {
    /// No answers yet, with stalls of this many median gaps.
    pub(crate) fn new(stall_times: u64) -> Streams {
        Streams { stall_times, ..Streams::default() }
    }

    /// Returns whether answers come in pieces: the account is of their first events.
    pub(crate) fn is_on(&self) -> bool {
        self.stall_times > 0
    }

    /// Begins a step: what was under way in the last one stays in that one's books.
    pub(crate) fn start_step(&mut self) {
        self.under_way.clear();
    }

    /// Begins a client's answer to this request, of which only the head is in, at `now_ns`. The request's write
    /// was held for `held_ns`.
    pub(crate) fn begin(&mut self, client: u32, asked: Stamp, held_ns: u64, now_ns: u64) {
        let gaps = self.rooms.pop().unwrap_or_default();
        let (intended_ns, sent_ns) = (asked.intended_ns, asked.sent_ns() + held_ns);
        let stall_times = self.stall_times;
        let (begun_ns, latest, has_token, is_charged) = (now_ns, None, false, false);
        let streamed =
            Streamed { intended_ns, sent_ns, begun_ns, stall_times, latest, has_token, is_charged, gaps };
        self.under_way.insert((client, asked.seq), streamed);
    }

    /// The answer under way to this request of a client.
    pub(crate) fn get_mut(&mut self, client: u32, request: u32) -> Option<&mut Streamed> {
        self.under_way.get_mut(&(client, request))
    }

    /// Closes an answer that has ended, one way or another; returns whether there was one under way.
    pub(crate) fn finish(&mut self, client: u32, request: u32, meter: &mut Meter) -> bool {
        let Some(mut streamed) = self.under_way.remove(&(client, request)) else { return false };
        streamed.count_stalls(meter);
        self.rooms.push(streamed.gaps);
        true
    }

    /// Charges a client's request that was due at `intended_ns` and has had no event since `until_ns`.
    /// Returns whether its first event has been booked.
    pub(crate) fn charge(&mut self, client: u32, intended_ns: u64, until_ns: u64) -> bool {
        let own = self.under_way.range_mut((client, 0)..=(client, u32::MAX)).map(|(_, streamed)| streamed);
        let mut due = own.filter(|streamed| streamed.intended_ns == intended_ns && !streamed.is_charged);
        // Each answer stands for one of the requests that were due together.
        match due.find(|streamed| streamed.latest.is_some_and(|latest| latest.read_ns <= until_ns)) {
            Some(streamed) => {
                streamed.is_charged = true;
                true
            }
            None => false,
        }
    }

    /// The number of answers that are coming to a client's requests that were due at `intended_ns`: the
    /// latest event of each, or its head if there was none, came after `since_ns`.
    pub(crate) fn coming(&self, client: u32, intended_ns: u64, since_ns: u64) -> usize {
        let own = self.under_way.range((client, 0)..=(client, u32::MAX));
        let is_coming =
            |streamed: &Streamed| streamed.intended_ns == intended_ns && streamed.progress_ns() > since_ns;
        own.filter(|(_, streamed)| is_coming(streamed)).count()
    }

    /// The oldest answer under way of the first client that has one: client and request, and when it began.
    pub(crate) fn first(&self) -> Option<(u32, u32, u64)> {
        let (&(client, request), streamed) = self.under_way.first_key_value()?;
        Some((client, request, streamed.begun_ns))
    }
}

/// An answer that is coming in.
#[derive(Debug)]
pub(crate) struct Streamed {
    /// Time at which its request was due.
    intended_ns: u64,
    sent_ns: u64,
    /// Time at which its head was in.
    begun_ns: u64,
    stall_times: u64,
    latest: Option<Arrival>,
    has_token: bool,
    /// A request without a whole answer was charged in its name.
    is_charged: bool,
    gaps: Vec<Gap>,
}

/// Times at which an event was read, and at which the kernel had received it.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    read_ns: u64,
    received_ns: u64,
}

/// The time between two events.
#[derive(Clone, Copy, Debug)]
struct Gap {
    read_ns: u64,
    /// Upper bound of the gap without the generator's lateness.
    in_time_ns: u64,
    /// The time before the read in which the generator was ready to run and had no CPU.
    starved_ns: u64,
}

impl Gap {
    /// Returns whether a late read was for want of a CPU.
    fn is_starved(self) -> bool {
        2 * self.starved_ns >= self.read_ns - self.in_time_ns
    }
}

impl Streamed {
    /// Time of the latest event, or of the head if there was none.
    fn progress_ns(&self) -> u64 {
        self.latest.map_or(self.begun_ns, |latest| latest.read_ns)
    }

    /// Books an event with these tokens; `reach` says how long ago the kernel received it.
    pub(crate) fn handle_event(&mut self, tokens: u32, reach: Reach, meter: &mut Meter, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(self.intended_ns);
        if tokens > 0 && !std::mem::replace(&mut self.has_token, true) {
            meter.figures.first_token.record_ns(waited_ns);
        }
        meter.counts.events += 1;
        meter.counts.tokens += u64::from(tokens);
        let received_ns = now_ns.saturating_sub(reach.received_ns.unwrap_or(0));
        let arrival = Arrival { read_ns: now_ns, received_ns };
        let Some(before) = self.latest.replace(arrival) else {
            // Here and not with the answer's end: how long it goes on is the server's pace, and no reader
            // waits for that.
            meter.account.add(waited_ns, now_ns.saturating_sub(self.sent_ns), 1, reach);
            return meter.figures.first.record_ns(waited_ns);
        };
        let read_ns = arrival.read_ns.saturating_sub(before.read_ns);
        let received_ns = arrival.received_ns.saturating_sub(before.received_ns);
        // It was ready when the worker woke: the turn up to here is the generator's, too.
        let late_ns = reach.late_ns + reach.woken_ns;
        let in_time_ns = received_ns.min(read_ns.saturating_sub(late_ns));
        let gap = Gap { read_ns, in_time_ns, starved_ns: reach.starved_ns };
        meter.figures.gap.record_ns(gap.read_ns);
        if gap.read_ns > 0 {
            self.gaps.push(gap);
        }
        if self.gaps.len() >= GAPS_MAX {
            self.count_stalls(meter);
        }
    }

    /// Counts the stalls among the gaps so far, and forgets these.
    fn count_stalls(&mut self, meter: &mut Meter) {
        if self.gaps.is_empty() {
            return;
        }
        let middle = self.gaps.len() / 2;
        let (_, median, _) = self.gaps.select_nth_unstable_by_key(middle, |gap| gap.read_ns);
        let limit_ns = median.read_ns.saturating_mul(self.stall_times).max(STALL_NS_MIN);
        for gap in self.gaps.drain(..).filter(|gap| gap.read_ns > limit_ns) {
            let is_late = gap.in_time_ns <= limit_ns;
            meter.counts.stalls += 1;
            meter.counts.stalls_here += u64::from(is_late);
            meter.counts.stalls_starved += u64::from(is_late && gap.is_starved());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::meter::Secrets;

    const MS: u64 = 1_000_000;

    /// The counts after events at these times, each received as long before as it says.
    fn counted(events: &[(u64, u64)]) -> (Meter, [u64; 3]) {
        let received = |ago_ms| Reach { received_ns: Some(ago_ms * MS), ..Reach::default() };
        let meter = booked(events.iter().map(|&(at_ms, ago_ms)| (at_ms, received(ago_ms))));
        let counts = [meter.counts.events, meter.counts.stalls, meter.counts.stalls_here];
        (meter, counts)
    }

    /// The books of an answer with events at these times (ms).
    fn booked(events: impl Iterator<Item = (u64, Reach)>) -> Meter {
        let mut meter = Meter::new(0, Secrets::of_one(Vec::new()));
        let mut streams = Streams::new(10);
        streams.begin(3, Stamp::new(0, 3, 7, MS, MS), 0, MS);
        for (at_ms, reach) in events {
            streams.get_mut(3, 7).unwrap().handle_event(1, reach, &mut meter, at_ms * MS);
        }
        assert!(streams.finish(3, 7, &mut meter) && streams.first().is_none());
        meter
    }

    #[test]
    fn stalls_are_multiples_of_the_median() {
        let even: Vec<(u64, u64)> = (1..=50).map(|n| (10 * n, 0)).collect();
        let (meter, counts) = counted(&even);
        assert_eq!(counts, [50, 0, 0]);
        assert_eq!((meter.figures.first.count(), meter.figures.gap.count()), (1, 49));
        let accounted = meter.account.from(0);
        assert_eq!((accounted.messages, accounted.sum_ns()), (1, 9 * MS), "of the first event alone");
        let stalled: Vec<(u64, u64)> =
            even.iter().map(|&(at, ago)| (at + if at > 200 { 100 } else { 0 }, ago)).collect();
        assert_eq!(counted(&stalled).1, [50, 1, 0], "110 ms between two, where 10 are usual");
    }

    #[test]
    fn stalls_of_late_reads_are_the_generators() {
        let late: Vec<(u64, u64)> = (1..=50).map(|n| (10 * n, 0)).collect();
        let read_late =
            |&(at, _): &(u64, u64)| if (300..=420).contains(&at) { (421, 421 - at) } else { (at, 0) };
        let late: Vec<(u64, u64)> = late.iter().map(read_late).collect();
        assert_eq!(counted(&late).1, [50, 1, 1]);
    }

    #[test]
    fn stalls_of_late_turns_are_the_generators() {
        // Every 10 ms, but for a second whose events come in one read, with the stamp of the last.
        let in_time = Reach { received_ns: Some(0), ..Reach::default() };
        let counted = |late: Reach| {
            let event = |n| match n {
                31..=130 => (1_300, late),
                n => (10 * n, in_time),
            };
            let counts = booked((1..=150).map(event)).counts;
            [counts.stalls, counts.stalls_here, counts.stalls_starved]
        };
        let found = |late_ms: u64, starved_ms: u64| {
            counted(Reach { late_ns: late_ms * MS, starved_ns: starved_ms * MS, ..in_time })
        };
        let found_within = |woken_ms: u64| counted(Reach { woken_ns: woken_ms * MS, ..in_time });
        assert_eq!(found(0, 0), [1, 0, 0]);
        assert_eq!(found_within(995), [1, 1, 0], "the turn took as long");
        assert_eq!(found(500, 400), [1, 0, 0], "the other half is no gap of this stream's");
        assert_eq!(found(995, 3), [1, 1, 0]);
        assert_eq!(found(995, 600), [1, 1, 1]);
    }

    #[test]
    fn fast_streams_have_no_short_stalls() {
        let events: Vec<(u64, u64)> = (0..100).map(|n| (if n < 50 { n } else { n + 8 }, 0)).collect();
        assert_eq!(counted(&events).1, [100, 0, 0], "9 ms between two, where 1 is usual");
    }
}
