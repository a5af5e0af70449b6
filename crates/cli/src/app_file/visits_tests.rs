//! People who come and go, as files say it, and what is wrong with those that cannot be meant.

use app::app_file::OpenStep;
use load::{Visit, VisitStep};

use super::*;

const S: u64 = 1_000_000_000;

const GOOD: &str = r#"protocol = "socketio"
[people]
visit = ["join hall", "wait 5s..20s", "leave hall", "wait 1s"]
[room.hall]
size = 6
join = { event = "join", send = '"{room}"', replied = true }
leave = { event = "leave", send = '"{room}"' }
[room.own]
size = 1
join = { event = "join", send = '"own {room}"' }
[say.line]
room = "hall"
event = "say"
body = '"{id}"'
"#;

const ROLES: &str = r#"protocol = "phoenix"
[room.hall]
size = 6
join = { topic = "hall:{room}" }
[room.own]
size = 1
join = { topic = "own:{room}" }
[[role]]
name = "host"
share = "10%"
says = [{ say = "line", rate = "5/s" }]
rooms = ["hall"]
[[role]]
name = "guest"
share = "90%"
visit = ["wait 1s", "join hall", "wait 2s", "leave hall"]
[say.line]
room = "hall"
event = "shout"
body = '{"id":"{id}"}'
"#;

fn parsed(text: &str) -> Result<Described, Failure> {
    parse(Path::new("app.toml"), text, People::default(), ClientsMax::Known(1_000))
}

