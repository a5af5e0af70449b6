//! Who gets which broadcasts, and the broadcasts of the current turn.

use wire::DialectId;

use crate::mailbox::Parcel;

/// The members of one dialect on one worker, and what is to be sent to each of them at the end of the turn.
struct Group {
    dialect: DialectId,
    /// Keys of connections, in no order.
    members: Vec<u32>,
    /// Encoded frames, end to end.
    batch: Vec<u8>,
    /// How many frames `batch` holds.
    messages: u32,
}

/// All groups of a worker; few, so a list.
#[derive(Default)]
pub(crate) struct Groups {
    list: Vec<Group>,
    /// Bytes in all batches.
    batched_bytes: usize,
}

/// A group's batch and members, taken out while the one is sent to the others.
pub(crate) struct Delivery {
    pub(crate) batch: Vec<u8>,
    pub(crate) messages: u64,
    pub(crate) members: Vec<u32>,
}

/// A connection's place: which group, and where among its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) group: u16,
    pub(crate) slot: u32,
}

impl Groups {
    /// Makes connection `key` a member.
    pub(crate) fn join(&mut self, dialect: DialectId, key: u32) -> Membership {
        let group = self.find_or_add(dialect);
        let members = &mut self.list[group].members;
        members.push(key);
        Membership { group: group as u16, slot: (members.len() - 1) as u32 }
    }

    /// Ends a membership. Another member may take its slot: the answer is that member's key, which is to be given
    /// the old membership.
    pub(crate) fn leave(&mut self, membership: Membership) -> Option<u32> {
        let members = &mut self.list[membership.group as usize].members;
        members.swap_remove(membership.slot as usize);
        members.get(membership.slot as usize).copied()
    }

    /// Adds `messages` encoded frames to the group's batch.
    pub(crate) fn push(&mut self, dialect: DialectId, messages: u32, frames: &[u8]) {
        let group = self.find_or_add(dialect);
        let group = &mut self.list[group];
        group.batch.extend_from_slice(frames);
        group.messages += messages;
        self.batched_bytes += frames.len();
    }

    /// Takes a group's batch, if there is one, and its members, until [`end_delivery`](Groups::end_delivery).
    /// Nobody may join or leave in between.
    pub(crate) fn begin_delivery(&mut self, group: usize) -> Option<Delivery> {
        let group = &mut self.list[group];
        if group.batch.is_empty() {
            return None;
        }
        self.batched_bytes -= group.batch.len();
        Some(Delivery {
            batch: std::mem::take(&mut group.batch),
            messages: std::mem::take(&mut group.messages).into(),
            members: std::mem::take(&mut group.members),
        })
    }

    /// Gives the members back, and `batch`, emptied, for its capacity.
    pub(crate) fn end_delivery(&mut self, group: usize, batch: Vec<u8>, members: Vec<u32>) {
        let group = &mut self.list[group];
        debug_assert!(batch.is_empty() && group.batch.is_empty() && group.members.is_empty());
        (group.batch, group.members) = (batch, members);
    }

    pub(crate) fn batched_bytes(&self) -> usize {
        self.batched_bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn dialect(&self, group: usize) -> DialectId {
        self.list[group].dialect
    }

    /// The batches, for other workers to deliver too.
    pub(crate) fn parcels(&self) -> Vec<Parcel> {
        let parcel = |group: &Group| Parcel {
            dialect: group.dialect,
            messages: group.messages,
            frames: group.batch.as_slice().into(),
        };
        self.list.iter().filter(|group| !group.batch.is_empty()).map(parcel).collect()
    }

    fn find_or_add(&mut self, dialect: DialectId) -> usize {
        self.list.iter().position(|group| group.dialect == dialect).unwrap_or_else(|| {
            self.list.push(Group { dialect, members: Vec::new(), batch: Vec::new(), messages: 0 });
            self.list.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_moves_the_last_member_into_the_gap() {
        let mut groups = Groups::default();
        let places: Vec<Membership> = (10..13).map(|key| groups.join(DialectId::Raw, key)).collect();
        assert_eq!(groups.leave(places[0]), Some(12));
        assert_eq!(groups.list[0].members, [12, 11]);
        assert_eq!(groups.leave(places[1]), None, "the last one leaves no gap");
        assert_eq!(groups.leave(places[0]), None);
        assert!(groups.list[0].members.is_empty());
    }

    #[test]
    fn batches_are_by_dialect() {
        let mut groups = Groups::default();
        groups.push(DialectId::Raw, 1, b"a");
        groups.push(DialectId::Json, 2, b"bc");
        groups.push(DialectId::Raw, 1, b"d");
        let parcels = groups.parcels();
        let batches: Vec<(&[u8], u32)> =
            parcels.iter().map(|parcel| (&*parcel.frames, parcel.messages)).collect();
        assert_eq!(batches, [(&b"ad"[..], 2), (&b"bc"[..], 2)]);
        assert_eq!(groups.batched_bytes(), 4);
        let Delivery { mut batch, messages, members } = groups.begin_delivery(0).unwrap();
        assert_eq!((&batch[..], messages, groups.batched_bytes()), (&b"ad"[..], 2, 2));
        batch.clear();
        groups.end_delivery(0, batch, members);
        assert!(groups.begin_delivery(0).is_none(), "nothing to deliver");
    }
}
