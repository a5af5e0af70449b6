//! Parts encoded once, and the path of a session below a service.

use app::template::Template;

use super::transport::Transport;
use crate::carried::{AppMessage, MessageTemplate};
use crate::io::Io;
use crate::options::{BadOption, Options};

/// The text around the message in a frame that has but one.
const ONE_BEFORE: &[u8] = b"a[\"";
const ONE_AFTER: &[u8] = b"\"]";

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) transport: Transport,
    /// The beginning of a frame with one measured message.
    usual: Vec<u8>,
    /// Bytes that usually follow the id in its string.
    pub(super) behind_id: usize,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let transport = Transport::of(&options.of_dialect.settings)?;
        Ok(Parts { transport, usual: ONE_BEFORE.to_vec(), behind_id: 0 })
    }

    /// The message in a frame that has but one, which begins like ours. Nearly all are such, and worth a short
    /// cut.
    #[inline]
    pub(super) fn one_of_ours<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        if !frame.starts_with(&self.usual) || !frame.ends_with(ONE_AFTER) {
            return None;
        }
        let string = frame.get(ONE_BEFORE.len()..frame.len() - ONE_AFTER.len())?;
        // In a string, each quotation mark has a backslash before it: one without ends a message before
        // another. Without a branch for each byte, many are compared at once.
        let before = &frame[ONE_BEFORE.len() - 1..];
        let is_end = |(&byte, &before): (&u8, &u8)| (byte == b'"') & (before != b'\\');
        let has_end = string.iter().zip(before).fold(false, |has_end, pair| has_end | is_end(pair));
        (!has_end).then_some(string)
    }

    /// A string in an array; over requests the string alone, for messages that come up meanwhile join it
    /// there.
    pub(super) fn message_template(&self, app_message: &AppMessage<'_>) -> MessageTemplate {
        let body = &app_message.body;
        let template = match self.transport {
            Transport::RawWebSocket => body.clone(),
            Transport::WebSocket => Template::literal("[\"").then(&body.escaped()).text("\"]"),
            _ => Template::literal("\"").then(&body.escaped()).text("\""),
        };
        MessageTemplate { text: (&template).into(), kind: app_message.kind, ..MessageTemplate::default() }
    }

    pub(super) fn handle_templates(&mut self, templates: &[&MessageTemplate]) {
        let Some((first, others)) = templates.split_first() else { return };
        // Behind the marks that are around it in either way to send.
        let inside = |message_template: &&MessageTemplate| {
            let start = message_template.text.start();
            let mark = start.iter().position(|&byte| byte == b'"').map_or(0, |at| at + 1);
            start[mark..].to_vec()
        };
        // As far as all of them begin alike: any of them may come.
        let common = others.iter().map(inside).fold(inside(first), |common, other| {
            let same = common.iter().zip(&other).take_while(|(a, b)| a == b).count();
            common[..same].to_vec()
        });
        let context = if self.transport == Transport::WebSocket { ONE_AFTER.len() } else { 1 };
        let behind = first.text.bytes_behind_id().unwrap_or(0).saturating_sub(context);
        self.usual = [ONE_BEFORE, &common].concat();
        self.behind_id = behind;
    }
}

/// Below the service's path, where a client connects: to a session of its own, unless it goes without frames.
pub(super) fn write_path(parts: &Parts, now_ns: u64, io: &mut impl Io) {
    match parts.transport {
        Transport::RawWebSocket => io.out(0).extend_from_slice(b"/websocket"),
        _ => {
            let session = session_path(now_ns, io);
            let out = io.out(0);
            out.extend_from_slice(session.as_bytes());
            out.extend_from_slice(b"/websocket");
        }
    }
}

/// A fresh session's place below the service: `/<three digits for balancers>/<the session>`. The time is
/// mixed in so that a run repeated with the same seed does not meet its own sessions again.
pub(crate) fn session_path(now_ns: u64, io: &mut impl Io) -> String {
    // 2⁶⁴ over the golden ratio (Knuth, TAOCP 3, 6.4): times that differ in low bits then differ in all.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let (number, name) = (io.random_u64(), io.random_u64() ^ now_ns.wrapping_mul(GOLDEN));
    format!("/{:03}/{name:016x}", number % 1000)
}
