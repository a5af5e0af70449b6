//! Connections that several clients share, each with a stream of HTTP/2 (RFC 9113 §5).
//!
//! ```text
//! connecting --writable--> greeting, behind TLS's handshake if there is one --SETTINGS--> open
//! open --GOAWAY, or no more numbers for streams--> retired: the group's next client opens another
//! connecting, greeting --its last client leaves--> gone
//! retired --its last stream is over--> gone
//! any --the end of the byte stream, an error--> gone: so are its clients' streams
//! ```
//!
//! Clients with consecutive numbers are a group, which opens its streams on one connection. An open one stays
//! without streams, as a browser's does: clients that are away come back to it.

use codec::http2::frame::FrameReader;
use load::Plan;
use net::socket::Socket;
use wire::{Failure, Multiplexer, StreamOwner};

use crate::books::Cause;
use crate::clients::link::Link;
use crate::clients::token::Token;

/// The connections of a worker.
pub(crate) struct Pool {
    /// Clients of a group.
    clients_each: u32,
    /// By slot, which the tokens have in place of a client.
    connections: Vec<Option<Box<PooledConnection>>>,
    groups: Vec<Group>,
    /// Counts connections, so that an event of an earlier one is known as such.
    opened: u32,
}

/// Clients that share connections.
#[derive(Clone, Copy, Default)]
struct Group {
    /// The slot of the connection on which the next stream is opened.
    current: Option<u32>,
    /// True if it has had a connection: another goes on with its TLS session.
    has_connected: bool,
}

/// A connection with clients.
pub(crate) struct PooledConnection {
    token: Token,
    group: u32,
    pub(crate) link: Link,
    pub(crate) frames: FrameReader,
    pub(crate) multiplexer: Multiplexer,
    /// Clients that wait for a stream, in the order in which they came.
    pub(crate) waiting: Vec<u32>,
    /// When the current part of its handshake began.
    pub(crate) since_ns: u64,
    /// Another connection of its group came before.
    pub(crate) is_again: bool,
    /// Bytes to send, empty between two events.
    pub(crate) out: Vec<u8>,
}

/// A client's place on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) slot: u32,
    pub(crate) client: u32,
    /// The client's stream; 0: it waits for one.
    pub(crate) stream: u32,
}

impl Pool {
    /// The pool of a plan in which clients share connections.
    pub(crate) fn of(plan: &Plan) -> Option<Pool> {
        let clients_each = plan.shared_by()?;
        Some(Pool { clients_each, connections: Vec::new(), groups: Vec::new(), opened: 0 })
    }

    /// Clients that share a connection.
    pub(crate) fn clients_each(&self) -> u32 {
        self.clients_each
    }

    /// The group of a client.
    pub(crate) fn group_of(&self, client: u32) -> u32 {
        client / self.clients_each
    }

    /// The connection on which a group's next stream is opened, if there is one.
    pub(crate) fn current(&mut self, group: u32) -> Option<u32> {
        let slot = self.groups.get(group as usize)?.current?;
        self.get(slot).is_some_and(|connection| connection.multiplexer.takes_streams()).then_some(slot)
    }

    /// The token of the next connection.
    pub(crate) fn next_token(&self) -> Token {
        let free = self.connections.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.connections.len());
        Token { client: slot as u32, stream: 0, attempt: self.opened + 1 }
    }

    /// Adds a connection of a group, which is connecting.
    pub(crate) fn add(
        &mut self,
        token: Token,
        group: u32,
        socket: Socket,
        multiplexer: Multiplexer,
        now_ns: u64,
    ) {
        self.opened = token.attempt;
        if self.groups.len() <= group as usize {
            self.groups.resize(group as usize + 1, Group::default());
        }
        let known = &mut self.groups[group as usize];
        let is_again = known.has_connected;
        *known = Group { current: Some(token.client), has_connected: is_again };
        let connection = PooledConnection {
            token,
            group,
            link: Link::connecting(socket),
            frames: FrameReader::default(),
            multiplexer,
            waiting: Vec::new(),
            since_ns: now_ns,
            is_again,
            out: Vec::new(),
        };
        let slot = token.client as usize;
        if slot == self.connections.len() {
            self.connections.push(None);
        }
        self.connections[slot] = Some(Box::new(connection));
    }

    /// The connection in a slot.
    #[inline]
    pub(crate) fn get(&mut self, slot: u32) -> Option<&mut PooledConnection> {
        self.connections.get_mut(slot as usize)?.as_deref_mut()
    }

    /// The connection of a token; `None` if it is gone.
    #[inline]
    pub(crate) fn of_token(&mut self, token: Token) -> Option<&mut PooledConnection> {
        self.get(token.client).filter(|connection| connection.token == token)
    }

    /// Opens no more streams on a connection.
    pub(crate) fn retire(&mut self, slot: u32) {
        let Some(connection) = self.get(slot) else { return };
        let (group, has_connected) = (connection.group, connection.multiplexer.is_greeted());
        let group = &mut self.groups[group as usize];
        group.has_connected |= has_connected;
        group.current.take_if(|current| *current == slot);
    }

    /// Takes a connection out that is over.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<Box<PooledConnection>> {
        self.retire(slot);
        self.connections.get_mut(slot as usize)?.take()
    }

    /// Sends what a client says on its stream.
    #[inline]
    pub(crate) fn write(&mut self, seat: Seat, bytes: &[u8], scratch: &mut Vec<u8>) -> Result<(), Cause> {
        let Some(connection) = self.get(seat.slot).filter(|_| !bytes.is_empty()) else { return Ok(()) };
        connection.multiplexer.write(seat.stream, |said| said.extend_from_slice(bytes));
        connection.multiplexer.flush(seat.stream, &mut connection.out);
        connection.send(scratch)
    }

    /// Ends a client's stream, or its wait for one. Drops a connection that nobody needs.
    pub(crate) fn leave(&mut self, seat: Seat, scratch: &mut Vec<u8>) {
        let is_current = |group: Group| group.current == Some(seat.slot);
        let Some(connection) = self.get(seat.slot) else { return };
        match seat.stream {
            0 => connection.waiting.retain(|&client| client != seat.client),
            stream => connection.multiplexer.close_stream(stream, &mut connection.out),
        }
        // A connection that is broken tells so itself.
        let _ = connection.send(scratch);
        let (group, is_greeted) = (connection.group, connection.multiplexer.is_greeted());
        let is_unused = connection.waiting.is_empty() && connection.multiplexer.is_empty();
        if is_unused && !(is_greeted && is_current(self.groups[group as usize])) {
            self.remove(seat.slot);
        }
    }

    /// The failure if the server withholds something without which a client can send nothing more.
    pub(crate) fn withheld(&self, seat: Seat) -> Option<Failure> {
        let multiplexer = &self.connections.get(seat.slot as usize)?.as_ref()?.multiplexer;
        match seat.stream {
            0 => multiplexer.is_without_streams().then_some(Failure::NoStreams),
            stream => multiplexer.withheld(stream),
        }
    }

    /// Returns whether more of what a client has said waits than is kept: the server does not read.
    pub(crate) fn is_overfull(&self, seat: Seat) -> bool {
        let connection = self.connections.get(seat.slot as usize).and_then(Option::as_ref);
        connection.is_some_and(|connection| connection.multiplexer.is_overfull(seat.stream))
    }
}

