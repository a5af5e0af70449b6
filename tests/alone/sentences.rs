//! Sentences: what throng says in situations whose truth is known, in text, on the page, in Markdown, JUnit
//! and by its exit code.
//!
//! `cargo test` runs those that are short, one after another; `make sentences` all, and writes
//! docs/logs/SENTENCES.md. `make sentences BUSY=4` does so beside four busy loops and writes nothing,
//! `ONLY=storm` those of such a name or group.

mod fields;
mod pattern;
mod proof;
mod servers;
mod situation;
mod table;

use std::env;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::alone::crowd;
use crate::support::cases::check_all;
use crate::support::{alone, skip};
use fields::Fields;
use proof::{Proof, prove};
use situation::{Host, Place, Situation, situation};
use table::{Group, groups};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/logs/SENTENCES.md");

const HONEST: Host = Host::Reference("");

#[test]
fn when_all_is_well() {
    assert_true("all is well");
}

#[test]
fn answers_missing_wrong_or_late() {
    assert_true("missing, wrong or late");
}

#[test]
fn servers_that_do_not_stay() {
    assert_true("do not stay");
}

#[test]
fn owners_at_their_limit() {
    assert_true("at its limit");
}

#[test]
fn before_a_run() {
    assert_true("before a run");
}

#[test]
fn runs_beside_each_other() {
    assert_true("beside each other");
}

#[test]
#[ignore = "takes minutes: make sentences"]
fn every_situation() {
    let _alone = alone();
    let busy: usize = env::var("BUSY").map_or(0, |n| n.parse().expect("BUSY is a number"));
    let only = env::var("ONLY").unwrap_or_default();
    let _crowd = crowd(busy);
    let (mut table, mut made, mut failed) = (String::new(), 0, Vec::new());
    for Group { title, situations } in groups() {
        let chosen = situations.iter().filter(|one| one.name.contains(&only) || title.contains(&only));
        table +=
            &format!("## {title}\n\n| situation | command | must be said | was said |\n|---|---|---|---|\n");
        for situation in chosen {
            let start = Instant::now();
            made += 1;
            let proof = prove(situation);
            println!("{:>6.1} s  {}", start.elapsed().as_secs_f64(), situation.name);
            table += &row(situation, &proof);
            if let Ok(proof) = proof.as_ref().map_err(|why| skip(situation.name, why))
                && !proof.wrong.is_empty()
            {
                println!("{}", proof.told(situation.name));
                failed.push(situation.name);
            }
        }
        table.push('\n');
    }
    assert!(made > 0, "ONLY={only}: no such situation");
    if busy == 0 && only.is_empty() {
        publish(&table);
    }
    assert!(failed.is_empty(), "{} false: {failed:#?}", failed.len());
}

