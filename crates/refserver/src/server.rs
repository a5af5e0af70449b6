//! Binding, and running the workers.

use std::io;
use std::iter::repeat_n;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use net::affinity::pin_current_thread;
use net::clock::{monotonic_ns, realtime_ns};
use net::errors::listen_error;
use net::socket::{Addr, Listener, listen, reserve};

use crate::board::SharedStats;
use crate::family::Sibling;
use crate::faults;
use crate::held::Held;
use crate::mailbox::mailbox;
use crate::options::Options;
use crate::room_counts::RoomCounts;
use crate::stats::Stats;
use crate::stop::StopFlag;
use crate::worker::{Worker, WorkerContext};

/// A server that listens, but does not serve yet.
pub struct Server {
    options: Options,
    local_addrs: Vec<Addr>,
    /// The listeners of each worker.
    listeners: Vec<Vec<Arc<Listener>>>,
    sibling: Option<Sibling>,
}

impl Server {
    /// Listens on every address. Errors name the address.
    pub fn bind(options: Options) -> io::Result<Server> {
        let listeners = bind_all(&options.listen, &options, bind_alone)?;
        Server::new(options, listeners, None)
    }

    /// Listens as a member of a [`Family`](crate::Family): on its TCP ports and unix sockets, which it shares
    /// with its siblings.
    pub fn join(options: Options, sibling: Sibling) -> io::Result<Server> {
        let mut listeners = bind_all(&sibling.addrs, &options, bind_shared)?;
        let of_all_workers = |unix: &Arc<Listener>| repeat_n(Arc::clone(unix), options.threads).collect();
        listeners.extend(sibling.unix.iter().map(of_all_workers));
        Server::new(options, listeners, Some(sibling))
    }

    fn new(options: Options, bound: Vec<Bound>, sibling: Option<Sibling>) -> io::Result<Server> {
        let local_addrs =
            bound.iter().map(|listeners| listeners[0].local_addr()).collect::<io::Result<_>>()?;
        let mut listeners = vec![Vec::new(); options.threads];
        for of_addr in bound {
            for (of_worker, listener) in listeners.iter_mut().zip(of_addr) {
                of_worker.push(listener);
            }
        }
        Ok(Server { options, local_addrs, listeners, sibling })
    }

    /// The addresses in the order of the options, with the ports that the kernel chose.
    pub fn local_addrs(&self) -> &[Addr] {
        &self.local_addrs
    }

    /// Serves, on this thread and others, until `stop` is raised, and returns the totals. Errors come from
    /// the machine: it has no threads or descriptors left to start with.
    pub fn run(mut self, stop: &StopFlag) -> io::Result<Stats> {
        self.options.protocol.unix_minus_now_ns = realtime_ns().wrapping_sub(monotonic_ns());
        let options = Arc::new(self.options);
        let (inboxes, outboxes): (Vec<_>, Vec<_>) =
            (0..options.threads).map(|_| mailbox()).collect::<io::Result<Vec<_>>>()?.into_iter().unzip();
        let mut peers =
            self.sibling.as_mut().map(|sibling| std::mem::take(&mut sibling.peers)).unwrap_or_default();
        let shared = |faults| Arc::new(faults::Shared::new(faults, monotonic_ns()));
        let faults = options.faults.clone().map(shared);
        let held = Held::new(options.backlog_total_bytes_max);
        let process = self.sibling.as_ref().map(|sibling| sibling.number);
        let board = Arc::new(SharedStats::new(process, options.threads, held.clone(), options.say));
        let room_counts = (options.threads > 1).then(Arc::<RoomCounts>::default);
        let mut workers = Vec::new();
        for (number, (inbox, listeners)) in inboxes.into_iter().zip(self.listeners).enumerate() {
            let mut others = outboxes.clone();
            // A worker's own members get the broadcast from itself.
            others.remove(number);
            // The first worker has all of them, and passes on what comes from there.
            let peers = std::mem::take(&mut peers);
            let (faults, held, board) = (faults.clone(), held.clone(), Arc::clone(&board));
            let room_counts = room_counts.clone();
            let context =
                WorkerContext { number, listeners, inbox, others, peers, faults, held, board, room_counts };
            workers.push(Worker::new(Arc::clone(&options), stop.clone(), context)?);
        }
        drop(outboxes);
        if let Some(sibling) = &self.sibling {
            // Only now, when every worker has what it needs to serve.
            sibling.report_ready()?;
        }
        let stats = run_workers(workers, &options.cpus, stop)?;
        if let Some(sibling) = &self.sibling {
            sibling.report_end(&stats)?;
        }
        Ok(stats)
    }
}

