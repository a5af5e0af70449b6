//! Accepted files, and the errors of others.

use std::fs;

use app::app_file::{Condition, Frames, JsonScalar, OpenStep, Resumed};

use super::*;

const GOOD: &str = r#"
name = "chat"
subprotocols = ["chat.v1"]
open = [
  { expect = { json = { "/type" = "welcome", "/v" = 1, "/ok" = true } } },
  { send = '{"type":"login","client":{client},"n":{seq}}' },
  { wait = "50ms" },
  { expect = { regex = "^joined", contains = "lobby" } },
]
[echo]
send = '{"id":"{id}","text":"{padding}"}'
reply = { contains = '"answer"' }
[broadcast]
send = '{"id":"{id}","at":{intended_ns}}'
own = { contains = '"own"' }
ack = { contains = '"ack"' }
[[error]]
kind = "login_failed"
when = { contains = '"denied"' }
[[answer]]
when = { contains = '"ping"' }
send = "pong"
[[ignore]]
when = { contains = '"presence"' }
[heartbeat]
every = "20s"
send = "alive"
"#;

fn parsed(text: &str) -> Result<Described, Failure> {
    parse(Path::new("chat.toml"), text, People::default(), ClientsMax::Known(1_000))
}

/// Panics unless a file is refused at that place, with a text that names this and underlines it.
fn assert_refused(text: &str, place: &str, named: &str) {
    let Err(failure) = parsed(text) else { panic!("no mistake found in:\n{text}") };
    assert_eq!(failure.key(), "usage.file", "{failure}");
    assert!(failure.flag().is_some_and(|at| at.starts_with(place)), "{place}\n{failure}");
    let said = failure.to_string();
    assert!(said.contains(named) && said.contains('^'), "{named}\n{said}");
}

/// The same of a file with one thing replaced.
fn assert_refused_with(file: &str, from: &str, to: &str, place: &str, named: &str) {
    assert!(file.contains(from), "{from}");
    assert_refused(&file.replacen(from, to, 1), place, named);
}

