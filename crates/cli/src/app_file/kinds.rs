//! Kinds of rooms and of messages, as files say them, and what is wrong with those that cannot be meant.

use std::num::NonZero;

use app::people::Division;
use load::Rooms;

use app::app_file::OpenStep;

use super::*;

const GOOD: &str = r#"protocol = "phoenix"
[room.group]
size = 6
join = { topic = "room:{room}", params = '{"of":"{room.hall}"}' }
[room.hall]
count = 10
zipf = 1.1
join = { topic = "hall:{room}" }
[say.line]
room = "hall"
to = "others"
share = "75%"
event = "shout"
body = '{"id":"{id}","room":{room}}'
replied = true
[say.word]
room = "group"
share = "25%"
event = "shout"
body = '{"id":"{id}","hall":{room.hall}}'
"#;

fn parsed(text: &str, clients_max: impl Into<ClientsMax>) -> Result<Described, Failure> {
    parse(Path::new("app.toml"), text, People::default(), clients_max.into())
}

/// Panics unless a good file in which one thing is changed, for at most a thousand clients, is refused at
/// that place with a text that names this.
fn assert_refused(good: &str, from: &str, to: &str, place: &str, named: &str) {
    assert!(good.contains(from), "{from}");
    assert_is_at(parsed(&good.replacen(from, to, 1), Some(1_000)), place, named);
}

fn assert_is_at(parsed: Result<Described, Failure>, place: &str, named: &str) {
    let failure = parsed.err().unwrap_or_else(|| panic!("nothing at {place}"));
    assert_eq!((failure.key(), failure.flag()), ("usage.file", Some(place)), "{failure}");
    assert!(failure.to_string().contains(named), "{named}\n{failure}");
}

#[test]
fn kinds_are_in_the_order_of_their_names() {
    let described = parsed(GOOD, None).unwrap();
    let rooms = described.rooms.unwrap();
    let kinds: Vec<(&str, Division)> =
        rooms.kinds().iter().map(|kind| (kind.name.as_str(), kind.division.clone())).collect();
    let n = |n| NonZero::new(n).unwrap();
    let zipf = Division::Zipf { rooms: n(10), exponent_milli: n(1_100) };
    assert_eq!(kinds, [("group", Division::of_size(n(6))), ("hall", zipf.clone())]);
    assert_eq!(described.people.rooms, [Division::of_size(n(6)), zipf]);
    let says: Vec<(&str, u16, bool, u32)> =
        rooms.says().iter().map(|say| (say.name.as_str(), say.room, say.to_others, say.share)).collect();
    assert_eq!(says, [("line", 1, true, 750_000), ("word", 0, false, 250_000)]);
    let app = described.app;
    assert_eq!((app.joins.len(), app.broadcasts[0].room, app.broadcasts[1].room), (2, 1, 0));
    assert_eq!((app.broadcasts[0].is_replied, app.broadcasts[1].is_replied), (true, false));
    assert_eq!(app.joins[0].params.sample(), br#"{"of":"0"}"#);
}

#[test]
fn rooms_of_a_column_are_named_by_cells() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "team\nred\nblue\nred\n").unwrap();
    let file = folder.path().join("app.toml");
    let text = |of: &str| {
        format!(
            "[people]\ndata = \"users.csv\"\n[room.team]\nof = {of}\njoin = {{ send = 'join {{room}}', \
             expect = {{ contains = \"joined\" }} }}\n[say.x]\nbody = '{{id}} {{room.team}}'\n"
        )
    };
    let parsed = |of: &str| parse(&file, &text(of), People::default(), ClientsMax::Unknown);
    let described = parsed("\"t-{person.team}\"").unwrap();
    let of_rows = [0, 1, 0].into();
    let expected = Division::Listed { rooms: NonZero::new(2).unwrap(), of_rows };
    assert_eq!(described.people.rooms, std::slice::from_ref(&expected));
    assert_eq!(described.rooms.unwrap().kinds()[0].division, expected);
    let [OpenStep::Send(join), _] = &described.app.open[..] else { panic!("{:?}", described.app.open) };
    assert_eq!(join.body.sample(), b"join t-0");
    let place = |line: &str| format!("{}:{line}", file.display());
    for (of, at) in [
        ("\"{person.id}\"", "4:6"),
        ("\"{person.tem}\"", "4:6"),
        ("\"{person.team}\"\nsize = 3", "5:8"),
        ("\"{person.team}\"\nzipf = 1.5", "5:8"),
    ] {
        assert_is_at(parsed(of), &place(at), "");
    }
}

