//! Files of examples/apps against servers of their protocols: nothing is missing, by the servers' own counts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::app::{App, example, negotiated_hub};
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Unavailable, built_by_go};
use crate::support::throng::{Outcome, errors_of, sum_of};
use crate::support::{skip, wait_until};

const WITHIN: Duration = Duration::from_secs(40);
/// A hundred messages to rooms of ten.
const ROOMS_OF_TEN: &str = "--clients 40 --room-size 10 --rate 50 --duration 2s";

/// A server of tests/servers/apps in this mode, if it can be had, with this file.
fn start(mode: &str, file: &str) -> Option<App> {
    App::on_node("apps", mode, file)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers").join(name)
}

/// The file with a part replaced, which it must have.
fn changed(file: &str, from: &str, to: &str) -> String {
    assert!(file.contains(from), "{from}");
    file.replace(from, to)
}

/// Asserts that each message reached so many others, as the server has counted, and that nothing else was said.
fn assert_delivered(app: &App, outcome: &Outcome, each: u64) {
    // A busy machine may miss the rate, and no message for that.
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert!(of("sent") > 0, "{outcome}");
    assert_eq!((of("sent"), of("received")), (app.counted("said"), app.counted("sent")), "{outcome}");
    assert_eq!((of("received"), of("expected")), (each * of("sent"), each * of("sent")), "{outcome}");
    for wrong in ["missing", "leaked", "duplicate", "reordered", "corrupt", "unexpected", "unacknowledged"] {
        assert_eq!(of(wrong), 0, "{wrong}: {outcome}");
    }
    let step = &results["steps"][0];
    assert_eq!(step["counts"]["errors"], serde_json::json!({}), "{outcome}");
    assert_eq!(step["delivery"]["count"], of("received"), "{outcome}");
}

/// Asserts that each of five clients was refused what it subscribed to or said.
fn assert_refused(app: &App, path: &str, flags: &str) {
    let outcome = app.run("broadcast", path, &format!("{flags} --rate 10 --duration 1s --no-preflight"));
    let results = outcome.json();
    assert_eq!((errors_of(&results, "rejected_refused"), sum_of(&results, "received")), (5, 0), "{outcome}");
}

/// Asserts that every message was answered.
fn assert_answered(outcome: &Outcome) {
    let results = outcome.json();
    assert_eq!(results["steps"][0]["rtt"]["count"], sum_of(&results, "sent"), "{outcome}");
}

#[test]
fn stomp_over_either_transport() {
    let (file, others) = (example("stomp"), format!("{ROOMS_OF_TEN} --to others"));
    // Heart-beats both ways, within the run.
    let file = changed(&changed(&file, "10000,10000", "1000,1000"), "every = \"10s\"", "every = \"1s\"");
    let over_sockjs = changed(&file, "# protocol = ", "protocol = ");
    let over_sockjs = changed(&over_sockjs, "subprotocols = ", "# ");
    for (mode, file) in [("stomp", &file), ("sockjs", &over_sockjs)] {
        let Some(app) = start(mode, file) else { return };
        assert_delivered(&app, &app.run("broadcast", "/ws", &others), 9);
    }
}

#[test]
fn stomp_receipts_acknowledge() {
    let file = changed(&example("stomp"), "# ack = ", "ack = ");
    let file = changed(&file, "SEND\\n", "SEND\\nreceipt:{id}\\n");
    let Some(app) = start("stomp", &file) else { return };
    let outcome = app.run("broadcast", "/ws", &format!("{ROOMS_OF_TEN} --to others"));
    assert_delivered(&app, &outcome, 9);
    assert_answered(&outcome);
}

#[test]
fn graphql_over_the_older_subprotocol() {
    let file = example("graphql-ws-legacy");
    let Some(app) = start("graphql", &file) else { return };
    let outcome = app.run("broadcast", "/graphql", ROOMS_OF_TEN);
    assert_delivered(&app, &outcome, 10);
    assert_answered(&outcome);

    for (field, another) in [("{ said(", "{ heard("), ("{ say(", "{ tell(")] {
        app.write(&changed(&file, field, another));
        assert_refused(&app, "/graphql", "--clients 5");
    }
}

const CENTRIFUGO: &str = "/connection/websocket";

/// The server on Centrifugo's library, if it can be built.
fn start_centrifugo() -> Option<App> {
    let folder = folder("centrifugo");
    App::start(&example("centrifugo"), |address| {
        let program = built_by_go(&folder, "centrifugo", ".")?;
        Ok(Process::start(Command::new(program).arg(address.to_string())))
    })
}

