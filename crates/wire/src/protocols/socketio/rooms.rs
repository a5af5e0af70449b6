//! Names of rooms, in packets and in URLs, and the rooms that they stand for.

use codec::http::query;
use codec::json;
use codec::json::scan::Scan;

use super::version::Version;
use crate::dialect_id::DialectId;
use crate::room;
use crate::room::Room;

/// The hash of the room's name in an event's first argument; 0 if there is none.
pub(crate) fn first_of(arguments: &[u8]) -> u64 {
    let array = [b"[", arguments.strip_prefix(b",").unwrap_or(arguments), b"]"].concat();
    let mut name = None;
    json::array(&array, |item| name = name.or(Some(hash(item))));
    name.unwrap_or(0)
}

/// The hash of a broadcast's room, if it names one: in the first member of its first argument.
pub(crate) fn room_of_broadcast(event: &[u8], arguments: &[u8]) -> Option<u64> {
    let named = arguments.strip_prefix(br#",{"room":"#).filter(|_| event == b"broadcast")?;
    Scan::new(named).string().map(hash)
}

/// The hash of a room's name. A string in a packet counts as it is written, without its quotes: as in a URL.
pub(crate) fn hash(name: &[u8]) -> u64 {
    let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name);
    Room::of(DialectId::Socketio, 0, name).topic
}

/// The hash of the room in a session's URL, as `?room=NAME`; 0 if there is none.
pub(crate) fn room_at(target: &str) -> u64 {
    query::param(target, room::PARAM).map_or(0, |name| hash(name.as_bytes()))
}

/// The room of those with a WebSocket: one for each way in which attachments are sent.
pub(crate) fn room(version: Version, namespace: &[u8]) -> Room {
    Room::of(DialectId::Socketio, version as u8, namespace)
}

/// The room of the sessions over requests. Its broadcasts are packets, each with a separator before it.
pub(crate) fn room_of_sessions(namespace: &[u8]) -> Room {
    Room::of_sessions(DialectId::Socketio, namespace)
}
