//! The network's counters, as the kernel counts it for this process's network namespace: TCP segments
//! (proc_pid_net(5), RFC 4022) and the bytes of each link.

use std::fs;
use std::io;

use crate::sys;

/// Drivers whose speed is a placeholder: `veth` and `tun` (drivers/net/veth.c, drivers/net/tun.c).
const NOMINAL: [(&str, u64); 3] = [("veth", 10_000), ("tun", 10_000), ("tun", 10)];
/// The largest use of a link's speed, in percent, that is plausible: a link that carries more has another
/// speed.
const PERCENT_MAX: f64 = 105.0;

/// The least number of segments for a meaningful share: with fewer, ten lost segments may be chance, and
/// already are one in a hundred.
const SEGMENTS_MIN: u64 = 1_000;

/// TCP segments since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    /// Segments sent. Unlike RFC 4022, Linux counts resent segments among them.
    pub sent: u64,
    /// Segments sent again, because nothing had acknowledged them.
    pub resent: u64,
    /// Segments received.
    pub received: u64,
    /// Segments received before one that was sent earlier, which was lost or overtaken.
    pub early: u64,
    /// Received segments that begin connections, and were dropped because the listener's queue was full.
    pub overflows: u64,
}

impl Segments {
    /// Reads the counts.
    pub fn read() -> io::Result<Segments> {
        let text = fs::read_to_string("/proc/net/snmp")?;
        // Absent in some sandboxes.
        let more = fs::read_to_string("/proc/net/netstat").unwrap_or_default();
        parse_segments(&text, &more)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/net/snmp"))
    }

    /// The share of the segments sent since `before` that were sent again: 0 to 100. `None` of fewer than a
    /// thousand.
    pub fn resent_percent_since(self, before: Segments) -> Option<f64> {
        percent(self.resent.saturating_sub(before.resent), self.sent.saturating_sub(before.sent))
    }

    /// The share of the segments received since `before` that came too early: 0 to 100. `None` of fewer than
    /// a thousand.
    pub fn early_percent_since(self, before: Segments) -> Option<f64> {
        percent(self.early.saturating_sub(before.early), self.received.saturating_sub(before.received))
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole >= SEGMENTS_MIN).then(|| 100.0 * part.min(whole) as f64 / whole as f64)
}

/// Parses groups of counts: each has a line of names and a line of values.
fn parse_segments(snmp: &str, netstat: &str) -> Option<Segments> {
    Some(Segments {
        sent: value(snmp, "Tcp:", "OutSegs")?,
        resent: value(snmp, "Tcp:", "RetransSegs")?,
        received: value(snmp, "Tcp:", "InSegs")?,
        early: value(netstat, "TcpExt:", "TCPOFOQueue").unwrap_or(0),
        overflows: value(netstat, "TcpExt:", "ListenOverflows").unwrap_or(0),
    })
}

fn value(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|known| known == name)?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// A network link that leads out of this machine, or container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The interface.
    pub name: String,
    /// Bytes received since the link was made, with the headers of its layer.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// The link's speed in each direction, bits a second, if its driver knows it.
    pub bits_per_s: Option<u64>,
}

impl Link {
    /// Reads every link except the loopback.
    pub fn all() -> io::Result<Vec<Link>> {
        let text = fs::read_to_string("/proc/net/dev")?;
        let links = text.lines().filter_map(parse_link).filter(|link| link.name != "lo");
        Ok(links.map(|link| Link { bits_per_s: speed_of(&link.name), ..link }).collect())
    }

    /// How much of its speed the busier direction used in the `wall_ns` since `before`: 0 to 100. `None`
    /// where the speed is not known, or cannot be true.
    pub fn percent_since(&self, before: &Link, wall_ns: u64) -> Option<f64> {
        let received = self.received_bytes.saturating_sub(before.received_bytes);
        let sent = self.sent_bytes.saturating_sub(before.sent_bytes);
        // Links are full duplex: the busier direction is the one that can be full.
        let bits = 8.0 * received.max(sent) as f64;
        let possible = self.bits_per_s.filter(|_| wall_ns > 0)? as f64 * wall_ns as f64 / 1e9;
        Some(100.0 * bits / possible)
            .filter(|percent| *percent <= PERCENT_MAX)
            .map(|percent| percent.min(100.0))
    }
}

