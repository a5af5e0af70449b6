//! Between a worker and its clients: every message passes here, and some do not come out as they went in.
//!
//! A message is numbered; may end its connection; is dropped, or not; is corrupted, doubled, held back until
//! the next has gone; and leaves now, or later by the service time, its delay, and the next tick, in that
//! order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use net::socket::Socket;

use super::frames::{self, Piece};
use super::spec::{CloseMethod, Faults};

/// The most bytes that may wait to be sent later. Further bytes are lost, and counted.
const LATER_BYTES_MAX: usize = 256 << 20;

/// The ranges of messages in an output that holds nothing else.
pub(crate) const EVERYTHING: &[Range<usize>] = slice::from_ref(&(0..usize::MAX));

/// Shared state of a server's workers: the numbers of messages and clients, and the time until which messages
/// are served.
#[derive(Debug)]
pub(crate) struct Shared {
    faults: Faults,
    /// The time when waves and ticks began.
    epoch_ns: u64,
    messages: AtomicU64,
    clients: AtomicU64,
    /// The number of departures from rooms by clients that stay connected.
    departures: AtomicU64,
    arrivals: AtomicU64,
    /// The time when the last message taken on will have been served.
    busy_until_ns: AtomicU64,
}

/// The faults' record of one client.
#[derive(Debug)]
pub(crate) struct ClientFaults {
    number: u64,
    /// The number of the client's messages so far.
    messages: u64,
    /// A message that is sent after the next one, and the time before which it is not.
    held: Option<(u64, Vec<u8>)>,
    /// True if nothing is sent to the client or read from it any more.
    pub(crate) silent: bool,
}

/// A fault to carry out once nothing is being sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeferredFault {
    /// Sends these bytes, meant for the client of the token, to another client.
    Stray(u64, Vec<u8>),
    /// Sends these bytes, meant for the client of the token, to a client of another room.
    Leak(u64, Vec<u8>),
    /// Ends the connection of the token.
    End(u64, CloseMethod),
}

/// The faults of one worker.
pub(crate) struct WorkerFaults {
    shared: Arc<Shared>,
    now: Vec<u8>,
    later: BinaryHeap<Reverse<Later>>,
    later_bytes: usize,
    next_number: u64,
    deferred: VecDeque<DeferredFault>,
    /// Connections that had something to read while the server was deaf.
    unread: Vec<u64>,
    waiting: VecDeque<(u64, Socket)>,
    counts: BTreeMap<&'static str, u64>,
}

/// Bytes to send later, ordered by time, then by their number, which is unique.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Later {
    at_ns: u64,
    number: u64,
    token: u64,
    bytes: Vec<u8>,
}

impl Shared {
    pub(crate) fn new(faults: Faults, epoch_ns: u64) -> Shared {
        let zero = || AtomicU64::new(0);
        let (messages, clients, arrivals, busy_until_ns) = (zero(), zero(), zero(), zero());
        Shared { faults, epoch_ns, messages, clients, departures: zero(), arrivals, busy_until_ns }
    }

    /// The time when a message that is ready at `now_ns` is sent.
    fn release_ns(&self, now_ns: u64, delay_ns: u64) -> u64 {
        let mut at_ns = now_ns;
        if let Some(service_ns) = self.faults.service_ns {
            let next = |busy_until_ns: u64| Some(busy_until_ns.max(now_ns) + service_ns);
            // One server that serves one message at a time, whichever worker has it: the time is shared by
            // all.
            let before = self.busy_until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
            at_ns = before.unwrap_or_default().max(now_ns) + service_ns;
        }
        at_ns += delay_ns;
        match self.faults.tick_ns {
            Some(tick_ns) => self.epoch_ns + (at_ns - self.epoch_ns).next_multiple_of(tick_ns),
            None => at_ns,
        }
    }
}

