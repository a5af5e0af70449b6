//! An agent in this process: a thread for each worker.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use engine::{Command, Report, Worker};
use load::{Plan, Segment};
use net::poll::Waker;

/// Files that a worker needs in addition to its clients': its poller and its waker.
pub const FILES_PER_WORKER: u64 = 2;

/// Workers on threads of this process.
pub struct Threads {
    workers: Vec<Handle>,
}

struct Handle {
    commands: Sender<Command>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Threads {
    /// Starts a worker for each segment; with `cpus`, the k-th of them on the k-th CPU in turn.
    ///
    /// # Errors
    /// As [`Worker::new`]; what fails later is reported as [`Report::Failed`].
    pub fn start(
        plan: &Plan,
        segments: &[Segment],
        cpus: &[usize],
        reports: &Sender<Report>,
    ) -> io::Result<Self> {
        let start = |(k, &segment): (usize, &Segment)| {
            let cpu = (!cpus.is_empty()).then(|| cpus[k % cpus.len()]);
            Handle::start(plan.clone(), segment, cpu, reports.clone())
        };
        Ok(Self { workers: segments.iter().enumerate().map(start).collect::<io::Result<_>>()? })
    }

    /// Sends a command to every worker.
    pub fn send(&mut self, command: &Command) {
        if let Command::Clock { offset_ns } = command {
            // The clock is the process's, not the workers': set once, before the command that follows it is
            // passed on.
            return net::clock::set_offset_ns(*offset_ns);
        }
        for worker in &self.workers {
            // A worker that has ended has reported why.
            let _ = worker.commands.send(command.clone());
            worker.waker.wake();
        }
    }
}

impl Handle {
    fn start(plan: Plan, segment: Segment, cpu: Option<usize>, reports: Sender<Report>) -> io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let waker = Arc::new(Waker::new()?);
        let worker = Worker::new(plan, segment, inbox, Arc::clone(&waker), reports.clone())?;
        let work = move || {
            let pinned = cpu.map_or(Ok(()), |cpu| net::affinity::pin_current_thread(&[cpu]));
            if let Err(message) = caught(|| pinned.and_then(|()| worker.run())) {
                let _ = reports.send(Report::Failed { worker: segment.worker, message });
            }
        };
        let thread = thread::Builder::new().name(format!("worker-{}", segment.worker)).spawn(work)?;
        Ok(Self { commands, waker, thread: Some(thread) })
    }
}

/// Does the work, and turns a panic into an error: otherwise the crew would wait for a thread that is gone.
fn caught(work: impl FnOnce() -> io::Result<()>) -> Result<(), String> {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome.map_err(|error| net::errors::told(&error)),
        Err(payload) => {
            let said = payload.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("a bug in throng: {}", said.unwrap_or("it panicked")))
        }
    }
}

impl Drop for Handle {
    /// Ends the worker, which stops when its crew is gone, and waits for its thread.
    fn drop(&mut self) {
        // A sender without a receiver takes the place of the real one, whose drop closes the worker's inbox.
        self.commands = mpsc::channel().0;
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported() {
        assert_eq!(caught(|| panic!("7 of {}", 5)), Err("a bug in throng: 7 of 5".into()));
        assert_eq!(caught(|| panic!("no clients")), Err("a bug in throng: no clients".into()));
        assert_eq!(caught(|| Err(io::Error::other("no files"))), Err("no files".into()));
    }
}
