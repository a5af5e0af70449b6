//! How far a client has come, and whether it can go on.

use super::{Client, State};
use crate::apps::App;
use crate::config::Config;
use crate::failure::Failure;

impl Client {
    /// Returns whether nothing has been said yet: its first connection does not stand.
    pub fn is_new(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Returns whether more of what it has said waits for the server to have room for it than is kept: the
    /// server does not read.
    #[inline]
    pub fn is_overfull(&self) -> bool {
        match &self.state {
            State::Tunnelled(of) => of.tunnel.is_overfull(),
            State::Requesting(protocol) => protocol.is_overfull(),
            _ => false,
        }
    }

    /// Returns whether its connection of HTTP/2 is of no further use.
    fn has_failed(&self) -> bool {
        matches!(&self.state, State::Tunnelled(of) if of.tunnel.has_failed())
    }

    /// Returns whether it logs in.
    pub fn is_logging_in(&self) -> bool {
        matches!(self.state, State::LoggingIn(_))
    }

    /// Returns whether the server has granted the WebSocket, or is asked without one: what is missing then is
    /// the protocol's.
    pub fn is_open(&self) -> bool {
        matches!(self.speaker().state, State::Open(_) | State::Requesting(_))
    }

    /// The failure if the server withholds something without which nothing more can be sent: streams or
    /// windows of HTTP/2.
    pub fn withheld(&self) -> Option<Failure> {
        match &self.state {
            State::Tunnelled(of) => of.tunnel.withheld(),
            State::Requesting(protocol) => protocol.withheld(),
            _ => None,
        }
    }

    /// The step of the app's own opening at which it is, from 1; `None`: at none.
    pub fn opening_step(&self, cfg: &Config) -> Option<usize> {
        let App::File(compiled) = &cfg.app else { return None };
        compiled.opening_step(&self.speaker().place.as_ref()?.script)
    }

    /// Returns whether messages may be sent.
    pub fn is_usable(&self) -> bool {
        let Client { state, place } = self.speaker();
        let may_speak = !self.has_failed()
            && match state {
                State::Open(session) => !session.sender.is_closed() && session.protocol.is_ready(),
                State::Requesting(protocol) => protocol.is_ready(),
                _ => false,
            };
        may_speak && place.as_ref().is_none_or(|place| place.script.is_usable())
    }

    /// Returns whether no goodbye is to be waited for: none is owed, or there is no way to say one.
    pub fn is_closed(&self) -> bool {
        match &self.speaker().state {
            State::Open(session) => session.receiver.is_closed(),
            State::Requesting(protocol) => protocol.is_closed(),
            _ => true,
        }
    }
}
