//! Rooms of clients and kinds of messages, the same for all books of a step.

use std::collections::HashMap;
use std::sync::Arc;

use app::people::{Mix, RoleAssignment};
use engine::{SentBroadcast, Settled};
use load::{Census, Rooms, SayKind};

/// A broadcast, by the worker that sent it and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BroadcastId {
    pub(super) worker: u16,
    pub(super) number: u32,
}

/// The step's clients.
#[derive(Clone, Debug)]
pub(crate) struct People {
    pub(crate) rooms: Arc<Rooms>,
    /// The step's number.
    pub(crate) step: u16,
    /// Number of clients over all workers.
    pub(crate) clients: u32,
    /// The workers of the run, lost ones included.
    pub(crate) workers: u16,
}

/// The rooms of a step, with the members at the workers whose books are there.
#[derive(Debug)]
pub(super) struct RoomIndex<'a> {
    people: &'a People,
    mix: Mix,
    role_assignment: RoleAssignment,
    /// Each worker's broadcasts.
    sent: HashMap<u16, &'a [SentBroadcast]>,
    /// Members of rooms, by kind of rooms.
    pub(super) censuses: Vec<Census>,
}

impl<'a> RoomIndex<'a> {
    pub(super) fn of(people: &'a People, books: &'a [Settled]) -> Self {
        let workers: Vec<u16> = books.iter().map(|settled| settled.worker).collect();
        let People { rooms, clients, workers: all, .. } = people;
        let census = |kind: &load::RoomKind| Census::of(&kind.division, *clients, *all, &workers);
        Self {
            mix: rooms.mix(*all),
            role_assignment: rooms.role_assignment(),
            sent: books.iter().map(|settled| (settled.worker, &settled.sent[..])).collect(),
            censuses: rooms.kinds().iter().map(census).collect(),
            people,
        }
    }

    /// How many kinds of messages there are.
    pub(super) fn kinds(&self) -> usize {
        self.people.rooms.says().len()
    }

    /// The kind of a message in these books.
    pub(super) fn kind_of(&self, id: BroadcastId) -> usize {
        let BroadcastId { worker, number } = id;
        let sent = self.sent.get(&worker).and_then(|sent| sent.get(number as usize));
        // The inverse of `Segment::number`: the mix goes by a client's number at its worker, as the stamp has
        // it.
        let sender = sent.map_or(0, |sent| sent.client) / u32::from(self.people.workers);
        self.mix.kind(worker, sender, engine::seq(self.people.step, number))
    }

    /// Number of roles; 0 if all clients have the same.
    pub(super) fn roles(&self) -> usize {
        self.people.rooms.roles().len()
    }

    /// The role of a client.
    pub(super) fn role_of(&self, client: u32) -> usize {
        self.role_assignment.role(client)
    }

    /// The clients whose workers' books are there.
    pub(super) fn clients(&self) -> impl Iterator<Item = u32> {
        let workers = u32::from(self.people.workers);
        (0..self.people.clients).filter(move |client| self.sent.contains_key(&((client % workers) as u16)))
    }

    /// The kind of a broadcast's message, with what the plan says about that kind.
    pub(super) fn say_of(&self, id: BroadcastId) -> &SayKind {
        &self.people.rooms.says()[self.kind_of(id)]
    }

    /// The members of the rooms of a kind.
    pub(super) fn census(&self, kind: u16) -> &Census {
        &self.censuses[usize::from(kind)]
    }
}
