//! A client's identity stands wherever its request, its join and its messages have it, as each place wants
//! it.

use app::Kind;
use app::people::{Algorithm, Jwt, People};
use app::template::{Table, Template};
use secret::Secret;
use wire::{
    BadOption, Client, Config, DialectId, DialectOptions, Event, HttpOptions, Options, Settings, TokenPlace,
};

use crate::common::*;

/// Two rows, of which the second needs quotes everywhere.
fn people() -> People {
    let mut people = People { rows: Table::new(1), ..People::default() };
    assert!(people.rows.push(["ann"].into_iter()) && people.rows.push([r#"b "o/b""#].into_iter()));
    people.names.set("person.name", Template::of_column(0));
    people.token = Some(Jwt {
        algorithm: Algorithm::Hs256,
        key: "secret".into(),
        key_id: None,
        claims: Template::literal("{}"),
    });
    people.names.set("token", Template::of_token());
    people
}

/// `{}`, signed.
const TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.t-IDcSemACt8x4iTMCda8Yhe3iZaWbvV5XKSTbuAn0M";

fn options_of(dialect: DialectId, of_dialect: DialectOptions) -> Options {
    Options { of_dialect, people: people().into(), ..options(dialect) }
}

/// The first request of client number `client`.
fn request_of(options: Options, client: u32) -> String {
    let (cfg, mut io) = (Config::new(options).unwrap(), Fake::of(client));
    Client::new().handle_open(&cfg, 0, 0, &mut io);
    String::from_utf8(io.out).unwrap()
}

fn answer_to(request: &str, more: &str) -> Vec<u8> {
    let key = request.split("Sec-WebSocket-Key: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let accept = codec::ws::upgrade::accept_of(key.as_bytes());
    let head =
        format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{more}");
    [head.as_bytes(), b"Sec-WebSocket-Accept: ", &accept, b"\r\n\r\n"].concat()
}

/// Client number `client` with its request answered.
fn opened(cfg: &Config, client: u32) -> (Client, Fake) {
    let (mut opened, mut io) = (Client::new(), Fake::of(client));
    opened.handle_open(cfg, 0, 0, &mut io);
    let answer = answer_to(&String::from_utf8(std::mem::take(&mut io.out)).unwrap(), "");
    opened.handle_input(cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
    (opened, io)
}

#[test]
fn requests_carry_names_and_tokens_everywhere() {
    let mut options = options_of(DialectId::Raw, DialectOptions::default());
    options.path = "/of/%7Bperson.name%7D?n={person.name}&id={person.id}&q={x{y}}".into();
    options.headers =
        vec![("X-Name".into(), "<{person.name}>".into()), ("Authorization".into(), "Bearer {token}".into())];
    options.subprotocols = vec!["a".into(), "token.{token}".into()];
    let request = request_of(options, 3);
    assert!(
        request.starts_with("GET /of/b%20%22o%2Fb%22?n=b%20%22o%2Fb%22&id=3&q={x{y}} HTTP/1.1\r\n"),
        "{request}"
    );
    for field in [
        "X-Name: <b \"o/b\">\r\n".to_owned(),
        format!("Authorization: Bearer {TOKEN}\r\n"),
        format!("Sec-WebSocket-Protocol: a, token.{TOKEN}\r\n"),
    ] {
        assert!(request.contains(&field), "{field}\n{request}");
    }
}

#[test]
fn servers_may_choose_a_clients_own_subprotocol() {
    let mut options = options_of(DialectId::Raw, DialectOptions::default());
    options.subprotocols = vec!["of.{person.id}".into()];
    let cfg = Config::new(options).unwrap();
    for (client, is_fine) in [(5, true), (6, false)] {
        let (mut opening, mut io) = (Client::new(), Fake::of(client));
        opening.handle_open(&cfg, 0, 0, &mut io);
        let request = String::from_utf8(std::mem::take(&mut io.out)).unwrap();
        let answer = answer_to(&request, "Sec-WebSocket-Protocol: of.5\r\n");
        assert_eq!(opening.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {}).is_ok(), is_fine);
    }
}

#[test]
fn a_token_goes_where_each_protocol_has_it() {
    for (dialect, place, expected) in [
        (DialectId::Actioncable, None, format!("GET /cable?jid={TOKEN} HTTP/1.1\r\n")),
        (DialectId::Phoenix, None, format!("?vsn=2.0.0&token={TOKEN} HTTP/1.1\r\n")),
        (DialectId::Sse, None, format!("\r\nAuthorization: Bearer {TOKEN}\r\n")),
        (DialectId::Raw, Some(TokenPlace::Query("t k".into())), format!("/ws?t%20k={TOKEN} HTTP")),
        (DialectId::Raw, Some(TokenPlace::Cookie("jid".into())), format!("\r\nCookie: jid={TOKEN}\r\n")),
        (DialectId::Sockjs, Some(TokenPlace::Header("X-T".into())), format!("\r\nX-T: {TOKEN}\r\n")),
    ] {
        let of_dialect =
            DialectOptions { token: Some("{token}".into()), token_in: place, ..DialectOptions::default() };
        let request = request_of(options_of(dialect, of_dialect), 0);
        assert!(request.contains(&expected), "{expected}\n{request}");
    }
}

#[test]
fn requests_are_each_client_s_own() {
    let http = HttpOptions {
        method: "POST".into(),
        body: Some(b"{person.name}".to_vec()),
        ..HttpOptions::default()
    };
    let mut options = options_of(DialectId::Http, Settings::from(http).into());
    options.headers = vec![("X-Id".into(), "{person.id}".into())];
    let cfg = Config::new(options).unwrap();
    let (mut client, mut io) = (Client::new(), Fake::of(8));
    client.handle_open(&cfg, 0, 0, &mut io);
    client.send(&cfg, 0, 0, Kind::Echo, stamp(0), &mut io);
    let request = String::from_utf8(io.out).unwrap();
    assert!(request.contains("X-Id: 8\r\n") && request.ends_with("\r\n\r\n{person.name}"), "{request}");
}

#[test]
fn joins_have_them_as_json() {
    let params = Secret::from(r#"{"name":"{person.name}","n":{person.id},"t":"{token}"}"#);
    let quoted = format!(r#"{{"name":"b \"o/b\"","n":1,"t":"{TOKEN}"}}"#);

    let of_dialect = Settings::default().with("join-params", params.clone()).into();
    let cfg = Config::new(options_of(DialectId::Phoenix, of_dialect)).unwrap();
    let (_, io) = opened(&cfg, 1);
    assert_eq!(said(&io.out), [format!(r#"["1","1","room:lobby","phx_join",{quoted}]"#)]);

    let of_dialect = Settings::default().with("auth", params).into();
    let cfg = Config::new(options_of(DialectId::Socketio, of_dialect)).unwrap();
    let (mut client, mut io) = opened(&cfg, 1);
    let handshake = r#"0{"sid":"a","upgrades":[],"pingInterval":300,"pingTimeout":200,"maxPayload":1000000}"#;
    client.handle_input(&cfg, 0, 0, &texts(&[handshake]), &mut io, &mut |_| {}).unwrap();
    assert_eq!(said(&io.out), [format!("40{quoted}")]);
}

/// The identifier is in all that is said to a channel, and in all that it says.
#[test]
fn a_subscription_may_be_each_client_s_own() {
    let of_dialect = Settings::default().with("channel-params", r#"{"room":"{person.name}"}"#).into();
    let cfg = Config::new(options_of(DialectId::Actioncable, of_dialect)).unwrap();
    let identifier = r#""identifier":"{\"channel\":\"BenchmarkChannel\",\"room\":\"b \\\"o/b\\\"\"}""#;
    let (mut client, mut io) = opened(&cfg, 1);
    let mut events = Vec::new();
    let mut handle = |client: &mut Client, io: &mut Fake, text: &str| {
        client.handle_input(&cfg, 0, 0, &texts(&[text]), io, &mut |event| events.push(event)).unwrap();
    };
    handle(&mut client, &mut io, r#"{"type":"welcome"}"#);
    assert_eq!(said(&io.out), [format!(r#"{{"command":"subscribe",{identifier}}}"#)]);
    io.out.clear();
    handle(
        &mut client,
        &mut io,
        r#"{"identifier":"{\"channel\":\"BenchmarkChannel\",\"room\":\"ann\"}","type":"confirm_subscription"}"#,
    );
    assert!(!client.is_usable(), "that is somebody else's");
    handle(&mut client, &mut io, &format!(r#"{{{identifier},"type":"confirm_subscription"}}"#));
    assert!(client.is_usable());
    client.send(&cfg, 0, 1_700_000_000_000_000_000, Kind::Broadcast, stamp(3), &mut io);
    let [sent] = &said(&io.out)[..] else { panic!("one message") };
    assert!(sent.starts_with(&format!(r#"{{"command":"message",{identifier},"data":"#)), "{sent}");
    let id = std::str::from_utf8(&stamp(3).to_text()).unwrap().to_owned();
    let copy = format!(r#"{{{identifier},"message":{{"action":"broadcast","payload":{{"id":"{id}"}}}}}}"#);
    handle(&mut client, &mut io, &copy);
    let is_as_expected = matches!(events[..], [Event::Foreign { .. }, Event::Usable, Event::Message { .. }]);
    assert!(is_as_expected, "{events:?}");
}

#[test]
fn unsendable_rows_are_refused_by_number() {
    let with = |header: &str, row: &str| {
        let mut people = people();
        people.rows = Table::new(1);
        assert!(people.rows.push(["ann"].into_iter()) && people.rows.push([row].into_iter()));
        let headers = vec![("X".to_owned(), header.into())];
        Config::new(Options { headers, people: people.into(), ..options(DialectId::Raw) }).map(drop)
    };
    assert_eq!(with("{person.name}", "bob\tb é"), Ok(()));
    for row in ["a\r\nb", "a\nb", "\0", "\u{7f}"] {
        assert!(matches!(with("<{person.name}>", row), Err(BadOption::Row { row: 2, .. })), "{row:?}");
        assert_eq!(with("{person.id}", row), Ok(()), "a column that nobody asks for");
    }
    assert_eq!(with("{person.nmae}", "x"), Err(BadOption::Placeholder));
}
