//! The event log at its source: what a worker notes of each event, and how that leaves the worker.
//!
//! Rules. A note goes into a buffer that is there already. A full buffer is handed on as a [`Batch`] and another taken
//! from those that have come home; when `BATCHES_MAX` are out, the notes in hand are given up and counted as lost.
//! So the hot path never waits and never allocates for an event, and memory is bounded.

use std::sync::mpsc::{self, Receiver, Sender};

use load::{Segment, StepOrder};
use serde::{Deserialize, Serialize};

use crate::messages::Report;

/// Entries in a batch.
pub const BATCH_ENTRIES: usize = 4096;
/// Batches of one worker that may be under way: a quarter of a second at a million events per second.
const BATCHES_MAX: usize = 64;
/// A number that does not apply.
const NONE: u32 = u32::MAX;

/// What happened.
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
    /// A message came in that nobody was waiting for.
    Unexpected,
    /// A message came in whose content was damaged.
    Corrupt,
    /// Something failed; the detail is the name under which results count it.
    Error,
    /// A client was not usable in time, or a message was given up; latency: how long that had taken by then.
    Timeout,
    /// A connection is over; the detail says why, unless we ended it.
    Close,
}

impl Kind {
    /// All of them, in the order of their definition.
    pub const ALL: [Kind; 11] = [
        Kind::Connect,
        Kind::Handshake,
        Kind::Send,
        Kind::Receive,
        Kind::Ack,
        Kind::Duplicate,
        Kind::Unexpected,
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

    /// It took this long.
    #[inline]
    pub fn latency(self, latency_ns: u64) -> Self {
        Entry { latency_ns, ..self }
    }

    /// The message, by its number and its sender's among the clients of all workers.
    #[inline]
    pub fn message(self, sender: u32, message: u32) -> Self {
        Entry { sender, message, ..self }
    }

    /// The message had so many bytes.
    #[inline]
    pub fn bytes(self, bytes: u32) -> Self {
        Entry { bytes, ..self }
    }

    /// What happened.
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

    /// How long it took; from when to when is the kind's to say.
    pub fn latency_ns(&self) -> Option<u64> {
        (self.latency_ns != u64::MAX).then_some(self.latency_ns)
    }

    /// Bytes: of a message sent, as it goes over the wire; of one received, its payload.
    pub fn byte_count(&self) -> Option<u32> {
        (self.bytes != NONE).then_some(self.bytes)
    }

    /// Where in [`Batch::names`] its detail is.
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
    /// Where the buffer goes once the entries have been taken out; not known in another process.
    #[serde(skip)]
    pub home: Option<Sender<Vec<Entry>>>,
}

impl Batch {
    /// The entries are taken care of: their buffer may be used again.
    pub fn go_home(mut self) {
        if let Some(home) = self.home {
            self.entries.clear();
            // A worker that has ended needs it no more.
            let _ = home.send(self.entries);
        }
    }
}

/// Collects the events of one worker.
pub(crate) struct Recorder {
    segment: Segment,
    epoch_ns: u64,
    /// The step's number in the results; 0 in a warm-up.
    step: u16,
    steps_measured: u16,
    entries: Vec<Entry>,
    names: Vec<&'static str>,
    lost: u64,
    batches: usize,
    home: (Sender<Vec<Entry>>, Receiver<Vec<Entry>>),
    reports: Sender<Report>,
}

impl Recorder {
    pub(crate) fn new(segment: Segment, epoch_ns: u64, reports: Sender<Report>) -> Self {
        Self {
            segment,
            epoch_ns,
            step: 0,
            steps_measured: 0,
            entries: Vec::with_capacity(BATCH_ENTRIES),
            names: Vec::new(),
            lost: 0,
            batches: 1,
            home: mpsc::channel(),
            reports,
        }
    }

    /// What follows belongs to this step.
    pub(crate) fn start_step(&mut self, order: &StepOrder) {
        self.steps_measured += u16::from(!order.warmup);
        self.step = if order.warmup { 0 } else { self.steps_measured };
    }

    /// Notes an event.
    #[inline]
    pub(crate) fn add(&mut self, entry: Entry) {
        if self.entries.len() == BATCH_ENTRIES {
            self.flush();
        }
        self.entries.push(Entry {
            at_ns: entry.at_ns.saturating_sub(self.epoch_ns),
            client: self.segment.number(entry.client),
            step: self.step,
            ..entry
        });
    }

