//! Properties that hold for any bytes: an event or an error, never a panic, and the same in any portions.

use app::Kind;
use codec::{DeflateOptions, Found, Limits, Stamp, stamp};
use proptest::prelude::*;
use wire::{Client, Config, DialectId, Event, Options, Payload, ServerConfig};

use crate::common::*;

fn small() -> Limits {
    Limits { message_bytes_max: 4096, frame_bytes_max: 2048, fragments_max: 8, ..Limits::default() }
}

fn server_cfg() -> ServerConfig {
    ServerConfig { limits: small(), deflate: Some(DeflateOptions::default()), ..ServerConfig::default() }
}

/// Bytes that look like frames, mostly: random ones would fail on their first byte.
fn frames(masked: bool) -> impl Strategy<Value = Vec<u8>> {
    let first =
        prop::sample::select(vec![0x81u8, 0x82, 0x01, 0x00, 0x80, 0x88, 0x89, 0x8a, 0xc1, 0x41, 0xff, 0x83]);
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[a-z\"{}:]{0,300}".prop_map(String::into_bytes),
        Just(br#"{"type":"broadcast","payload":{}}"#.to_vec()),
        Just(b"\xf2\x48\xcd\xc9\xc9\x07\x00".to_vec()),
        Just(b"\x03\xe8".to_vec()),
    ];
    let one = (first, payload, any::<[u8; 4]>(), 0..100u8).prop_map(move |(first, payload, key, odd)| {
        let wrong_mask = odd == 0;
        frame(first, (masked != wrong_mask).then_some(key), &payload)
    });
    prop::collection::vec(one, 0..8).prop_map(|frames| frames.concat())
}

fn portions<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let ends = cuts.iter().copied().chain([bytes.len()]);
    let mut start = 0;
    ends.map(|end| &bytes[std::mem::replace(&mut start, end)..end]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_server_given_any_frames(frames in frames(true), cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let cfg = server_cfg();
        let extension = request("Sec-WebSocket-Extensions: permessage-deflate\r\n");
        let bytes = [extension.as_bytes(), &frames].concat();
        let whole = serve_portions(&cfg, &[&bytes]);
        prop_assert_eq!(&serve_portions(&cfg, &portions(&bytes, &cuts)), &whole);
        if let Err(failure) = whole.result {
            let close = plain(0x88, &failure.close_code().unwrap().to_be_bytes());
            prop_assert!(whole.out.ends_with(&close), "{:?}", failure);
        }
    }

    #[test]
    fn a_client_given_any_frames(frames in frames(false), cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let deflate = Some(DeflateOptions::default());
        let cfg = Config::new(Options { limits: small(), deflate, ..options(DialectId::Json) }).unwrap();
        let run = |cuts: &[usize]| {
            let (mut client, mut io, answer) =
                opening(&cfg, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
            let bytes = [&answer[..], &frames].concat();
            let (mut events, mut result) = (vec![], Ok(()));
            for portion in portions(&bytes, cuts) {
                result = client.handle_input(&cfg, 0, 0, portion, &mut io, &mut |e| events.extend(e.each()));
                if result.is_err() {
                    break;
                }
            }
            Outcome { events, out: io.out, result, reason: io.reason }
        };
        prop_assert_eq!(run(&cuts), run(&[]));
    }

    #[test]
    fn a_client_given_its_echoes_in_any_order(
        form in prop::sample::select(vec![(DialectId::Raw, false), (DialectId::Raw, true), (DialectId::Json, false)]),
        echoes in prop::collection::vec((0u32..6, any::<usize>(), 0u8..10), 0..20),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let (dialect, text) = form;
        let payload = Payload { text, padding: None };
        let cfg = Config::new(Options { payload, ..options(dialect) }).unwrap();
        let first = if text || dialect == DialectId::Json { 0x81 } else { 0x82 };
        let mut number = 0;
        let frame = |&(step, at, what): &(u32, usize, u8)| {
            // Mostly the next one; now and then another, a damaged one, one in two frames, or something
            // between.
            number = if step == 0 { at as u32 % 40 } else { number + 1 };
            let mut message = message(&cfg, Kind::Echo, stamp(7).after(number));
            let at = at % message.len();
            match what {
                0 => message[at] ^= 1,
                1 => return [plain(first & 0x0f, &message[..at]), plain(0x80, &message[at..])].concat(),
                2 => return [plain(0x89, b"?"), plain(first, &message)].concat(),
                _ => {}
            }
            plain(first, &message)
        };
        let frames: Vec<u8> = echoes.iter().flat_map(frame).collect();
        let run = |portions: Vec<&[u8]>| {
            let (mut client, mut io, answer) = opening(&cfg, "");
            client.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
            let (mut events, mut series) = (vec![], 0);
            for portion in portions {
                let on = &mut |event: Event| {
                    series += usize::from(matches!(event, Event::Series { .. }));
                    events.extend(event.each());
                };
                client.handle_input(&cfg, 0, 0, portion, &mut io, on).unwrap();
            }
            (events, series)
        };
        let (one_by_one, series) = run(frames.chunks(1).collect());
        prop_assert_eq!(series, 0);
        prop_assert_eq!(&run(portions(&frames, &cuts)).0, &one_by_one);
        prop_assert_eq!(&run(vec![&frames]).0, &one_by_one);
    }

    #[test]
    fn a_server_given_any_request(
        method in "(GET|POST|HEAD|[A-Z]{1,9}|\\PC{0,4})",
        target in "(/|/[a-z?&=]{0,9}|\\*|http://h/|\\PC{0,9})",
        fields in prop::collection::vec(
            "(Host: h|Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==|\
             Sec-WebSocket-Version: 13|Content-Length: [0-9]{1,3}|Transfer-Encoding: chunked|[A-Za-z-]{1,9}: [ -~]{0,9}|\
             \\PC{0,20})", 0..8),
        end in prop::sample::select(vec!["\r\n", "\n", "\r"]),
        body in prop::collection::vec(any::<u8>(), 0..60),
        cuts in prop::collection::vec(any::<usize>(), 0..9),
    ) {
        let head = format!("{method} {target} HTTP/1.1{end}{}{end}", fields.iter().map(|f| format!("{f}{end}")).collect::<String>());
        let bytes = [head.as_bytes(), &body].concat();
        let cfg = server_cfg();
        let whole = serve_portions(&cfg, &[&bytes]);
        prop_assert_eq!(serve_portions(&cfg, &portions(&bytes, &cuts)), whole);
    }

    #[test]
    fn a_client_given_any_answer(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        "HTTP/1\\.1 (101|200|[0-9]{3}) [ -~]{0,9}\r\n((Upgrade: websocket|Connection: Upgrade|[ -~\r\n]{0,20})\r\n){0,5}\r\n"
            .prop_map(String::into_bytes),
    ]) {
        let cfg = Config::new(options(DialectId::Raw)).unwrap();
        let run = |step: usize| {
            let (mut client, mut io) = (Client::new(), Fake::default());
            client.handle_open(&cfg, 0, 0, &mut io);
            bytes.chunks(step).try_for_each(|b| client.handle_input(&cfg, 0, 0, b, &mut io, &mut |_| {}))
        };
        prop_assert_eq!(run(1), run(usize::MAX));
    }

    #[test]
    fn a_stamp_comes_back_whatever_surrounds_it(
        worker: u16, client in 0u32..1 << 24, seq: u32, intended_ns in 0..u64::MAX / 2, lag_ns in 0..2_000_000_000u64,
        before in "[ -~]{0,40}", after in "[ -~]{0,40}",
    ) {
        let mark = Stamp::new(worker, client, seq, intended_ns, intended_ns + lag_ns);
        let bytes = [before.as_bytes(), &mark.to_text(), after.as_bytes()].concat();
        prop_assert_eq!(stamp::find(&bytes), Found::At { stamp: mark, offset: before.len() });
        let bytes = [&mark.to_binary()[..], after.as_bytes()].concat();
        prop_assert_eq!(stamp::read_binary(&bytes), Found::At { stamp: mark, offset: 0 });
        prop_assert!(mark.sent_ns() <= intended_ns + lag_ns);
    }

    #[test]
    fn any_bytes_may_be_searched_for_a_stamp(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(stamp::find(&bytes), Found::None);
        prop_assert_eq!(stamp::read_binary(&bytes), Found::None);
    }
}
