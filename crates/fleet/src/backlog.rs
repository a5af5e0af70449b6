//! Events on their way from an agent: they yield to everything else, and are bounded.
//!
//! Rules. Events wait until the link has little under way, so that what a run is steered by never queues
//! behind them for long. When [`EVENTS_MAX`] wait, further ones are given up and counted with those that are
//! taken next, as at every stage of the log (`engine::events`). The books of a step, and a worker's end, wait
//! for the events before them: a coordinator that has the books has had the events.

use std::collections::VecDeque;

use engine::Report;
use engine::events::Batch;

/// The most events that wait: 42 MB.
const EVENTS_MAX: usize = 1 << 20;

/// Messages that wait for the link.
#[derive(Default)]
pub(crate) struct Backlog {
    reports: VecDeque<Report>,
    /// Number of events in these reports.
    events: usize,
    /// Events given up since the last batch that was taken.
    lost: u64,
}

impl Backlog {
    /// Takes a report that has to wait, and returns any other.
    pub(crate) fn add(&mut self, report: Report) -> Option<Report> {
        match report {
            Report::Events(batch) if self.events + batch.entries.len() > EVENTS_MAX => {
                self.lost += batch.lost + batch.entries.len() as u64;
                batch.recycle();
                None
            }
            Report::Events(batch) => {
                self.push(batch);
                None
            }
            Report::Settled(_) | Report::Finished { .. } => {
                if self.lost > 0 {
                    self.push(Batch::default());
                }
                if self.reports.is_empty() {
                    return Some(report);
                }
                self.reports.push_back(report);
                None
            }
            other => Some(other),
        }
    }

    fn push(&mut self, batch: Batch) {
        self.events += batch.entries.len();
        let lost = batch.lost + std::mem::take(&mut self.lost);
        self.reports.push_back(Report::Events(Batch { lost, ..batch }));
    }

    /// The next report to go out.
    pub(crate) fn poll(&mut self) -> Option<Report> {
        let report = self.reports.pop_front()?;
        if let Report::Events(batch) = &report {
            self.events -= batch.entries.len();
        }
        Some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Settled;
    use engine::events::{BATCH_ENTRIES, Entry, Kind};

    fn events(number: usize) -> Report {
        let entries = vec![Entry::new(Kind::Send, 0, 0); number];
        Report::Events(Batch { entries, ..Batch::default() })
    }

    fn drain(backlog: &mut Backlog) -> (u64, u64, u64) {
        let (mut kept, mut lost, mut books) = (0, 0, 0);
        while let Some(report) = backlog.poll() {
            match report {
                Report::Events(batch) => {
                    assert_eq!(books, 0, "events come before the books");
                    kept += batch.entries.len() as u64;
                    lost += batch.lost;
                }
                _ => books += 1,
            }
        }
        (kept, lost, books)
    }

    #[test]
    fn books_wait_for_events_and_nothing_else_does() {
        let mut backlog = Backlog::default();
        assert!(backlog.add(Report::Settled(Box::default())).is_some(), "nothing to wait for");
        assert!(backlog.add(events(3)).is_none());
        assert!(backlog.add(Report::Loaded { worker: 0, sent: 1, at_ns: 1 }).is_some());
        assert!(backlog.add(Report::Settled(Box::<Settled>::default())).is_none());
        assert_eq!(drain(&mut backlog), (3, 0, 1));
    }

    #[test]
    fn overflow_is_counted_with_the_next_batch() {
        let mut backlog = Backlog::default();
        let full = EVENTS_MAX / BATCH_ENTRIES;
        for _ in 0..full + 2 {
            assert!(backlog.add(events(BATCH_ENTRIES)).is_none());
        }
        let _ = backlog.poll();
        backlog.add(events(BATCH_ENTRIES));
        backlog.add(events(5));
        backlog.add(Report::Settled(Box::default()));
        let (kept, lost, books) = drain(&mut backlog);
        assert_eq!((kept, lost, books), ((full * BATCH_ENTRIES) as u64, 2 * BATCH_ENTRIES as u64 + 5, 1));
        assert_eq!(backlog.events, 0);
    }
}
