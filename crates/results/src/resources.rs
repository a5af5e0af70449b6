//! Usage of the server, the generator and the machine during a step.

use stats::Histogram;

/// Usage of the server's process tree, as far as it could be seen. CPU is 100 for one full core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerUse {
    /// Mean CPU over the window.
    pub cpu_percent_mean: Option<f64>,
    /// Highest of the samples (four a second).
    pub cpu_percent_peak: Option<f64>,
    /// Cores the server may use: those of its affinity, or its cgroup's quota, whichever is less.
    pub cores: Option<f64>,
    /// Share of the periods of that quota at whose end it had none left and stood still: 0 to 100.
    pub throttled_percent: Option<f64>,
    /// Mean resident memory of all processes together, shared pages counted in each.
    pub rss_bytes_mean: Option<u64>,
    /// Peak resident memory.
    pub rss_bytes_peak: Option<u64>,
    /// Peak proportional memory: shared pages counted once.
    pub pss_bytes_peak: Option<u64>,
    /// Processes in the tree.
    pub processes: Option<u64>,
    /// Threads in the tree.
    pub threads: Option<u64>,
    /// Open file descriptors.
    pub fds: Option<u64>,
    /// How many it may have open, if it is one process.
    pub fds_max: Option<u64>,
    /// The program that listens, or that of the process above it.
    pub name: Option<String>,
    /// The id of that process.
    pub pid: Option<u64>,
    /// Context switches during the window.
    pub context_switches: Option<u64>,
    /// When all of its processes were first seen to have ended, from the start of the run. What else is known is of the
    /// time until then.
    pub ended_ns: Option<u64>,
    /// Per-thread accounting, the busiest first.
    pub thread_use: Vec<ThreadUse>,
}

impl ServerUse {
    /// Mean CPU, 100 for all cores that it may use.
    pub fn cpu_percent_of_cores(&self) -> Option<f64> {
        self.cpu_percent_mean.map(|cpu| cpu / self.cores_or_one())
    }

    /// Cores of which its CPU is told as a share: all that it may use, or one where these are not known.
    pub fn cores_or_one(&self) -> f64 {
        self.cores.filter(|&cores| cores > 0.0).unwrap_or(1.0)
    }
}

/// How one thread of the server spent the window; the shares add up to about 100.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadUse {
    /// Its name.
    pub name: String,
    /// Share of the window in user code: 0 to 100.
    pub user_percent: f64,
    /// Share of the window in the kernel: 0 to 100.
    pub system_percent: f64,
    /// Share of the window ready to run, waiting for a CPU: 0 to 100.
    pub waiting_percent: f64,
    /// Share of the window asleep: 0 to 100.
    pub asleep_percent: f64,
}

impl ThreadUse {
    /// The share of one CPU it used.
    pub fn cpu_percent(&self) -> f64 {
        self.user_percent + self.system_percent
    }
}

/// Usage of the generator, all agents together. CPU is 100 for one full core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeneratorUse {
    /// Mean CPU over the window.
    pub cpu_percent_mean: Option<f64>,
    /// Highest of the samples.
    pub cpu_percent_peak: Option<f64>,
    /// Mean CPU of the busiest worker thread: at most 100.
    pub worker_cpu_percent_max: Option<f64>,
    /// Share of the window the workers were runnable and had no CPU: their mean.
    pub waiting_percent: Option<f64>,
    /// The same of the worker that waited most.
    pub worker_waiting_percent_max: Option<f64>,
    /// Share of the periods of its cgroup's quota at whose end it had none left and stood still: 0 to 100.
    pub throttled_percent: Option<f64>,
    /// Peak resident memory.
    pub rss_bytes_peak: Option<u64>,
    /// Growth of resident memory per open client, in bytes.
    pub bytes_per_client: Option<f64>,
    /// The most it can do on this machine with as many workers, by `throng calibrate`: echoes, copies, or connects.
    pub ceiling_per_s: Option<f64>,
    /// The step's rate as a share of that: 0 to 100.
    pub ceiling_percent: Option<f64>,
    /// True if it can do still more: the calibration was limited by its server.
    pub ceiling_at_least: Option<bool>,
    /// How long a ready event waited before it was handled.
    pub loop_lag: Histogram,
}

/// Idle resources of the generator's machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineUse {
    /// Cores of the machine.
    pub cores: Option<u32>,
    /// Mean idle share of all cores together: 0 to 100.
    pub idle_percent_mean: Option<f64>,
    /// Share of their time that the hypervisor gave to others: 0 to 100.
    pub steal_percent: Option<f64>,
    /// The programs, other than generator and server, that had most of its CPU: the busiest first. None where
    /// the server is on it and its processes are hidden.
    pub others: Vec<ProgramUse>,
    /// The busiest network link's throughput, in its busier direction, as a share of its speed: 0 to 100.
    /// Known where the server is on another machine and the link's driver knows its speed.
    pub network_percent: Option<f64>,
    /// TCP segments sent again during the window, as a share of those sent: 0 to 100.
    pub retransmit_percent: Option<f64>,
    /// TCP segments that came before one sent earlier, which was lost or overtaken, as a share of those
    /// received: 0 to 100. What the server sends again shows here.
    pub out_of_order_percent: Option<f64>,
    /// How often a listener's queue was full when a connection was to begin, in which case the kernel drops
    /// what begins it. Known where the server is on the same machine.
    pub listen_overflows: Option<u64>,
    /// Growth of the kernel's memory for each client while they connected: both ends, if the server is on the same
    /// machine. Known where there are many.
    pub kernel_bytes_per_client: Option<f64>,
    /// True if the server ran on it too.
    pub same_host: Option<bool>,
}

/// Usage of a program that has nothing to do with the run: all processes of its name together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramUse {
    /// Its name, as the kernel has it: 15 bytes at most.
    pub name: String,
    /// Mean CPU over the window; 100 is one full core.
    pub cpu_percent: f64,
}
