//! The target's own metrics: its own metrics endpoint, read all the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use results::finding::Caveat;
use results::format::counted;

use crate::http::{Answer, Source, Timeouts};

mod exposition;

pub use exposition::Metrics;

/// Interval of reads: twice a second, so that every second of the timeline has a value of its own.
const INTERVAL: Duration = Duration::from_millis(500);
/// Timeouts of a read: an endpoint that takes longer is not worth asking every second.
const PATIENCE: Timeouts = Timeouts { word: Duration::from_millis(900), answer: Duration::from_secs(2) };
/// How old metrics may be: a read that takes longer says nothing of now.
const AGE_MAX: Duration = INTERVAL.saturating_add(PATIENCE.answer);
/// How often the thread checks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// The most metrics that are kept: a histogram alone has dozens.
const METRICS_MAX: usize = 200;

/// Reads an endpoint until dropped.
pub struct Scrape {
    shared: Arc<Shared>,
}

struct Shared {
    is_over: AtomicBool,
    state: Mutex<State>,
}

struct State {
    latest: Metrics,
    /// When the metrics were read.
    read_at: Instant,
    reads: u64,
    failures: u64,
    last_failure: String,
}

impl Scrape {
    /// Reads the source for the first time, and from then on twice a second. `only`: names must start with
    /// one of these; empty: all but the buckets of histograms.
    ///
    /// # Errors
    /// Why it cannot be read, or that it has none of the metrics asked for, in words for the user.
    pub fn start(source: Source, only: Vec<String>) -> Result<Self, String> {
        let read = move || -> Result<Metrics, String> {
            let mut metrics = exposition::parse(&text(source.get(PATIENCE)?)?)?;
            let all = metrics.len();
            metrics.retain(|name, _| is_wanted(name, &only));
            match metrics.len() {
                0 => Err(why_none(all, &only)),
                1..=METRICS_MAX => Ok(metrics),
                n => Err(format!(
                    "{n} metrics, and at most {METRICS_MAX} are kept: name some with --scrape-only"
                )),
            }
        };
        // The first read is the caller's, so that a wrong URL ends the run before it begins.
        let shared =
            Arc::new(Shared { is_over: AtomicBool::new(false), state: Mutex::new(State::new(read()?)) });
        let seen = Arc::clone(&shared);
        let reading = move || {
            while seen.waits() {
                seen.note(read());
            }
        };
        thread::Builder::new().name("scrape".into()).spawn(reading).map_err(|e| e.to_string())?;
        Ok(Self { shared })
    }

    /// The latest metrics; none while an answer is overdue.
    pub fn latest(&self) -> Metrics {
        self.shared.state().latest_at(Instant::now())
    }

    /// How often the source could not be read, and why the last time.
    pub fn trouble(&self) -> Option<Caveat> {
        let state = self.shared.state();
        let State { reads, failures, last_failure, .. } = &*state;
        let last = last_failure.clone();
        (*failures > 0).then_some(Caveat::Scrape { failures: *failures, reads: *reads, last })
    }
}

impl Drop for Scrape {
    fn drop(&mut self) {
        // The thread is not waited for: a look-up of its host's address has no time limit.
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl State {
    /// The state after the first read.
    fn new(latest: Metrics) -> Self {
        Self { latest, read_at: Instant::now(), reads: 1, failures: 0, last_failure: String::new() }
    }

    /// The latest metrics, if they are not too old at `now`.
    fn latest_at(&self, now: Instant) -> Metrics {
        match now.saturating_duration_since(self.read_at) <= AGE_MAX {
            true => self.latest.clone(),
            false => Metrics::default(),
        }
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, read: Result<Metrics, String>) {
        let mut state = self.state();
        state.reads += 1;
        match read {
            Ok(metrics) => (state.latest, state.read_at) = (metrics, Instant::now()),
            Err(failure) => {
                state.failures += 1;
                state.last_failure = failure;
                // What it said before is not what it says now.
                state.latest.clear();
            }
        }
    }

    /// Waits for the next read. Returns false if there is none.
    fn waits(&self) -> bool {
        for _ in 0..INTERVAL.as_millis() / LOOK_INTERVAL.as_millis() {
            if self.is_over.load(Ordering::Relaxed) {
                return false;
            }
            thread::sleep(LOOK_INTERVAL);
        }
        true
    }
}

fn text(answer: Answer) -> Result<String, String> {
    match answer.status {
        200 => String::from_utf8(answer.body).map_err(|_| "the answer is not UTF-8".into()),
        status => Err(format!("the answer is HTTP {status}")),
    }
}

/// Why none of an endpoint's metrics is kept.
fn why_none(all: usize, only: &[String]) -> String {
    match (all, only) {
        (0, _) => "it has no metrics".into(),
        (_, []) => "it has no metrics but histogram buckets: name them with --scrape-only".into(),
        _ => {
            let metrics = counted(all as u64, "metric");
            format!("it has {metrics}, and none begins with {}: see --scrape-only", only.join(" or "))
        }
    }
}

fn is_wanted(name: &str, only: &[String]) -> bool {
    if only.is_empty() {
        // Buckets are most of an endpoint's lines, and say nothing one by one on a timeline.
        let family = name.split('{').next().unwrap_or(name);
        return !family.ends_with("_bucket");
    }
    only.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_metrics_pages_are_said() {
        let of = |status, body: &[u8]| text(Answer { status, body: body.to_vec() });
        assert_eq!(of(200, b"up 1\n"), Ok("up 1\n".into()));
        assert_eq!(of(404, b"up 1\n"), Err("the answer is HTTP 404".into()));
        assert_eq!(of(200, b"\xff"), Err("the answer is not UTF-8".into()));
    }

    #[test]
    fn overdue_metrics_are_not_repeated() {
        let state = State::new(exposition::parse("up 1\n").unwrap());
        let after = |age| state.latest_at(state.read_at + age).len();
        assert_eq!([Duration::ZERO, AGE_MAX, AGE_MAX + LOOK_INTERVAL].map(after), [1, 1, 0]);
    }

    #[test]
    fn buckets_are_left_out_unless_asked_for() {
        assert!(is_wanted("up", &[]) && !is_wanted("lat_bucket{le=\"1\"}", &[]));
        let only = ["lat_".to_owned()];
        assert!(is_wanted("lat_bucket{le=\"1\"}", &only) && !is_wanted("up", &only));
        assert!(why_none(4, &[]).contains("--scrape-only") && !why_none(0, &only).contains("--scrape-only"));
        let why = why_none(4, &only);
        assert!([" 4 ", " lat_:", "--scrape-only"].iter().all(|named| why.contains(named)), "{why}");
    }
}
