//! Members of rooms, and the broadcasts of the current turn.

use std::collections::HashMap;
use std::sync::Arc;

use slab::Slab;
use wire::Room;

use crate::room_counts::RoomCounts;

/// The broadcasts of one turn of one worker, for the room's members at all other workers.
#[derive(Debug, Clone)]
pub(crate) struct RoomBatch {
    pub(crate) room: Room,
    /// The number of frames in `frames`.
    pub(crate) messages: u32,
    /// Encoded frames, end to end.
    pub(crate) frames: Arc<[u8]>,
}

/// The members of one room on one worker, and what is to be sent to each of them at the end of the turn.
struct Group {
    room: Room,
    /// The keys of connections, or of sessions where the room's members are sessions, in no order.
    members: Vec<u32>,
    /// Encoded frames, end to end.
    batch: Vec<u8>,
    /// The number of frames in `batch`.
    messages: u32,
}

/// All groups of a worker. A group without members and broadcasts is removed.
#[derive(Default)]
pub(crate) struct Groups {
    list: Slab<Group>,
    by_room: HashMap<Room, usize>,
    /// The groups with broadcasts.
    pending: Vec<usize>,
    /// The number of bytes in all batches.
    batched_bytes: usize,
    /// The numbers of members at all workers, if there are other workers.
    room_counts: Option<Arc<RoomCounts>>,
}

/// A group's batch and members, taken out while the batch is sent to the members.
pub(crate) struct Delivery {
    pub(crate) batch: Vec<u8>,
    pub(crate) messages: u64,
    pub(crate) members: Vec<u32>,
}

/// A connection's place: its group, and its index among the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) group: u32,
    pub(crate) slot: u32,
}

/// A member that has been given the place of a member that left, and must be informed of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) key: u32,
    pub(crate) place: Membership,
    /// True if the key is a session's.
    pub(crate) is_session: bool,
}

impl Groups {
    /// The groups of a worker; `room_counts` is present if the process has several workers.
    pub(crate) fn of_one_worker(room_counts: Option<Arc<RoomCounts>>) -> Groups {
        Groups { room_counts, ..Groups::default() }
    }

    /// The number of the room's members at all workers of the process.
    pub(crate) fn members(&self, room: Room) -> u64 {
        match (&self.room_counts, self.by_room.get(&room)) {
            (Some(room_counts), _) => room_counts.members(room).into(),
            // The only worker has all members itself, and needs no count beside them.
            (None, group) => group.map_or(0, |&group| self.list[group].members.len() as u64),
        }
    }

    /// Makes the connection or session `key` a member.
    pub(crate) fn join(&mut self, room: Room, key: u32) -> Membership {
        if let Some(room_counts) = &self.room_counts {
            room_counts.join(room);
        }
        let group = self.find_or_add(room);
        let members = &mut self.list[group].members;
        members.push(key);
        Membership { group: group as u32, slot: (members.len() - 1) as u32 }
    }

    /// Ends a membership. Another member may be given its place.
    pub(crate) fn leave(&mut self, place: Membership) -> Option<Moved> {
        let Group { room, members, .. } = &mut self.list[place.group as usize];
        if let Some(room_counts) = &self.room_counts {
            room_counts.leave(*room);
        }
        // Without moving all behind it: the last takes the place, and has to be told.
        members.swap_remove(place.slot as usize);
        let is_session = room.is_of_sessions();
        let moved = members.get(place.slot as usize).map(|&key| Moved { key, place, is_session });
        self.forget_if_empty(place.group as usize);
        moved
    }

    /// The group of a room, if it has one.
    pub(crate) fn find(&self, room: Room) -> Option<u32> {
        self.by_room.get(&room).map(|&group| group as u32)
    }

    /// Adds `messages` encoded frames to the room's batch.
    pub(crate) fn push(&mut self, room: Room, messages: u32, frames: &[u8]) {
        let group = self.find_or_add(room);
        let Group { batch, messages: of_batch, .. } = &mut self.list[group];
        // The first of this turn: a group that is pending is noted once.
        if batch.is_empty() {
            self.pending.push(group);
        }
        batch.extend_from_slice(frames);
        *of_batch += messages;
        self.batched_bytes += frames.len();
    }

    /// The room of a group.
    pub(crate) fn room(&self, group: usize) -> Room {
        self.list[group].room
    }

    /// Takes a group with broadcasts; each is given once.
    pub(crate) fn poll_pending(&mut self) -> Option<usize> {
        self.pending.pop()
    }

    /// Takes the batch of a pending group, and its members, until [`end_delivery`](Groups::end_delivery). No
    /// client may join or leave in between.
    pub(crate) fn begin_delivery(&mut self, group: usize) -> Delivery {
        let group = &mut self.list[group];
        self.batched_bytes -= group.batch.len();
        Delivery {
            batch: std::mem::take(&mut group.batch),
            messages: std::mem::take(&mut group.messages).into(),
            members: std::mem::take(&mut group.members),
        }
    }

