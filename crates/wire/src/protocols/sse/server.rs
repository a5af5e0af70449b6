//! The server's side: which stream a request is for, and what is told to all streams of a room.

use codec::event_stream;
use codec::http::answer::{AnswerHead, cors};
use codec::http::{query, request};
use codec::ws::upgrade;

use super::session::{Request, id_of, room};
use crate::event::{OnServerEvent, ServerEvent};
use crate::io::Io;
use crate::publication::Publication;
use crate::room;
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, SessionHead};

/// Tells a room's streams an event with the payload as its data; where there is a history, with its number as
/// its id.
pub(super) fn publish(
    cfg: &ServerConfig,
    now_ns: u64,
    publication: &Publication<'_>,
    on: &mut impl OnServerEvent,
) {
    let room = room(publication.in_url);
    let event = |id: &str| {
        let mut event = Vec::new();
        event_stream::write_event(&mut event, id.as_bytes(), publication.payload);
        event
    };
    let event = match &cfg.history {
        None => event(""),
        Some(history) => history.add(room, now_ns, |number| vec![event(&id_of(history, number))])[0].clone(),
    };
    on(ServerEvent::Rebroadcast { room, frame: &event });
}

/// The answer to a request that is no upgrade: a stream, for as long as its connection lasts.
pub(super) fn plain_answer(
    cfg: &ServerConfig,
    now_ns: u64,
    request: &request::Request<'_>,
    io: &mut impl Io,
) -> PlainAnswer<SessionHead<Request>> {
    if let Err(status) = upgrade::check_origin(&request.fields, &cfg.origins, 403) {
        return PlainAnswer::Status(status);
    }
    match request.method {
        "GET" => {}
        "OPTIONS" => return PlainAnswer::Methods(204, METHODS),
        _ => return PlainAnswer::Methods(405, METHODS),
    }
    let head = AnswerHead {
        minor: request.minor,
        keep_alive: request.keep_alive() && request.minor >= 1,
        to_head: false,
        date: cfg.date(now_ns),
        fields: ["Cache-Control: no-store\r\n", &cors(request)].concat(),
    };
    let last_id = request.fields.all("last-event-id").next().unwrap_or_default().to_vec();
    // No other request is for this stream: the name cannot be guessed.
    let name = format!("/events/{:016x}{:016x}", io.random_u64(), io.random_u64());
    let room = room(query::param(request.target, room::PARAM).unwrap_or_default());
    let question = Request { head, room, last_id };
    PlainAnswer::OfSession(Box::new(SessionHead {
        name,
        opens: true,
        keep_alive: question.head.keep_alive,
        question,
    }))
}

const METHODS: &str = "GET, OPTIONS";
