//! Accepted and refused values to keep, to compute and to look for.

use app::app_file::{AppFile, ConditionText, JsonScalar, Keep, Key, Note, OpenStep, Resumed};
use app::template::{KeyForm, Template};

use super::*;

const BROADCAST: &str = "[broadcast]\nsend = '{\"id\":\"{id}\",\"socket\":\"{socket}\"}'\n";

fn parsed(text: &str) -> Result<AppFile, Failure> {
    let described = parse(Path::new("chat.toml"), text, People::default(), ClientsMax::Known(1_000));
    described.map(|described| described.app)
}

/// Panics unless a file is refused at that line and column.
fn assert_mistake_at(text: &str, place: &str) {
    let Err(failure) = parsed(text) else { panic!("no mistake found in:\n{text}") };
    assert_eq!(failure.flag(), Some(&*format!("chat.toml:{place}")), "{text}\n{failure}");
}

fn keep(value: u16, name: &str, from: &str, line: u32) -> Keep {
    Keep { name: name.into(), value, from: from.into(), place: Some(format!("chat.toml:{line}")) }
}

#[test]
fn values_are_kept_of_steps_and_rules() {
    let file = r#"
open = [
  { expect = { contains = "hello" }, keep = { socket = "json:/data/id" } },
  { send = '{"auth":"{hmac:sha256:secret:{socket}:room}"}' },
]
[[answer]]
when = { contains = "ping" }
keep = { n = "regex:(\\d+)" }
send = "{n}"
[[ignore]]
when = { contains = "news" }
keep = { socket = "json:/socket" }
[push.token]
when = { contains = "token" }
keep = { token_n = "json:/n" }
"#;
    let broadcast = BROADCAST.replace("{socket}", "{socket}{token_n}");
    let app = parsed(&format!("{file}{broadcast}")).unwrap();
    let [_, OpenStep::Keep(of_hello), OpenStep::Send(_)] = &app.open[..] else { panic!("{:?}", app.open) };
    assert_eq!(*of_hello, [keep(0, "socket", "json:/data/id", 3)]);
    let kept: Vec<&[Keep]> = app.notes.iter().map(|Note { keep, .. }| &keep[..]).collect();
    let of_answer = keep(1, "n", r"regex:(\d+)", 8);
    let of_ignored = keep(0, "socket", "json:/socket", 12);
    assert_eq!(kept, [[of_answer], [of_ignored], [keep(2, "token_n", "json:/n", 15)]]);
    assert_eq!(app.pushes.len(), 1);
}