    /// Notes an event with a word to it.
    pub(crate) fn add_detailed(&mut self, entry: Entry, detail: &'static str) {
        let known = self.names.iter().position(|name| *name == detail);
        let place = known.unwrap_or_else(|| {
            self.names.push(detail);
            self.names.len() - 1
        });
        self.add(Entry { detail: place as u16 + 1, ..entry });
    }

    /// Hands on what has been noted.
    pub(crate) fn flush(&mut self) {
        let Some(empty) = self.spare() else {
            self.lost += self.entries.len() as u64;
            return self.entries.clear();
        };
        let batch = Batch {
            entries: std::mem::replace(&mut self.entries, empty),
            names: self.names.iter().map(ToString::to_string).collect(),
            lost: std::mem::take(&mut self.lost),
            home: Some(self.home.0.clone()),
        };
        // A crew that is gone is noticed at the worker's inbox.
        let _ = self.reports.send(Report::Events(batch));
    }

    /// An empty buffer: one that has come home, or a new one while there are not too many.
    fn spare(&mut self) -> Option<Vec<Entry>> {
        self.home.1.try_recv().ok().or_else(|| {
            (self.batches < BATCHES_MAX).then(|| {
                self.batches += 1;
                Vec::with_capacity(BATCH_ENTRIES)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder() -> (Recorder, Receiver<Report>) {
        let (reports, inbox) = mpsc::channel();
        let mut recorder = Recorder::new(Segment { worker: 1, workers: 3 }, 1_000, reports);
        recorder.start_step(&order(true));
        recorder.start_step(&order(false));
        (recorder, inbox)
    }

    fn order(warmup: bool) -> StepOrder {
        StepOrder { index: 0, clients: 1, load: load::Load::Hold { duration_ns: 1 }, warmup }
    }

    fn batches(inbox: &Receiver<Report>) -> Vec<Batch> {
        let batch = |report| if let Report::Events(batch) = report { Some(batch) } else { None };
        inbox.try_iter().filter_map(batch).collect()
    }

    #[test]
    fn an_entry_is_dated_numbered_and_named() {
        let (mut recorder, inbox) = recorder();
        recorder.add(Entry::new(Kind::Send, 1_500, 2).message(7, 0).latency(0).bytes(33));
        recorder.add_detailed(Entry::new(Kind::Error, 1_600, 0), "reset");
        recorder.add_detailed(Entry::new(Kind::Close, 1_600, 0), "reset");
        recorder.flush();
        let batch = batches(&inbox).remove(0);
        let [send, error, close] = batch.entries[..] else { panic!("{batch:?}") };
        assert_eq!((send.kind(), send.at_ns(), send.client(), send.step()), (Kind::Send, 500, 7, Some(1)));
        assert_eq!((send.sender(), send.message_number(), send.latency_ns()), (Some(7), Some(0), Some(0)));
        assert_eq!((error.client(), error.latency_ns(), error.sender()), (1, None, None));
        assert_eq!(
            (batch.names.as_slice(), error.detail(), close.detail()),
            (&["reset".into()][..], Some(0), Some(0))
        );
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (mut recorder, inbox) = recorder();
        let entry = Entry::new(Kind::Send, 1_000, 0);
        (0..(BATCHES_MAX + 2) * BATCH_ENTRIES).for_each(|_| recorder.add(entry));
        let taken = batches(&inbox);
        assert_eq!(taken.len(), BATCHES_MAX - 1, "one is still being filled");
        taken.into_iter().for_each(Batch::go_home);
        (0..BATCH_ENTRIES).for_each(|_| recorder.add(entry));
        recorder.flush();
        let later = batches(&inbox);
        let lost: u64 = later.iter().map(|batch| batch.lost).sum();
        let kept: usize = later.iter().map(|batch| batch.entries.len()).sum();
        assert_eq!(lost + kept as u64, 4 * BATCH_ENTRIES as u64);
        assert!(lost > 0 && later.iter().all(|batch| batch.entries.capacity() == BATCH_ENTRIES));
    }
}
