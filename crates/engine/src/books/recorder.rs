//! A worker's recording of events.
//!
//! Rules. A note goes into a buffer that is there already. A full buffer is handed on as a [`Batch`] and
//! another taken from those that have come back; when `BATCHES_MAX` are out, the notes in hand are given up
//! and counted as lost. So the hot path never waits and never allocates for an event, and memory is bounded.

use std::sync::mpsc::{self, Receiver, Sender};

use load::{Segment, StepOrder};

use crate::events::{BATCH_ENTRIES, Batch, Entry};
use crate::messages::Report;

/// Batches of one worker that may be under way: a quarter of a second at a million events per second.
const BATCHES_MAX: usize = 64;

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
    pool: (Sender<Vec<Entry>>, Receiver<Vec<Entry>>),
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
            pool: mpsc::channel(),
            reports,
        }
    }

    /// Begins a step, to which all that follows belongs.
    pub(crate) fn start_step(&mut self, order: &StepOrder) {
        self.steps_measured += u16::from(!order.warmup);
        self.step = if order.warmup { 0 } else { self.steps_measured };
    }

    /// Records an event.
    #[inline]
    pub(crate) fn add(&mut self, entry: Entry) {
        if self.entries.len() == BATCH_ENTRIES {
            self.flush();
        }
        let client = self.segment.number(entry.client());
        self.entries.push(entry.placed(self.epoch_ns, client, self.step));
    }

    /// Records an event with a detail.
    pub(crate) fn add_detailed(&mut self, entry: Entry, detail: &'static str) {
        // A handful of static names: a scan is quicker than a hash.
        let known = self.names.iter().position(|name| *name == detail);
        let place = known.unwrap_or_else(|| {
            self.names.push(detail);
            self.names.len() - 1
        });
        self.add(entry.named(place));
    }

    /// Hands on the recorded events.
    pub(crate) fn flush(&mut self) {
        let Some(empty) = self.spare() else {
            self.lost += self.entries.len() as u64;
            return self.entries.clear();
        };
        let batch = Batch {
            entries: std::mem::replace(&mut self.entries, empty),
            names: self.names.iter().map(ToString::to_string).collect(),
            lost: std::mem::take(&mut self.lost),
            pool: Some(self.pool.0.clone()),
        };
        // A crew that is gone is noticed at the worker's inbox.
        let _ = self.reports.send(Report::Events(batch));
    }

    /// An empty buffer: one that has come back, or a new one while there are not too many.
    fn spare(&mut self) -> Option<Vec<Entry>> {
        self.pool.1.try_recv().ok().or_else(|| {
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
    use crate::events::Kind;

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
    fn events_that_do_not_fit_are_counted() {
        let (mut recorder, inbox) = recorder();
        let entry = Entry::new(Kind::Send, 1_000, 0);
        for _ in 0..(BATCHES_MAX + 2) * BATCH_ENTRIES {
            recorder.add(entry);
        }
        let taken = batches(&inbox);
        assert_eq!(taken.len(), BATCHES_MAX - 1, "one is still being filled");
        for batch in taken {
            batch.recycle();
        }
        for _ in 0..BATCH_ENTRIES {
            recorder.add(entry);
        }
        recorder.flush();
        let later = batches(&inbox);
        let lost: u64 = later.iter().map(|batch| batch.lost).sum();
        let kept: usize = later.iter().map(|batch| batch.entries.len()).sum();
        assert_eq!(lost + kept as u64, 4 * BATCH_ENTRIES as u64);
        assert!(lost > 0 && later.iter().all(|batch| batch.entries.capacity() == BATCH_ENTRIES));
    }
}
