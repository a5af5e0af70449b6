//! The rooms that one connection or session is in: in each of them once, whatever it asks for and in whatever
//! order.
//!
//! Each change is made at once, so that the groups know no member that has left. What it moves is another's
//! place, which the other may be told after the call that it was made in: this member is in no group twice,
//! so that nothing it does moves a member twice, or itself.

use wire::Room;

use crate::group::{Groups, Membership, Moved};

/// Places in groups, at most one in each.
#[derive(Debug, Default)]
pub(crate) struct Memberships {
    list: Vec<Membership>,
}

impl Memberships {
    /// Makes the connection or session `key`, the owner of these memberships, a member of a room, unless it
    /// is one.
    pub(crate) fn join(&mut self, groups: &mut Groups, room: Room, key: u32) {
        if self.find(groups, room).is_none() {
            self.list.push(groups.join(room, key));
        }
    }

    /// Ends the membership in a room, if there is one. Returns the member that has the place from now on.
    pub(crate) fn leave(&mut self, groups: &mut Groups, room: Room) -> Option<Moved> {
        let at = self.find(groups, room)?;
        groups.leave(self.list.swap_remove(at))
    }

    /// Handles that another member has left and this member has been given its place.
    pub(crate) fn handle_moved(&mut self, place: Membership) {
        let own = self.list.iter_mut().find(|own| own.group == place.group);
        *own.expect("a member knows its place") = place;
    }

    /// Gives all places of a member that has gone.
    pub(crate) fn into_places(self) -> Vec<Membership> {
        self.list
    }

    /// The groups that the member is in.
    pub(crate) fn groups(&self) -> impl Iterator<Item = u32> {
        self.list.iter().map(|place| place.group)
    }

    fn find(&self, groups: &Groups, room: Room) -> Option<usize> {
        let group = groups.find(room)?;
        self.list.iter().position(|place| place.group == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::DialectId;

    const ROOM: Room = Room { dialect: DialectId::Raw, topic: 1 };

    #[test]
    fn a_room_is_joined_once_and_left_once() {
        let (mut groups, mut own) = (Groups::default(), Memberships::default());
        for _ in 0..2 {
            own.join(&mut groups, ROOM, 5);
        }
        assert_eq!(groups.members(ROOM), 1);
        for _ in 0..2 {
            assert_eq!(own.leave(&mut groups, ROOM), None);
        }
        assert_eq!((groups.members(ROOM), own.groups().count()), (0, 0));
    }

    #[test]
    fn leaving_and_returning_moves_others_once() {
        let mut groups = Groups::default();
        let mut members: [Memberships; 3] = Default::default();
        for (key, own) in members.iter_mut().enumerate() {
            own.join(&mut groups, ROOM, key as u32);
        }
        let [first, .., last] = &mut members;
        let moved = first.leave(&mut groups, ROOM).expect("the last has its place");
        assert_eq!((moved.key, moved.place.slot, moved.is_session), (2, 0, false));
        first.join(&mut groups, ROOM, 0);
        assert_eq!(first.leave(&mut groups, ROOM), None);
        last.handle_moved(moved.place);
        assert_eq!(last.leave(&mut groups, ROOM).map(|moved| moved.key), Some(1));
    }
}
