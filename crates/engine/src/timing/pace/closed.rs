//! The closed model: as many messages under way as there are slots.
//!
//! Rules. An answer frees a slot for the next message, sent by a client chosen at random among those that may
//! have another under way. The loop ends with its samples or its time, whichever it has.

use std::collections::HashMap;
use std::iter;

use fastrand::Rng;
use load::Until;

use super::next::Next;
use crate::timing::senders::LocalSenders;

/// The slots of one worker.
#[derive(Debug)]
pub(crate) struct Closed {
    rng: Rng,
    /// Clients with room for another message, once for each such message.
    idle: Vec<u32>,
    /// Clients that were not usable when their turn came, and the messages for which each has room.
    absent: HashMap<u32, u32>,
    slots: u32,
    free_slots: u32,
    remaining: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Closed {
    /// This worker's part of `concurrency` slots, of which a client may have `per_client`, from `start_ns` on.
    pub(super) fn new(
        senders: LocalSenders,
        concurrency: u32,
        per_client: u32,
        until: Until,
        start_ns: u64,
        seed: u64,
    ) -> Self {
        let LocalSenders { part, clients, .. } = senders;
        // One client's messages are side by side, to go out together.
        let each = |&client: &u32| iter::repeat_n(client, per_client as usize);
        let idle: Vec<u32> = clients.iter().flat_map(each).collect();
        // Slots beyond what clients may have under way would never be taken.
        let slots = part.share(concurrency).min(idle.len() as u32);
        let (remaining, end_ns) = match until {
            // By slots: a worker without one would never come to the end of its samples.
            Until::Samples(samples) => (part.share_by_slots(samples, concurrency), u64::MAX),
            Until::Elapsed { duration_ns } => (u64::MAX, start_ns + duration_ns),
        };
        // No client to send through: over at once, instead of waiting for an answer that cannot come.
        let remaining = if slots == 0 { 0 } else { remaining };
        let rng = Rng::with_seed(seed);
        Self { rng, idle, absent: HashMap::new(), slots, free_slots: slots, remaining, start_ns, end_ns }
    }

    /// Frees the slots of `messages` messages of `client`.
    #[inline]
    pub(super) fn handle_answers(&mut self, client: u32, messages: u32) {
        self.idle.extend(iter::repeat_n(client, messages as usize));
        self.free_slots += messages;
    }

    /// Handles messages of `client` that had no connection to go out by: others are sent in their place.
    pub(super) fn handle_unsent(&mut self, client: u32, messages: u32) {
        self.remaining = self.remaining.saturating_add(messages.into());
        self.handle_answers(client, messages);
    }

    /// Notes that a client may take messages again.
    pub(super) fn handle_return(&mut self, client: u32) {
        let room = self.absent.remove(&client).unwrap_or(0);
        self.idle.extend(iter::repeat_n(client, room as usize));
    }

    /// Returns whether there is no answer to wait for, and no client left to send.
    pub(super) fn is_stranded(&self) -> bool {
        self.idle.is_empty() && self.free_slots == self.slots
    }

    /// Returns whether no further message is sent.
    #[inline]
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        self.remaining == 0 || now_ns >= self.end_ns
    }

    /// The action at `now_ns`, as [`Pace::poll`](super::Pace::poll) has it.
    pub(super) fn poll(&mut self, now_ns: u64, most: u32, takes: impl Fn(u32, u32) -> u32) -> Next {
        debug_assert!(most > 0);
        if self.is_over(now_ns) {
            return Next::Over;
        }
        if now_ns < self.start_ns {
            return Next::At(self.start_ns);
        }
        while self.free_slots > 0 && !self.idle.is_empty() {
            let (client, room) = self.draw(most);
            // Idle entries of a client that takes none leave the lot until it returns (`handle_return`); else
            // each round would draw them again.
            let messages = takes(client, room);
            if messages < room {
                *self.absent.entry(client).or_default() += room - messages;
            }
            if messages > 0 {
                self.free_slots -= messages;
                self.remaining -= u64::from(messages);
                // Without a schedule, a message is due when it goes out.
                return Next::Send { client, intended_ns: now_ns, messages };
            }
        }
        // Only an answer brings an idle client; where time is the limit, the end may come first.
        if self.end_ns == u64::MAX { Next::Wait } else { Next::At(self.end_ns) }
    }

    /// Takes out a client, and as many messages as are to go out through it together. If all idle clients
    /// have their turn, there is nothing to choose.
    fn draw(&mut self, most: u32) -> (u32, u32) {
        let all = self.idle.len();
        // A lot is drawn where some stay idle: a fixed order would load those in front more often.
        // Otherwise all have their turn, and a client's own, which are side by side, go out in one write.
        if u64::from(self.free_slots).min(self.remaining) < all as u64 {
            return (self.idle.swap_remove(self.rng.usize(..all)), 1);
        }
        let client = self.idle[all - 1];
        let room = self.idle.iter().rev().take(most as usize).take_while(|&&idle| idle == client).count();
        self.idle.truncate(all - room);
        (client, room as u32)
    }
}