#[test]
fn without_shares_kinds_are_equally_frequent() {
    let equal = GOOD.replace("share = \"75%\"\n", "").replace("share = \"25%\"\n", "");
    let says = |text: &str| -> Vec<u32> {
        parsed(text, None).unwrap().rooms.unwrap().says().iter().map(|say| say.share).collect()
    };
    assert_eq!(says(&equal), [1, 1]);
    let rates = GOOD.replace("share = \"75%\"", "rate = \"1.5k/s\"").replace("share = \"25%\"", "rate = 0.5");
    assert_eq!(says(&rates), [1_500_000, 500]);
    let defaults = parsed(&rates, None).unwrap().defaults.rate.unwrap();
    assert_eq!(defaults, crate::flags::rates::constant(1_500.5));
}

#[test]
fn joins_by_messages_end_the_opening() {
    let text = r#"
open = [{ send = "hi" }]
[room.a]
size = 2
join = { send = 'join {room}', expect = { contains = "joined" } }
[say.x]
body = "{id}{room}"
"#;
    let described = parsed(text, None).unwrap();
    let [OpenStep::Send(_), OpenStep::Send(join), OpenStep::Expect(_)] = &described.app.open[..] else {
        panic!("{:?}", described.app.open)
    };
    assert_eq!(join.body.sample(), b"join 0");
    assert!(described.rooms.unwrap().says()[0].name == "x");
}

#[test]
fn mistakes_name_their_line_and_the_expectation() {
    for (from, to, place, named) in [
        ("size = 6", "size = 0", "app.toml:3:8", "1"),
        ("size = 6", "count = 10000000", "app.toml:3:9", "(1,000)"),
        ("count = 10", "count = 10000000", "app.toml:6:9", "100,000"),
        ("zipf = 1.1", "zipf = 99.0", "app.toml:7:8", "10"),
        ("count = 10\n", "", "app.toml:6:8", "`count`"),
        ("size = 6\n", "", "app.toml:2:1", "`size`"),
        ("size = 6", "size = 6\ncount = 2", "app.toml:2:1", "`size`"),
        ("[room.hall]", "[room.Hall]", "app.toml:5:1", "Hall"),
        ("room = \"hall\"", "room = \"hal\"", "app.toml:10:8", "group, hall"),
        ("room = \"hall\"\n", "", "app.toml:9:1", "group, hall"),
        ("share = \"25%\"", "share = \"20%\"", "app.toml:18:9", "95%"),
        ("share = \"25%\"", "share = \"0%\"", "app.toml:18:9", " 0%"),
        ("share = \"25%\"", "share = 25", "app.toml:18:9", "25"),
        ("share = \"25%\"", "rate = 5", "app.toml:16:1", "`rate`"),
        ("share = \"25%\"\n", "", "app.toml:16:1", "`share`"),
        ("to = \"others\"", "to = \"some\"", "app.toml:11:6", "`others`"),
        ("topic = \"hall:{room}\"", "topic = \"hall:{rom}\", send = \"x\"", "app.toml:8:8", "topic"),
        ("topic = \"hall:{room}\"", "topic = \"hall:{room.hal}\"", "app.toml:8:18", "{room.hal}"),
        ("topic = \"hall:{room}\"", "channel = \"Hall\"", "app.toml:8:8", "phoenix"),
        ("topic = \"hall:{room}\"", "namespace = \"/hall\"", "app.toml:8:8", "topic"),
        ("join = { topic = \"hall:{room}\" }\n", "", "app.toml:8:1", "`join`"),
        ("{\"of\":\"{room.hall}\"}", "[]", "app.toml:4:8", "JSON"),
        ("body = '{\"id\":\"{id}\",\"hall\"", "body = '{\"id\":\"1\",\"hall\"", "app.toml:20:8", "{id}"),
        ("[say.word]", "[broadcast]\nevent = \"x\"\nsend = \"1\"\n[say.word]", "app.toml:16:1", "[say.NAME]"),
    ] {
        assert_refused(GOOD, from, to, place, named);
    }
    assert_is_at(parsed("[room.a]\ncount = 4", None), "app.toml:2:9", "clients");
    let several = "[room.a]\nsize = 1\n[room.b]\nsize = 2\n[broadcast]\nsend = '{id}'";
    assert_is_at(parsed(several, None), "app.toml:5:1", "[say.NAME]");
}