#[test]
fn a_file_becomes_an_app() {
    let Described { app: dialect, subprotocols, protocol, .. } = parsed(GOOD).unwrap();
    assert_eq!(protocol, DialectId::Custom);
    assert_eq!(subprotocols, ["chat.v1"]);
    assert_eq!((dialect.name.as_str(), &dialect.frames), ("chat", &Frames::Text));
    assert_eq!(dialect.open.len(), 4);
    assert_eq!(dialect.open[2], OpenStep::Wait(50_000_000));
    let OpenStep::Expect(Condition { json, .. }) = &dialect.open[0] else { panic!() };
    assert!(json.contains(&("/type".into(), JsonScalar::Text("welcome".into()))));
    assert!(json.contains(&("/v".into(), JsonScalar::Bare("1".into()))));
    assert!(json.contains(&("/ok".into(), JsonScalar::Bare("true".into()))));
    assert_eq!(dialect.errors[0].kind, "login_failed");
    assert_eq!(dialect.heartbeats[0].every_ns, 20_000_000_000);
    assert_eq!((dialect.answers.len(), dialect.ignore.len()), (1, 1));
    assert_eq!(parsed("").unwrap().app.name, "chat", "named after its file");
    for (frames, read) in [
        ("'text'", Frames::Text),
        ("'binary'", Frames::Binary),
        ("'msgpack'", Frames::MessagePack { delimited: false }),
        ("'delimited-msgpack'", Frames::MessagePack { delimited: true }),
        ("'lines'", Frames::Records("\n".into())),
        (r#"{ separator = "\u001e" }"#, Frames::Records("\u{1e}".into())),
        ("{ separator = ',{' }", Frames::Records(",{".into())),
    ] {
        assert_eq!(parsed(&format!("frames = {frames}")).unwrap().app.frames, read);
    }
}

#[test]
fn mistakes_name_file_line_and_what_was_expected() {
    for (from, to, place, named) in [
        ("name = \"chat\"", "nmae = \"chat\"", "chat.toml:2:1", "`nmae`"),
        ("reply = {", "answer = {", "chat.toml:12:1", "`event`, `send`, `reply`, `replied`"),
        ("regex = ", "regexp = ", "chat.toml:8:", "`event`, `contains`, `regex`, `json`"),
        ("name = \"chat\"", "name = 5", "chat.toml:2:8", "5"),
        ("name = \"chat\"", "name = \"a b\"", "chat.toml:2:8", "a b"),
        ("name = \"chat\"", "name = \"chat", "chat.toml:2:", ""),
        (
            "name = \"chat\"",
            "frames = \"bin\"",
            "chat.toml:2:10",
            "`text`, `binary`, `lines`, `msgpack`, `delimited-msgpack`",
        ),
        ("name = \"chat\"", "frames = { separator = \"-0\" }", "chat.toml:2:10", "\\u001e"),
        ("name = \"chat\"", "frames = \"msgpack\"", "chat.toml:", "MessagePack"),
        ("send = \"pong\"", "send = \"{hex:ff}\"", "chat.toml:22:8", "frames = \"binary\""),
        ("{ wait = \"50ms\" }", "{ send = 'x', frame = 'text' }", "chat.toml:7:", "msgpack"),
        ("name = \"chat\"", "frames = { separator = \"\" }", "chat.toml:2:10", "\\u001e"),
        ("{ wait = \"50ms\" }", "{ wait = \"fifty\" }", "chat.toml:7:12", "250ms"),
        ("{ wait = \"50ms\" }", "{ wait = \"0s\" }", "chat.toml:7:12", "0"),
        ("{ wait = \"50ms\" }", "{ }", "chat.toml:7:3", "`send`, `expect`"),
        ("{ wait = \"50ms\" }", "{ wait = \"1s\", send = \"x\" }", "chat.toml:7:3", "`send`, `expect`"),
        ("regex = \"^joined\"", "regex = \"(joined\"", "chat.toml:8:14", "(joined"),
        ("\"/type\"", "\"type\"", "chat.toml:5:14", "RFC 6901"),
        ("\"/v\" = 1", "\"/v\" = [1]", "chat.toml:5:", "true"),
        ("{ contains = '\"answer\"' }", "{ }", "chat.toml:12:9", "`contains`, `regex`, `json`"),
        ("{seq}", "{sequence}", "chat.toml:6:12", "{client}, {seq}"),
        ("{seq}", "{id}", "chat.toml:6:12", "{id}: "),
        ("{seq}", "{data.user}", "chat.toml:6:12", "--users"),
        ("\"{id}\",\"text\"", "\"1\",\"text\"", "chat.toml:11:8", "{id}"),
        ("kind = \"login_failed\"", "kind = \"Login failed\"", "chat.toml:18:8", "Login failed"),
        ("kind = \"login_failed\"\n", "", "chat.toml:17:1", "`kind`"),
        ("every = \"20s\"", "every = 20", "chat.toml:26:9", "20"),
        ("reply = { contains = '\"answer\"' }\n", "", "chat.toml:12:1", "`reply`"),
    ] {
        assert_refused_with(GOOD, from, to, place, named);
    }
}

#[test]
fn mistakes_of_flags_name_their_line_too() {
    for (from, to, place, named) in [
        ("[heartbeat]", "[connect]\nheaders = { \"a b\" = \"c\" }\n[heartbeat]", "chat.toml:26:21", "a b"),
        ("[heartbeat]", "[connect]\npath = \"/{client}\"\n[heartbeat]", "chat.toml:26:8", "{client}: "),
        ("[heartbeat]", "[connect]\nbody = \"x\"\n[heartbeat]", "chat.toml:26:8", "sse"),
        ("[broadcast]", "[flags]\nchanel = \"x\"\n[broadcast]", "chat.toml:13:1", "'--channel'"),
        ("[broadcast]", "[flags]\nhelp = true\n[broadcast]", "chat.toml:13:1", "'--help'"),
    ] {
        assert_refused_with(GOOD, from, to, place, named);
    }
    let twice = "protocol = 'sse'\n[flags]\nconnect-body = 'x'\n[connect]\nbody = 'y'\n";
    assert_refused(twice, "chat.toml:5:8", "connect-body of [flags]");
    for (table, place) in
        [("[connect]\nmethod", "chat.toml:3:10"), ("[flags]\nconnect-method", "chat.toml:2:1")]
    {
        assert_refused(&format!("protocol = 'sse'\n{table} = 'GE T'\n"), place, "POST");
    }
    assert_refused("[stream]\nmethod = 'GE T'\n", "chat.toml:2:10", "POST");
    assert_refused("[publish]\npost = \"/{seq}\"\nbody = \"{id}\"\n", "chat.toml:2:8", "{seq}: ");
    assert_refused("[publish]\npost = \"x\"\nbody = \"{id}\"\n", "chat.toml:2:8", "http://");
    let login = "[[login]]\npost = '/in'\njson = '{}'\nheaders = { Content-Type = 'text/{person.id}' }\n";
    assert_refused(login, "chat.toml:4:28", "same for all");
}

#[test]
fn functions_stand_in_opening_requests() {
    let text = "[connect]\npath = \"/?n={uuid}\"\nheaders = { A = \"{base64:{person.id}}\" }\n";
    let names = parsed(text).unwrap().people.names;
    assert!(["uuid", "base64:{person.id}"].iter().all(|name| names.get(name).is_some()));
}

#[test]
fn kept_values_must_exist_and_be_used() {
    let broadcast = "[broadcast]\nsend = '{\"id\":\"{id}\"}'\n";
    for (text, place, named) in [
        ("[resume]\nkeep = \"/n\"\nsend = '{kept}'".to_owned(), "chat.toml:2:8", "[broadcast], [say.NAME]"),
        (format!("{broadcast}[resume]\nkeep = \"n\"\nsend = '{{kept}}'"), "chat.toml:4:8", "JSON"),
        (format!("{broadcast}[resume]\nkeep = \"/n\"\nsend = 'now'"), "chat.toml:4:8", "{kept}"),
        (format!("{broadcast}[resume]\nsend = '{{kept}}'"), "chat.toml:3:1", "`keep`"),
        (
            format!("{broadcast}[resume]\nkeep = \"/n\"\n[[ignore]]\nwhen = {{ contains = \"{{kept}}\" }}"),
            "chat.toml:4:8",
            "{kept}",
        ),
        (format!("open = [{{ send = '{{kept}}' }}]\n{broadcast}"), "chat.toml:1:18", "{kept}: "),
    ] {
        assert_refused(&text, place, named);
    }
    let kept =
        format!("{broadcast}[resume]\nkeep = \"/n\"\nfirst = \"0\"\n[connect]\npath = \"/?after={{kept}}\"");
    let resume = parsed(&kept).unwrap().app.resume.unwrap();
    let first = Resumed { value: 0, from: vec!["/n".into()], first: "0".into() };
    assert_eq!((resume.keeps, resume.send), (vec![first], None));
}

#[test]
fn conditions_tell_no_rooms_apart() {
    let file = |room: &str| {
        format!(
            "[broadcast]\nsend = '[\"{{id}}\",\"{room}\"]'\ncopy = {{ json = {{ \"/1\" = \"{{room}}\" }} }}\n"
        )
    };
    let tells_apart = ["lobby", "{room}"].map(|room| parsed(&file(room)).unwrap().tells_apart);
    assert_eq!(tells_apart, [false, true]);
}

#[test]
fn logins_of_users_tell_no_rooms_apart() {
    for (path, join, expected) in [
        ("/login", "lobby", false),
        ("/login", "{room}", true),
        ("/login", "{person.id}", true),
        ("/rooms/{room}", "lobby", true),
    ] {
        let file = format!(
            "open = [{{ send = '[\"join\",\"{join}\"]' }}]\n\
             [[login]]\npost = \"{path}\"\nform = {{ name = \"{{person.id}}\" }}\n\
             [broadcast]\nsend = '[\"{{id}}\"]'\n"
        );
        assert_eq!(parsed(&file).unwrap().tells_apart, expected, "{path} {join}");
    }
}

#[test]
fn files_that_are_not_there_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.toml");
    let refused = |named: &str| {
        let failure = read(&path, People::default(), ClientsMax::Unknown).err().unwrap();
        assert_eq!(failure.key(), "usage.file");
        assert!(failure.to_string().contains(named), "{failure}");
    };
    refused("d.toml: ");
    refused("throng init");
    fs::write(&path, "data = 'users.csv'").unwrap();
    refused("users.csv: ");
    fs::write(folder.path().join("users.csv"), "user\nann\n").unwrap();
    assert_eq!(read(&path, People::default(), ClientsMax::Unknown).unwrap().people.rows.rows(), 1);
    fs::write(&path, "data = 'users.csv'\nopen = [{ send = '{data.usr}' }]").unwrap();
    refused("{client}, {seq}, {data.user}");
}

