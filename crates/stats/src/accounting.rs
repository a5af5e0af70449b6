//! Every message and every connection, accounted for exactly.
//!
//! The identities (METHODOLOGY "Accounting"): each expected delivery ends up received, missing or in flight;
//! each connection attempt ends up usable, timed out, failed or pending. Duplicates, strays and corrupt
//! messages stand beside: a duplicate never makes up for a missing one.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::table::table;

/// Subjects of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountOf {
    /// Messages: there are none where none was exchanged.
    Messages,
    /// Connections, and the clients that have them.
    Connections,
    /// Pushes of the server.
    Pushes,
    /// Answers that come in pieces, and their events.
    Streams,
}

/// All that could have been counted, where a count is a share of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Messages sent.
    Sent,
    /// The deliveries that were due, whether they came or not.
    Due,
    /// Deliveries that came.
    Received,
    /// Everything that came, right or wrong.
    Came,
    /// Connections begun.
    Connects,
    /// Usable connections, including connections of earlier steps.
    Connections,
    /// Clients that a storm threw out.
    ThrownOut,
    /// The deliveries that were due to clients that were away.
    OfflineDue,
    /// Rooms that visitors asked to join.
    Joins,
    /// Newcomers that others were to hear of.
    SeenDue,
    /// Pushes of the server, and those it left out.
    Pushes,
    /// Pushes that were compared between their receivers.
    PushesCompared,
    /// Events of streamed answers.
    Events,
}

/// The facts of a count, beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountFacts {
    /// The subject of the count.
    pub of: CountOf,
    /// True if most steps have a count of 0, which files then leave out.
    pub is_rare: bool,
    /// True if the crew computes the count, because no worker can: workers leave it at 0.
    pub is_of_crew: bool,
    /// The whole of which a limit's share is a part. `None` if the count has no limit.
    pub share_of: Option<Whole>,
    /// True if each is a delivery that did not come, or not as it should have.
    pub is_defect: bool,
    /// The words for the count in a sentence: `3 missing`. `None`: the count is the subject of the sentence.
    pub words: Option<&'static str>,
}

const MESSAGES: CountFacts = CountFacts {
    of: CountOf::Messages,
    is_rare: false,
    is_of_crew: false,
    share_of: None,
    is_defect: false,
    words: None,
};
const CONNECTIONS: CountFacts = CountFacts { of: CountOf::Connections, ..MESSAGES };
const STREAMS: CountFacts = CountFacts { of: CountOf::Streams, is_rare: true, ..MESSAGES };
const PUSHES: CountFacts = CountFacts { of: CountOf::Pushes, is_rare: true, ..MESSAGES };

/// Facts of deliveries that did not come, or not as they should have.
const fn defect(words: &'static str, share_of: Whole) -> CountFacts {
    CountFacts { words: Some(words), share_of: Some(share_of), is_defect: true, ..MESSAGES }
}

/// Facts of streamed answers, or of their events, that are not as they should be.
const fn faulty(words: &'static str, share_of: Whole) -> CountFacts {
    CountFacts { words: Some(words), share_of: Some(share_of), ..STREAMS }
}

/// Facts of connections that did not become or stay usable.
const fn lost(words: &'static str, share_of: Whole) -> CountFacts {
    CountFacts { words: Some(words), share_of: Some(share_of), ..CONNECTIONS }
}

