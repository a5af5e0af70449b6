//! Events of connections that clients share: what came in goes to the client of its stream.

use codec::ErrorCode;
use codec::http2::frame::FrameReader;
use net::clock;
use net::poll::Event;
use net::tls::{Tls, TlsError};
use wire::{Failure, Multiplexer, StreamEvent, StreamOwner};

use super::client::{Input, READS_PER_TURN};
use super::pool::PooledConnection;
use super::token::POOLED;
use super::{Before, Clients, Outcome, Shared, Token};
use crate::books::{Cause, State};

/// One client's part in an event of its connection.
pub(crate) struct ClientOutcome {
    /// The client, by its own token.
    pub(crate) token: Token,
    pub(crate) outcome: Outcome,
}

/// A turn of a connection.
struct Turn<'a> {
    clients: &'a mut Clients,
    token: Token,
    outcomes: &'a mut Vec<ClientOutcome>,
}

impl Clients {
    /// Handles an event of a shared connection, and adds what came of it for its clients. Returns true if
    /// there is more to read, but it is another connection's turn.
    pub(crate) fn handle_pooled(&mut self, event: Event, outcomes: &mut Vec<ClientOutcome>) -> bool {
        let token = Token::unpack(event.token & !POOLED);
        (self.shared.now_ns, self.shared.silent_ns) = (clock::monotonic_ns(), None);
        let mut turn = Turn { clients: self, token, outcomes };
        match turn.handle_event(event) {
            Ok(has_more) => has_more,
            Err(cause) => {
                turn.end(cause);
                false
            }
        }
    }
}