const PUBLISHED: &str = r#"[publish]
post = "/api"
[room.group]
size = 6
[room.hall]
count = 10
[say.line]
room = "hall"
post = "/halls/{room}?of={room.group}"
body = '{"id":"{id}"}'
[say.word]
room = "group"
body = '{"id":"{id}","to":"group-{room}"}'
"#;

#[test]
fn kinds_have_their_own_or_the_common_path() {
    let described = parsed(PUBLISHED, Some(1_000)).unwrap();
    let [line, word] = &described.app.broadcasts[..] else { panic!("{:?}", described.app.broadcasts) };
    assert_eq!(line.target.as_ref().unwrap().sample(), b"/halls/0?of=0");
    assert_eq!((&word.target, described.publish.unwrap().url.as_str()), (&None, "/api"));
    assert_eq!(word.send.body.sample().last_chunk(), Some(br#""to":"group-0"}"#));
    let own = PUBLISHED.replace("post = \"/api\"\n", "").replace("[say.word]", "[say.word]\npost = \"/w\"");
    assert_eq!(parsed(&own, Some(1_000)).unwrap().app.broadcasts[1].target.as_ref().unwrap().sample(), b"/w");
}

#[test]
fn publishing_without_place_or_by_senders_is_refused() {
    let post = "post = \"/halls/{room}?of={room.group}\"";
    for (from, to, place, named) in [
        ("[publish]\npost = \"/api\"\n", "", "app.toml:7:8", "[publish]"),
        ("post = \"/api\"\n", "", "app.toml:10:1", "`post`"),
        ("[publish]", "[publish]\nbody = \"{id}\"", "app.toml:2:8", "`body`"),
        ("[publish]", "[publish]\ncopy = { contains = \"x\" }", "app.toml:2:8", "`copy`"),
        ("room = \"hall\"", "room = \"hall\"\nto = \"others\"", "app.toml:7:1", "`to`"),
        ("room = \"hall\"", "room = \"hall\"\nevent = \"x\"", "app.toml:9:9", "event"),
        ("room = \"hall\"", "room = \"hall\"\nack = { contains = \"x\" }", "app.toml:9:7", "ack"),
        (post, "post = \"/halls/{rom}\"", "app.toml:9:8", "{rom}"),
        (post, "post = \"halls\"", "app.toml:9:8", "/"),
    ] {
        assert_refused(PUBLISHED, from, to, place, named);
    }
}

const ROLES: &str = r#"protocol = "phoenix"
[[role]]
name = "listener"
share = "90%"
[[role]]
name = "speaker"
share = "10%"
says = [{ say = "line", rate = "50/s" }, { say = "word", rate = 0.5 }]
[say.line]
event = "shout"
body = '{"id":"{id}"}'
[say.word]
event = "shout"
body = '{"word":"{id}"}'
"#;

#[test]
fn roles_keep_file_order_and_rates_add_up() {
    let described = parsed(ROLES, None).unwrap();
    let rooms = described.rooms.unwrap();
    let roles: Vec<(&str, u32, &[u32])> =
        rooms.roles().iter().map(|role| (role.name.as_str(), role.share, &role.says[..])).collect();
    assert_eq!(roles, [("listener", 900_000, &[0, 0][..]), ("speaker", 100_000, &[50_000, 500])]);
    assert_eq!(described.defaults.rate.unwrap(), crate::flags::rates::constant(50.5));
}

#[test]
fn rates_per_person_grow_with_the_people() {
    let each = ROLES.replace("rate = 0.5", "every = \"20s\"");
    let rate = |people| parsed(&each, people).unwrap().defaults.rate.unwrap();
    assert_eq!(rate(Some(1_000)), crate::flags::rates::constant(55.0), "a tenth of them");
    assert_eq!(rate(Some(10_000)), crate::flags::rates::constant(100.0));
    let with_load = format!("{each}[load]\npeople = 1000\n");
    for not_known in [ClientsMax::Unknown, ClientsMax::Unasked] {
        let unknown = parsed(&each, not_known).unwrap_err().to_string();
        assert!(unknown.contains("app.toml:8:66") && unknown.contains("of how many users"), "{unknown}");
        assert_eq!(
            parsed(&with_load, not_known).unwrap().defaults.rate.unwrap(),
            crate::flags::rates::constant(55.0)
        );
    }
}

#[test]
fn rates_per_person_need_no_known_number() {
    let every = ROLES
        .replace("{ say = \"line\", rate = \"50/s\" }", "{ say = \"line\", every = \"2s\" }")
        .replace("rate = 0.5", "every = \"8s\"");
    // A tenth of them says 0.5 + 0.125 a second each.
    for not_known in [ClientsMax::Unknown, ClientsMax::Unasked] {
        let described = parsed(&every, not_known).unwrap();
        assert_eq!((described.defaults.rate, described.defaults.interval_ns), (None, Some(16_000_000_000)));
        assert_eq!(described.rooms.unwrap().roles()[1].says, [50_000, 12_500]);
    }
    let known = parsed(&every, Some(1_600)).unwrap().defaults;
    assert_eq!(known.rate, Some(crate::flags::rates::constant(100.0)));
    assert_eq!(known.interval_ns, Some(16_000_000_000));
}

#[test]
fn mistakes_in_roles_name_their_line() {
    let many = "[[role]]\nname = \"x\"\nshare = \"1%\"\n".repeat(16) + "[[role]]\n";
    for (from, to, place, named) in [
        ("name = \"speaker\"", "name = \"Speaker\"", "app.toml:6:8", "Speaker"),
        ("name = \"speaker\"", "name = \"listener\"", "app.toml:6:8", "[[role]]"),
        ("name = \"speaker\"\n", "", "app.toml:5:1", "`name`"),
        ("share = \"10%\"\n", "", "app.toml:5:1", "`share`"),
        ("share = \"10%\"", "share = \"20%\"", "app.toml:7:9", "110%"),
        ("share = \"10%\"", "share = \"0%\"", "app.toml:7:9", " 0%"),
        ("share = \"10%\"", "share = 10", "app.toml:7:9", "10"),
        ("say = \"line\"", "say = \"lin\"", "app.toml:8:17", "line, word"),
        ("say = \"word\"", "say = \"line\"", "app.toml:8:50", "line"),
        ("rate = 0.5", "rate = 0", "app.toml:8:65", "0"),
        (
            "share = \"90%\"",
            "share = \"90%\"\nsays = [{ say = \"line\", rate = 4294960 }]",
            "app.toml:9:9",
            "line 4,295,010/s",
        ),
        ("rate = 0.5", "every = \"5s..9s\"", "app.toml:8:66", "5s..9s"),
        ("rate = 0.5", "rate = 1, every = \"9s\"", "app.toml:8:42", "`rate`"),
        ("rate = 0.5", "rat = 0.5", "app.toml:8:58", "`rat`"),
        (", { say = \"word\", rate = 0.5 }", "", "app.toml:12:1", "{ say = "),
        ("[say.word]\n", "[say.word]\nrate = 5\n", "app.toml:13:8", "[[role]]"),
        ("[say.line]", "[load]\nrate = 5\n[say.line]", "app.toml:2:1", "[load]"),
        ("[[role]]\n", &many, "app.toml:2:1", "16"),
    ] {
        assert_refused(ROLES, from, to, place, named);
    }
    let (mute, _) = ROLES.split_once("says = ").unwrap();
    assert_is_at(parsed(mute, None), "app.toml:2:1", "[[role]]");
}

#[test]
fn rooms_of_flags_and_file_conflict() {
    let given = People::in_rooms(Division::of_size(NonZero::new(3).unwrap()));
    let said = format!("{:?}", parse(Path::new("app.toml"), GOOD, given, ClientsMax::Unknown).err().unwrap());
    assert!(said.contains("--room-size") && said.contains("[room.NAME]"), "{said}");
    assert!(Rooms::several(Vec::new(), Vec::new(), Vec::new()).is_none());
}

#[test]
fn limits_are_on_what_the_file_has() {
    let with = |limit: &str| format!("[load]\nlimits = [{limit:?}]\n");
    let good = ["role.speaker.rtt.p99<1s", "say.word.missing==0", "delivery_2_10.p99<1s"];
    for limit in good {
        assert_eq!(parsed(&(ROLES.to_owned() + &with(limit)), None).unwrap().defaults.limits, [limit]);
    }
    let echo = "[echo]\nsend = \"{id}\"\n";
    for (text, limit, named) in [
        (ROLES, "role.mod.missing==0", "listener, speaker"),
        (ROLES, "say.lines.missing==0", "line, word"),
        (ROLES, "p95", "p95<250ms"),
        (echo, "delivery.p99<1s", "\"delivery.p99\""),
        (echo, "role.speaker.rtt.p99<1s", "\"role.speaker.rtt.p99\""),
        ("", "rtt.p99<1s", "\"rtt.p99\""),
    ] {
        let place = format!("app.toml:{}:11", text.lines().count() + 2);
        assert_is_at(parsed(&(text.to_owned() + &with(limit)), None), &place, named);
    }
}