    /// Gives the members back, and `batch`, emptied, for its capacity.
    pub(crate) fn end_delivery(&mut self, group: usize, batch: Vec<u8>, members: Vec<u32>) {
        let Group { batch: own_batch, members: own_members, .. } = &mut self.list[group];
        debug_assert!(batch.is_empty() && own_batch.is_empty() && own_members.is_empty());
        (*own_batch, *own_members) = (batch, members);
        self.forget_if_empty(group);
    }

    /// Takes the batch of a pending group, and returns it with the number of its messages. Its members are
    /// copied to `recipients`: from now on they may leave, others may join, and more may be broadcast, for
    /// which `spare` is the next batch.
    pub(crate) fn detach_delivery(
        &mut self,
        group: usize,
        spare: Vec<u8>,
        recipients: &mut Vec<u32>,
    ) -> (Vec<u8>, u64) {
        let Delivery { batch, messages, members } = self.begin_delivery(group);
        recipients.extend_from_slice(&members);
        self.end_delivery(group, spare, members);
        (batch, messages)
    }

    pub(crate) fn batched_bytes(&self) -> usize {
        self.batched_bytes
    }

    /// Copies the batches for other workers, which deliver them to their members.
    pub(crate) fn room_batches(&self) -> Vec<RoomBatch> {
        let room_batch = |&group: &usize| {
            let Group { room, ref batch, messages, .. } = self.list[group];
            RoomBatch { room, messages, frames: batch.as_slice().into() }
        };
        self.pending.iter().map(room_batch).collect()
    }

    fn find_or_add(&mut self, room: Room) -> usize {
        *self.by_room.entry(room).or_insert_with(|| {
            self.list.insert(Group { room, members: Vec::new(), batch: Vec::new(), messages: 0 })
        })
    }

    fn forget_if_empty(&mut self, group: usize) {
        if self.list[group].members.is_empty() && self.list[group].batch.is_empty() {
            // Clients name rooms: empty ones must not pile up.
            self.by_room.remove(&self.list[group].room);
            self.list.remove(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::DialectId;

    fn room(topic: u64) -> Room {
        Room { dialect: DialectId::Raw, topic }
    }

    #[test]
    fn leaving_moves_the_last_member_into_the_gap() {
        let mut groups = Groups::default();
        let places: Vec<Membership> = (10..13).map(|key| groups.join(room(1), key)).collect();
        assert_eq!(groups.leave(places[0]).map(|moved| (moved.key, moved.place)), Some((12, places[0])));
        assert_eq!(groups.list[0].members, [12, 11]);
        assert_eq!(groups.leave(places[1]), None, "the last one leaves no gap");
        assert_eq!(groups.leave(places[0]), None);
        assert!(groups.list.is_empty() && groups.by_room.is_empty(), "an empty room is forgotten");
    }

    #[test]
    fn batches_are_by_room() {
        let mut groups = Groups::default();
        groups.push(room(1), 1, b"a");
        groups.push(room(2), 2, b"bc");
        groups.push(room(1), 1, b"d");
        let room_batches = groups.room_batches();
        let batches: Vec<(&[u8], u32)> =
            room_batches.iter().map(|room_batch| (&*room_batch.frames, room_batch.messages)).collect();
        assert_eq!(batches, [(&b"ad"[..], 2), (&b"bc"[..], 2)]);
        assert_eq!(groups.batched_bytes(), 4);
        while let Some(group) = groups.poll_pending() {
            let Delivery { mut batch, messages, members, .. } = groups.begin_delivery(group);
            assert_eq!((batch.len(), messages), (2, 2));
            batch.clear();
            groups.end_delivery(group, batch, members);
        }
        assert_eq!(groups.batched_bytes(), 0);
        assert!(groups.list.is_empty(), "rooms where nobody is");
    }

    #[test]
    fn left_rooms_are_kept_until_delivery() {
        let mut groups = Groups::default();
        let place = groups.join(room(1), 5);
        groups.push(room(1), 1, b"x");
        groups.leave(place);
        let group = groups.poll_pending().expect("the broadcast is still due");
        let Delivery { messages, members, .. } = groups.begin_delivery(group);
        assert_eq!((messages, members.len()), (1, 0));
        groups.end_delivery(group, Vec::new(), members);
        assert!(groups.list.is_empty() && groups.poll_pending().is_none());
    }
    #[test]
    fn members_may_act_during_a_detached_delivery() {
        let mut groups = Groups::default();
        let places = [groups.join(room(1), 5), groups.join(room(1), 6)];
        groups.push(room(1), 2, b"ab");
        let group = groups.poll_pending().expect("there is a broadcast");
        let mut recipients = Vec::new();
        assert_eq!(groups.detach_delivery(group, Vec::new(), &mut recipients), (b"ab".to_vec(), 2));
        assert_eq!((&recipients[..], groups.batched_bytes()), (&[5, 6][..], 0));
        assert_eq!(groups.leave(places[0]).map(|moved| moved.key), Some(6));
        groups.push(room(1), 1, b"c");
        assert_eq!(groups.leave(places[0]), None);
        recipients.clear();
        let group = groups.poll_pending().expect("there is another");
        assert_eq!(groups.detach_delivery(group, Vec::new(), &mut recipients), (b"c".to_vec(), 1));
        assert!(recipients.is_empty() && groups.list.is_empty() && groups.poll_pending().is_none());
    }
}
