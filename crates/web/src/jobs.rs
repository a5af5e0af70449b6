//! Runs that a page has started: their processes, and everything they have said so far.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use store::Store;
use tokio::sync::watch;

use crate::form;
use crate::options::Options;

/// Lines of a run that are kept for who opens the page later: a row a second for a day.
const LINES_MAX: usize = 86_400;
/// Runs whose lines are kept: earlier ones are in the store.
const JOBS_WHOLE_MAX: usize = 8;
/// How often a run whose output has ended is asked whether it has, too.
const WAIT_INTERVAL: Duration = Duration::from_millis(10);
/// Lines kept of a run's standard error.
const REMARKS_MAX: usize = 20;

/// All runs that were started, by number.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<Vec<Arc<Job>>>);

/// One of them.
pub(crate) struct Job {
    pub(crate) number: usize,
    /// The command line, as it would be typed.
    pub(crate) command: String,
    log: Mutex<Log>,
    changed: watch::Sender<()>,
    child: Mutex<Option<Child>>,
}

/// The log of a run.
#[derive(Default)]
pub(crate) struct Log {
    /// Lines of `throng --stream`: JSON, a second or a step each.
    pub(crate) lines: Vec<String>,
    pub(crate) end: Option<End>,
    remarks: VecDeque<String>,
}

/// How it ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct End {
    /// The exit code; none if a signal ended it.
    code: Option<i32>,
    /// The run in the store, if it was kept.
    run: Option<String>,
    /// Its last words on standard error.
    said: String,
}

impl Jobs {
    /// Starts a run with these words, unless one is under way: they would measure each other. `Err(None)` then.
    pub(crate) fn start(&self, options: &Options, words: &[String]) -> Result<Arc<Job>, Option<io::Error>> {
        let mut jobs = locked(&self.0);
        // Only the last can be: it was started when the one before had ended.
        if jobs.last().is_some_and(|job| job.is_running()) {
            return Err(None);
        }
        let job = Job::start(jobs.len() + 1, options, words).map_err(Some)?;
        jobs.push(job.clone());
        forget_rows(&jobs);
        Ok(job)
    }

    /// The run of this number.
    pub(crate) fn get(&self, number: usize) -> Option<Arc<Job>> {
        locked(&self.0).get(number.checked_sub(1)?).cloned()
    }

    /// The one that is under way.
    pub(crate) fn running(&self) -> Option<Arc<Job>> {
        locked(&self.0).last().filter(|job| job.is_running()).cloned()
    }
}

/// How long a run that was asked to end may take, before it is killed: its second signal would give it five seconds.
const STOP_MAX: Duration = Duration::from_secs(20);

impl Drop for Jobs {
    fn drop(&mut self) {
        for job in locked(&self.0).iter() {
            job.stop();
            if let Some(child) = locked(&job.child).as_mut() {
                let _ = net::signals::reap(child, STOP_MAX);
            }
        }
    }
}

impl Job {
    fn start(number: usize, options: &Options, words: &[String]) -> io::Result<Arc<Job>> {
        let store = options.store.to_str().ok_or_else(|| io::Error::other("the store's path is not text"))?;
        let of_page = ["--stream", "-", "--no-report", "--store", store].map(str::to_owned);
        let all: Vec<String> = words.iter().cloned().chain(of_page).collect();
        let mut process = Command::new(&options.program);
        // The masked words are for lists of processes; the true ones go over the pipe.
        process.arg(options.words_verb).args(options.mask.command(all.iter().cloned()));
        // Not in the terminal's process group: Ctrl-C is for the parent, which passes it on.
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = net::signals::end_with_parent(&mut process).spawn()?;
        let line = serde_json::to_string(&all)?;
        // One that is gone already has said why, and that is shown.
        let _ = child.stdin.take().expect("piped").write_all(format!("{line}\n").as_bytes());
        let stdout = child.stdout.take().expect("piped");
        let stderr = child.stderr.take().expect("piped");
        let job = Arc::new(Job {
            number,
            command: form::shown(words, options.mask),
            log: Mutex::default(),
            changed: watch::Sender::new(()),
            child: Mutex::new(Some(child)),
        });
        let told = job.clone();
        // Each pipe has a reader: a full one would stop the run.
        let remarks = thread::spawn(move || told.read(stderr, Log::remark));
        let told = job.clone();
        let store = options.store.clone();
        thread::spawn(move || {
            told.read(stdout, Log::row);
            // The last words may come after the end of standard output.
            let _ = remarks.join();
            told.finish(store);
        });
        Ok(job)
    }

