//! Truth: throng against a server whose lies have a known arithmetic (docs/FAULTS.md), asked beside reported.
//!
//! `cargo test` runs a short form; `make truth` all of it, and writes what it found into docs/logs/TRUTH.md.

mod claims;
mod rows;
mod streams;

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use net::affinity;
use rustix::process::Signal;
use serde_json::Value;

use super::{OTHERS_PERCENT_MAX, others_percent};
use crate::support::cases::check_all;
use crate::support::logs::publish;
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finish, run, start_measuring, throng};
use crate::support::{alone, retry, skip};
use claims::{Claim, Slack, Truth};
use rows::{Length, Meddling, Row, rows};

const RUN_MAX: Duration = Duration::from_secs(120);

/// A machine that others use too may be slow for a moment; one that is slow three times in a row is too slow, and
/// what is false stays false. Times alone are tried again: a count that is wrong once is wrong.
const ATTEMPTS: usize = 3;

/// Nobody is to be lost to a machine that is slow for a moment, but to the lies.
const CONNECT_TIMEOUT: &str = "30s";

/// Time that the short form allows for the other rows that run beside each, and for whatever else CI does (ms).
const BUSY_MS: f64 = 25.0;

/// Busy loops beside the generator, when it is crowded.
const CROWD: usize = 4;

#[test]
fn reports_equal_the_servers_own_counts() {
    let _alone = alone();
    let (meddled, left_alone): (Vec<Row>, Vec<Row>) =
        all_rows(Length::Short).partition(|row| row.meddling != Meddling::Nothing);
    let name = |row: &Row| row.lie.to_owned();
    check_all(&left_alone, name, |row| assert_true(row, &prove(row, BUSY_MS)));
    // These would disturb each other.
    for row in meddled {
        if row.meddling == Meddling::CrowdGenerator && cpus().len() < 2 {
            skip(row.lie, "the server needs a CPU of its own, and there is one");
            continue;
        }
        assert_true(&row, &prove(&row, BUSY_MS));
    }
}

#[test]
#[ignore = "takes minutes: make truth"]
fn the_whole_truth() {
    let _alone = alone();
    let mut table = String::from("| lie | load | figure | asked | reported | |\n|---|---|---|---|---|---|\n");
    let mut failed = Vec::new();
    for row in all_rows(Length::Full) {
        let claims = prove(&row, 0.0).claims;
        if claims.iter().any(|claim| !claim.holds) {
            failed.push(row.lie);
        }
        let lines = in_table(&row, &claims);
        print!("{lines}");
        table.push_str(&lines);
    }
    publish("TRUTH.md", &table);
    assert!(failed.is_empty(), "false: {failed:?}");
}

/// All rows.
fn all_rows(length: Length) -> impl Iterator<Item = Row> {
    rows(length).into_iter().chain(streams::rows())
}

/// Panics unless all claims hold. Where others had the CPUs, times prove nothing; counts do.
fn assert_true(row: &Row, proof: &Proof) {
    let false_ones: Vec<&Claim> = proof.claims.iter().filter(|claim| !claim.holds).collect();
    let is_busy = proof.others_percent > OTHERS_PERCENT_MAX;
    if is_busy && !false_ones.is_empty() && !false_ones.iter().any(|claim| claim.is_count) {
        return skip(row.lie, &format!("other programs had {:.0}% of a core", proof.others_percent));
    }
    assert!(false_ones.is_empty(), "\n{}", in_table(row, &proof.claims));
}

/// A row's claims, and other programs' CPU meanwhile.
struct Proof {
    claims: Vec<Claim>,
    others_percent: f64,
}

/// The claims of a row as the last attempt found them: the first that finds them all to hold, or a count that does not.
fn prove(row: &Row, more_ms: f64) -> Proof {
    let mut proof = attempt(row, more_ms);
    for _ in 1..ATTEMPTS {
        let claims = &proof.claims;
        if claims.iter().all(|claim| claim.holds) || claims.iter().any(|claim| claim.is_count && !claim.holds)
        {
            break;
        }
        retry(row.lie, &format!("times are off:\n{}", in_table(row, claims)));
        proof = attempt(row, more_ms);
    }
    proof
}

