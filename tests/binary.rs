//! Messages that are no text, against servers that read and write them with libraries of their own: throng
//! counts what they count.

use crate::support::app::{App, example};
use crate::support::throng::sum_of;

/// All people hear all that is said, by the server's own counts.
fn assert_all_came(mode: &str, path: &str, file: &str, flags: &str) {
    let Some(app) = App::on_node("binary", mode, file) else { return };
    let flags = format!("--clients 20 --rate 200 -d 2s --payload-padding 50 --no-preflight {flags}");
    let outcome = app.run("broadcast", path, &flags);
    // A busy machine may miss the rate, and no message for that.
    assert!(matches!(outcome.code, Some(0 | 3)), "{mode}: {outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("received")), (app.counted("said"), app.counted("sent")), "{mode}: {outcome}");
    assert_eq!((of("sent"), of("received")), (400, 400 * 20), "{mode}: {outcome}");
    assert_eq!((of("missing"), of("corrupt"), of("unexpected")), (0, 0, 0), "{mode}: {outcome}");
}

const MSGPACK: &str = r#"
frames = "msgpack"
open = [
  { expect = { json = { "/hello/type" = -1 } }, keep = { key = "json:/key" } },
  { send = '{"join":{"key":"{key}","empty":null,"list":[1,-300]}}' },
  { expect = { json = { "/joined" = true } } },
]
[broadcast]
send = '{"say":{"text":"{id} {padding}","n":{seq},"half":0.5}}'
copy = { contains = '"said"' }
[[ignore]]
when = { contains = '"note"' }
"#;

#[test]
fn json_of_the_file_goes_as_messagepack() {
    assert_all_came("msgpack", "/", MSGPACK, "");
}

const PROTOBUF: &str = r#"
frames = "binary"
[broadcast]
send = '{hex:12}{delimited:{hex:0a}{delimited:{id} {padding}}{hex:10 ac02}}'
"#;

#[test]
fn bytes_of_the_file_are_protobuf() {
    assert_all_came("protobuf", "/", PROTOBUF, "");
}

/// A message that its invoker alone gets an answer to.
const LENGTH: &str = r#"
[echo]
send = '[1,{},"{seq}","Length",["{padding}"],[]]'
reply = { json = { "/0" = 3, "/2" = "{seq}" } }
"#;

#[test]
fn a_hub_of_signalr_speaks_its_binary_protocol() {
    let file = example("signalr-msgpack");
    assert_all_came("signalr", "/", &file, "");
    let Some(app) = App::on_node("binary", "signalr", &(file + LENGTH)) else { return };
    let outcome = app.run("echo", "/", "--clients 10 --rate 200 -d 2s --payload-padding 300 --no-preflight");
    let results = outcome.json();
    let [sent, received] = ["sent", "received"].map(|name| sum_of(&results, name));
    assert_eq!((sent, received), (app.counted("said"), sent), "{outcome}");
}

const SOCKETIO: &str = r#"
protocol = "socketio"
flags = { msgpack = true, auth = '{"token":"secret"}' }
[broadcast]
event = "say"
send = '"{id} {padding}"'
copy = { event = "said" }
replied = true
"#;

#[test]
fn socketio_speaks_with_the_parser_of_messagepack() {
    assert_all_came("socketio", "/socket.io/", SOCKETIO, "");
}
