//! Usage of the server and the machine during a step, sampled up to four times a second.

mod machine;

use net::clock;
use net::network::Segments;
use net::proc::Service;
use results::{MachineUse, ServerUse, ThreadUse};
use stats::fit::Before;

use crate::server_reading::{LocalServerReader, ServerReader, ServerReading, ThreadReading, WindowReading};

use machine::MachineWatch;

/// Time between two samples.
pub(crate) const SAMPLE_INTERVAL_NS: u64 = 250_000_000;
/// Least time from one sample to the next, in times that a sample takes. More would leave the memory of a short
/// ramp unseen.
const SAMPLES_APART_MIN: u64 = 4;
/// Most threads listed in a result, the busiest first.
const THREADS_LISTED_MAX: usize = 16;

/// Watches the server's process tree, if it runs here or under a target agent, and this machine.
pub struct ServerWatch {
    server: Option<Box<dyn ServerReader>>,
    is_here: bool,
    next_ns: u64,
    first: Option<Sample>,
    last: Option<Sample>,
    window: Window,
    machine: Option<MachineWatch>,
    /// How often a listener's queue had been full before the step's first client connected.
    overflows_before: Option<u64>,
    /// The usage of the window, if it has closed.
    closed: Option<Seen>,
    /// When the server was first seen to have ended.
    ended_at_ns: Option<u64>,
    /// Finds the server again after its end, where it has been started anew.
    lookup: Option<Box<dyn Fn() -> Option<Service>>>,
    /// True if the server ended in an earlier step, and has not been found again.
    is_gone: bool,
    /// Open clients and the server's resident memory, while clients connect.
    growth: Vec<(f64, f64)>,
    /// The server's memory at the end of the last window.
    own_bytes: Option<u64>,
    /// The server's state at the first reading.
    before: Option<Before>,
}

/// Usage in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) server: Option<ServerUse>,
    pub(crate) machine: MachineUse,
    /// How often the generator's processes here ran into their CPU quota, if they have one.
    pub(crate) throttled_percent: Option<f64>,
}

/// One reading.
#[derive(Clone)]
struct Sample {
    at_ns: u64,
    server: Option<ServerReading>,
}

impl Sample {
    /// The reading of a server that has not ended.
    fn alive(&self) -> Option<&ServerReading> {
        self.server.as_ref().filter(|look| !look.has_ended)
    }
}

/// Sums of the samples of a step.
#[derive(Default)]
struct Window {
    cpu_percent_peak: Option<f64>,
    rss_sum: u128,
    rss_samples: u64,
    rss_bytes_peak: u64,
    cpu_percent_now: Option<f64>,
}

impl ServerWatch {
    /// Watches the server's processes and their descendants, or only the machine for `None`. `is_here`: the
    /// server runs on this machine, where its processes may be hidden.
    pub fn new(server: Option<&Service>, is_here: bool) -> Self {
        Self::with(server.map(local_reader), is_here)
    }

    /// Watches the server of a target agent, whose machine may be this one.
    pub fn of_agent(reader: impl ServerReader + 'static, is_here: bool) -> Self {
        Self::with(Some(Box::new(reader)), is_here)
    }

    /// Has a server that has ended searched for as each step begins.
    pub fn look_again(&mut self, find: impl Fn() -> Option<Service> + 'static) {
        self.lookup = Some(Box::new(find));
    }

    fn with(server: Option<Box<dyn ServerReader>>, is_here: bool) -> Self {
        Self {
            server,
            is_here,
            next_ns: 0,
            first: None,
            last: None,
            window: Window::default(),
            machine: None,
            overflows_before: None,
            closed: None,
            ended_at_ns: None,
            lookup: None,
            is_gone: false,
            growth: Vec::new(),
            own_bytes: None,
            before: None,
        }
    }

    /// Opens a window of a step: first for its connecting, then for its load.
    pub(crate) fn start(&mut self) {
        // Kept from the first window of the step: queues overflow while clients connect, before the load's
        // window.
        self.overflows_before = self.overflows_before.or_else(overflows);
        (self.window, self.closed) = (Window::default(), None);
        let mut sample = self.sample(true);
        // Only as a step begins: a server that ends within a step is the step's result, whatever starts it
        // again.
        if self.first.is_none() && (self.ended_at_ns.take().is_some() || self.is_gone) {
            self.find_again();
            sample = self.sample(true);
        }
        self.before = self.before.or_else(|| sample.server.as_ref().and_then(before));
        self.next_ns = sample.at_ns + SAMPLE_INTERVAL_NS;
        self.machine = Some(MachineWatch::start());
        self.last = Some(sample.clone());
        self.first = Some(sample);
    }

