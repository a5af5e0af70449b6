//! Ports, queues of handshakes, and the firewall's memory.

use super::facts::Facts;
use super::required::{Place, RequiredLoad, Sources};
use super::row::{Fix, Row, Verdict};
use crate::plan::CLIENTS_PER_ADDR;
use report::count;

/// The widest range that leaves the ports of well-known services alone.
const PORTS_WIDEST: (u16, u16) = (1_024, 65_535);

pub(super) fn rows(facts: &Facts, required: &RequiredLoad) -> Vec<Row> {
    let mut rows = vec![ports(facts, required)];
    if required.server != Place::Elsewhere {
        // A queue that is full drops handshakes, which come again after a second.
        let needed = required.clients.min(required.parallel);
        let queue = |check: &'static str, found| Row::of(check, found, needed, || Fix::sysctl(check, needed));
        rows.push(queue("net.core.somaxconn", facts.somaxconn));
        rows.push(queue("net.ipv4.tcp_max_syn_backlog", facts.syn_backlog));
    }
    rows.extend(conntrack(facts, required));
    rows
}

/// A connection is known by its addresses and ports: with one source address, one destination can be
/// connected to as often as there are ports.
fn ports(facts: &Facts, required: &RequiredLoad) -> Row {
    const CHECK: &str = "ports × addresses";
    const RANGE: &str = "net.ipv4.ip_local_port_range";
    let size = |(first, last): (u16, u16)| u64::from(last - first) + 1;
    let ports = facts.ports.map(size);
    let widest = size(PORTS_WIDEST);
    let widen = || Fix::sysctl(RANGE, format!("{} {}", PORTS_WIDEST.0, PORTS_WIDEST.1));
    let shown = |ports: u64, addresses: u64| match addresses {
        1 => format!("{} ports × 1 address", count(ports)),
        n => format!("{} ports × {} addresses", count(ports), count(n)),
    };
    let addresses = required.addresses();
    let (capacity, needed, fix) = match required.sources {
        // This many on each address, whatever the number of clients.
        Sources::Loopback => (ports, required.clients.min(CLIENTS_PER_ADDR), widen()),
        Sources::Fixed { addresses, endpoints } => {
            let fix = if addresses * endpoints * widest >= required.clients {
                widen()
            } else {
                let more = required.clients.div_ceil(endpoints.max(1) * ports.unwrap_or(widest).max(1));
                Fix::Tell(format!(
                    "--local-addr with {more} addresses of this machine: ip addr add ADDR dev DEV"
                ))
            };
            (ports.map(|ports| ports * addresses * endpoints), required.clients, fix)
        }
    };
    let row = Row::of(CHECK, capacity, needed, || fix);
    let found = ports.map_or_else(|| "?".into(), |ports| shown(ports, addresses));
    Row { found, needed: count(required.clients), ..row }
}

fn conntrack(facts: &Facts, required: &RequiredLoad) -> Option<Row> {
    const CHECK: &str = "net.netfilter.nf_conntrack_max";
    let table = facts.conntrack?;
    let Some(cost) = &facts.cost else {
        let needed = table.count + required.clients;
        return Some(Row::of(CHECK, Some(table.max), needed, || Fix::sysctl(CHECK, needed)));
    };
    let entries = cost.conntrack_entries.round() as u64 * required.clients;
    if entries == 0 {
        let (found, needed) = (count(table.max), "0: no rule tracks connections".into());
        return Some(Row { check: CHECK, found, needed, verdict: Verdict::Ok, fix: None });
    }
    let needed = table.count + entries;
    Some(Row::of(CHECK, Some(table.max), needed, || Fix::sysctl(CHECK, needed)))
}