/// Parses a line `name: bytes packets …`, with eight fields received, and eight sent.
fn parse_link(line: &str) -> Option<Link> {
    let (name, counts) = line.rsplit_once(':')?;
    let count = |place| counts.split_ascii_whitespace().nth(place)?.parse().ok();
    Some(Link {
        name: name.trim().to_owned(),
        received_bytes: count(0)?,
        sent_bytes: count(8)?,
        bits_per_s: None,
    })
}

fn speed_of(name: &str) -> Option<u64> {
    let mbits_per_s = sys::link_mbits_per_s(name).ok().map(u64::from)?;
    let driver = sys::link_driver(name).unwrap_or_default();
    let is_nominal = NOMINAL.contains(&(&driver, mbits_per_s));
    (!is_nominal && (1..u64::from(u32::MAX)).contains(&mbits_per_s)).then_some(mbits_per_s * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding\nIp: 2\n\
        Tcp: RtoAlgorithm InSegs OutSegs RetransSegs InErrs\nTcp: 1 3542 2330 7 0\n";
    const NETSTAT: &str =
        "TcpExt: SyncookiesSent ListenOverflows TCPOFOQueue\nTcpExt: 0 4 5\nIpExt: InOctets\nIpExt: 9\n";

    #[test]
    fn segments_are_counted_by_name() {
        let segments = parse_segments(SNMP, NETSTAT).unwrap();
        assert_eq!(segments, Segments { sent: 2_330, resent: 7, received: 3_542, early: 5, overflows: 4 });
        let bare = parse_segments(SNMP, "").map(|segments| (segments.early, segments.overflows));
        assert_eq!(bare, Some((0, 0)));
        assert_eq!(parse_segments(NETSTAT, SNMP), None);
    }

    #[test]
    fn shares_are_of_the_window() {
        let before = Segments { sent: 1_000, resent: 900, received: 50, early: 50, overflows: 0 };
        let after = Segments { sent: 3_000, resent: 940, received: 2_050, early: 150, ..before };
        assert_eq!(after.resent_percent_since(before), Some(2.0));
        assert_eq!(after.early_percent_since(before), Some(5.0));
    }

    #[test]
    fn few_segments_tell_no_share() {
        let before = Segments { sent: 70, received: 80, ..Segments::default() };
        let after =
            |more: u64| Segments { sent: 70 + more, resent: 1, received: 80 + more, early: 1, overflows: 0 };
        let shares =
            |after: Segments| (after.resent_percent_since(before), after.early_percent_since(before));
        assert_eq!(shares(after(999)), (None, None));
        assert_eq!(shares(after(1_000)), (Some(0.1), Some(0.1)));
    }

    #[test]
    fn this_machine_has_segments_and_links() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let before = Segments::read().unwrap();
        let _stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(Segments::read().unwrap().sent > before.sent);
        let listed = fs::read_to_string("/proc/net/dev").unwrap();
        assert!(listed.lines().filter_map(parse_link).any(|link| link.name == "lo"), "{listed}");
        assert!(Link::all().unwrap().iter().all(|link| link.name != "lo"), "it leads nowhere");
        assert_eq!(speed_of("lo"), None);
        assert_eq!(speed_of("no such link"), None);
    }

    #[test]
    fn links_are_as_busy_as_their_busier_direction() {
        let line = "  eth0: 98277712 3558 0 0 0 0 0 0 248396 2342 0 0 0 0 0 0";
        let before = Link { bits_per_s: Some(100_000_000), ..parse_link(line).unwrap() };
        assert_eq!((before.received_bytes, before.sent_bytes), (98_277_712, 248_396));
        let sent = Link { sent_bytes: before.sent_bytes + 6_250_000, ..before.clone() };
        let both = Link { received_bytes: before.received_bytes + 1_000, ..sent };
        assert_eq!(both.percent_since(&before, 1_000_000_000), Some(50.0));
        assert_eq!(both.percent_since(&before, 0), None);
        assert_eq!(both.percent_since(&before, 100_000_000), None, "five times its speed");
        let unknown = Link { bits_per_s: None, ..both };
        assert_eq!(unknown.percent_since(&before, 1_000_000_000), None);
        assert_eq!(parse_link("Inter-|   Receive  |  Transmit"), None);
    }
}