/// The listeners of one address: one for each worker.
type Bound = Vec<Arc<Listener>>;

/// Listens on every address.
fn bind_all(
    addrs: &[Addr],
    options: &Options,
    bind: fn(&Addr, u32, usize) -> io::Result<Bound>,
) -> io::Result<Vec<Bound>> {
    assert!(options.threads > 0, "a server needs a thread");
    assert_ne!(options.ping_interval_ns, Some(0), "pings have an interval");
    let bind =
        |addr| bind(addr, options.backlog, options.threads).map_err(|error| listen_error(addr, &error));
    addrs.iter().map(bind).collect()
}

/// Listens on a port that only this process has.
fn bind_alone(addr: &Addr, backlog: u32, workers: usize) -> io::Result<Bound> {
    match addr {
        // The kernel spreads connections over sharers of a port, but it must not be shared with a stranger's
        // server.
        Addr::Inet(inet) if workers > 1 => bind_shared(&reserve(inet)?.local_addr()?, backlog, workers),
        _ => Ok(repeat_n(Arc::new(listen(addr, backlog, false)?), workers).collect()),
    }
}

/// Listens on a port that is reserved for this process and others.
fn bind_shared(addr: &Addr, backlog: u32, workers: usize) -> io::Result<Bound> {
    match addr {
        Addr::Inet(_) => (0..workers).map(|_| Ok(Arc::new(listen(addr, backlog, true)?))).collect(),
        Addr::Unix(_) => bind_alone(addr, backlog, workers),
    }
}

/// Runs each worker on its CPU, if there are some to choose from.
fn run_workers(workers: Vec<Worker>, cpus: &[usize], stop: &StopFlag) -> io::Result<Stats> {
    let pin = |number: usize| match cpus {
        [] => Ok(()),
        cpus => pin_current_thread(&[cpus[number % cpus.len()]]),
    };
    let work = |(number, worker): (usize, Worker)| move || pin(number).and_then(|()| worker.run());
    run_all(workers.into_iter().enumerate().map(work), stop)
}

/// Runs the first worker on this thread, and each other one on a thread of its own. When one fails, the
/// others stop; a panic is resumed here once they have stopped.
fn run_all<W>(works: impl IntoIterator<Item = W>, stop: &StopFlag) -> io::Result<Stats>
where
    W: FnOnce() -> io::Result<Stats> + Send,
{
    let run = |work: W| {
        let mut alarm = StopOnDrop { stop, is_off: false };
        let result = work();
        alarm.is_off = result.is_ok();
        result
    };
    let mut works = works.into_iter().enumerate();
    let (_, first) = works.next().expect("a server has a thread");
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, work) in works {
            let builder = thread::Builder::new().name(format!("serve-{number}"));
            // A thread that cannot be started stops those that run: the scope waits for them.
            threads.push(builder.spawn_scoped(scope, move || run(work)).inspect_err(|_| stop.stop())?);
        }
        let mut stats = run(first)?;
        for thread in threads {
            stats.add(&thread.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(stats)
    })
}

/// A guard that raises the stop when it is dropped, so that a panic raises it as well; unless the guard is
/// off.
struct StopOnDrop<'a> {
    stop: &'a StopFlag,
    is_off: bool,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if !self.is_off {
            self.stop.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::{Duration, Instant};

    use super::*;

    /// Works until a stop is raised.
    fn work(stop: &StopFlag) -> io::Result<Stats> {
        let start = Instant::now();
        while stop.level() == 0 {
            assert!(start.elapsed() < Duration::from_secs(10), "nobody said stop");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(Stats { connections: 1, ..Stats::default() })
    }

    /// Runs three workers, of which the one with the number `odd` does something else.
    fn run_three(odd: usize, does: fn() -> io::Result<Stats>) -> (io::Result<Stats>, u32) {
        let stop = &StopFlag::new();
        let works = (0..3).map(|number| move || if number == odd { does() } else { work(stop) });
        (run_all(works, stop), stop.level())
    }

    #[test]
    fn when_one_fails_the_others_stop() {
        for odd in 0..3 {
            let (result, level) = run_three(odd, || Err(io::Error::other("out of order")));
            assert_eq!(result.unwrap_err().to_string(), "out of order");
            assert_eq!(level, 1, "in order");
        }
    }

    #[test]
    fn panics_stop_the_others_and_go_on() {
        for odd in 0..3 {
            let run = || run_three(odd, || panic!("out of its mind"));
            let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
            assert_eq!(panic.downcast_ref(), Some(&"out of its mind"));
        }
    }
}
