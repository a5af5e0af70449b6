//! How many processes and threads a run takes, at both ends.

use crew::{FILES_PER_WORKER, Shape};
use net::{affinity, limits};
use results::format::count;

use crate::exit::Failure;
use crate::flags::args::{PROCESSES_MAX, RunArgs};

/// The most processes of throng's own server.
pub(crate) const SERVER_PROCESSES_MAX: u16 = 1_024;
/// Files that a process needs besides its threads' and its clients'.
pub(crate) const OTHER_FILES: u64 = 64;
/// The most threads of a process, unless the user asks for more.
const THREADS_MAX: usize = 1_024;

/// How many clients one process of `threads` threads may have.
pub(crate) fn clients_per_process(threads: u16) -> Result<u64, Failure> {
    let files = limits::raise_nofile()
        .map_err(|e| Failure::of_generator("raise_open_files", "raise the limit on open files", e))?;
    Ok(clients_with_files(files, threads.into()))
}

/// How many clients one process on all CPUs may have.
pub(crate) fn clients_of_one_process() -> Result<u64, Failure> {
    clients_per_process(threads_of_all_cpus()?)
}

/// How many clients a process of `threads` threads may have, with a limit of `files` open files.
pub(crate) fn clients_with_files(files: u64, threads: u64) -> u64 {
    // At least one: with so few files, connecting it tells the user what is wrong.
    files.saturating_sub(files_with_clients(0, threads)).max(1)
}

/// How many open files a process of `threads` threads needs for this many clients.
pub(crate) fn files_with_clients(clients: u64, threads: u64) -> u64 {
    clients + OTHER_FILES + FILES_PER_WORKER * threads
}

/// Threads of a process that has all CPUs for itself.
pub(crate) fn threads_of_all_cpus() -> Result<u16, Failure> {
    Ok(threads_on(available_cpus()?.len()))
}

/// Threads on this many CPUs.
pub(crate) fn threads_on(cpus: usize) -> u16 {
    cpus.clamp(1, THREADS_MAX) as u16
}

/// Processes that throng's own server needs for this many clients.
pub(crate) fn server_processes(clients: u64, per_process: u64) -> u64 {
    if clients <= per_process { 1 } else { spread_over_servers(clients).div_ceil(per_process) }
}

/// The clients that several processes of throng's own server need room for. The kernel deals connections out
/// among them at random: with a tenth to spare, none runs out of files before the others.
pub(crate) fn spread_over_servers(clients: u64) -> u64 {
    clients + clients / 10
}

/// Threads of each of its processes beside a generator: what [`shape`] leaves of the CPUs.
pub(crate) fn server_threads(processes: u64) -> Result<u64, Failure> {
    let available = available_cpus()?;
    Ok((available.len() as u64 / 2 / processes).max(1))
}

fn available_cpus() -> Result<Vec<usize>, Failure> {
    affinity::available_cpus()
        .map_err(|error| Failure::of_generator("read_affinity", "read the CPU affinity", error))
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

/// Processes and threads for this many connections; `beside_server`: the server needs CPUs of this machine too.
/// A fleet's agents decide for themselves, and the limits of this machine do not concern them.
pub(crate) fn shape(args: &RunArgs, connections: u64, beside_server: bool) -> Result<Shape, Failure> {
    if args.fleet.fleet.is_some() {
        return Ok(Shape { processes: 1, threads: 1, cpus: Vec::new(), clients: connections });
    }
    let available = available_cpus()?;
    let cpus = match &args.pin {
        Some(list) => cpus_of_here("--pin", list)?,
        None => Vec::new(),
    };
    let cores = if cpus.is_empty() { available.len() } else { cpus.len() };
    // A user who pins the generator has decided what is left to the server.
    let cores = if beside_server && cpus.is_empty() { cores.div_ceil(2) } else { cores };
    let threads_of_each =
        |processes: u16| args.threads.unwrap_or_else(|| threads_on(cores / usize::from(processes)));
    // Fewer processes have more threads each, which take files of their own: so at most this many.
    let most = threads_of_each(args.processes.unwrap_or(1));
    let needed = connections.max(1).div_ceil(clients_per_process(most)?);
    let needed = u16::try_from(needed).ok().filter(|&needed| needed <= PROCESSES_MAX).ok_or_else(|| {
        let problem = format!(
            "{} connections need {} processes here, of which there may be {}: raise the limit on open files \
             (throng doctor)",
            count(connections),
            count(needed),
            count(PROCESSES_MAX.into())
        );
        Failure::usage("--clients", problem)
    })?;
    let processes = args.processes.unwrap_or(needed).max(1);
    if processes < needed {
        let connections = count(connections);
        let problem = format!(
            "{connections} connections need {needed} processes here (ulimit -n): type --processes {needed}"
        );
        return Err(Failure::usage("--processes", problem));
    }
    let threads = threads_of_each(processes);
    // Workers are numbered by u16 across all processes.
    if u32::from(processes) * u32::from(threads) > u32::from(u16::MAX) {
        return Err(Failure::usage("--threads", "more than 65,535 workers in all"));
    }
    Ok(Shape { processes, threads, cpus, clients: connections })
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    fn args(flags: &[&str]) -> RunArgs {
        let words = ["throng", "ws://10.0.0.7/ws"].into_iter().chain(flags.iter().copied());
        let matches = RunArgs::augment_args(Command::new("throng")).get_matches_from(words);
        RunArgs::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn fleets_ignore_limits_of_this_machine() {
        const MANY: u64 = 1_000_000_000;
        assert!(shape(&args(&["--threads", "68"]), MANY, false).is_err());
        let fleet = args(&["--threads", "68", "--fleet", "nats://10.0.0.1:4222"]);
        assert_eq!(shape(&fleet, MANY, false).unwrap().clients, MANY);
        assert_eq!(fleet.gathering(MANY).unwrap().unwrap().threads, Some(68));
        let fleet = args(&["--threads", "2000", "--fleet", "nats://10.0.0.1:4222"]);
        let Err(failure) = fleet.gathering(MANY) else { panic!("no agent takes that") };
        assert_eq!(failure.key(), "usage.threads", "{failure}");
        assert!(failure.to_string().contains("1,024"), "{failure}");
    }

    #[test]
    fn threads_take_files_from_clients() {
        assert_eq!(clients_with_files(256, 1), 256 - OTHER_FILES - 2);
        assert_eq!(clients_with_files(256, 40), 256 - OTHER_FILES - 80);
        assert_eq!(clients_with_files(256, 1_000), 1);
        let of = |threads: &str| {
            let here = clients_per_process(threads.parse().unwrap()).unwrap();
            let shape = shape(&args(&["--threads", threads]), here + 1, false).unwrap();
            (shape.processes, shape.threads.to_string() == threads)
        };
        assert_eq!((of("1"), of("40")), ((2, true), (2, true)));
    }
}
