//! The CPUs that this process may use, and tying threads to them.

use std::fmt;
use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that the calling thread may run on, ascending: the machine's, less what `taskset` or a container
/// took away.
pub fn available_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// How many CPUs the process `pid` may run on; 0 when it has ended.
pub fn cpus_of(pid: u32) -> usize {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return 0 };
    sched_getaffinity(Some(pid)).map_or(0, |set| set.count() as usize)
}

/// Lets the calling thread, and those it starts from now on, run only on `cpus`. An empty list, or one with
/// no CPU of this machine in it, is an error.
pub fn pin_current_thread(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no CPU {cpu}")));
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// A list of CPUs that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuListError {
    part: String,
}

impl fmt::Display for CpuListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a CPU or a range of CPUs; expected a list such as 0-3,5", self.part)
    }
}

impl std::error::Error for CpuListError {}

/// Reads a list as the kernel and `taskset -c` write it (`1-3,5`): ascending, without duplicates.
pub fn parse_cpus(list: &str) -> Result<Vec<usize>, CpuListError> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let error = || CpuListError { part: part.to_owned() };
        let number = |text: &str| match text.trim().parse::<usize>() {
            Ok(cpu) if cpu < CpuSet::MAX_CPU => Ok(cpu),
            _ => Err(error()),
        };
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return Err(error());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lists() {
        assert_eq!(parse_cpus("1-3,5").unwrap(), [1, 2, 3, 5]);
        assert_eq!(parse_cpus(" 7 ,0-1,1").unwrap(), [0, 1, 7]);
        for bad in ["", "a", "3-1", "1-", "-1", "1,,2", "1-2-3", "99999"] {
            assert!(parse_cpus(bad).is_err(), "{bad}");
        }
        assert!(parse_cpus("0,x").unwrap_err().to_string().contains("\"x\""));
    }

    #[test]
    fn a_pinned_thread_has_one_cpu() {
        let all = available_cpus().unwrap();
        let last = *all.last().unwrap();
        std::thread::spawn(move || {
            pin_current_thread(&[last]).unwrap();
            assert_eq!(available_cpus().unwrap(), [last]);
            assert!(pin_current_thread(&[]).is_err());
            assert!(pin_current_thread(&[1_000_000]).is_err());
        })
        .join()
        .unwrap();
        assert_eq!(available_cpus().unwrap(), all, "pinning is for the calling thread only");
    }
}
