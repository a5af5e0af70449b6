//! Servers that put several messages into one frame, or several rooms onto one connection: throng counts what they
//! count themselves.

use crate::support::app::{App, example, negotiated_hub};
use crate::support::throng::{Outcome, errors_of, sum_of};

/// The server of tests/servers/frames in this mode, if it can be had, with this file.
pub(crate) fn start(mode: &str, file: &str) -> Option<App> {
    App::on_node("frames", mode, file)
}

/// Asserts that every copy that the server sent was received, and some of them behind another in their frame.
fn assert_all_came(app: &App, outcome: &Outcome, people: u64) {
    // A busy machine may miss the rate, and no message for that.
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("received")), (app.counted("said"), app.counted("sent")), "{outcome}");
    assert_eq!(of("received"), people * of("sent"), "{outcome}");
    for wrong in ["missing", "duplicate", "reordered", "corrupt", "unexpected"] {
        assert_eq!(of(wrong), 0, "{wrong}: {outcome}");
    }
    assert!(of("batched") > of("received") / 10, "{outcome}");
    assert_eq!(results["steps"][0]["delivery"]["count"], of("received"), "{outcome}");
}

#[test]
fn lists_in_fields_are_many_copies() {
    let file = "[broadcast]\nsend = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/type\" = \"updates\" } }\n";
    let Some(app) = start("batch", file) else { return };
    assert_all_came(&app, &app.run("broadcast", "/", "--clients 50 --rate 500 --duration 2s"), 50);
}

#[test]
fn records_of_a_hub_are_as_many_copies() {
    let file = example("signalr");
    // Every id counts without the separator, too; but then nothing tells one record from another.
    for file in [file.clone(), file.replace("frames =", "# ")] {
        let Some(app) = start("records", &file) else { return };
        assert_all_came(&app, &app.run("broadcast", "/", "--clients 20 --rate 500 --duration 2s"), 20);
    }
}

/// Each connection has a token of its own, which was negotiated for it.
#[test]
fn a_hub_wants_negotiated_tokens() {
    let Some(app) = start("negotiated", &negotiated_hub()) else { return };
    let outcome = app.run("broadcast", "", "--clients 20 --rate 100 -d 1s --no-preflight");
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("connected"), app.counted("signed")), (20, 20), "{outcome}");
    assert_eq!((of("received"), of("missing")), (20 * of("sent"), 0), "{outcome}");
    app.write(&example("signalr"));
    let outcome = app.run("broadcast", "/chat", "--clients 5 --rate 10 -d 1s --no-preflight");
    assert_eq!((errors_of(&outcome.json(), "http_status"), app.counted("signed")), (5, 20), "{outcome}");
}

#[test]
fn arrays_are_many_copies_over_either_transport() {
    let file = "protocol = \"socketio\"\n[broadcast]\nevent = \"say\"\nsend = '\"{id}\"'\ncopy = { event = \"lines\" }\n\
                replied = true\n";
    for transport in ["websocket", "polling"] {
        let Some(app) = start("event", file) else { return };
        let limit = "--limit messages_per_frame>=5 --limit messages_per_frame<100";
        let flags = format!("--clients 20 --rate 200 --duration 2s --transport {transport} {limit}");
        let outcome = app.run("broadcast", "/socket.io/", &flags);
        assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
        let results = outcome.json();
        let [sent, received, missing] = ["sent", "received", "missing"].map(|name| sum_of(&results, name));
        assert_eq!((sent, received, missing), (400, app.counted("sent"), 0), "{transport}: {outcome}");
        assert!(sum_of(&results, "batched") > received / 2, "{transport}: {outcome}");
    }
}

/// An app whose namespaces do not hear each other.
const NAMESPACES: &str = r#"
protocol = "socketio"
[room.chat]
count = 1
join = { namespace = "/chat", params = '{"key":"c"}' }
[room.news]
count = 1
join = { namespace = "/news", params = '{"key":"n"}' }
[say.line]
room = "chat"
event = "say"
body = '"{id}"'
copy = { regex = '"/chat ' }
replied = true
[say.headline]
room = "news"
event = "say"
body = '"{id}"'
copy = { regex = '"/news ' }
replied = true
"#;

#[test]
fn several_namespaces_go_over_one_connection() {
    for transport in ["websocket", "polling", "upgrade"] {
        let Some(app) = start("namespaces", NAMESPACES) else { return };
        let flags = format!("--clients 10 --rate 100 --duration 2s --transport {transport}");
        let outcome = app.run("run", "/socket.io/", &flags);
        assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
        let results = outcome.json();
        let of = |name| sum_of(&results, name);
        assert_eq!((of("sent"), of("received")), (app.counted("said"), app.counted("sent")), "{outcome}");
        assert_eq!((of("received"), of("missing"), of("unexpected")), (10 * of("sent"), 0, 0), "{outcome}");
        let says = results["steps"][0]["says"].as_array().expect("two kinds");
        assert!(says.iter().all(|say| say["counts"]["sent"].as_u64() > Some(0)), "{outcome}");
    }
    let Some(app) = start("namespaces", &NAMESPACES.replace(r#""key":"n""#, r#""key":"x""#)) else { return };
    let outcome = app.run("run", "/socket.io/", "--clients 2 --rate 10 --duration 1s --no-preflight");
    assert_eq!(errors_of(&outcome.json(), "rejected_namespace"), 2, "{outcome}");
}

#[test]
fn heartbeats_go_to_the_room_that_is_named() {
    let typing =
        "[[heartbeat]]\nroom = \"news\"\nevery = \"100ms\"\nevent = \"typing\"\nsend = '\"{room}\"'\n";
    let Some(app) = start("namespaces", &format!("{NAMESPACES}{typing}")) else { return };
    let outcome = app.run("run", "/socket.io/", "--clients 5 --rate 10 --duration 1s --no-preflight");
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let [chat, news] = ["typedInChat", "typedInNews"].map(|room| app.counted(room));
    assert!(chat == 0 && (5..200).contains(&news), "{chat} and {news}: {outcome}");
    app.write(&format!("{NAMESPACES}{}", typing.replace("room = \"news\"\n", "")));
    let outcome = app.run("run", "/socket.io/", "--clients 5 --no-preflight");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("`room`"), "{outcome}");
}
