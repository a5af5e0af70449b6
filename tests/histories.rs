//! Histories of servers: how much of what they missed clients get that come back, by what the server keeps.

use std::time::Duration;

use serde_json::Value;

use crate::flap::{RUN_MAX, assert_accounted, results};
use crate::support::cases::check_all;
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{
    Outcome, Server, caveat, finding, finish, loss, run, start_measuring, sum_of, throng,
};
use crate::support::{free_address, in_time, skip, timed};

/// Fifty a second to clients that are away for a second, over Socket.IO. By this seed, everybody has got
/// something before they lose their connections: who has not has no offset to come back with, and recovers
/// nothing.
const OVER_SOCKET_IO: &str = "--protocol socketio --clients 20 --rate 50 -d 6s --threads 2 --flap 2s..3s:1s --flap-how close,reset --seed 4";

/// A load with a server of its own, beside others.
type Case = (&'static str, fn() -> Result<(), String>);

#[test]
fn histories_recover_what_they_keep() {
    let cases: [Case; 4] = [
        ("all is kept", all_is_kept),
        ("sessions anew", sessions_are_anew),
        ("some are kept", some_are_kept),
        ("kept for a while", kept_for_a_while),
    ];
    check_all(&cases, |(name, _)| (*name).to_owned(), |(_, check)| timed(check));
}

/// The results over Socket.IO, of a server that keeps this.
fn kept_by(history: &str, flags: &str) -> Value {
    let server = Server::start(&["--threads", "1", "--history", history]);
    let results = results(0, &server, &format!("{OVER_SOCKET_IO}{flags}"));
    assert_accounted(&results, 20);
    results
}

fn all_is_kept() -> Result<(), String> {
    let kept = kept_by("1000", "");
    let of = |name| sum_of(&kept, name);
    assert_eq!(of("recovered"), of("offline_due"), "{kept:#}");
    assert_eq!((of("missing"), of("duplicate"), of("reordered")), (0, 0, 0), "{kept:#}");
    assert_eq!(kept["steps"][0]["replay"]["count"], of("recovered"), "{kept:#}");
    // Less is due to who loses a connection in the last second.
    in_time(of("offline_due") > 40 * of("cut"), || format!("{kept:#}"))
}

fn sessions_are_anew() -> Result<(), String> {
    let anew = kept_by("1000", " --no-session-resume");
    assert!(sum_of(&anew, "recovered") <= sum_of(&anew, "cut"), "{anew:#}");
    in_time(sum_of(&anew, "lost_offline") > 40 * sum_of(&anew, "cut"), || format!("{anew:#}"))
}

/// Messages lost of each absence d at a rate r are r·d − B: 50/s for a second, of which 20 are kept.
fn some_are_kept() -> Result<(), String> {
    let few = kept_by("20", "");
    let per_absence = |name| sum_of(&few, name) as f64 / sum_of(&few, "cut") as f64;
    in_time((17.0..=21.0).contains(&per_absence("recovered")), || format!("{few:#}"))?;
    in_time((22.0..=40.0).contains(&per_absence("lost_offline")), || format!("{few:#}"))
}

/// Half a second's worth: what was sent in the first half of the absence is lost.
fn kept_for_a_while() -> Result<(), String> {
    let brief = kept_by("500ms", "");
    let share = sum_of(&brief, "recovered") as f64 / sum_of(&brief, "offline_due") as f64;
    in_time((0.40..=0.55).contains(&share), || format!("{share}: {brief:#}"))
}

/// The same over Action Cable's extended protocol, with every way in which a connection may end: a session is
/// gone on with whether the server has noticed or not.
const OVER_CABLE: &str = "--protocol actioncable --cable-extended --clients 20 --rate 50 -d 6s --threads 2 --flap 2s..3s:1s --flap-how close,reset,silence --seed 4";

#[test]
fn action_cable_recovers_all_or_nothing() {
    let cases = [
        ("1000", OVER_CABLE.to_owned(), true),
        // Nothing is asked for in the plain protocol, and by who comes back as somebody else.
        ("1000", OVER_CABLE.replace("--cable-extended", ""), false),
        ("1000", format!("{OVER_CABLE} --no-session-resume"), false),
        // With fewer than r·d of them kept, a history has forgotten some, and is rejected.
        ("20", OVER_CABLE.to_owned(), false),
    ];
    check_all(
        &cases,
        |(history, flags, _)| format!("{history} {flags}"),
        |(history, flags, is_all)| {
            let results = results(0, &Server::start(&["--history", *history]), flags);
            assert_accounted(&results, 20);
            match is_all {
                true => assert_all_recovered(&results),
                false => {
                    let [recovered, cut] = ["recovered", "cut"].map(|name| sum_of(&results, name));
                    assert!(recovered <= cut && cut >= 20, "{results:#}");
                }
            }
        },
    );
}

/// Asserts that all that was due to clients while they were away came, and once.
fn assert_all_recovered(results: &Value) {
    let of = |name| sum_of(results, name);
    assert!(of("offline_due") > 40 * of("cut") && of("recovered") == of("offline_due"), "{results:#}");
    assert_eq!((of("missing"), of("duplicate"), of("reordered")), (0, 0, 0), "{results:#}");
}

#[test]
fn polling_sessions_resume_as_websockets() {
    let resume = |transport: &&str| {
        let server = Server::start(&["--history", "1000"]);
        let kept = results(0, &server, &format!("{OVER_SOCKET_IO} --transport {transport}"));
        assert_accounted(&kept, 20);
        assert_all_recovered(&kept);
    };
    check_all(&["polling", "upgrade"], |transport| (*transport).to_owned(), resume);
}

/// SockJS opens a session anew, whatever the transport, and Phoenix rejoins: a history is nothing to either.
#[test]
fn protocols_without_recovery_lose_messages() {
    let load = "--clients 20 --rate 50 -d 4s --threads 2 --flap 1s..2s:500ms --flap-how close,reset,silence";
    let lose = |protocol: &&str| {
        let server = Server::start(&["--history", "1000"]);
        let anew = results(0, &server, &format!("{load} {protocol}"));
        assert_accounted(&anew, 20);
        let of = |name| sum_of(&anew, name);
        assert!(of("recovered") <= of("cut"), "{anew:#}");
        assert_eq!((of("missing"), of("duplicate")), (0, 0), "{anew:#}");
        in_time(of("lost_offline") > 10 * of("cut"), || format!("{anew:#}"))
    };
    let protocols = [
        "--protocol phoenix",
        "--protocol sockjs",
        "--protocol sockjs --transport eventsource",
        "--protocol sockjs --transport xhr-polling",
    ];
    check_all(&protocols, |protocol| (*protocol).to_owned(), |protocol| timed(|| lose(protocol)));
}

/// A fault in what a server sends again, asserted over the protocol of these flags.
type Fault = fn(&str);

#[test]
fn faults_of_histories_are_told_apart() {
    let faults: [(&str, Fault); 3] =
        [("forget", assert_forgotten), ("again", assert_sent_again), ("swap", assert_swapped)];
    let cases = [OVER_SOCKET_IO, OVER_CABLE].map(|over| faults.map(|(name, fault)| (name, fault, over)));
    check_all(
        cases.as_flattened(),
        |(name, _, over)| format!("{name} {over}"),
        |(_, fault, over)| fault(over),
    );
}

/// Counts of copies that were due, lost, doubled and out of order, of a server with this fault.
fn replayed(fault: &str, code: i32, over: &str) -> [u64; 4] {
    let server = Server::start(&["--threads", "1", "--history", "1000", "--fault", fault]);
    let results = results(code, &server, over);
    assert_accounted(&results, 20);
    assert_eq!(sum_of(&results, "missing"), 0, "{fault}: {results:#}");
    ["offline_due", "lost_offline", "duplicate", "reordered"].map(|name| sum_of(&results, name))
}

fn assert_forgotten(over: &str) {
    let [due, lost, duplicate, reordered] = replayed("forget=9%10", 0, over);
    assert!(lost.abs_diff(due / 10) <= 1 && duplicate + reordered == 0, "{lost} of {due}");
}

fn assert_sent_again(over: &str) {
    let [due, lost, duplicate, _] = replayed("again=9%10", 3, over);
    assert!(duplicate.abs_diff(due / 10) <= 1 && lost == 0, "{duplicate} of {due}");
}

/// Order is one sender's, of which there is one here.
fn assert_swapped(over: &str) {
    let server = Server::start(&["--threads", "1", "--history", "1000", "--fault", "swap=8%10"]);
    let results = results(0, &server, &format!("{over} --senders 5% --allow-loss 100%"));
    assert_accounted(&results, 20);
    let [recovered, reordered] = ["recovered", "reordered"].map(|name| sum_of(&results, name));
    assert!(
        reordered >= recovered / 10 - sum_of(&results, "cut") && reordered > 0,
        "{reordered} of {recovered}"
    );
    assert_eq!(sum_of(&results, "lost_offline"), 0, "{results:#}");
}

#[test]
fn official_socketio_keeps_messages_as_told() {
    let scripts = match Scripts::install_in("tests/servers", "socketio") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("socket.io (npm)", &why),
    };
    for recovery in ["30000", "0"] {
        let address = free_address();
        let _server =
            scripts.start("server.js", &[&address.port().to_string(), recovery]).listening_at(address);
        let url = format!("ws://{address}/socket.io/");
        let mut command = throng(["broadcast", &url, "--format", "json", "--quiet"]);
        let outcome = run(command.args(OVER_SOCKET_IO.split_whitespace()), RUN_MAX);
        outcome.assert_held();
        let results = outcome.json();
        assert_accounted(&results, 20);
        let of = |name| sum_of(&results, name);
        assert_eq!((of("missing"), of("duplicate"), of("reordered")), (0, 0, 0), "{results:#}");
        match recovery {
            "0" => {
                assert!(of("recovered") <= of("cut") && of("lost_offline") > 40 * of("cut"), "{results:#}")
            }
            _ => assert!(
                of("recovered") == of("offline_due") && of("recovered") > 40 * of("cut"),
                "{results:#}"
            ),
        }
    }
}

