//! Owners of round trips' time: servers and machines of which that is known by construction, each with
//! several loads, and some troubles in pairs. `cargo test` runs a part; `make owners` all, and writes
//! docs/logs/OWNERS.md; `make owners ONLY=http` those cells whose row has that text, and leaves the others as
//! they are.

mod grid;

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::alone::{OTHERS_PERCENT_MAX, crowd, others_percent};
use crate::support::fleet::Bus;
use crate::support::process::Process;
use crate::support::throng::{Server, run, throng, under};
use crate::support::{alone, free_address, retry, skip};
use grid::{CAUSES, Cause, Load, Place};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/logs/OWNERS.md");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/alone/owners/server.py");
/// The head of the document's table, behind how many of its rows hold.
const HEAD: &str = "\n| server | machine | command | by construction | was said |\n|---|---|---|---|---|\n";
const RUN_MAX: Duration = Duration::from_secs(120);
/// On a machine of two cores: both are taken.
const LOOPS: usize = 4;
/// Beside the loops, this leaves a twentieth of a core: enough for a program to start within seconds.
const NICENESS: &str = "10";
/// How far a share may be from what it is by construction, in percent of the whole.
const APART_MAX: f64 = 15.0;
/// The share from which the owner is the one that the bottleneck names.
const OWNED_MIN: f64 = 60.0;
/// Faster messages hold nothing back, whatever a scheduler's turn adds to a few; nor do fewer slow ones.
const HELD_MS_MIN: f64 = 1.0;
const HELD_MESSAGES_MIN: u64 = 10;
const ATTEMPTS_MAX: usize = 2;
/// In the document, of a row that is false.
const FALSE: &str = "✗";

/// Parts of the time of slow messages, in percent.
#[derive(Clone, Copy)]
struct Shares {
    asleep: f64,
    at_work: f64,
    contention: f64,
}

impl Shares {
    fn each(&self) -> [(&'static str, f64); 3] {
        [("asleep", self.asleep), ("at work", self.at_work), ("contention", self.contention)]
    }

    fn said(&self) -> String {
        let large = self.each().into_iter().filter(|(_, percent)| *percent >= 5.0);
        large.map(|(name, percent)| format!("{name} {percent:.0}%")).collect::<Vec<_>>().join(", ")
    }
}

/// The measurements of one cell.
struct Found {
    expected: Shares,
    shares: Shares,
    bottleneck: String,
    /// The slow messages are long enough, and enough of them, to hold anything back.
    is_held_back: bool,
    /// CPU that other programs had, percent of a core, where nothing was to be beside it.
    others_percent: f64,
}

impl Found {
    fn is_true(&self) -> bool {
        let apart = self.expected.each().into_iter().zip(self.shares.each());
        let is_near = apart.into_iter().all(|((_, truth), (_, said))| (truth - said).abs() <= APART_MAX);
        let blamed: &[&str] = match self.expected {
            Shares { contention, .. } if contention >= OWNED_MIN && self.is_held_back => &["machine"],
            Shares { contention, .. } if contention >= OWNED_MIN => &["machine", "none"],
            Shares { asleep, at_work, .. } if asleep + at_work >= OWNED_MIN => &["server", "none"],
            _ => &["machine", "server", "none", "unknown"],
        };
        is_near && blamed.contains(&self.bottleneck.as_str())
    }

