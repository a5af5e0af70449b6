use std::fs;

use net::cgroup::{Allowance, Cgroup};
use net::limits::Conntrack;
use net::memory::Memory;

use super::facts::ServerFacts;
use super::required::processes;
use super::row::Fix;
use super::*;

const KIB: f64 = 1_024.0;
const GIB: u64 = 1 << 30;

/// A machine that holds a million connections, in processes of 20,000 files.
fn facts() -> Facts {
    Facts {
        cpus: 8,
        nofile_hard: 20_000,
        nr_open: Some(1 << 20),
        file_max: Some(9_000_000),
        files_open: Some(1_000),
        ports: Some((32_768, 60_999)),
        somaxconn: Some(4_096),
        syn_backlog: Some(2_048),
        conntrack: Some(Conntrack { count: 100, max: 262_144 }),
        memory: Some(Memory { available_bytes: 32 * GIB, slab_bytes: GIB, tcp_bytes: 1 << 20 }),
        tcp_mem: Some([GIB, GIB, 2 * GIB]),
        page_bytes: 4_096,
        kernel_tls: Some(false),
        cgroup: Cgroup::default(),
        threads_max: Some(100_000),
        pid_max: Some(32_768),
        threads: Some(500),
        governor: Some("performance".into()),
        clocksource: Some("tsc".into()),
        clocksources: vec!["tsc".into(), "hpet".into()],
        clock_ns: 25.0,
        server: None,
        cost: Some(Cost {
            connections: 4_000,
            kernel_bytes: 8.0 * KIB,
            kernel_bytes_half_width: 40.0,
            tcp_bytes: 0.0,
            conntrack_entries: 0.0,
            process_bytes: 8 << 20,
            generator_bytes: 500.0,
            server_bytes: 500.0,
        }),
    }
}

fn required(clients: u64) -> RequiredLoad {
    let (server, sources) = (Place::BuiltIn, Sources::Loopback);
    RequiredLoad { clients, server, sources, parallel: 128, is_secured: false, keeps_windows: false }
}

fn row<'a>(rows: &'a [Row], check: &str) -> &'a Row {
    rows.iter().find(|row| row.check == check).unwrap_or_else(|| panic!("no {check} in {rows:#?}"))
}

/// The checks that do not pass, and what to do.
fn low(facts: &Facts, required: &RequiredLoad) -> Vec<(&'static str, String)> {
    let rows = rows(facts, required);
    let low = rows.iter().filter(|row| row.verdict == Verdict::TooLow);
    low.map(|row| (row.check, row.fix.as_ref().expect("what to do").command().to_owned())).collect()
}

#[test]
fn needs_of_a_million_clients() {
    let (facts, here) = (facts(), RequiredLoad { server: Place::Here, ..required(1_000_000) });
    assert_eq!(processes(&facts, &here), 51, "of 19,920 clients each");
    assert_eq!(here.addresses(), 100);
    let bytes = memory::needed_bytes(facts.cost.as_ref().unwrap(), &facts, &here);
    assert_eq!(bytes, 1e6 * (8.0 * KIB + 500.0) + 51.0 * f64::from(8 << 20));
    assert_eq!(low(&facts, &here), []);
}

#[test]
fn tls_clients_need_more_memory() {
    let facts = facts();
    let plain = RequiredLoad { server: Place::Elsewhere, ..required(10_000) };
    let secured = RequiredLoad { is_secured: true, ..plain.clone() };
    let bytes =
        |required: &RequiredLoad| memory::needed_bytes(facts.cost.as_ref().unwrap(), &facts, required);
    assert!((4e7..6e7).contains(&(bytes(&secured) - bytes(&plain))));
    let rows = rows(&facts, &secured);
    let kernel = row(&rows, "kernel TLS");
    assert_eq!((kernel.verdict, kernel.found.as_str()), (Verdict::Ok, "no"));
    assert!(super::rows(&facts, &plain).iter().all(|row| row.check != "kernel TLS"));
}

#[test]
fn built_in_server_has_its_own_processes() {
    let facts = facts();
    let needed = |clients| row(&rows(&facts, &required(clients)), "open files: server").needed.clone();
    assert_eq!(needed(1_000_000), "56 processes");
    assert_eq!(needed(19_920), "1 process");
    assert_eq!(needed(19_921), "2 processes");
}

