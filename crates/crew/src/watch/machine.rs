//! Idle CPU of the coordinator's machine in a window, and other users of it.

use net::affinity;
use net::cgroup::quota::{CpuQuota, Throttling};
use net::clock;
use net::network::{Link, Segments};
use net::proc::{MachineCpu, Programs, machine_cpu};
use results::{MachineUse, ProgramUse};

/// Most other programs that a result names: the busiest, if they used at least this share of a core.
const OTHERS_MAX: usize = 3;
const OTHERS_CPU_PERCENT_MIN: f64 = 5.0;

/// The machine when the window opened.
pub(super) struct MachineWatch {
    at_ns: u64,
    cpu: Option<MachineCpu>,
    programs: Programs,
    links: Vec<Link>,
    segments: Option<Segments>,
    quota: Option<CpuQuota>,
    throttling: Option<Throttling>,
}

impl MachineWatch {
    /// Opens the window.
    pub(super) fn start() -> Self {
        let quota = CpuQuota::of(std::process::id());
        let throttling = quota.as_ref().and_then(CpuQuota::throttling);
        // Before the clock and the counters: reading every process takes milliseconds, which are not of the
        // window.
        let programs = Programs::read();
        Self {
            at_ns: clock::monotonic_ns(),
            cpu: machine_cpu().ok(),
            programs,
            links: Link::all().unwrap_or_default(),
            segments: Segments::read().ok(),
            quota,
            throttling,
        }
    }

    /// Usage since the window opened, and how often the generator's processes here ran into their CPU quota,
    /// if they have one. `server`: the processes of a server of this machine.
    pub(super) fn until_now(&self, server: &[u32], is_here: bool) -> (MachineUse, Option<f64>) {
        let now = self.quota.as_ref().and_then(CpuQuota::throttling);
        let cpu = self.cpu.zip(machine_cpu().ok());
        let share = |of: fn(&MachineCpu) -> u64| {
            let (was, is) = cpu?;
            let total_ns = is.total_ns.saturating_sub(was.total_ns);
            (total_ns > 0).then(|| 100.0 * of(&is).saturating_sub(of(&was)) as f64 / total_ns as f64)
        };
        let segments = self.segments.zip(Segments::read().ok());
        let machine = MachineUse {
            cores: affinity::available_cpus().ok().map(|cpus| cpus.len() as u32),
            idle_percent_mean: share(|cpu| cpu.idle_ns),
            steal_percent: share(|cpu| cpu.steal_ns),
            // What goes to a server on the same machine goes through no link.
            network_percent: self.busiest_link_percent().filter(|_| !is_here),
            retransmit_percent: segments.and_then(|(was, is)| is.resent_percent_since(was)),
            out_of_order_percent: segments.and_then(|(was, is)| is.early_percent_since(was)),
            // Nobody can say which of them is a server here whose processes are hidden.
            others: if is_here && server.is_empty() { Vec::new() } else { self.others(server) },
            same_host: Some(is_here),
            ..MachineUse::default()
        };
        let throttled_percent = self.throttling.zip(now).and_then(|(was, is)| is.percent_since(was));
        (machine, throttled_percent)
    }

    fn busiest_link_percent(&self) -> Option<f64> {
        let now = Link::all().ok()?;
        let wall_ns = clock::monotonic_ns().saturating_sub(self.at_ns);
        let of = |is: &Link| {
            let was = self.links.iter().find(|was| was.name == is.name)?;
            is.percent_since(was, wall_ns)
        };
        now.iter().filter_map(of).reduce(f64::max)
    }

    fn others(&self, server: &[u32]) -> Vec<ProgramUse> {
        let not: Vec<u32> = server.iter().copied().chain([std::process::id()]).collect();
        let used = Programs::read().since(&self.programs, &not);
        let wall_ns = clock::monotonic_ns().saturating_sub(self.at_ns).max(1);
        let percent = |cpu_ns: u64| 100.0 * cpu_ns as f64 / wall_ns as f64;
        let uses =
            used.into_iter().map(|used| ProgramUse { cpu_percent: percent(used.cpu_ns), name: used.name });
        // A process that takes over the CPU time of an ended child has not used it now: more than the machine
        // has is no use of it.
        let all_percent = 100.0 * affinity::available_cpus().map_or(1, |cpus| cpus.len()) as f64;
        let possible = OTHERS_CPU_PERCENT_MIN..=all_percent;
        uses.filter(|used| possible.contains(&used.cpu_percent)).take(OTHERS_MAX).collect()
    }
}