    fn row(&self, cell: &str) -> String {
        let mark = if self.is_true() { String::new() } else { format!("{FALSE} ") };
        let Found { expected, shares, bottleneck, .. } = self;
        format!("{cell} {} | {mark}{}; bottleneck {bottleneck} |\n", expected.said(), shares.said())
    }
}

/// How a cell's row begins.
fn cell(cause: &Cause, load: &Load) -> String {
    format!("| {} | {:?} | `{}` |", cause.server, cause.place, load.line)
}

fn at(place: Place, side: Place, command: Command) -> Command {
    if place == side { under("nice", &["-n", NICENESS], &command) } else { command }
}

/// Starts the server of a cause; gives what keeps it alive and its host and port.
fn start(cause: &Cause) -> (Process, String) {
    let starved = |command| at(cause.place, Place::StarvedServer, command);
    if let Some(faults) = cause.faults() {
        let flags: &[&str] = if faults.is_empty() { &[] } else { &["--fault", faults] };
        let server = Server::start_as(flags, starved);
        return (server.process, server.address.to_string());
    }
    let address = free_address();
    let mut command = Command::new("python3");
    command.arg(SERVER).arg(address.port().to_string()).args(cause.server.split(' '));
    (Process::start(&mut starved(command)).listening_at(address), address.to_string())
}

/// `None`: the machine has not what it takes.
fn measure(cause: &Cause, load: &Load) -> Option<Found> {
    let (_server, host) = start(cause);
    let bus = if load.line.contains("{nats}") { Some(Bus::start()?) } else { None };
    let agents = bus.iter().flat_map(|bus| ["a", "b"].map(|name| bus.agent(&["--name", name])));
    let _agents: Vec<Process> = agents.collect();
    let _crowd = crowd(if cause.place == Place::Quiet { 0 } else { LOOPS });
    let nats = bus.as_ref().map_or("", |bus| &bus.url);
    let line =
        load.line.replace("{ws}", &format!("ws://{host}/")).replace("{http}", &format!("http://{host}/"));
    let mut command = throng([]);
    command.args(line.replace("{nats}", nats).split(' '));
    command.args(["--duration", cause.duration(), "--connect-timeout", "30s"]);
    command.args(["--format", "json", "--quiet", "--no-store"]);
    let outcome = run(&mut at(cause.place, Place::StarvedGenerator, command), RUN_MAX);
    let results = outcome.json();
    let step = &results["steps"][0];
    let tail = &step["account"]["tail"];
    let is_unsent =
        results["steps"].is_array() && step["counts"]["sent"].as_u64().is_none_or(|sent| sent == 0);
    if is_unsent && cause.place != Place::Quiet {
        skip(&cell(cause, load), "nothing was sent while the load lasted");
        return None;
    }
    assert!(tail["owners_percent"].is_object(), "no account: {outcome}");
    check_sums(step);
    let percent = |owners: &[&str]| -> f64 {
        owners.iter().filter_map(|owner| tail["owners_percent"][owner].as_f64()).sum()
    };
    let shares = Shares {
        asleep: percent(&["server_asleep"]),
        at_work: percent(&["server_cpu", "server_queue"]),
        contention: percent(&["cpu_contention"]),
    };
    let mean_ms = 1e3 * whole_s(tail) / tail["messages"].as_f64().unwrap();
    let bottleneck = step["bottleneck"].as_str().unwrap_or_default().to_owned();
    let (from_ms, messages) =
        (step["account"]["tail_from_ms"].as_f64().unwrap(), tail["messages"].as_u64().unwrap());
    let is_held_back = from_ms >= HELD_MS_MIN && messages >= HELD_MESSAGES_MIN;
    let others_percent = if cause.place == Place::Quiet { others_percent(&results) } else { 0.0 };
    Some(Found { expected: cause.expected(mean_ms), shares, bottleneck, is_held_back, others_percent })
}

/// All round trips of a part of the account.
fn whole_s(part: &Value) -> f64 {
    ["unsent_s", "service_s", "unanswered_s"].map(|name| part[name].as_f64().unwrap()).iter().sum()
}

/// The parts add up to the round trips, and the shares to the whole.
fn check_sums(step: &Value) {
    let all = &step["account"]["all"];
    let parts = whole_s(all);
    let rtt = &step["rtt"];
    let whole = rtt["mean_ms"].as_f64().unwrap() / 1e3 * rtt["count"].as_f64().unwrap();
    assert!((parts - whole).abs() <= 0.01 * whole, "{parts} s in parts, {whole} s in round trips: {step}");
    assert_eq!(all["messages"], rtt["count"], "{step}");
    let shares: f64 = all["owners_percent"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
    assert!((shares - 100.0).abs() < 0.1, "{shares}: {step}");
}

/// One cell, made again where it is not true. `None`: the machine has not what it takes, or others had it.
fn prove(cause: &Cause, load: &Load) -> Option<Found> {
    let mut found = measure(cause, load)?;
    for _ in 1..ATTEMPTS_MAX {
        if !found.is_true() {
            retry("whose the time is", &found.row(&cell(cause, load)));
            found = measure(cause, load)?;
        }
    }
    let is_known = found.is_true() || found.others_percent <= OTHERS_PERCENT_MAX;
    if !is_known {
        skip(&cell(cause, load), &format!("other programs had {:.0}% of a core", found.others_percent));
    }
    is_known.then_some(found)
}

/// Makes those cells, one after the other.
fn prove_each(is_wanted: impl Fn(&Cause, &Load) -> bool, mut handle: impl FnMut(&str, &Found)) {
    let _alone = alone();
    for cause in &CAUSES {
        for load in cause.loads().filter(|load| is_wanted(cause, load)) {
            if let Some(found) = prove(cause, load) {
                handle(&cell(cause, load), &found);
            }
        }
    }
}

fn has_python() -> bool {
    let is_there = Command::new("python3").arg("-V").output().is_ok_and(|output| output.status.success());
    if !is_there {
        skip("whose the time is", "needs python3");
    }
    is_there
}

/// Puts a row into the document, in place of the cell's last one, and says above the table how many hold.
fn keep(cell: &str, row: &str) {
    let text = fs::read_to_string(DOCUMENT).unwrap();
    let (before, rows) = text.split_once(HEAD).expect("where the table begins");
    let old = rows.lines().map(|line| format!("{line}\n"));
    let known = |cell: &str| old.clone().find(|row| row.starts_with(cell));
    let all = CAUSES.iter().flat_map(|cause| cause.loads().map(|load| self::cell(cause, load)));
    let rows: Vec<String> =
        all.filter_map(|each| if each == cell { Some(row.to_owned()) } else { known(&each) }).collect();
    let (words, _) = before.trim_end().rsplit_once("\n\n").expect("words, and how many hold");
    let wrong = rows.iter().filter(|row| row.contains(FALSE)).count();
    let hold = format!("{} of {} hold.", rows.len() - wrong, rows.len());
    fs::write(DOCUMENT, format!("{words}\n\n{hold}\n{HEAD}{}", rows.concat())).unwrap();
}

#[test]
fn slow_time_is_given_to_its_owner() {
    if has_python() {
        prove_each(Cause::is_short, |cell, found| assert!(found.is_true(), "{}", found.row(cell)));
    }
}

#[test]
#[ignore = "takes a quarter of an hour: make owners"]
fn every_owner() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut cells = CAUSES.iter().flat_map(|cause| cause.loads().map(move |load| cell(cause, load)));
    assert!(cells.any(|cell| cell.contains(&only)), "ONLY={only}: no such row");
    let (mut held, mut made) = (0, 0);
    prove_each(
        |cause, load| cell(cause, load).contains(&only),
        |cell, found| {
            let row = found.row(cell);
            keep(cell, &row);
            (held, made) = (held + usize::from(found.is_true()), made + 1);
            print!("{held} of {made} hold: {row}");
        },
    );
    // 118 of 120.
    assert!(60 * held >= 59 * made, "{held} of {made} hold");
}
