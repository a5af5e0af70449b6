//! GraphQL over WebSocket in both roles, held to sessions recorded between the npm package graphql-ws 6.4 and
//! the servers of graphql-ws 6.4 and strawberry 0.341. Whole sessions with these programs are in
//! tests/dialect_graphql.rs.

use app::Kind;
use secret::Secret;
use wire::{
    BadOption, Client, Config, DialectId, DialectOptions, Event, Failure, Options, Rejection, Role, Room,
    Server, ServerConfig, Settings, Value,
};

use crate::common::*;

const ACK: &str = r#"{"type":"connection_ack"}"#;
const PROBED: &str = r#"{"id":"0","type":"next","payload":{"data":{"__typename":"Query"}}}"#;
const SUBSCRIBE: &str =
    r#"{"id":"1","type":"subscribe","payload":{"query":"subscription{messages}","variables":{}}}"#;
const PROBE: &str = r#"{"id":"0","type":"subscribe","payload":{"query":"{__typename}"}}"#;

fn of(settings: Settings) -> Result<Config, BadOption> {
    let of_dialect: DialectOptions = settings.into();
    Config::new(Options { of_dialect, ..options(DialectId::Graphql) })
}

const BROADCAST: &str = r#"{"id":"3","type":"subscribe","payload":{"query":"mutation($payload:JSON!){broadcast(payload:$payload)}","variables":{"payload":@}}}"#;
const ECHO: &str = r#"{"id":"2","type":"subscribe","payload":{"query":"mutation($payload:JSON!){echo(payload:$payload)}","variables":{"payload":@}}}"#;
/// As graphql-ws' client says it, which leaves the variables out where there are none.
const SUBSCRIBE_BARE: &str = r#"{"id":"1","type":"subscribe","payload":{"query":"subscription{messages}"}}"#;

/// Messages of both servers after the acknowledgement, in graphql-ws' order; `@` is the payload.
const RECORDED: [&str; 7] = [
    PROBED,
    r#"{"id":"0","type":"complete"}"#,
    r#"{"id":"2","type":"next","payload":{"data":{"echo":@}}}"#,
    r#"{"id":"2","type":"complete"}"#,
    r#"{"id":"3","type":"next","payload":{"data":{"broadcast":@}}}"#,
    COPY,
    r#"{"id":"3","type":"complete"}"#,
];
const COPY: &str = r#"{"id":"1","type":"next","payload":{"data":{"messages":@}}}"#;
/// Refusals of both: an unknown field (graphql-ws, strawberry), and a resolver that throws (the same).
const REFUSED: [&str; 4] = [
    r#"{"id":"4","type":"error","payload":[{"message":"Cannot query field \"nothing\" on type \"Mutation\".","locations":[{"line":1,"column":26}]}]}"#,
    r#"{"id":"4","type":"error","payload":[{"message":"Cannot query field 'nothing' on type 'Mutation'.","locations":[{"line":1,"column":26}]}]}"#,
    r#"{"id":"5","type":"next","payload":{"data":{"say":null},"errors":[{"message":"too long","locations":[{"line":1,"column":39}],"path":["say"]}]}}"#,
    r#"{"id":"5","type":"next","payload":{"data":null,"errors":[{"message":"too long","locations":[{"line":1,"column":39}],"path":["say"]}]}}"#,
];

/// A client that has upgraded, and what it has said since.
fn upgraded(cfg: &Config) -> (Client, Fake) {
    let (mut client, mut io, answer) = opening(cfg, "Sec-WebSocket-Protocol: graphql-transport-ws\r\n");
    client.handle_input(cfg, 0, 0, &answer, &mut io, &mut |e| assert_eq!(e, Event::Upgraded)).unwrap();
    (client, io)
}

fn told(cfg: &Config, client: &mut Client, io: &mut Fake, messages: &[&str]) -> Vec<Event> {
    let mut events = Vec::new();
    client.handle_input(cfg, 0, 0, &texts(messages), io, &mut |e| events.push(e)).unwrap();
    events
}