#[test]
fn centrifugo_publications_and_recovery() {
    let Some(app) = start_centrifugo() else { return };
    let outcome = app.run("broadcast", CENTRIFUGO, "--clients 40 --room-size 10 --rate 50 --duration 3s");
    assert_delivered(&app, &outcome, 10);
    assert_answered(&outcome);

    let flags = "--clients 20 --room-size 10 --rate 50 --duration 6s --flap 2s..3s:1s";
    let outcome = app.run("audit", CENTRIFUGO, flags);
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("lost_offline"), of("missing"), of("duplicate")), (0, 0, 0), "{outcome}");
    assert!(of("recovered") > 100 && of("recovered") == of("offline_due"), "{outcome}");

    app.write(&changed(&example("centrifugo"), "room-", "read-"));
    assert_refused(&app, CENTRIFUGO, "--clients 5 --room-size 10");
}

const SUPABASE: &str = "/realtime/v1/websocket";
const KEY: &str = "--token env:SUPABASE_KEY --token-in query:apikey";

#[test]
fn supabase_with_and_without_answers() {
    let file = example("supabase");
    let Some(app) = start("supabase", &file) else { return };
    let outcome = app.run("broadcast", SUPABASE, &format!("{ROOMS_OF_TEN} {KEY}"));
    assert_delivered(&app, &outcome, 10);
    assert_answered(&outcome);

    let silent = changed(&file, "\"self\":true,\"ack\":true", "\"self\":false,\"ack\":false");
    let silent = changed(&silent, "replied = true", "to = \"others\"");
    for version in ["1.0.0", "2.0.0"] {
        let Some(app) = start("supabase", &silent) else { return };
        let outcome = app.run("broadcast", SUPABASE, &format!("{ROOMS_OF_TEN} {KEY} --vsn {version}"));
        assert_delivered(&app, &outcome, 9);
    }
    app.write(&changed(&file, "realtime:", "room:"));
    let outcome = app.run("broadcast", SUPABASE, &format!("--clients 5 --rate 10 {KEY} --no-preflight"));
    assert_eq!(errors_of(&outcome.json(), "rejected_subscription"), 5, "{outcome}");
}

/// Asserts that each message reached so many of throng's clients beside a client that others wrote, which has
/// said something, and says `ok` once it has heard throng.
fn assert_heard_by(client: Result<Process, Unavailable>, app: &App, path: &str, flags: &str, each: u64) {
    let mut client = match client {
        Ok(client) => client,
        Err(Unavailable(why)) => return skip("a client of tests/clients", &why),
    };
    assert!(wait_until(WITHIN, || app.counted("said") > 0), "it has greeted: {}", client.into_output().1);
    let outcome = app.run("broadcast", path, flags);
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("received"), of("missing"), of("unexpected")), (each * of("sent"), 0, 0), "{outcome}");
    let status = client.wait(WITHIN);
    let (stdout, stderr) = client.into_output();
    assert!(status.is_some_and(|status| status.success()) && stdout.trim() == "ok", "{stdout}{stderr}");
}

/// A script of these scripts for the server of an app.
fn beside(scripts: Result<Scripts, Unavailable>, script: &str, app: &App) -> Result<Process, Unavailable> {
    Ok(scripts?.start(script, &[&app.address.port().to_string()]))
}

/// The server of this test is understood by the client that Supabase's users have.
#[test]
fn supabase_own_client_hears_throng() {
    let Some(app) = start("supabase", &example("supabase")) else { return };
    let client = beside(Scripts::install_in("tests/servers", "apps"), "supabase-client.js", &app);
    assert_heard_by(client, &app, SUPABASE, &format!("{ROOMS_OF_TEN} {KEY}"), 10);
}

/// Centrifugo's own client is served beside throng.
#[test]
fn centrifugo_own_client_hears_throng() {
    let Some(app) = start_centrifugo() else { return };
    let client = beside(Scripts::install("centrifuge"), "client.js", &app);
    assert_heard_by(client, &app, CENTRIFUGO, ROOMS_OF_TEN, 10);
}

/// The server of this test is understood by Pusher's client, and by its library for applications.
#[test]
fn pusher_own_clients_hear_throng() {
    let Some(app) = App::on_node("frames", "pusher", &example("pusher")) else { return };
    let client = beside(Scripts::install("pusher"), "client.js", &app);
    assert_heard_by(client, &app, "/app/app-key?protocol=7", ROOMS_OF_TEN, 9);
}

