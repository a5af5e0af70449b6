//! Exact accounting of broadcasts at the receiving side: each copy, once, in order.
//!
//! A worker keeps one tally for each broadcast of the step that reached any of its clients: a bit for each
//! member of the room here, set by the first copy. A copy whose bit is set is a duplicate. A copy that comes
//! to a client after that client has seen a later broadcast *of the same sender and kind* is reordered; their
//! tallies are therefore chained in the order of their numbers. What one sender says in rooms of different
//! kinds has no order, and its rooms have other members. A tally whose bits are all set gives them back.
//!
//! A client that comes back to many missed messages gets each copy at the far end of a chain. How far such a
//! client has come is remembered, for its copies not to cost a walk each.
//!
//! If clients lose their connections and come back, or leave rooms, the broadcasts of each room are kept by
//! when they were sent: a departure costs as much as was said in that room lately, and not as much as was
//! said everywhere.
//!
//! The worker does not know how many copies were due: other workers' clients send too. It reports how many
//! came, and the crew compares that with the clients that were there when the message was sent.

use std::collections::{BTreeSet, HashMap};

use load::LocalMember;
use stats::Timed;

use crate::messages::BroadcastTally;

/// Kinds of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copy {
    /// The first of its message at this client, in order.
    InOrder,
    /// The first of its message at this client, after a later one of the same sender.
    Reordered,
    /// This client had it already.
    Duplicate,
    /// Its number belongs to a message of another sender or another kind.
    Unexpected,
}

/// The key of broadcasts whose order counts: the sender's worker, the sender's number there, and the kind of
/// message.
type Chain = (u16, u32, u16);

/// Broadcasts in one room by the time of sending, each with its worker and its number there.
type Said = BTreeSet<(u64, u16, u32)>;

#[derive(Debug)]
struct Tally {
    client: u32,
    kind: u16,
    /// Copies received by clients that were here when it was sent, and by others.
    received: u32,
    besides: u32,
    last_ns: u64,
    /// The metric of its deliveries.
    timed: Timed,
    /// One bit for each seat; empty once all are set.
    seen: Vec<u64>,
    /// The chain's next broadcast that any client here has got.
    next: Option<u32>,
}

/// A broadcast, as a receiver knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The sender, by worker and number there.
    pub(crate) worker: u16,
    pub(crate) client: u32,
    /// The kind of message, the room where it is said, and the message, among the worker's.
    pub(crate) kind: u16,
    pub(crate) room: u32,
    pub(crate) number: u32,
    pub(crate) sent_ns: u64,
    /// How many clients here it is due to.
    pub(crate) due: u32,
    /// True if it was due to this client while it was away, or on its way into or out of the room: such copies
    /// are counted apart from copies due to clients that were here.
    pub(crate) is_away: bool,
}

/// The messages of one kind of one sender that any client here has got.
pub(crate) struct SenderTally {
    /// The sender, by worker and number there.
    pub(crate) worker: u16,
    pub(crate) client: u32,
    pub(crate) kind: u16,
    pub(crate) messages: usize,
}

/// All broadcasts of one step at one worker.
#[derive(Debug, Default)]
pub(crate) struct Broadcasts {
    /// Tallies by sending worker, then by number.
    tallies: Vec<Vec<Option<Tally>>>,
    /// The numbers that any client here has got.
    chains: HashMap<Chain, BTreeSet<u32>>,
    /// The highest number seen at places that were far behind.
    highest: HashMap<(Chain, u32), u32>,
    /// By kind and room, where clients may leave.
    by_room: Option<HashMap<(u16, u32), Said>>,
    spare: Vec<Vec<u64>>,
}

/// Later broadcasts that have come to others alone after which a place counts as far behind.
const BEHIND_MAX: usize = 64;

/// A worker sends at most this many in one step: only these have numbers, so a hostile number cannot allocate
/// more.
pub const BROADCASTS_PER_WORKER_MAX: u32 = 1 << 22;

impl Broadcasts {
    /// Broadcasts of a step; with `has_leavers`, clients may [leave](Broadcasts::excuse) in the midst of it.
    pub(crate) fn new(has_leavers: bool) -> Self {
        Self { by_room: has_leavers.then(HashMap::new), ..Self::default() }
    }