#[test]
fn scripts_of_others_are_no_app_files() {
    for (path, is_named) in [("load.js", true), ("load.toml", false)] {
        let parsed = parse(Path::new(path), "import ws", People::default(), ClientsMax::Unknown);
        let said = parsed.err().unwrap().to_string();
        assert_eq!(said.contains("throng init"), is_named, "{said}");
    }
}

const CABLE: &str = r#"
protocol = "actioncable"
flags = { channel = "ChatChannel", channel-params = '{"room":1}', subscriptions = 2 }
[broadcast]
event = "speak"
send = '{"text":"{id} {padding}"}'
copy = { json = { "/kind" = "line" } }
"#;

#[test]
fn an_app_says_what_carries_it() {
    let Described { app, protocol, flags, .. } = parsed(CABLE).unwrap();
    assert_eq!(protocol, DialectId::Actioncable);
    assert_eq!(app.broadcasts[0].send.event, "speak");
    let expected = wire::Settings::default()
        .with("channel", "ChatChannel")
        .with("channel-params", r#"{"room":1}"#)
        .with("subscriptions", 2);
    assert_eq!(flags.options().settings, expected);
    for (from, to, place, named) in [
        ("\"actioncable\"", "\"cable\"", "chat.toml:2:12", "plain, sockjs, actioncable"),
        ("\"actioncable\"", "\"json\"", "chat.toml:2:12", "plain, sockjs, actioncable"),
        ("channel =", "chanel =", "chat.toml:3:9", "--chanel"),
        ("'{\"text\":\"{id} {padding}\"}'", "'[\"{id}\"]'", "chat.toml:6:8", "JSON"),
        ("event = \"speak\"\n", "", "chat.toml:5:8", "actioncable"),
        ("\"actioncable\"", "\"plain\"", "chat.toml:5:9", "plain"),
        ("copy =", "replied = true\ncopy =", "chat.toml:7:11", "actioncable"),
        ("[broadcast]", "frames = 'text'\n[broadcast]", "chat.toml:4:10", "plain"),
    ] {
        let is_plain = to.contains("plain\"") && from.contains("cable");
        let cable = CABLE.replace("flags = {", if is_plain { "#" } else { "flags = {" });
        assert_refused_with(&cable, from, to, place, named);
    }
}

#[test]
fn phoenix_and_socketio_reply_by_themselves() {
    let phoenix = "protocol = 'phoenix'\nflags = { topic = 'room:1' }\n[echo]\nevent = 'ask'\nsend = '{\"q\":\"{id}\"}'\n\
                   [broadcast]\nevent = 'shout'\nsend = '{\"q\":\"{id}\"}'\nreplied = true\n";
    let app = parsed(phoenix).unwrap().app;
    assert!(app.broadcasts[0].is_replied && !app.echo.unwrap().is_replied);
    let socketio =
        "protocol = 'socketio'\n[echo]\nevent = 'ask'\nsend = '\"{id}\", {client}'\nreplied = true\n";
    assert!(parsed(socketio).unwrap().app.echo.unwrap().is_replied);
    assert_refused(&socketio.replace("{client}", ""), "chat.toml:4:8", "JSON");
}

fn said_by(
    event: Option<&str>,
    body: Option<&str>,
    protocol: &str,
    asks_reply: bool,
) -> Result<Described, Failure> {
    let says = SayArgs::of(event, body);
    let protocol = DialectId::of_protocol(protocol).unwrap();
    of_flags(&says.into(), protocol, Workload::Broadcast, asks_reply, People::default())
}

#[test]
fn flags_say_what_a_file_would() {
    let file = "name = 'speak'\nprotocol = 'actioncable'\n[broadcast]\nevent = 'speak'\nsend = '{\"text\":\"{id}\"}'\n";
    let file = parse(Path::new("a.toml"), file, People::default(), ClientsMax::Unknown).unwrap();
    let flags = said_by(Some("speak"), Some(r#"{"text":"{id}"}"#), "actioncable", false).unwrap();
    assert_eq!(format!("{:?}", flags.app), format!("{:?}", file.app));
}

#[test]
fn bodies_default_to_the_protocols_guide() {
    let body =
        |protocol| said_by(Some("x"), None, protocol, false).unwrap().app.broadcasts[0].send.body.sample();
    assert!(body("socketio").starts_with(b"\""));
    assert!(body("phoenix").starts_with(br#"{"body":""#));
    assert!(said_by(Some("x"), None, "socketio", true).unwrap().app.broadcasts[0].is_replied);
}

#[test]
fn mistakes_are_laid_to_the_flags() {
    for (event, body, protocol, asks_reply, key, named) in [
        (Some("x"), Some("[{id}]"), "actioncable", false, "usage.body", "JSON"),
        (Some("x"), Some("{}"), "actioncable", false, "usage.body", "{id}"),
        (Some("x"), None, "actioncable", true, "usage.ack", "actioncable"),
        (Some("x"), None, "plain", false, "usage.event", "plain"),
        (Some("x"), Some("{id}"), "plain", false, "usage.event", "plain"),
        (None, Some(r#"{"a":"{id}"}"#), "phoenix", false, "usage.body", "phoenix"),
        (Some("x"), Some(r#"{"a":"{id}{no}"}"#), "phoenix", false, "usage.body", "{no}: "),
    ] {
        let failure = said_by(event, body, protocol, asks_reply).unwrap_err();
        assert_eq!(failure.key(), key, "{failure}");
        assert!(failure.to_string().contains(named), "{named}: {failure}");
    }
}

#[test]
fn numbers_in_conditions_stay_as_written() {
    let file =
        "[echo]\nsend = '{id}'\nreply = { json = { '/a' = 10.50, '/b' = 1e3, '/c' = 1_000, '/d' = -0 } }\n";
    let echo = parsed(file).unwrap().app.echo.unwrap();
    let bare: Vec<_> = echo.reply.unwrap().json.iter().map(|(_, value)| value.clone()).collect();
    assert_eq!(bare, ["10.50", "1e3", "1000", "-0"].map(|number| JsonScalar::Bare(number.into())));
}

#[test]
fn headers_of_a_file_read_their_secrets() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("key"), "open sesame\n").unwrap();
    let file = "[connect]\nheaders = { Authorization = 'Bearer file:key', X-Place = 'file:key' }\n\
                [[login]]\nget = '/'\nheaders = { X-Api-Key = 'file:key' }\n\
                [publish]\npost = '/'\nbody = '{id}'\nheaders = { Cookie = 'file:key' }\n";
    let read = |file: &str| {
        parse(&folder.path().join("app.toml"), file, People::default(), ClientsMax::Known(1_000))
    };
    let described = read(file).unwrap();
    let of_connect: Vec<&str> = described.connect.headers.iter().map(|(_, value)| value.reveal()).collect();
    assert_eq!(of_connect, ["Bearer open sesame", "file:key"], "the name tells what a secret is");
    assert_eq!(described.app.login[0].headers[0].1.sample(), b"open sesame");
    assert_eq!(described.publish.unwrap().headers[0].1.reveal(), "open sesame");
    let absent = read(&file.replace("X-Api-Key = 'file:key'", "X-Api-Key = 'file:none'")).err().unwrap();
    assert!(absent.key() == "usage.file" && absent.flag().is_some_and(|at| at.contains(":5:")), "{absent}");
}