table! {
    /// Counts of messages sent, due and received.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Counts of u64;

    /// Something counted.
    enum Count with CountFacts;

    /// Messages handed to the network by the generator.
    sent: Sent = MESSAGES,
    /// Deliveries due: one per subscribed client for a broadcast, one per echo.
    expected: Expected = CountFacts { is_of_crew: true, ..MESSAGES },
    /// Distinct expected deliveries seen, late ones included; second copies are not.
    received: Received = MESSAGES,
    /// Expected deliveries not seen when the step had drained.
    missing: Missing = CountFacts { is_of_crew: true, ..defect("missing", Whole::Due) },
    /// Missing deliveries that were due to their own senders.
    missing_own: MissingOwn = CountFacts { is_rare: true, ..MESSAGES },
    /// Expected deliveries not seen when their receiver left, or when an interrupted step stopped without
    /// draining.
    in_flight: InFlight = CountFacts { words: Some("in flight"), ..MESSAGES },
    /// Received messages that came after the step's window.
    late: Late = CountFacts { words: Some("late"), share_of: Some(Whole::Received), ..MESSAGES },
    /// Second and further copies of a delivery.
    duplicate: Duplicate = defect("duplicate", Whole::Came),
    /// Messages received by clients on their way into the room or out of it: had they not come, they would
    /// not be missing.
    in_passing: InPassing = CountFacts { is_rare: true, words: Some("in passing"), ..MESSAGES },
    /// Received messages that came behind another in the same frame of a WebSocket, packet of a poll or event of
    /// a stream.
    batched: Batched = CountFacts {
        is_rare: true,
        share_of: Some(Whole::Received),
        words: Some("behind another in their frame"),
        ..MESSAGES
    },
    /// Received messages that came after a later message of the same sender at the same receiver.
    reordered: Reordered = defect("reordered", Whole::Received),
    /// Well-formed deliveries that were not due at the client that got them.
    unexpected: Unexpected = defect("unexpected", Whole::Came),
    /// Copies that came to clients outside their room.
    leaked: Leaked = CountFacts { is_rare: true, ..defect("leaked into other rooms", Whole::Came) },
    /// Deliveries due to clients that were away: sent in their absence, or under way when their connections
    /// ended.
    offline_due: OfflineDue = CountFacts { is_rare: true, is_of_crew: true, ..MESSAGES },
    /// The ones of these that came once the client was back.
    recovered: Recovered = CountFacts { is_rare: true, ..MESSAGES },
    /// The ones that never came.
    lost_offline: LostOffline =
        CountFacts { is_rare: true, is_of_crew: true, share_of: Some(Whole::OfflineDue), ..MESSAGES },
    /// Broadcasts that the server did not acknowledge to their senders, although it was to.
    unacknowledged: Unacknowledged = CountFacts {
        is_rare: true,
        share_of: Some(Whole::Sent),
        words: Some("not acknowledged"),
        ..MESSAGES
    },
    /// Messages that are not what was sent.
    corrupt: Corrupt = defect("corrupt", Whole::Came),
    /// Messages of an open loop that waited because every connection they could go on was busy.
    waited: Waited = CountFacts { is_rare: true, words: Some("had to wait for a connection"), ..MESSAGES },
    /// Messages of an open loop that were due while no client was there to send them: all were away on
    /// purpose.
    nobody_to_send: NobodyToSend =
        CountFacts { is_rare: true, words: Some("due while nobody was there to send"), ..MESSAGES },
    /// Pushes of the server while the load was on.
    pushed: Pushed = PUSHES,
    /// Numbers between two of these, of one kind at one client, that never came.
    push_skipped: PushSkipped =
        CountFacts { words: Some("left out"), share_of: Some(Whole::Pushes), ..PUSHES },
    /// Pushes whose number was not above the highest before.
    push_repeated: PushRepeated =
        CountFacts { words: Some("again or out of order"), share_of: Some(Whole::Pushes), ..PUSHES },
    /// Pushes whose content was compared with what other receivers of their number had.
    push_compared: PushCompared = PUSHES,
    /// Compared pushes with another content than most receivers had.
    push_differing: PushDiffering = CountFacts {
        is_of_crew: true,
        words: Some("unlike what others had"),
        share_of: Some(Whole::PushesCompared),
        ..PUSHES
    },
    /// Events of streamed answers, end marks excepted.
    events: Events = STREAMS,
    /// Tokens in these.
    tokens: Tokens = STREAMS,
    /// Gaps between two events of an answer that were a multiple of its median gap.
    stalls: Stalls = faulty("stalls", Whole::Events),
    /// The stalls of these that the generator read late: the event may have arrived in time.
    stalls_here: StallsHere = CountFacts { words: Some("stalls read late"), ..STREAMS },
    /// The stalls of these for which it was ready to run and had no CPU.
    stalls_starved: StallsStarved = CountFacts { words: Some("stalls for want of a CPU"), ..STREAMS },
    /// Answers that began, and whose connection ended before they did.
    broken_off: BrokenOff = faulty("broke off", Whole::Sent),
    /// Answers that began, and were still coming when throng stopped waiting.
    unended: Unended = faulty("did not end", Whole::Sent),
    /// Answers that ended without their end mark.
    unmarked: Unmarked = faulty("ended without their end mark", Whole::Sent),
    /// Events behind the end mark of their answer, a second mark included.
    after_end: AfterEnd = faulty("behind the end mark", Whole::Events),
    /// Events whose number is not above all before it.
    misordered: Misordered = faulty("out of order", Whole::Events),
    /// Connections begun.
    connects: Connects = CONNECTIONS,
    /// Connections begun that became usable.
    connected: Connected = CONNECTIONS,
    /// Connections begun that were not usable within the connect timeout.
    connect_timeouts: ConnectTimeouts = lost("timed out", Whole::Connects),
    /// Connections begun that failed otherwise; `errors` says how.
    connect_failures: ConnectFailures = lost("failed", Whole::Connects),
    /// Connections begun that were neither usable nor failed when the step stopped.
    connecting: Connecting = CountFacts { words: Some("still connecting"), ..CONNECTIONS },
    /// Usable connections that the server or the network ended.
    disconnects: Disconnects = lost("lost", Whole::Connections),
    /// Usable connections that clients ended because others take their place (churn), or their own next one.
    left: Left = CountFacts { is_rare: true, words: Some("left"), ..CONNECTIONS },
    /// Usable connections that were ended on purpose, for their clients to come back (flapping).
    cut: Cut = CountFacts { is_rare: true, words: Some("cut"), ..CONNECTIONS },
    /// Times that a visitor was let into a room.
    visits: Visits = CountFacts { is_rare: true, words: Some("visits"), ..CONNECTIONS },
    /// Times that one was not: refused, or not answered before they left.
    join_failures: JoinFailures = CountFacts { is_rare: true, ..lost("not let in", Whole::Joins) },
    /// Announcements of visitors due to the others in their room, one by one.
    seen_due: SeenDue = CountFacts { is_rare: true, is_of_crew: true, ..CONNECTIONS },
    /// The announcements of these that were heard.
    seen: Seen =
        CountFacts { is_rare: true, is_of_crew: true, words: Some("notices of newcomers"), ..CONNECTIONS },
    /// The announcements that were not.
    unseen: Unseen = CountFacts { is_rare: true, is_of_crew: true, ..lost("notices missing", Whole::SeenDue) },
    /// Losses in a storm after which the client was not usable again by the end.
    not_back: NotBack = CountFacts { is_rare: true, ..lost("not back", Whole::ThrownOut) },
    /// Connections begun that went on with a TLS session before.
    tls_resumed: TlsResumed = CountFacts {
        is_rare: true,
        share_of: Some(Whole::Connects),
        words: Some("with their TLS session resumed"),
        ..CONNECTIONS
    },
    /// Clients that read slowly: they are load, and nothing is due to them.
    slow: Slow = CountFacts { is_rare: true, words: Some("slow"), ..CONNECTIONS },
    /// Deliveries seen by them, which are in no other count and no figure.
    slow_received: SlowReceived = CountFacts { is_rare: true, words: Some("copies read by these"), ..CONNECTIONS },
}

