//! People come to rooms and go from them, over the protocols that have rooms: what is due follows from who
//! was there, and what comes to somebody who has left has leaked. The reference server knows nothing of
//! visits: it lets in and out whoever asks.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::cases::check_all;
use crate::support::hostile::HostileServer;
use crate::support::throng::{Outcome, Server, run, sum_of, throng};
use crate::support::{in_time, timed};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(90);
const VISIT: &str = r#"["join hall", "wait 1500ms..2s", "leave hall", "wait 200ms..400ms"]"#;

/// Everybody has a room of their own, where notes come, and visits one of ten, where lines are said.
fn app(protocol: &str, people: &str, [own, hall]: [&str; 2], says: &str) -> String {
    let note = says.replace("ROOM", "own-{room}");
    let line = says.replace("ROOM", "hall-{room}");
    format!(
        "protocol = \"{protocol}\"\n{people}\n[room.own]\nsize = 1\n{own}\n[room.hall]\nsize = 10\n{hall}\n\
         [say.note]\nroom = \"own\"\nshare = \"20%\"\n{note}\n[say.line]\nroom = \"hall\"\nshare = \"80%\"\n{line}\n"
    )
}

fn everybody() -> String {
    format!("[people]\nvisit = {VISIT}\n")
}

/// Rooms that are joined and left by messages of this form.
fn by_messages(form: fn(&str, &str) -> String) -> [String; 2] {
    ["own", "hall"].map(|name| {
        let leave = if name == "hall" { format!("\nleave = {}", form("leave", name)) } else { String::new() };
        format!("join = {}{leave}", form("join", name))
    })
}

fn plain(protocol: &str, people: &str) -> String {
    let form = |verb: &str, name: &str| {
        let done = if verb == "join" { "joined" } else { "left" };
        format!(
            r#"{{ send = '{{"type":"{verb}","room":"{name}-{{room}}"}}', expect = {{ json = {{ "/type" = "{done}" }} }} }}"#
        )
    };
    let [own, hall] = by_messages(form);
    let says = "body = '{\"type\":\"broadcast\",\"room\":\"ROOM\",\"payload\":\"{id}\"}'\n\
                copy = { json = { \"/type\" = \"broadcast\" } }\nack = { json = { \"/type\" = \"broadcastResult\" } }";
    app(protocol, people, [&own, &hall], says)
}

fn phoenix(people: &str) -> String {
    let [own, hall] = ["own", "hall"].map(|name| format!("join = {{ topic = \"room:{name}-{{room}}\" }}"));
    app(
        "phoenix",
        people,
        [&own, &hall],
        "event = \"broadcast\"\nbody = '{\"text\":\"{id}\"}'\nreplied = true",
    )
}

fn actioncable(people: &str, class: &str) -> String {
    let join = |class: &str, name: &str| {
        format!("join = {{ channel = \"{class}\", params = '{{\"{name}\":{{room}}}}' }}")
    };
    let says = "event = \"broadcast\"\nbody = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/action\" = \"broadcast\" } }\n\
                ack = { json = { \"/action\" = \"broadcastResult\" } }";
    app("actioncable", people, [&join("BenchmarkChannel", "own"), &join(class, "hall")], says)
}

fn socketio(people: &str) -> String {
    let [own, hall] = by_messages(|verb, name| {
        format!("{{ event = \"{verb}\", send = '\"{name}-{{room}}\"', replied = true }}")
    });
    let says = "event = \"broadcast\"\nbody = '{\"room\":\"ROOM\",\"text\":\"{id}\"}'\ncopy = { event = \"broadcast\" }\nreplied = true";
    app("socketio", people, [&own, &hall], says)
}

fn run_app(server: SocketAddr, place: &str, app: &str, more: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, app).unwrap();
    let url = format!("ws://{server}{place}");
    let mut command = throng(["broadcast", &url, "--format", "json", "--quiet", "--clients", "30"]);
    command.arg("--app").arg(&file);
    if !more.contains(&"--concurrent") {
        command.args(["--rate", "100"]);
    }
    run(command.args(["--duration", "5s"]).args(more), RUN_MAX)
}

fn counts(results: &Value) -> [u64; 6] {
    ["missing", "leaked", "unexpected", "duplicate", "join_failures", "in_flight"]
        .map(|name| sum_of(results, name))
}

