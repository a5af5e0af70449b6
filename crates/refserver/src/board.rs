//! The board of a running server: its metrics, and what it has to say.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::held::Held;
use crate::stats::Stats;

/// The age that a worker's figures may reach if the worker has done something since.
pub(crate) const PUBLISH_AFTER_NS: u64 = 100_000_000;

/// The shortest time between two notices of the same kind.
const SAY_INTERVAL_NS: u64 = 10_000_000_000;

/// Notices of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Slow clients together hold as many unsent bytes as they may.
    Crowd,
    /// The process has run out of file descriptors.
    Files,
    /// The kernel has run out of memory.
    Memory,
}

/// Statistics of one process, shared by all workers.
pub(crate) struct SharedStats {
    /// The number of the process, if the server has several.
    process: Option<usize>,
    held: Held,
    /// Each worker's figures, by its number.
    figures: Vec<Mutex<Figures>>,
    say: fn(&str),
    /// The time when each notice was last printed; 0: never.
    said_ns: [AtomicU64; 3],
}

/// Figures of one worker.
#[derive(Clone, Default)]
pub(crate) struct Figures {
    pub(crate) stats: Stats,
    /// The number of open connections.
    pub(crate) open: usize,
}

impl SharedStats {
    pub(crate) fn new(process: Option<usize>, workers: usize, held: Held, say: fn(&str)) -> SharedStats {
        let figures = (0..workers).map(|_| Mutex::default()).collect();
        SharedStats { process, held, figures, say, said_ns: Default::default() }
    }

    /// Replaces a worker's figures by newer ones.
    pub(crate) fn publish(&self, worker: usize, figures: Figures) {
        *self.lock(worker) = figures;
    }

    /// Returns whether these are the figures that the worker has published last.
    pub(crate) fn shows(&self, worker: usize, stats: &Stats, open: usize) -> bool {
        let shown = self.lock(worker);
        shown.open == open && shown.stats == *stats
    }

    /// Prints a notice, unless one of its kind has just been printed.
    pub(crate) fn say(&self, notice: Notice, now_ns: u64) {
        let said_ns = &self.said_ns[notice as usize];
        let last_ns = said_ns.load(Ordering::Relaxed);
        let is_due = last_ns == 0 || now_ns.saturating_sub(last_ns) >= SAY_INTERVAL_NS;
        // Several workers may find the notice due at once: one of them prints it.
        if is_due && said_ns.compare_exchange(last_ns, now_ns, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            (self.say)(&self.words(notice));
        }
    }

    fn words(&self, notice: Notice) -> String {
        match notice {
            Notice::Crowd => format!(
                "slow clients hold {} together, as much as they may (--max-backlog-total): those that are behind \
                 miss messages or are dropped",
                size(self.held.bytes_max())
            ),
            Notice::Files => "out of file descriptors (ulimit -n): clients wait to be accepted".into(),
            Notice::Memory => "the kernel has no memory for more connections or bytes".into(),
        }
    }

    /// Gives the figures in the text format of Prometheus.
    pub(crate) fn metrics(&self) -> String {
        let (mut sum, mut open) = (Stats::default(), 0);
        // One lock at a time: no worker that publishes waits for the whole sum.
        for worker in 0..self.figures.len() {
            let figures = self.lock(worker).clone();
            sum.add(&figures.stats);
            open += figures.open;
        }
        // Each scrape may come to another process, and the counters of several must not look like one that
        // falls.
        let process = self.process.map(|number| format!("process=\"{number}\""));
        let (alone, further) = match &process {
            None => (String::new(), String::new()),
            Some(process) => (format!("{{{process}}}"), format!(",{process}")),
        };
        let mut text = String::new();
        let mut line = |name: &str, kind: &str, value: u64| {
            let _ = write!(text, "# TYPE throng_serve_{name} {kind}\nthrong_serve_{name}{alone} {value}\n");
        };
        for (name, count) in sum.totals() {
            line(&format!("{name}_total"), "counter", count);
        }
        line("open_connections", "gauge", open as u64);
        line("backlog_bytes", "gauge", self.held.bytes() as u64);
        line("backlog_bytes_max", "gauge", self.held.bytes_max() as u64);
        let kinds = [("errors_total", "kind", &sum.errors), ("faults_total", "fault", &sum.faults)];
        for (name, label, counts) in kinds.iter().filter(|(.., counts)| !counts.is_empty()) {
            let _ = writeln!(text, "# TYPE throng_serve_{name} counter");
            for (kind, count) in *counts {
                let _ = writeln!(text, "throng_serve_{name}{{{label}=\"{kind}\"{further}}} {count}");
            }
        }
        text
    }

    /// Locks a worker's figures, also after a panic: a worker that panicked has left them whole.
    fn lock(&self, worker: usize) -> MutexGuard<'_, Figures> {
        self.figures[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number of bytes in the largest unit that divides it.
fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[test]
    fn repeated_notices_wait_a_while() {
        let board =
            SharedStats::new(None, 1, Held::new(5 << 20), |text| SAID.lock().unwrap().push(text.to_owned()));
        for now_ns in [1, 2, SAY_INTERVAL_NS, SAY_INTERVAL_NS + 1] {
            board.say(Notice::Crowd, now_ns);
        }
        board.say(Notice::Files, 2);
        let said = SAID.lock().unwrap();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("5 MiB") && said[2].contains("ulimit -n"), "{said:?}");
    }

    #[test]
    fn sizes_are_exact() {
        let sizes = [256 << 20, 1500 << 10, 512 << 10, 1000].map(size);
        assert_eq!(sizes, ["256 MiB", "1500 KiB", "512 KiB", "1000 bytes"]);
    }

    #[test]
    fn metrics_are_those_of_all_workers() {
        let held = Held::new(1000);
        let mut share = held.share();
        share.add(7);
        let board = SharedStats::new(None, 2, held, |_| {});
        let mut stats = Stats { echoes: 2, ..Stats::default() };
        stats.count_error("too_many_files");
        board.publish(0, Figures { stats: stats.clone(), open: 3 });
        board.publish(1, Figures { stats, open: 4 });
        let text = board.metrics();
        for line in [
            "throng_serve_echoes_total 4",
            "throng_serve_open_connections 7",
            "throng_serve_backlog_bytes 7",
            "throng_serve_backlog_bytes_max 1000",
            "throng_serve_errors_total{kind=\"too_many_files\"} 2",
        ] {
            assert!(text.lines().any(|of| of == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("faults_total"), "there are none");
    }

    #[test]
    fn metrics_name_one_process_of_several() {
        let board = SharedStats::new(Some(3), 1, Held::new(1000), |_| {});
        let mut stats = Stats::default();
        stats.count_error("reset");
        board.publish(0, Figures { stats, open: 1 });
        let text = board.metrics();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(samples.iter().all(|sample| sample.contains("process=\"3\"")), "{text}");
        assert!(samples.contains(&"throng_serve_open_connections{process=\"3\"} 1"), "{text}");
    }
}
