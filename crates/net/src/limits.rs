//! The kernel limits that decide how many connections a machine can hold.

use std::fs;
use std::io;
use std::net::IpAddr;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's soft limit on open files to the hard one; returns the limit that now holds
/// (`u64::MAX`: none). Child processes inherit it.
pub fn raise_nofile() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// The soft and hard limit on open files (`u64::MAX`: none).
pub fn nofile() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// The first and last port that the kernel gives to outgoing connections: with one source address, one
/// destination can be connected to at most this many times.
pub fn port_range() -> io::Result<(u16, u16)> {
    let text = read("net/ipv4/ip_local_port_range")?;
    let mut ports = text.split_ascii_whitespace().map(str::parse);
    match (ports.next(), ports.next()) {
        (Some(Ok(first)), Some(Ok(last))) => Ok((first, last)),
        _ => Err(unreadable("net/ipv4/ip_local_port_range", &text)),
    }
}

/// The cap on every listener's backlog (`net.core.somaxconn`).
pub fn somaxconn() -> io::Result<u64> {
    read_number("net/core/somaxconn")
}

/// How many half-open connections a listener remembers (`net.ipv4.tcp_max_syn_backlog`).
pub fn tcp_max_syn_backlog() -> io::Result<u64> {
    read_number("net/ipv4/tcp_max_syn_backlog")
}

/// The machine's limit on open files (`fs.file-max`).
pub fn file_max() -> io::Result<u64> {
    read_number("fs/file-max")
}

/// The most files that a process may be allowed to open (`fs.nr_open`).
pub fn nr_open() -> io::Result<u64> {
    read_number("fs/nr_open")
}

/// TCP's limits on its memory in bytes: below the first it uses memory freely, from the second on it saves,
/// at the third it refuses (`net.ipv4.tcp_mem`, which counts in pages).
pub fn tcp_mem_bytes() -> io::Result<[u64; 3]> {
    let text = read("net/ipv4/tcp_mem")?;
    let page_bytes = page_bytes();
    let mut bytes = [0; 3];
    let mut pages = text.split_ascii_whitespace();
    for slot in &mut bytes {
        let value: Option<u64> = pages.next().and_then(|page| page.parse().ok());
        *slot = value.ok_or_else(|| unreadable("net/ipv4/tcp_mem", &text))?.saturating_mul(page_bytes);
    }
    Ok(bytes)
}

/// Returns whether the kernel can encrypt a socket's output: whether TCP's upper layer protocol `tls` is
/// loaded.
pub fn has_kernel_tls() -> io::Result<bool> {
    Ok(read("net/ipv4/tcp_available_ulp")?.split_ascii_whitespace().any(|name| name == "tls"))
}

/// Returns whether programs can bind addresses of this address's family that the machine does not have.
pub(crate) fn binds_any_address(ip: IpAddr) -> bool {
    let family = if ip.is_ipv4() { "ipv4" } else { "ipv6" };
    read_number(&format!("net/{family}/ip_nonlocal_bind")).is_ok_and(|setting| setting != 0)
}

/// The most threads that the machine runs (`kernel.threads-max`).
pub fn threads_max() -> io::Result<u64> {
    read_number("kernel/threads-max")
}

/// One more than the highest process and thread id (`kernel.pid_max`).
pub fn pid_max() -> io::Result<u64> {
    read_number("kernel/pid_max")
}

/// Threads that are running or asleep on the machine.
pub fn threads() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    // `0.20 0.18 0.12 1/80 11206`: runnable and all.
    let all = text.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
    all.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/loadavg"))
}

/// The size of a page of memory.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Files that are open on the machine (`fs.file-nr`).
pub fn files_open() -> io::Result<u64> {
    let text = read("fs/file-nr")?;
    let open = text.split_ascii_whitespace().next().and_then(|number| number.parse().ok());
    open.ok_or_else(|| unreadable("fs/file-nr", &text))
}

/// The firewall's table of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conntrack {
    /// The number of connections in the table now.
    pub count: u64,
    /// The most connections that fit in the table; packets of further connections are dropped.
    pub max: u64,
}

/// Reads the table's size; `None` where there is no connection tracking.
pub fn conntrack() -> Option<Conntrack> {
    let read = |name: &str| read_number(&format!("net/netfilter/{name}")).ok();
    Some(Conntrack { count: read("nf_conntrack_count")?, max: read("nf_conntrack_max")? })
}

/// The soft and hard limit on open files of another process (`u64::MAX`: none).
pub fn nofile_of(pid: u32) -> io::Result<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/limits"))?;
    parse_nofile(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/PID/limits"))
}

/// `Max open files            1024                 524288               files`.
fn parse_nofile(limits: &str) -> Option<(u64, u64)> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut values = line.split_ascii_whitespace().map(|text| match text {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some((values.next()??, values.next()??))
}

fn read_number(key: &str) -> io::Result<u64> {
    let text = read(key)?;
    text.trim().parse().map_err(|_| unreadable(key, &text))
}

fn read(key: &str) -> io::Result<String> {
    fs::read_to_string(format!("/proc/sys/{key}"))
}

fn unreadable(key: &str, text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc/sys/{key}: cannot read {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_rises_to_the_hard_one() {
        let (_, hard) = nofile();
        assert_eq!(raise_nofile().unwrap(), hard);
        assert_eq!(nofile(), (hard, hard));
    }

    #[test]
    fn the_kernel_limits_are_readable_and_plausible() {
        let (first, last) = port_range().unwrap();
        assert!(first < last);
        assert!(somaxconn().unwrap() >= 16);
        assert!(nr_open().unwrap() >= 1024 && file_max().unwrap() >= 1024);
        assert!(tcp_max_syn_backlog().unwrap() >= 16);
        assert!(threads_max().unwrap() >= 64 && pid_max().unwrap() > 300);
        assert!(files_open().unwrap() > 0 && threads().unwrap() > 0);
        let shown = read("net/ipv4/tcp_available_ulp").unwrap_or_default();
        assert_eq!(has_kernel_tls().unwrap_or_default(), format!(" {} ", shown.trim()).contains(" tls "));
        let [low, pressure, high] = tcp_mem_bytes().unwrap();
        assert!(low > 0 && low <= pressure && pressure <= high);
    }

    #[test]
    fn another_process_has_limits_too() {
        assert_eq!(nofile_of(std::process::id()).unwrap().1, nofile().1);
        let text = "Limit  Soft Limit  Hard Limit  Units\nMax open files   1024   unlimited   files\n";
        assert_eq!(parse_nofile(text), Some((1_024, u64::MAX)));
        assert_eq!(parse_nofile("Max processes 1 1 processes\n"), None);
    }
}
