//! Action Cable's extended protocol in both roles: what it takes to go on with a session, held to the session
//! recorded between @anycable/core and AnyCable-Go 1.5, and to AnyCable's documents.

use std::sync::Arc;

use wire::{
    Client, Config, DialectId, Event, Failure, History, Keep, Options, ReplayFault, Resumption, Server,
    ServerConfig, ServerEvent, Settings, Value,
};

use crate::common::*;

const EXTENDED: &str = "Sec-WebSocket-Protocol: actioncable-v1-ext-json\r\n";
/// As AnyCable-Go said it.
const WELCOME: &str = r#"{"type":"welcome","sid":"B0wzD_cTNvnFkdk4ur6tN"}"#;
const ROOM: &str = r#""identifier":"{\"channel\":\"$pubsub\",\"stream_name\":\"room/1\"}""#;
const S: u64 = 1_000_000_000;

fn confirm() -> String {
    format!(r#"{{"type":"confirm_subscription",{ROOM}}}"#)
}

/// As AnyCable-Go sent it, with another number.
fn copy(offset: u64) -> String {
    format!(r#"{{{ROOM},"message":{{"hello":1}},"stream_id":"room/1","epoch":"RFww","offset":{offset}}}"#)
}

fn config(path: &str, settings: Settings) -> Config {
    let settings = settings.with("channel", "$pubsub").with("channel-params", r#"{"stream_name":"room/1"}"#);
    let of_dialect = settings.with("cable-extended", Value::On).into();
    Config::new(Options { path: path.into(), of_dialect, ..options(DialectId::Actioncable) }).unwrap()
}

/// The requests and messages of a client on a connection where it hears this, and its resumption.
fn handle(
    cfg: &Config,
    before: Option<Resumption>,
    messages: &[&str],
) -> (String, Vec<String>, Option<Resumption>) {
    let mut client = before.map_or_else(Client::new, Client::resuming);
    let mut io = Fake::default();
    client.handle_open(cfg, 0, 0, &mut io);
    let request = std::mem::take(&mut io.out);
    assert!(String::from_utf8_lossy(&request).contains(EXTENDED));
    let target = String::from_utf8_lossy(&request).split(' ').nth(1).unwrap().to_owned();
    let answer = accept(&request, EXTENDED);
    client.handle_input(cfg, 7 * S, 0, &answer, &mut io, &mut |_| {}).unwrap();
    client.handle_input(cfg, 7 * S, 0, &texts(messages), &mut io, &mut |_| {}).unwrap();
    (target, said(&io.out), client.resumption(true))
}

#[test]
fn returning_clients_name_their_session() {
    let cfg = config("/cable", Settings::default());
    let (target, said, known) = handle(&cfg, None, &[WELCOME, &confirm(), &copy(1), &copy(2)]);
    let first = format!(r#"{{"command":"subscribe",{ROOM}}}"#);
    assert_eq!((target.as_str(), said), ("/cable", vec![first.clone()]), "there is nothing to miss yet");
    // As the recorded one asks, with the stream's position where that one had none.
    let asks = r#""history":{"since":7,"streams":{"room/1":{"epoch":"RFww","offset":2}}}}"#;
    let (target, said, again) = handle(&cfg, known.clone(), &[WELCOME]);
    assert_eq!(target, "/cable?sid=B0wzD_cTNvnFkdk4ur6tN");
    assert_eq!(said, [format!(r#"{{"command":"subscribe",{ROOM},{asks}"#)], "not restored");
    assert_eq!(again, known, "nothing has come since");
    let ids = r#"["{\"channel\":\"$pubsub\",\"stream_name\":\"room/1\"}"]"#;
    for ids in [format!(r#","restored_ids":{ids}"#), String::new()] {
        let restored = format!(r#"{{"type":"welcome","sid":"h542","restored":true{ids}}}"#);
        let (_, said, next) = handle(&cfg, known.clone(), &[&restored, &copy(5)]);
        assert_eq!(said, [format!(r#"{{"command":"history",{ROOM},{asks}"#)]);
        let (target, said, _) = handle(&cfg, next, &[WELCOME]);
        assert_eq!(target, "/cable?sid=h542");
        assert!(said[0].contains(r#""offset":5}"#), "{said:?}");
    }
    let (target, ..) = handle(&config("/cable?jid=x", Settings::default()), known, &[]);
    assert_eq!(target, "/cable?jid=x&sid=B0wzD_cTNvnFkdk4ur6tN");
}

#[test]
fn restored_clients_are_usable_at_once() {
    let cfg = config("/cable", Settings::default());
    let (_, _, known) = handle(&cfg, None, &[WELCOME, &confirm()]);
    for (welcome, is_usable) in [
        (r#"{"type":"welcome","sid":"h542","restored":true}"#, true),
        (r#"{"type":"welcome","sid":"h542","restored":true,"restored_ids":["{}"]}"#, false),
        (r#"{"type":"welcome","sid":"h542"}"#, false),
    ] {
        let mut client = Client::resuming(known.clone().unwrap());
        let (mut io, mut events) = (Fake::default(), Vec::new());
        client.handle_open(&cfg, 0, 0, &mut io);
        let answer = accept(&std::mem::take(&mut io.out), EXTENDED);
        let input = [answer, texts(&[welcome])].concat();
        client.handle_input(&cfg, 0, 0, &input, &mut io, &mut |event| events.push(event)).unwrap();
        assert_eq!(events.contains(&Event::Usable), is_usable, "{welcome}");
    }
}

#[test]
fn ended_sessions_leave_their_history() {
    let cfg = config("/cable", Settings::default());
    let goodbye = r#"{"type":"disconnect","reason":"server_restart","reconnect":true}"#;
    let (_, _, known) = handle(&cfg, None, &[WELCOME, &confirm(), &copy(3), goodbye]);
    let (target, said, _) = handle(&cfg, known, &[WELCOME]);
    assert_eq!(target, "/cable");
    assert!(said[0].contains(r#""room/1":{"epoch":"RFww","offset":3}"#), "{said:?}");
}

#[test]
fn hostile_names_are_neither_kept_nor_said() {
    let cfg = config("/cable", Settings::default());
    let long = "x".repeat(10_000);
    for sid in ["a b", r"a\u0022", "a&b=c", "a\\r\\nX-Evil: 1", &long] {
        let welcome = format!(r#"{{"type":"welcome","sid":"{sid}"}}"#);
        let (_, _, known) = handle(&cfg, None, &[&welcome, &confirm()]);
        assert_eq!(handle(&cfg, known, &[]).0, "/cable", "{sid:.20}");
    }
    let many: Vec<String> =
        (0..1_000).map(|n| copy(1).replace("room/1\",\"epoch", &format!("{n}\",\"epoch"))).collect();
    let odd = [
        copy(1).replace(":1}", ":-1}"),
        copy(1).replace(":1}", ":18446744073709551616}"),
        copy(1).replace("RFww", &long),
        copy(1).replace(r#""stream_id":"room/1""#, r#""stream_id":7"#),
        copy(1).replace("pubsub", "others"),
    ];
    let mut heard = vec![WELCOME.to_owned(), confirm()];
    heard.extend(odd);
    let all = |heard: &[String]| handle(&cfg, None, &heard.iter().map(String::as_str).collect::<Vec<_>>()).2;
    let (_, said, _) = handle(&cfg, all(&heard), &[WELCOME]);
    assert!(said[0].ends_with(r#""streams":{}}}"#), "{said:?}");
    heard.extend(many);
    let (_, said, _) = handle(&cfg, all(&heard), &[WELCOME]);
    assert_eq!(said[0].matches("epoch").count(), 256, "as many as are kept");
}

#[test]
fn pings_are_answered_where_that_is_asked_for() {
    let ping = r#"{"type":"ping","message":1795172269}"#;
    for (settings, answers) in
        [(Settings::default(), 0), (Settings::default().with("cable-pongs", Value::On), 2)]
    {
        let cfg = config("/cable", settings);
        let (_, said, _) = handle(&cfg, None, &[WELCOME, &confirm(), ping, ping]);
        assert_eq!(said[1..], vec![r#"{"command":"pong"}"#.to_owned(); answers]);
    }
}

/// A server's connections, one after the other, that share what is kept.
struct Cable {
    cfg: ServerConfig,
    now_ns: u64,
}

/// One of them.
struct Connection {
    server: Server,
    io: Fake,
    /// Broadcasts, as they go over the wire.
    told: Vec<u8>,
    joined: usize,
}

impl Cable {
    fn keeping(keep: Keep) -> Cable {
        Cable::failing(keep, ReplayFault::default())
    }

    /// One whose replays have this fault in each message.
    fn failing(keep: Keep, replay_fault: ReplayFault) -> Cable {
        let history = Some(Arc::new(History::new(keep, move |_| replay_fault)));
        Cable { cfg: ServerConfig { history, ..ServerConfig::default() }, now_ns: 100 * S }
    }

    fn connect(&self, seed: u64, sid: &str, fields: &str) -> Connection {
        let (mut server, mut io) = (Server::new(), Fake::seeded(seed));
        let request = request(fields).replace("/chat", &format!("/cable{sid}"));
        server.handle_input(&self.cfg, self.now_ns, 0, request.as_bytes(), &mut io, &mut |_| {}).unwrap();
        let head = io.out.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
        io.out.drain(..head);
        Connection { server, io, told: Vec::new(), joined: 0 }
    }

    /// The answer to this on a connection.
    fn handle(&self, connection: &mut Connection, commands: &[&str]) -> Vec<String> {
        let Connection { server, io, told, joined } = connection;
        let on = &mut |event: ServerEvent<'_>| match event {
            ServerEvent::Broadcast { frame, .. } => told.extend(frame),
            ServerEvent::Joined { .. } => *joined += 1,
            _ => {}
        };
        server.handle_input(&self.cfg, self.now_ns, 0, &masked_texts(commands), io, on).unwrap();
        said(&std::mem::take(&mut io.out))
    }
}

const BENCHMARK: &str = r#""identifier":"{\"channel\":\"BenchmarkChannel\"}""#;

fn command(name: &str, more: &str) -> String {
    format!(r#"{{"command":"{name}",{BENCHMARK}{more}}}"#)
}

fn broadcast(n: u64) -> String {
    command("message", &format!(r#","data":"{{\"action\":\"broadcast\",\"payload\":{n}}}""#))
}

/// A value in a message, without quotation marks.
fn value<'a>(message: &'a str, name: &str) -> &'a str {
    let (_, rest) =
        message.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name}: {message}"));
    rest.trim_start_matches('"').split(['"', ',', '}']).next().unwrap()
}

/// A history that is asked for behind this copy.
fn behind(copy: &str) -> String {
    let [stream, epoch, offset] = ["stream_id", "epoch", "offset"].map(|name| value(copy, name));
    format!(r#","history":{{"since":1,"streams":{{"{stream}":{{"epoch":"{epoch}","offset":{offset}}}}}}}"#)
}

fn kinds(answers: &[String]) -> Vec<&str> {
    let kind = |answer: &'static str| answer;
    answers
        .iter()
        .map(|answer| if answer.contains("\"type\"") { value(answer, "type") } else { kind("message") })
        .collect()
}

#[test]
fn servers_restore_a_session_once() {
    let cable = Cable::keeping(Keep::Messages(100));
    let mut listener = cable.connect(1, "", EXTENDED);
    let welcome = said(&std::mem::take(&mut listener.io.out)).remove(0);
    let sid = value(&welcome, "sid").to_owned();
    assert_eq!(kinds(&cable.handle(&mut listener, &[&command("subscribe", "")])), ["confirm_subscription"]);
    let mut speaker = cable.connect(2, "", "");
    cable.handle(&mut speaker, &[&command("subscribe", ""), &broadcast(0)]);
    let heard = said(&std::mem::take(&mut speaker.told)).remove(0);
    cable.handle(&mut speaker, &[&broadcast(1), &broadcast(2)]);
    let missed = said(&std::mem::take(&mut speaker.told));
    let mut back = cable.connect(3, &format!("?a=1&sid={sid}"), EXTENDED);
    let welcome = said(&std::mem::take(&mut back.io.out)).remove(0);
    assert_ne!(value(&welcome, "sid"), sid, "a name of its own");
    let restored = r#","restored":true,"restored_ids":["{\"channel\":\"BenchmarkChannel\"}"]}"#;
    assert!(welcome.ends_with(restored), "{welcome}");
    assert_eq!(back.joined, 0, "it hears again once it has asked for its history");
    let answers = cable.handle(&mut back, &[&command("history", &behind(&heard))]);
    assert_eq!((&answers[..2], back.joined), (&missed[..], 1));
    assert_eq!(kinds(&answers[2..]), ["confirm_history"]);
    cable.handle(&mut back, &[&command("history", "")]);
    assert_eq!(back.joined, 1, "it joins once");
    // The session is taken: a client that names it again is another.
    let mut stranger = cable.connect(4, &format!("?sid={sid}"), EXTENDED);
    assert!(!said(&std::mem::take(&mut stranger.io.out))[0].contains("restored"));
    let answers =
        cable.handle(&mut stranger, &[&command("history", ""), &command("subscribe", &behind(&missed[0]))]);
    assert_eq!(kinds(&answers), ["confirm_subscription", "message", "confirm_history"]);
    assert_eq!(answers[1], missed[1]);
}

#[test]
fn sessions_are_restored_in_the_extended_protocol() {
    let cable = Cable::keeping(Keep::Messages(100));
    let mut one = cable.connect(1, "", EXTENDED);
    let sid = value(&said(&std::mem::take(&mut one.io.out))[0], "sid").to_owned();
    cable.handle(&mut one, &[&command("subscribe", ""), &command("unsubscribe", "")]);
    let target = format!("?sid={sid}");
    assert_eq!(said(&cable.connect(2, &target, "").io.out), [r#"{"type":"welcome"}"#]);
    for (name, is_restored) in [("?sid=", false), ("?sid=B0wzD_cTNvnFkdk4ur6tN", false), (&target, true)] {
        let welcome = said(&cable.connect(3, name, EXTENDED).io.out).remove(0);
        assert_eq!(welcome.ends_with(r#","restored":true,"restored_ids":[]}"#), is_restored, "{welcome}");
    }
}

#[test]
fn sessions_live_until_their_next_ping() {
    let mut cable = Cable::keeping(Keep::Messages(100));
    cable.cfg.settings = Settings::default().with("cable-ping-interval", 600 * S);
    let one = cable.connect(1, "", EXTENDED);
    let sid = value(&said(&one.io.out)[0], "sid").to_owned();
    cable.now_ns += 800 * S;
    let back = cable.connect(2, &format!("?sid={sid}"), EXTENDED);
    assert!(said(&back.io.out)[0].contains("restored"));
}

#[test]
fn a_history_comes_whole_or_not_at_all() {
    let cable = Cable::keeping(Keep::Messages(2));
    let mut one = cable.connect(1, "", EXTENDED);
    cable.handle(&mut one, &[&command("subscribe", "")]);
    for n in 0..4 {
        cable.handle(&mut one, &[&broadcast(n)]);
    }
    let copies = said(&one.told);
    let history = |more: &str| {
        let mut other = cable.connect(2, "", EXTENDED);
        other.io.out.clear();
        let answers = cable.handle(&mut other, &[&command("subscribe", more)]);
        assert_eq!(kinds(&answers)[0], "confirm_subscription");
        (answers.len() - 1, answers.last().map(|last| value(last, "type").to_owned()).unwrap())
    };
    let rejected = (1, "reject_history".to_owned());
    assert_eq!(history(&behind(&copies[0])), rejected, "one of three is gone");
    assert_eq!(history(&behind(&copies[1])), (3, "confirm_history".to_owned()));
    assert_eq!(history(&behind(&copies[3])), (1, "confirm_history".to_owned()), "nothing was missed");
    assert_eq!(history(&behind(&copies[3]).replace(":4}", ":5}")), rejected, "a number of the future");
    let other = behind(&copies[3]).replace(value(&copies[3], "epoch"), "zzzz");
    assert_eq!(history(&other), rejected, "a number of another server's");
    assert_eq!(history(r#","history":{"since":1,"streams":{}}"#), (3, "confirm_history".to_owned()));
    assert_eq!(history(r#","history":{"since":101,"streams":{}}"#), (1, "confirm_history".to_owned()));
    assert_eq!(history(r#","history":{"since":18446744073709551615}"#), (1, "confirm_history".to_owned()));
    assert_eq!(history(""), (0, "confirm_subscription".to_owned()), "nothing was asked for");
}

/// It counts as there from its welcome on: that the rest is forgotten, or lost by a fault, is no reason for
/// not hearing what is said now.
#[test]
fn restored_sessions_hear_later_messages() {
    let forget = ReplayFault { forget: true, ..ReplayFault::default() };
    let rejects = (Cable::keeping(Keep::Messages(2)), "reject_history");
    for (cable, kind) in [rejects, (Cable::failing(Keep::Messages(9), forget), "confirm_history")] {
        assert_hears_later_messages(&cable, kind);
    }
}

fn assert_hears_later_messages(cable: &Cable, kind: &str) {
    let mut listener = cable.connect(1, "", EXTENDED);
    let sid = value(&said(&std::mem::take(&mut listener.io.out))[0], "sid").to_owned();
    cable.handle(&mut listener, &[&command("subscribe", "")]);
    let mut speaker = cable.connect(2, "", "");
    cable.handle(&mut speaker, &[&command("subscribe", ""), &broadcast(0)]);
    let heard = said(&std::mem::take(&mut speaker.told)).remove(0);
    cable.handle(&mut speaker, &[&broadcast(1), &broadcast(2), &broadcast(3)]);
    let mut back = cable.connect(3, &format!("?sid={sid}"), EXTENDED);
    assert!(said(&std::mem::take(&mut back.io.out))[0].contains("restored"));
    speaker.told.clear();
    cable.handle(&mut speaker, &[&broadcast(4)]);
    let answers = cable.handle(&mut back, &[&command("history", &behind(&heard))]);
    assert_eq!((&answers[..1], back.joined), (&said(&speaker.told)[..], 1));
    assert_eq!(kinds(&answers[1..]), [kind]);
}

#[test]
fn missing_pongs_disconnect_where_wanted() {
    let settings = Settings::default().with("cable-ping-interval", 3 * S).with("cable-pong-timeout", 6 * S);
    let cable = Cable { cfg: ServerConfig { settings, ..ServerConfig::default() }, now_ns: 0 };
    for (fields, end) in [(EXTENDED, Err(Failure::Silent)), ("", Ok(()))] {
        let mut one = cable.connect(1, "", fields);
        let mut wait = |cfg: &ServerConfig, at_s| one.server.handle_timeout(cfg, at_s * S, &mut one.io);
        for at_s in [3, 6, 9] {
            assert_eq!(wait(&cable.cfg, at_s), Ok(()), "{at_s}");
        }
        let pong = masked_texts(&[r#"{"command":"pong"}"#]);
        one.server.handle_input(&cable.cfg, 10 * S, 0, &pong, &mut one.io, &mut |_| {}).unwrap();
        let mut wait = |at_s| one.server.handle_timeout(&cable.cfg, at_s * S, &mut one.io);
        assert_eq!([12, 15, 18].map(&mut wait), [Ok(()); 3], "it has answered");
        one.io.out.clear();
        assert_eq!(one.server.handle_timeout(&cable.cfg, 21 * S, &mut one.io), end);
        if end.is_err() {
            let goodbye = r#"{"type":"disconnect","reason":"no_pong","reconnect":true}"#;
            assert_eq!(said(&one.io.out), [goodbye, "close 1000"]);
        }
    }
}
