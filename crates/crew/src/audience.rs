//! To whom broadcasts were due, and when each was complete.
//!
//! A copy is due to everybody who was there when the broadcast was sent: no worker knows that alone. What a client
//! that left in mid-step had not got by then is neither received nor missing: it is in flight for ever. One connection
//! keeps order, so what it had not got are the broadcasts sent last before it left.

use std::collections::HashMap;

use engine::{BroadcastTally, Settled};
use stats::Histogram;

/// What all workers' books together say of a step's broadcasts.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    /// Copies due.
    pub(crate) due: u64,
    /// Of these, under way to clients when they left.
    pub(crate) left_behind: u64,
    /// Intended send → last receiver; a broadcast that is not complete counts with the time that has passed.
    pub(crate) completion: Histogram,
}

/// A broadcast, by the worker that sent it and its number there.
type Name = (u16, u32);

impl Audience {
    /// Adds up the books that were to be closed at `now_ns`; some worker may have sent a little longer.
    pub(crate) fn of(books: &[Settled], now_ns: u64) -> Self {
        let closed_ns = books.iter().map(|settled| settled.delta.at_ns).fold(now_ns, u64::max);
        let mut arrived: HashMap<Name, (u32, u64)> = HashMap::new();
        for tally in books.iter().flat_map(|settled| &settled.tallies) {
            let BroadcastTally { worker, number, received, last_ns } = *tally;
            let of_message = arrived.entry((worker, number)).or_default();
            of_message.0 += received;
            of_message.1 = of_message.1.max(last_ns);
        }
        let lacking = lacking(books);
        let left_behind = lacking.values().map(|&copies| u64::from(copies)).sum();
        let mut audience = Self { left_behind, ..Self::default() };
        for settled in books {
            for (number, sent) in settled.sent.iter().enumerate() {
                let name = (settled.worker, number as u32);
                let due: u32 = books.iter().map(|s| subscribed(&s.population, sent.sent_ns)).sum();
                let (received, last_ns) = arrived.get(&name).copied().unwrap_or_default();
                let to_come = due.saturating_sub(lacking.get(&name).copied().unwrap_or(0));
                let end_ns = if received >= to_come && received > 0 { last_ns } else { closed_ns };
                audience.completion.record_ns(end_ns.saturating_sub(sent.intended_ns));
                audience.due += u64::from(due);
            }
        }
        audience
    }
}

/// How many of the clients that left lack each broadcast.
fn lacking(books: &[Settled]) -> HashMap<Name, u32> {
    let mut lacking = HashMap::new();
    if books.iter().all(|settled| settled.departures.is_empty()) {
        return lacking;
    }
    let of_worker = |settled: &Settled| {
        let worker = settled.worker;
        let named =
            settled.sent.iter().enumerate().map(move |(number, sent)| (sent.sent_ns, worker, number as u32));
        named.collect::<Vec<_>>()
    };
    let mut sent: Vec<(u64, u16, u32)> = books.iter().flat_map(of_worker).collect();
    sent.sort_unstable();
    for departure in books.iter().flat_map(|settled| &settled.departures) {
        let before = |at_ns: u64| sent.partition_point(|&(sent_ns, ..)| sent_ns < at_ns);
        let due = &sent[before(departure.from_ns)..before(departure.to_ns)];
        for &(_, worker, number) in due.get(departure.received as usize..).unwrap_or_default() {
            *lacking.entry((worker, number)).or_insert(0) += 1;
        }
    }
    lacking
}

/// How many clients of one worker were subscribed at `at_ns`.
fn subscribed(population: &[(u64, u32)], at_ns: u64) -> u32 {
    let after = population.partition_point(|&(from_ns, _)| from_ns <= at_ns);
    after.checked_sub(1).map_or(0, |last| population[last].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Departure, SentBroadcast};

    fn books(worker: u16, population: &[(u64, u32)], sent: &[u64], tallies: &[BroadcastTally]) -> Settled {
        let sent = sent.iter().map(|&ns| SentBroadcast { intended_ns: ns, sent_ns: ns }).collect();
        let (tallies, population) = (tallies.to_vec(), population.to_vec());
        Settled { worker, sent, tallies, population, ..Settled::default() }
    }

    fn tally(worker: u16, number: u32, received: u32, last_ns: u64) -> BroadcastTally {
        BroadcastTally { worker, number, received, last_ns }
    }

    #[test]
    fn copies_are_due_to_whoever_was_there_and_complete_with_the_last_anywhere() {
        let sender = books(0, &[(0, 3), (250, 2)], &[200, 300], &[tally(0, 0, 3, 210), tally(0, 1, 2, 310)]);
        let other = books(1, &[(0, 2)], &[], &[tally(0, 0, 2, 260), tally(0, 1, 1, 320)]);
        let audience = Audience::of(&[sender, other], 1_000);
        assert_eq!((audience.due, audience.left_behind), (9, 0));
        assert_eq!(audience.completion.count(), 2);
        assert_eq!(audience.completion.min_ns(), 60, "the other worker's last copy");
        assert_eq!(audience.completion.max_ns(), 700, "incomplete: charged until the end");
    }

    #[test]
    fn what_was_sent_before_the_books_were_closed_is_charged_until_then() {
        let mut settled = books(0, &[(0, 2)], &[900, 1_200], &[]);
        settled.delta.at_ns = 1_500;
        let completion = Audience::of(&[settled], 1_000).completion;
        assert_eq!((completion.min_ns(), completion.max_ns()), (300, 600));
    }

    #[test]
    fn who_leaves_lacks_what_was_sent_last() {
        // Of three broadcasts sent while it was there, the client that left at 350 had got one.
        let mut settled = books(
            0,
            &[(0, 2), (350, 1)],
            &[100, 200, 300, 400],
            &[tally(0, 0, 2, 120), tally(0, 1, 1, 220), tally(0, 2, 1, 320), tally(0, 3, 1, 420)],
        );
        settled.departures.push(Departure { from_ns: 50, to_ns: 350, received: 1 });
        let audience = Audience::of(&[settled], 1_000);
        assert_eq!((audience.due, audience.left_behind), (7, 2));
        assert_eq!(audience.completion.max_ns(), 20, "complete without those who left");
    }
}
