//! The account of messages' time: sums of the parts that add up to their round trips, kept by how long these
//! took, so that the slow ones can be told from all.

use serde::{Deserialize, Serialize};

/// The number of classes of round trips in an octave of nanoseconds, as a power of two: four classes.
const CLASSES_PER_OCTAVE_BITS: u32 = 2;
/// The most classes: as many as 64 bits of nanoseconds need. Further classes in another machine's report are
/// dropped.
const CLASSES_MAX: usize = 64 << CLASSES_PER_OCTAVE_BITS;

/// The parts of some messages' round trips, each in nanoseconds, added up over all messages. `unsent`,
/// `service` and `unanswered` add up to the round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyParts {
    /// The number of messages.
    pub messages: u64,
    /// Due → sent.
    pub unsent_ns: u64,
    /// Sent → answer handled.
    pub service_ns: u64,
    /// Due → given up, of messages that had no answer in time.
    pub unanswered_ns: u64,
    /// The part of `service_ns` from generator woken → answer handled, of messages that had been sent before.
    pub turn_ns: u64,
    /// Sent → answer handled, of messages whose answer's arrival the kernel stamped.
    pub stamped_ns: u64,
    /// The part of `stamped_ns` from answer arrived → answer handled.
    pub handling_ns: u64,
}

impl LatencyParts {
    /// The sum of all round trips.
    pub fn sum_ns(&self) -> u64 {
        self.unsent_ns.saturating_add(self.service_ns).saturating_add(self.unanswered_ns)
    }

    /// Answer arrived → answer handled, as a share of sent → answer handled: 0 to 1. `None`: no arrival was
    /// stamped.
    pub fn handled_share(&self) -> Option<f64> {
        (self.stamped_ns > 0).then(|| (self.handling_ns as f64 / self.stamped_ns as f64).min(1.0))
    }

    /// Generator woken → answer handled, as a share of sent → answer handled: 0 to 1. It is less than the
    /// whole time since the answers had arrived, but it is known for every message.
    pub fn turn_share(&self) -> f64 {
        (self.turn_ns as f64 / self.service_ns.max(1) as f64).min(1.0)
    }

    /// Adds other messages.
    pub fn merge(&mut self, other: &LatencyParts) {
        let LatencyParts { messages, unsent_ns, service_ns, unanswered_ns, turn_ns, stamped_ns, handling_ns } =
            *other;
        for (sum, more) in [
            (&mut self.messages, messages),
            (&mut self.unsent_ns, unsent_ns),
            (&mut self.service_ns, service_ns),
            (&mut self.unanswered_ns, unanswered_ns),
            (&mut self.turn_ns, turn_ns),
            (&mut self.stamped_ns, stamped_ns),
            (&mut self.handling_ns, handling_ns),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// The time for which an answer that the generator handles now has been within its reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The time since the generator was woken by the bytes that it now reads: the answer to a message older
    /// than this had arrived then.
    pub woken_ns: u64,
    /// The time since the kernel received the bytes that were read last; `None`: this read did not ask for
    /// it.
    pub received_ns: Option<u64>,
    /// The lateness of the generator's turn, where that is watched: the bytes may have been there as long.
    pub late_ns: u64,
    /// The part of `late_ns` in which the generator was ready to run and had no CPU.
    pub starved_ns: u64,
}

impl Reach {
    /// How long the answer to a message of this age has been there, since the generator was woken and, where
    /// that is known, in all. The kernel stamps the last packet that a read finds: behind an answer that was
    /// there before, that may be another one.
    #[inline]
    fn of(self, service_ns: u64) -> (u64, Option<u64>) {
        let woken_ns = if service_ns > self.woken_ns { self.woken_ns } else { 0 };
        (woken_ns, self.received_ns.map(|received_ns| received_ns.clamp(woken_ns, service_ns)))
    }
}

/// Parts of latencies by the length of the round trips, and the causes for which messages waited before they
/// were sent. A worker's sums, of a fraction of a second, are far from 64 bits; a step's sums may reach the
/// largest number, and stay there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    classes: Vec<LatencyParts>,
    /// The time of messages that waited for a connection that others held: due → sent.
    pub waited_ns: u64,
    /// The part of `waited_ns` from due → the generator came to the messages.
    pub waited_late_ns: u64,
}

impl Account {
    /// Adds messages that were answered together: their round trip, and for how long their answers have been
    /// there.
    #[inline]
    pub fn add(&mut self, rtt_ns: u64, service_ns: u64, messages: u64, reach: Reach) {
        let service_ns = service_ns.min(rtt_ns);
        let (turn_ns, handling_ns) = reach.of(service_ns);
        let spent = self.class(rtt_ns);
        spent.messages += messages;
        spent.unsent_ns += (rtt_ns - service_ns) * messages;
        spent.service_ns += service_ns * messages;
        spent.turn_ns += turn_ns * messages;
        if let Some(handling_ns) = handling_ns {
            spent.stamped_ns += service_ns * messages;
            spent.handling_ns += handling_ns * messages;
        }
    }

