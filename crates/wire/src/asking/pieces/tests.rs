//! Answers in any portions: their events, end marks, tokens, and what is wrong with them.

use codec::{Limits, Stamp};
use secret::Secret;

use super::{BodyKind, PieceRules, Pieces};
use crate::asking::options::HttpOptions;
use crate::asking::streaming::{EndMark, StreamForm, StreamOptions};
use crate::carried::ProtocolEvent;
use crate::event::{Event, Progress, WrongResponse};
use crate::failure::Media;

/// The progress of an answer with this body, in portions of `step` bytes, each a read of its own.
fn read(stream: &StreamOptions, body: &[u8], step: usize) -> Vec<Progress> {
    let (progress, wrong) = read_of(stream, &[], "", body, step);
    assert_eq!(wrong, []);
    progress
}

/// The same of a body of this type, and what is wrong with the answer.
fn read_of(
    stream: &StreamOptions,
    fields: &[(String, Secret)],
    media: &str,
    body: &[u8],
    step: usize,
) -> (Vec<Progress>, Vec<WrongResponse>) {
    let http = HttpOptions { stream: Some(stream.clone()), ..HttpOptions::default() };
    let rules = PieceRules::new(&http, fields).unwrap().unwrap();
    let (mut pieces, mut told, mut wrong) = (Pieces::default(), Vec::new(), Vec::new());
    let on = &mut |event: ProtocolEvent<'_>| match event {
        ProtocolEvent::Event(Event::Progress { request: 7, progress }) => told.push(progress),
        ProtocolEvent::Event(Event::WrongResponse(response)) => wrong.push(response),
        other => panic!("{other:?}"),
    };
    let stamp = Stamp::new(0, 0, 7, 5, 6);
    let mut kind = BodyKind::default();
    if !media.is_empty() {
        kind.handle_field(b"Content-Type", media.as_bytes());
    }
    pieces.begin(&rules, kind, stamp, on);
    for (read, portion) in (1..).zip(body.chunks(step)) {
        pieces.handle_data(&rules, &Limits::default(), read, portion, on).unwrap();
    }
    pieces.finish(&rules, on);
    assert!(!pieces.is_open());
    assert_eq!(told.remove(0), Progress::Begun { stamp });
    (told, wrong)
}

fn event(tokens: u32, is_misordered: bool) -> Progress {
    Progress::Event { tokens, is_misordered }
}

fn options(form: StreamForm, end: &str) -> StreamOptions {
    StreamOptions {
        form: Some(form),
        end: Some(EndMark::parse(end)),
        tokens: Some("/text".into()),
        order: Some("/n".into()),
        ..StreamOptions::default()
    }
}

#[test]
fn events_in_any_portions() {
    let body =
        b"data: {\"n\":0,\"text\":\"\"}\n\nevent: delta\r\ndata: {\"n\":2,\"text\":\"a\"}\r\n\r\n: ping\n\n\
        data: {\"n\":1,\"text\":\"b\"}\n\ndata: [DONE]\n\ndata: [DONE]\n\n";
    let expected = [
        event(0, false),
        event(1, false),
        event(1, true),
        Progress::AfterEnd,
        Progress::Ended { is_marked: true },
    ];
    for step in 1..=body.len() {
        assert_eq!(read(&options(StreamForm::Events, "[DONE]"), body, step), expected, "{step}");
    }
}

#[test]
fn lines_in_any_portions() {
    // The last one has no end, and the third is empty.
    let body = b"{\"n\":0,\"text\":\"a\"}\r\n{\"n\":1,\"text\":7}\n\n\x1e{\"n\":2,\"done\":true}";
    let expected = [event(1, false), event(7, false), event(0, false), Progress::Ended { is_marked: true }];
    for step in 1..=body.len() {
        assert_eq!(read(&options(StreamForm::Lines, "/done=true"), body, step), expected, "{step}");
    }
}

#[test]
fn chunks_of_a_read_are_one_event() {
    let told = read(&options(StreamForm::Chunks, "[DONE]"), b"abcdef", 2);
    assert_eq!(
        told,
        [event(0, false), event(0, false), event(0, false), Progress::Ended { is_marked: false }]
    );
}

#[test]
fn marks_by_type_and_by_pointer() {
    let body = b"data: {\"result\":null}\n\nevent: stop\ndata: {\"result\":{}}\n\n";
    let told = |end| read(&options(StreamForm::Events, end), body, body.len());
    let marked = Progress::Ended { is_marked: true };
    assert_eq!(told("event:stop"), [event(0, false), marked], "it is no event of its own");
    assert_eq!(told("/result"), [event(0, false), event(0, false), marked]);
    assert_eq!(told("/result=1").last(), Some(&Progress::Ended { is_marked: false }));
}

#[test]
fn answers_that_are_no_streams_are_wrong() {
    let [html, json] = [Media::Html, Media::Json].map(WrongResponse::NotStream);
    let (error, none) = (WrongResponse::ErrorEvent, WrongResponse::NoEvents);
    let (usual, as_json) =
        (&[][..], &[("Accept".to_owned(), Secret::from("application/json, text/event-stream"))][..]);
    for (form, fields, media, body, expected) in [
        (None, usual, "text/html", "<p>", Some(html)),
        (Some(StreamForm::Events), usual, "text/html", "<p>", Some(html)),
        (Some(StreamForm::Chunks), usual, "text/html", "<p>", None),
        (None, usual, "application/json", r#"{"a":1}"#, Some(json)),
        (None, as_json, "application/json", r#"{"result":{}}"#, None),
        (None, as_json, "application/json", r#"{"error":{"code":-1}}"#, Some(error)),
        (Some(StreamForm::Lines), usual, "application/json", r#"{"a":1}"#, None),
        (None, usual, "application/stream+json", "{}", None),
        (None, usual, "text/event-stream", ": ping\n\n", Some(none)),
        (None, usual, "", "", Some(none)),
        (None, usual, "text/event-stream", "data: [DONE]\n\n", None),
        (None, usual, "text/event-stream", "event: error\ndata: {}\n\ndata: 1\n\n", Some(error)),
        (None, usual, "text/event-stream", "data: {\"error\":null,\"t\":\"\\\"error\\\"\"}\n\n", None),
        (None, usual, "application/x-ndjson", "{\"error\":\"no\"}\n{\"error\":\"no\"}", Some(error)),
    ] {
        let end = Some(EndMark::parse("[DONE]"));
        let stream = StreamOptions { form, end, ..StreamOptions::default() };
        for step in [1, body.len().max(1)] {
            let (_, wrong) = read_of(&stream, fields, media, body.as_bytes(), step);
            assert_eq!(wrong, Vec::from_iter(expected), "{media}: {body} by {step}");
        }
    }
}

#[test]
fn json_that_was_asked_for_is_one_event() {
    let fields = [("Accept".to_owned(), Secret::from("application/json"))];
    let stream = StreamOptions { tokens: Some("/text".into()), ..StreamOptions::default() };
    let body = br#"{"id":1,"text":"ab"}"#;
    for step in 1..=body.len() {
        let (told, _) = read_of(&stream, &fields, "application/json", body, step);
        assert_eq!(told, [event(1, false), Progress::Ended { is_marked: true }], "{step}");
    }
}

#[test]
fn media_types_name_their_form() {
    let form = |media: &[u8]| StreamForm::of_media(media);
    assert_eq!(form(b"Text/Event-Stream; charset=utf-8"), StreamForm::Events);
    assert_eq!(form(b"application/x-ndjson"), StreamForm::Lines);
    assert_eq!(form(b"text/plain"), StreamForm::Chunks);
}
