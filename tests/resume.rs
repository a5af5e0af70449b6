//! Apps with a history of their own: clients that lose their connections tell how far they have come, and come
//! back with their cookies.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::frames::start;
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, errors_of, run, sum_of, throng};
use crate::support::{free_address, skip};

const RUN_MAX: Duration = Duration::from_secs(90);

/// The common part of all apps.
const CHAT: &str = r#"
[broadcast]
send = '{"type":"say","text":"{id}"}'
copy = { json = { "/type" = "said" } }
ack = { json = { "/type" = "ok" } }

[[open]]
expect = { json = { "/type" = "joined" } }

[resume]
keep = "/meta/number"
first = "1000000000"
"#;

/// A server of the chat that keeps so many messages, if it can be had.
fn chat(kept: &str) -> Option<(Process, SocketAddr)> {
    let scripts = match Scripts::install_in("tests/servers", "history") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => {
            skip("ws (npm)", &why);
            return None;
        }
    };
    let address = free_address();
    let server = scripts.start("server.js", &[&address.port().to_string(), kept]).listening_at(address);
    Some((server, address))
}

/// Fifty a second to clients that are away for a second.
fn flapping(address: SocketAddr, app: &Path, flags: &[&str]) -> Outcome {
    let mut command = throng(["audit", &format!("ws://{address}/"), "--format", "json", "--quiet", "--app"]);
    command.arg(app).args(["--clients", "20", "--rate", "50", "--duration", "6s", "--seed", "4"]);
    run(command.args(["--flap", "2s..3s:1s", "--flap-how", "close,reset"]).args(flags), RUN_MAX)
}

fn counts(outcome: &Outcome) -> (Value, [u64; 4]) {
    // A busy machine may miss the rate, and loses nothing for that.
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("missing"), of("duplicate"), of("reordered")), (0, 0, 0), "{outcome}");
    let heard = of("sent") - errors_of(&results, "cut_off");
    assert_eq!(of("expected") + of("offline_due"), 20 * heard, "{outcome}");
    let told = ["offline_due", "recovered", "lost_offline", "cut"].map(of);
    (results, told)
}

#[test]
fn returning_clients_are_told_missed_messages() {
    let Some((_server, address)) = chat("1000") else { return };
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("chat.toml");
    // How far it has come is said in the opening, in the opening request, or behind the opening.
    let first = r#"[[open]]
send = '{"type":"join","after":1000000000}'
"#;
    for (head, tail) in [
        ("[[open]]\nsend = '{\"type\":\"join\",\"after\":{kept}}'\n", ""),
        ("[connect]\npath = \"/?after={kept}\"\n", ""),
        (first, "send = '{\"type\":\"join\",\"after\":{kept}}'\n"),
    ] {
        fs::write(&app, [head, CHAT, tail].concat()).unwrap();
        let outcome = flapping(address, &app, &["--threads", "2"]);
        if tail.is_empty() {
            let (_, [due, recovered, lost, cut]) = counts(&outcome);
            assert!(lost == 0 && recovered == due && recovered > 40 * cut, "{outcome}");
        } else {
            // A server that is asked for what was sent since, of somebody who has joined already, says some
            // of it twice.
            let results = outcome.json();
            assert_eq!(sum_of(&results, "lost_offline") + sum_of(&results, "missing"), 0, "{outcome}");
        }
    }
    fs::write(&app, ["[connect]\npath = \"/?after={kept}\"\n", CHAT].concat()).unwrap();
    let (_, [_, recovered, lost, cut]) = counts(&flapping(address, &app, &["--no-session-resume"]));
    // What is said while it comes back may reach it.
    assert!(10 * recovered < lost && lost > 40 * cut, "{recovered}, {lost} of {cut}");
}