    /// The log so far.
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        locked(&self.log)
    }

    /// Tells of everything that is added from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns whether it has not ended yet.
    pub(crate) fn is_running(&self) -> bool {
        self.log().end.is_none()
    }

    /// Asks it to end in good order: what was measured is kept.
    pub(crate) fn stop(&self) {
        if let Some(child) = locked(&self.child).as_ref() {
            // It may just have ended by itself.
            let _ = net::signals::terminate(child);
        }
    }

    fn read(&self, pipe: impl Read, add: fn(&mut Log, String)) {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            // The lock is let go before the watchers are told, who take it.
            add(&mut self.log(), line);
            self.changed.send_replace(());
        }
    }

    /// Waits for its end. Until then it can be stopped: nobody waits for the lock.
    fn wait(&self) -> Option<ExitStatus> {
        loop {
            let mut child = locked(&self.child);
            if let Some(status) = child.as_mut()?.try_wait().ok()? {
                *child = None;
                return Some(status);
            }
            drop(child);
            thread::sleep(WAIT_INTERVAL);
        }
    }

    /// Its output has ended, so that it has, or is about to.
    fn finish(&self, store: PathBuf) {
        let status = self.wait();
        let mut log = self.log();
        let said = Vec::from(std::mem::take(&mut log.remarks)).join("\n");
        let run = log.lines.first().and_then(|line| kept_as(line, store));
        log.end = Some(End { code: status.and_then(|status| status.code()), run, said });
        drop(log);
        self.changed.send_replace(());
    }
}

impl Log {
    fn row(&mut self, line: String) {
        if line.starts_with('{') && self.lines.len() < LINES_MAX {
            self.lines.push(line);
        }
    }

    fn remark(&mut self, line: String) {
        self.remarks.push_back(line);
        if self.remarks.len() > REMARKS_MAX {
            self.remarks.pop_front();
        }
    }
}

/// Drops the rows of all runs but the latest.
fn forget_rows(jobs: &[Arc<Job>]) {
    let earlier = jobs.len().saturating_sub(JOBS_WHOLE_MAX);
    for job in &jobs[..earlier] {
        job.log().lines = Vec::new();
    }
}

/// The id that is in every line, if the store has that run.
fn kept_as(line: &str, store: PathBuf) -> Option<String> {
    #[derive(Deserialize)]
    struct Line {
        run: String,
    }
    let Line { run } = serde_json::from_str(line).ok()?;
    Store::open(&store).and_then(|store| store.find(&run)).ok()
}

/// A handler that panicked has left nothing half done here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn job(number: usize) -> Arc<Job> {
        let log = Log { lines: vec!["{}".into()], ..Log::default() };
        Arc::new(Job {
            number,
            command: String::new(),
            log: Mutex::new(log),
            changed: watch::Sender::new(()),
            child: Mutex::default(),
        })
    }

    #[test]
    fn stopping_an_ending_job_does_not_wait() {
        let job = job(1);
        let child = Command::new("sleep").arg("30").stdout(Stdio::null()).spawn().unwrap();
        *locked(&job.child) = Some(child);
        let (began, ending) = (Instant::now(), job.clone());
        let finish = thread::spawn(move || ending.finish(PathBuf::new()));
        thread::sleep(5 * WAIT_INTERVAL);
        job.stop();
        finish.join().unwrap();
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert_eq!(job.log().end.as_ref().map(|end| end.code), Some(None), "a signal ended it");
    }

    #[test]
    fn rows_of_the_last_runs_alone_are_kept() {
        let jobs: Vec<_> = (1..=JOBS_WHOLE_MAX + 3).map(job).collect();
        forget_rows(&jobs);
        let with_rows: Vec<_> = jobs.iter().filter(|job| !job.log().lines.is_empty()).collect();
        assert_eq!((with_rows.len(), with_rows[0].number), (JOBS_WHOLE_MAX, 4));
    }
}
