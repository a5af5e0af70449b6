//! The messages of an app, taken out of the protocol that carries them. Each protocol is a file that looks
//! for its own signs.

mod cable;
mod events;
mod graphql;
mod graphql_legacy;
mod phoenix;
mod plain;
mod socketio;
mod sockjs;
pub(crate) mod stomp;
mod turn;

pub(crate) use turn::{Carried, Turn};

use crate::recording::Recording;

/// Recognises the protocol and takes the app's messages out of it.
pub(crate) fn read(recording: &Recording) -> Carried {
    let readers = [
        events::read,
        socketio::read,
        cable::read,
        phoenix::read,
        graphql::read,
        graphql_legacy::read,
        sockjs::read as fn(&_) -> Option<_>,
    ];
    readers.iter().find_map(|read| read(recording)).unwrap_or_else(|| plain::read(recording))
}