#[test]
fn advised_files_are_enough() {
    let required = required(1_000_000);
    let few = Facts { nofile_hard: 256, ..facts() };
    let mut found = Vec::new();
    for (check, command) in low(&few, &required) {
        let Some(files) = command.strip_prefix("ulimit -Hn ") else { continue };
        let enough = Facts { nofile_hard: files.parse().unwrap(), ..facts() };
        assert_eq!(row(&rows(&enough, &required), check).verdict, Verdict::Ok, "{check}: {command}");
        found.push(check);
    }
    assert_eq!(found, ["open files: throng", "open files: server"]);
}

#[test]
fn local_servers_have_their_processes_limit() {
    let required = RequiredLoad { server: Place::Here, ..required(2_000_000) };
    let mut facts = facts();
    facts.memory.as_mut().unwrap().available_bytes = 64 * GIB;
    facts.server = Some(ServerFacts { pid: 7, nofile: 1_024, processes: 1 });
    let expected = "sysctl -w fs.nr_open=2000064 && prlimit --pid 7 --nofile=2000064:2000064".to_owned();
    assert_eq!(low(&facts, &required), [("open files: server", expected)]);
    facts.server = Some(ServerFacts { pid: 7, nofile: 600_000, processes: 4 });
    assert_eq!(low(&facts, &required), []);
}

#[test]
fn every_limit_names_its_command() {
    type Lower = fn(&mut Facts);
    let cases: [(Lower, &str, &str); 9] = [
        (|f| f.file_max = Some(20_000), "fs.file-max", "sysctl -w fs.file-max=21064"),
        (
            |f| f.ports = Some((60_000, 60_999)),
            "ports × addresses",
            "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"",
        ),
        (|f| f.somaxconn = Some(64), "net.core.somaxconn", "sysctl -w net.core.somaxconn=128"),
        (
            |f| f.syn_backlog = Some(64),
            "net.ipv4.tcp_max_syn_backlog",
            "sysctl -w net.ipv4.tcp_max_syn_backlog=128",
        ),
        (|f| f.pid_max = Some(501), "kernel.pid_max", "sysctl -w kernel.pid_max=511"),
        (|f| f.threads_max = Some(501), "kernel.threads-max", "sysctl -w kernel.threads-max=511"),
        (
            |f| {
                f.conntrack = Some(Conntrack { count: 100, max: 10_000 });
                f.cost.as_mut().unwrap().conntrack_entries = 1.0;
            },
            "net.netfilter.nf_conntrack_max",
            "sysctl -w net.netfilter.nf_conntrack_max=10100",
        ),
        (
            |f| {
                f.tcp_mem = Some([4_096, 8_192, 1 << 20]);
                f.cost.as_mut().unwrap().tcp_bytes = 100.0;
            },
            "net.ipv4.tcp_mem",
            "sysctl -w net.ipv4.tcp_mem=\"2 4 512\"",
        ),
        (
            |f| f.cgroup.memory = Some(Allowance { max: GIB / 10, used: GIB / 20 }),
            "memory: control group",
            "--clients 3723 fit",
        ),
    ];
    for (lower, check, command) in cases {
        let mut facts = facts();
        lower(&mut facts);
        assert_eq!(low(&facts, &required(10_000)), [(check, command.to_owned())]);
    }
}

#[test]
fn memory_says_how_many_fit() {
    let mut facts = facts();
    facts.memory.as_mut().unwrap().available_bytes = GIB;
    let required = RequiredLoad { server: Place::Here, ..required(1_000_000) };
    let [(check, fits)] = &low(&facts, &required)[..] else { panic!("memory alone is short") };
    assert_eq!((*check, fits.as_str()), ("memory", "--clients 68135 fit"));

    facts.cost.as_mut().unwrap().kernel_bytes_half_width = 8.0 * KIB;
    let rows = rows(&facts, &required);
    assert_eq!(row(&rows, "memory").verdict, Verdict::Unknown, "the measurement says nothing");
}

