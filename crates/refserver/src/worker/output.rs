//! Output: replies, broadcasts, last words.

use std::ops::Range;

use net::errors::ErrorKind;

use super::{Buffers, Worker, faulty, token};
use crate::backlog::Batch;
use crate::board::Notice;
use crate::connection::{Connection, Phase};
use crate::faults::EVERYTHING;
use crate::group::{Delivery, RoomBatch};
use crate::link::Way;
use crate::options::SlowPolicy;

/// The size from which a batch is sent in mid-turn, so that no turn's broadcasts grow without bound.
const BATCH_BYTES_MAX: usize = 256 << 10;

/// The scratch capacity that is kept; memory that a single huge message needed beyond it is freed.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

/// The time in which a peer has to take some of the last bytes of its connection, and in which it has to
/// close after them.
const LINGER_NS: u64 = 2_000_000_000;

/// An unmasked ping without payload (RFC 6455 §5.5.2).
const PING: [u8; 2] = [0x89, 0];

/// The reason why no more bytes are kept for a client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slow {
    /// The client itself is too far behind.
    Own,
    /// The client is behind, and all clients that are behind together hold as many bytes as they may.
    Crowd,
}

impl Buffers {
    /// Readies a scratch buffer for its next use.
    pub(super) fn reuse(mut scratch: Vec<u8>) -> Vec<u8> {
        scratch.clear();
        scratch.shrink_to(SCRATCH_BYTES_MAX);
        scratch
    }
}

impl Worker {
    /// Sends a session's answer.
    pub(super) fn send_output(&mut self, key: usize, output: &[u8]) {
        if output.is_empty() || self.connections[key].is_silent() {
            return;
        }
        let connection = &mut self.connections[key];
        let way = Way { poller: &self.poller, token: token(key, connection.serial), held: &self.held };
        let sent = connection.send_messages(output, way, &mut self.buffers.cipher);
        self.handle_sent(key, sent);
    }

    /// Sends an output that holds echoes: the echoes that the faults let through, and everything else.
    pub(super) fn send_echoes(&mut self, key: usize, output: &[u8], echoes: &[Range<usize>]) {
        let connection = &mut self.connections[key];
        let way = Way { poller: &self.poller, token: token(key, connection.serial), held: &self.held };
        let cipher = &mut self.buffers.cipher;
        let faults = self.faults.as_mut().expect("echoes are noted for the faults");
        let sent = faulty::send(faults, connection, output, echoes, way.token, |connection, left| {
            connection.send_messages(left, way, cipher)
        });
        self.handle_sent(key, sent);
    }

    /// Handles the result of sending bytes to a connection, or keeping them for it.
    fn handle_sent(&mut self, key: usize, sent: std::io::Result<()>) {
        match sent {
            Err(error) => self.fail(key, ErrorKind::of(&error)),
            // Answers that it does not take are kept for it as well.
            Ok(()) if self.is_crowded_out(key) => self.drop_slow(key, Slow::Crowd),
            Ok(()) => {}
        }
    }

    /// Returns whether a connection is behind while the total allows no more bytes for any client.
    fn is_crowded_out(&self, key: usize) -> bool {
        self.connections[key].link.unsent_bytes() > 0 && self.held.is_full()
    }

    /// Sends the records of TLS itself.
    pub(super) fn send_tls_records(&mut self, key: usize) {
        let connection = &mut self.connections[key];
        let Some(tls) = &mut connection.tls else { return };
        let cipher = &mut self.buffers.cipher;
        cipher.clear();
        tls.poll_output(cipher);
        if cipher.is_empty() {
            return;
        }
        let way = Way { poller: &self.poller, token: token(key, connection.serial), held: &self.held };
        if let Err(error) = connection.link.send(cipher, way) {
            self.fail(key, ErrorKind::of(&error));
        }
    }

    /// Sends kept bytes to a socket that has room again.
    pub(super) fn flush(&mut self, key: usize) {
        let token = self.token_of(key);
        let connection = &mut self.connections[key];
        match connection.link.flush(&self.poller, token) {
            Err(error) => self.fail(key, ErrorKind::of(&error)),
            Ok(true) if connection.phase == Phase::Closing => self.linger(key),
            Ok(is_drained) => {
                self.resume_reading(key);
                if is_drained {
                    self.handle_drained(key);
                }
            }
        }
    }

