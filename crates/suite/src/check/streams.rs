//! Checks of what comes in pieces: a streamed answer, and what is published to an event stream.

use wire::{EndMark, Event, HttpOptions, Progress, StreamForm, StreamOptions};

use crate::visit::{self, ANSWER_MAX};

/// Events of the answer at the place of streams, its end mark apart.
const EVENTS: usize = 100;

/// Checks the answer at this URL: all of its events, and its mark as the last.
pub(super) fn answer(url: &str) -> Result<(), String> {
    let stream = StreamOptions {
        form: Some(StreamForm::Events),
        end: Some(EndMark::Data("[DONE]".into())),
        ..StreamOptions::default()
    };
    let http =
        HttpOptions { expect_status: vec![(200, 200)], stream: Some(stream), ..HttpOptions::default() };
    let told = visit::ask(url, None, http, ANSWER_MAX)?;
    let count = |wanted: fn(&Progress) -> bool| {
        let is_wanted =
            |event: &&Event| matches!(event, Event::Progress { progress, .. } if wanted(progress));
        told.iter().filter(is_wanted).count()
    };
    let events = count(|progress| matches!(progress, Progress::Event { .. }));
    if events != EVENTS {
        return Err(format!("{events} events, not {EVENTS}"));
    }
    match count(|progress| *progress == Progress::Ended { is_marked: true }) {
        1 => Ok(()),
        _ => Err("the last event is not [DONE]".to_owned()),
    }
}

/// Has the server of this event stream tell all of its clients a text.
pub(super) fn publish(url: &str, text: &str) -> Result<(), String> {
    let root = url.split('/').take(3).collect::<Vec<_>>().join("/");
    let http = HttpOptions { method: "POST".into(), body: Some(text.into()), ..HttpOptions::default() };
    let told = visit::ask(&format!("{root}/publish/1"), None, http, ANSWER_MAX);
    told.map(drop).map_err(|why| format!("POST /publish/1: {why}"))
}
