//! An agent in this process: a thread for each worker.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use engine::{Command, Report, Worker};
use load::{Plan, Segment};
use net::poll::Waker;

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

    /// Tells every worker.
    pub fn send(&mut self, command: &Command) {
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
            if let Err(error) = pinned.and_then(|()| worker.run()) {
                let failed = Report::Failed { worker: segment.worker, message: error.to_string() };
                let _ = reports.send(failed);
            }
        };
        let thread = thread::Builder::new().name(format!("worker-{}", segment.worker)).spawn(work)?;
        Ok(Self { commands, waker, thread: Some(thread) })
    }
}

impl Drop for Handle {
    /// A worker ends when its crew is gone.
    fn drop(&mut self) {
        self.commands = mpsc::channel().0;
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
