//! Servers that put several messages into one frame, a history among them, and servers that answer nobody:
//! throng counts what they count themselves.

use crate::support::app::{App, example, negotiated_hub};
use crate::support::throng::{Outcome, errors_of, sum_of};

/// A server in this mode, if it can be had, with this file.
fn start(mode: &str, file: &str) -> Option<App> {
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

const MOVES: &str = r#"
[broadcast]
to = "others"
send = '{"move":"{id}","x":{seq}}'
"#;

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
    // The 25th is alone in its room.
    assert!(8 <= low && low <= high && high <= 26, "{outcome}");
}

#[test]
fn answers_that_cannot_come_are_refused_early() {
    let Some(app) = start("others", MOVES) else { return };
    for flags in ["--clients 8", "--clients 8 --rate 10 --limit rtt.p95<=1s"] {
        let outcome = app.run("broadcast", "/?room={room}", flags);
        assert_eq!((outcome.code, app.counted("said")), (Some(2), 0), "{outcome}");
    }
}

#[test]
fn channels_are_signed_with_earlier_values() {
    let Some(app) = start("pusher", &example("pusher")) else { return };
    let path = "/app/app-key?protocol=7";
    let outcome = app.run("broadcast", path, "--clients 30 --room-size 10 --rate 100 --duration 2s");
    outcome.assert_held();
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert!(app.counted("signed") >= 30, "{outcome}");
    assert_eq!((of("sent"), of("received")), (app.counted("said"), app.counted("sent")), "{outcome}");
    assert_eq!((of("received"), of("missing")), (9 * of("sent"), 0), "{outcome}");
}

/// The application's own requests are signed, with the digest of their bodies.
#[test]
fn triggered_events_are_signed() {
    let example = example("pusher");
    let (before, rest) = example.split_once("[broadcast]\n").unwrap();
    let (_, offered) = rest.split_once("# [publish]\n").expect("it is offered");
    let keys = ["post", "body", "copy"];
    let offered = keys
        .iter()
        .fold(offered.to_owned(), |all, key| all.replace(&format!("# {key} ="), &format!("{key} =")));
    let file = format!("{before}[publish]\n{offered}");
    let flags = "--clients 20 --room-size 10 --rate 50 -d 2s --no-preflight";
    let Some(app) = start("pusher", &file) else { return };
    let outcome = app.run("broadcast", "/app/app-key", flags);
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("unacknowledged"), app.counted("said")), (100, 0, 100), "{outcome}");
    assert_eq!((of("received"), of("missing")), (app.counted("sent"), 0), "{outcome}");
    app.write(&file.replace("env:PUSHER_SECRET:POST", "other:POST"));
    let outcome = app.run("broadcast", "/app/app-key", "--clients 2 --rate 5 -d 1s --no-preflight");
    assert_eq!(errors_of(&outcome.json(), "publish_http_4xx"), 5, "{outcome}");
}

#[test]
fn wrong_signatures_and_missing_values_are_named() {
    let (good, flags) = (example("pusher"), "--clients 5 --rate 10 --duration 1s --no-preflight");
    for (file, kind, cause, names_line) in [
        (good.replace("env:PUSHER_SECRET", "another"), "rejected_pusher", "server.took_none", false),
        (good.replace("socket_id\\\\", "socket_no\\\\"), "not_kept_socket_id", "unknown.not_kept", true),
    ] {
        assert_ne!(file, good);
        let Some(app) = start("pusher", &file) else { return };
        let outcome = app.run("broadcast", "/app/app-key", flags);
        let results = outcome.json();
        assert_eq!((errors_of(&results, kind), sum_of(&results, "connected")), (5, 0), "{kind}: {outcome}");
        let step = &results["steps"][0];
        assert_eq!(step["cause"]["key"], cause, "{outcome}");
        let example = step["counts"]["errors"][kind]["example"].as_str().unwrap();
        assert_eq!(example.contains("app.toml:5"), names_line, "{outcome}");
    }
}