    /// Replaces a server that ended in an earlier step by its successor, if that can be seen, and forgets the
    /// former's memory.
    fn find_again(&mut self) {
        let found = self.lookup.as_ref().and_then(|find| find());
        self.is_gone = found.is_none();
        self.server = found.as_ref().map(local_reader);
        (self.growth, self.own_bytes, self.before) = (Vec::new(), None, None);
    }

    /// The server's memory against open clients, over all steps (METHODOLOGY "Memory").
    pub fn growth(&self) -> &[(f64, f64)] {
        &self.growth
    }

    /// The server's memory at the end of the last step, in bytes, without the pages that files back.
    pub fn own_bytes(&self) -> Option<u64> {
        self.own_bytes
    }

    /// The server's state before the first step: its memory then may be used again.
    pub fn before(&self) -> Before {
        self.before.unwrap_or_default()
    }

    /// Returns whether there is a server whose usage can be read.
    pub fn sees_server(&self) -> bool {
        self.before.is_some()
    }

    /// Samples if it is time. `growing`: how many clients are open while their number still grows.
    pub(crate) fn poll(&mut self, growing: Option<u64>) {
        let now_ns = clock::monotonic_ns();
        if self.first.is_none() || now_ns < self.next_ns {
            return;
        }
        let sample = self.sample(false);
        // From now, not from when it was due: late samples must not follow each other closer than the clock
        // tick can tell apart.
        self.next_ns = now_ns + interval_ns(clock::monotonic_ns().saturating_sub(now_ns));
        if let (Some(clients), Some(look)) = (growing, sample.alive()) {
            self.growth.push((clients as f64, look.own_bytes() as f64));
        }
        self.add(sample);
    }

    /// The server's CPU over the last interval and its memory, for the live view.
    pub(crate) fn now(&self) -> (Option<f64>, Option<u64>) {
        let rss = self.last.as_ref().and_then(Sample::alive).map(|look| look.rss_bytes);
        (self.window.cpu_percent_now, rss)
    }

    /// Closes the window, now or once more.
    pub(crate) fn close(&mut self) {
        let sample = self.sample(true);
        self.add(sample);
        let (first, last) = (self.first.as_ref().expect("started"), self.last.as_ref().expect("started"));
        let server = self.server_use(first, last);
        let pids = self.server.as_ref().map(|reader| reader.pids()).unwrap_or_default();
        let machine = self.machine.as_ref().expect("started");
        let (mut machine, throttled_percent) = machine.until_now(&pids, self.is_here);
        // Of listeners here, of which the server's is one.
        let overflows = self.overflows_before.filter(|_| self.is_here).zip(overflows());
        machine.listen_overflows = overflows.map(|(was, is)| is.saturating_sub(was));
        self.closed = Some(Seen { server, machine, throttled_percent });
    }

    /// Usage of the server and the machine in the window, which closes now unless it has. The peak of the
    /// server's memory, and its end, may come behind it: what waits there is served in the drain. Times are
    /// from `epoch_ns`.
    pub(crate) fn finish(&mut self, epoch_ns: u64) -> Seen {
        if self.closed.is_none() {
            self.close();
        } else {
            let sample = self.sample(false);
            self.add(sample);
        }
        self.own_bytes = self.last.as_ref().and_then(Sample::alive).map(|look| look.own_bytes());
        (self.first, self.last, self.overflows_before) = (None, None, None);
        let mut seen = self.closed.take().expect("closed");
        let ended_ns = self.ended_at_ns.map(|at_ns| at_ns.saturating_sub(epoch_ns));
        if let Some(server) = &mut seen.server {
            server.rss_bytes_peak = (self.window.rss_samples > 0).then_some(self.window.rss_bytes_peak);
            server.ended_ns = ended_ns;
        }
        seen
    }

    /// Samples the server and the machine; `whole` at the ends of a window.
    fn sample(&mut self, whole: bool) -> Sample {
        let server = self.server.as_mut().and_then(|reader| reader.look(whole));
        let at_ns = clock::monotonic_ns();
        if server.as_ref().is_some_and(|look| look.has_ended) {
            self.ended_at_ns.get_or_insert(at_ns);
        }
        Sample { at_ns, server }
    }

    fn add(&mut self, sample: Sample) {
        let window = &mut self.window;
        if let Some(look) = sample.alive() {
            window.rss_sum += u128::from(look.rss_bytes);
            window.rss_samples += 1;
            window.rss_bytes_peak = window.rss_bytes_peak.max(look.rss_bytes);
        }
        let last = self.last.as_ref().expect("started");
        let apart_ns = match (last.alive(), sample.alive()) {
            (Some(was), Some(is)) => is.at_ns.saturating_sub(was.at_ns),
            _ => 0,
        };
        // Below half an interval the clock tick (10 ms) would be a large part of the figure.
        if apart_ns >= SAMPLE_INTERVAL_NS / 2 {
            window.cpu_percent_now = cpu_percent(last, &sample);
            window.cpu_percent_peak =
                window.cpu_percent_now.into_iter().chain(window.cpu_percent_peak).reduce(f64::max);
        } else if sample.alive().is_none() {
            window.cpu_percent_now = None;
        }
        self.last = Some(sample);
    }

