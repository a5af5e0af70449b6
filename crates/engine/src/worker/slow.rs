//! Clients that read slowly: a sip, then a wait.
//!
//! Rules. A slow client opens its session like any other. From then on it reads one sip when there is something, and
//! nothing more until its wait is over; then it reads again, until there is nothing. All waits are equally long, so
//! the clients that wait form a queue. Nothing is due to a slow client, and nothing it does is in a figure: it is load.

use std::collections::VecDeque;

use net::poll::Event;

use super::Worker;
use crate::ledger::State;
use crate::shared::Token;

/// The slow clients of a worker that wait before they read again.
#[derive(Default)]
pub(crate) struct Sips {
    /// When, and whose; the token names the connection.
    waiting: VecDeque<(u64, Token)>,
}

impl Sips {
    /// When the next of them reads.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.waiting.front().map(|&(at_ns, _)| at_ns)
    }

    fn poll(&mut self, now_ns: u64) -> Option<Token> {
        let &(at_ns, token) = self.waiting.front()?;
        (at_ns <= now_ns).then(|| self.waiting.pop_front())?;
        Some(token)
    }
}

impl Worker {
    /// What a client may be told of an event: one that waits hears of no bytes.
    pub(crate) fn heard_of(&self, token: Token, event: Event) -> Event {
        let record = &self.clients[token.client as usize].record;
        if record.is_waiting { Event { readable: false, closed: false, ..event } } else { event }
    }

    /// Lets a client that has taken a sip wait.
    pub(crate) fn handle_sip(&mut self, token: Token, now_ns: u64) {
        let (Some(slow), record) = (self.plan.slow, &mut self.clients[token.client as usize].record) else {
            return;
        };
        if std::mem::take(&mut record.has_sipped) {
            record.is_waiting = true;
            self.sips.waiting.push_back((now_ns + slow.sip().1, token));
        }
    }

    /// Lets those read whose wait is over.
    pub(crate) fn pour(&mut self, now_ns: u64) {
        while let Some(token) = self.sips.poll(now_ns) {
            let client = &mut self.clients[token.client as usize];
            if client.attempt == token.attempt && client.record.state != State::Vacant {
                client.record.is_waiting = false;
                let readable = Event {
                    token: token.pack(),
                    readable: true,
                    writable: false,
                    closed: false,
                    error: false,
                };
                self.handle_ready(readable);
            }
        }
    }
}
