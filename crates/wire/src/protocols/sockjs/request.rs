//! Questions of requests to the sessions that they name.

use codec::http::answer::{AnswerHead, TEXT};
use codec::http::query;
use codec::ws::utf8;

use super::receiver::Receiving;
use super::service::ServiceRoom;
use crate::io::Io;
use crate::session::{Question, REQUEST};

/// Purposes of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Receive(Receiving),
    XhrSend,
    JsonpSend,
}

impl Verb {
    /// The request's method. True: browsers ask beforehand whether they may send it.
    pub(crate) fn methods(self) -> (&'static str, bool) {
        match self {
            Verb::Receive(Receiving::XhrPolling | Receiving::XhrStreaming) | Verb::XhrSend => ("POST", true),
            Verb::Receive(Receiving::EventSource) => ("GET", true),
            Verb::Receive(Receiving::HtmlFile | Receiving::Jsonp) => ("GET", false),
            Verb::JsonpSend => ("POST", false),
        }
    }

    /// Returns whether pages of other origins may read the answer.
    pub(crate) fn has_cors(self) -> bool {
        self.methods().1
    }
}

/// A request, as its head has it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) service_room: ServiceRoom,
    pub(crate) verb: Verb,
    pub(crate) head: AnswerHead,
    /// The function to call with frames, or nothing.
    pub(crate) callback: String,
    /// The body is a form.
    pub(crate) form: bool,
}

impl Request {
    /// The messages sent with it, or what is wrong with them.
    pub(crate) fn messages(&self, body: &[u8]) -> Result<Vec<u8>, &'static str> {
        let array = match (self.verb, self.form) {
            (Verb::JsonpSend, true) => {
                let field = body.split(|&b| b == b'&').find_map(|pair| pair.strip_prefix(b"d="));
                query::form_value(field.unwrap_or_default())
            }
            _ => body.to_vec(),
        };
        if array.is_empty() {
            return Err("Payload expected.");
        }
        utf8::check(&array).map(|()| array).map_err(|_| "Broken JSON encoding.")
    }

    /// Answers with a complaint about the request.
    pub(crate) fn complain(&self, io: &mut impl Io, complaint: &str) {
        self.head.write_whole(io.out(REQUEST), 500, Some(TEXT), complaint.as_bytes());
    }
}

impl Question for Request {
    fn refuse(self, body: &[u8], io: &mut impl Io) {
        match self.messages(body) {
            Ok(_) => self.head.write_whole(io.out(REQUEST), 404, None, b""),
            Err(complaint) => self.complain(io, complaint),
        }
    }
}
