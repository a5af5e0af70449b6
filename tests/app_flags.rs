//! Apps whose message is a name and a body: `--event NAME --body TEMPLATE`, without a file, against throng's
//! own server and the chat of Socket.IO's tutorial. (tests/rails.rs has that of Rails' guide.)

use std::process::Command;
use std::time::Duration;

use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{ANY_PACE, Outcome, Server, run, sum_of, throng};
use crate::support::{free_address, skip};

const WITHIN: Duration = Duration::from_secs(60);

/// Socket.IO's "Get started", but for its page; and what its visitors are told besides.
const TUTORIAL: &str = r#"
import { createServer } from 'node:http';
import { Server } from 'socket.io';
const server = createServer();
const io = new Server(server);
io.on('connection', (socket) => {
  io.emit('presence', io.engine.clientsCount);
  socket.on('chat message', (msg, answer) => {
    io.emit('chat message', msg);
    answer?.('ok');
  });
});
server.listen(process.env.PORT, '127.0.0.1');
"#;

fn verb(verb: &str, url: &str, arguments: &[&str]) -> Outcome {
    let mut command: Command = throng([verb, url, "--format", "json", "--quiet", "--no-store"]);
    run(command.args(ANY_PACE).args(arguments), WITHIN)
}

/// Messages sent and received, and what was wrong.
fn counts(outcome: &Outcome) -> [u64; 4] {
    outcome.assert_held();
    let results = outcome.json();
    ["sent", "received", "missing", "unexpected"].map(|name| sum_of(&results, name))
}

#[test]
fn named_protocols_take_name_and_body() {
    let server = Server::start(&[]);
    let at = |path: &str| format!("ws://{}{path}", server.address);
    let ten = ["--clients", "10", "--rate", "50", "--duration", "1s"];
    let cable = ["--protocol", "actioncable", "--action", "echo", "--body", r#"{"text":"{id}"}"#];
    let outcome = verb("echo", &at("/cable"), &[&cable[..], &ten].concat());
    assert_eq!(counts(&outcome), [50, 50, 0, 0], "{outcome}");
    assert!(outcome.stdout.contains(r#""echo/actioncable""#), "results name it: {outcome}");

    let phoenix = ["--protocol", "phoenix", "--event", "broadcast", "--ack", "result"];
    let outcome = verb("broadcast", &at("/socket/websocket"), &[&phoenix[..], &ten].concat());
    assert_eq!(counts(&outcome), [50, 500, 0, 0], "{outcome}");
    assert_eq!(outcome.json()["steps"][0]["rtt"]["count"], 50, "{outcome}");

    let plain = ["--protocol", "plain", "--body", r#"{"type":"echo","payload":"{id} {padding}"}"#];
    let outcome = verb("echo", &at("/ws"), &[&plain[..], &ten].concat());
    assert_eq!(counts(&outcome), [50, 50, 0, 0], "{outcome}");
}

#[test]
fn socketio_tutorial_chat_needs_only_the_name() {
    let scripts = match Scripts::install_in("examples", "socketio-chat") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("the chat of Socket.IO's tutorial", &why),
    };
    let address = free_address();
    let mut command = scripts.command("--input-type=module");
    command.args(["--eval", TUTORIAL]).env("PORT", address.port().to_string());
    let _process = Process::start(&mut command).listening_at(address);

    let url = format!("ws://{address}/socket.io/");
    let chat = ["--protocol", "socketio", "--event", "chat message", "--rate", "20", "--duration", "1s"];
    let outcome = verb("run", &url, &[&chat[..], &["--clients", "20"]].concat());
    assert_eq!(counts(&outcome), [20, 400, 0, 0], "{outcome}");
    let answered = ["--clients", "20", "--ack", "callback", "--payload-padding", "1KiB"];
    let outcome = verb("run", &url, &[&chat[..], &answered].concat());
    assert_eq!(counts(&outcome), [20, 400, 0, 0], "{outcome}");
    assert_eq!(outcome.json()["steps"][0]["rtt"]["count"], 20, "each was called back: {outcome}");
}

#[test]
fn mistakes_name_the_flag_and_what_to_do() {
    for (arguments, key, name) in [
        (&["run", "--event", "speak", "--protocol", "json"][..], "protocol", "plain"),
        (&["run", "--event", "speak"], "event", "--protocol actioncable"),
        (&["run", "app.toml", "ws://127.0.0.1:9/", "--event", "x"], "event", "app"),
        (&["run"], "file.missing_required_argument", "FILE"),
        (&["run", "no.toml"], "file", "no.toml: "),
        (&["broadcast", "--app", "app.toml", "--action", "x"], "app.argument_conflict", "--event"),
        (&["broadcast", "--protocol", "phoenix", "--body", "{}"], "body", "phoenix"),
        (&["broadcast", "--protocol", "phoenix", "--event", "x", "--body", "[]"], "body", "{id}"),
    ] {
        let mut command = throng([arguments[0]]);
        let outcome = run(command.args(&arguments[1..]).args(["--format", "json"]), WITHIN);
        outcome.assert_failed(2, &format!("usage.{key}"), &[name]);
    }
}
