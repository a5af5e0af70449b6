//! The event log at its source: what there is to know of each event, and in what portions it leaves a worker.

use std::sync::mpsc::Sender;

use serde::{Deserialize, Serialize};

/// Entries in a batch.
pub const BATCH_ENTRIES: usize = 4096;
/// A number that does not apply.
const NONE: u32 = u32::MAX;

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A client began to connect.
    Connect,
    /// It is usable; latency: since it began to connect.
    Handshake,
    /// A message was sent; latency: since it was due.
    Send,
    /// An echo, or a copy of a broadcast, came in for the first time; latency: since it was due to be sent.
    Receive,
    /// A broadcast was acknowledged; latency: since it was due to be sent.
    Ack,
    /// A message, or an acknowledgement, came in again.
    Duplicate,
    /// A message came in that was not due.
    Unexpected,
    /// A copy came in of a broadcast in another room.
    Leaked,
    /// A message came in whose content was damaged.
    Corrupt,
    /// Something failed; the detail is the name under which results count it.
    Error,
    /// A client was not usable in time, or a message was given up; the latency is what it had taken by then.
    Timeout,
    /// A connection is over; the detail says why, unless we ended it.
    Close,
}

impl Kind {
    /// All kinds, in the order of their definition.
    pub const ALL: [Kind; 12] = [
        Kind::Connect,
        Kind::Handshake,
        Kind::Send,
        Kind::Receive,
        Kind::Ack,
        Kind::Duplicate,
        Kind::Unexpected,
        Kind::Leaked,
        Kind::Corrupt,
        Kind::Error,
        Kind::Timeout,
        Kind::Close,
    ];

    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Connect => "connect",
            Kind::Handshake => "handshake",
            Kind::Send => "send",
            Kind::Receive => "receive",
            Kind::Ack => "ack",
            Kind::Duplicate => "duplicate",
            Kind::Unexpected => "unexpected",
            Kind::Leaked => "leaked",
            Kind::Corrupt => "corrupt",
            Kind::Error => "error",
            Kind::Timeout => "timeout",
            Kind::Close => "close",
        }
    }
}

/// One event. 40 bytes, so that what does not apply is a value of its own rather than an `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    at_ns: u64,
    latency_ns: u64,
    client: u32,
    sender: u32,
    message: u32,
    bytes: u32,
    step: u16,
    detail: u16,
    kind: Kind,
}

impl Entry {
    /// An event at this moment of the run's clock, of a client by its number at its worker.
    #[inline]
    pub fn new(kind: Kind, at_ns: u64, client: u32) -> Self {
        let (latency_ns, sender, message, bytes) = (u64::MAX, NONE, NONE, NONE);
        Entry { at_ns, latency_ns, client, sender, message, bytes, step: 0, detail: 0, kind }
    }

    /// Sets the latency.
    #[inline]
    pub fn latency(self, latency_ns: u64) -> Self {
        Entry { latency_ns, ..self }
    }

    /// Sets the message, by its number and its sender's number in the run.
    #[inline]
    pub fn message(self, sender: u32, message: u32) -> Self {
        Entry { sender, message, ..self }
    }

    /// Sets the bytes of the message.
    #[inline]
    pub fn bytes(self, bytes: u32) -> Self {
        Entry { bytes, ..self }
    }

    /// The entry as the log has it: on the run's clock, with the client's number in the run and the step of
    /// the results (0: none).
    #[inline]
    pub(crate) fn placed(self, epoch_ns: u64, client: u32, step: u16) -> Self {
        Entry { at_ns: self.at_ns.saturating_sub(epoch_ns), client, step, ..self }
    }

    /// Adds the name at this place among the batch's names.
    pub(crate) fn named(self, place: usize) -> Self {
        Entry { detail: place as u16 + 1, ..self }
    }

    /// The kind of the event.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// When, since the start of the run.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// The step of the results, from 1; `None` in a warm-up.
    pub fn step(&self) -> Option<u16> {
        (self.step > 0).then_some(self.step)
    }

    /// The client it happened to, numbered over all workers.
    pub fn client(&self) -> u32 {
        self.client
    }

    /// The client that sent the message, numbered over all workers.
    pub fn sender(&self) -> Option<u32> {
        (self.sender != NONE).then_some(self.sender)
    }

    /// The message's number: with step and sender it is unique.
    pub fn message_number(&self) -> Option<u32> {
        (self.message != NONE).then_some(self.message)
    }

    /// The latency, whose beginning and end depend on the kind.
    pub fn latency_ns(&self) -> Option<u64> {
        (self.latency_ns != u64::MAX).then_some(self.latency_ns)
    }

    /// Bytes of the message: on the wire if it was sent, of its payload if it was received.
    pub fn byte_count(&self) -> Option<u32> {
        (self.bytes != NONE).then_some(self.bytes)
    }

    /// The index of its detail in [`Batch::names`].
    pub fn detail(&self) -> Option<usize> {
        usize::from(self.detail).checked_sub(1)
    }
}

/// Events on their way from a worker to the log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Batch {
    /// In the order in which they happened at the worker.
    pub entries: Vec<Entry>,
    /// The details that entries point to.
    pub names: Vec<String>,
    /// Events that were given up before these.
    pub lost: u64,
    /// The channel that the buffer returns by once the entries have been taken out; not known in another
    /// process.
    #[serde(skip)]
    pub pool: Option<Sender<Vec<Entry>>>,
}

impl Batch {
    /// Gives the buffer of the entries, which are done with, back to the worker.
    pub fn recycle(mut self) {
        if let Some(pool) = self.pool {
            self.entries.clear();
            // A worker that has ended needs it no more.
            let _ = pool.send(self.entries);
        }
    }
}