    /// Books the copy of a broadcast at a member of the same room. `timed`, the metric of its deliveries, is
    /// asked once for each broadcast.
    ///
    /// The caller has checked that the sender's worker exists, that it is the same room, and that the number
    /// is within bounds.
    pub(crate) fn handle(
        &mut self,
        origin: Origin,
        member: LocalMember,
        now_ns: u64,
        timed: impl FnOnce() -> Timed,
    ) -> (Copy, Timed) {
        let Origin { worker, client, kind, number, due, is_away, .. } = origin;
        let chain = origin.chain();
        debug_assert!(member.place < member.members && number < BROADCASTS_PER_WORKER_MAX);
        if self.tally(worker, number).is_none() {
            self.open(origin, member.members, timed());
        }
        // A server may make up senders, and two runs may share its rooms: another sender's room has other
        // places, and its chain has none of these numbers.
        if let Some(tally) = self.tally(worker, number)
            && (tally.client, tally.kind) != (client, kind)
        {
            return (Copy::Unexpected, tally.timed);
        }
        // Asked before the bit is set, since for the copy in hand only others count.
        let reordered = self.saw_later(chain, number, member.place);
        let tally = self.tallies[usize::from(worker)][number as usize].as_mut().expect("opened above");
        if tally.has_come_to(member.place) {
            return (Copy::Duplicate, tally.timed);
        }
        tally.seen[member.place as usize / 64] |= 1 << (member.place % 64);
        // Empty but where clients come back to long replays: the common copy pays for no look-up.
        if !self.highest.is_empty()
            && let Some(highest) = self.highest.get_mut(&(chain, member.place))
        {
            *highest = number.max(*highest);
        }
        if is_away {
            tally.besides += 1;
        } else {
            tally.received += 1;
            tally.last_ns = tally.last_ns.max(now_ns);
        }
        // All bits are set: an empty vector says so from here on, and the bits serve the next broadcast.
        if tally.received + tally.besides == due {
            self.spare.push(std::mem::take(&mut tally.seen));
        }
        (if reordered { Copy::Reordered } else { Copy::InOrder }, tally.timed)
    }

    /// Takes copies out of the ones that count for clients that were here: the client at this place of a room
    /// has left, and counts as absent since `from_ns`. They are copies of messages of one kind that were sent
    /// there since and were due to it. Returns how many were taken out. `is_heard` says by a sender's worker
    /// and number there whether the client hears that sender.
    pub(crate) fn excuse(
        &mut self,
        kind: u16,
        room: u32,
        place: u32,
        from_ns: u64,
        is_heard: impl Fn(u16, u32) -> bool,
    ) -> u32 {
        let said = self.by_room.as_ref().and_then(|by_room| by_room.get(&(kind, room)));
        let mut excused = 0;
        for &(_, worker, number) in said.into_iter().flat_map(|said| said.range((from_ns, 0, 0)..)) {
            let tally =
                self.tallies[usize::from(worker)][number as usize].as_mut().expect("noted when opened");
            // The copy keeps its bit, so that a second one is still a duplicate; only the account that it is
            // in changes. It may be in the other one already, where a server changes the time of sending.
            if is_heard(worker, tally.client) && tally.has_come_to(place) && tally.received > 0 {
                tally.received -= 1;
                tally.besides += 1;
                excused += 1;
            }
        }
        excused
    }

    /// When the newest broadcast of a kind in a room was sent that has come to any client here; kept where
    /// clients may leave.
    pub(crate) fn newest_ns(&self, kind: u16, room: u32) -> Option<u64> {
        self.by_room.as_ref()?.get(&(kind, room))?.last().map(|&(sent_ns, ..)| sent_ns)
    }

    /// Returns whether a message of this kind has not come to the client at this place of its room. A number
    /// that is another sender's was made up by the server, and nothing of it is lacking.
    pub(crate) fn lacks(&self, worker: u16, client: u32, kind: u16, number: u32, place: u32) -> bool {
        self.tally(worker, number).is_none_or(|tally| {
            // Compared first: another sender's room has other places.
            (tally.client, tally.kind) == (client, kind) && !tally.has_come_to(place)
        })
    }

    /// How many clients here have a message of `worker`, and when the last of them got it.
    pub(crate) fn heard(&self, worker: u16, number: u32) -> Option<(u32, u64)> {
        self.tally(worker, number).map(|tally| (tally.received, tally.last_ns))
    }

