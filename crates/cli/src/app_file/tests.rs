//! What may stand in a file, and what is said of what may not.

use wire::app_file::{Condition, JsonScalar, OpenStep};

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
    parse(Path::new("chat.toml"), text, People::default(), Some(1_000))
}

/// What is said of a file with a mistake.
fn said_of(text: &str) -> String {
    match parsed(text) {
        Ok(_) => panic!("no mistake found in:\n{text}"),
        Err(failure) => format!("{failure:?}"),
    }
}

/// What is said of the good file with one thing replaced.
fn said_with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    said_of(&GOOD.replacen(from, to, 1))
}

#[test]
fn a_file_becomes_an_app() {
    let Described { app: dialect, subprotocols, protocol, .. } = parsed(GOOD).unwrap();
    assert_eq!(protocol, DialectId::Custom);
    assert_eq!(subprotocols, ["chat.v1"]);
    assert_eq!((dialect.name.as_str(), dialect.binary), ("chat", false));
    assert_eq!(dialect.open.len(), 4);
    assert_eq!(dialect.open[2], OpenStep::Wait(50_000_000));
    let OpenStep::Expect(Condition { json, .. }) = &dialect.open[0] else { panic!() };
    assert!(json.contains(&("/type".into(), JsonScalar::Text("welcome".into()))));
    assert!(json.contains(&("/v".into(), JsonScalar::Bare("1".into()))));
    assert!(json.contains(&("/ok".into(), JsonScalar::Bare("true".into()))));
    assert_eq!(dialect.errors[0].kind, "login_failed");
    assert_eq!(dialect.heartbeat.unwrap().every_ns, 20_000_000_000);
    assert_eq!((dialect.answers.len(), dialect.ignore.len()), (1, 1));
    assert_eq!(parsed("").unwrap().app.name, "chat", "named after its file");
    assert!(parsed("frames = 'binary'").unwrap().app.binary);
    assert!(parsed("frames = 'lines'").unwrap().app.by_line);
}

#[test]
fn mistakes_name_file_line_and_what_was_expected() {
    for (from, to, place, problem) in [
        ("name = \"chat\"", "nmae = \"chat\"", "chat.toml:2:1", "unknown key `nmae`, expected one of `name`"),
        (
            "reply = {",
            "answer = {",
            "chat.toml:12:1",
            "unknown key `answer`, expected one of `event`, `send`, `reply`, `replied`",
        ),
        ("regex = ", "regexp = ", "chat.toml:8:", "expected one of `event`, `contains`, `regex`, `json`"),
        ("name = \"chat\"", "name = 5", "chat.toml:2:8", "expected a string"),
        ("name = \"chat\"", "name = \"a b\"", "chat.toml:2:8", "letters, digits"),
        ("name = \"chat\"", "name = \"chat", "chat.toml:2:", ""),
        (
            "name = \"chat\"",
            "frames = \"bin\"",
            "chat.toml:2:10",
            "unknown variant `bin`, expected one of `text`, `binary`, `lines`",
        ),
        (
            "{ wait = \"50ms\" }",
            "{ wait = \"50\" }",
            "chat.toml:7:12",
            "a duration: a number with ns, us, ms",
        ),
        ("{ wait = \"50ms\" }", "{ wait = \"0s\" }", "chat.toml:7:12", "longer than 0"),
        ("{ wait = \"50ms\" }", "{ }", "chat.toml:7:3", "exactly one of `send`, `expect` and `wait`"),
        ("{ wait = \"50ms\" }", "{ wait = \"1s\", send = \"x\" }", "chat.toml:7:3", "exactly one of"),
        ("regex = \"^joined\"", "regex = \"(joined\"", "chat.toml:8:14", "unclosed group"),
        ("\"/type\"", "\"type\"", "chat.toml:5:14", "a JSON pointer (RFC 6901)"),
        ("\"/v\" = 1", "\"/v\" = [1]", "chat.toml:5:", "a string, a number, true or false"),
        (
            "{ contains = '\"answer\"' }",
            "{ }",
            "chat.toml:12:9",
            "at least one of `contains`, `regex`, `json` and `event`",
        ),
        (
            "{seq}",
            "{sequence}",
            "chat.toml:6:12",
            "{sequence}: no such placeholder here; there are {client}, {seq}",
        ),
        ("{seq}", "{id}", "chat.toml:6:12", "{id}: no such placeholder here"),
        ("{seq}", "{data.user}", "chat.toml:6:12", "columns are those of --people"),
        ("\"{id}\",\"text\"", "\"1\",\"text\"", "chat.toml:11:8", "must carry {id}"),
        ("kind = \"login_failed\"", "kind = \"Login failed\"", "chat.toml:18:8", "lower-case letters"),
        ("kind = \"login_failed\"\n", "", "chat.toml:17:1", "missing key `kind`"),
        ("every = \"20s\"", "every = 20", "chat.toml:26:9", "expected a string"),
        ("reply = { contains = '\"answer\"' }\n", "", "chat.toml:12:1", "to tell their messages apart"),
    ] {
        let said = said_with(from, to);
        assert!(said.contains(place) && said.contains(problem), "{to}\n{place}\n{problem}\n{said}");
        assert!(said.contains('^'), "{said}");
    }
}