#[test]
fn messages_beyond_a_history_are_lost() {
    let Some((_server, address)) = chat("20") else { return };
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("chat.toml");
    fs::write(&app, ["[connect]\npath = \"/?after={kept}\"\n", CHAT].concat()).unwrap();
    let (results, [due, recovered, lost, cut]) = counts(&flapping(address, &app, &[]));
    // r·d − B: 50/s for a second, of which 20 are kept.
    assert_eq!(due, recovered + lost, "{results:#}");
    let each = [recovered, lost].map(|copies| copies as f64 / cut as f64);
    assert!((16.0..=21.0).contains(&each[0]) && (22.0..=40.0).contains(&each[1]), "{each:?}: {results:#}");
}

const HISTORY: &str = r#"
open = [{ expect = { json = { "/type" = "history" } } }]
[connect]
path = "/?after={kept}"
[broadcast]
send = '{"text":"{id}"}'
copy = { json = { "/type" = "said" } }
[resume]
keep = "/n"
first = "0"
"#;

#[test]
fn missed_messages_are_recovered_from_one_frame() {
    let Some(app) = start("history", HISTORY) else { return };
    let outcome = app.run("audit", "", "--clients 20 --rate 50 --duration 6s --flap 2s..3s:1s");
    outcome.assert_held();
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("lost_offline"), of("missing"), of("duplicate")), (0, 0, 0), "{outcome}");
    // What is said between the connection and the history comes by itself.
    let replayed = app.counted("replayed");
    assert!(of("recovered") >= replayed && replayed > of("cut"), "{replayed} {outcome}");
}

/// Lives are shorter than the time to the first message: who has heard nothing cannot say what it missed, and
/// stays until it has.
#[test]
fn clients_without_an_offset_are_not_cut() {
    let file = HISTORY.replace("first = \"0\"\n", "");
    let Some(app) = start("history", &file) else { return };
    let outcome = app.run("audit", "", "--clients 10 --rate 4 --duration 5s --flap 100ms..200ms:500ms");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert!(of("cut") >= 10 && of("offline_due") > 0, "{outcome}");
    assert_eq!((of("lost_offline"), of("recovered")), (0, of("offline_due")), "{outcome}");
}

/// A history tells no place: a client that was cut again would ask for the same once more.
#[test]
fn clients_with_a_history_alone_are_not_cut() {
    let Some(app) = start("history", HISTORY) else { return };
    let flags = "--clients 10 --rate 4 --duration 5s --flap 100ms..200ms:500ms --no-preflight";
    let outcome = app.run("audit", "", flags);
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert!(of("cut") >= 10 && app.counted("replayed") > 0, "{outcome}");
    assert_eq!((of("duplicate"), of("missing"), of("lost_offline")), (0, 0, 0), "{outcome}");
}

/// A cookie of the first answer goes along with whoever comes back, as in a browser; no client has another's.
#[test]
fn cookies_outlive_connections() {
    let polling = "protocol = \"socketio\"\n[broadcast]\nevent = \"say\"\nsend = '\"{id}\"'\n";
    let upgrade = "--transport upgrade --no-session-resume";
    for (mode, file, path, flags) in [
        ("cookies", "[broadcast]\nsend = '{\"text\":\"{id}\"}'\n", "/", ""),
        ("cookies-polling", polling, "/socket.io/", "--transport polling"),
        ("cookies-polling", polling, "/socket.io/", upgrade),
    ] {
        let Some(app) = start(mode, file) else { return };
        let flags = format!("--clients 20 --rate 50 -d 3s --flap 1s..2s:500ms --no-preflight {flags}");
        let outcome = app.run("audit", path, &flags);
        assert!(sum_of(&outcome.json(), "cut") > 0, "{outcome}");
        let (connections, returned) = (app.counted("connections"), app.counted("returned"));
        assert_eq!(connections - returned, 20, "each client is new once: {mode} {flags} {outcome}");
    }
    let Some(app) = start("cookies", "[broadcast]\nsend = '{\"text\":\"{id}\"}'\n") else { return };
    let outcome = app.run("storm", "/", "--clients 20 --no-preflight");
    assert_eq!((app.counted("connections"), app.counted("returned")), (40, 20), "{outcome}");
}
