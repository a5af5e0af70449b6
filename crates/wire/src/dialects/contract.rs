//! What a dialect has to do, in each role, and what it is given to do it with.

use crate::config::{Config, ServerConfig};
use crate::event::{Event, Kind, ServerEvent};
use crate::failure::Failure;
use crate::http::request::Request;
use crate::io::Io;
use crate::session::{SessionRequest, Word};
use crate::stamp::Stamp;
use crate::ws::receiver::Message;
use crate::ws::sender::Sender;

/// What a client's dialect acts through.
pub(crate) struct Link<'a, I> {
    pub(crate) cfg: &'a Config,
    /// For dialects with heartbeats and deadlines.
    pub(crate) now_ns: u64,
    /// Which client of the run this is, from 0.
    pub(crate) client: u32,
    pub(crate) sender: &'a mut Sender,
    pub(crate) io: &'a mut I,
}

/// What a server's dialect acts through.
pub(crate) struct ServerLink<'a, I> {
    pub(crate) cfg: &'a ServerConfig,
    /// For dialects with heartbeats and deadlines.
    pub(crate) now_ns: u64,
    pub(crate) sender: &'a mut Sender,
    pub(crate) io: &'a mut I,
}

/// A dialect on the client's side of one connection.
pub(crate) trait ClientDialect {
    /// The upgrade is done. Says what the dialect says first, and [`Event::Usable`] if it is ready at once.
    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, I>, on: &mut impl FnMut(Event));

    /// A message came in.
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        message: &Message<'_>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure>;

    /// Sends a stamped message.
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp);

    /// Whether messages may be sent.
    fn is_usable(&self) -> bool {
        true
    }

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// The time has come.
    fn handle_timeout<I: Io>(
        &mut self,
        _link: &mut Link<'_, I>,
        _on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        Ok(())
    }
}

/// A dialect on the server's side of one connection.
pub(crate) trait ServerDialect: Default {
    /// The state of a connection that asks for an upgrade and would be granted `subprotocol`; or the HTTP status
    /// to refuse it with.
    fn open(_request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Self, u16> {
        Ok(Self::default())
    }

    /// The 101 is written. Says what the dialect says first.
    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, on: &mut impl FnMut(ServerEvent<'_>));

    /// A message came in. It lies at the end of the output as the payload of an unsealed frame that starts at
    /// `start`, so that an echo needs no copy: seal it, or truncate the output and write something else.
    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        text: bool,
        start: usize,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure>;

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// The time has come.
    fn handle_timeout<I: Io>(
        &mut self,
        _link: &mut ServerLink<'_, I>,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// What a session is asked, once [`ServerEvent::Asked`] has said that there is something.
    fn take_request(&mut self) -> Option<SessionRequest> {
        None
    }

    /// The session asked has answered; `None`: it has nothing to say to the connection, or there is no such session.
    fn handle_answered<I: Io>(
        &mut self,
        _link: &mut ServerLink<'_, I>,
        _word: Option<Word>,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// The connection is about to be closed by this side. Says the dialect's last words.
    fn handle_close<I: Io>(&mut self, _link: &mut ServerLink<'_, I>) {}
}