impl Turn<'_> {
    fn connection(&mut self) -> Option<&mut PooledConnection> {
        self.clients.shared.pool.as_mut()?.of_token(self.token)
    }

    fn handle_event(&mut self, event: Event) -> Result<bool, Cause> {
        let Some(connection) = self.connection() else { return Ok(false) };
        if connection.link.is_connecting {
            if !event.writable && !event.error {
                return Ok(false);
            }
            self.handle_connected()?;
        } else if event.writable {
            connection.link.handle_writable()?;
        }
        if event.readable || event.closed { self.handle_readable(event.closed) } else { Ok(false) }
    }

    fn handle_connected(&mut self) -> Result<(), Cause> {
        let Some(connection) = self.connection() else { return Ok(()) };
        connection.link.handle_connected()?;
        let (begun_ns, is_again) = (connection.since_ns, connection.is_again);
        let now_ns = self.clients.shared.now_ns;
        // Once for all its clients: of connections, and not of streams.
        self.clients.ledger.meter.figures.tcp.record_ns(now_ns - begun_ns);
        self.tell_waiting();
        let secured = match self.clients.shared.tls(0) {
            Some((tls, name)) if is_again => Tls::new_client_again(tls, name).map(Some),
            Some((tls, name)) => Tls::new_client(tls, name).map(Some),
            None => Ok(None),
        };
        let Some(tls) = secured.map_err(Cause::Tls)? else { return self.greet() };
        let Shared { pool, scratch, .. } = &mut self.clients.shared;
        let Some(connection) = pool.as_mut().and_then(|pool| pool.of_token(self.token)) else {
            return Ok(());
        };
        connection.link.tls = Some(tls);
        connection.link.write_tls(scratch)
    }

    /// Has the clients that wait know that their connection is a step further.
    fn tell_waiting(&mut self) {
        let now_ns = self.clients.shared.now_ns;
        let Some(connection) = self.connection() else { return };
        connection.since_ns = now_ns;
        for client in connection.waiting.clone() {
            self.clients.all[client as usize].handle_connection(now_ns);
        }
    }

    fn handle_secured(&mut self, is_resumed: bool) -> Result<(), Cause> {
        let Some(connection) = self.connection() else { return Ok(()) };
        let begun_ns = connection.since_ns;
        let (now_ns, meter) = (self.clients.shared.now_ns, &mut self.clients.ledger.meter);
        meter.figures.tls.record_ns(now_ns - begun_ns);
        meter.counts.tls_resumed += u64::from(is_resumed);
        self.tell_waiting();
        self.greet()
    }

    fn greet(&mut self) -> Result<(), Cause> {
        let Shared { pool, wire, scratch, .. } = &mut self.clients.shared;
        let Some(connection) = pool.as_mut().and_then(|pool| pool.of_token(self.token)) else {
            return Ok(());
        };
        Multiplexer::greet(wire, &mut connection.out);
        connection.send(scratch)
    }

    /// Reads what there is. Returns true if there is more, but it is another connection's turn.
    fn handle_readable(&mut self, closed: bool) -> Result<bool, Cause> {
        for _ in 0..READS_PER_TURN {
            let is_stamped = self.clients.shared.begin_read();
            let Shared { pool, read, .. } = &mut self.clients.shared;
            let connection = pool.as_mut().and_then(|pool| pool.of_token(self.token));
            let Some(connection) = connection else { return Ok(false) };
            let bytes_max = read.len();
            let Some((received, lag_ns)) = connection.link.read(is_stamped, read)? else { return Ok(false) };
            let is_handshaking = connection.link.is_handshaking();
            (self.clients.shared.now_ns, self.clients.shared.lag_ns) = (clock::monotonic_ns(), lag_ns);
            if let Some(lag_ns) = lag_ns {
                self.clients.ledger.meter.loop_lag.record_ns(lag_ns);
            }
            match received {
                0 if is_handshaking => return Err(Cause::Tls(TlsError::Eof)),
                0 => return Ok(self.handle_eof()),
                _ => self.handle_received(received)?,
            }
            if received < bytes_max && !closed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Handles the `received` bytes that are in the read buffer.
    fn handle_received(&mut self, received: usize) -> Result<(), Cause> {
        let Some(connection) = self.connection() else { return Ok(()) };
        let (mut link, mut frames) = (std::mem::take(&mut connection.link), FrameReader::default());
        let secured = self.clients.shared.decrypt(&mut link, 0, received);
        if let Some(connection) = self.connection() {
            connection.link = link;
        }
        let secured = secured?;
        match secured {
            Some(secured) if secured.is_handshaking => return Ok(()),
            Some(secured) if secured.was_handshaking => self.handle_secured(secured.is_resumed)?,
            _ => {}
        }
        if let Some(connection) = self.connection() {
            std::mem::swap(&mut frames, &mut connection.frames);
        }
        // Apart, because what is read lies there while clients write.
        let Shared { read, plain, .. } = &mut self.clients.shared;
        let buffer = std::mem::take(if secured.is_some() { plain } else { read });
        let bytes = if secured.is_some() { &buffer[..] } else { &buffer[..received] };
        let handled = self.handle_frames(&mut frames, bytes);
        let Shared { read, plain, .. } = &mut self.clients.shared;
        *(if secured.is_some() { plain } else { read }) = buffer;
        if let Some(connection) = self.connection() {
            connection.frames = frames;
        }
        handled
    }

    fn handle_frames(&mut self, frames: &mut FrameReader, mut input: &[u8]) -> Result<(), Cause> {
        let lag_ns = self.clients.shared.lag_ns;
        loop {
            let frame = frames.next(&mut input).map_err(Failure::from);
            let Shared { pool, wire, now_ns, scratch, .. } = &mut self.clients.shared;
            let connection = pool.as_mut().and_then(|pool| pool.of_token(self.token));
            let Some(connection) = connection else { return Ok(()) };
            let event = match frame {
                Ok(None) => return connection.send(scratch),
                Ok(Some(frame)) => {
                    connection.multiplexer.handle_frame(wire, *now_ns, frame, &mut connection.out)
                }
                Err(failure) => Err(failure),
            };
            match event {
                Ok(event) => {
                    // All of them read the same bytes.
                    self.clients.shared.lag_ns = lag_ns;
                    self.handle_stream_event(event);
                }
                Err(failure) => {
                    Multiplexer::put_goodbye(failure, &mut connection.out);
                    let _ = connection.send(scratch);
                    return Err(Cause::Wire(failure));
                }
            }
        }
    }

    fn handle_stream_event(&mut self, event: StreamEvent<'_>) {
        match event {
            StreamEvent::Nothing => {}
            StreamEvent::Ready => self.begin_streams(),
            StreamEvent::Input { client, bytes, ends } => {
                if !bytes.is_empty() {
                    self.hand(client, Input::Data(&bytes));
                }
                // Its end by what was in these bytes counts.
                if ends && self.clients.all[client as usize].is_seated() {
                    self.clients.all[client as usize].leave(&mut self.clients.shared);
                    self.hand(client, Input::End);
                }
            }
            // Behind both goodbyes it does no harm.
            StreamEvent::Reset { client, was_open: true, .. }
                if self.clients.all[client as usize].session.is_closed() =>
            {
                self.clients.all[client as usize].leave(&mut self.clients.shared);
                self.hand(client, Input::End);
            }
            StreamEvent::Reset { client, code, .. } => self.lose(client, Cause::Wire(Failure::Reset(code))),
            StreamEvent::Failed { client, failure } => self.lose(client, Cause::Wire(failure)),
            StreamEvent::Leaving { last, code } => self.handle_leaving(last, code),
        }
    }

    /// Opens the streams of the clients that wait for one.
    fn begin_streams(&mut self) {
        let Some(connection) = self.connection() else { return };
        for client in std::mem::take(&mut connection.waiting) {
            let begun = self.clients.all[client as usize].begin_stream(client, &mut self.clients.shared);
            if let Err(cause) = begun {
                self.lose(client, cause);
            }
        }
    }

    /// Ends the clients that a server which leaves does not serve.
    fn handle_leaving(&mut self, last: u32, code: ErrorCode) {
        let Some(pool) = &mut self.clients.shared.pool else { return };
        pool.retire(self.token.client);
        let Some(connection) = pool.of_token(self.token) else { return };
        let is_served = |of: &StreamOwner| code == ErrorCode::NoError && (1..=last).contains(&of.stream);
        for of in connection.clients().into_iter().filter(|of| !is_served(of)) {
            self.lose(of.client, Cause::Wire(Failure::GoAway(code)));
        }
    }

    /// The server has closed the connection: each client judges that. Returns that there is no more to read.
    fn handle_eof(&mut self) -> bool {
        let Some(pool) = &mut self.clients.shared.pool else { return false };
        let Some(connection) = pool.remove(self.token.client) else { return false };
        for StreamOwner { client, stream } in connection.clients() {
            self.clients.all[client as usize].unseat();
            match stream {
                0 => self.lose(client, Cause::Wire(Failure::Codec(codec::Error::EofBeforeAnswer))),
                _ => self.hand(client, Input::End),
            }
        }
        false
    }

    /// Ends the connection, and its clients for that cause.
    fn end(&mut self, cause: Cause) {
        if self.connection().is_none() {
            return;
        }
        let Some(pool) = &mut self.clients.shared.pool else { return };
        let Some(connection) = pool.remove(self.token.client) else { return };
        for StreamOwner { client, .. } in connection.clients() {
            self.clients.all[client as usize].unseat();
            self.lose(client, cause);
        }
    }

    /// Gives a client its input, and notes what came of that.
    fn hand(&mut self, client: u32, input: Input<'_>) {
        let Clients { all, shared, ledger, .. } = &mut *self.clients;
        let of = &mut all[client as usize];
        if of.record.state == State::Vacant {
            return;
        }
        let (token, before) = (Token { client, stream: 0, attempt: of.attempt }, Before::of(of));
        let held = of.handle_input(token, input, shared, ledger).map(|()| false);
        if held.is_err() {
            // At once: nothing more is for it that this read has brought.
            of.leave(shared);
        }
        let outcome = self.clients.outcome_of(client, before, held);
        if outcome.is_new || outcome.wake_ns.is_some() || outcome.held.is_err() {
            self.outcomes.push(ClientOutcome { token, outcome });
        }
    }

    /// Notes that a client is lost.
    fn lose(&mut self, client: u32, cause: Cause) {
        let of = &mut self.clients.all[client as usize];
        of.leave(&mut self.clients.shared);
        let token = Token { client, stream: 0, attempt: of.attempt };
        let outcome = Outcome { is_new: false, has_paused: false, wake_ns: None, held: Err(cause) };
        self.outcomes.push(ClientOutcome { token, outcome });
    }
}
