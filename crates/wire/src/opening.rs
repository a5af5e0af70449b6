//! The upgrade of one client's connection to a WebSocket, from its request on.

use codec::http::cookies::Cookies;
use codec::http::head::{Expect, HeadReader};
use codec::http::response::Response;
use codec::ws::receiver::Receiver;
use codec::ws::sender::Sender;
use codec::ws::{End, upgrade};

use crate::failure::Failure;
use crate::request::{Common, UpgradeTerms};

/// Waiting for the answer to the upgrade request.
#[derive(Debug)]
pub(crate) struct Opening {
    asked: UpgradeTerms,
    head: HeadReader,
}

/// A WebSocket, on which nothing has been said yet.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

impl Opening {
    /// After a request for this.
    pub(crate) fn new(asked: UpgradeTerms) -> Opening {
        Opening { asked, head: HeadReader::default() }
    }

    /// The WebSocket, once the server's answer is whole and good; the answer may set cookies.
    pub(crate) fn handle_input(
        &mut self,
        common: &Common,
        cookies: &mut Cookies,
        input: &mut &[u8],
    ) -> Result<Option<Socket>, Failure> {
        let options = common.options();
        loop {
            let Some((head, lines)) = self.head.read(Expect::Response, &options.limits, input)? else {
                return Ok(None);
            };
            let response = Response::parse(head, lines)?;
            // Interim answers (RFC 9110 §15.2) may precede the final one; the handshake's deadline bounds
            // them.
            if matches!(response.status, 100 | 102..=199) {
                continue;
            }
            let UpgradeTerms { key, offered } = &self.asked;
            let offered = offered.as_ref().unwrap_or(&options.subprotocols);
            let agreed = upgrade::verify(&response, key, offered, options.deflate)?;
            cookies.handle_all(&response.fields)?;
            let level = options.deflate.map_or(0, |deflate| deflate.level);
            let (inflater, deflater) = agreed.map(|a| a.codecs(End::Client, level)).unzip();
            return Ok(Some(Socket {
                receiver: Receiver::new(End::Client, inflater),
                sender: Sender::new(End::Client, deflater),
            }));
        }
    }
}
