//! Sessions that outlive connections: whose request goes where, and what sessions say to which connection.
//!
//! A session lives at one worker, which its name decides; a connection with a request for it moves there.

use codec::StreamId;
use net::errors::ErrorKind;
use net::poll::Interest;
use net::socket::Socket;
use slab::Slab;
use wire::session::{HELD, REQUEST};
use wire::{Answer, AnswerPart, SessionRequest};
use wire::{Io, ServerEvent};

use super::answers::Place;
use super::output::Slow;
use super::{Buffers, TOKEN_SESSION, Worker, token};
use crate::connection::{Connection, NEVER_NS};
use crate::mailbox::Arrival;
use crate::options::SlowPolicy;
use crate::sessions::HeldRequest;

/// A method of a session to call.
enum SessionCall<'a> {
    Request(Place, SessionRequest),
    Lost,
    Broadcast(&'a [u8]),
    Timeout,
    /// No more bytes are kept for the session.
    GiveUp,
}

impl SessionCall<'_> {
    /// The connections of a request and of the request that is held.
    fn sockets<'c>(&self, all: &'c Slab<Connection>, held: Option<Place>) -> Option<[&'c Socket; 2]> {
        match (self, held) {
            (SessionCall::Request(asked, _), Some(held)) => {
                Some([*asked, held].map(|place| &all[place.connection].link.socket))
            }
            _ => None,
        }
    }
}

/// The session's side of the worker.
struct SessionIo<'a> {
    request: &'a mut Vec<u8>,
    held: &'a mut Vec<u8>,
    rng: &'a mut fastrand::Rng,
    /// The kind of part that the output to the held connection is.
    then: AnswerPart,
    /// The connections of the request in hand and of the request that is held, if there are both.
    sockets: Option<[&'a Socket; 2]>,
}

impl codec::Io for SessionIo<'_> {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        match stream {
            REQUEST => self.request,
            _ => self.held,
        }
    }

    fn random_u64(&mut self) -> u64 {
        self.rng.u64(..)
    }

    fn open_stream(&mut self, _stream: StreamId) {
        unreachable!("a server does not connect");
    }

    fn close_stream(&mut self, stream: StreamId) {
        debug_assert_eq!(stream, HELD, "the answer to the request in hand ends with the call");
        self.then = AnswerPart::Last;
    }
}

impl Io for SessionIo<'_> {
    fn break_stream(&mut self, stream: StreamId) {
        debug_assert_eq!(stream, HELD, "an answer that is not held does not break off");
        self.then = AnswerPart::Broken;
    }

    fn was_earlier(&mut self, _stream: StreamId) -> bool {
        // The kernel knows, whichever thread has read them; in ticks of some milliseconds.
        let heard_before_ms = |socket: &Socket| socket.heard_before_ms().ok();
        let both = self.sockets.map(|sockets| sockets.map(heard_before_ms));
        both.is_some_and(|[asked, held]| asked.is_some() && held.is_some() && asked > held)
    }
}

impl Worker {
    /// Tells sessions of their lost connections, and has requests answered, until there are no more: an
    /// answer lets the next request on its connection be read.
    pub(super) fn serve_sessions(&mut self) {
        loop {
            if let Some(token) = self.bereft.pop() {
                self.handle_lost(token);
            } else if let Some((token, stream, request)) = self.asked.pop_front() {
                self.handle_request(token, stream, request);
                self.bound_batches();
            } else {
                return;
            }
        }
    }

    fn handle_lost(&mut self, token: u64) {
        let Some(key) = self.find_session(token) else { return };
        self.sessions.get(key).held = None;
        self.call_session(key, SessionCall::Lost);
    }

