//! Rooms of a plan: which clients get which clients' messages.

use app::people::{Division, Mix, RoleAssignment, RoleKind};
use serde::{Deserialize, Serialize};

use super::visit::Visit;

/// The kinds of rooms in a run, of each of which every client has one, the kinds of messages that are sent
/// there, and the roles that send them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rooms {
    kinds: Vec<RoomKind>,
    says: Vec<SayKind>,
    roles: Vec<RoleKind>,
    /// Visits by role, or of all clients; empty if all clients are in all their rooms for good.
    visits: Vec<Visit>,
}

/// One kind of rooms: every client is in one room of each kind, or visits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomKind {
    /// The kind's name; empty where there is only one kind of rooms.
    pub name: String,
    /// The division of clients into rooms.
    pub division: Division,
    /// The column of users' data that the app's file joins a room by, such as `{person.team}`, where the
    /// division goes by clients' numbers.
    pub joined_by: Option<String>,
}

/// One kind of messages: where they are sent, to whom they are due, and how often they are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SayKind {
    /// The kind's name; empty where there is only one kind of messages.
    pub name: String,
    /// The kind of rooms to which messages of this kind are sent.
    pub room: u16,
    /// True if messages of this kind are due to the other members alone, not to their sender.
    pub to_others: bool,
    /// The share of this kind in all messages: its part in the sum of all kinds' shares.
    pub share: u32,
}

impl Default for Rooms {
    /// One room for all clients, in which all hear each other.
    fn default() -> Rooms {
        Rooms::of(Division::ONE)
    }
}

impl Rooms {
    /// The most kinds of rooms; a client is in one room of each.
    pub const KINDS_MAX: usize = app::app_file::JOINS_MAX;

    /// Rooms in which all members hear each other.
    pub fn of(division: Division) -> Rooms {
        let say = SayKind { name: String::new(), room: 0, to_others: false, share: 1 };
        let kinds = vec![RoomKind { name: String::new(), division, joined_by: None }];
        Rooms { kinds, says: vec![say], roles: Vec::new(), visits: Vec::new() }
    }

    /// Rooms of several kinds, and what is sent there, by all clients or by these roles; `None` if that is
    /// not [sound](Self::is_sound).
    pub fn several(kinds: Vec<RoomKind>, says: Vec<SayKind>, roles: Vec<RoleKind>) -> Option<Rooms> {
        Some(Rooms { kinds, says, roles, visits: Vec::new() }).filter(Rooms::is_sound)
    }

    /// Sets how users of each role, or all users without roles, visit rooms; `None` if the rooms are then not
    /// [sound](Self::is_sound).
    pub fn with_visits(self, visits: Vec<Visit>) -> Option<Rooms> {
        Some(Rooms { visits, ..self }).filter(Rooms::is_sound)
    }

    /// Returns whether the rooms are consistent, wherever they come from.
    pub fn is_sound(&self) -> bool {
        let Rooms { kinds, says, roles, visits } = self;
        (1..=Self::KINDS_MAX).contains(&kinds.len())
            && (1..=Mix::KINDS_MAX).contains(&says.len())
            && kinds.iter().all(|kind| kind.division.is_sound())
            && says.iter().all(|say| usize::from(say.room) < kinds.len() && say.share > 0)
            && RoleAssignment::is_sound(roles, says.len())
            && (visits.is_empty() || visits.len() == roles.len().max(1))
            && visits.iter().all(|visit| visit.is_sound(kinds.len()))
    }

    /// Makes no sender get a copy of its own messages.
    pub fn to_others(mut self) -> Rooms {
        for say in &mut self.says {
            say.to_others = true;
        }
        self
    }

    /// The kinds of rooms; one at least.
    #[inline]
    pub fn kinds(&self) -> &[RoomKind] {
        &self.kinds
    }

    /// The kinds of messages; one at least.
    #[inline]
    pub fn says(&self) -> &[SayKind] {
        &self.says
    }

    /// The users' roles; without any, all users send all kinds of messages.
    #[inline]
    pub fn roles(&self) -> &[RoleKind] {
        &self.roles
    }

    /// The visits of each role, or of all clients without roles; empty without visitors.
    #[inline]
    pub fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// The kinds of rooms that some clients join and leave, or are not in at all: a bit each.
    pub fn visited(&self) -> u8 {
        self.visits.iter().fold(0, |visited, visit| visited | visit.joined())
    }

    /// The visited kinds of rooms that some clients leave: a bit each.
    pub fn left(&self) -> u8 {
        self.visits.iter().fold(0, |left, visit| left | visit.left())
    }

    /// The roles by clients' numbers in the run; without roles, all have the same.
    pub fn role_assignment(&self) -> RoleAssignment {
        RoleAssignment::new(&self.roles)
    }

    /// The kinds of messages by their numbers, in a run of `workers` workers.
    pub fn mix(&self, workers: u16) -> Mix {
        Mix::new(self.says.iter().map(|say| say.share)).of_roles(&self.roles, workers)
    }

    /// Returns whether all clients are in one room, with one kind of messages.
    #[inline]
    pub fn is_one(&self) -> bool {
        matches!((&self.kinds[..], &self.says[..]), ([kind], [_]) if kind.division == Division::ONE)
            && self.visits.is_empty()
    }
}

impl SayKind {
    /// Returns whether senders get copies of their own messages.
    #[inline]
    pub fn hears_itself(&self) -> bool {
        !self.to_others
    }

    /// The number of clients to which a broadcast is due, in a room where `present` clients are, its sender
    /// among them.
    #[inline]
    pub fn hearers(&self, present: u32) -> u32 {
        present.saturating_sub(self.to_others.into())
    }
}
