//! Who is in which room, and which kind each message is: what is the same for all books of a step.

use std::sync::Arc;

use engine::Settled;
use load::{Census, Mix, Rooms, SayKind};

/// A broadcast, by the worker that sent it and its number there.
pub(super) type Name = (u16, u32);

/// Who the step's people are.
#[derive(Clone, Debug)]
pub(crate) struct People {
    pub(crate) rooms: Arc<Rooms>,
    /// The step's number.
    pub(crate) step: u16,
    /// Over all workers.
    pub(crate) clients: u32,
    /// The workers of the run, lost ones included.
    pub(crate) workers: u16,
}

/// The rooms of a step, with the people of the workers whose books are there.
#[derive(Debug)]
pub(super) struct Hall<'a> {
    people: &'a People,
    mix: Mix,
    /// By kind of rooms.
    pub(super) censuses: Vec<Census>,
}

impl<'a> Hall<'a> {
    pub(super) fn of(people: &'a People, books: &[Settled]) -> Self {
        let workers: Vec<u16> = books.iter().map(|settled| settled.worker).collect();
        let People { rooms, clients, workers: all, .. } = people;
        let census = |kind: &load::RoomKind| Census::of(kind.division, *clients, *all, &workers);
        Self { mix: rooms.mix(), censuses: rooms.kinds().iter().map(census).collect(), people }
    }

    /// How many kinds of messages there are.
    pub(super) fn kinds(&self) -> usize {
        self.people.rooms.says().len()
    }

    /// The kind of a message.
    pub(super) fn kind_of(&self, (worker, number): Name) -> usize {
        self.mix.kind(worker, engine::seq(self.people.step, number))
    }

    /// The same, and what is known of it.
    pub(super) fn say_of(&self, name: Name) -> &SayKind {
        &self.people.rooms.says()[self.kind_of(name)]
    }

    /// Who is in the rooms of a kind.
    pub(super) fn census(&self, kind: u16) -> &Census {
        &self.censuses[usize::from(kind)]
    }
}