    /// Hands this turn's broadcasts to the other workers and processes, takes theirs, and sends every member
    /// all of them.
    pub(super) fn exchange_broadcasts(&mut self) {
        if !self.others.is_empty() || !self.mesh.is_empty() {
            for room_batch in self.groups.room_batches() {
                self.tell_threads(&room_batch);
                self.tell_processes(&room_batch);
            }
            // Each goes one hop and no further: from a thread to the processes, from a process to the
            // threads.
            while let Some(room_batch) = self.inbox.poll_batch() {
                self.tell_processes(&room_batch);
                self.handle_batch(&room_batch);
            }
            for room_batch in std::mem::take(&mut self.arrived) {
                self.tell_threads(&room_batch);
                self.handle_batch(&room_batch);
            }
        }
        self.deliver_all();
    }

    fn tell_threads(&mut self, room_batch: &RoomBatch) {
        for other in &self.others {
            if !other.send(room_batch.clone()) {
                self.stats.handovers_dropped += u64::from(room_batch.messages);
            }
        }
    }

    fn tell_processes(&mut self, room_batch: &RoomBatch) {
        self.stats.handovers_dropped +=
            self.mesh.send(room_batch, &self.poller) * u64::from(room_batch.messages);
    }

    fn handle_batch(&mut self, room_batch: &RoomBatch) {
        // A room without members here would be made and forgotten again.
        if self.groups.find(room_batch.room).is_some() {
            self.groups.push(room_batch.room, room_batch.messages, &room_batch.frames);
        }
        if self.groups.batched_bytes() > BATCH_BYTES_MAX {
            self.deliver_all();
        }
    }

    /// Keeps one turn's broadcasts from growing without bound: a long turn is cut in two. Broadcasts that a
    /// history keeps are sent before a client can come back and get them from the history, so that they
    /// arrive once.
    pub(super) fn bound_batches(&mut self) {
        let is_kept = self.options.protocol.history.is_some() && self.groups.batched_bytes() > 0;
        if is_kept || self.groups.batched_bytes() > BATCH_BYTES_MAX {
            self.exchange_broadcasts();
        }
    }

    fn deliver_all(&mut self) {
        while let Some(group) = self.groups.poll_pending() {
            self.deliver(group);
        }
    }

    /// Sends every member of a group its batch.
    fn deliver(&mut self, group: usize) {
        let room = self.groups.room(group);
        if room.is_of_sessions() {
            return self.deliver_to_sessions(group);
        }
        if !room.is_of_readers() {
            return self.deliver_by(group, |worker, key, batch| worker.send_batch(key, batch));
        }
        let mut own_words = std::mem::take(&mut self.buffers.own_words);
        self.deliver_by(group, |worker, key, batch| {
            own_words = Buffers::reuse(std::mem::take(&mut own_words));
            worker.connections[key].session.put_copies(room, batch.bytes(), &mut own_words);
            worker.send_batch(key, &mut Batch::new(&own_words))
        });
        self.buffers.own_words = own_words;
    }