#[test]
fn remote_servers_take_half() {
    let sources = Sources::Fixed { addresses: 1, endpoints: 1 };
    let required = RequiredLoad { server: Place::Elsewhere, sources, ..required(30_000) };
    let facts = facts();
    let bytes = memory::needed_bytes(facts.cost.as_ref().unwrap(), &facts, &required);
    assert_eq!(bytes, 30_000.0 * (4.0 * KIB + 500.0) + 2.0 * f64::from(8 << 20));
    let rows = rows(&facts, &required);
    assert!(rows.iter().all(|row| row.check != "net.core.somaxconn" && row.check != "open files: server"));
    let ports = row(&rows, "ports × addresses");
    assert_eq!((ports.verdict, ports.found.as_str()), (Verdict::TooLow, "28,232 ports × 1 address"));
    let more = RequiredLoad { clients: 100_000, ..required };
    let [("ports × addresses", fix)] = &low(&facts, &more)[..] else { panic!("no range is wide enough") };
    assert!(fix.contains("--local-addr") && fix.contains(" 4 "), "{fix}");
}

#[test]
fn unreadable_facts_are_unknown_and_no_obstacle() {
    let facts = Facts { file_max: None, somaxconn: None, memory: None, ports: None, cost: None, ..facts() };
    assert_eq!(low(&facts, &required(10_000)), []);
    let rows = rows(&facts, &required(10_000));
    for check in ["fs.file-max", "net.core.somaxconn", "memory", "ports × addresses"] {
        assert_eq!((row(&rows, check).verdict, row(&rows, check).found.as_str()), (Verdict::Unknown, "?"));
    }
}

#[test]
fn an_uneven_pace_is_advice() {
    let mut facts = facts();
    facts.governor = Some("powersave".into());
    (facts.clocksource, facts.clock_ns) = (Some("hpet".into()), 900.0);
    let rows = rows(&facts, &required(100));
    let (governor, clock) = (row(&rows, "CPU governor"), row(&rows, "clock source"));
    assert_eq!((governor.verdict, clock.verdict), (Verdict::Advised, Verdict::Advised));
    let command = clock.fix.as_ref().unwrap().command();
    assert!(command.starts_with("echo tsc > /sys/"), "{command}");
}

#[test]
fn the_table_puts_the_command_below_the_row() {
    let mut facts = facts();
    facts.somaxconn = Some(64);
    let required = required(10_000);
    let text = text(&facts, &required, &rows(&facts, &required), 80);
    let at = text.lines().position(|line| line.starts_with("too low  net.core.somaxconn ")).expect("the row");
    let below = text.lines().nth(at + 1).unwrap().trim();
    assert_eq!(below, "→ sysctl -w net.core.somaxconn=128");
    let needed = "\nneed 1 process, 1 source address, 104 MiB ± 391 KiB of memory ";
    assert!(text.contains(needed) && text.ends_with("\n1 thing must be changed\n"), "{text}");
}

#[test]
fn the_table_fits_its_columns() {
    let mut facts = facts();
    facts.governor = Some("powersave".into());
    (facts.clocksource, facts.clock_ns) = (Some("hpet".into()), 900.0);
    for required in [required(100_000), RequiredLoad { server: Place::HereNotYet, ..required(100_000) }] {
        let rows = rows(&facts, &RequiredLoad { is_secured: true, ..required.clone() });
        let text = text(&facts, &required, &rows, 80);
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(long, Vec::<&str>::new());
        let tracked = text.lines().position(|line| line.contains(" net.netfilter.nf_conntrack_max "));
        let continued = text.lines().nth(tracked.expect("the row") + 1).unwrap();
        assert!(continued.starts_with(&" ".repeat(40)) && continued.ends_with("connections"), "{text}");
    }
}

#[test]
fn mending_writes_values_and_tells_the_old() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("range");
    fs::write(&file, "32768\t60999\n").unwrap();
    let fix = Fix::Write { file: file.clone(), value: "1024 65535".into(), command: "…".into() };
    assert_eq!(fix.apply().unwrap().unwrap(), "32768 60999");
    assert_eq!(fs::read_to_string(&file).unwrap(), "1024 65535");
    assert!(Fix::Tell("ulimit".into()).apply().is_none(), "what is not ours is left alone");
    let gone = Fix::Write { file: dir.path().join("none"), value: "1".into(), command: "…".into() };
    assert!(gone.apply().unwrap().is_err());
}
