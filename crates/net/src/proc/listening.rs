//! The processes that listen at an address.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::socket::Addr;

use super::processes;

/// The number of descriptors among which a listener is searched first: a server opens it before it has
/// clients.
const FIRST_FDS: usize = 256;

/// The pids of all processes that listen on `addr`, ascending. Empty if none does, or if they belong to
/// another user, whose descriptors this process may not see.
///
/// A wildcard listener (`0.0.0.0`, `[::]`) counts for every address with its port, as the kernel lets it,
/// unless another process listens on that very address.
pub fn pids_listening_on(addr: &Addr) -> io::Result<Vec<u32>> {
    let inodes: HashSet<u64> = match addr {
        Addr::Inet(wanted) => {
            let mut listeners = tcp_listeners()?;
            listeners.retain(|(local, _)| covers(local, wanted));
            if listeners.iter().any(|(local, _)| local == wanted) {
                listeners.retain(|(local, _)| local == wanted);
            }
            listeners.into_iter().map(|(_, inode)| inode).collect()
        }
        Addr::Unix(path) => unix_inodes(&String::from_utf8_lossy(&fs::read("/proc/net/unix")?), path),
    };
    if inodes.is_empty() {
        return Ok(Vec::new());
    }
    let mut pids = processes::pids()?;
    pids.sort_unstable();
    // Each descriptor costs a system call, and clients' may be hundreds of thousands.
    let holders = |fds_max| -> Vec<u32> {
        let holds = |pid: &u32| sockets_of(*pid, fds_max).any(|inode| inodes.contains(&inode));
        pids.iter().copied().filter(holds).collect()
    };
    Some(holders(FIRST_FDS)).filter(|pids| !pids.is_empty()).map_or_else(|| Ok(holders(usize::MAX)), Ok)
}

/// The TCP addresses on which a process, or one that descends from it, listens.
pub fn ports_of_tree(root: u32) -> io::Result<Vec<SocketAddr>> {
    let held: HashSet<u64> =
        processes::tree_of(root)?.into_iter().flat_map(|pid| sockets_of(pid, usize::MAX)).collect();
    let its = tcp_listeners()?.into_iter().filter(|(_, inode)| held.contains(inode));
    Ok(its.map(|(address, _)| address).collect())
}

/// Every listening TCP socket: its address and its inode.
fn tcp_listeners() -> io::Result<Vec<(SocketAddr, u64)>> {
    let mut listeners = listed(BufReader::new(File::open("/proc/net/tcp")?));
    // Absent on machines without IPv6.
    listeners.extend(File::open("/proc/net/tcp6").into_iter().flat_map(|file| listed(BufReader::new(file))));
    Ok(listeners)
}

/// Reads the listening sockets, which the kernel lists before connected ones (`tcp_seq_start`): with hundreds
/// of thousands of connections, the rest would take a second to read.
fn listed(table: impl BufRead) -> Vec<(SocketAddr, u64)> {
    table.lines().skip(1).map_while(|line| listener(&line.ok()?)).collect()
}

/// Parses a line `sl local_address rem_address st …`, whose tenth field is the inode; state `0A` is
/// listening.
fn listener(line: &str) -> Option<(SocketAddr, u64)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_listening = *fields.get(3)? == "0A";
    is_listening.then_some((parse_hex_addr(fields[1])?, fields.get(9)?.parse().ok()?))
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

/// Parses `0100007F:0D05`, or four such words for IPv6: each 32-bit word is in the machine's byte order, and
/// the port is in the usual order.
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

/// Finds inodes in lines `Num RefCount Protocol Flags Type St Inode Path`; flag 0x10000 (`__SO_ACCEPTCON`) is
/// listening.
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

/// The inodes of the sockets among a process's first `fds_max` descriptors; none if this process may not see
/// them.
fn sockets_of(pid: u32, fds_max: usize) -> impl Iterator<Item = u64> {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten().take(fds_max);
    fds.filter_map(|fd| {
        let link = fs::read_link(fd.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::listen;

    fn is_us(addr: &Addr) -> bool {
        pids_listening_on(addr).unwrap() == [std::process::id()]
    }

    #[test]
    fn finds_tcp_listeners_and_only_listeners() {
        for ip in ["127.0.0.1:0", "[::1]:0"] {
            let listener = listen(&Addr::Inet(ip.parse().unwrap()), 8, false).unwrap();
            let addr = listener.local_addr().unwrap();
            assert!(is_us(&addr), "{addr}");
            drop(listener);
            assert_eq!(pids_listening_on(&addr).unwrap(), Vec::<u32>::new());
        }
    }

    #[test]
    fn a_wildcard_covers_its_port() {
        let listener = listen(&Addr::Inet("0.0.0.0:0".parse().unwrap()), 8, false).unwrap();
        let Addr::Inet(addr) = listener.local_addr().unwrap() else { panic!("not TCP") };
        let specific = Addr::Inet(SocketAddr::new("127.0.0.1".parse().unwrap(), addr.port()));
        assert!(is_us(&specific));
    }

    #[test]
    fn finds_unix_listeners() {
        let dir = tempfile::tempdir().unwrap();
        let addr = Addr::Unix(dir.path().join("a b.sock"));
        assert_eq!(pids_listening_on(&addr).unwrap(), Vec::<u32>::new());
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
        let listening = ("127.0.0.1:3333".parse().unwrap(), 42);
        assert_eq!(listed(table.as_bytes()), [listening], "and not who is connected");
        assert_eq!(listed(&b"short\nline\n"[..]), []);
    }
}