#[test]
fn official_socketio_client_gets_missed_messages() {
    match Scripts::install("socketio") {
        Ok(scripts) => {
            let server = Server::start(&["--history", "100"]);
            scripts.run("recovery.js", &[&format!("http://{}", server.address)]);
        }
        Err(Unavailable(why)) => skip("socket.io-client (npm)", &why),
    }
}

/// The line with the delivery guarantee of a run.
fn guarantee(outcome: &Outcome) -> &str {
    outcome.stdout.lines().find(|line| line.starts_with("guarantee")).unwrap_or_default()
}

/// An audit of a server that keeps this.
fn audit(history: &str, flags: &str) -> Outcome {
    let server = Server::start(&["--history", history]);
    let url = format!("{}socket.io/", server.url());
    let mut command = throng(["audit", &url, "--protocol", "socketio", "--no-report", "--seed", "4"]);
    let load = "--clients 20 --rate 50 -d 6s --threads 2 --flap 2s..3s:1s --flap-how close,reset";
    run(command.args(load.split_whitespace()).args(flags.split_whitespace()), RUN_MAX)
}

#[test]
fn audits_exit_with_3_below_requirements() {
    let cases = [
        ("--require at-least-once", 0),
        ("--no-session-resume", 0),
        ("--no-session-resume --require at-least-once", 3),
    ];
    check_all(
        &cases,
        |(flags, _)| (*flags).to_owned(),
        |(flags, code)| {
            let outcome = audit("1000", &format!("--format json {flags}"));
            assert_eq!(outcome.code, Some(*code), "{outcome}");
            let results = outcome.json();
            let [lost, here @ ..] =
                ["lost_offline", "missing", "duplicate", "reordered"].map(|name| sum_of(&results, name));
            let is_anew = flags.contains("--no-session-resume");
            assert_eq!((lost > 0, here), (is_anew, [0; 3]), "{outcome}");
            assert!(is_anew || sum_of(&results, "recovered") > 0, "{outcome}");
            let limit = finding(&results["steps"][0]["losses"], "loss.limit");
            assert_eq!(limit.is_some(), *code == 3, "{outcome}");
        },
    );
}

