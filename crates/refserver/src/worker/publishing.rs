//! Messages to a room by requests from outside.

use wire::{Answer, ServerEvent, SessionRequest};

use super::Worker;
use super::answers::Place;

impl Worker {
    /// Sends a message from outside to every member of the room, and tells its publisher the number of
    /// members in this process.
    pub(super) fn publish_from_outside(&mut self, key: usize, request: SessionRequest) {
        let (mut members, has_peers, groups) = (0, !self.mesh.is_empty(), &mut self.groups);
        let is_said = request.publish(&self.options.protocol, self.now_ns, &mut |event| {
            if let ServerEvent::Rebroadcast { room, frame } = event {
                let here = groups.members(room);
                members += here;
                // A protocol that no member of the room speaks costs the others nothing.
                if here > 0 || has_peers {
                    groups.push(room, 1, frame);
                }
            }
        });
        // Once, be it in several protocols.
        self.stats.broadcasts += u64::from(is_said);
        let mut output = std::mem::take(&mut self.buffers.output);
        request.answer_published(is_said.then_some(members), &mut output);
        self.answer(Place { connection: key, stream: 0 }, output, Answer::Whole);
    }
}
