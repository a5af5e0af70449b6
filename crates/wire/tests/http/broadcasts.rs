//! Broadcasts of an app's file as requests: their bodies, places and numbers are those of their senders.

use app::Kind;
use app::app_file::{AppFile, Broadcast, Say};
use app::people::Mix;
use app::template::{Names, Purpose, Quoting, Template};
use codec::Stamp;
use wire::{BadOption, Client, Config, DialectId, Event, HttpOptions, RequestOutcome, Role, Sending};

use super::{OK, Streams};
use crate::common::{options, stamp};

#[test]
fn broadcasts_are_bodies_by_their_sender() {
    let mut people = app::people::People::default();
    people.names.set("person.id", Template::of_client());
    let body =
        Template::parse(r#"{"n":{person.id},"id":"{id}"}"#, Purpose::Measured, &people.names, Quoting::JSON);
    let send = Say { body: body.unwrap(), ..Say::default() };
    let broadcast = Broadcast::of(send);
    let mut all = options(DialectId::Http);
    all.path = "/users/{person.id}".into();
    all.people = people.into();
    all.of_dialect.app = Some(AppFile { broadcasts: vec![broadcast], ..AppFile::default() }.into());
    all.of_dialect.settings = HttpOptions { method: "POST".into(), ..HttpOptions::default() }.into();
    let cfg = Config::new(all).unwrap();

    const SENT_NS: u64 = 7_000_000;
    const LATER_NS: u64 = 9_000_000;
    let (mut client, mut io) = (Client::new(), Streams::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    assert!(client.is_usable(), "there is nothing to open");
    let mut events = Vec::new();
    // The second waits for the answer to the first, which comes while another client's request is sent.
    for (of, sending) in [(7, Sending::Out), (12, Sending::Waits { is_busy: true })] {
        io.client = of;
        assert_eq!(client.send(&cfg, SENT_NS, 0, Kind::Broadcast, stamp(of), &mut io), sending);
    }
    io.client = 0;
    let first = std::mem::take(&mut io.out);
    client.handle_input(&cfg, LATER_NS, 0, OK.as_bytes(), &mut io, &mut |event| events.push(event)).unwrap();
    let written = |of, now_ns| stamp(of).sent_at(now_ns);
    for (of, request, stamp) in [(7, first, written(7, SENT_NS)), (12, io.out, written(12, LATER_NS))] {
        let id = String::from_utf8(stamp.to_text().to_vec()).unwrap();
        let body = format!(r#"{{"n":{of},"id":"{id}"}}"#);
        let head = format!(
            "POST /users/{of} HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        assert_eq!(String::from_utf8(request).unwrap(), head + &body);
    }
    let (role, bytes) = (Role::Answer { status: 200 }, OK.len() as u32);
    assert_eq!(events, [Event::Message { role, stamp: written(7, SENT_NS), bytes }]);
    assert!(
        matches!(io.request_outcomes[..], [(12, RequestOutcome::Sent { .. })]),
        "{:?}",
        io.request_outcomes
    );
}

#[test]
fn kinds_of_broadcasts_have_their_own_place() {
    let say = |text: &str| {
        let body = Template::parse(text, Purpose::Measured, &Names::default(), Quoting::JSON).unwrap();
        Broadcast::of(Say { body, ..Say::default() })
    };
    let (notes, news) = (say("note {id}"), say("news {id}"));
    let news = Broadcast { target: Some(Template::literal("/news?at=once")), ..news };
    let mut all = options(DialectId::Http);
    all.path = "/notes".into();
    all.of_dialect.app = Some(AppFile { broadcasts: vec![notes, news], ..AppFile::default() }.into());
    let of_post = HttpOptions { method: "POST".into(), ..HttpOptions::default() };
    all.of_dialect.settings = of_post.into();
    let nowhere = Template::literal("/two words");
    let mut bad = all.clone();
    let broadcasts = vec![Broadcast { target: Some(nowhere), ..say("{id}") }];
    bad.of_dialect.app = Some(AppFile { broadcasts, ..AppFile::default() }.into());
    assert_eq!(Config::new(bad).err(), Some(BadOption::Path));

    let cfg = Config::new(all).unwrap();
    let (mut client, mut io) = (Client::new(), Streams::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    let mix = Mix::new([1, 1]);
    let mut seen = [0; 2];
    for seq in 0..20 {
        let stamp = Stamp::new(1, 2, seq, 3, 4);
        // All but the first wait for the answer to the one before.
        client.send(&cfg, 4, 0, Kind::Broadcast, stamp, &mut io);
    }
    for seq in 0..20 {
        let request = String::from_utf8(std::mem::take(&mut io.out)).unwrap();
        let kind = mix.kind(1, 2, seq);
        let (head, body) =
            [("POST /notes HTTP/1.1\r\n", "\r\n\r\nnote "), ("POST /news?at=once ", "\r\n\r\nnews ")][kind];
        assert!(request.starts_with(head) && request.contains(body), "{kind}: {request}");
        seen[kind] += 1;
        client.handle_input(&cfg, 5, 0, OK.as_bytes(), &mut io, &mut |_| ()).unwrap();
    }
    assert!(seen.iter().all(|&count| count > 5), "{seen:?}");
}

#[test]
fn published_messages_have_their_senders_numbers() {
    let text = "{seq} {uuid} {id}";
    let body = Template::parse(text, Purpose::Measured, &Names::default(), Quoting::JSON).unwrap();
    let broadcasts = vec![Broadcast::of(Say { body, ..Say::default() })];
    let mut all = options(DialectId::Http);
    all.of_dialect.app = Some(AppFile { broadcasts, ..AppFile::default() }.into());
    let http = HttpOptions { method: "PUT".into(), pipelining: 2, ..HttpOptions::default() };
    all.of_dialect.settings = http.into();
    let cfg = Config::new(all).unwrap();
    let (mut client, mut io) = (Client::new(), Streams::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    for number in [3, 5] {
        client.send(&cfg, 9_000_000, 0, Kind::Broadcast, stamp(number), &mut io);
    }
    let sent = |io: &mut Streams| -> Vec<(String, String)> {
        let out = String::from_utf8(std::mem::take(&mut io.out)).unwrap();
        let bodies = out.split("\r\n\r\n").skip(1);
        let words = bodies.map(|body| body.split(' ').map(str::to_owned));
        words.map(|mut words| (words.next().unwrap(), words.next().unwrap())).collect()
    };
    let first = sent(&mut io);
    assert_eq!(first.iter().map(|(seq, _)| &seq[..]).collect::<Vec<_>>(), ["3", "5"]);
    assert_ne!(first[0].1, first[1].1);

    // The second is sent again over another connection.
    client.handle_input(&cfg, 9_000_000, 0, OK.as_bytes(), &mut io, &mut |_| ()).unwrap();
    client.handle_eof(&cfg, 9_000_000, 0, &mut io, &mut |_| ()).unwrap();
    client.handle_open(&cfg, 9_000_000, 0, &mut io);
    client.send(&cfg, 9_000_000, 0, Kind::Broadcast, stamp(8), &mut io);
    assert_eq!(sent(&mut io).iter().map(|(seq, _)| &seq[..]).collect::<Vec<_>>(), ["5", "8"]);
}
