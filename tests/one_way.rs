//! Messages that go one way: to the others in a room, with no answer to their senders.

use crate::frames::start;
use crate::support::throng::{errors_of, sum_of};

const MOVES: &str = r#"
[broadcast]
to = "others"
send = '{"move":"{id}","x":{seq}}'
"#;

/// One of twenty gets nothing: it is named, and nobody is told that the server leaves out senders.
#[test]
fn a_deaf_receiver_is_named() {
    let Some(app) = start("deaf", "[broadcast]\nsend = '{\"text\":\"{id}\"}'\n") else { return };
    let outcome = app.run("broadcast", "/", "--clients 20 --rate 40 --duration 1s --no-preflight");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    assert_eq!((sum_of(&results, "missing"), errors_of(&results, "no_copies")), (40, 1), "{outcome}");
    assert_eq!(results["steps"][0]["losses"][0]["key"], "loss.missing", "{outcome}");
}

/// One of eight players hears nothing of its match.
#[test]
fn a_deaf_member_of_a_room_is_named() {
    let Some(app) = start("deaf-in-room", MOVES) else { return };
    let flags = "--clients 24 --room-size 8 --rate 120 -d 1s --threads 1 --drain-timeout 1s --no-preflight";
    let outcome = app.run("broadcast", "/?room={room}", flags);
    let results = outcome.json();
    assert_eq!((outcome.code, errors_of(&results, "no_copies")), (Some(3), 1), "{outcome}");
    assert_eq!(sum_of(&results, "missing"), 7 * 5, "what the other seven have said: {outcome}");
}

#[test]
fn one_way_rates_rise_until_deliveries_lag() {
    let Some(app) = start("others", MOVES) else { return };
    let flags = "--levels 5 --first-rate 20 --max-rate 40 --refine 0 -d 2s --room-size 5";
    let outcome = app.run("saturate", "/?room={room}", flags);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let results = outcome.json();
    // On a busy machine copies may queue at the higher rate.
    assert!(results["verdict"]["levels"][0]["safe_per_s"].as_f64() >= Some(20.0), "{outcome}");
    let of_stop = results["steps"][0]["stop"]["limit"].as_str();
    assert!(of_stop.is_some_and(|limit| limit.starts_with("delivery.")), "{outcome}");
}

#[test]
fn moves_to_the_others_need_no_answer() {
    let Some(app) = start("others", MOVES) else { return };
    let flags =
        "--clients 40 --room-size 8 --rate 400 --duration 2s --limit delivery.p99<=10s --limit p95<=10s";
    let outcome = app.run("broadcast", "/?room={room}", flags);
    outcome.assert_held();
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("received")), (app.counted("said"), app.counted("sent")), "{outcome}");
    assert_eq!((of("received"), of("missing"), of("unacknowledged")), (7 * of("sent"), 0, 0), "{outcome}");
    let step = &results["steps"][0];
    assert_eq!(step["delivery"]["count"], of("received"), "{outcome}");
    assert_eq!(step["completion"]["count"], of("sent"), "{outcome}");
    assert!(step.get("rtt").is_none() && step.get("errors").is_none(), "{outcome}");
    let limits = step["limits"].as_array().unwrap();
    assert!(limits.len() == 2 && limits.iter().all(|limit| limit["passed"] == true), "{outcome}");
}

#[test]
fn searches_find_the_number_of_players() {
    let Some(app) = start("others", MOVES) else { return };
    let flags =
        "--search --initial-clients 8 --max-clients 16 --step-size 8 --room-size 8 --rate 40 --duration 1s";
    let outcome = app.run("broadcast", "/?room={room}", flags);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.json()["verdict"]["capacity"]["low"], 16, "{outcome}");
}

/// A server that tells nothing to whoever comes behind the 24th.
#[test]
fn searches_end_with_an_interval() {
    let Some(app) = start("full", MOVES) else { return };
    let flags =
        "--search --initial-clients 8 --max-clients 48 --step-size 8 --room-size 8 --rate 40 --duration 1s";
    let outcome = app.run("broadcast", "/?room={room}", flags);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let capacity = &outcome.json()["verdict"]["capacity"];
    let [low, high] = ["low", "high"].map(|end| capacity[end].as_u64().expect("an interval"));
    // A search fills its rooms: 32 is the next number of clients above 24.
    assert!(8 <= low && low <= high && high < 32, "{outcome}");
}

#[test]
fn answers_that_cannot_come_are_refused_early() {
    let Some(app) = start("others", MOVES) else { return };
    for flags in ["--clients 8", "--clients 8 --rate 10 --limit rtt.p95<=1s"] {
        let outcome = app.run("broadcast", "/?room={room}", flags);
        assert_eq!((outcome.code, app.counted("said")), (Some(2), 0), "{outcome}");
    }
}

/// A file whose players say how often they move needs no `--rate`.
#[test]
fn broadcast_keeps_the_pace_of_roles() {
    let file = MOVES.replace("[broadcast]", "[say.move]").replace("send =", "body =")
        + "[[role]]\nname = \"player\"\nshare = \"100%\"\nsays = [{ say = \"move\", every = \"500ms\" }]\n";
    let Some(app) = start("others", &file) else { return };
    for load in ["", "[load]\npeople = 30\n"] {
        app.write(&format!("{file}{load}"));
        let outcome =
            app.run("broadcast", "/?room={room}", "--clients 20 --room-size 5 -d 2s --no-preflight");
        assert_eq!(sum_of(&outcome.json(), "sent"), 80, "20 clients, 2/s each, 2 s: {outcome}");
    }
}