#[test]
fn what_the_command_line_would_refuse_names_its_line_as_well() {
    for (from, to, place, problem) in [
        (
            "[heartbeat]",
            "[connect]\nheaders = { \"a b\" = \"c\" }\n[heartbeat]",
            "chat.toml:26:21",
            "cannot be a header",
        ),
        (
            "[broadcast]",
            "[flags]\nchanel = \"x\"\n[broadcast]",
            "chat.toml:13:1",
            "unexpected argument '--chanel' found; a similar argument exists: '--channel'",
        ),
        (
            "[broadcast]",
            "[flags]\nhelp = true\n[broadcast]",
            "chat.toml:13:1",
            "unexpected argument '--help' found; a similar argument exists",
        ),
    ] {
        let said = said_with(from, to);
        assert!(said.contains(place) && said.contains(problem), "{to}\n{place}\n{problem}\n{said}");
    }
    let said = said_of("[publish]\npost = \"x\"\nbody = \"{id}\"\n");
    assert!(said.contains("chat.toml:2:8: expected a URL such as http"), "{said}");
}

#[test]
fn what_is_kept_has_to_be_there_and_to_be_said() {
    let broadcast = "[broadcast]\nsend = '{\"id\":\"{id}\"}'\n";
    for (text, place, problem) in [
        (
            "[resume]\nkeep = \"/n\"\nsend = '{kept}'".to_owned(),
            "chat.toml:2:8",
            "none of [broadcast], [say.NAME] and [publish]",
        ),
        (format!("{broadcast}[resume]\nkeep = \"n\"\nsend = '{{kept}}'"), "chat.toml:4:8", "a JSON pointer"),
        (
            format!("{broadcast}[resume]\nkeep = \"/n\"\nsend = 'now'"),
            "chat.toml:4:8",
            "is never said: {kept}",
        ),
        (format!("{broadcast}[resume]\nsend = '{{kept}}'"), "chat.toml:3:1", "missing key `keep`"),
        (
            format!("open = [{{ send = '{{kept}}' }}]\n{broadcast}"),
            "chat.toml:1:18",
            "{kept}: no such placeholder here",
        ),
    ] {
        let said = said_of(&text);
        assert!(said.contains(place) && said.contains(problem), "{text}\n{said}");
    }
    let kept =
        format!("{broadcast}[resume]\nkeep = \"/n\"\nfirst = \"0\"\n[connect]\npath = \"/?after={{kept}}\"");
    let resume = parsed(&kept).unwrap().app.resume.unwrap();
    assert_eq!(
        (resume.keep.as_str(), resume.value, resume.first.as_str(), resume.send),
        ("/n", 0, "0", None)
    );
}