/// The short situations of the group whose title has this part.
fn assert_true(part: &str) {
    let _alone = alone();
    let group = groups().into_iter().find(|group| group.title.contains(part)).expect("a group");
    let mut failed = Vec::new();
    for situation in group.situations.iter().filter(|situation| situation.is_short) {
        match prove(situation) {
            Ok(proof) if proof.wrong.is_empty() => {}
            Ok(proof) => failed.push(proof.told(situation.name)),
            Err(why) => skip(situation.name, &why),
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

/// A row of the document.
fn row(situation: &Situation, proof: &Result<Proof, String>) -> String {
    let said = match proof {
        Ok(proof) if proof.wrong.is_empty() => proof.said.clone(),
        Ok(proof) => format!("{}<br>✗ {}", proof.said, proof.wrong.join("; ")),
        Err(why) => format!("left out here: {why}"),
    };
    let cells = [
        format!("{}: {}", situation.name, situation.host),
        format!("`{}`", situation),
        situation.must.to_string(),
        said,
    ];
    let escaped = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    format!("| {} |\n", escaped.join(" | "))
}

/// Puts the table where the document has its last.
fn publish(table: &str) {
    let mut text = std::fs::read_to_string(DOCUMENT).unwrap();
    let (before, rest) = text.split_once("<!-- measured -->\n").expect("where the table begins");
    let (_, after) = rest.split_once("<!-- end -->").expect("where the table ends");
    text = format!("{before}<!-- measured -->\n{table}<!-- end -->{after}");
    std::fs::write(DOCUMENT, text).unwrap();
}

#[test]
fn there_is_enough_of_everything() {
    let all: Vec<Situation> = groups().into_iter().flat_map(|group| group.situations).collect();
    assert!(all.len() >= 60, "{}", all.len());
    let mut names: Vec<&str> = all.iter().map(|situation| situation.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "a name stands for one situation");
    let short = all.iter().filter(|situation| situation.is_short).count();
    assert!((15..=40).contains(&short), "{short} in CI");
    for verb in ["echo", "broadcast", "saturate", "idle", "storm", "http", "compare", "shootout"] {
        assert!(all.iter().any(|situation| situation.line.starts_with(verb)), "nothing of {verb}");
    }
    let hosts = all.iter().fold(String::new(), |mut text, situation| {
        write!(text, "{} ", situation.host).unwrap();
        text
    });
    for fault in FAULTS {
        assert!(hosts.contains(&format!("{fault}=")), "nothing of --fault {fault}=");
    }
}

/// Runs that together have what there is to be had.
const OF_EVERYTHING: [(Host, Place, &str); 15] = [
    (
        Host::Tls,
        Place::Here,
        "echo {wss} --insecure --clients 20 --rate 400 -d 3s --churn 20%/s --warmup 200ms --pin 0",
    ),
    (
        Host::Reference("--fault drop=9%10"),
        Place::Crowd(4),
        "echo {ws} --clients 5 -d 1s --limit p99<1us --drain-timeout 300ms",
    ),
    (
        HONEST,
        Place::Here,
        "broadcast {ws} --protocol json --clients 20 -s 20 --slow 50%:1MiB/s --name fields --note here",
    ),
    (HONEST, Place::Here, "stream {http}stream?events=20 --api openai -c 2 -n 4"),
    (HONEST, Place::Here, "broadcast {ws}?channel={room} --clients 10 --room-size 5 --rate 20 -d 1s"),
    (
        Host::Reference("--history 1000 --fault forget=9%10"),
        Place::Here,
        "broadcast {ws}socket.io/ --protocol socketio --clients 10 --rate 50 -d 4s --flap 500ms..1s:200ms",
    ),
    (
        HONEST,
        Place::Here,
        "broadcast {ws} --search --initial-clients 4 --max-clients 8 -s 10 --limit-rtt 20s",
    ),
    (
        Host::Reference("--fault service=2ms"),
        Place::Here,
        "saturate {ws} --levels 10 --first-rate 10 --max-rate 400 -d 1s",
    ),
    (HONEST, Place::Here, "idle {ws} --clients 300 --connect-rate 300 -d 1s"),
    (HONEST, Place::Here, "storm {ws} --clients 20 --interval 200ms --lead 300ms --window 200ms -d 1s"),
    (Host::Node("failing:2"), Place::Here, "http {http} -c 5 -R 50 -d 1"),
    (Host::Node("slow:100"), Place::Here, "http {http} -c 2 -R 100 -d 1"),
    (Host::Own, Place::TenPorts, "echo --clients 50 -d 1s"),
    (Host::Quota(20), Place::Quota(20), "echo {ws} --clients 10 -c 10 -d 1s --threads 1"),
    (
        Host::Elsewhere { loss_percent: 5, mbits_per_s: 0 },
        Place::Here,
        "echo {ws} --clients 20 -c 20 -d 1s --connect-timeout 20s",
    ),
];

/// Fields that no short run on one machine has, by the beginning of their pointers, and where they come from.
const ELSEWHERE: [(&str, &str); 43] = [
    ("/$defs/counts/properties/after_end", "tests/streams/faults.rs"),
    ("/$defs/counts/properties/batched", "tests/frames.rs"),
    ("/$defs/counts/properties/broken_off", "tests/streams/faults.rs"),
    ("/$defs/counts/properties/in_passing", "tests/visits.rs"),
    ("/$defs/counts/properties/join_failures", "tests/visits.rs"),
    ("/$defs/counts/properties/misordered", "tests/streams/faults.rs"),
    ("/$defs/counts/properties/missing_own", "tests/examples.rs"),
    ("/$defs/counts/properties/push", "tests/pushes.rs"),
    ("/$defs/counts/properties/seen", "tests/visits.rs"),
    ("/$defs/counts/properties/stalls", "tests/streams/stalls.rs"),
    ("/$defs/counts/properties/unended", "tests/streams/faults.rs"),
    ("/$defs/counts/properties/unmarked", "tests/streams/faults.rs"),
    ("/$defs/counts/properties/unseen", "tests/visits.rs"),
    ("/$defs/counts/properties/unacknowledged", "tests/publishing.rs"),
    ("/$defs/counts/properties/visits", "tests/visits.rs"),
    ("/$defs/counts/properties/nobody_to_send", "tests/flap.rs: one client that flaps"),
    ("/$defs/counts/properties/not_back", "tests/shapes.rs: storms"),
    ("/$defs/counts/properties/tls_resumed", "tests/tls.rs"),
    ("/$defs/generator/properties/ceiling_", "tests/calibrate.rs"),
    ("/$defs/limit/properties/at_least", "tests/shapes.rs: a recovery that never came"),
    ("/$defs/machine/properties/kernel_bytes_per_client", "thousands of connections"),
    ("/$defs/machine/properties/network_percent", "a network card whose speed is known"),
    ("/$defs/second/properties/metrics", "tests/exports.rs: --scrape"),
    ("/$defs/server/properties/ended_s", "tests/resources.rs"),
    (
        "/$defs/step/properties/delivery_by_room_size/properties/delivery_",
        "tests/rooms.rs: rooms of unequal size",
    ),
    ("/$defs/step/properties/fleet", "tests/fleet.rs"),
    (
        "/$defs/step/properties/handshake_parts/properties/login",
        "tests/login.rs: an app whose clients log in",
    ),
    ("/$defs/step/properties/stall_owners_percent", "tests/streams/stalls.rs"),
    ("/$defs/step/properties/interrupted", "tests/machine.rs: a run that the user ends"),
    ("/$defs/step/properties/intervals", "steps of 20 s"),
    ("/$defs/step/properties/join", "tests/visits.rs"),
    ("/$defs/step/properties/leave", "tests/visits.rs"),
    ("/$defs/step/properties/presence", "tests/visits.rs"),
    ("/$defs/step/properties/push_", "tests/pushes.rs"),
    ("/$defs/step/properties/silence", "tests/losses.rs: an idle timeout"),
    ("/$defs/verdict/properties/capacity", "a search that tells"),
    ("/$defs/verdict/properties/levels/items/properties/knee", "latency that outgrows the load"),
    ("/$defs/verdict/properties/levels/items/properties/fatal_per_s", "latency above 200 ms in a sweep"),
    ("/$defs/verdict/properties/memory_per_client", "tests/crew.rs: idle clients by the thousand"),
    ("/$defs/step/properties/roles", "tests/roles.rs"),
    ("/$defs/step/properties/says", "tests/room_kinds.rs"),
    ("/properties/inputs", "tests/resume_runs.rs: a run of an app's file"),
    ("/properties/resume_after", "tests/resume.rs"),
];

/// Fields that shootouts alone write.
const OF_SHOOTOUTS: [&str; 2] =
    ["/properties/target/properties/version", "/properties/environment/properties/server_cpus"];

/// Fields of runs in control groups and network namespaces of their own, which not every user may make.
const OF_PRIVILEGES: [&str; 3] = [
    "/$defs/generator/properties/throttled_percent",
    "/$defs/owners/properties/network",
    "/$defs/server/properties/throttled_percent",
];

#[test]
fn every_results_field_is_written() {
    let _alone = alone();
    let fields = Mutex::new(Fields::read());
    let are_skipped = AtomicBool::new(false);
    // Whatever the figures are: these runs may disturb each other.
    check_all(
        &OF_EVERYTHING,
        |(_, _, line)| (*line).to_owned(),
        |&(host, place, line)| match proof::results(&situation(line, host, line).at(place)) {
            Ok(results) => fields.lock().unwrap().add(&results),
            Err(why) => {
                are_skipped.store(true, Ordering::Relaxed);
                skip("fields of the results", &why);
            }
        },
    );
    let unmet = fields.into_inner().unwrap().unmet();
    let unmet: Vec<&String> = unmet
        .iter()
        .filter(|pointer| !ELSEWHERE.iter().any(|(known, _)| pointer.starts_with(known)))
        .filter(|pointer| !OF_SHOOTOUTS.contains(&pointer.as_str()))
        .filter(|pointer| !are_skipped.load(Ordering::Relaxed) || !OF_PRIVILEGES.contains(&pointer.as_str()))
        .collect();
    assert!(unmet.is_empty(), "no run has {unmet:#?}");
}

/// The clauses of `throng serve --fault`.
const FAULTS: [&str; 15] = [
    "drop", "dup", "reorder", "corrupt", "stray", "delay", "service", "tick", "stall", "deaf", "close",
    "kill", "mute", "accept", "refuse",
];