fn attempt(row: &Row, more_ms: f64) -> Proof {
    let honest = Server::start(&["--threads", "1"]);
    let outcome = run(&mut generator(&honest, "echo --clients 20 --rate 200 -d 1s"), RUN_MAX);
    let slack = Slack::of(&outcome.json()["steps"][0], more_ms);
    drop(honest);

    let server = match row.meddling {
        Meddling::CrowdGenerator => {
            Server::start(&["--threads", "1", "--pin", &cpus()[1].to_string(), "--fault", &row.fault])
        }
        _ => Server::start(&["--threads", "1", "--fault", &row.fault]),
    };
    let outcome = meddle(row, &server);
    let results: Value = outcome.json();
    let mut truth = Truth { step: &results["steps"][0], code: outcome.code, slack, claims: Vec::new() };
    (row.check)(&mut truth);
    Proof { claims: truth.claims, others_percent: others_percent(&results) }
}

/// Runs the load of the row, and does to it what the row wants done.
fn meddle(row: &Row, server: &Server) -> Outcome {
    let mut command = generator(server, &row.load);
    let mut generator = match row.meddling {
        Meddling::StopGenerator => start_measuring(&mut command),
        _ => Process::start(&mut command),
    };
    match row.meddling {
        Meddling::Nothing => {}
        Meddling::StopGenerator => {
            assert!(generator.signal(Signal::STOP));
            thread::sleep(Duration::from_millis(1_050));
            assert!(generator.signal(Signal::CONT));
        }
        Meddling::ThrottleServer => {
            let start = Instant::now();
            while generator.wait(Duration::ZERO).is_none() && start.elapsed() < RUN_MAX {
                server.process.signal(Signal::STOP);
                thread::sleep(Duration::from_millis(90));
                server.process.signal(Signal::CONT);
                thread::sleep(Duration::from_millis(10));
            }
        }
        Meddling::CrowdGenerator => crowd(|| _ = generator.wait(RUN_MAX)),
    }
    finish(generator, RUN_MAX)
}

fn generator(server: &Server, load: &str) -> std::process::Command {
    let mut words = load.split_whitespace();
    let place = if load.contains("--room-size") { "ws?room={room}" } else { "" };
    // What a server is to do with an answer in pieces stands behind the verb.
    let (verb, url) = match words.next().expect("a verb") {
        asked if asked.contains('?') => ("stream", format!("http://{}/{asked}", server.address)),
        verb => (verb, format!("{}{place}", server.url())),
    };
    let mut command = throng([verb, &url]);
    command.args(words).args(["--threads", "1", "--quiet", "--format", "json", "--no-preflight"]);
    command.args(["--connect-timeout", CONNECT_TIMEOUT]);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

/// Keeps the first CPU busy during `meanwhile`.
fn crowd(meanwhile: impl FnOnce()) {
    let over = AtomicBool::new(false);
    let cpu = cpus()[0];
    thread::scope(|scope| {
        for _ in 0..CROWD {
            scope.spawn(|| {
                affinity::pin_current_thread(&[cpu]).unwrap();
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        meanwhile();
        over.store(true, Ordering::Relaxed);
    });
}

fn cpus() -> Vec<usize> {
    affinity::available_cpus().unwrap()
}

fn in_table(row: &Row, claims: &[Claim]) -> String {
    let mut lines = String::new();
    let (mut lie, mut load) = (format!("{}: `{}`", row.lie, row.fault), format!("`{}`", row.load));
    for Claim { figure, asked, reported, holds, .. } in claims {
        let verdict = if *holds { "✓" } else { "✗" };
        writeln!(lines, "| {lie} | {load} | {figure} | {asked} | {reported} | {verdict} |").unwrap();
        (lie, load) = (String::new(), String::new());
    }
    lines
}
