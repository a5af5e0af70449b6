//! The rooms that a session is in, in each of its namespaces.
//!
//! ```text
//! in the room of its URL, or in none --join R--> in R; --join S--> in R and S; …
//! in R and S --leave R--> in S --leave S--> in none
//! ```

/// Rooms that one session may have joined besides the first of each namespace.
const FURTHER_MAX: usize = 256;

/// A session's rooms in each namespace; 0 if in none.
#[derive(Debug)]
pub(super) struct Places<const NAMESPACES: usize> {
    first: [u64; NAMESPACES],
    /// True where the first room was joined, and is not the URL's.
    has_joined: [bool; NAMESPACES],
    /// The further rooms, each with the place of its namespace.
    #[allow(clippy::box_collection)] // 8 bytes in a session, not 24
    further: Option<Box<Vec<(usize, u64)>>>,
}

/// The rooms a session leaves and joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) left: Option<u64>,
    pub(super) joined: Option<u64>,
}

impl<const NAMESPACES: usize> Places<NAMESPACES> {
    /// Makes the places of a session that is in this room of each namespace.
    pub(super) fn new(room: u64) -> Self {
        Self { first: [room; NAMESPACES], has_joined: [false; NAMESPACES], further: None }
    }

    /// The room of a namespace that it was in first: where what names no room is said.
    pub(super) fn first(&self, at: usize) -> u64 {
        self.first[at]
    }

    /// All rooms of a namespace.
    pub(super) fn all(&self, at: usize) -> impl Iterator<Item = u64> + '_ {
        let further = self.further.iter().flat_map(|further| further.iter());
        let further = further.filter(move |(of, _)| *of == at).map(|&(_, room)| room);
        std::iter::once(self.first[at]).chain(further)
    }

    /// The rooms of a namespace that it has joined.
    pub(super) fn joined(&self, at: usize) -> impl Iterator<Item = u64> + '_ {
        self.all(at).filter(move |_| self.has_joined[at])
    }

    /// Returns whether it has joined a room.
    pub(super) fn is_in(&self, at: usize, room: u64) -> bool {
        self.joined(at).any(|other| other == room)
    }

    /// Joins a room; does nothing if the session is in it already. `None` if it is in too many rooms.
    pub(super) fn join(&mut self, at: usize, room: u64) -> Option<Move> {
        if !std::mem::replace(&mut self.has_joined[at], true) {
            let left = std::mem::replace(&mut self.first[at], room);
            // The room of the URL is where one is that has said nothing: the first join ends that.
            return Some(Move { left: Some(left), joined: Some(room) });
        }
        if self.is_in(at, room) {
            return Some(Move::default());
        }
        if self.further.as_ref().is_some_and(|further| further.len() >= FURTHER_MAX) {
            return None;
        }
        self.further.get_or_insert_default().push((at, room));
        Some(Move { left: None, joined: Some(room) })
    }

    /// Leaves a room; does nothing if the session is not in it.
    pub(super) fn leave(&mut self, at: usize, room: u64) -> Move {
        if !self.is_in(at, room) {
            return Move::default();
        }
        let left = Some(room);
        let further = self.further.get_or_insert_default();
        if let Some(place) = further.iter().position(|&other| other == (at, room)) {
            further.remove(place);
        } else if let Some(place) = further.iter().position(|&(of, _)| of == at) {
            // The one it was in longest becomes the first: it is where what names no room is said.
            self.first[at] = further.remove(place).1;
        } else {
            (self.first[at], self.has_joined[at]) = (0, false);
            return Move { left, joined: Some(0) };
        }
        Move { left, joined: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_joined_and_left_independently() {
        let mut places = Places::<2>::new(7);
        assert!(!places.is_in(0, 7), "the room of the URL is not joined");
        assert_eq!(places.join(0, 1), Some(Move { left: Some(7), joined: Some(1) }));
        assert_eq!(places.join(0, 2), Some(Move { left: None, joined: Some(2) }));
        assert_eq!(places.join(0, 2), Some(Move::default()));
        assert_eq!(places.join(1, 2), Some(Move { left: Some(7), joined: Some(2) }));
        assert_eq!(places.all(0).collect::<Vec<u64>>(), [1, 2]);
        assert_eq!((places.is_in(1, 1), places.is_in(1, 2)), (false, true));
        assert_eq!(places.leave(0, 1), Move { left: Some(1), joined: None });
        assert_eq!((places.first(0), places.leave(0, 1)), (2, Move::default()));
        assert_eq!(places.leave(0, 2), Move { left: Some(2), joined: Some(0) });
        assert_eq!(places.all(1).collect::<Vec<u64>>(), [2]);
    }

    #[test]
    fn full_sessions_join_no_more() {
        let mut places = Places::<1>::new(0);
        assert!((1..=FURTHER_MAX as u64 + 1).all(|room| places.join(0, room).is_some()));
        assert_eq!((places.join(0, 1), places.join(0, 999)), (Some(Move::default()), None));
        places.leave(0, 1);
        assert_eq!(places.join(0, 999), Some(Move { left: None, joined: Some(999) }));
    }
}
