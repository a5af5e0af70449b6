//! Memory: what each connection costs, measured, times their number.

use super::cost::Cost;
use super::facts::Facts;
use super::required::{Place, RequiredLoad, processes, server_processes};
use super::row::{Fix, Row, Verdict};
use report::bytes;

/// The share of free memory not to rely on: estimates of free memory are estimates.
const RESERVE_SHARE: f64 = 0.05;
/// Bytes that TLS adds to a client: its keys, and the server's certificate (docs/MILLION.md).
const TLS_BYTES: f64 = 4_200.0;

pub(super) fn rows(facts: &Facts, required: &RequiredLoad) -> Vec<Row> {
    let available = facts.memory.map(|memory| memory.available_bytes);
    let mut rows = vec![room("memory", available, facts, required)];
    if let Some(allowance) = facts.cgroup.memory {
        rows.push(room("memory: control group", Some(allowance.left()), facts, required));
    }
    rows.extend(buffers(facts, required));
    rows.extend(kernel_tls(facts, required));
    rows
}

/// It would spare the memory; throng encrypts in its own process, with it or without.
fn kernel_tls(facts: &Facts, required: &RequiredLoad) -> Option<Row> {
    let found = match facts.kernel_tls? {
        true => "yes",
        false => "no",
    };
    let needed = "nothing: throng encrypts in its own process".into();
    required.is_secured.then(|| Row {
        check: "kernel TLS",
        found: found.into(),
        needed,
        verdict: Verdict::Ok,
        fix: None,
    })
}

/// Memory that this many connections take on this machine, and the processes that hold them.
pub(super) fn needed_bytes(cost: &Cost, facts: &Facts, required: &RequiredLoad) -> f64 {
    per_client(cost, required) * required.clients as f64 + of_processes(cost, facts, required)
}

fn of_processes(cost: &Cost, facts: &Facts, required: &RequiredLoad) -> f64 {
    ((processes(facts, required) + server_processes(facts, required)) * cost.process_bytes) as f64
}

fn per_client(cost: &Cost, required: &RequiredLoad) -> f64 {
    let server = if required.server == Place::BuiltIn { cost.server_bytes } else { 0.0 };
    kernel(cost, required) + generator(cost, required) + server
}

fn generator(cost: &Cost, required: &RequiredLoad) -> f64 {
    cost.generator_bytes + if required.is_secured { TLS_BYTES } else { 0.0 }
}

/// Both ends cost about the same.
fn kernel(cost: &Cost, required: &RequiredLoad) -> f64 {
    cost.kernel_bytes * required.ends() as f64 / 2.0
}

fn room(check: &'static str, left: Option<u64>, facts: &Facts, required: &RequiredLoad) -> Row {
    let found = left.map_or_else(|| "?".into(), |left| format!("{} left", bytes(left as f64)));
    let sure = |cost: &&Cost| 2.0 * cost.kernel_bytes_half_width < cost.kernel_bytes;
    let Some(cost) = facts.cost.as_ref().filter(sure) else {
        let needed = "not measured: too few open files, or too busy a machine".into();
        return Row { check, found, needed, verdict: Verdict::Unknown, fix: None };
    };
    let needed_bytes = needed_bytes(cost, facts, required);
    let server = match required.server {
        Place::BuiltIn => format!(", server {}", bytes(cost.server_bytes)),
        Place::Here | Place::HereNotYet => ", and what the server needs (throng idle)".into(),
        Place::Elsewhere => String::new(),
    };
    let windows = if required.keeps_windows { ", with the windows of its compression" } else { "" };
    let needed = format!(
        "{}: a client has {} in the kernel, {} in throng{server}{windows}",
        bytes(needed_bytes),
        bytes(kernel(cost, required)),
        bytes(generator(cost, required)),
    );
    let usable = left.map(|left| left as f64 * (1.0 - RESERVE_SHARE));
    let verdict = match usable {
        None => Verdict::Unknown,
        Some(usable) if usable >= needed_bytes => Verdict::Ok,
        Some(_) => Verdict::TooLow,
    };
    let for_clients = usable.unwrap_or(0.0) - of_processes(cost, facts, required);
    let fits = (for_clients / per_client(cost, required)) as u64; // none, if it is negative
    let or_none = if required.keeps_windows { "; --no-context-takeover needs no windows" } else { "" };
    let fix = (verdict == Verdict::TooLow).then(|| Fix::Tell(format!("--clients {fits} fit{or_none}")));
    Row { check, found, needed, verdict, fix }
}

/// TCP's buffers have a limit of their own, in pages.
fn buffers(facts: &Facts, required: &RequiredLoad) -> Option<Row> {
    const NAME: &str = "net.ipv4.tcp_mem";
    let (Some([low, pressure, high]), Some(cost), Some(memory)) = (facts.tcp_mem, &facts.cost, facts.memory)
    else {
        return None;
    };
    let per_client = cost.tcp_bytes.max(0.0) * required.ends() as f64 / 2.0;
    let needed = memory.tcp_bytes + (per_client * required.clients as f64) as u64;
    let verdict = if needed <= high { Verdict::Ok } else { Verdict::TooLow };
    let fix = || {
        let grown = |was: u64| was.saturating_mul(needed.div_ceil(high)).div_ceil(facts.page_bytes);
        Fix::sysctl(NAME, format!("{} {} {}", grown(low), grown(pressure), grown(high)))
    };
    Some(Row {
        check: NAME,
        found: bytes(high as f64),
        needed: bytes(needed as f64),
        verdict,
        fix: (verdict == Verdict::TooLow).then(fix),
    })
}
