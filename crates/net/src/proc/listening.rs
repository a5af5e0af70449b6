//! Who listens there?

use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;

use super::read::Reader;
use crate::socket::Addr;

/// The pid of a process that listens on `addr`: the lowest if several share the socket. `None` if nobody does,
/// or if it is another user's process, whose descriptors are not ours to see.
///
/// A wildcard listener (`0.0.0.0`, `[::]`) counts for every address with its port, as the kernel lets it.
pub fn pid_listening_on(addr: &Addr) -> io::Result<Option<u32>> {
    let inodes = match addr {
        Addr::Inet(wanted) => {
            let mut inodes = tcp_inodes(&fs::read_to_string("/proc/net/tcp")?, wanted);
            // Absent on machines without IPv6.
            inodes.extend(tcp_inodes(&fs::read_to_string("/proc/net/tcp6").unwrap_or_default(), wanted));
            inodes
        }
        Addr::Unix(path) => unix_inodes(&fs::read_to_string("/proc/net/unix")?, path),
    };
    if inodes.is_empty() {
        return Ok(None);
    }
    let links: HashSet<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let mut pids = super::pids()?;
    pids.sort_unstable();
    Ok(pids.into_iter().find(|&pid| holds_one(pid, &links)))
}

/// The TCP addresses on which a process, or one that descends from it, listens.
pub fn ports_of_tree(root: u32) -> io::Result<Vec<SocketAddr>> {
    let tables =
        [fs::read_to_string("/proc/net/tcp")?, fs::read_to_string("/proc/net/tcp6").unwrap_or_default()];
    let pids: Vec<u32> = super::tree_of(root)?;
    let listening = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let inode: u64 = fields.get(9)?.parse().ok()?;
        (*fields.get(3)? == "0A").then_some((parse_hex_addr(fields.get(1)?)?, inode))
    };
    let all = tables.iter().flat_map(|table| table.lines().skip(1).filter_map(listening));
    let is_its = |inode: u64| {
        let links = HashSet::from([format!("socket:[{inode}]")]);
        pids.iter().any(|&pid| holds_one(pid, &links))
    };
    Ok(all.filter(|(_, inode)| is_its(*inode)).map(|(address, _)| address).collect())
}

/// The head of the server that `pid` is part of: servers of several processes (node's cluster, nginx, gunicorn) are
/// children of a process of the same program that need not listen itself. Never this process or one above it.
pub fn head_of(pid: u32) -> u32 {
    let mut reader = Reader::new();
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let mut head = pid;
    while let Some(parent) = reader.stat(head).map(|stat| stat.parent)
        && parent > 1
        && parent != std::process::id()
        && program(parent).is_some_and(|parent| program(pid) == Some(parent))
    {
        head = parent;
    }
    head
}

/// Lines are `sl local_address rem_address st …`, the tenth field the inode; state `0A` is listening.
fn tcp_inodes(table: &str, wanted: &SocketAddr) -> HashSet<u64> {
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let local = parse_hex_addr(fields.get(1)?)?;
        let listening = *fields.get(3)? == "0A";
        (listening && covers(&local, wanted)).then(|| fields.get(9)?.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(inode).collect()
}

fn covers(local: &SocketAddr, wanted: &SocketAddr) -> bool {
    let same_family = local.is_ipv4() == wanted.is_ipv4();
    local.port() == wanted.port()
        && match local.ip() {
            ip if ip == wanted.ip() => true,
            // An IPv6 wildcard takes IPv4 too, unless it says otherwise, which the table does not show.
            IpAddr::V6(ip) => ip.is_unspecified() || ip.to_ipv4_mapped().is_some_and(|ip| ip == wanted.ip()),
            IpAddr::V4(ip) => ip.is_unspecified() && same_family,
        }
}

/// `0100007F:0D05`, or four such words for IPv6: each 32-bit word in the machine's byte order, the port as read.
fn parse_hex_addr(text: &str) -> Option<SocketAddr> {
    let (hex, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for word in hex.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Lines are `Num RefCount Protocol Flags Type St Inode Path`; flag 0x10000 (`__SO_ACCEPTCON`) is listening.
fn unix_inodes(table: &str, wanted: &Path) -> HashSet<u64> {
    let inode = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
        let inode = fields.nth(2)?.parse().ok()?;
        let path = line.split_once(" /")?.1;
        let same = Path::new(&format!("/{path}")) == wanted;
        (flags & 0x10000 != 0 && same).then_some(inode)
    };
    table.lines().skip(1).filter_map(inode).collect()
}

fn holds_one(pid: u32, links: &HashSet<String>) -> bool {
    let Ok(fds) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    fds.flatten().any(|fd| {
        fs::read_link(fd.path()).is_ok_and(|link| link.to_str().is_some_and(|text| links.contains(text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::listen;

    fn is_us(addr: &Addr) -> bool {
        pid_listening_on(addr).unwrap() == Some(std::process::id())
    }

    #[test]
    fn finds_tcp_listeners_and_only_listeners() {
        for ip in ["127.0.0.1:0", "[::1]:0"] {
            let listener = listen(&Addr::Inet(ip.parse().unwrap()), 8, false).unwrap();
            let addr = listener.local_addr().unwrap();
            assert!(is_us(&addr), "{addr}");
            drop(listener);
            assert_eq!(pid_listening_on(&addr).unwrap(), None);
        }
    }

    #[test]
    fn a_wildcard_covers_its_port() {
        let listener = listen(&Addr::Inet("0.0.0.0:0".parse().unwrap()), 8, false).unwrap();
        let Addr::Inet(addr) = listener.local_addr().unwrap() else { panic!("not TCP") };
        assert!(is_us(&Addr::Inet(SocketAddr::new("127.0.0.1".parse().unwrap(), addr.port()))));
    }

    #[test]
    fn finds_unix_listeners() {
        let dir = tempfile::tempdir().unwrap();
        let addr = Addr::Unix(dir.path().join("a b.sock"));
        assert_eq!(pid_listening_on(&addr).unwrap(), None);
        let _listener = listen(&addr, 8, false).unwrap();
        assert!(is_us(&addr));
    }

    #[test]
    fn reads_the_kernels_tables() {
        let addr = parse_hex_addr("00000000000000000000000001000000:0D05");
        assert_eq!(addr, cfg!(target_endian = "little").then(|| "[::1]:3333".parse().unwrap()));
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     0: 0100007F:0D05 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 42 1\n\
                     1: 0100007F:0D05 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 43 1\n";
        assert_eq!(tcp_inodes(table, &"127.0.0.1:3333".parse().unwrap()), HashSet::from([42]));
        assert!(tcp_inodes(table, &"127.0.0.2:3333".parse().unwrap()).is_empty());
        assert!(tcp_inodes("short\nline\n", &"127.0.0.1:1".parse().unwrap()).is_empty());
    }
}