impl WorkerFaults {
    pub(crate) fn new(shared: Arc<Shared>) -> WorkerFaults {
        WorkerFaults {
            shared,
            now: Vec::new(),
            later: BinaryHeap::new(),
            later_bytes: 0,
            next_number: 0,
            deferred: VecDeque::new(),
            unread: Vec::new(),
            waiting: VecDeque::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Makes the record of a client that was upgraded.
    pub(crate) fn client(&self) -> Box<ClientFaults> {
        let number = self.shared.clients.fetch_add(1, Ordering::Relaxed);
        Box::new(ClientFaults { number, messages: 0, held: None, silent: false })
    }

    /// Returns whether any fault affects messages: otherwise messages need not be examined.
    pub(crate) fn are_of_messages(&self) -> bool {
        let Faults { drop, duplicate, reorder, corrupt, stray, leak, delays, endings, .. } =
            &self.shared.faults;
        let is_chosen =
            [drop, duplicate, reorder, corrupt, stray, leak].iter().any(|choice| choice.is_some());
        let is_timed = self.shared.faults.service_ns.is_some() || self.shared.faults.tick_ns.is_some();
        is_chosen || is_timed || !delays.is_empty() || !endings.is_empty()
    }

    /// Returns whether a client that leaves a room, while it stays connected, is to get the room's messages
    /// all the same.
    pub(crate) fn lingers(&mut self) -> bool {
        let lingers = self.shared.faults.linger.is_some()
            && self.shared.faults.lingers(self.shared.departures.fetch_add(1, Ordering::Relaxed));
        if lingers {
            self.count("linger");
        }
        lingers
    }

    /// Gives the part of `output`, which is for the client of `token`, to send now. The rest is kept here.
    /// `messages` are the ranges of bytes that hold messages, in order: bytes between them are left alone.
    pub(crate) fn handle_messages(
        &mut self,
        client: &mut ClientFaults,
        token: u64,
        output: &[u8],
        messages: &[Range<usize>],
        now_ns: u64,
    ) -> &[u8] {
        let mut messages = messages.iter().peekable();
        self.now.clear();
        let mut rest = output;
        // A message in here may end the connection, and what is behind it is not sent.
        while !rest.is_empty() && !client.silent {
            let at = output.len() - rest.len();
            while messages.next_if(|range| range.end <= at).is_some() {}
            let (piece, behind) = frames::cut(rest);
            rest = behind;
            match piece {
                Piece::Message(frame, payload_at)
                    if messages.peek().is_some_and(|range| range.contains(&at)) =>
                {
                    self.handle_message(client, token, frame, payload_at, now_ns);
                }
                Piece::Message(bytes, _) | Piece::Other(bytes) => self.now.extend_from_slice(bytes),
            }
        }
        &self.now
    }

    fn handle_message(
        &mut self,
        client: &mut ClientFaults,
        token: u64,
        frame: &[u8],
        payload_at: usize,
        now_ns: u64,
    ) {
        let shared = Arc::clone(&self.shared);
        // Numbered before anything is decided, so that a message that is dropped has a number as well.
        let k = shared.messages.fetch_add(1, Ordering::Relaxed);
        let own = client.messages;
        client.messages += 1;
        if let Some(how) = shared.faults.ending(client.number, own) {
            // Nothing behind this message comes out, though it may be in the same write.
            client.silent = true;
            return self.deferred.push_back(DeferredFault::End(token, how));
        }
        let outcome = shared.faults.outcome(k, own);
        if outcome.drop {
            return self.count("drop");
        }
        let mut bytes = frame.to_vec();
        if outcome.stray {
            self.deferred.push_back(DeferredFault::Stray(token, bytes.clone()));
        }
        if outcome.leak {
            self.deferred.push_back(DeferredFault::Leak(token, bytes.clone()));
        }
        // After the copies for others, which are sound.
        if outcome.corrupt {
            self.count("corrupt");
            frames::corrupt(&mut bytes, payload_at);
        }
        if outcome.duplicate {
            self.count("dup");
            bytes.extend_from_within(..);
        }
        let at_ns = shared.release_ns(now_ns, outcome.delay_ns);
        // One at a time: holding this one back as well would lose the one that is held.
        if outcome.reorder && client.held.is_none() {
            self.count("reorder");
            return client.held = Some((at_ns, bytes));
        }
        self.release(token, at_ns, bytes, now_ns);
        // Behind this one: so the two have changed places.
        if let Some((held_at_ns, held)) = client.held.take() {
            self.release(token, held_at_ns.max(at_ns), held, now_ns);
        }
    }

    /// Sends messages at `at_ns`: at once, or kept until then.
    fn release(&mut self, token: u64, at_ns: u64, bytes: Vec<u8>, now_ns: u64) {
        if at_ns <= now_ns {
            self.now.extend_from_slice(&bytes);
        } else if self.later_bytes + bytes.len() > LATER_BYTES_MAX {
            // A delay at a high rate needs memory without bound; what is lost by that is said, as it is no
            // fault asked for.
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                self.count("overflow");
                (_, rest) = frames::cut(rest);
            }
        } else {
            self.later_bytes += bytes.len();
            self.later.push(Reverse(Later { at_ns, number: self.next_number, token, bytes }));
            self.next_number += 1;
        }
    }

    /// Takes the next bytes whose time has come, and the token of their client.
    pub(crate) fn poll_later(&mut self, now_ns: u64) -> Option<(u64, Vec<u8>)> {
        if self.later.peek()?.0.at_ns > now_ns {
            return None;
        }
        let Reverse(Later { token, bytes, .. }) = self.later.pop()?;
        self.later_bytes -= bytes.len();
        Some((token, bytes))
    }

    /// Takes the next fault to carry out besides sending.
    pub(crate) fn poll_deferred(&mut self) -> Option<DeferredFault> {
        self.deferred.pop_front()
    }

    /// Handles an accepted connection: gives it back if the server may serve it now.
    pub(crate) fn handle_accepted(&mut self, socket: Socket, now_ns: u64) -> Option<Socket> {
        let arrival = self.shared.arrivals.fetch_add(1, Ordering::Relaxed);
        if self.shared.faults.refuses(arrival) {
            self.count("refuse");
            // As near to a refused connection as comes once the kernel has accepted it.
            socket.abort();
            return None;
        }
        match self.shared.faults.accept_delay_ns(arrival) {
            0 => Some(socket),
            delay_ns => {
                self.count("accept");
                self.waiting.push_back((now_ns + delay_ns, socket));
                None
            }
        }
    }

    /// Takes the next connection that has waited long enough: all wait for the same time.
    pub(crate) fn poll_accepted(&mut self, now_ns: u64) -> Option<Socket> {
        self.waiting.front().filter(|(at_ns, _)| *at_ns <= now_ns)?;
        self.waiting.pop_front().map(|(_, socket)| socket)
    }

    /// Returns whether the client may not be read now. If it may be read again later, it is given by
    /// [`poll_unread`](WorkerFaults::poll_unread).
    pub(crate) fn is_deaf(&mut self, client: Option<&ClientFaults>, token: u64, now_ns: u64) -> bool {
        if client.is_some_and(|client| client.silent) {
            return true;
        }
        let deaf = self.deaf_until_ns(now_ns).is_some();
        // Events come by edges: without this, what has arrived meanwhile would not be read until more comes.
        if deaf {
            self.unread.push(token);
        }
        deaf
    }

    /// Takes the token of a connection that may be read again.
    pub(crate) fn poll_unread(&mut self, now_ns: u64) -> Option<u64> {
        if self.unread.is_empty() || self.deaf_until_ns(now_ns).is_some() {
            return None;
        }
        self.unread.pop()
    }

    /// The time until which the server does nothing at all, if it is stalled.
    pub(crate) fn stalled_until_ns(&self, now_ns: u64) -> Option<u64> {
        let epoch_ns = self.shared.epoch_ns;
        Some(epoch_ns + self.shared.faults.stall?.end_ns(now_ns - epoch_ns)?)
    }

    fn deaf_until_ns(&self, now_ns: u64) -> Option<u64> {
        let epoch_ns = self.shared.epoch_ns;
        Some(epoch_ns + self.shared.faults.deaf?.end_ns(now_ns - epoch_ns)?)
    }

    /// The next time at which something is due here.
    pub(crate) fn poll_timeout(&self, now_ns: u64) -> Option<u64> {
        let later = self.later.peek().map(|Reverse(later)| later.at_ns);
        let accepted = self.waiting.front().map(|(at_ns, _)| *at_ns);
        let unread = (!self.unread.is_empty()).then(|| self.deaf_until_ns(now_ns).unwrap_or(now_ns));
        [later, accepted, unread].into_iter().flatten().min()
    }

    /// The number of faults committed, by kind.
    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// Counts a fault that was committed.
    pub(crate) fn count(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }
}

impl CloseMethod {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CloseMethod::Close => "close",
            CloseMethod::Reset => "kill",
            CloseMethod::Mute => "mute",
        }
    }
}

#[cfg(test)]
mod tests;