#[test]
fn files_that_are_not_there_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.toml");
    assert!(
        format!("{:?}", read(&path, People::default(), None).err().unwrap())
            .contains("d.toml: cannot be read: No such file")
    );
    fs::write(&path, "data = 'users.csv'").unwrap();
    assert!(
        format!("{:?}", read(&path, People::default(), None).err().unwrap())
            .contains("users.csv: cannot be read: No such file")
    );
    fs::write(folder.path().join("users.csv"), "user\nann\n").unwrap();
    assert_eq!(read(&path, People::default(), None).unwrap().people.rows.rows(), 1);
    fs::write(&path, "data = 'users.csv'\nopen = [{ send = '{data.usr}' }]").unwrap();
    let said = format!("{:?}", read(&path, People::default(), None).err().unwrap());
    assert!(
        said.contains("{data.usr}: no such placeholder here; there are {client}, {seq}, {data.user}"),
        "{said}"
    );
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
    for (from, to, place, problem) in [
        ("\"actioncable\"", "\"cable\"", "chat.toml:2:12", "expected plain, sockjs, actioncable"),
        ("\"actioncable\"", "\"json\"", "chat.toml:2:12", "expected plain, sockjs, actioncable"),
        ("channel =", "chanel =", "chat.toml:3:9", "--chanel"),
        ("'{\"text\":\"{id} {padding}\"}'", "'[\"{id}\"]'", "chat.toml:6:8", "a JSON object"),
        ("event = \"speak\"\n", "", "chat.toml:5:8", "needs the name of an event"),
        ("\"actioncable\"", "\"plain\"", "chat.toml:5:9", "has no names for events"),
        ("copy =", "replied = true\ncopy =", "chat.toml:7:11", "has no replies of its own"),
        ("[broadcast]", "frames = 'text'\n[broadcast]", "chat.toml:4:10", "is for protocol"),
    ] {
        assert!(CABLE.contains(from), "{from}");
        let said = said_of(&CABLE.replacen(from, to, 1).replace(
            "flags = {",
            if to.contains("plain\"") && from.contains("cable") { "#" } else { "flags = {" },
        ));
        assert!(said.contains(place) && said.contains(problem), "{to}\n{place}\n{problem}\n{said}");
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
    let said = said_of(&socketio.replace("{client}", ""));
    assert!(said.contains("the event's arguments"), "{said}");
}

fn said_by(
    event: Option<&str>,
    body: Option<&str>,
    protocol: &str,
    asks_reply: bool,
) -> Result<Described, String> {
    let says = SayArgs::of(event, body);
    let protocol = DialectId::of_protocol(protocol).unwrap();
    let described = of_flags(&says.into(), protocol, Workload::Broadcast, asks_reply, People::default());
    described.map_err(|failure| failure.to_string())
}

#[test]
fn flags_say_what_a_file_would() {
    let file = "name = 'speak'\nprotocol = 'actioncable'\n[broadcast]\nevent = 'speak'\nsend = '{\"text\":\"{id}\"}'\n";
    let file = parse(Path::new("a.toml"), file, People::default(), None).unwrap();
    let flags = said_by(Some("speak"), Some(r#"{"text":"{id}"}"#), "actioncable", false).unwrap();
    assert_eq!(format!("{:?}", flags.app), format!("{:?}", file.app));
}

#[test]
fn a_body_is_what_the_protocol_s_guide_sends_unless_it_is_given() {
    let body =
        |protocol| said_by(Some("x"), None, protocol, false).unwrap().app.broadcasts[0].send.body.sample();
    assert!(body("socketio").starts_with(b"\""));
    assert!(body("phoenix").starts_with(br#"{"body":""#));
    assert!(said_by(Some("x"), None, "socketio", true).unwrap().app.broadcasts[0].is_replied);
}

#[test]
fn mistakes_are_laid_to_the_flags() {
    for (event, body, protocol, asks_reply, expected) in [
        (Some("x"), Some("[{id}]"), "actioncable", false, "--body: expected a JSON object"),
        (Some("x"), Some("{}"), "actioncable", false, "--body: a message that is measured must carry {id}"),
        (Some("x"), None, "actioncable", true, "--ack: actioncable has no replies of its own"),
        (Some("x"), None, "plain", false, "--event: plain has no names for messages"),
        (Some("x"), Some("{id}"), "plain", false, "--event: plain has no names for events"),
        (None, Some(r#"{"a":"{id}"}"#), "phoenix", false, "--body: phoenix needs a name"),
        (Some("x"), Some(r#"{"a":"{id}{no}"}"#), "phoenix", false, "--body: {no}: no such placeholder"),
    ] {
        let problem = said_by(event, body, protocol, asks_reply).unwrap_err();
        assert!(problem.starts_with(expected), "{expected}: {problem}");
    }
}