/// A broken identity: some message or connection was lost by the generator itself.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Imbalance {
    /// expected ≠ received + missing + in flight
    #[error("{expected} deliveries were due, but {accounted} are accounted for")]
    Deliveries {
        /// Deliveries due.
        expected: u64,
        /// Received, missing and in flight together.
        accounted: u64,
    },
    /// connects ≠ connected + timeouts + failures + connecting
    #[error("{connects} connections were begun, but {accounted} are accounted for")]
    Connections {
        /// Connections begun.
        connects: u64,
        /// Usable, timed out, failed and connecting together.
        accounted: u64,
    },
    /// offline due ≠ recovered + lost offline
    #[error("{due} deliveries were due to clients that were away, but {accounted} are accounted for")]
    Offline {
        /// Deliveries due.
        due: u64,
        /// Recovered and lost together.
        accounted: u64,
    },
    /// seen due ≠ seen + unseen
    #[error("{accounted} who heard of newcomers or did not, but {due} were to")]
    Presence {
        /// Announcements due.
        due: u64,
        /// Heard and not heard together.
        accounted: u64,
    },
    /// Late, reordered, batched or passing deliveries exceed the received deliveries, of which they are a
    /// part.
    #[error(
        "{part} deliveries were late, in passing, reordered or batched, but only {received} were received"
    )]
    Part {
        /// Deliveries of the largest part.
        part: u64,
        /// Deliveries received.
        received: u64,
    },
}

/// The highest plausible count, which no worker reaches: a report from another machine may claim anything.
const PLAUSIBLE_MAX: u64 = 1 << 44;

impl Counts {
    /// Deliveries that were due, whether they came or not, without copies in passing: the number of copies
    /// that did not come to visitors in passing is unknown.
    pub fn due(&self) -> u64 {
        self.expected - self.in_passing.min(self.expected)
    }

    /// Returns whether the counts of workers can be added up without overflow. A worker leaves the counts
    /// that only the crew can know at 0.
    pub fn is_plausible(&self) -> bool {
        self.iter().all(|(count, &n)| n <= if count.facts().is_of_crew { 0 } else { PLAUSIBLE_MAX })
    }

    /// Caps each count at a [plausible](Self::is_plausible) value: the numbers of tokens, and of pushes left
    /// out, are statements of the server under test.
    pub fn capped(mut self) -> Counts {
        for count in Count::ALL {
            let n = self.get_mut(count);
            *n = PLAUSIBLE_MAX.min(*n);
        }
        self
    }