#[test]
fn values_that_cannot_be_kept_are_refused() {
    for (open, place) in [
        (r#"{ send = "x", keep = { socket = "json:/a" } }"#, "1:41"),
        (r#"{ wait = "1s", keep = { socket = "json:/a" } }"#, "1:9"),
        (r#"{ expect = { contains = "x" }, keep = { socket = "header:x" } }"#, "1:58"),
        (r#"{ expect = { contains = "x" }, keep = { socket = "json:a" } }"#, "1:58"),
        (r#"{ expect = { contains = "x" }, keep = { socket = "regex:(" } }"#, "1:58"),
        (r#"{ expect = { contains = "x" }, keep = { now = "json:/a" } }"#, "1:55"),
        (r#"{ send = "{socket}" }, { expect = { contains = "x" }, keep = { socket = "json:/a" } }"#, "1:18"),
        (r#"{ send = "{hmc:sha256:k:x}" }"#, "1:18"),
        (r#"{ send = "{hmac:sha256:env:THRONG_NO_SUCH_KEY:x}" }"#, "1:18"),
    ] {
        assert_mistake_at(&format!("open = [{open}]\n{BROADCAST}"), place);
    }
    assert_mistake_at("[room.a]\nsize = 1\njoin = { send = 'x', keep = { a = 'json:/a' } }\n", "3:35");
    let unasked = r#"protocol = 'socketio'
[room.a]
size = 1
join = { event = 'in', send = '"x"', replied = false, keep = { a = 'json:/a' } }
"#;
    assert_mistake_at(unasked, "4:68");
}

#[test]
fn conditions_have_no_unknown_placeholders() {
    let file = "[echo]\nsend = '{\"id\":{seq},\"text\":\"{id}\"}'\n";
    let reply = |json: &str| format!("{file}reply = {{ json = {json} }}\n");
    let condition =
        parsed(&reply(r#"{ "/id" = "{seq}", "/ok" = true }"#)).unwrap().echo.unwrap().reply.unwrap();
    let key = |form| Some(Key { at: "/id".into(), form });
    assert_eq!((condition.key, condition.json.len()), (key(KeyForm::Seq), 1));
    // A message whose answer has its number needs no other id.
    let numbered = |sent: &str| {
        format!("[echo]\nsend = '[{sent}]'\nreply = {{ json = {{ \"/id\" = \"{{id:uuid}}\" }} }}\n")
    };
    let echo = parsed(&numbered(r#""{id:uuid}""#)).unwrap().echo.unwrap();
    assert_eq!(echo.reply.unwrap().key, key(KeyForm::Uuid));
    assert_mistake_at(&numbered(r#""{id}",{seq}"#), "2:8");
    assert_mistake_at("[echo]\nsend = '[{seq}]'\n", "2:8");
    for (text, place) in [
        (reply(r#"{ "/id" = "{seq}", "/n" = "{seq}" }"#), "3:44"),
        (reply(r#"{ "/text" = "{now:ms}" }"#), "3:30"),
        (reply(r#"{ "/text" = "{sha1:{seq}}" }"#), "3:30"),
        (reply(r#"{ "/text" = "{other}" }"#), "3:30"),
        (reply(r#"{ "/text" = "{id}" }"#), "3:30"),
        (reply(r#"{ "/text" = "is {id:uuid}" }"#), "3:30"),
        (format!("{file}[[ignore]]\nwhen = {{ json = {{ \"/n\" = \"{{seq}}\" }} }}\n"), "4:26"),
        (format!("{file}[[ignore]]\nwhen = {{ contains = \"{{random:1..6}}\" }}\n"), "4:8"),
        (format!("{file}[[ignore]]\nwhen = {{ event = \"{{uuid}}\" }}\n"), "4:8"),
        (format!("{file}[[ignore]]\nwhen = {{ regex = \"room:{{client}}\" }}\n"), "4:8"),
    ] {
        assert_mistake_at(&text, place);
    }
    assert!(parsed(&reply(r#"{ "/text" = "{Other} {}" }"#)).is_ok(), "other braces are text");
    let escaped = format!("{file}[[ignore]]\nwhen = {{ regex = 'room:\\{{client}}' }}\n");
    assert!(parsed(&escaped).is_ok(), "{escaped}");
}

#[test]
fn conditions_may_differ_between_clients() {
    let file = r#"
open = [
  { expect = { contains = "hello" }, keep = { socket = "json:/id" } },
  { expect = { json = { "/to" = "{socket}", "/from" = "server" } } },
]
[room.hall]
size = 2
[room.team]
size = 3
[say.line]
room = "team"
body = '{"id":"{id}"}'
copy = { json = { "/room" = "{room}" } }
[[ignore]]
when = { event = "to-{client}", contains = "{room.hall}" }
"#;
    let app = parsed(file).unwrap();
    let own =
        |text: &str, template: Template| ConditionText { written: text.into(), of_client: Some(template) };
    let [_, _, OpenStep::Expect(of_step)] = &app.open[..] else { panic!("{:?}", app.open) };
    let values = [
        ("/from".to_owned(), JsonScalar::Text("server".into())),
        ("/to".to_owned(), JsonScalar::Text(own("{socket}", Template::of_kept(0)))),
    ];
    assert_eq!(of_step.json, values);
    let copy = app.broadcasts[0].copy.as_ref().unwrap();
    let of_team = JsonScalar::Text(own("{room}", Template::of_room(1)));
    assert_eq!(copy.json, [("/room".to_owned(), of_team)]);
    let event = own("to-{client}", Template::literal("to-").then(&Template::of_client()));
    assert_eq!(app.ignore[0].event, Some(event));
    assert_eq!(app.ignore[0].contains, Some(own("{room.hall}", Template::of_room(0))));
    // With rooms of two kinds, which one is meant must be said where no message says it.
    assert_mistake_at(&file.replace("{room.hall}", "{room}"), "15:8");
    assert_mistake_at(&file.replace("{socket}", "{sokcet}"), "4:33");
}

#[test]
fn returning_clients_say_several_values() {
    let file = |keep: &str, first: &str| {
        format!(
            "[broadcast]\nsend = '{{\"id\":\"{{id}}\"}}'\n[resume]\nkeep = {keep}\nfirst = {first}\n\
             send = '{{offset}} {{epoch}}'\n"
        )
    };
    let keep = r#"{ offset = ["/pub/offset", "/offset"], epoch = "/epoch" }"#;
    let resumed = |value, from: &[&str], first: &str| {
        let from = from.iter().map(|&from| from.to_owned()).collect();
        Resumed { value, from, first: first.into() }
    };
    let expected = [resumed(0, &["/epoch"], ""), resumed(1, &["/pub/offset", "/offset"], "0")];
    assert_eq!(parsed(&file(keep, r#"{ offset = "0" }"#)).unwrap().resume.unwrap().keeps, expected);
    for (keep, first, place) in [
        (r#"{ offset = "n", epoch = "/e" }"#, r#"{ offset = "0" }"#, "4:8"),
        (r#"{ offset = "/n", epoch = "/e", other = "/o" }"#, r#"{ offset = "0" }"#, "4:8"),
        (r#"{ offset = 1 }"#, r#""0""#, "4:8"),
        (keep, r#"{ other = "0" }"#, "5:9"),
        (keep, r#"{ client = "0" }"#, "5:9"),
        (keep, r#"{ offset = "0\n" }"#, "5:9"),
        (keep, r#""0""#, "5:9"),
    ] {
        assert_mistake_at(&file(keep, first), place);
    }
}
