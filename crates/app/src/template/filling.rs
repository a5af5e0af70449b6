//! The values that stand in a template's holes: the message's, and those of the client that sends it.

use codec::Stamp;
use codec::http::cookies::Cookies;
use codec::stamp::Lag;

use super::kept::Kept;
use super::table::Table;

/// The filling of the holes of one message, or of a request.
pub struct Filling<'a> {
    /// The message's stamp and the wall clock that it shows.
    pub mark: Mark<'a>,
    /// The number of the message on its connection, from 1; of a request, the number in its stamp.
    pub seq: u32,
    /// The client.
    pub context: ClientContext<'a>,
    /// The bytes that end the message; of a request's head, its body.
    pub tail: &'a [u8],
}

impl<'a> Filling<'a> {
    /// The filling of texts that are no message of the app's.
    #[inline]
    pub fn of(context: ClientContext<'a>) -> Filling<'a> {
        Filling { mark: Mark::NONE, seq: 0, context, tail: b"" }
    }
}

/// A client, and the time at which it says something; 0 where it only receives.
#[derive(Clone, Copy)]
pub struct ClientContext<'a> {
    /// The client's number in the run.
    pub client: u32,
    /// When, on the sessions' clock.
    pub now_ns: u64,
    /// The people that it is one of.
    pub people: &'a dyn PersonData,
    /// The values it was given at its login or in messages.
    pub kept: &'a Kept,
    /// The client's cookies, from its login unless its transport has set others since.
    pub cookies: &'a Cookies,
}

/// Data of people, for the holes that ask for it.
pub trait PersonData {
    /// The rows that clients take in turn.
    fn rows(&self) -> &Table;

    /// The room of a client, of this kind.
    fn room(&self, kind: u16, client: u32) -> u32;

    /// The wall clock at a time of the sessions'.
    fn unix_ns(&self, now_ns: u64) -> u64;

    /// Appends the token of the client that sends the message.
    fn write_token(&self, out: &mut Vec<u8>, filling: &Filling<'_>);
}

/// The marks of a measured message. Templates of others do not ask for it.
#[derive(Clone, Copy)]
pub struct Mark<'a> {
    /// The identity of the message.
    pub stamp: &'a Stamp,
    /// The wall clock that it shows.
    pub unix_ns: u64,
}

impl<'a> Mark<'a> {
    /// The mark that announces a client, if it is announced.
    #[inline]
    pub fn of(announced: Option<&'a Stamp>) -> Mark<'a> {
        announced.map_or(Mark::NONE, |stamp| Mark { stamp, ..Mark::NONE })
    }
}

impl Mark<'_> {
    /// The mark of texts that are not measured.
    pub const NONE: Mark<'static> = Mark {
        stamp: &Stamp { run: 0, worker: 0, client: 0, seq: 0, intended_ns: 0, lag: Lag::NONE },
        unix_ns: 0,
    };
}
