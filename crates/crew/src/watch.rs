//! What the server and the machine use during a step, sampled four times a second.

use net::clock;
use net::proc::{MachineCpu, ProcessTree, ThreadTotals, Usage, machine_cpu};
use results::{MachineUse, ServerUse, ThreadUse};

/// Time between two samples.
pub(crate) const SAMPLE_INTERVAL_NS: u64 = 250_000_000;
/// Threads listed in a result: the busiest.
const THREADS_LISTED_MAX: usize = 16;

/// Watches the server's process tree, if it runs here, and the machine.
pub struct ServerWatch {
    tree: Option<ProcessTree>,
    cores: f64,
    next_ns: u64,
    first: Option<Sample>,
    last: Option<Sample>,
    window: Window,
    /// Open clients and the server's resident memory, while clients connect.
    growth: Vec<(f64, f64)>,
}

/// One reading.
struct Sample {
    at_ns: u64,
    usage: Option<Usage>,
    machine: Option<MachineCpu>,
    threads: Vec<ThreadTotals>,
}

/// What the samples of a step came to.
#[derive(Default)]
struct Window {
    cpu_percent_peak: Option<f64>,
    rss_sum: u128,
    rss_samples: u64,
    rss_bytes_peak: u64,
    cpu_percent_now: Option<f64>,
}

impl ServerWatch {
    /// Watches the process `pid` and its descendants; `None`: only the machine.
    pub fn new(pid: Option<u32>) -> Self {
        let cores = pid.map_or(0, net::affinity::cpus_of).max(1) as f64;
        Self {
            tree: pid.map(ProcessTree::new),
            cores,
            next_ns: 0,
            first: None,
            last: None,
            window: Window::default(),
            growth: Vec::new(),
        }
    }

    /// Whether the server's process is known.
    pub fn sees_server(&self) -> bool {
        self.tree.is_some()
    }

    /// A step's window opens.
    pub(crate) fn start(&mut self) {
        self.window = Window::default();
        let mut sample = self.sample();
        sample.threads = self.tree.as_mut().map(ProcessTree::threads).unwrap_or_default();
        self.next_ns = sample.at_ns + SAMPLE_INTERVAL_NS;
        self.last = Some(sample.summary());
        self.first = Some(sample);
    }

    /// The server's memory against open clients, over all steps (METHODOLOGY "Memory per connection").
    pub fn growth(&self) -> &[(f64, f64)] {
        &self.growth
    }

    /// Samples if it is time. `growing`: how many clients are open while their number still grows.
    pub(crate) fn poll(&mut self, growing: Option<u64>) {
        let now_ns = clock::monotonic_ns();
        if self.first.is_none() || now_ns < self.next_ns {
            return;
        }
        self.next_ns = now_ns + SAMPLE_INTERVAL_NS;
        let sample = self.sample();
        if let (Some(clients), Some(usage)) = (growing, &sample.usage) {
            self.growth.push((clients as f64, usage.rss_bytes as f64));
        }
        self.add(sample);
    }

    /// The server's CPU over the last interval and its memory, for the live view.
    pub(crate) fn now(&self) -> (Option<f64>, Option<u64>) {
        let rss = self.last.as_ref().and_then(|s| s.usage.as_ref()).map(|usage| usage.rss_bytes);
        (self.window.cpu_percent_now, rss)
    }

    /// The window closes: what the server and the machine used in it.
    pub(crate) fn finish(&mut self) -> (Option<ServerUse>, MachineUse) {
        let mut sample = self.sample();
        sample.threads = self.tree.as_mut().map(ProcessTree::threads).unwrap_or_default();
        let threads = std::mem::take(&mut sample.threads);
        self.add(sample);
        let (first, last) = (self.first.take().expect("started"), self.last.take().expect("started"));
        (self.server_use(&first, &last, &threads), self.machine_use(&first, &last))
    }

    fn sample(&mut self) -> Sample {
        let usage = self.tree.as_mut().and_then(|tree| tree.sample().ok());
        Sample { at_ns: clock::monotonic_ns(), usage, machine: machine_cpu().ok(), threads: Vec::new() }
    }

