//! `throng calibrate`: what can the generator itself do here?

use clap::Args;
use load::{Load, Until, Workload};
use net::affinity;
use report::rate;
use results::verdict::{self, WORKER_CPU_PERCENT_MAX};
use results::{Step, units};

use crate::builtin::BuiltIn;
use crate::calibration::{Calibration, Ceiling, HTTP, Work};
use crate::exit::{Exit, Failure};
use crate::flags::compression::Compression;
use crate::output;
use crate::processes;
use crate::trial::{Trial, measure};
use crate::verbs::steps;

/// The best of this many runs counts: whatever else the machine does can only make a run slower.
const REPEATS: u32 = 3;
/// Connections for each second of the duration: about as many as it takes.
const CONNECTS_PER_S: u64 = 10_000;
const CONNECTS_MIN: u64 = 100;
/// Within what one source address has ports for.
const CONNECTS_MAX: u64 = 10_000;
/// Time for holding them: none is needed.
const HOLD_NS: u64 = 1_000_000;
/// Echoes under way at once, each of another client: every reading of a socket has an answer in it.
const ECHO_CLIENTS: u32 = 256;
/// Connections that ask as soon as they are answered.
const REQUEST_CLIENTS: u32 = 64;
/// Receivers of each broadcast, and broadcasts under way at once: websocket-bench's.
const BROADCAST_CLIENTS: u32 = 1_000;
const BROADCASTS: u32 = 4;

/// How much can the generator itself do on this machine? Runs then give their results as a share of it
///
/// Runs against throng's own server, with half of the CPUs for each, and measures per second: clients
/// connected, echoes (raw messages of 33 bytes), copies of broadcasts received, and HTTP requests. The best
/// of three short runs of each is kept in $XDG_DATA_HOME/throng/calibration.json, for this machine and this
/// version of throng.
#[derive(Args)]
pub(crate) struct Calibrate {
    /// How long to send in each run
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = units::time_ns)]
    duration: u64,
}

/// The division of the CPUs; empty: there is but one.
struct Split {
    server: Vec<usize>,
    generator: Vec<usize>,
}

impl Calibrate {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        steps::positive("--duration", self.duration)?;
        let split = Split::new()?;
        say(&split.describe())?;
        let connects = self.duration / (1_000_000_000 / CONNECTS_PER_S);
        let connects = connects
            .clamp(CONNECTS_MIN, CONNECTS_MAX)
            .min(processes::clients_per_process(split.threads())?) as u32;
        let hold = Load::Hold { duration_ns: HOLD_NS };
        let until = Until::Elapsed { duration_ns: self.duration };
        let closed = |concurrency| Load::Closed { concurrency, per_client: 1, until };
        let ceilings = [
            split.best(Work::Connects, "raw", connects, hold)?,
            split.best(Work::Echoes, "raw", ECHO_CLIENTS, closed(ECHO_CLIENTS))?,
            split.best(Work::Copies, "json", BROADCAST_CLIENTS, closed(BROADCASTS))?,
            split.best(Work::Requests, HTTP, REQUEST_CLIENTS, closed(REQUEST_CLIENTS))?,
        ];
        let path = Calibration::new(split.threads().into(), ceilings).save()?;
        say(&format!("kept in {}", path.display()))
    }
}

impl Split {
    fn new() -> Result<Self, Failure> {
        let cpus = affinity::available_cpus()
            .map_err(|e| Failure::could_not("read_affinity", "read the CPU affinity", e))?;
        // Nothing to divide: they share it, and the output says so.
        if cpus.len() < 2 {
            return Ok(Self { server: Vec::new(), generator: Vec::new() });
        }
        let (server, generator) = cpus.split_at(cpus.len() / 2);
        Ok(Self { server: server.to_vec(), generator: generator.to_vec() })
    }

    fn threads(&self) -> u16 {
        self.generator.len().clamp(1, usize::from(u16::MAX)) as u16
    }

    fn describe(&self) -> String {
        if self.generator.is_empty() {
            return "generator and server share the only CPU: the ceilings are those of both together".into();
        }
        format!("generator on CPUs {}, server on CPUs {}", list(&self.generator), list(&self.server))
    }

    /// The best of some runs, each against a server of its own: no port that is still waiting is in the way.
    fn best(&self, work: Work, dialect: &'static str, clients: u32, load: Load) -> Result<Ceiling, Failure> {
        let workload = if work == Work::Copies { Workload::Broadcast } else { Workload::Echo };
        let mut best: Option<Ceiling> = None;
        let mut others_percent: Option<f64> = None;
        for _ in 0..REPEATS {
            let server = self.start_server()?;
            let (threads, cpus) = (self.threads(), self.generator.clone());
            let compression = Compression::default();
            let trial =
                Trial { server: &server, compression, dialect, workload, clients, load, threads, cpus };
            let step = measure(&trial, || {})?;
            others_percent =
                others_percent.into_iter().chain(verdict::others_percent(&step)).reduce(f64::max);
            // A run in which others left nothing of the machine is not the best.
            let ceilings = best.into_iter().chain(ceiling(&step, work));
            best = ceilings.max_by(|one, other| one.per_s.total_cmp(&other.per_s));
        }
        let silent = "throng's own server did not answer in that time: try a longer --duration";
        let best = best.ok_or_else(|| Failure::could_not("calibrate", "calibrate", silent))?;
        let bound = if best.at_least { "at least" } else { "" };
        let remark = others_percent.map_or_else(String::new, |used| {
            format!("   other processes used {used:.0}% of the machine: repeat it when they are gone")
        });
        say(&format!("{:10} {bound:8} {:>14}{remark}", work.name(), rate(best.per_s, "")))?;
        Ok(best)
    }

    fn start_server(&self) -> Result<BuiltIn, Failure> {
        if self.server.is_empty() {
            return BuiltIn::start(&[]);
        }
        let threads = self.server.len().to_string();
        // Pinned, so that the server's threads take nothing from the generator's CPUs.
        BuiltIn::start(&["--pin", &list(&self.server), "--threads", &threads])
    }
}

/// The ceiling that a run reached, if it did. The worker's CPU tells whether it was the generator's ceiling;
/// while connecting it is not known.
fn ceiling(step: &Step, work: Work) -> Option<Ceiling> {
    let cpu = step.generator.as_ref().and_then(|generator| generator.worker_cpu_percent_max);
    // A generator that was not busy could have done more: its server was the limit.
    let busy = work != Work::Connects && cpu.is_some_and(|cpu| cpu >= WORKER_CPU_PERCENT_MAX);
    let per_s = work.per_s(step).filter(|&per_s| per_s > 0.0)?;
    Some(Ceiling { per_s, at_least: !busy })
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn say(line: &str) -> Result<Exit, Failure> {
    output::print(&format!("{line}\n"))
}
