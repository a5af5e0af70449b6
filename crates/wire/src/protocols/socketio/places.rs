//! The rooms that a session is in, in each of its namespaces.
//!
//! ```text
//! in the room of its URL, or in none --join R--> in R; --join S--> in R and S; …
//! in R and S --leave R--> in S --leave S--> in none
//! ```

/// Rooms that one session may have joined besides the first of each namespace.
const FURTHER_MAX: usize = 256;
/// The first room of a session that has left all, in place of a room: no name comes to it.
pub(super) const NOWHERE: u64 = u64::MAX;

/// A session's rooms in each namespace.
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
        as_room(self.first[at]).into_iter().chain(further)
    }

    /// The rooms of a namespace that it has joined.
    fn joined(&self, at: usize) -> impl Iterator<Item = u64> + '_ {
        self.all(at).filter(move |_| self.has_joined[at])
    }

    /// The rooms of a namespace to be restored: [`NOWHERE`] if it has left all that it had joined, and none
    /// if it is in that of its URL.
    pub(super) fn kept(&self, at: usize) -> impl Iterator<Item = u64> + '_ {
        let first = self.first[at];
        self.joined(at).chain((first == NOWHERE).then_some(first))
    }

    /// Restores the rooms that were [`kept`](Self::kept).
    pub(super) fn restore(&mut self, at: usize, kept: &[u64]) {
        for &room in kept {
            self.join(at, room);
        }
        self.has_joined[at] &= self.first[at] != NOWHERE;
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
            return Some(Move { left: as_room(left), joined: Some(room) });
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
            (self.first[at], self.has_joined[at]) = (NOWHERE, false);
        }
        Move { left, joined: None }
    }
}

/// The room, unless it is [`NOWHERE`].
fn as_room(room: u64) -> Option<u64> {
    Some(room).filter(|&room| room != NOWHERE)
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
        assert_eq!(places.leave(0, 2), Move { left: Some(2), joined: None });
        assert_eq!([0, 1].map(|at| places.all(at).collect::<Vec<u64>>()), [vec![], vec![2]]);
        assert_eq!(places.join(0, 1), Some(Move { left: None, joined: Some(1) }));
    }

    #[test]
    fn restored_sessions_are_where_they_were() {
        let mut places = Places::<1>::new(7);
        let restored = |places: &Places<1>| {
            let kept: Vec<u64> = places.kept(0).collect();
            let mut restored = Places::<1>::new(7);
            restored.restore(0, &kept);
            let rooms: Vec<u64> = restored.all(0).collect();
            (rooms, restored.has_joined[0])
        };
        assert_eq!(restored(&places), (vec![7], false));
        places.join(0, 1);
        places.join(0, 2);
        assert_eq!(restored(&places), (vec![1, 2], true));
        places.leave(0, 1);
        places.leave(0, 2);
        assert_eq!(restored(&places), (vec![], false));
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
