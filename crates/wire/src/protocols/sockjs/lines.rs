//! Frames out of the body of an answer that comes in pieces. Every transport writes a frame into a line of
//! its own.

use codec::{Error, json};
use memchr::memmem;

use super::frames;
use super::transport::Transport;
use crate::failure::Failure;

/// Collects lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The start of a line whose rest has not come.
    partial: Vec<u8>,
}

impl Lines {
    /// Calls `on_line` with each line that is whole now, without its end. A line above `bytes_max` is a
    /// failure.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        bytes_max: usize,
        mut on_line: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut rest = bytes;
        let is_too_long = |partial: &[u8], more: &[u8]| partial.len() + more.len() > bytes_max;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let line = &rest[..at];
            rest = &rest[at + 1..];
            if is_too_long(&self.partial, line) {
                return Err(Failure::Codec(Error::MessageTooLarge));
            }
            // Most lines come whole, and stay where they are.
            if self.partial.is_empty() {
                on_line(trim_end(line))?;
                continue;
            }
            self.partial.extend_from_slice(line);
            on_line(trim_end(&self.partial))?;
            self.partial.clear();
        }
        if is_too_long(&self.partial, rest) {
            return Err(Failure::Codec(Error::MessageTooLarge));
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// The answer is over: the next starts with a line.
    pub(crate) fn reset(&mut self) {
        self.partial = Vec::new();
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The frame in a line, put into `scratch` if it has to be unescaped; `None` for a line that has none:
/// preludes and the scripts around frames.
pub(crate) fn frame_in<'a>(
    transport: Transport,
    line: &'a [u8],
    scratch: &'a mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Failure> {
    match transport {
        // The prelude of xhr-streaming looks like one long heartbeat, and counts as one.
        Transport::XhrStreaming | Transport::XhrPolling => Ok((!line.is_empty()).then_some(line)),
        Transport::EventSource => {
            let data = line.strip_prefix(b"data:");
            Ok(data.map(|data| data.strip_prefix(b" ").unwrap_or(data)))
        }
        Transport::HtmlFile => called(line, b"p(", scratch),
        Transport::Jsonp => called(line, b"cb(", scratch),
        Transport::WebSocket | Transport::RawWebSocket => unreachable!("not over requests"),
    }
}

/// The string in a line that calls a function with one.
fn called<'a>(line: &[u8], function: &[u8], scratch: &'a mut Vec<u8>) -> Result<Option<&'a [u8]>, Failure> {
    // Servers put it before a script, so that the answer begins like no other format (CVE-2014-4671).
    let line = line.strip_prefix(b"/**/").unwrap_or(line);
    let Some(call) = line.strip_prefix(function) else { return Ok(None) };
    let start = memmem::find(call, b"\"").ok_or(Failure::BadMessage)? + 1;
    let end = json::string_end(call, start).ok_or(Failure::BadMessage)?;
    scratch.clear();
    frames::unescape(scratch, &call[start..end])?;
    Ok(Some(scratch))
}
