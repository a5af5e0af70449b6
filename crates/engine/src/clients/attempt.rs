//! Attempts to become usable: what the server has not answered yet, and how an attempt fails.

use crate::books::{Cause, Ledger, State};
use crate::clients::client::LoadClient;
use crate::clients::shared::Shared;

impl LoadClient {
    /// Returns whether the server's kernel has given no sign of life: TCP is not connected, or believes so
    /// and has no answer to what it sent, as with an accept queue that was full when the handshake's last
    /// packet came.
    pub(crate) fn is_unanswered(&mut self) -> bool {
        let socket = self.streams.get(0).and_then(|link| link.socket.as_ref());
        match self.record.state {
            State::Connecting => true,
            State::Opening => {
                socket.is_some_and(|socket| socket.unacknowledged_bytes().is_ok_and(|bytes| bytes > 0))
            }
            State::Vacant | State::Usable | State::Closing => false,
        }
    }

    /// Handles an attempt that failed before the client was usable. Returns the cause under which it is
    /// counted.
    pub(crate) fn fail(
        &mut self,
        index: u32,
        cause: Cause,
        now_ns: u64,
        ledger: &mut Ledger,
        shared: &mut Shared,
    ) -> Cause {
        // A wait for what the server withholds has a name of its own.
        let cause = match (cause, self.withheld(shared)) {
            (Cause::ConnectTimeout, Some(failure)) => Cause::Wire(failure),
            _ => cause,
        };
        ledger.handle_failure(index, &self.record, cause, now_ns, || self.waits_for(&shared.wire));
        self.vacate(shared);
        cause
    }

    /// The part of its opening that has not come yet.
    fn waits_for(&self, cfg: &wire::Config) -> String {
        match (self.record.state, self.session.opening_step(cfg)) {
            // No connection has begun: only a unix socket refuses at once for want of room.
            (State::Connecting, _) if !self.streams.is_dialling() && !self.is_seated() => {
                "the server does not accept: the backlog of its socket is full".into()
            }
            (State::Connecting, _) => "TCP is not connected".into(),
            _ if !self.session.is_open() => "the handshake has no answer".into(),
            (_, Some(step)) => format!(
                "the server accepted the connection, but the app has not come through its opening: it was at step {step} \
                 of `open`, which the `join` of its rooms continues"
            ),
            (_, None) if cfg.options().dialect.facts().only_receives => {
                "the server accepted the connection, but did not answer the request for the stream".into()
            }
            (_, None) => "the server accepted the connection, but did not confirm that the client may send; \
                 check the channel, topic or namespace"
                .into(),
        }
    }
}
