//! An agent in a child process: more clients than one process may have files.
//!
//! The child is this same program, started with a hidden verb. Its standard input carries the [`Brief`] and
//! then commands, its standard output its memory and then reports, all framed; its standard error is ours, so
//! that it can complain.
//!
//! Reports wait in the pipe while the coordinator is busy, and when that is full, in the child's writer. Its
//! workers' permits come back when a report is written, so that a child whose pipe is full stores what it
//! measures.
//!
//! Nothing waits for a child for ever. A thread passes on what the child is told, because a stopped child
//! reads nothing; the crew notices a child that says nothing; and a child that is no longer needed is killed
//! unless it ends soon.

use std::io::{self, BufReader, BufWriter};
use std::process::{self, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::{Command, Report};
use load::{Plan, Segment};
use serde::{Deserialize, Serialize};

use crate::frame;
use crate::threads::Threads;

/// How long a child may take to end when it has nothing more to do, and its measurements are here.
const END_GRACE: Duration = Duration::from_secs(1);

/// The first message to a child.
#[derive(Serialize, Deserialize)]
struct Brief {
    plan: Plan,
    segments: Vec<Segment>,
    cpus: Vec<usize>,
    /// The parent's clock offset, because it may work on another machine's clock.
    clock_offset_ns: i64,
}

/// A child process with workers.
pub struct Child {
    process: process::Child,
    /// The channel of its orders; dropped once it is to end.
    orders: Option<Sender<Command>>,
    /// The channel of its memory, in bytes, once its workers are started.
    started: Receiver<Option<u64>>,
    closed: Option<Instant>,
    /// Threads that write to the child and read from it.
    threads: Vec<JoinHandle<()>>,
}

impl Child {
    /// Starts `command`, which must end up in [`run_child`], and hands it its part of the plan. To be called
    /// from a thread that lives as long as the child should.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(
        mut command: process::Command,
        plan: &Plan,
        segments: &[Segment],
        cpus: &[usize],
        reports: &SyncSender<Report>,
    ) -> io::Result<Self> {
        // It has nothing to finish without us, and may be too busy to see its input end.
        let command = net::signals::kill_with_parent(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let process = command.spawn()?;
        let (begin, started) = mpsc::channel();
        let mut child = Self { process, orders: None, started, closed: None, threads: Vec::new() };
        let stdin = BufWriter::new(child.process.stdin.take().expect("piped"));
        let mut stdout = BufReader::new(child.process.stdout.take().expect("piped"));
        let brief = Brief {
            plan: plan.part(segments),
            segments: segments.to_vec(),
            cpus: cpus.to_vec(),
            clock_offset_ns: net::clock::offset_ns(),
        };
        let (orders, inbox) = mpsc::channel();
        let tell = thread::Builder::new().name("orders".into()).spawn(move || tell(stdin, &brief, &inbox))?;
        child.orders = Some(orders);
        child.threads.push(tell);
        let (reports, worker, pid) = (reports.clone(), segments[0].worker, child.pid());
        let relay = thread::Builder::new().name("relay".into()).spawn(move || {
            let mut finished = false;
            if let Ok(Some(rss_bytes)) = frame::read(&mut stdout) {
                let _ = begin.send(rss_bytes);
            }
            while let Ok(Some(report)) = frame::read::<Report>(&mut stdout) {
                finished |= matches!(report, Report::Finished { .. } | Report::Failed { .. });
                // Even without a listener, the child has to get rid of what it says in order to end.
                let _ = reports.send(report);
            }
            if !finished {
                let message = format!("its process ({pid}) ended before its time");
                let _ = reports.send(Report::Failed { worker, message });
            }
        })?;
        child.threads.push(relay);
        Ok(child)
    }

    /// Sends a command to every worker of the child.
    pub fn send(&mut self, command: &Command) {
        if let Some(orders) = &self.orders {
            // A child that has ended is noticed where its reports are read.
            let _ = orders.send(command.clone());
        }
    }

    /// Makes the child end, without waiting for that.
    pub fn close(&mut self) {
        self.orders = None;
        self.closed.get_or_insert_with(Instant::now);
    }

    /// Waits until `deadline` for the child's workers to be started. Returns its memory at that moment, in
    /// bytes; `None` if it could not be read, or came too late.
    pub fn wait_for_start(&self, deadline: Instant) -> Option<u64> {
        self.started.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Child {
    /// Ends the child, by the end of its input or by a kill.
    fn drop(&mut self) {
        self.close();
        let spent = self.closed.map_or(Duration::ZERO, |closed| closed.elapsed());
        let _ = net::signals::reap(&mut self.process, END_GRACE.saturating_sub(spent));
        // Behind the reap, which ends the pipes that they wait for.
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Writes orders to a child until there are no more, or it is gone.
fn tell(mut stdin: BufWriter<ChildStdin>, brief: &Brief, orders: &mpsc::Receiver<Command>) {
    let mut told = frame::write(&mut stdin, brief);
    while let (Ok(()), Ok(command)) = (&told, orders.recv()) {
        told = frame::write(&mut stdin, &command);
    }
}

/// The child's side: works until its input ends.
///
/// # Errors
/// The brief cannot be read, the plan cannot be carried out, or the parent is gone.
pub fn run_child() -> io::Result<()> {
    net::limits::raise_nofile()?;
    let mut stdin = BufReader::new(io::stdin());
    let Some(brief) = frame::read::<Brief>(&mut stdin)? else { return Ok(()) };
    net::clock::set_offset_ns(brief.clock_offset_ns);
    let (reports, outbox) = mpsc::channel();
    let workers = Threads::start(&brief.plan, &brief.segments, &brief.cpus, &reports);
    // Behind the start: the workers' own memory is none of their clients'.
    let rss_bytes = net::proc::self_rss_bytes().ok();
    let writer = thread::Builder::new().name("writer".into()).spawn(move || {
        let mut stdout = BufWriter::new(io::stdout().lock());
        frame::write(&mut stdout, &rss_bytes)?;
        outbox.iter().try_for_each(|report: Report| {
            let written = frame::write(&mut stdout, &report);
            if let Report::Events(batch) = report {
                batch.recycle();
            }
            written
        })
    })?;
    match workers {
        Ok(mut workers) => {
            while let Some(command) = frame::read::<Command>(&mut stdin)? {
                workers.send(&command);
            }
        }
        Err(error) => {
            let failed =
                Report::Failed { worker: brief.segments[0].worker, message: net::errors::told(&error) };
            let _ = reports.send(failed);
        }
    }
    // The writer ends once every sender is gone: the workers' own, when they have ended, and this one.
    drop(reports);
    writer.join().expect("the writer does not panic")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::plan;

    /// The memory told by a child that writes `frame`, in printf's notation.
    fn told(frame: &str, within: Duration) -> Option<u64> {
        let mut command = process::Command::new("sh");
        command.args(["-c", &format!("printf '{frame}'; cat > /dev/null")]);
        let (reports, _inbox) = mpsc::sync_channel(1);
        let segment = Segment { worker: 0, workers: 1 };
        let child = Child::start(command, &plan(), &[segment], &[], &reports).unwrap();
        child.wait_for_start(Instant::now() + within)
    }

    #[test]
    fn children_tell_their_memory_at_the_start() {
        let patience = Duration::from_secs(60);
        assert_eq!(told(r"\002\000\000\000\001\007", patience), Some(7));
        assert_eq!(told(r"\001\000\000\000\000", patience), None);
        assert_eq!(told("", Duration::from_millis(50)), None);
    }
}
