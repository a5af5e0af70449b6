//! An answer as it comes in, held against what was expected: whichever version of HTTP carries it.

use codec::Stamp;

use super::options::HttpOptions;
use crate::carried::{ProtocolEvent, ProtocolHandler};
use crate::event::{Event, Role, WrongResponse};

/// The answer that is coming in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    status: u16,
    wrong: Option<WrongResponse>,
    /// Bytes on the wire, head and body.
    wire_bytes: u32,
    /// Bytes of the body that were as expected.
    matched: usize,
}

impl Answer {
    /// Adds its bytes on the wire.
    pub(crate) fn add_wire_bytes(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.wire_bytes = self.wire_bytes.saturating_add(bytes);
    }

    /// Handles the head of the answer, which is complete.
    pub(crate) fn handle_status(&mut self, http: &HttpOptions, status: u16) {
        self.status = status;
        if !http.is_expected(status) {
            self.wrong = Some(WrongResponse::Status(status));
        }
    }

    /// A part of its body is in.
    pub(crate) fn handle_data(&mut self, http: &HttpOptions, data: &[u8]) {
        let rest = http.expect_body.as_ref().map(|body| &body[self.matched..]);
        match rest {
            Some(rest) if rest.starts_with(data) => self.matched += data.len(),
            Some(_) => self.wrong = self.wrong.or(Some(WrongResponse::Body)),
            None => {}
        }
    }

    /// Reports that the answer is whole, as the one to the request with this stamp.
    pub(crate) fn finish(self, http: &HttpOptions, stamp: Stamp, on: &mut impl ProtocolHandler) {
        let Answer { status, mut wrong, wire_bytes, matched } = self;
        if http.expect_body.as_ref().is_some_and(|body| matched < body.len()) {
            wrong = wrong.or(Some(WrongResponse::Body));
        }
        if let Some(wrong) = wrong {
            on.handle(ProtocolEvent::Event(Event::WrongResponse(wrong)));
        }
        let role = Role::Answer { status };
        on.handle(ProtocolEvent::Event(Event::Message { role, stamp, bytes: wire_bytes }));
    }
}