    fn handle_request(&mut self, token: u64, stream: u32, request: SessionRequest) {
        let Some(key) = self.find(token) else { return };
        self.connections[key].is_asked = false;
        if request.is_for_metrics() {
            return self.answer_metrics(key, request);
        }
        if request.is_for_publishing() {
            return self.publish_from_outside(key, request);
        }
        let keeper = request.keeper(self.others.len() + 1);
        // A session is called by one thread only. A stream of HTTP/2 cannot move, and need not: its session
        // is for it alone.
        if keeper != self.number && stream == 0 {
            return self.hand_over(key, request, keeper);
        }
        let place = Place { connection: key, stream };
        let session = match self.sessions.find(request.name()) {
            Some(session) => session,
            None if request.opens() => {
                let serial = self.new_serial();
                self.sessions.open(&self.options.protocol, &request, serial, &self.held)
            }
            None => return self.refuse(place, request),
        };
        self.call_session(session, SessionCall::Request(place, request));
    }

    /// Moves a connection to the worker that keeps its session.
    fn hand_over(&mut self, key: usize, request: SessionRequest, keeper: usize) {
        if let Err(error) = self.poller.remove(&self.connections[key].link.socket) {
            return self.fail(key, ErrorKind::of(&error));
        }
        let connection = self.connections.remove(key);
        let other = if keeper < self.number { keeper } else { keeper - 1 };
        self.others[other].transfer(Arrival { connection, request });
    }

    /// Takes in a connection that has moved to this worker.
    pub(super) fn take_in(&mut self, arrival: Arrival) {
        let Arrival { mut connection, request } = arrival;
        connection.serial = self.new_serial();
        // The entry in the timers is the other worker's, too.
        connection.timer_ns = NEVER_NS;
        // The list that it may be in is the other worker's; what there is to read is an event here.
        connection.is_unfinished = false;
        let interest = match connection.link.unsent_bytes() {
            0 => Interest::ReadEdge,
            // What it had not taken there goes out from here.
            _ => Interest::ReadWriteEdge,
        };
        let key = self.connections.insert(connection);
        let token = self.token_of(key);
        if let Err(error) = self.poller.add(&self.connections[key].link.socket, token, interest) {
            return self.fail(key, ErrorKind::of(&error));
        }
        // On its way when all others were closed.
        if self.stop_at_ns.is_some() {
            return self.close_after_output(key);
        }
        self.arm(key);
        self.connections[key].is_asked = true;
        self.moved_in.push((token, 0, request));
    }

    /// Answers a request with the figures of this process.
    fn answer_metrics(&mut self, key: usize, request: SessionRequest) {
        self.publish();
        let mut output = std::mem::take(&mut self.buffers.output);
        request.answer_metrics(&self.board.metrics(), &mut output);
        self.answer(Place { connection: key, stream: 0 }, output, Answer::Whole);
    }

    fn refuse(&mut self, place: Place, request: SessionRequest) {
        let mut output = std::mem::take(&mut self.buffers.output);
        let mut unused = Vec::new();
        let (rng, then) = (&mut self.rng, AnswerPart::More);
        let sockets = None;
        request.refuse(&mut SessionIo { request: &mut output, held: &mut unused, rng, then, sockets });
        self.answer(place, output, Answer::Whole);
    }