#[test]
fn dues_follow_from_attendance() {
    let all = everybody();
    let cases = [
        ("/ws", plain("plain", &all), &[][..]),
        ("/ws", plain("plain", &all), &["--threads", "3", "--concurrent", "4"]),
        ("/socket/websocket", phoenix(&all), &["--processes", "2", "--threads", "1"]),
        ("/socket/websocket", phoenix(&all), &["--vsn", "1.0.0"]),
        ("/cable", actioncable(&all, "BenchmarkChannel"), &[]),
        ("/socket.io/", socketio(&all), &["--threads", "2"]),
        ("/socket.io/", socketio(&all), &["--transport", "polling"]),
    ];
    let name = |(place, _, more): &(&str, String, &[&str])| format!("{place} {more:?}");
    check_all(&cases, name, |(place, app, more)| {
        let server = Server::start(&[]);
        let outcome = run_app(server.address, place, app, more);
        outcome.assert_held();
        let results = outcome.json();
        assert_eq!(counts(&results), [0; 6], "{outcome}");
        let of = |name| sum_of(&results, name);
        assert_eq!(of("expected"), of("received"), "{outcome}");
        // Of four fifths of the messages, about eight of ten have each: those who are there.
        let certain = of("received") - of("in_passing");
        assert!(certain > of("sent") && of("received") < 8 * of("sent"), "{outcome}");
        let step = &results["steps"][0];
        let figure = |name: &str| step[name]["count"].as_u64().unwrap_or(0);
        assert!(of("visits") > 60 && figure("join") == of("visits"), "{outcome}");
        // Action Cable confirms no departure.
        assert_eq!(figure("leave") > 30, !app.contains("actioncable"), "{outcome}");
    });
}

#[test]
fn messages_after_leaving_are_told_apart() {
    for (place, app) in
        [("/ws", plain("plain", &everybody())), ("/cable", actioncable(&everybody(), "BenchmarkChannel"))]
    {
        let app = app.replace("wait 200ms..400ms", "wait 1500ms..2s");
        let server = Server::start(&["--fault", "linger=1%5"]);
        let outcome = run_app(server.address, place, &app, &[]);
        let [missing, leaked, unexpected, ..] = counts(&outcome.json());
        assert_eq!((missing, unexpected), (0, 0), "{outcome}");
        assert!(leaked > 0 && outcome.code == Some(3), "{outcome}");
        assert!(
            outcome.stderr.contains("leaked into other rooms") || outcome.stdout.contains("leaked"),
            "{outcome}"
        );
    }
}

/// Hosts that stay in the hall, and guests that come and go.
fn roles() -> String {
    format!(
        "[[role]]\nname = \"host\"\nshare = \"20%\"\nsays = [{{ say = \"line\", rate = \"80/s\" }}]\nrooms = [\"hall\"]\n\
         [[role]]\nname = \"guest\"\nshare = \"80%\"\nsays = [{{ say = \"note\", rate = \"20/s\" }}]\nvisit = {VISIT}\n"
    )
}

/// The app, whose messages have rates by role and no shares.
fn by_role(app: &str) -> String {
    let app = app.replace("share = \"20%\"\nbody", "body").replace("share = \"80%\"\nbody", "body");
    app.replace("share = \"20%\"\nevent", "event").replace("share = \"80%\"\nevent", "event")
}

#[test]
fn some_stay_where_others_come_and_go() {
    let roles = roles();
    let cases = [
        ("/ws", plain("plain", &roles)),
        ("/socket/websocket", phoenix(&roles)),
        ("/socket.io/", socketio(&roles)),
    ];
    let name = |(place, _): &(&str, String)| (*place).to_owned();
    check_all(&cases, name, |(place, app)| {
        let server = Server::start(&[]);
        let outcome = run_app(server.address, place, &by_role(app), &[]);
        outcome.assert_held();
        let results = outcome.json();
        assert_eq!(counts(&results), [0; 6], "{outcome}");
        let roles = results["steps"][0]["roles"].as_array().unwrap();
        let of = |place: usize, name: &str| roles[place]["counts"][name].as_u64().unwrap_or(0);
        // Hosts are two of ten, and have all that is said; nobody has notes but guests.
        assert_eq!((of(0, "received"), of(0, "in_passing")), (2 * of(0, "sent"), 0), "{outcome}");
        assert!(of(1, "in_passing") > 0 && of(1, "received") == of(1, "expected"), "{outcome}");
    });
}