/// An id announces who joins, and only to those whom they join while these are there.
#[test]
fn messages_that_join_visited_rooms_may_have_ids() {
    let announced = |text: &str| {
        text.replacen(r#"send = '"{room}"', replied"#, r#"send = '"{room}","{id}"', replied"#, 1)
    };
    assert_ne!(announced(GOOD), GOOD);
    assert!(parsed(&announced(GOOD)).is_ok());
    let of_topic =
        ROLES.replace(r#"topic = "hall:{room}""#, r#"topic = "hall:{room}", params = '{"id":"{id}"}'"#);
    assert!(parsed(&of_topic).is_ok());
    let for_good = GOOD.replace(r#"send = '"own {room}"'"#, r#"send = '"own {id}"'"#);
    let said = parsed(&for_good).unwrap_err().to_string();
    assert!(said.contains("app.toml:10") && said.contains("{id}"), "{said}");
}

#[test]
fn visitors_do_not_join_at_once() {
    let described = parsed(GOOD).unwrap();
    let steps = [
        VisitStep::Join(0),
        VisitStep::Wait { ns_min: 5 * S, ns_max: 20 * S },
        VisitStep::Leave(0),
        VisitStep::Wait { ns_min: S, ns_max: S },
    ];
    let rooms = described.rooms.unwrap();
    assert_eq!(rooms.visits(), [Visit { steps: steps.to_vec(), stays: 0 }]);
    assert_eq!((rooms.visited(), rooms.left()), (0b01, 0b01));
    let [OpenStep::Send(own)] = &described.app.open[..] else { panic!("{:?}", described.app.open) };
    assert_eq!(own.body.sample(), b"\"own 0\"");
    let [visited] = &described.app.visited_rooms[..] else { panic!("{:?}", described.app.visited_rooms) };
    assert!(matches!((&visited.join[..], &visited.leave[..]), ([OpenStep::Ask(_)], [OpenStep::Send(_)])));
}

#[test]
fn roles_visit_rooms_or_stay() {
    let described = parsed(ROLES).unwrap();
    let rooms = described.rooms.unwrap();
    let stays: Vec<u8> = rooms.visits().iter().map(|visit| visit.stays).collect();
    assert_eq!(stays, [0b01, 0b10], "guests have their own rooms, and hosts do not");
    let visited: Vec<Option<u16>> = described.app.joins.iter().map(|join| join.visited).collect();
    assert_eq!(visited, [Some(0), Some(1)]);
    // Where everybody is in everything, nothing is left to do.
    let same = ROLES.replace("rooms = [\"hall\"]", "rooms = [\"hall\", \"own\"]");
    let (all, _) = same.split_once("visit = ").unwrap();
    let all = all.to_owned() + "[say.line]\nroom = \"hall\"\nevent = \"shout\"\nbody = '{\"id\":\"{id}\"}'\n";
    assert!(parsed(&all).unwrap().rooms.unwrap().visits().is_empty());
}

/// A file, what of it is replaced by what, where the mistake is then, and what is said of it.
const MISTAKES: &[(&str, &str, &str, &str, &str)] = &[
    (
        GOOD,
        "join hall",
        "enter hall",
        "app.toml:3:10",
        "expected \"join NAME\", \"leave NAME\" or \"wait 10s\"",
    ),
    (GOOD, "join hall", "join hal", "app.toml:3:10", "there is no [room.hal]: expected one of hall, own"),
    (GOOD, "wait 5s..20s", "wait 20s..5s", "app.toml:3:23", "the shorter time first"),
    (GOOD, "wait 5s..20s", "wait five", "app.toml:3:23", "a duration"),
    (GOOD, "wait 5s..20s", "wait 25h", "app.toml:3:23", "at most 24h"),
    (GOOD, "wait 5s..20s", "join hall", "app.toml:3:23", "they are in hall already"),
    (GOOD, "join hall", "leave hall", "app.toml:3:10", "they are not in hall: a round begins outside"),
    (GOOD, "\"leave hall\", ", "", "app.toml:3:9", "expected a \"leave NAME\" for each"),
    (
        GOOD,
        "\"wait 5s..20s\", \"leave hall\", \"wait 1s\"",
        "\"leave hall\"",
        "app.toml:3:9",
        "at least 100ms in a round",
    ),
    (
        GOOD,
        "[\"join hall\", \"wait 5s..20s\", \"leave hall\", \"wait 1s\"]",
        "[]",
        "app.toml:3:9",
        "1 to 64 steps",
    ),
    (GOOD, "leave = { event = \"leave\", send = '\"{room}\"' }\n", "", "app.toml:4:1", "expected `leave = {"),
    (GOOD, ", replied = true }", " }", "app.toml:6:8", "what lets them in, `expect` or `replied`"),
    (
        GOOD,
        "join = { event = \"join\", send = '\"{room}\"', replied = true }\n",
        "",
        "app.toml:4:1",
        "expected `join`",
    ),
    (
        GOOD,
        "[room.own]",
        "[room.own]\nleave = { event = \"x\", send = '1' }",
        "app.toml:9:9",
        "nobody leaves it",
    ),
    (GOOD, "leave = {", "leave = { sent = 1,", "app.toml:7:11", "`sent`"),
    (ROLES, "rooms = [\"hall\"]", "rooms = [\"hal\"]", "app.toml:12:10", "expected one of hall, own"),
    (
        ROLES,
        "visit = [",
        "rooms = [\"hall\"]\nvisit = [",
        "app.toml:16:10",
        "they join it in their `visit`, too",
    ),
    (
        ROLES,
        "rooms = [\"hall\"]",
        "rooms = [\"own\"]",
        "app.toml:8:1",
        "something to say in hall, where they never are",
    ),
    (ROLES, "visit = [", "rooms = []\nvisit = [", "app.toml:5:1", "nobody is ever in [room.own]"),
    (
        ROLES,
        "[[role]]\nname = \"host\"",
        "[people]\nvisit = [\"wait 1s\"]\n[[role]]\nname = \"host\"",
        "app.toml:9:9",
        "expected `visit` in a [[role]]",
    ),
    (ROLES, "[room.own]", "[room.own]\nleave = { send = '1' }", "app.toml:6:9", "the protocol's own way"),
];

#[test]
fn mistakes_name_their_line_and_the_expectation() {
    for (good, from, to, place, problem) in MISTAKES {
        assert!(good.contains(from), "{from}");
        let said = format!("{:?}", parsed(&good.replacen(from, to, 1)).expect_err(to)).replace("\\\"", "\"");
        assert!(said.contains(place) && said.contains(problem), "{to}\n{place} {problem}\n{said}");
    }
}