/// A token that each answer renews, where answers are known by their ids or by numbers.
#[test]
fn answers_renew_the_token_of_the_next_message() {
    let file = |text: &str, reply: &str| {
        format!(
            "open = [{{ expect = {{ json = {{ \"/type\" = \"hello\" }} }}, keep = {{ nonce = \"json:/nonce\" }} }}]\n\
             [echo]\nsend = '{{\"nonce\":\"{{nonce}}\",{text}}}'\nreply = {{ json = {reply} }}\n\
             keep = {{ nonce = \"json:/nonce\" }}\n[[error]]\nkind = \"nonce\"\nwhen = {{ contains = \"stale\" }}\n"
        )
    };
    for (text, reply) in [
        (r#""text":"{id}""#, r#"{ "/type" = "answer" }"#),
        (r#""seq":{seq}"#, r#"{ "/type" = "ok", "/seq" = "{seq}" }"#),
    ] {
        let Some(app) = start("nonces", &file(text, reply)) else { return };
        let outcome = app.run("echo", "/", "--clients 5 --sample-size 100 --no-preflight");
        let results = outcome.json();
        assert_eq!(errors_of(&results, "rejected_nonce"), 0, "{outcome}");
        assert!(sum_of(&results, "received") >= 100 && app.counted("said") >= 100, "{outcome}");
    }
}

#[test]
fn an_answer_is_known_by_its_number() {
    let Some(app) = start("rpc", &example("jsonrpc")) else { return };
    let outcome = app.run("echo", "/", "--clients 20 --rate 200 --duration 2s");
    outcome.assert_held();
    let results = outcome.json();
    let [sent, received] = ["sent", "received"].map(|name| sum_of(&results, name));
    assert_eq!((sent, received), (400, 400), "{outcome}");
    assert_eq!(results["steps"][0]["rtt"]["count"], 400, "{outcome}");

    app.write(&example("jsonrpc").replace("\"echo\"", "\"shout\""));
    let outcome = app.run("echo", "/", "--clients 5 --rate 10 --duration 1s --no-preflight");
    assert_eq!(errors_of(&outcome.json(), "rejected_call"), 5, "an error is no answer: {outcome}");
}

/// A server that answers every third call with an error, which has the number of its call as well.
#[test]
fn a_refusal_with_a_number_is_no_answer() {
    let file = format!(
        "{}\n[[error]]\nkind = \"call\"\nwhen = {{ regex = '\"error\":' }}\n",
        "[echo]\n\
        send = '{\"jsonrpc\":\"2.0\",\"id\":{seq},\"method\":\"echo\"}'\nreply = { json = { \"/id\" = \"{seq}\" } }"
    );
    let Some(app) = start("refuses", &file) else { return };
    let outcome =
        app.run("echo", "/", "--clients 3 --rate 60 --duration 1s --drain-timeout 5s --no-preflight");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let refused = errors_of(&results, "rejected_call");
    // Whoever is refused says no more, but for what was under way.
    let answered = app.counted("said") - app.counted("replayed");
    assert!(refused == 3 && app.counted("replayed") >= 3, "{outcome}");
    // An answer may be under way to a client that is refused.
    let received = sum_of(&results, "received");
    assert!((received..=received + refused).contains(&answered), "{answered} answered: {outcome}");
}

#[test]
fn answers_are_known_by_uuid_alone() {
    let file = "[echo]\nsend = '[2,\"{id:uuid}\",\"Heartbeat\",{}]'\n\
                reply = { json = { \"/0\" = 3, \"/1\" = \"{id:uuid}\" } }\n";
    let Some(app) = start("calls", file) else { return };
    for sent_in_all in [400, 800] {
        let outcome = app.run("echo", "/", "--clients 20 --rate 200 --duration 2s");
        outcome.assert_held();
        let results = outcome.json();
        let [sent, received] = ["sent", "received"].map(|name| sum_of(&results, name));
        assert_eq!((sent, received), (400, 400), "{outcome}");
        assert!(results["steps"][0].get("errors").is_none(), "{outcome}");
        assert!(app.counted("said") >= sent_in_all, "and those of the warm-up and the checks: {outcome}");
    }
}

#[test]
fn pushes_of_other_clocks_are_told() {
    let Some(app) = start("ahead", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 5 --connect-rate 200 -d 1s --no-preflight");
    let step = &outcome.json()["steps"][0];
    let pushed = &step["counts"]["pushed"];
    assert!(step.get("push_age").is_none() && step["push_ahead"]["count"] == *pushed, "{outcome}");
    let marks = step["caveats"].as_array().expect("a caveat");
    let clock = marks.iter().find(|mark| mark["key"] == "caveat.push_clock").expect("the clocks differ");
    assert_eq!((&clock["ahead"], &clock["of"]), (pushed, pushed), "{outcome}");
    let lead_ms = clock["lead_ms"].as_f64().expect("a lead");
    assert!((1_000.0..5_001.0).contains(&lead_ms), "{outcome}");
}

#[test]
fn pushes_are_counted_with_gaps_and_age() {
    let Some(app) = start("ticks", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 20 --connect-rate 200 -d 2s --no-preflight");
    outcome.assert_held();
    let results = outcome.json();
    let (pushed, step) = (sum_of(&results, "pushed"), &results["steps"][0]);
    // 50 a second to each of 20, unless the server has no CPU.
    assert!((500..=2_100).contains(&pushed) && pushed <= app.counted("sent"), "{pushed}: {outcome}");
    assert_eq!(errors_of(&results, "unrecognised") + errors_of(&results, "push_lacks"), 0, "{outcome}");
    let gap_ms = step["push_gap"]["p50_ms"].as_f64().unwrap();
    assert!((10.0..100.0).contains(&gap_ms), "{outcome}");
    assert_eq!(step["push_age"]["count"], pushed, "each says when: {outcome}");
    assert!(step["push_age"]["p50_ms"].as_f64().unwrap() < 1_000.0, "it is not old: {outcome}");
}

#[test]
fn numbers_that_a_server_leaves_out_are_lost() {
    let Some(app) = start("holes", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 10 --connect-rate 200 -d 2s --no-preflight");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let (pushed, skipped) = (sum_of(&results, "pushed"), sum_of(&results, "push_skipped"));
    assert!(skipped.abs_diff(pushed / 9) <= 20, "one of ten, to within two at each client: {outcome}");
    assert_eq!(results["steps"][0]["losses"][0]["key"], "loss.pushes", "{outcome}");
    assert_eq!(results["steps"][0]["cause"]["key"], "server.left_out", "{outcome}");
    let allowed = app.run(
        "idle",
        "/",
        "--clients 5 -d 1s --no-preflight --limit push_skipped<20% --limit push_gap.max<60s",
    );
    assert_eq!(allowed.code, Some(0), "{allowed}");
}

const PRICES: &str = r#"
open = [{ send = '{"client":{client}}' }]
[push.price]
when = { json = { "/type" = "price" } }
number = "json:/seq"
same = "json:/price"
"#;

/// One of twenty is told another price now and then: it is found wherever its neighbours are, in this thread,
/// in others and in other processes.
#[test]
fn differing_push_is_named() {
    for threads in ["--threads 1", "--threads 4", "--threads 4 --processes 2"] {
        let Some(app) = start("prices-differ", PRICES) else { return };
        let flags = format!("--clients 20 -d 2s --no-preflight {threads}");
        let outcome = app.run("idle", "/", &flags);
        assert_eq!(outcome.code, Some(3), "{outcome}");
        let results = outcome.json();
        let of = |name| sum_of(&results, name);
        let (differing, of_server) = (of("push_differing"), app.counted("differing"));
        assert!(of("pushed") <= app.counted("sent") && of("push_compared") == of("pushed"), "{outcome}");
        // Two seconds of every fifth of fifty a second, unless the server has no CPU; it goes on outside the load.
        assert!((5..=21).contains(&differing) && differing <= of_server, "{of_server}: {outcome}");
        let step = &results["steps"][0];
        assert_eq!(errors_of(&results, "push_differs"), differing, "{outcome}");
        let example = step["counts"]["errors"]["push_differs"]["example"].as_str().unwrap();
        assert!(example.starts_with("client 13 ") && example.ends_with("19 others"), "{outcome}");
        assert_eq!(step["losses"][0]["key"], "loss.pushes_differ", "{outcome}");
        assert_eq!(step["cause"]["key"], "server.differs", "{outcome}");
    }
}

#[test]
fn agreeing_pushes_pass() {
    for threads in ["--threads 1", "--threads 4"] {
        let Some(app) = start("prices", PRICES) else { return };
        let outcome = app.run("idle", "/", &format!("--clients 20 -d 1s --no-preflight {threads}"));
        outcome.assert_held();
        let results = outcome.json();
        assert!(sum_of(&results, "pushed") > 200, "{outcome}");
        assert_eq!(
            sum_of(&results, "push_differing") + errors_of(&results, "push_uncompared"),
            0,
            "{outcome}"
        );
    }
}

#[test]
fn servers_pushing_too_rarely_are_told() {
    let Some(app) = start("ticks", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 5 -d 2s --no-preflight --limit push_gap.p50<5ms");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let cause = results["steps"][0]["cause"]["key"].as_str().unwrap();
    // Where a busy machine has the generator hear late, that is the answer.
    let is_late = results["steps"][0]["marks"].as_array().is_some_and(|marks| !marks.is_empty());
    assert!(cause == "server.says_late" || is_late && cause != "none", "{outcome}");
}

#[test]
fn misplaced_fields_are_said() {
    let Some(app) = start("ticks", &example("ticker").replace("/seq", "/number")) else { return };
    let outcome = app.run("idle", "/", "--clients 2 -d 500ms --no-preflight");
    let results = outcome.json();
    assert!(sum_of(&results, "pushed") > 0 && errors_of(&results, "push_lacks") > 0, "{outcome}");
    for (of, to, line) in [("json:/seq", "/seq", 14), ("time = ", "tiem = ", 15), ("price]", "Price]", 12)] {
        let file = example("ticker");
        assert!(file.lines().nth(line - 1).is_some_and(|text| text.contains(of)), "{of}: {line}");
        app.write(&file.replacen(of, to, 1));
        let refused = app.run("idle", "/", "--clients 2");
        assert!(
            refused.code == Some(2) && refused.stderr.contains(&format!("app.toml:{line}:")),
            "{refused}"
        );
    }
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