/// In the classes that ages are told by.
#[test]
fn audits_tell_how_long_messages_are_kept() {
    let outcome = audit("500ms", "");
    assert!(guarantee(&outcome).contains(" 500ms "), "{outcome}");
}

#[test]
fn audits_without_absences_are_unmeasured() {
    let keeps = Server::start(&["--history", "1000"]);
    // A message every ten seconds, to clients that are here for a minute: nothing to miss.
    let idle = "--rate 0.1 -d 1s --flap 60s:1s --require at-least-once --format json";
    let mut command = throng(["audit", &keeps.url(), "--no-report", "--clients", "2"]);
    let outcome = run(command.args(idle.split_whitespace()), RUN_MAX);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    assert_eq!(loss(&results, "unmeasured")["limit"], "lost_offline==0%", "{outcome}");
    assert!(caveat(&results, "nobody_away").is_some(), "{outcome}");
    let outcome = run(throng(["audit", &keeps.url()]).arg("--search"), RUN_MAX);
    assert_eq!(outcome.code, Some(2), "{outcome}");
}

/// The resident memory of a process, in KiB; 0 once it is gone.
fn resident_kib(process: &Process) -> u64 {
    process.status_bytes("VmRSS:").map_or(0, |bytes| bytes / 1024)
}

/// Runs clients that flap, by every way to end a connection, against a server that keeps what they miss: all of it
/// comes, once. How often one was cut, and the memory of server and generator, second by second.
fn all_comes_to_who_flaps(clients: u64, seconds: u64) -> (u64, [Vec<u64>; 2]) {
    let server = Server::start(&["--history", "1000"]);
    let url = format!("{}cable", server.url());
    let load = format!(
        "--protocol actioncable --cable-extended --clients {clients} --connect-rate 500 --connect-timeout 10s --rate 5 -d {seconds}s \
         --threads 2 --flap 10s..20s:2s --flap-how close,reset,silence --seed 4 --format json --no-preflight"
    );
    let process = start_measuring(throng(["broadcast", &url]).args(load.split_whitespace()));
    let (mut of_server, mut of_throng) = (Vec::new(), Vec::new());
    for _ in 0..seconds {
        std::thread::sleep(Duration::from_secs(1));
        of_server.push(resident_kib(&server.process));
        of_throng.push(resident_kib(&process));
    }
    let outcome = finish(process, RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    assert_accounted(&results, clients);
    let of = |name| sum_of(&results, name);
    assert_eq!(
        (of("sent"), of("lost_offline"), of("missing"), of("duplicate")),
        (5 * seconds, 0, 0, 0),
        "{results:#}"
    );
    assert!(of("cut") * 20 >= clients * (seconds - 10) && of("recovered") > of("cut"), "{results:#}");
    println!(
        "{clients} clients, {seconds} s: {} cut, {} recovered of {}",
        of("cut"),
        of("recovered"),
        of("offline_due")
    );
    (of("cut"), [of_server, of_throng])
}

#[test]
fn hundreds_of_flapping_clients_get_everything() {
    all_comes_to_who_flaps(300, 15);
}

/// The generator keeps 120 bytes of an absence until its step is settled, in lists that double when they are full.
const ABSENCE_BYTES_MAX: u64 = 360;

#[test]
#[ignore = "five minutes: make torture"]
fn torture_flapping_memory_grows_by_absences_alone() {
    let (cut, memory) = all_comes_to_who_flaps(2_000, 300);
    for (kib, grows_by) in memory.iter().zip([0, cut * ABSENCE_BYTES_MAX / 1024]) {
        let most = |minutes: std::ops::Range<usize>| {
            kib[60 * minutes.start..60 * minutes.end].iter().copied().max().unwrap()
        };
        let (early, late) = (most(1..2), most(4..5));
        println!("{early} KiB in the second minute, {late} KiB in the fifth");
        assert!(
            late <= early + early / 20 + grows_by,
            "{early} KiB in the second minute, {late} in the fifth"
        );
    }
}