/// The payload of our messages with that number.
fn payload(seq: u32) -> String {
    let stamp = stamp(seq).to_text();
    format!(r#"{{"sendTime":"1","id":"{}"}}"#, std::str::from_utf8(&stamp).unwrap())
}

fn role(event: &Event) -> Option<Role> {
    if let Event::Message { role, .. } = event { Some(*role) } else { None }
}

#[test]
fn clients_are_usable_after_their_answer() {
    let cfg = of(Settings::default()).unwrap();
    let (mut client, mut io) = upgraded(&cfg);
    assert_eq!(said(&std::mem::take(&mut io.out)), [r#"{"type":"connection_init"}"#]);
    assert_eq!(told(&cfg, &mut client, &mut io, &[ACK, ACK]), [Event::Foreign { bytes: ACK.len() as u32 }]);
    assert_eq!(said(&std::mem::take(&mut io.out)), [SUBSCRIBE, PROBE]);
    let complete = r#"{"id":"0","type":"complete"}"#;
    assert_eq!(told(&cfg, &mut client, &mut io, &[PROBED, complete]), [Event::Usable]);

    client.send(&cfg, 0, 1, Kind::Broadcast, stamp(7), &mut io);
    let query =
        r#"{"query":"mutation($payload:JSON!){broadcast(payload:$payload)}","variables":{"payload":@}}"#;
    let operation =
        format!(r#"{{"id":"2","type":"subscribe","payload":{}}}"#, query.replace('@', &payload(7)));
    assert_eq!(said(&std::mem::take(&mut io.out)), [operation]);
    for (message, expected) in [
        (r#"{"id":"1","type":"next","payload":{"data":{"messages":@}}}"#, Role::Copy),
        (r#"{"type":"next","payload":{"data":{"messages":@}},"id":"1"}"#, Role::Copy),
        (r#"{"id":"2","type":"next","payload":{"data":{"broadcast":@}}}"#, Role::Ack),
        (r#"{"payload":{"data":{"broadcast":@}},"id":"2","type":"next"}"#, Role::Ack),
    ] {
        let message = message.replace('@', &payload(7));
        let events = told(&cfg, &mut client, &mut io, &[&message]);
        assert_eq!(events.iter().map(role).collect::<Vec<_>>(), [Some(expected)], "{message}: {events:?}");
    }
}

#[test]
fn a_client_answers_pings_and_counts_refusals() {
    let cfg = of(Settings::default()).unwrap();
    let rejected = |rejection| vec![Event::Rejected(rejection)];
    for (message, expected) in [
        (r#"{"type":"ping"}"#, vec![]),
        (r#"{"id":"2","type":"complete"}"#, vec![]),
        (r#"{"id":"1","type":"complete"}"#, rejected(Rejection::ChannelClosed)),
        (r#"{"id":"1","type":"error","payload":[{"message":"no"}]}"#, rejected(Rejection::Subscription)),
        (
            r#"{"id":"1","type":"next","payload":{"errors":[{"message":"no"}]}}"#,
            rejected(Rejection::Subscription),
        ),
        (r#"{"id":"2","type":"error","payload":[{"message":"no"}]}"#, rejected(Rejection::Message)),
        (r#"{"id":"2","type":"next","payload":{"data":null,"errors":[]}}"#, rejected(Rejection::Message)),
        (r#"{"type":"welcome"}"#, vec![Event::Foreign { bytes: 18 }]),
        (r#"{"type":"\u0065rror","id":"\u0031","payload":[]}"#, rejected(Rejection::Subscription)),
        (r#"{"id":"2","type":"next","payload":7}"#, vec![Event::Foreign { bytes: 36 }]),
        (r#"{"id":"2","type":"error","payload":{}}"#, vec![Event::Foreign { bytes: 38 }]),
        ("no JSON", vec![Event::Foreign { bytes: 7 }]),
    ] {
        let (mut client, mut io) = upgraded(&cfg);
        told(&cfg, &mut client, &mut io, &[ACK, PROBED]);
        client.send(&cfg, 0, 1, Kind::Echo, stamp(1), &mut io);
        io.out.clear();
        assert_eq!(told(&cfg, &mut client, &mut io, &[message]), expected, "{message}");
        let pongs = if message.contains("ping") { &[r#"{"type":"pong"}"#][..] } else { &[] };
        assert_eq!(said(&io.out), pongs);
    }
}

#[test]
fn opening_messages_can_be_chosen() {
    let settings = Settings::default().with("subscription", "subscription { \"a\" }".to_owned());
    let settings = settings.with("subscription-variables", r#"{"room":{room}}"#.to_owned());
    let cfg = of(settings.with("init-payload", Secret::from(r#"{"token":"t"}"#))).unwrap();
    let (mut client, mut io) = upgraded(&cfg);
    assert_eq!(said(&std::mem::take(&mut io.out)), [r#"{"type":"connection_init","payload":{"token":"t"}}"#]);
    told(&cfg, &mut client, &mut io, &[ACK]);
    let subscribe = r#"{"id":"1","type":"subscribe","payload":{"query":"subscription { \"a\" }","variables":{"room":0}}}"#;
    assert_eq!(said(&io.out), [subscribe, PROBE]);
    for (flag, value) in [
        ("subscription-variables", Value::from("[]".to_owned())),
        ("init-payload", Value::from(Secret::from("x"))),
    ] {
        let bad = of(Settings::default().with(flag, value)).unwrap_err();
        assert!(matches!(bad, BadOption::OfDialect { option, .. } if option == flag), "{flag}: {bad:?}");
    }
}

#[test]
fn the_client_understands_the_recorded_servers() {
    let cfg = of(Settings::default()).unwrap();
    // Strawberry's result is complete before its copy is sent.
    let mut of_strawberry = RECORDED;
    of_strawberry.swap(5, 6);
    for recorded in [RECORDED, of_strawberry] {
        let session: Vec<String> = recorded.iter().map(|text| text.replace('@', &payload(7))).collect();
        let (opening, results) = session.split_at(2);
        for step in [1, 3, usize::MAX] {
            let (mut client, mut io) = upgraded(&cfg);
            let mut events = told(&cfg, &mut client, &mut io, &[ACK]);
            events.extend(told(
                &cfg,
                &mut client,
                &mut io,
                &opening.iter().map(String::as_str).collect::<Vec<_>>(),
            ));
            assert_eq!(events, [Event::Usable]);
            client.send(&cfg, 0, 1, Kind::Echo, stamp(7), &mut io);
            let [of_echo, of_broadcast] = [&results[..2], &results[2..]]
                .map(|part| texts(&part.iter().map(String::as_str).collect::<Vec<_>>()));
            let mut roles = Vec::new();
            let mut feed = |client: &mut Client, io: &mut Fake, bytes: &[u8]| {
                for portion in bytes.chunks(step.min(bytes.len())) {
                    client.handle_input(&cfg, 0, 0, portion, io, &mut |e| roles.push(role(&e))).unwrap();
                }
            };
            feed(&mut client, &mut io, &of_echo);
            client.send(&cfg, 0, 1, Kind::Broadcast, stamp(7), &mut io);
            feed(&mut client, &mut io, &of_broadcast);
            assert_eq!(roles, [Some(Role::Echo), Some(Role::Ack), Some(Role::Copy)]);
            let messages = [ECHO, BROADCAST].map(|text| text.replace('@', &payload(7)));
            assert!(said(&io.out).ends_with(&messages), "{:?}", said(&io.out));
        }
    }
    for refused in REFUSED {
        let (mut client, mut io) = upgraded(&cfg);
        told(&cfg, &mut client, &mut io, &[ACK, PROBED]);
        let events = told(&cfg, &mut client, &mut io, &[refused]);
        assert_eq!(events, [Event::Rejected(Rejection::Message)], "{refused}");
    }
}

/// Servers in other languages name errors even where there are none.
#[test]
fn errors_that_are_null_refuse_nothing() {
    let cfg = of(Settings::default()).unwrap();
    let (mut client, mut io) = upgraded(&cfg);
    told(&cfg, &mut client, &mut io, &[ACK, PROBED]);
    client.send(&cfg, 0, 1, Kind::Echo, stamp(7), &mut io);
    let echo = r#"{"id":"2","type":"next","payload":{"data":{"echo":@},"errors":null}}"#;
    let events = told(&cfg, &mut client, &mut io, &[&echo.replace('@', &payload(7))]);
    assert_eq!(events.iter().map(role).collect::<Vec<_>>(), [Some(Role::Echo)], "{events:?}");
}

const OFFER: &str = "Sec-WebSocket-Protocol: graphql-transport-ws\r\n";
const INIT: &str = r#"{"type":"connection_init"}"#;

fn serve_graphql(messages: &[&str]) -> Outcome<Happened> {
    serve_at(&ServerConfig::default(), "/graphql", OFFER, &masked_texts(messages))
}

#[test]
fn the_server_answers_as_the_recorded_one() {
    let [echo, broadcast] = [ECHO, BROADCAST].map(|text| text.replace('@', &payload(7)));
    let outcome = serve_graphql(&[INIT, SUBSCRIBE_BARE, PROBE, &echo, &broadcast]);
    let mut expected = vec![ACK.to_owned()];
    // Copies are the driver's to deliver.
    expected.extend(RECORDED.iter().filter(|&&text| text != COPY).map(|text| text.replace('@', &payload(7))));
    assert_eq!(said(&outcome.out), expected);

    let (cfg, mut server, mut io) = (ServerConfig::default(), Server::new(), Fake::default());
    let bytes =
        [request(OFFER).replace("/chat", "/graphql").into_bytes(), masked_texts(&[INIT, SUBSCRIBE_BARE])];
    server.handle_input(&cfg, 0, 0, &bytes.concat(), &mut io, &mut |_| {}).unwrap();
    let mut copies = Vec::new();
    // A room has a name for each set of variables, here an empty one.
    server.put_copies(Room::of_readers(DialectId::Graphql, b"{}"), &texts(&[&payload(7)]), &mut copies);
    assert_eq!(said(&copies), [COPY.replace('@', &payload(7))]);
}

#[test]
fn equal_variables_are_one_room() {
    let room = |variables: &[u8]| Room::of_readers(DialectId::Graphql, variables);
    for (variables, name) in [
        ("", "{}"),
        (r#","variables":null"#, "{}"),
        (r#","variables":{}"#, "{}"),
        (r#","variables": { }"#, "{}"),
        (r#","variables":{ "room" : "a b" }"#, r#"{"room":"a b"}"#),
        (r#","variables":{"room":"a b"}"#, r#"{"room":"a b"}"#),
        (r#","variables":{"room":"ab"}"#, r#"{"room":"ab"}"#),
    ] {
        let subscribe = SUBSCRIBE_BARE.replace("}}", &format!("{variables}}}}}"));
        let outcome = serve_graphql(&[INIT, &subscribe]);
        assert_eq!(outcome.events, [Happened::Joined(room(name.as_bytes()))], "{subscribe}");
    }
}

#[test]
fn repeated_subscriptions_are_bounded() {
    let subscribe = |n: u32| SUBSCRIBE_BARE.replace(r#""1""#, &format!(r#""{n}""#));
    let elsewhere = subscribe(10).replace("}}", r#","variables":{"room":1}}}"#);
    let messages: Vec<String> = (1..=9).map(subscribe).chain([elsewhere]).collect();
    let messages: Vec<&str> = [INIT].into_iter().chain(messages.iter().map(String::as_str)).collect();
    let refused = r#"{"id":"9","type":"error","payload":[{"message":"Too many subscriptions"}]}"#;
    assert_eq!(said(&serve_graphql(&messages).out), [ACK, refused]);
}

#[test]
fn payloads_of_wrong_types_close_the_connection() {
    let subscribe = |payload: &str| format!(r#"{{"id":"1","type":"subscribe","payload":{payload}}}"#);
    let good = r#"{"query":"{__typename}","variables":null,"operationName":null,"extensions":{}}"#;
    assert_eq!(serve_graphql(&[INIT, &subscribe(good)]).result, Ok(()));
    assert_eq!(serve_graphql(&[r#"{"type":"connection_init","payload":null}"#]).result, Ok(()));
    for message in [
        r#"{"type":"connection_init","payload":[]}"#,
        r#"{"type":"connection_init","payload":"x"}"#,
        r#"{"type":"connection_ack"}"#,
        r#"{"type":"ping","payload":1}"#,
        r#"{"type":"pong","payload":false}"#,
        r#"{"type":"nothing"}"#,
        r#"{"type":5}"#,
        r#"{"type":"complete"}"#,
        r#"{"type":"complete","id":5}"#,
        r#"{"id":"1","type":"next","payload":{}}"#,
        r#"{"id":"","type":"subscribe","payload":{"query":"{__typename}"}}"#,
        r#"{"id":1,"type":"subscribe","payload":{"query":"{__typename}"}}"#,
        &subscribe("null"),
        &subscribe("[]"),
        &subscribe(r#"{"query":1}"#),
        &subscribe(r#"{"query":"{__typename}","variables":[]}"#),
        &subscribe(r#"{"query":"{__typename}","operationName":1}"#),
        &subscribe(r#"{"query":"{__typename}","extensions":"x"}"#),
    ] {
        let outcome = serve_graphql(&[message]);
        assert_eq!(outcome.result, Err(Failure::BadMessage), "{message}");
        assert!(outcome.out.windows(2).any(|bytes| bytes == 4400_u16.to_be_bytes()), "{message}");
    }
}

#[test]
fn escapes_stand_for_what_they_are() {
    let subscribe = |id: &str| SUBSCRIBE_BARE.replace(r#""1""#, &format!("\"{id}\""));
    let twice = serve_graphql(&[INIT, &subscribe("a/b"), &subscribe(r"\u0061\/b")]);
    assert_eq!(twice.result, Err(Failure::BadMessage));
    let complete = r#"{"\u0069d":"\u0061","type":"com\u0070lete"}"#;
    assert_eq!(serve_graphql(&[INIT, &subscribe("a"), complete, &subscribe("a")]).result, Ok(()));
    // The copies have the id as the client wrote it.
    let (cfg, mut server, mut io) = (ServerConfig::default(), Server::new(), Fake::default());
    let upgrade = request(OFFER).replace("/chat", "/graphql").into_bytes();
    let bytes = [upgrade, masked_texts(&[INIT, &subscribe(r"\u0061\\")])].concat();
    server.handle_input(&cfg, 0, 0, &bytes, &mut io, &mut |_| {}).unwrap();
    let mut copies = Vec::new();
    server.put_copies(Room::of_readers(DialectId::Graphql, b"{}"), &texts(&["1"]), &mut copies);
    assert_eq!(said(&copies), [COPY.replace('@', "1").replace(r#""1","type"#, r#""\u0061\\","type"#)]);
    // Documents of several lines, as the tools of GraphQL write them.
    let lines = ECHO.replace("{echo(", r"{\n  echo(").replace('@', "7");
    assert_eq!(said(&serve_graphql(&[INIT, &lines]).out)[1], RECORDED[2].replace('@', "7"));
    let fields = PROBE.replace("{__typename}", "{__typename echo}");
    let refused = r#"{"id":"0","type":"error","payload":[{"message":"Cannot query it here"}]}"#;
    assert_eq!(said(&serve_graphql(&[INIT, &fields]).out), [ACK, refused]);
}

#[test]
fn pongs_have_the_payload_of_their_pings() {
    let pings = [r#"{"type":"ping","payload":{"a":[1]}}"#, r#"{"type":"p\u0069ng","payload":null}"#];
    let pongs = [r#"{"type":"pong","payload":{"a":[1]}}"#, r#"{"type":"pong"}"#];
    assert_eq!(said(&serve_graphql(&pings).out), pongs);
    let cfg = of(Settings::default()).unwrap();
    let (mut client, mut io) = upgraded(&cfg);
    told(&cfg, &mut client, &mut io, &[ACK, PROBED]);
    io.out.clear();
    assert_eq!(told(&cfg, &mut client, &mut io, &pings), []);
    assert_eq!(said(&io.out), pongs);
}

/// After its close the connection is in no room any more, so that nothing follows the close frame.
#[test]
fn violations_end_the_connection() {
    let no_query = r#"{"id":"1","type":"subscribe","payload":{"variables":{}}}"#;
    let long = SUBSCRIBE_BARE.replace(r#""1""#, &format!(r#""{}""#, "é".repeat(100)));
    let echo_of_subscription = ECHO.replace(r#"{"id":"2""#, r#"{"id":"1""#).replace('@', "1");
    for (messages, code, reason) in [
        (&[INIT, INIT][..], 4429u16, "Too many initialisation requests".to_owned()),
        (&[SUBSCRIBE_BARE], 4401, "Unauthorized".to_owned()),
        (&[INIT, SUBSCRIBE_BARE, SUBSCRIBE_BARE], 4409, "Subscriber for 1 already exists".to_owned()),
        (&[INIT, SUBSCRIBE_BARE, &echo_of_subscription], 4409, "Subscriber for 1 already exists".to_owned()),
        (&[INIT, &long, &long], 4409, format!("Subscriber for {} already exists", "é".repeat(20))),
        (&[INIT, no_query], 4400, "Invalid message received".to_owned()),
        (&["no JSON"], 4400, "Invalid message received".to_owned()),
    ] {
        let outcome = serve_graphql(messages);
        assert_eq!(outcome.result, Err(Failure::BadMessage), "{messages:?}");
        let close = [&[0x88, 2 + reason.len() as u8][..], &code.to_be_bytes(), reason.as_bytes()].concat();
        assert!(outcome.out.ends_with(&close), "{messages:?}: {:?}", String::from_utf8_lossy(&outcome.out));
    }
}

#[test]
fn the_server_gives_up_who_does_not_initialise() {
    let (cfg, mut server, mut io) = (ServerConfig::default(), Server::new(), Fake::default());
    let upgrade = request(OFFER).replace("/chat", "/graphql");
    server.handle_input(&cfg, 5, 0, upgrade.as_bytes(), &mut io, &mut |_| {}).unwrap();
    let at_ns = server.poll_timeout().expect("a deadline");
    assert_eq!(at_ns, 3_000_000_005);
    assert_eq!(server.handle_timeout(&cfg, at_ns - 1, &mut io), Ok(()));
    assert_eq!(server.handle_timeout(&cfg, at_ns, &mut io), Err(Failure::Silent));
    assert!(io.out.ends_with(b"\x11\x38Connection initialisation timeout".as_slice()) && io.closed);
}
