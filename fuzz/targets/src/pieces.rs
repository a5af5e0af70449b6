//! Any bytes as answers that come in pieces: the same events in any portions, and nothing held beyond the limits.

use crate::support::{Fake, check_portions, choose, options, split};
use app::Kind;
use codec::Stamp;
use wire::{
    Client, Config, DialectId, EndMark, Event, HttpOptions, Options, Payload, StreamForm, StreamOptions,
};

/// Heads before the input: of HTTP/1.1 the body ends with the connection; of HTTP/2 a stream is asked for,
/// whose head is this.
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
const GREETING: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
const HEAD2: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88";
const REQUESTS: u32 = 3;

/// Feeds one input: the byte behind that of the portions chooses version, form and end mark.
pub fn run(data: &[u8]) {
    let Some((step, bytes)) = split(data) else { return };
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let is_second = choice & 1 == 1;
    let (form, mark) = choose(
        &[
            (StreamForm::Events, "[DONE]"),
            (StreamForm::Lines, "/done=true"),
            (StreamForm::Events, "event:end"),
            (StreamForm::Lines, "/a/0"),
        ],
        choice >> 1,
    );
    let stream = StreamOptions {
        form: Some(form),
        end: Some(EndMark::parse(mark)),
        tokens: Some("/a".into()),
        order: Some("/n".into()),
        ..StreamOptions::default()
    };
    let (dialect, pipelining) = if is_second { (DialectId::Http2, REQUESTS) } else { (DialectId::Http, 1) };
    let mut all = Options { payload: Payload::default(), ..options(dialect, "/") };
    all.of_dialect.settings =
        HttpOptions { pipelining, stream: Some(stream), ..HttpOptions::default() }.into();
    let cfg = Config::new(all).expect("good options");
    check_portions(bytes, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(&cfg, 0, 0, &mut io);
        let mut handle = |client: &mut Client, io: &mut Fake, portion: &[u8]| {
            // The time of each read is the same, as chunks of a read are one event.
            client.handle_input(&cfg, 0, 0, portion, io, &mut |event| events.push(event))
        };
        if is_second {
            handle(&mut client, &mut io, GREETING).expect("a good greeting");
        }
        for number in 0..REQUESTS {
            client.send(&cfg, 0, 0, Kind::Echo, Stamp::new(0, 0, number, 0, 0), &mut io);
        }
        handle(&mut client, &mut io, if is_second { HEAD2 } else { HEAD }).expect("a good head");
        let result = portions.iter().try_for_each(|portion| handle(&mut client, &mut io, portion));
        let result =
            result.and_then(|()| client.handle_eof(&cfg, 0, 0, &mut io, &mut |event| events.push(event)));
        // An answer of bytes has at most as many events as lines.
        let pieces = events.iter().filter(|event| matches!(event, Event::Progress { .. })).count();
        assert!(pieces <= bytes.len() + 2 * REQUESTS as usize, "{pieces} of {} bytes", bytes.len());
        (io.out, events, result)
    });
}
