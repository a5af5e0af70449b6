//! How a client reads: so much at a turn, decrypted, and when the kernel had it.

use std::io::{self, ErrorKind};

use net::clock;

use super::{Client, Input, LAG_SAMPLE_EVERY};
use crate::cause::Cause;
use crate::ledger::{Ledger, State};
use crate::link::cause_of;
use crate::shared::{Shared, Token};

/// A server that floods one client must not keep the others waiting: after so many reads it is their turn.
const READS_PER_TURN: u32 = 4;
/// No event waits this long in a loop that makes progress: the wall clock was set in between.
const LAG_NS_MAX: u64 = 60_000_000_000;

impl Client {
    /// There is something to read. True: there is more, and it is somebody else's turn.
    pub(super) fn handle_readable(
        &mut self,
        token: Token,
        closed: bool,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<bool, Cause> {
        for _ in 0..READS_PER_TURN {
            // The session may have asked for another connection in place of this one.
            let link = self.streams.get(token.stream).filter(|link| !link.is_connecting);
            let Some(socket) = link.and_then(|link| link.socket.as_ref()) else { return Ok(false) };
            let sip = shared.slow.filter(|_| self.record.is_slow && self.record.state == State::Usable);
            let bytes_max = sip.map_or(shared.read.len(), |slow| slow.sip().0);
            let (received, stamped_ns) = match receive(socket, token.client, &mut shared.read[..bytes_max]) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(cause_of(&error)),
            };
            shared.now_ns = clock::monotonic_ns();
            if let Some(lag_ns) = stamped_ns.and_then(lag_since) {
                ledger.meter.figures.loop_lag.record_ns(lag_ns);
            }
            if received == 0 {
                // Gone before the session hears of it: it may live on without this stream, or ask for it anew.
                self.streams.close(token.stream);
                return self.handle_input(token, Input::End, shared, ledger).map(|()| false);
            }
            self.handle_bytes(token, received, shared, ledger)?;
            if sip.is_some() {
                self.record.has_sipped = true;
                return Ok(false);
            }
            // A short read has emptied the socket (epoll(7)); after a hang-up the end of the stream is to be read.
            if received < shared.read.len() && !closed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `received` bytes are in the read buffer.
    fn handle_bytes(
        &mut self,
        token: Token,
        received: usize,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let mut was_handshaking = false;
        let Some(link) = self.streams.get(token.stream) else { return Ok(()) };
        if let Some(tls) = &mut link.tls {
            was_handshaking = tls.is_handshaking();
            shared.plain.clear();
            let outcome = tls.handle_input(&shared.read[..received], &mut shared.plain).map_err(Cause::Tls);
            let is_handshaking = tls.is_handshaking();
            link.write_tls(&mut shared.scratch)?;
            outcome?;
            if is_handshaking {
                return Ok(());
            }
        }
        if was_handshaking {
            if self.record.state == State::Opening && token.stream == 0 {
                ledger.meter.figures.tls.record_ns(shared.now_ns - self.record.since_ns);
                self.record.since_ns = shared.now_ns;
            }
            self.handle_open(token, shared, ledger)?;
        }
        self.handle_input(token, Input::Bytes(received), shared, ledger)
    }
}

/// Reads once; one client in [`LAG_SAMPLE_EVERY`] also learns when the kernel had the bytes.
fn receive(socket: &net::socket::Socket, index: u32, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    if index.is_multiple_of(LAG_SAMPLE_EVERY) {
        return socket.recv_stamped(buffer);
    }
    socket.recv(buffer).map(|received| (received, None))
}

/// How long ago the kernel received something, if the two readings of the wall clock can be believed.
fn lag_since(stamped_ns: u64) -> Option<u64> {
    clock::realtime_ns().checked_sub(stamped_ns).filter(|&lag_ns| lag_ns < LAG_NS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_is_set_makes_no_lag() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let now_ns = clock::realtime_ns();
        assert!(lag_since(now_ns - 1_000_000).is_some_and(|lag_ns| lag_ns >= 1_000_000));
        assert_eq!(lag_since(now_ns + HOUR_NS), None, "set back by an hour since");
        assert_eq!(lag_since(now_ns - HOUR_NS), None, "set forward by an hour since");
    }
}
