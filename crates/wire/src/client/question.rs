//! The question that a client asks by a plain request before it opens its transport, over the connection that
//! it opens it on.

use app::template::ClientContext;
use codec::http::cookies::Cookies;
use codec::http::{Exchange, ResponseEvent};
use codec::{Error, Limits};

use crate::config::Config;
use crate::failure::Failure;
use crate::io::Io;
use crate::request::Plain;

/// The question, on stream 0.
#[derive(Debug)]
pub(super) struct Question {
    exchange: Exchange,
    cookies: Cookies,
}

impl Question {
    /// Asks for what is at `place`, below the path.
    pub(super) fn ask(cfg: &Config, place: &str, context: ClientContext<'_>, io: &mut impl Io) -> Question {
        let mut exchange = Exchange::connecting(0);
        exchange.handle_open(io);
        exchange.request(io, |out| cfg.common.write_plain(out, context, &Plain::get(place, "")));
        Question { exchange, cookies: context.cookies.clone() }
    }

    /// The cookies that the client has by now: a balancer sets one to know it again.
    pub(super) fn take_cookies(&mut self) -> Cookies {
        std::mem::take(&mut self.cookies)
    }

    /// Takes bytes of the answer. Returns whether the answer is there, and the connection too.
    pub(super) fn handle_input(
        &mut self,
        limits: &Limits,
        mut input: &[u8],
        io: &mut impl Io,
    ) -> Result<bool, Failure> {
        while let Some(got) = self.exchange.next(limits, &mut input, &mut self.cookies, io)? {
            match got {
                ResponseEvent::Head { status: 200, .. } | ResponseEvent::Data(_) => {}
                ResponseEvent::Head { status, .. } => return Err(Failure::Codec(Error::HttpStatus(status))),
                ResponseEvent::End if self.exchange.is_open() => return Ok(true),
                // The server has closed behind its answer, as it may: the transport opens on a new
                // connection.
                ResponseEvent::End => io.open_stream(0),
            }
        }
        Ok(false)
    }

    /// Handles the end of the connection: where the answer is there, the transport opens on another.
    pub(super) fn handle_eof(&mut self, io: &mut impl Io) -> Result<(), Failure> {
        // An answer without a length ends here; elsewhere the question has been answered, and another
        // connection is on its way.
        if self.exchange.handle_eof(io)? {
            io.open_stream(0);
        }
        Ok(())
    }
}
