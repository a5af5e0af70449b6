//! Clients that join rooms and leave them while they are connected, over protocols that carry rooms and by an
//! app's messages.

use std::sync::Arc;

use app::app_file::{AppFile, Broadcast, Condition, Join, OpenStep, Say, VisitedRoom};
use app::people::People;
use app::template::{Purpose, Quoting, Template};
use codec::Stamp;
use wire::{
    BadOption, Client, Config, DialectId, DialectOptions, Direction, Event, Options, Passage, Rejection,
    RoomChange,
};

use crate::common::*;

fn say(event: &str, text: &str, purpose: Purpose) -> Say {
    let body = Template::parse(text, purpose, &People::default().names, Quoting::JSON).unwrap();
    Say { event: event.into(), body, as_text: false }
}

/// The app of a protocol that joins its rooms itself: of kind 0 for good, and of kind 1 now and then.
fn of_joins(dialect: DialectId, names: [&str; 2]) -> Config {
    of_joins_with(dialect, names, Template::literal("{}"))
}

/// The app of a protocol that joins its rooms itself, with these parameters for the second.
fn of_joins_with(dialect: DialectId, [own, hall]: [&str; 2], params: Template) -> Config {
    let own = (Template::literal(own), Template::literal("{}"));
    let hall = (Template::literal(hall), params);
    let join = |(name, params), visited| Join { name, params, visited };
    let (none, nothing) = (Vec::new(), Vec::new());
    config(
        dialect,
        AppFile {
            joins: vec![join(own, None), join(hall, Some(1))],
            visited_rooms: vec![VisitedRoom { kind: 1, place: Some(1), join: none, leave: nothing }],
            broadcasts: vec![Broadcast::of(say("shout", r#"{"id":"{id}"}"#, Purpose::Measured))],
            ..AppFile::default()
        },
    )
}

fn config(dialect: DialectId, app: AppFile) -> Config {
    try_config(dialect, app).unwrap()
}

fn try_config(dialect: DialectId, app: AppFile) -> Result<Config, BadOption> {
    let of_dialect = DialectOptions { app: Some(Arc::new(app)), ..DialectOptions::default() };
    Config::new(Options { of_dialect, ..options(dialect) })
}

/// A client that has got these messages behind its upgrade.
fn usable(cfg: &Config, fields: &str, messages: &[&str]) -> (Client, Fake) {
    let (mut client, mut io, answer) = opening(cfg, fields);
    let input = [answer, texts(messages)].concat();
    client.handle_input(cfg, 0, 0, &input, &mut io, &mut |_| {}).unwrap();
    assert!(client.is_usable());
    (client, io)
}

/// Its output when it goes this way, and its events for the answers.
fn pass(
    cfg: &Config,
    (client, io): &mut (Client, Fake),
    way: Direction,
    answers: &[&str],
) -> (Vec<String>, Vec<Event>) {
    io.out.clear();
    let mut events = vec![];
    client.pass(cfg, 0, Passage { kind: 1, way, announced: Some(newcomer()) }, io, &mut |e| events.push(e));
    let said = said(&io.out);
    client.handle_input(cfg, 0, 0, &texts(answers), io, &mut |e| events.push(e)).unwrap();
    (said, events)
}

/// The stamp that announces the client.
fn newcomer() -> Stamp {
    Stamp::new(2, 3, 4, 5, 5).announcing()
}

fn passed(passed: RoomChange) -> Vec<Event> {
    vec![Event::RoomChange { kind: 1, passed }]
}

#[test]
fn topics_are_joined_and_left_as_in_phoenix() {
    let cfg = of_joins(DialectId::Phoenix, ["own", "hall"]);
    let own = r#"["1","1","own","phx_reply",{"status":"ok","response":{}}]"#;
    let mut client = usable(&cfg, "", &[own]);
    assert_eq!(said(&client.1.out).last().unwrap(), r#"["1","1","own","phx_join",{}]"#, "and no other");
    let joined = r#"["2","2","hall","phx_reply",{"status":"ok","response":{}}]"#;
    let refused = r#"["2","2","hall","phx_reply",{"status":"error","response":{}}]"#;
    let left = r#"["2","leave-2","hall","phx_reply",{"status":"ok","response":{}}]"#;
    let closed = r#"["2","2","hall","phx_close",{}]"#;
    let (join, leave) = (r#"["2","2","hall","phx_join",{}]"#, r#"["2","leave-2","hall","phx_leave",{}]"#);
    assert_eq!(
        pass(&cfg, &mut client, Direction::In, &[joined]),
        (vec![join.into()], passed(RoomChange::In))
    );
    assert_eq!(
        pass(&cfg, &mut client, Direction::Out, &[left, closed]),
        (vec![leave.into()], passed(RoomChange::Out))
    );
    assert_eq!(pass(&cfg, &mut client, Direction::In, &[refused]).1, passed(RoomChange::Refused));
    assert_eq!(pass(&cfg, &mut client, Direction::In, &[joined]).1, passed(RoomChange::In));
    // A client of the first version hears of the end of a channel without the number of its join.
    let unnumbered = r#"[null,null,"hall","phx_close",{}]"#;
    assert_eq!(pass(&cfg, &mut client, Direction::Out, &[left, unnumbered]).1, passed(RoomChange::Out));
    assert_eq!(pass(&cfg, &mut client, Direction::In, &[joined]).1, passed(RoomChange::In));
    // A client that leaves before the answer to its join gets both, and the end of the channel.
    let both = [passed(RoomChange::In), passed(RoomChange::Out)].concat();
    assert_eq!(pass(&cfg, &mut client, Direction::Out, &[joined, left, closed]).1, both);
    assert_eq!(pass(&cfg, &mut client, Direction::In, &[joined]).1, passed(RoomChange::In));
    // A client that comes back before the channel has ended hears of the end after that.
    assert_eq!(pass(&cfg, &mut client, Direction::Out, &[]).1, []);
    assert_eq!(pass(&cfg, &mut client, Direction::In, &[joined, closed]).1, passed(RoomChange::In));
    let mut events = vec![];
    let (client, io) = &mut client;
    client.handle_input(&cfg, 0, 0, &texts(&[closed]), io, &mut |e| events.push(e)).unwrap();
    assert_eq!(events, [Event::Rejected(Rejection::ChannelClosed)], "it had not left");
}

#[test]
fn closed_standing_topics_end_the_client() {
    let cfg = of_joins(DialectId::Phoenix, ["own", "hall"]);
    let mut client = usable(&cfg, "", &[r#"["1","1","own","phx_reply",{"status":"ok","response":{}}]"#]);
    let joined = r#"["2","2","hall","phx_reply",{"status":"ok","response":{}}]"#;
    assert_eq!(pass(&cfg, &mut client, Direction::In, &[joined]).1, passed(RoomChange::In));
    let answers = [
        r#"["2","leave-2","hall","phx_reply",{"status":"ok","response":{}}]"#,
        r#"["1","1","own","phx_close",{}]"#,
    ];
    let ended = [passed(RoomChange::Out), vec![Event::Rejected(Rejection::ChannelClosed)]].concat();
    assert_eq!(pass(&cfg, &mut client, Direction::Out, &answers).1, ended);
}

/// A join with an id is news to others. To the newcomer it may come back as what it waits for, and a message
/// has not come with it.
#[test]
fn joins_with_an_id_are_announced() {
    let params = Template::parse(
        r#"{"presence":{"id":"{id}"}}"#,
        Purpose::Joining,
        &People::default().names,
        Quoting::JSON,
    );
    let id = String::from_utf8(newcomer().to_text().to_vec()).unwrap();
    let cfg = of_joins_with(DialectId::Phoenix, ["own", "hall"], params.unwrap());
    assert!(cfg.announces(1) && !cfg.announces(0));
    let own = r#"["1","1","own","phx_reply",{"status":"ok","response":{}}]"#;
    let mut client = usable(&cfg, "", &[own]);
    let joined = format!(r#"["2","2","hall","phx_reply",{{"status":"ok","response":{{"you":"{id}"}}}}]"#);
    let other = Stamp { client: 8, ..newcomer() };
    let with = String::from_utf8(other.to_text().to_vec()).unwrap();
    let diff = format!(
        r#"[null,null,"hall","presence_diff",{{"joins":{{"x":{{"metas":[{{"id":"{id}"}}]}},"y":{{"metas":[{{"id":"{with}"}}]}}}},"leaves":{{}}}}]"#
    );
    let (said, events) = pass(&cfg, &mut client, Direction::In, &[&joined, &diff]);
    assert_eq!(said, [format!(r#"["2","2","hall","phx_join",{{"presence":{{"id":"{id}"}}}}]"#)]);
    // What several servers have put together is one message, and each of its newcomers is news.
    let news = |stamp: Stamp, bytes| Event::Announced { stamp: stamp.announced().unwrap(), bytes };
    let bytes = diff.len() as u32;
    assert_eq!(
        events,
        [Event::RoomChange { kind: 1, passed: RoomChange::In }, news(newcomer(), bytes), news(other, 0)]
    );
}

#[test]
fn channels_follow_action_cable() {
    let cfg = of_joins(DialectId::Actioncable, ["Own", "Hall"]);
    let answer = |kind: &str, channel: &str| {
        format!(r#"{{"identifier":"{{\"channel\":\"{channel}\"}}","type":"{kind}"}}"#)
    };
    let command = |name: &str| format!(r#"{{"command":"{name}","identifier":"{{\"channel\":\"Hall\"}}"}}"#);
    let own = answer("confirm_subscription", "Own");
    let mut client = usable(&cfg, "", &[r#"{"type":"welcome"}"#, &own]);
    let [joined, refused] = ["confirm_subscription", "reject_subscription"].map(|kind| answer(kind, "Hall"));
    let subscribed = pass(&cfg, &mut client, Direction::In, &[&joined]);
    assert_eq!(subscribed, (vec![command("subscribe")], passed(RoomChange::In)));
    assert_eq!(pass(&cfg, &mut client, Direction::Out, &[]), (vec![command("unsubscribe")], vec![]));
    assert_eq!(pass(&cfg, &mut client, Direction::In, &[&refused]).1, passed(RoomChange::Refused));
}

#[test]
fn app_messages_join_leave_and_wait() {
    let expect = |text: &str| Condition { contains: Some(text.into()), ..Condition::default() };
    let send = |text| OpenStep::Send(say("", text, Purpose::Other));
    let visited = |leave: Vec<OpenStep>| AppFile {
        visited_rooms: vec![VisitedRoom {
            kind: 1,
            place: None,
            join: vec![send("join"), OpenStep::Expect(expect("joined"))],
            leave,
        }],
        broadcasts: vec![Broadcast::of(say("", "{id}", Purpose::Measured))],
        ignore: vec![expect("hum")],
        ..AppFile::default()
    };
    let cfg = config(DialectId::Custom, visited(vec![send("leave"), OpenStep::Expect(expect("left"))]));
    let mut client = usable(&cfg, "", &[]);
    assert_eq!(pass(&cfg, &mut client, Direction::In, &["hum"]), (vec!["join".into()], vec![]), "not yet");
    // It is to leave before it is in: one after the other.
    assert_eq!(pass(&cfg, &mut client, Direction::Out, &["joined"]), (vec![], passed(RoomChange::Late)));
    let (this, io) = &mut client;
    assert_eq!(said(&io.out), ["leave"]);
    let mut events = vec![];
    this.handle_input(&cfg, 0, 0, &texts(&["left"]), io, &mut |e| events.push(e)).unwrap();
    assert_eq!(events, passed(RoomChange::Out));
    // Without an answer, the outcome is unknown.
    let cfg = config(DialectId::Custom, visited(vec![send("leave")]));
    let mut client = usable(&cfg, "", &[]);
    pass(&cfg, &mut client, Direction::In, &["joined"]);
    assert_eq!(pass(&cfg, &mut client, Direction::Out, &[]), (vec!["leave".into()], vec![]));
    let pausing = try_config(DialectId::Custom, visited(vec![OpenStep::Wait(1)]));
    assert!(matches!(pausing, Err(BadOption::OfDialect { option: "app", .. })));
}
