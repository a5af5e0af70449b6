//! The machine's memory: the part that is left, and the part that the kernel uses for connections.

use std::fs;
use std::io;

/// A reading of `/proc/meminfo` and `/proc/net/sockstat`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that programs can still have without swapping, by the kernel's estimate.
    pub available_bytes: u64,
    /// Bytes of the kernel's own objects: sockets, files, inodes.
    pub slab_bytes: u64,
    /// Bytes in TCP's buffers, against `net.ipv4.tcp_mem`.
    pub tcp_bytes: u64,
}

impl Memory {
    /// Reads the machine's memory now.
    pub fn read() -> io::Result<Memory> {
        let meminfo = fs::read_to_string("/proc/meminfo")?;
        let sockstat = fs::read_to_string("/proc/net/sockstat")?;
        parse(&meminfo, &sockstat, crate::limits::page_bytes())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/meminfo or /proc/net/sockstat"))
    }
}

/// `MemAvailable:   23596660 kB`, and `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 219` in pages.
fn parse(meminfo: &str, sockstat: &str, page_bytes: u64) -> Option<Memory> {
    let kilobytes = |key: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    let tcp = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = tcp.split_ascii_whitespace().skip_while(|&word| word != "mem");
    let tcp_pages: u64 = words.nth(1)?.parse().ok()?;
    Some(Memory {
        available_bytes: kilobytes("MemAvailable:")?,
        slab_bytes: kilobytes("Slab:")?,
        tcp_bytes: tcp_pages * page_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_some() {
        let memory = Memory::read().unwrap();
        assert!(memory.available_bytes > 16 << 20 && memory.slab_bytes > 1 << 20, "{memory:?}");
    }

    #[test]
    fn reads_the_kernels_lines() {
        let meminfo = "MemTotal: 10 kB\nMemAvailable:   8 kB\nSlab:            2 kB\nSReclaimable: 1 kB\n";
        let sockstat = "sockets: used 25\nTCP: inuse 1 orphan 0 tw 3 alloc 1 mem 7\nUDP: inuse 0 mem 9\n";
        let memory = Memory { available_bytes: 8_192, slab_bytes: 2_048, tcp_bytes: 7 * 4_096 };
        assert_eq!(parse(meminfo, sockstat, 4_096), Some(memory));
        assert_eq!(parse("MemTotal: 10 kB\n", sockstat, 4_096), None);
    }
}