    fn server_use(&self, first: &Sample, last: &Sample) -> Option<ServerUse> {
        let (was, is) = (first.server.as_ref()?, last.server.as_ref()?);
        // There was none to use anything in this window; absent numbers say so, zeros would not.
        if was.has_ended {
            return Some(ServerUse::default());
        }
        let window = &self.window;
        let mean = cpu_percent(first, last);
        let throttled = was.throttling().zip(is.throttling());
        Some(ServerUse {
            cpu_percent_mean: mean,
            cpu_percent_peak: window.cpu_percent_peak.or(mean),
            cores: Some(is.cores),
            throttled_percent: throttled.and_then(|(was, is)| is.percent_since(was)),
            rss_bytes_mean: window.rss_sum.checked_div(window.rss_samples.into()).map(|mean| mean as u64),
            rss_bytes_peak: None, // known at the end of the drain
            pss_bytes_peak: is.whole.as_ref().and_then(|whole| whole.pss_bytes),
            processes: Some(is.processes.into()),
            threads: Some(is.threads.into()),
            fds: is.fds.map(u64::from),
            // The limit is each process's, the count is for all: they can be compared where there is one
            // process.
            fds_max: is.fds_max.filter(|_| is.processes == 1),
            name: is.name.clone(),
            pid: Some(is.pid.into()),
            context_switches: Some(is.switches.saturating_sub(was.switches)),
            ended_ns: None,
            thread_use: was.whole.as_ref().zip(is.whole.as_ref()).map_or_else(Vec::new, |(before, after)| {
                thread_use(before, after, is.at_ns.saturating_sub(was.at_ns))
            }),
        })
    }
}

fn local_reader(server: &Service) -> Box<dyn ServerReader> {
    Box::new(LocalServerReader::on(server))
}

/// The time from one sample to the next, of which the first took so long. Among thousands of processes, or
/// with hardly any CPU, sampling would leave no time for the reports of the workers.
fn interval_ns(took_ns: u64) -> u64 {
    SAMPLE_INTERVAL_NS.max(SAMPLES_APART_MIN * took_ns)
}

fn overflows() -> Option<u64> {
    Segments::read().ok().map(|segments| segments.overflows)
}

/// State before the first step; descriptors open at the start count, though they may be about to be closed.
fn before(look: &ServerReading) -> Option<Before> {
    let whole = look.whole.as_ref()?;
    let bytes = whole.rss_bytes_peak.unwrap_or(0).saturating_sub(look.file_bytes);
    Some(Before { connections: whole.fds_peak.unwrap_or(0), bytes })
}

fn cpu_percent(was: &Sample, is: &Sample) -> Option<f64> {
    let (was, is) = (was.server.as_ref()?, is.server.as_ref()?);
    let wall_ns = is.at_ns.saturating_sub(was.at_ns);
    (wall_ns > 0).then(|| 100.0 * is.cpu_ns.saturating_sub(was.cpu_ns) as f64 / wall_ns as f64)
}

/// How the threads that were there at both ends spent the window, the busiest first.
fn thread_use(before: &WindowReading, after: &WindowReading, wall_ns: u64) -> Vec<ThreadUse> {
    let percent = |now: u64, then: u64| 100.0 * now.saturating_sub(then) as f64 / wall_ns.max(1) as f64;
    let of = |now: &ThreadReading| {
        // Threads that began in the window are left out: the time before that would pass for sleep.
        let then = before.threads.iter().find(|then| then.tid == now.tid && then.pid == now.pid)?;
        let user_percent = percent(now.user_ns, then.user_ns);
        let system_percent = percent(now.system_ns, then.system_ns);
        let waiting_percent = percent(now.run_queue_wait_ns, then.run_queue_wait_ns);
        let asleep_percent = (100.0 - user_percent - system_percent - waiting_percent).max(0.0);
        Some(ThreadUse {
            name: now.name.clone(),
            user_percent,
            system_percent,
            waiting_percent,
            asleep_percent,
        })
    };
    let mut uses: Vec<ThreadUse> = after.threads.iter().filter_map(of).collect();
    uses.sort_by(|a, b| b.cpu_percent().total_cmp(&a.cpu_percent()));
    uses.truncate(THREADS_LISTED_MAX);
    uses
}

#[cfg(test)]
mod tests;
