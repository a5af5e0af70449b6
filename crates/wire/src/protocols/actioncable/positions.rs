//! How far a client has come in the streams of its subscriptions: the extended protocol, on the client's
//! side, as @anycable/core has it.
//!
//! A message names its stream, the epoch in which it was counted, and its number. The last one that came is
//! how far the client has come, whatever came before. A client that comes back is sent the messages behind
//! that; of streams from which nothing has come yet, it is sent the messages since the server was last known
//! to be there.

use app::template::{Filling, Template};
use codec::json::{self, decimal, members, string};

use super::parts::Parts;
use crate::resumption::{Position, Resumption};

/// More streams of one client are not kept track of, nor longer names: a server is not to fill the memory.
const POSITIONS_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 128;

/// The session that is named in the query, for the server to restore it.
pub(super) fn query(resumption: &Resumption) -> Option<String> {
    let session = std::str::from_utf8(&resumption.session).ok().filter(|session| !session.is_empty())?;
    Some(format!("sid={session}"))
}

/// The resumption kept of a session of this name.
pub(super) fn known_of(sid: &[u8], before: Option<Resumption>, now_s: u64) -> Resumption {
    let is_sendable = |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let is_name = sid.len() <= NAME_BYTES_MAX && sid.iter().all(is_sendable);
    let session = if is_name { sid.to_vec() } else { Vec::new() };
    let known = before.unwrap_or_else(|| Resumption { alive_s: now_s, ..Resumption::default() });
    Resumption { session, ..known }
}

/// Notes how far a message brings the client, if it says so.
#[inline]
pub(super) fn note(
    known: &mut Resumption,
    payload: &[u8],
    parts: &Parts,
    subscription: impl FnOnce(&[u8]) -> Option<usize>,
) {
    if let ([_], [position]) = (&parts.identifiers[..], &mut known.positions[..])
        && let Some(offset) = number_behind(payload, position)
    {
        position.offset = offset;
        return;
    }
    note_elsewhere(&mut known.positions, payload, subscription);
}

/// The number at the end of a message, where AnyCable puts it, if all before it is as in the message before.
#[inline]
fn number_behind(payload: &[u8], position: &Position) -> Option<u64> {
    let text = payload.strip_suffix(b"}")?;
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (text, number) = text.split_at(text.len() - digits);
    let text = text.strip_suffix(br#"","offset":"#)?.strip_suffix(&position.epoch[..])?;
    let text = text.strip_suffix(br#"","epoch":""#)?.strip_suffix(&position.stream[..])?;
    text.ends_with(br#","stream_id":""#).then(|| decimal(number))?
}

/// Notes a message of one of several subscriptions, the first of a stream, or one that is written otherwise.
#[inline(never)]
fn note_elsewhere(
    positions: &mut Vec<Position>,
    payload: &[u8],
    subscription: impl FnOnce(&[u8]) -> Option<usize>,
) {
    let names = ["identifier", "stream_id", "epoch", "offset"];
    let Some([identifier, stream, epoch, offset]) = members(payload, names) else { return };
    let name = |value| string(value).filter(|name| (1..=NAME_BYTES_MAX).contains(&name.len()));
    let (Some(stream), Some(epoch), Some(offset)) = (name(stream), name(epoch), decimal(offset)) else {
        return;
    };
    let Some(subscription) = string(identifier).and_then(subscription) else { return };
    let is_this = |known: &Position| known.subscription == subscription && known.stream == stream;
    let position = Position { subscription, stream: stream.to_vec(), epoch: epoch.to_vec(), offset };
    match positions.iter().position(is_this) {
        Some(at) => positions[at] = position,
        None if positions.len() < POSITIONS_MAX => positions.push(position),
        None => {}
    }
}

/// Writes a command about a subscription that asks for what was missed.
pub(super) fn write_asking(
    out: &mut Vec<u8>,
    filling: &Filling<'_>,
    command: &str,
    subscription: usize,
    identifier: &Template,
    known: &Resumption,
) {
    codec::io::extend(out, &[br#"{"command":""#, command.as_bytes(), br#"","identifier":""#]);
    identifier.write(out, filling, 0);
    out.extend_from_slice(br#"","history":{"since":"#);
    json::extend_decimal(out, known.alive_s);
    out.extend_from_slice(br#","streams":{"#);
    let own = known.positions.iter().filter(|position| position.subscription == subscription);
    for (at, Position { stream, epoch, offset, .. }) in own.enumerate() {
        let comma: &[u8] = if at > 0 { b"," } else { b"" };
        codec::io::extend(out, &[comma, b"\"", stream, br#"":{"epoch":""#, epoch, br#"","offset":"#]);
        json::extend_decimal(out, *offset);
        out.push(b'}');
    }
    out.extend_from_slice(b"}}}");
}