    /// Adds another worker's or agent's counts.
    pub fn merge(&mut self, other: &Counts) {
        for (count, n) in other.iter() {
            *self.get_mut(count) += n;
        }
    }

    /// Returns whether messages were exchanged, or were to be: without them, counts of messages mean nothing.
    pub fn has_messages(&self) -> bool {
        self.sent > 0 || self.expected > 0 || self.received > 0 || self.offline_due > 0
    }

    /// Checks the identities.
    ///
    /// # Errors
    /// The first one that does not hold.
    pub fn check(&self) -> Result<(), Imbalance> {
        let accounted = self.received + self.missing + self.in_flight;
        if self.expected != accounted {
            return Err(Imbalance::Deliveries { expected: self.expected, accounted });
        }
        let accounted = self.connected + self.connect_timeouts + self.connect_failures + self.connecting;
        if self.connects != accounted {
            return Err(Imbalance::Connections { connects: self.connects, accounted });
        }
        let accounted = self.recovered + self.lost_offline;
        if self.offline_due != accounted {
            return Err(Imbalance::Offline { due: self.offline_due, accounted });
        }
        let accounted = self.seen + self.unseen;
        if self.seen_due != accounted {
            return Err(Imbalance::Presence { due: self.seen_due, accounted });
        }
        // What is recovered may come out of order, too.
        let part = self.late.max(self.reordered).max(self.in_passing).max(self.batched);
        let received = self.received + self.recovered;
        if part > received {
            return Err(Imbalance::Part { part, received });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_duplicates_are_never_netted() {
        let dropped =
            Counts { expected: 20_000, received: 19_800, missing: 200, duplicate: 80, ..Counts::default() };
        assert_eq!(dropped.check(), Ok(()));
        let netted = Counts { expected: 20_000, received: 19_880, missing: 200, ..Counts::default() };
        assert_eq!(netted.check(), Err(Imbalance::Deliveries { expected: 20_000, accounted: 20_080 }));
    }

    #[test]
    fn every_connection_has_an_end() {
        let counts = Counts { connects: 100, connected: 75, connect_timeouts: 5, ..Counts::default() };
        assert_eq!(counts.check(), Err(Imbalance::Connections { connects: 100, accounted: 80 }));
        assert_eq!(Counts { connect_failures: 20, ..counts }.check(), Ok(()));
    }

    #[test]
    fn late_is_part_of_received() {
        let counts = Counts { expected: 3, received: 1, missing: 2, late: 2, ..Counts::default() };
        assert_eq!(counts.check(), Err(Imbalance::Part { part: 2, received: 1 }));
    }

    #[test]
    fn messages_for_absentees_came_later_or_are_lost() {
        let counts = Counts { offline_due: 10, recovered: 7, lost_offline: 3, ..Counts::default() };
        assert_eq!(counts.check(), Ok(()));
        let received = Counts { expected: 3, received: 3, lost_offline: 0, ..counts };
        assert_eq!(received.check(), Err(Imbalance::Offline { due: 10, accounted: 7 }));
        let heard = Counts { seen_due: 10, seen: 7, unseen: 2, ..Counts::default() };
        assert_eq!(heard.check(), Err(Imbalance::Presence { due: 10, accounted: 9 }));
    }

    fn ones() -> Counts {
        let mut ones = Counts::default();
        for count in Count::ALL {
            *ones.get_mut(count) = 1;
        }
        ones
    }

    #[test]
    fn enormous_counts_are_not_plausible() {
        let of_a_crew = Count::ALL.into_iter().filter(|count| count.facts().is_of_crew);
        let of_a_worker = of_a_crew.fold(ones(), |mut counts, count| {
            *counts.get_mut(count) = 0;
            counts
        });
        assert!(of_a_worker.is_plausible());
        let told = Counts { tokens: u64::MAX, push_skipped: u64::MAX, ..of_a_worker };
        assert!(!told.is_plausible() && told.capped().is_plausible());
        let claims = postcard::to_stdvec(&of_a_worker).unwrap();
        let huge = postcard::to_stdvec(&(PLAUSIBLE_MAX + 1)).unwrap();
        for field in 0..claims.len() {
            let claim = [&claims[..field], &huge, &claims[field + 1..]].concat();
            let counts: Counts = postcard::from_bytes(&claim).unwrap();
            assert!(!counts.is_plausible(), "{counts:?}");
        }
    }

    #[test]
    fn merging_adds_every_field() {
        let mut sum = ones();
        sum.merge(&ones());
        // As bytes: `get` and `iter` would agree with `merge` on whatever all three forgot.
        assert_eq!(postcard::to_stdvec(&sum).unwrap(), vec![2; Count::ALL.len()]);
    }
}