    /// Adds a message that was given up this long after it was due.
    pub fn give_up(&mut self, rtt_ns: u64) {
        let spent = self.class(rtt_ns);
        spent.messages += 1;
        spent.unanswered_ns += rtt_ns;
    }

    /// Adds the account of another interval or worker.
    pub fn merge(&mut self, other: &Account) {
        let classes = self.classes.len().max(other.classes.len()).min(CLASSES_MAX);
        self.classes.resize(classes, LatencyParts::default());
        for (own, other) in self.classes.iter_mut().zip(&other.classes) {
            own.merge(other);
        }
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.waited_late_ns = self.waited_late_ns.saturating_add(other.waited_late_ns);
    }

    /// The parts of messages whose round trips took about this long or longer, exact to a fifth.
    pub fn from(&self, rtt_ns: u64) -> LatencyParts {
        let mut spent = LatencyParts::default();
        for class in self.classes.iter().skip(class(rtt_ns)) {
            spent.merge(class);
        }
        spent
    }

    /// The share of the time before messages were sent for which they waited for a connection that others
    /// held.
    pub fn waiting_share(&self) -> f64 {
        // What the generator came to too late is its own, not the pool's.
        let waited_ns = self.waited_ns.saturating_sub(self.waited_late_ns);
        (waited_ns as f64 / self.from(0).unsent_ns.max(1) as f64).min(1.0)
    }

    #[inline]
    fn class(&mut self, rtt_ns: u64) -> &mut LatencyParts {
        let class = class(rtt_ns);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, LatencyParts::default());
        }
        &mut self.classes[class]
    }
}

/// The class of a round trip: its highest bit, and the two behind it.
#[inline]
fn class(ns: u64) -> usize {
    let octave = ns.max(1).ilog2();
    // The highest bit is shifted out, in two steps because one by 64 would overflow; the next two bits are
    // the quarter.
    let quarter = (ns << (63 - octave) << 1) >> (64 - CLASSES_PER_OCTAVE_BITS);
    ((octave << CLASSES_PER_OCTAVE_BITS) as usize) + if ns == 0 { 0 } else { quarter as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_up_in_quarters_of_octaves() {
        assert_eq!([0, 1, 4, 5, 6, 7, 8, 9, 10, u64::MAX].map(class), [0, 0, 8, 9, 10, 11, 12, 12, 13, 255]);
    }

    #[test]
    fn parts_add_up_to_the_round_trips() {
        let mut account = Account::default();
        account.add(1_000, 900, 10, Reach { received_ns: Some(90), ..Reach::default() });
        account.add(1_000_000, 200_000, 1, Reach::default());
        account.give_up(5_000_000);
        let all = account.from(0);
        assert_eq!((all.messages, all.sum_ns()), (12, 6_010_000));
        assert_eq!(all.unsent_ns, 801_000);
        let slow = account.from(900_000);
        assert_eq!((slow.messages, slow.service_ns, slow.unanswered_ns), (2, 200_000, 5_000_000));
        assert_eq!((all.handled_share(), slow.handled_share()), (Some(0.1), None));
        let mut twice = Account::default();
        twice.merge(&account);
        twice.merge(&account);
        assert_eq!(twice.from(0).sum_ns(), 2 * all.sum_ns());
    }

    #[test]
    fn older_messages_were_answered_before_waking() {
        let handled = |service_ns, woken_ns, received_ns| {
            let mut account = Account::default();
            let reach = Reach { woken_ns, received_ns, ..Reach::default() };
            account.add(service_ns, service_ns, 1, reach);
            let all = account.from(0);
            (all.turn_share(), all.handled_share())
        };
        assert_eq!(handled(1_000, 400, None), (0.4, None));
        assert_eq!(handled(1_000, 400, Some(900)), (0.4, Some(0.9)));
        assert_eq!(handled(1_000, 400, Some(1)), (0.4, Some(0.4)), "the stamp of what came behind it");
        assert_eq!(handled(300, 400, Some(100)), (0.0, Some(1.0 / 3.0)), "sent since");
        assert_eq!(handled(300, 400, Some(900)), (0.0, Some(1.0)));
    }

    #[test]
    fn connection_waits_are_part_of_the_unsent() {
        let mut account = Account::default();
        account.add(1_000, 0, 1, Reach::default());
        (account.waited_ns, account.waited_late_ns) = (900, 100);
        assert_eq!(account.waiting_share(), 0.8);
    }
}
