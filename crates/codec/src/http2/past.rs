//! Streams that are over (RFC 9113 §5.1), and what a frame on one of them means.
//!
//! ```text
//! reset by this side --a frame--> discarded: it was under way when the peer heard of the reset (§5.4.2)
//! ended by the peer --DATA or HEADERS--> the connection ends with STREAM_CLOSED
//! skipped --DATA or HEADERS--> the connection ends with PROTOCOL_ERROR: streams only count upwards (§5.1.1)
//! ```
//!
//! Only resets and gaps are kept, so that a connection without either pays nothing. A stream that is in
//! neither list was ended by the peer.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::error::Http2Reason;

/// Most resets and most gaps that are kept: as many as requests that a client may have under way.
const KEPT_MAX: usize = 1024;

/// The past streams of a connection that one side may still hear of.
#[derive(Debug, Default)]
pub struct PastStreams {
    /// Reset by this side, oldest first.
    reset: VecDeque<u32>,
    /// Never used, and below a stream that was.
    skipped: VecDeque<RangeInclusive<u32>>,
    /// The newest reset that is no longer kept: streams up to here are judged as if reset.
    forgotten: u32,
}

impl PastStreams {
    /// Notes a reset by this side.
    pub fn add_reset(&mut self, stream: u32) {
        if self.reset.len() == KEPT_MAX {
            // The newest of those dropped: resets need not come in the order of their streams.
            self.forgotten = self.reset.pop_front().map_or(0, |oldest| oldest.max(self.forgotten));
        }
        self.reset.push_back(stream);
    }

    /// Notes streams that the peer has passed over.
    pub fn add_skipped(&mut self, streams: RangeInclusive<u32>) {
        if self.skipped.len() == KEPT_MAX {
            self.skipped.pop_front();
        }
        self.skipped.push_back(streams);
    }

    /// Judges DATA or HEADERS on a past stream: `Ok` if the frame is to be discarded.
    pub fn judge(&self, stream: u32) -> Result<(), Http2Reason> {
        // Streams that were reset long ago pass for discarded rather than closed: an error would end a sound
        // connection.
        if stream <= self.forgotten || self.reset.contains(&stream) {
            return Ok(());
        }
        match self.skipped.iter().any(|streams| streams.contains(&stream)) {
            true => Err(Http2Reason::Frame),
            false => Err(Http2Reason::StreamClosed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_and_gaps_are_told_from_ended_streams() {
        let mut past = PastStreams::default();
        past.add_reset(3);
        past.add_skipped(5..=9);
        let judged = [1, 3, 5, 7, 9, 11].map(|stream| past.judge(stream));
        let (closed, skipped) = (Err(Http2Reason::StreamClosed), Err(Http2Reason::Frame));
        assert_eq!(judged, [closed, Ok(()), skipped, skipped, skipped, closed]);
    }

    #[test]
    fn forgotten_resets_are_still_discarded() {
        let mut past = PastStreams::default();
        let streams = (0..2 * KEPT_MAX as u32).map(|number| 2 * number + 1);
        for stream in streams.clone() {
            past.add_reset(stream);
        }
        assert_eq!(past.reset.len(), KEPT_MAX);
        assert!(streams.into_iter().all(|stream| past.judge(stream).is_ok()));
    }
}