/// The hub, which wants a negotiation, is understood by SignalR's client.
#[test]
fn signalr_own_client_hears_throng() {
    let Some(app) = App::on_node("frames", "negotiated", &negotiated_hub()) else { return };
    let client = beside(Scripts::install_in("tests/servers", "binary"), "signalr-client.js", &app);
    assert_heard_by(client, &app, "", "--clients 20 --rate 50 --duration 2s", 20);
}

/// The chat of gorilla/websocket's examples: what its write pump finds queued goes as one frame, line by line.
#[test]
fn lines_of_gorilla_chat_are_counted() {
    let folder = folder("gorilla");
    let app = App::start("[broadcast]\nsend = '{\"text\":\"{id}\"}'\n", |address| {
        let program = built_by_go(&folder, "chat", "github.com/gorilla/websocket/examples/chat")?;
        Ok(Process::start(Command::new(program).args(["-addr", &address.to_string()])))
    });
    let Some(app) = app else { return };
    // Twenty at a time: a pump that writes the first finds others queued behind it.
    let outcome = app.run("broadcast", "/ws", "--clients 20 -c 20 -s 500");
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("received"), of("missing")), (500, 10_000, 0), "{outcome}");
    assert!(of("batched") > 0, "{outcome}");
    assert_eq!(results["steps"][0]["delivery"]["count"], of("received"), "{outcome}");
}

/// Twenty moves a second of each player.
#[test]
fn a_game_without_answers() {
    let file = changed(&example("game"), "every = \"100ms\"", "every = \"50ms\"");
    let Some(app) = start("game", &file) else { return };
    let outcome = app.run("run", "/", "--clients 200 --duration 1s");
    assert_delivered(&app, &outcome, 7);
    assert_eq!(sum_of(&outcome.json(), "sent"), 4_000, "{outcome}");
}

/// Twice the players say twice as much: nobody has to say how many there are.
#[test]
fn player_searches_keep_moves_per_player() {
    let Some(app) = start("game", &example("game")) else { return };
    let flags = "--search --initial-clients 8 --max-clients 16 --step-size 8 --duration 1s";
    let outcome = app.run("run", "/", flags);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let results = outcome.json();
    assert_eq!(results["verdict"]["capacity"]["low"], 16, "{outcome}");
    for step in results["steps"].as_array().unwrap() {
        let players = step["clients"].as_f64().unwrap();
        assert_eq!(step["rates"]["asked_per_s"], 10.0 * players, "{outcome}");
    }
    let each = app.run("broadcast", "/", "--clients 16 --interval 200ms --duration 1s");
    assert_eq!(each.json()["steps"][0]["rates"]["asked_per_s"], 80.0, "{each}");
}

#[test]
fn ocpp_heartbeats_are_answered() {
    let folder = folder("ocpp");
    let app = App::start(&example("ocpp"), |address| {
        let mut server = Command::new(python_of(&folder)?);
        server.args(["-B", "server.py", &address.port().to_string()]).current_dir(&folder);
        Ok(Process::start(&mut server))
    });
    let Some(app) = app else { return };
    let outcome = app.run("echo", "", "--clients 20 --rate 100 --duration 2s");
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!(
        (of("sent"), of("received"), of("connected")),
        (200, app.counted("heartbeats"), 20),
        "{outcome}"
    );
    assert_eq!((of("received"), of("missing"), of("unexpected")), (200, 0, 0), "{outcome}");
    assert_eq!(results["steps"][0]["counts"]["errors"], serde_json::json!({}), "{outcome}");
    assert_eq!(app.counted("triggered"), app.counted("booted"), "each answered the server's call: {outcome}");
}

#[test]
fn live_views_are_joined_by_their_page() {
    let file = example("liveview");
    let Some(app) = start("liveview", &file) else { return };
    let outcome = app.run("echo", "/", "--clients 30 --rate 60 --duration 2s");
    outcome.assert_held();
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("connected"), of("sent"), of("received")), (30, 120, 120), "{outcome}");
    assert_answered(&outcome);
    assert!(app.counted("said") >= 120, "those of the preflight besides: {outcome}");

    app.write(&changed(&file, "html:data-phx-session", "html:csrf-token"));
    let outcome = app.run("echo", "/", "--clients 5 --rate 10 --duration 1s --no-preflight");
    assert_eq!(errors_of(&outcome.json(), "rejected_subscription"), 5, "the session is another's: {outcome}");

    app.write(&changed(&file, "html:data-phx-session", "html:data-session"));
    let outcome = app.run("echo", "/", "--clients 5 --rate 10 --duration 1s --no-preflight");
    assert_eq!(errors_of(&outcome.json(), "login_no_match"), 5, "the page has no such thing: {outcome}");
}