    fn add(&mut self, sample: Sample) {
        let window = &mut self.window;
        if let Some(usage) = &sample.usage {
            window.rss_sum += u128::from(usage.rss_bytes);
            window.rss_samples += 1;
            window.rss_bytes_peak = window.rss_bytes_peak.max(usage.rss_bytes);
        }
        let last = self.last.as_ref().expect("started");
        // Below half an interval the clock tick (10 ms) would be a large part of the figure.
        if sample.at_ns - last.at_ns >= SAMPLE_INTERVAL_NS / 2 {
            window.cpu_percent_now = cpu_percent(last, &sample);
            window.cpu_percent_peak =
                window.cpu_percent_now.into_iter().chain(window.cpu_percent_peak).reduce(f64::max);
        }
        self.last = Some(sample);
    }

    fn server_use(&self, first: &Sample, last: &Sample, threads: &[ThreadTotals]) -> Option<ServerUse> {
        let (was, is) = (first.usage.as_ref()?, last.usage.as_ref()?);
        let window = &self.window;
        let mean = cpu_percent(first, last);
        let switches = |usage: &Usage| usage.voluntary_switches + usage.involuntary_switches;
        Some(ServerUse {
            cpu_percent_mean: mean,
            cpu_percent_peak: window.cpu_percent_peak.or(mean),
            cores: Some(self.cores),
            rss_bytes_mean: window.rss_sum.checked_div(window.rss_samples.into()).map(|mean| mean as u64),
            rss_bytes_peak: Some(window.rss_bytes_peak),
            pss_bytes_peak: self.tree.as_ref().and_then(ProcessTree::pss_bytes),
            processes: Some(is.processes.into()),
            threads: Some(is.threads.into()),
            fds: is.fds.map(u64::from),
            context_switches: Some(switches(is).saturating_sub(switches(was))),
            thread_use: thread_use(first, last, threads),
        })
    }

    fn machine_use(&self, first: &Sample, last: &Sample) -> MachineUse {
        let idle_percent_mean = first.machine.zip(last.machine).and_then(|(was, is)| {
            let total = is.total_ns.saturating_sub(was.total_ns);
            (total > 0).then(|| 100.0 * is.idle_ns.saturating_sub(was.idle_ns) as f64 / total as f64)
        });
        MachineUse {
            cores: net::affinity::available_cpus().ok().map(|cpus| cpus.len() as u32),
            idle_percent_mean,
            same_host: Some(self.sees_server()),
            ..MachineUse::default()
        }
    }
}

impl Sample {
    /// The reading without its threads, which are only wanted at the ends.
    fn summary(&self) -> Sample {
        Sample { at_ns: self.at_ns, usage: self.usage.clone(), machine: self.machine, threads: Vec::new() }
    }
}

fn cpu_percent(was: &Sample, is: &Sample) -> Option<f64> {
    let cpu_ns = |sample: &Sample| sample.usage.as_ref().map(|usage| usage.user_ns + usage.system_ns);
    let used = cpu_ns(is)?.saturating_sub(cpu_ns(was)?);
    let wall_ns = is.at_ns.saturating_sub(was.at_ns);
    (wall_ns > 0).then(|| 100.0 * used as f64 / wall_ns as f64)
}

/// How the threads that were there at both ends spent the window, the busiest first.
fn thread_use(first: &Sample, last: &Sample, threads: &[ThreadTotals]) -> Vec<ThreadUse> {
    let wall_ns = last.at_ns.saturating_sub(first.at_ns).max(1) as f64;
    let percent = |now: u64, then: u64| 100.0 * now.saturating_sub(then) as f64 / wall_ns;
    let of = |now: &ThreadTotals| {
        let then = first.threads.iter().find(|then| then.tid == now.tid && then.pid == now.pid)?;
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
    let mut uses: Vec<ThreadUse> = threads.iter().filter_map(of).collect();
    uses.sort_by(|a, b| b.cpu_percent().total_cmp(&a.cpu_percent()));
    uses.truncate(THREADS_LISTED_MAX);
    uses
}