    /// Delivers a group's output by `send`, which is the same for all members: the kind of delivery is not
    /// chosen anew for each copy.
    #[inline(always)]
    fn deliver_by(
        &mut self,
        group: usize,
        mut send: impl FnMut(&mut Worker, usize, &mut Batch<'_>) -> std::io::Result<()>,
    ) {
        let Delivery { batch: bytes, messages, members } = self.groups.begin_delivery(group);
        let mut batch = Batch::new(&bytes);
        let mut failed = Vec::new();
        for &member in &members {
            let key = member as usize;
            if let Some(why) = self.why_not(key, bytes.len()) {
                match self.options.slow_policy {
                    SlowPolicy::DropMessage => self.skip(messages, why),
                    SlowPolicy::DropConnection => failed.push((key, Err(why))),
                }
                continue;
            }
            match send(self, key, &mut batch) {
                // What is half sent cannot be skipped any more.
                Ok(()) if self.is_crowded_out(key) => failed.push((key, Err(Slow::Crowd))),
                Ok(()) => self.stats.copies += messages,
                Err(error) => failed.push((key, Ok(ErrorKind::of(&error)))),
            }
        }
        drop(batch);
        // Only now may members leave: their list was taken out for as long as it was walked.
        self.groups.end_delivery(group, Buffers::reuse(bytes), members);
        for (key, why) in failed {
            match why {
                Ok(kind) => self.fail(key, kind),
                Err(why) => self.drop_slow(key, why),
            }
        }
    }

    /// Sends a batch to a connection: the part that the faults, if there are any, let through.
    #[inline]
    fn send_batch(&mut self, key: usize, batch: &mut Batch<'_>) -> std::io::Result<()> {
        let connection = &mut self.connections[key];
        let way = Way { poller: &self.poller, token: token(key, connection.serial), held: &self.held };
        let cipher = &mut self.buffers.cipher;
        match &mut self.faults {
            None => connection.send_copies(batch, way, cipher),
            Some(faults) => {
                let send = |connection: &mut Connection, left: &[u8]| {
                    connection.send_copies(&mut Batch::new(left), way, cipher)
                };
                faulty::send(faults, connection, batch.bytes(), EVERYTHING, way.token, send)
            }
        }
    }

    /// The reason why a batch of this many bytes is not sent to a connection, if it is not.
    pub(super) fn why_not(&self, key: usize, batch_bytes: usize) -> Option<Slow> {
        let link = &self.connections[key].link;
        if link.unsent_bytes() == 0 {
            None
        } else if self.held.is_full() {
            Some(Slow::Crowd)
        } else {
            (!link.has_room_for(batch_bytes, self.options.backlog_bytes_max)).then_some(Slow::Own)
        }
    }

    pub(super) fn skip(&mut self, messages: u64, why: Slow) {
        self.stats.copies_skipped += messages;
        self.tell_if_crowded(why);
    }

    pub(super) fn drop_slow(&mut self, key: usize, why: Slow) {
        self.count_slow_drop(why);
        self.part(key);
        // A reset: what the kernel still holds for it would go out only if it read.
        self.connections.remove(key).link.socket.abort();
    }

    pub(super) fn count_slow_drop(&mut self, why: Slow) {
        self.stats.slow_dropped += 1;
        self.tell_if_crowded(why);
    }

    fn tell_if_crowded(&mut self, why: Slow) {
        if why == Slow::Crowd {
            self.stats.crowded_out += 1;
            self.board.say(Notice::Crowd, self.now_ns);
        }
    }

    /// Pings every client when the interval has passed.
    pub(super) fn ping_clients(&mut self) {
        let (Some(at_ns), Some(interval_ns)) = (self.next_ping_ns, self.options.ping_interval_ns) else {
            return;
        };
        let Some(late_ns) = self.now_ns.checked_sub(at_ns) else { return };
        // From when it was due, so that late turns do not add up. Moments that a process missed while it was
        // stopped are left out: pings back to back ask nothing more.
        self.next_ping_ns = Some(at_ns + (late_ns / interval_ns + 1) * interval_ns);
        let is_client = |connection: &Connection| connection.is_upgraded && connection.phase == Phase::Open;
        let clients = self.connections.iter().filter(|(_, connection)| is_client(connection));
        for key in clients.map(|(key, _)| key).collect::<Vec<usize>>() {
            // A client that is too far behind has more than a ping to answer.
            if self.why_not(key, PING.len()).is_none() {
                let sent = self.send_batch(key, &mut Batch::new(&PING));
                self.handle_sent(key, sent);
            }
        }
    }

    /// Ends the connection once its output is sent; nothing is added to the output any more.
    pub(super) fn close_after_output(&mut self, key: usize) {
        self.part(key);
        let connection = &mut self.connections[key];
        connection.phase = Phase::Closing;
        connection.deadline_ns = self.now_ns + LINGER_NS;
        connection.link.note_progress();
        // A peer that does not read its last words must not keep the connection.
        self.arm(key);
        if self.connections[key].link.unsent_bytes() == 0 {
            self.linger(key);
        }
    }

    /// Gives a connection more time if its peer has taken some of the last bytes; returns whether it has.
    pub(super) fn prolong(&mut self, key: usize) -> bool {
        let connection = &mut self.connections[key];
        // A slow link is no dead peer. The kernel is asked: it reports room only once a third of the send
        // buffer is free, which may take longer.
        let is_slow = connection.phase == Phase::Closing && connection.link.note_progress();
        if is_slow {
            connection.deadline_ns = self.now_ns + LINGER_NS;
        }
        is_slow
    }

    /// Ends the sending on a connection whose output is sent, and waits for the peer to close, reading and
    /// ignoring what it still sends.
    fn linger(&mut self, key: usize) {
        let connection = &mut self.connections[key];
        connection.phase = Phase::Lingering;
        connection.deadline_ns = self.now_ns + LINGER_NS;
        if let Some(tls) = &mut connection.tls {
            let cipher = &mut self.buffers.cipher;
            cipher.clear();
            tls.close_notify(cipher);
            let way = Way { poller: &self.poller, token: token(key, connection.serial), held: &self.held };
            // What does not fit now is not worth waiting for.
            let _ = connection.link.send(cipher, way);
        }
        if connection.link.socket.shutdown_write().is_err() {
            return self.close(key);
        }
        // There may be bytes whose event has come before.
        self.read_later(key);
    }
}