impl PooledConnection {
    /// Sends what is written.
    #[inline]
    pub(crate) fn send(&mut self, scratch: &mut Vec<u8>) -> Result<(), Cause> {
        if self.out.is_empty() {
            return Ok(());
        }
        let sent = self.link.write(&self.out, scratch);
        self.out.clear();
        sent
    }

    /// All its clients: those with streams, and those that wait for one.
    pub(crate) fn clients(&self) -> Vec<StreamOwner> {
        let waiting = self.waiting.iter().map(|&client| StreamOwner { client, stream: 0 });
        self.multiplexer.clients().chain(waiting).collect()
    }
}

#[cfg(test)]
mod tests {
    use wire::{Carrier, Config};

    use super::*;
    use crate::support::plan;

    /// A pool of pairs, and the configuration of its clients.
    fn pool() -> (Pool, Config) {
        let mut plan = plan();
        (plan.client_spec.carrier, plan.connecting.streams) = (Carrier::Http2, 2);
        (Pool::of(&plan).unwrap(), plan.client_spec.wire_config().unwrap())
    }

    /// Connects the group of a client, which waits for a stream.
    fn join(pool: &mut Pool, cfg: &Config, client: u32) -> Seat {
        let group = pool.group_of(client);
        let slot = pool.current(group).unwrap_or_else(|| {
            let (token, (ours, _theirs)) = (pool.next_token(), net::socket::pair().unwrap());
            pool.add(token, group, ours, Multiplexer::new(cfg, 2), 0);
            token.client
        });
        pool.get(slot).unwrap().waiting.push(client);
        Seat { slot, client, stream: 0 }
    }

    #[test]
    fn plans_without_sharing_have_no_pool() {
        let mut plan = plan();
        plan.connecting.streams = 2;
        assert!(Pool::of(&plan).is_none(), "of HTTP/1.1");
        (plan.client_spec.carrier, plan.connecting.streams) = (Carrier::Http2, 1);
        assert!(Pool::of(&plan).is_none());
    }

    #[test]
    fn neighbours_share_a_connection() {
        let (mut pool, cfg) = pool();
        let slots: Vec<u32> = (0..5).map(|client| join(&mut pool, &cfg, client).slot).collect();
        assert_eq!(slots, [0, 0, 1, 1, 2]);
    }

    #[test]
    fn connections_nobody_waits_for_are_dropped() {
        let (mut pool, cfg) = pool();
        let (first, second) = (join(&mut pool, &cfg, 0), join(&mut pool, &cfg, 1));
        let token = pool.get(0).unwrap().token;
        pool.leave(first, &mut Vec::new());
        assert!(pool.of_token(token).is_some(), "one waits");
        pool.leave(second, &mut Vec::new());
        assert!(pool.of_token(token).is_none() && pool.current(0).is_none());
        // The next one in its place is another: events of the first are none of it.
        assert_eq!(join(&mut pool, &cfg, 1).slot, token.client);
        assert!(pool.of_token(token).is_none() && pool.current(0).is_some());
    }

    #[test]
    fn retired_connections_take_no_newcomers() {
        let (mut pool, cfg) = pool();
        let seat = join(&mut pool, &cfg, 0);
        pool.retire(seat.slot);
        assert_eq!(join(&mut pool, &cfg, 1).slot, 1);
        pool.leave(seat, &mut Vec::new());
        assert!(pool.get(seat.slot).is_none(), "its last client is gone");
    }
}
