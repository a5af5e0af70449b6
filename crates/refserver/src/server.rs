//! Binding, and running the workers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use net::affinity::pin_current_thread;
use net::socket::{Addr, Listener, listen};

use crate::mailbox::mailbox;
use crate::options::Options;
use crate::stats::Stats;
use crate::stop::StopFlag;
use crate::worker::Worker;

/// A server that listens, but does not serve yet.
pub struct Server {
    options: Options,
    local_addrs: Vec<Addr>,
    /// The listeners of each worker.
    listeners: Vec<Vec<Arc<Listener>>>,
}

impl Server {
    /// Listens on every address. Errors name the address.
    pub fn bind(options: Options) -> io::Result<Server> {
        assert!(options.threads > 0, "a server needs a thread");
        assert!(!options.listen.is_empty(), "a server needs an address");
        let mut local_addrs = Vec::new();
        let mut listeners = vec![Vec::new(); options.threads];
        for addr in &options.listen {
            let bound = bind_for_workers(addr, options.backlog, options.threads)
                .map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {addr}: {error}")))?;
            local_addrs.push(bound[0].local_addr()?);
            for (worker, listener) in listeners.iter_mut().zip(bound) {
                worker.push(listener);
            }
        }
        Ok(Server { options, local_addrs, listeners })
    }

    /// The addresses in the order of the options, with the ports that the kernel chose.
    pub fn local_addrs(&self) -> &[Addr] {
        &self.local_addrs
    }

    /// Serves, on this thread and others, until `stop` is raised; then says what was done. Errors are the
    /// machine's: no threads, no descriptors to start with.
    pub fn run(self, stop: &StopFlag) -> io::Result<Stats> {
        let options = Arc::new(self.options);
        let (inboxes, outboxes): (Vec<_>, Vec<_>) =
            (0..options.threads).map(|_| mailbox()).collect::<io::Result<Vec<_>>>()?.into_iter().unzip();
        let mut workers = Vec::new();
        for (number, (inbox, listeners)) in inboxes.into_iter().zip(self.listeners).enumerate() {
            let mut others = outboxes.clone();
            others.remove(number);
            workers.push(Worker::new(Arc::clone(&options), stop.clone(), listeners, inbox, others)?);
        }
        drop(outboxes);
        run_workers(workers, &options.cpus, stop)
    }
}

/// One listener per worker: TCP ports are shared by the kernel's hand, unix sockets are one for all.
fn bind_for_workers(addr: &Addr, backlog: u32, workers: usize) -> io::Result<Vec<Arc<Listener>>> {
    let Addr::Inet(inet) = addr else {
        let listener = Arc::new(listen(addr, backlog, false)?);
        return Ok(vec![listener; workers]);
    };
    if workers == 1 {
        return Ok(vec![Arc::new(listen(addr, backlog, false)?)]);
    }
    // A shared port could be shared with a stranger's server as well: only a port that is free will do.
    let free = match listen(addr, 1, false)?.local_addr()? {
        Addr::Inet(chosen) => Addr::Inet(SocketAddr::new(inet.ip(), chosen.port())),
        Addr::Unix(_) => unreachable!("a TCP listener"),
    };
    (0..workers).map(|_| Ok(Arc::new(listen(&free, backlog, true)?))).collect()
}

/// The first worker runs on this thread, the others on their own. When one fails, the others stop.
fn run_workers(workers: Vec<Worker>, cpus: &[usize], stop: &StopFlag) -> io::Result<Stats> {
    let pin = |number: usize| match cpus {
        [] => Ok(()),
        cpus => pin_current_thread(&[cpus[number % cpus.len()]]),
    };
    let run =
        |number: usize, worker: Worker| pin(number).and_then(|()| worker.run()).inspect_err(|_| stop.stop());
    let mut workers = workers.into_iter().enumerate();
    let (_, first) = workers.next().expect("a server has a thread");
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, worker) in workers {
            let builder = thread::Builder::new().name(format!("serve-{number}"));
            threads
                .push(builder.spawn_scoped(scope, move || run(number, worker)).inspect_err(|_| stop.stop())?);
        }
        let mut stats = run(0, first)?;
        for thread in threads {
            stats.add(&thread.join().expect("a worker does not panic")?);
        }
        Ok(stats)
    })
}
