//! The upgrade of one client's connection to a WebSocket, from its request on.

use crate::config::Config;
use crate::failure::Failure;
use crate::http::head::{Expect, HeadReader};
use crate::http::response::Response;
use crate::ws::End;
use crate::ws::receiver::Receiver;
use crate::ws::sender::Sender;
use crate::ws::upgrade::{self, Key};

/// Waiting for the answer to the upgrade request.
#[derive(Debug)]
pub(crate) struct Opening {
    key: Key,
    head: HeadReader,
}

/// A WebSocket, on which nothing has been said yet.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

impl Opening {
    /// After a request with this key.
    pub(crate) fn new(key: Key) -> Opening {
        Opening { key, head: HeadReader::default() }
    }

    /// The WebSocket, once the server's answer is whole and good.
    pub(crate) fn handle_input(
        &mut self,
        cfg: &Config,
        input: &mut &[u8],
    ) -> Result<Option<Socket>, Failure> {
        let options = cfg.options();
        loop {
            let Some((head, lines)) = self.head.read(Expect::Response, &options.limits, input)? else {
                return Ok(None);
            };
            let response = Response::parse(head, lines)?;
            // Interim answers (RFC 9110 §15.2) may precede the final one; the handshake's deadline bounds them.
            if matches!(response.status, 100 | 102..=199) {
                continue;
            }
            let agreed =
                upgrade::verify(&response, &self.key, &options.subprotocols, options.deflate.is_some())?;
            let level = options.deflate.map_or(0, |deflate| deflate.level);
            let (inflater, deflater) = agreed.map(|a| a.codecs(End::Client, level)).unzip();
            return Ok(Some(Socket {
                receiver: Receiver::new(End::Client, inflater),
                sender: Sender::new(End::Client, deflater),
            }));
        }
    }
}
