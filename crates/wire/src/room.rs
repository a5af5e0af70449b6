//! Rooms that get broadcasts.

use crate::dialect_id::DialectId;

/// The parameter of a request's query that names a room; without it, all are in one.
pub(crate) const PARAM: &str = "room";

/// The connections of a dialect that have joined the same topic: broadcasts go among them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Room {
    /// The dialect.
    pub dialect: DialectId,
    /// The hash of its name and encoding, the same in every process: 0 in dialects with one room.
    pub topic: u64,
}

/// The bits of a topic that say that the members are sessions, not connections; and that each puts words of
/// its own around what is broadcast.
const OF_SESSIONS: u64 = 1 << 63;
const OF_READERS: u64 = 1 << 62;

/// The number by which FNV multiplies.
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Room {
    /// The one room of a dialect that has no topics.
    pub fn of_all(dialect: DialectId) -> Room {
        Room { dialect, topic: 0 }
    }

    /// The room of the connections whose topic has this name and whose messages are encoded in the same way.
    /// FNV-1a, 64 bits: two of a server's rooms collide only by design, and a client that does that has
    /// joined a room.
    pub fn of(dialect: DialectId, encoding: u8, name: &[u8]) -> Room {
        // The offset basis of FNV-1a.
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        Room { dialect, topic: [encoding].iter().chain(name).fold(OFFSET, mix) & !(OF_SESSIONS | OF_READERS) }
    }

    /// The room of the [sessions](crate::session) whose topic has this name: its broadcasts are not frames as
    /// they go over the wire, but what [`Session::handle_broadcast`](crate::Session::handle_broadcast) takes.
    pub fn of_sessions(dialect: DialectId, name: &[u8]) -> Room {
        let Room { topic, .. } = Room::of(dialect, 0, name);
        Room { dialect, topic: topic | OF_SESSIONS }
    }

    /// The room of the connections whose topic has this name, each of which puts words of its own around a
    /// message: its broadcasts are frames that [`Server::put_copies`](crate::Server::put_copies) takes.
    pub fn of_readers(dialect: DialectId, name: &[u8]) -> Room {
        let Room { topic, .. } = Room::of(dialect, 0, name);
        Room { dialect, topic: topic | OF_READERS }
    }

    /// The room within this one that a name comes to as this number, by which it is found without its name;
    /// 0: this one itself.
    pub(crate) fn within(self, number: u64) -> Room {
        if number == 0 {
            return self;
        }
        let kind = OF_SESSIONS | OF_READERS;
        let topic = (self.topic ^ number).wrapping_mul(PRIME);
        Room { topic: topic & !kind | self.topic & kind, ..self }
    }

    /// Returns whether each member puts words of its own around what is broadcast.
    pub fn is_of_readers(self) -> bool {
        self.topic & OF_READERS != 0
    }

    /// Returns whether the members are sessions, not connections.
    pub fn is_of_sessions(self) -> bool {
        self.topic & OF_SESSIONS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_differ_by_dialect_name_and_encoding() {
        let room = Room::of(DialectId::Json, 1, b"lobby");
        assert_eq!(room, Room::of(DialectId::Json, 1, b"lobby"));
        assert_ne!(room, Room::of(DialectId::Raw, 1, b"lobby"));
        assert_ne!(room, Room::of(DialectId::Json, 2, b"lobby"));
        assert_ne!(room, Room::of(DialectId::Json, 1, b"lobb"));
        assert_ne!(room, Room::of_all(DialectId::Json));
        let sessions = Room::of_sessions(DialectId::Json, b"lobby");
        assert!(sessions.is_of_sessions() && !room.is_of_sessions());
        assert_ne!(sessions, Room::of_sessions(DialectId::Json, b"lobb"));
    }

    #[test]
    fn nested_rooms_are_others_of_their_kind() {
        let name = |name| Room::of(DialectId::Json, 0, name).topic;
        for hall in [Room::of(DialectId::Json, 0, b"hall"), Room::of_sessions(DialectId::Json, b"hall")] {
            assert_eq!(hall.within(0), hall);
            let [a, b] = [b"a", b"b"].map(|room| hall.within(name(room)));
            assert!(a != hall && a != b && a == hall.within(name(b"a")));
            assert_eq!(a.is_of_sessions(), hall.is_of_sessions());
            assert_ne!(a, Room::of(DialectId::Json, 0, b"lobby").within(name(b"a")));
        }
    }
}
