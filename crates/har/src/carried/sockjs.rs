//! SockJS: messages in arrays of texts, below a path of server and session.

use super::stomp;
use super::turn::{Carried, Turn};
use crate::json::{items, text_of};
use crate::recording::Recording;

pub(super) fn read(recording: &Recording) -> Option<Carried> {
    let socket = &recording.socket;
    let base = socket.url.path().strip_suffix("/websocket")?;
    let is_open = socket.frames.iter().any(|text| !text.is_sent && &*text.text == "o");
    let (base, _session) = base.rsplit_once('/').filter(|_| is_open)?;
    let (base, _server) = base.rsplit_once('/')?;
    let turns = socket.frames.iter().flat_map(|text| {
        let array = if text.is_sent { Some(&*text.text) } else { text.text.strip_prefix('a') };
        let messages = array.and_then(items).unwrap_or_default();
        let said = |body| if text.is_sent { stomp::said(body) } else { Some(body) };
        let bodies = messages.into_iter().filter_map(text_of).filter_map(said);
        bodies.map(|body| Turn::of(text, body)).collect::<Vec<_>>()
    });
    let turns: Vec<Turn> = turns.collect();
    let is_stomp = stomp::is_spoken(turns.iter().map(|turn| turn.body.as_str()));
    Some(Carried {
        protocol: "sockjs",
        speaks: is_stomp.then_some("STOMP"),
        path: Some(base.to_owned()),
        turns,
        ..Carried::default()
    })
}
