//! How many processes and threads a run takes, at both ends.

use crew::Shape;
use net::{affinity, limits};

use crate::args::RunArgs;
use crate::exit::Failure;

/// Files that a process needs besides its clients'.
pub(crate) const OTHER_FILES: u64 = 64;

/// How many clients one process may have.
pub(crate) fn clients_per_process() -> Result<u64, Failure> {
    let files =
        limits::raise_nofile().map_err(|e| Failure::of_generator("raise the limit on open files", e))?;
    Ok(clients_with_files(files))
}

/// How many clients a process may have that may have this many files open.
pub(crate) fn clients_with_files(files: u64) -> u64 {
    files.saturating_sub(OTHER_FILES).max(1)
}

/// Processes that throng's own server needs for this many clients. The kernel deals connections out among them at
/// random: with a tenth to spare, none runs out of files before the others.
pub(crate) fn server_processes(clients: u64, per_process: u64) -> u64 {
    if clients <= per_process { 1 } else { (clients + clients / 10).div_ceil(per_process) }
}

/// Threads of each of its processes beside a generator: what [`shape`] leaves of the CPUs.
pub(crate) fn server_threads(processes: u64) -> Result<u64, Failure> {
    let available = available_cpus()?;
    Ok((available.len() as u64 / 2 / processes).max(1))
}

fn available_cpus() -> Result<Vec<usize>, Failure> {
    affinity::available_cpus().map_err(|error| Failure::of_generator("read the CPU affinity", error))
}

/// The CPUs of a flag's list, all of which there have to be on this machine.
pub(crate) fn cpus_of_here(flag: &str, list: &str) -> Result<Vec<usize>, Failure> {
    let cpus = affinity::parse_cpus(list).map_err(|error| Failure::usage(flag, error))?;
    let available = available_cpus()?;
    match cpus.iter().find(|cpu| !available.contains(cpu)) {
        None => Ok(cpus),
        Some(cpu) => {
            Err(Failure::usage(flag, format!("there is no CPU {cpu} here; there are {available:?}")))
        }
    }
}

/// Processes and threads for this many clients; `beside_server`: the server needs CPUs of this machine too.
pub(crate) fn shape(args: &RunArgs, clients: u64, beside_server: bool) -> Result<Shape, Failure> {
    let available = available_cpus()?;
    let cpus = match &args.pin {
        Some(list) => cpus_of_here("--pin", list)?,
        None => Vec::new(),
    };
    let needed = clients.max(1).div_ceil(clients_per_process()?);
    let needed =
        u16::try_from(needed).map_err(|_| Failure::usage("--clients", "too many for 65,535 processes"))?;
    let processes = args.processes.unwrap_or(needed).max(1);
    if processes < needed {
        let problem = format!("{clients} clients need {needed} processes here (ulimit -n)");
        return Err(Failure::usage("--processes", problem));
    }
    let cores = if cpus.is_empty() { available.len() } else { cpus.len() };
    let cores = if beside_server && cpus.is_empty() { cores.div_ceil(2) } else { cores };
    let threads = args.threads.unwrap_or_else(|| (cores / usize::from(processes)).clamp(1, 1024) as u16);
    if u32::from(processes) * u32::from(threads) > u32::from(u16::MAX) {
        return Err(Failure::usage("--threads", "more than 65,535 workers in all"));
    }
    Ok(Shape { processes, threads, cpus, clients })
}