    /// Calls a session, and carries out its requests.
    fn call_session(&mut self, key: usize, call: SessionCall<'_>) {
        let held = self.sessions.get(key).held.and_then(|held| self.find_held(held));
        let entry = self.sessions.get(key);
        let mut to_request = std::mem::take(&mut self.buffers.output);
        let mut to_held = std::mem::take(&mut self.buffers.second);
        let rng = &mut self.rng;
        let sockets = call.sockets(&self.connections, held);
        let (request, held) = (&mut to_request, &mut to_held);
        let mut io = SessionIo { request, held, rng, then: AnswerPart::More, sockets };
        let (groups, stats, memberships) = (&mut self.groups, &mut self.stats, &mut entry.memberships);
        let mut moved = Vec::new();
        let mut on = |event: ServerEvent<'_>| match event {
            ServerEvent::Joined { room } => memberships.join(groups, room, key as u32),
            ServerEvent::Left { room } => moved.extend(memberships.leave(groups, room)),
            ServerEvent::Echoed { .. } => stats.echoes += 1,
            ServerEvent::Broadcast { room, frame } => {
                stats.broadcasts += 1;
                groups.push(room, 1, frame);
            }
            ServerEvent::Rebroadcast { room, frame } => groups.push(room, 1, frame),
            ServerEvent::Upgraded
            | ServerEvent::Asked
            | ServerEvent::Requested { .. }
            | ServerEvent::StreamLost { .. }
            | ServerEvent::StreamDrained { .. }
            | ServerEvent::Closed { .. } => unreachable!("events of connections"),
        };
        let (now_ns, session) = (self.now_ns, &mut entry.session);
        let answer = match call {
            SessionCall::Request(place, request) => {
                Some((place, session.handle_request(now_ns, request, &mut io, &mut on)))
            }
            SessionCall::Lost => {
                session.handle_lost(now_ns, &mut io, &mut on);
                None
            }
            SessionCall::Broadcast(frames) => {
                session.handle_broadcast(now_ns, frames, &mut io, &mut on);
                None
            }
            SessionCall::Timeout => {
                session.handle_timeout(now_ns, &mut io, &mut on);
                None
            }
            SessionCall::GiveUp => {
                session.give_up(now_ns, &mut io, &mut on);
                None
            }
        };
        let then = io.then;
        // An answer that is over frees the connection for its next request.
        let held = if then == AnswerPart::More { entry.held } else { entry.held.take() };
        for other in moved {
            self.handle_moved(other);
        }
        match held.and_then(|held| self.find_held(held)) {
            Some(place) => self.answer_held(place, to_held, then),
            None => self.buffers.second = Buffers::reuse(to_held),
        }
        match answer {
            Some((place, answer)) => {
                match answer {
                    Answer::Held => self.hold(key, place),
                    Answer::Taken(_) => self.bind(key, place),
                    Answer::Whole | Answer::Told(_) => {}
                }
                self.answer(place, to_request, answer);
            }
            None => self.buffers.output = Buffers::reuse(to_request),
        }
        self.handle_session_called(key);
    }

    /// Has a session hold a connection's request open.
    fn hold(&mut self, key: usize, place: Place) {
        let token = self.token_of(place.connection);
        self.sessions.get(key).held = Some(HeldRequest { token, stream: place.stream });
        self.bind(key, place);
    }

    /// Has a session told when a connection is gone, or a stream of it.
    fn bind(&mut self, key: usize, place: Place) {
        let session = TOKEN_SESSION | token(key, self.sessions.get(key).serial);
        let connection = &mut self.connections[place.connection];
        match place.stream {
            0 => connection.held_by = Some(session),
            stream => connection.streams.push((stream, session)),
        }
    }

    /// Finishes the call of a session: ends the session, if the call did, and sets the next deadline.
    fn handle_session_called(&mut self, key: usize) {
        let entry = self.sessions.get(key);
        if entry.session.is_over() {
            let entry = self.sessions.remove(key);
            return self.leave_rooms(entry.memberships);
        }
        entry.queued.set(entry.session.queued_bytes());
        // Not in this turn again: a session that always has more to say would keep all others from theirs.
        let next_ns = entry.session.poll_timeout().map_or(NEVER_NS, |at_ns| at_ns.max(self.now_ns + 1));
        if next_ns < entry.timer_ns {
            entry.timer_ns = next_ns;
            self.timers.add(next_ns, TOKEN_SESSION | token(key, entry.serial));
        }
    }

    /// Handles an entry of the timers that belongs to a session.
    pub(super) fn handle_session_timer(&mut self, at_ns: u64, token: u64) {
        let Some(key) = self.find_session(token) else { return };
        let entry = self.sessions.get(key);
        // An earlier deadline has been set since, and that entry has counted.
        if entry.timer_ns != at_ns {
            return;
        }
        entry.timer_ns = NEVER_NS;
        let is_due = entry.session.poll_timeout().is_some_and(|at_ns| at_ns <= self.now_ns);
        let reader = entry.held.filter(|_| entry.session.follows_reader());
        let is_behind = |place: Place| self.connections[place.connection].unsent_bytes(place.stream) > 0;
        if !is_due {
            self.handle_session_called(key);
        } else if !reader.and_then(|held| self.find_held(held)).is_some_and(is_behind) {
            self.call_session(key, SessionCall::Timeout);
        }
        // A reader that is behind is followed when it has caught up (`handle_drained`).
    }

    /// Handles a connection that has taken all bytes sent to it, and may be the reader for which its sessions
    /// wait.
    pub(super) fn handle_drained(&mut self, key: usize) {
        let connection = &self.connections[key];
        let sessions = connection.held_by.into_iter().chain(connection.streams.iter().map(|&(_, of)| of));
        for token in sessions.collect::<Vec<u64>>() {
            self.wake_session(token);
        }
        if self.connections.get(key).is_some_and(|connection| connection.session.follows_reader()) {
            self.arm(key);
        }
    }

    /// The same of streams whose windows have grown.
    pub(super) fn handle_streams_drained(&mut self, key: usize, drained: &[u32]) {
        for &stream in drained {
            let of = self.connections[key].streams.iter().find(|(of, _)| *of == stream);
            if let Some(&(_, token)) = of {
                self.wake_session(token);
            }
        }
    }

    fn wake_session(&mut self, token: u64) {
        if let Some(session) = self.find_session(token) {
            self.handle_session_called(session);
        }
    }

    /// Gives each session of a group its batch. A session may end with its batch, and leave its rooms; and a
    /// connection whose request is answered goes on, and may broadcast: by then, the group has to be complete
    /// again.
    pub(super) fn deliver_to_sessions(&mut self, group: usize) {
        let spare = std::mem::take(&mut self.buffers.batch);
        let mut recipients = std::mem::take(&mut self.buffers.recipients);
        let (batch, messages) = self.groups.detach_delivery(group, spare, &mut recipients);
        // Each is still there: only its own call ends a session, and none opens meanwhile.
        for key in recipients.drain(..) {
            self.deliver_to_session(key as usize, &batch, messages);
        }
        self.buffers.batch = Buffers::reuse(batch);
        self.buffers.recipients = recipients;
    }

    fn deliver_to_session(&mut self, key: usize, batch: &[u8], messages: u64) {
        let entry = self.sessions.get(key);
        let waits = entry.session.queued_bytes() > 0;
        let held = entry.held.and_then(|held| self.find_held(held));
        let why = match held {
            Some(place) => self.why_not_held(place, batch.len()),
            None => (waits && self.held.is_full()).then_some(Slow::Crowd),
        };
        if let Some(why) = why {
            return match (self.options.slow_policy, held) {
                (SlowPolicy::DropMessage, _) => self.skip(messages, why),
                (SlowPolicy::DropConnection, Some(place)) if place.stream == 0 => {
                    self.drop_slow(place.connection, why);
                }
                (SlowPolicy::DropConnection, Some(place)) => self.drop_slow_stream(place, why),
                (SlowPolicy::DropConnection, None) => {
                    self.count_slow_drop(why);
                    self.call_session(key, SessionCall::GiveUp);
                }
            };
        }
        self.call_session(key, SessionCall::Broadcast(batch));
        self.stats.copies += messages;
    }

    /// The reason why a batch of this many bytes is not sent to a connection that a session holds, if it is
    /// not: all bytes sent to such a connection are answers.
    fn why_not_held(&self, place: Place, batch_bytes: usize) -> Option<Slow> {
        let unsent_bytes = self.connections[place.connection].unsent_bytes(place.stream);
        let is_behind = unsent_bytes > 0 && unsent_bytes + batch_bytes > self.options.backlog_bytes_max;
        let is_crowded = unsent_bytes > 0 && self.held.is_full();
        self.why_not(place.connection, batch_bytes)
            .or(is_crowded.then_some(Slow::Crowd))
            .or(is_behind.then_some(Slow::Own))
    }

    /// The place of a request that is held, if its connection is still there.
    fn find_held(&self, held: HeldRequest) -> Option<Place> {
        self.find(held.token).map(|connection| Place { connection, stream: held.stream })
    }

    fn find_session(&self, token: u64) -> Option<usize> {
        self.sessions.check(token as u32 as usize, ((token & !TOKEN_SESSION) >> 32) as u32)
    }
}
