//! What was said to whom in a step, in order of time.

use std::collections::HashSet;

use engine::{SentBroadcast, Settled};
use load::{Census, Rooms};

/// A broadcast, by the worker that sent it and its number there.
pub(super) type Name = (u16, u32);

/// Every broadcast of a step, by room and time.
#[derive(Debug)]
pub(super) struct Said<'a> {
    census: &'a Census,
    rooms: Rooms,
    /// Room, moment, name, sender.
    sent: Vec<(u32, u64, Name, u32)>,
}

impl<'a> Said<'a> {
    /// Of these books, but for what is as if it had never been said; nothing where no client was ever absent or left, since nobody asks then.
    pub(super) fn of(rooms: Rooms, census: &'a Census, books: &[Settled], unheard: &HashSet<Name>) -> Self {
        let is_asked =
            books.iter().any(|settled| !settled.departures.is_empty() || !settled.absences.is_empty());
        let books = if is_asked { books } else { &[] };
        let row = |(name, sent): (Name, &SentBroadcast)| {
            (census.room(sent.client), sent.sent_ns, name, sent.client)
        };
        let mut sent: Vec<_> = all_sent(books).filter(|(name, _)| !unheard.contains(name)).map(row).collect();
        sent.sort_unstable();
        Self { census, rooms, sent }
    }

    /// What was said to a client from one moment until another: each message, and when it was sent.
    pub(super) fn to(&self, client: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = (Name, u64)> {
        let own_room = self.census.room(client);
        let before = |at_ns: u64| {
            self.sent.partition_point(|&(room, sent_ns, ..)| (room, sent_ns) < (own_room, at_ns))
        };
        let (first, behind) = (before(from_ns), before(to_ns));
        let said = self.sent[first..behind.max(first)].iter();
        let is_due = move |sender: u32| self.rooms.hears_itself() || sender != client;
        said.filter(move |(.., sender)| is_due(*sender)).map(|&(_, sent_ns, name, _)| (name, sent_ns))
    }
}

/// Every broadcast of the step.
pub(super) fn all_sent(books: &[Settled]) -> impl Iterator<Item = (Name, &SentBroadcast)> {
    books
        .iter()
        .flat_map(|settled| (0..).zip(&settled.sent).map(|(number, sent)| ((settled.worker, number), sent)))
}