/// Lets clients into halls after a second, and tells each what it has said, as the only member of its rooms.
fn slow_halls(message: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(message);
    let is = |kind: &str| text.contains(&format!(r#""type":"{kind}""#));
    if is("join") {
        if text.contains("hall-") {
            thread::sleep(Duration::from_secs(1));
        }
        return vec![br#"{"type":"joined"}"#.to_vec()];
    }
    if is("leave") {
        return vec![br#"{"type":"left"}"#.to_vec()];
    }
    vec![message.to_vec(), text.replace("broadcast", "broadcastResult").into_bytes()]
}

#[test]
fn loads_begin_when_clients_are_in_rooms() {
    let app = by_role(&plain("plain", &roles())).replace("size = 10", "size = 1");
    let server = HostileServer::start(|p| p.upgrade().answer_all(slow_halls));
    timed(|| {
        let outcome = run_app(server.address, "/", &app, &[]);
        let results = outcome.json();
        assert!(sum_of(&results, "sent") > 0, "{outcome}");
        // Nobody speaks who is not in the room: hosts would be behind their schedule by that second.
        let lag_ms = results["steps"][0]["send_lag"]["max_ms"].as_f64().unwrap();
        in_time(lag_ms < 500.0, || format!("{lag_ms} ms: {outcome}"))
    });
}

/// The same app, whose people say who they are as they join.
fn announced(app: &str) -> String {
    let plain = app.replace(
        r#""room":"hall-{room}"}', expect = { json = { "/type" = "joined" }"#,
        r#""room":"hall-{room}","payload":"{id}"}', expect = { json = { "/type" = "joined" }"#,
    );
    plain.replace(
        r#"join = { topic = "room:hall-{room}" }"#,
        r#"join = { topic = "room:hall-{room}", params = '{"presence":{"id":"{id}"}}' }"#,
    )
}

#[test]
fn the_others_hear_of_who_comes() {
    let presence = |results: &Value| ["seen_due", "seen", "unseen"].map(|name| sum_of(results, name));
    for (place, app, more) in [
        ("/ws", plain("plain", &everybody()), &["--threads", "3"][..]),
        ("/socket/websocket", phoenix(&everybody()), &["--processes", "2", "--threads", "1"]),
        ("/socket/websocket", phoenix(&everybody()), &["--vsn", "1.0.0"]),
    ] {
        let (server, said) = (Server::start(&[]), announced(&app));
        assert_ne!(said, app);
        let results = {
            let outcome = run_app(server.address, place, &said, more);
            assert_eq!(outcome.code, Some(0), "{said}\n{more:?}: {outcome}");
            outcome.json()
        };
        assert_eq!(counts(&results), [0; 6], "{more:?}: {results:#}");
        let [due, seen, unseen] = presence(&results);
        // About eight are there, half of whom are soon to leave.
        assert!(due > sum_of(&results, "visits") && (seen, unseen) == (due, 0), "{more:?}: {results:#}");
        let heard = results["steps"][0]["presence"]["count"].as_u64().unwrap();
        assert!((seen + 1..4 * seen).contains(&heard), "those who left soon after, too: {results:#}");
    }
    // What does not come is told apart from the messages that do not.
    let server = Server::start(&["--fault", "drop=5%20"]);
    let outcome = run_app(server.address, "/ws", &announced(&plain("plain", &everybody())), &[]);
    let [due, seen, unseen] = presence(&outcome.json());
    assert!(seen + unseen == due && unseen > due / 50 && unseen < due / 10, "{outcome}");
    assert!(
        outcome.code == Some(3) && outcome.stderr.contains("newcomers")
            || outcome.stdout.contains("newcomers"),
        "{outcome}"
    );
}

#[test]
fn refused_visitors_break_the_run() {
    let server = Server::start(&[]);
    let app = actioncable(&everybody(), "NoSuchChannel").replace("room = \"hall\"", "room = \"own\"");
    let outcome = run_app(server.address, "/cable", &app, &[]);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    // Each waits for an answer until the end.
    assert!(of("join_failures") == 30 && of("visits") == 0 && of("leaked") == 0, "{outcome}");
    assert_eq!(
        results["steps"][0]["counts"]["errors"]["join_unanswered"]["count"],
        of("join_failures"),
        "{outcome}"
    );
}

#[test]
fn visits_take_connections_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, phoenix(&everybody())).unwrap();
    let refused = |verb: &str, more: &[&str]| {
        let mut command = throng([verb, "ws://127.0.0.1:9/socket/websocket", "--clients", "2"]);
        let outcome = run(command.arg("--app").arg(Path::new(&file)).args(more), RUN_MAX);
        assert_eq!(outcome.code, Some(2), "{outcome}");
        outcome.stderr
    };
    for flag in [["--churn", "20%/s"], ["--flap", "10s..20s"]] {
        let said = refused("broadcast", &flag);
        assert!(said.contains(flag[0]) && said.contains("connections that stay"), "{said}");
    }
}