    /// The number of messages that came to any client here, by sender and kind.
    pub(crate) fn by_sender(&self) -> impl Iterator<Item = SenderTally> {
        let chains = self.chains.iter();
        chains.map(|(&(worker, client, kind), numbers)| SenderTally {
            worker,
            client,
            kind,
            messages: numbers.len(),
        })
    }

    /// Tallies of the copies, for the crew to compare with those due.
    pub(crate) fn finish(&self) -> Vec<BroadcastTally> {
        let of_worker = |(worker, tallies): (usize, &Vec<Option<Tally>>)| {
            let row = move |(number, tally): (usize, &Option<Tally>)| {
                tally.as_ref().map(|t| BroadcastTally {
                    worker: worker as u16,
                    client: t.client,
                    number: number as u32,
                    received: t.received,
                    last_ns: t.last_ns,
                })
            };
            tallies.iter().enumerate().filter_map(row).collect::<Vec<_>>()
        };
        self.tallies.iter().enumerate().flat_map(of_worker).collect()
    }

    fn tally(&self, worker: u16, number: u32) -> Option<&Tally> {
        self.tallies.get(usize::from(worker))?.get(number as usize)?.as_ref()
    }

    /// Makes the tally at the first copy, and links it into its sender's chain.
    fn open(&mut self, origin: Origin, seats: u32, timed: Timed) {
        let Origin { worker, client, kind, room, number, sent_ns, .. } = origin;
        if let Some(by_room) = &mut self.by_room {
            by_room.entry((kind, room)).or_default().insert((sent_ns, worker, number));
        }
        let mut seen = self.spare.pop().unwrap_or_default();
        seen.clear();
        seen.resize(seats.div_ceil(64) as usize, 0);
        let chain = self.chains.entry(origin.chain()).or_default();
        // Copies of several broadcasts may arrive in any order, so a tally may have to go in between two that
        // exist.
        let (before, after) =
            (chain.range(..number).next_back().copied(), chain.range(number..).next().copied());
        chain.insert(number);
        let by_worker = usize::from(worker);
        if self.tallies.len() <= by_worker {
            self.tallies.resize_with(by_worker + 1, Vec::new);
        }
        let of_worker = &mut self.tallies[by_worker];
        if of_worker.len() <= number as usize {
            // Bounded: the caller has checked that the number is below `BROADCASTS_PER_WORKER_MAX`.
            of_worker.resize_with(number as usize + 1, || None);
        }
        of_worker[number as usize] =
            Some(Tally { client, kind, received: 0, besides: 0, last_ns: 0, timed, seen, next: after });
        if let Some(before) = before {
            of_worker[before as usize].as_mut().expect("a neighbour has a tally").next = Some(number);
        }
    }

    /// Returns whether a later broadcast of the chain has come to this place.
    #[inline]
    fn saw_later(&mut self, chain: Chain, number: u32, place: u32) -> bool {
        let mut next = self.tally(chain.0, number).and_then(|tally| tally.next);
        // The newest of its sender, as nearly every copy is: nothing later can have come.
        if next.is_none() {
            return false;
        }
        if let Some(&highest) = self.highest.get(&(chain, place)) {
            return highest > number;
        }
        // As a rule the next one or two decide. A place that is far behind is looked up from the other end,
        // once.
        for _ in 0..BEHIND_MAX {
            let Some(tally) = next.and_then(|number| self.tally(chain.0, number)) else { return false };
            if tally.has_come_to(place) {
                return true;
            }
            next = tally.next;
        }
        let has_come = |&&number: &&u32| self.tally(chain.0, number).is_some_and(|t| t.has_come_to(place));
        let highest = self.chains[&chain].iter().rev().find(has_come).copied().unwrap_or(number);
        self.highest.insert((chain, place), highest);
        highest > number
    }
}

impl Origin {
    fn chain(&self) -> Chain {
        (self.worker, self.client, self.kind)
    }
}

impl Tally {
    fn has_come_to(&self, place: u32) -> bool {
        self.seen.is_empty() || self.seen[place as usize / 64] & 1 << (place % 64) != 0
    }
}

#[cfg(test)]
mod tests;
