//! Truth of `throng probe URL`: servers with limits of known size, each of which its sheet tells within a
//! tenth, and no other. `cargo test` asks most of them; `make probe-truth` all, and writes
//! docs/logs/PROBE.md.

mod foreign;
mod own;
pub(crate) mod planted;
mod resuming;
mod ws;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::logs::publish;
use crate::support::skip;
use crate::support::target::Unavailable;
use planted::{Kind, Proof, Row};

/// All of them, in the order of the page.
static KINDS: [&Kind; 17] = [
    &ws::WS,
    &ws::PHOENIX,
    &ws::HTTP2,
    &foreign::GORILLA,
    &foreign::WEBSOCKETS,
    &foreign::AIOHTTP,
    &foreign::UWEBSOCKETS,
    &foreign::NGINX,
    &foreign::NGINX_TLS,
    &foreign::HAPROXY,
    &resuming::SOCKETIO,
    &resuming::NCHAN_EVENTS,
    &own::TLS,
    &own::PROTOCOLS,
    &own::FAULTS,
    &own::HISTORY,
    &own::NAGLE,
];

/// The head of the page's table.
const HEAD: &str = "\
| server | planted | place of the sheet | truth | found | off by | tries | |
|---|---|---|---|---|---|---|---|
";

/// Servers at a time: most of a sheet's time is silence.
const AT_A_TIME: usize = 4;

/// The rows of these kinds.
fn rows<'a>(kinds: &[&'a Kind]) -> Vec<(&'a Kind, &'a Row)> {
    kinds.iter().flat_map(|kind| kind.rows.iter().map(|row| (*kind, row))).collect()
}

/// Proves all rows, some at a time, and returns each with its proof.
fn prove_each<'a>(rows: &[(&'a Kind, &'a Row)]) -> Vec<(&'a Kind, &'a Row, Result<Proof, Unavailable>)> {
    let (next, proofs) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((kind, row)) = rows.get(at) else { break };
                    let proof = kind.prove(row);
                    proofs.lock().unwrap().push((at, proof));
                }
            });
        }
    });
    let mut proofs = proofs.into_inner().unwrap();
    proofs.sort_by_key(|(at, _)| *at);
    proofs.into_iter().map(|(at, proof)| (rows[at].0, rows[at].1, proof)).collect()
}

/// Asserts that the sheets of these servers are true, without rows that plant what others do; skips those
/// that cannot be had.
fn assert_found(kinds: &[&Kind]) {
    let mut rows = rows(kinds);
    rows.retain(|(_, row)| !row.is_repeated);
    for (kind, row, proof) in prove_each(&rows) {
        match proof {
            Ok(proof) => assert!(proof.holds(), "\n{}{}", proof.in_table(kind, row), proof.outcome),
            Err(Unavailable(why)) => skip(kind.name, &why),
        }
    }
}

#[test]
fn limits_of_ws_are_found() {
    assert_found(&[&ws::WS, &ws::PHOENIX, &ws::HTTP2]);
}

#[test]
fn limits_of_gorilla_are_found() {
    assert_found(&[&foreign::GORILLA]);
}

#[test]
fn limits_of_python_servers_are_found() {
    assert_found(&[&foreign::WEBSOCKETS, &foreign::AIOHTTP]);
}

#[test]
fn limits_of_proxies_are_found() {
    assert_found(&[&foreign::NGINX, &foreign::NGINX_TLS, &foreign::HAPROXY]);
}

#[test]
fn limits_of_the_own_server_are_found() {
    assert_found(&[&own::TLS, &own::PROTOCOLS, &own::FAULTS, &own::NAGLE]);
}

#[test]
fn resume_horizons_are_found() {
    assert_found(&[&resuming::SOCKETIO, &resuming::NCHAN_EVENTS, &own::HISTORY]);
}

#[test]
#[ignore = "takes minutes: make probe-truth"]
fn every_planted_limit() {
    let mut table = String::from(HEAD);
    let mut are_true = true;
    for (kind, row, proof) in prove_each(&rows(&KINDS)) {
        match proof {
            Ok(proof) => {
                are_true &= proof.holds();
                table += &proof.in_table(kind, row);
            }
            Err(Unavailable(why)) => {
                skip(kind.name, &why);
                table += &format!("| {} | {} | not here |  |  |  |  |  |\n", kind.name, row.planted);
            }
        }
    }
    publish("PROBE.md", &table);
    assert!(are_true, "\n{table}");
}
