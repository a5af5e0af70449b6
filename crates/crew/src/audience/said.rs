//! Broadcasts of a step in order of time, with their receivers and outcomes.

use std::collections::{HashMap, HashSet};

use engine::{BroadcastTally, SentBroadcast, Settled};

use super::room_index::{BroadcastId, RoomIndex};

/// Every broadcast of a step, by room and time.
#[derive(Debug)]
pub(super) struct Said<'a> {
    room_index: &'a RoomIndex<'a>,
    sent: Vec<SentRow>,
}

/// A broadcast's row: its kind of rooms, room, time of sending, id and sender.
type SentRow = (u16, u32, u64, BroadcastId, u32);

impl<'a> Said<'a> {
    /// Collects the broadcasts of these books without the `unheard`; none where no client was absent or left,
    /// since they are not needed then.
    pub(super) fn of(
        room_index: &'a RoomIndex<'a>,
        books: &[Settled],
        unheard: &HashSet<BroadcastId>,
    ) -> Self {
        let is_asked =
            books.iter().any(|settled| !settled.departures.is_empty() || !settled.absences.is_empty());
        let books = if is_asked { books } else { &[] };
        let row = |(id, sent): (BroadcastId, &SentBroadcast)| {
            let kind = room_index.say_of(id).room;
            (kind, room_index.census(kind).room(sent.client), sent.sent_ns, id, sent.client)
        };
        let mut sent: Vec<_> = all_sent(books).filter(|(id, _)| !unheard.contains(id)).map(row).collect();
        // By kind and room, then by time: what a client missed is one stretch of the list, found by
        // bisection.
        sent.sort_unstable();
        Self { room_index, sent }
    }

    /// How many kinds of messages there are.
    pub(super) fn kinds(&self) -> usize {
        self.room_index.kinds()
    }

    /// The kind of a message.
    pub(super) fn kind_of(&self, id: BroadcastId) -> usize {
        self.room_index.kind_of(id)
    }

    /// Broadcasts to a client from one moment until another, in order: each message, and when it was sent.
    pub(super) fn to(
        &self,
        client: u32,
        from_ns: u64,
        to_ns: u64,
    ) -> impl Iterator<Item = (BroadcastId, u64)> {
        let mut said: Vec<(BroadcastId, u64)> = Vec::new();
        for (kind, census) in (0..).zip(&self.room_index.censuses) {
            let own = (kind, census.room(client));
            let before = |at_ns: u64| {
                self.sent.partition_point(|&(kind, room, sent_ns, ..)| ((kind, room), sent_ns) < (own, at_ns))
            };
            let (first, behind) = (before(from_ns), before(to_ns));
            let is_due = |id, sender| sender != client || self.room_index.say_of(id).hears_itself();
            let room_broadcasts = self.sent[first..behind.max(first)].iter();
            said.extend(
                room_broadcasts
                    .filter(|&&(.., id, sender)| is_due(id, sender))
                    .map(|&(_, _, sent_ns, id, _)| (id, sent_ns)),
            );
        }
        // Within one kind they are in order already; a client with rooms of several kinds hears them
        // interleaved.
        if self.room_index.censuses.len() > 1 {
            said.sort_unstable_by_key(|&(id, sent_ns)| (sent_ns, id));
        }
        said.into_iter()
    }
}

/// Every broadcast of the step.
pub(super) fn all_sent(books: &[Settled]) -> impl Iterator<Item = (BroadcastId, &SentBroadcast)> {
    books.iter().flat_map(|settled| {
        (0..).zip(&settled.sent).map(|(number, sent)| (BroadcastId { worker: settled.worker, number }, sent))
    })
}

/// How many copies of each broadcast came, to any client, and when the last did.
pub(super) fn arrived<'a>(
    tallies: impl Iterator<Item = &'a BroadcastTally>,
) -> HashMap<BroadcastId, (u32, u64)> {
    let mut arrived: HashMap<BroadcastId, (u32, u64)> = HashMap::new();
    for &BroadcastTally { worker, number, received, last_ns, .. } in tallies {
        let of_message = arrived.entry(BroadcastId { worker, number }).or_default();
        of_message.0 += received;
        of_message.1 = of_message.1.max(last_ns);
    }
    arrived
}
