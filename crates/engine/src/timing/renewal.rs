//! Clients that end their connection after a number of messages and reconnect at once: counts the messages,
//! and says which clients leave.
//!
//! Rules. A connection takes `limit` messages and no more. When each of them is answered, or given up, the
//! client says goodbye. Once it is usable again, it counts anew. After everything is sent, no client leaves.

use std::cell::Cell;
use std::num::NonZeroU32;

/// The connections of one worker's clients, in a step.
pub(crate) struct Renewal {
    limit: u32,
    clients: Vec<Count>,
    /// Clients that have had all their answers.
    done: Vec<u32>,
    is_loaded: bool,
}

/// Messages of a client's present connection.
#[derive(Clone, Default)]
struct Count {
    /// Messages taken to be sent, counted when a client is asked for.
    taken: Cell<u32>,
    answered: u32,
}

impl Renewal {
    /// Gives each of `clients` clients a new connection, for `limit` messages.
    pub(crate) fn new(limit: NonZeroU32, clients: u32) -> Self {
        let clients = vec![Count::default(); clients as usize];
        Self { limit: limit.get(), clients, done: Vec::new(), is_loaded: false }
    }

    /// Returns how many of `messages` further messages a usable client's connection takes, and counts them.
    pub(crate) fn take(&self, client: u32, messages: u32) -> u32 {
        let taken = &self.clients[client as usize].taken;
        // Cannot underflow: no more than the limit is ever taken.
        let messages = messages.min(self.limit - taken.get());
        taken.set(taken.get() + messages);
        messages
    }

    /// Counts messages of a client that are answered, or given up.
    pub(crate) fn handle_answers(&mut self, client: u32, messages: u32) {
        let count = &mut self.clients[client as usize];
        let before = count.answered;
        count.answered += messages;
        // Once, where the count passes the limit: answers may come several at a time, and late ones after it.
        if (before + 1..=count.answered).contains(&self.limit) {
            self.done.push(client);
        }
    }

    /// The client that leaves now.
    pub(crate) fn poll(&mut self, is_usable: impl Fn(u32) -> bool) -> Option<u32> {
        while let Some(client) = self.done.pop() {
            if !self.is_loaded && is_usable(client) {
                return Some(client);
            }
        }
        None
    }

    /// Returns whether a client is about to leave, to come back.
    pub(crate) fn is_due(&self) -> bool {
        !self.done.is_empty()
    }

    /// Begins the count of a client's new connection.
    pub(crate) fn handle_back(&mut self, client: u32) {
        self.clients[client as usize] = Count::default();
    }

    /// Ends the renewals: all is sent.
    pub(crate) fn handle_loaded(&mut self) {
        self.is_loaded = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_leave_after_their_number_of_messages() {
        let mut renewal = Renewal::new(NonZeroU32::new(2).unwrap(), 2);
        assert_eq!([renewal.take(1, 1), renewal.take(1, 2), renewal.take(1, 1)], [1, 1, 0]);
        renewal.handle_answers(1, 1);
        assert_eq!(renewal.poll(|_| true), None, "the second is under way");
        renewal.handle_answers(1, 1);
        assert_eq!((renewal.poll(|_| true), renewal.poll(|_| true)), (Some(1), None));
        assert_eq!([renewal.take(1, 1), renewal.take(0, 1)], [0, 1]);
        renewal.handle_back(1);
        assert_eq!(renewal.take(1, 1), 1);
    }

    #[test]
    fn nobody_leaves_twice_or_after_the_last_message() {
        let mut renewal = Renewal::new(NonZeroU32::MIN, 2);
        renewal.handle_answers(0, 1);
        assert_eq!(renewal.poll(|_| false), None);
        renewal.handle_loaded();
        renewal.handle_answers(1, 1);
        assert_eq!(renewal.poll(|_| true), None);
    }
}
