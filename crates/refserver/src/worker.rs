//! A worker: one thread, its epoll, its listeners and its connections.
//!
//! A turn of the loop is: wait; handle what happened (replies go out at once, broadcasts are collected); hand
//! the collected broadcasts to the other workers; take theirs; send each member everything in one go.

mod accepting;
mod answers;
mod faulty;
mod input;
mod output;
mod publishing;
mod sessions;
mod stopping;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use net::clock::monotonic_ns;
use net::errors::ErrorKind;
use net::poll::{Event, Events, Interest, Poller};
use net::socket::{Listener, Socket};
use slab::Slab;
use wire::SessionRequest;

use crate::board::{Figures, Notice, PUBLISH_AFTER_NS, SharedStats};
use crate::connection::{Connection, NEVER_NS, Phase};
use crate::faults::{self, WorkerFaults};
use crate::group::{Groups, Moved, RoomBatch};
use crate::held::Held;
use crate::mailbox::{Inbox, Outbox};
use crate::memberships::Memberships;
use crate::mesh::Mesh;
use crate::options::Options;
use crate::room_counts::RoomCounts;
use crate::sessions::Sessions;
use crate::stats::Stats;
use crate::stop::StopFlag;
use crate::timers::Timers;

/// The most events taken from the kernel per turn.
const EVENTS_PER_TURN: usize = 1024;

/// The most bytes read at once. All connections of a worker share one buffer.
const READ_BYTES: usize = 64 << 10;

/// The lowest token that is not a connection's.
const TOKEN_SPECIAL: u64 = 1 << 63;
/// The bit of a session's token, used only in timers.
const TOKEN_SESSION: u64 = 1 << 62;
const TOKEN_INBOX: u64 = TOKEN_SPECIAL;
const TOKEN_INTERRUPTS: u64 = TOKEN_SPECIAL + 1;
const TOKEN_LISTENERS: u64 = TOKEN_SPECIAL + (1 << 32);
const TOKEN_PEERS: u64 = TOKEN_SPECIAL + (2 << 32);

pub(crate) struct Worker {
    options: Arc<Options>,
    stop: StopFlag,
    poller: Poller,
    listeners: Vec<Arc<Listener>>,
    connections: Slab<Connection>,
    sessions: Sessions,
    /// Requests for sessions, with the tokens of their connections and the streams there (0 over HTTP/1.1),
    /// in the order they came in.
    asked: VecDeque<(u64, u32, SessionRequest)>,
    /// Requests for sessions of connections that have moved here in this turn. They are handled in the next
    /// turn: requests that were sent before them to other workers are read by then, so that no poll overtakes
    /// the upgrade that was sent before it.
    moved_in: Vec<(u64, u32, SessionRequest)>,
    /// Tokens of sessions that have lost the connection they held.
    bereft: Vec<u64>,
    groups: Groups,
    timers: Timers,
    inbox: Inbox,
    /// This worker's number among all workers of the process.
    number: usize,
    others: Vec<Outbox>,
    mesh: Mesh,
    /// Broadcasts of other processes that are delivered in this turn.
    arrived: Vec<RoomBatch>,
    stats: Stats,
    /// Bytes held by clients that are behind.
    held: Held,
    board: Arc<SharedStats>,
    /// The time when new figures are to be published, if there are any.
    publish_at_ns: Option<u64>,
    rng: fastrand::Rng,
    /// The time of this turn.
    now_ns: u64,
    next_serial: u32,
    /// Connections that are to be read without an event; each is once in this list or in `exhausted`.
    unfinished: Vec<u64>,
    /// Connections that have used up their reads of this turn, and go on in the next.
    exhausted: Vec<u64>,
    /// The time when the worker accepts again, after descriptors ran out.
    accept_again_ns: Option<u64>,
    next_ping_ns: Option<u64>,
    /// The time when the remaining connections are cut off, once the server is stopping.
    stop_at_ns: Option<u64>,
    buffers: Buffers,
    /// The faults that the worker commits on purpose.
    faults: Option<Box<WorkerFaults>>,
}

/// A worker's own resources, and its means to reach the other workers.
pub(crate) struct WorkerContext {
    pub(crate) number: usize,
    pub(crate) listeners: Vec<Arc<Listener>>,
    pub(crate) inbox: Inbox,
    pub(crate) others: Vec<Outbox>,
    /// Sockets to other processes; only the first worker has any.
    pub(crate) peers: Vec<Socket>,
    pub(crate) faults: Option<Arc<faults::Shared>>,
    pub(crate) held: Held,
    pub(crate) board: Arc<SharedStats>,
    /// The numbers of members of rooms; present if there are other workers.
    pub(crate) room_counts: Option<Arc<RoomCounts>>,
}

/// Scratch space, shared by all connections.
struct Buffers {
    input: Box<[u8]>,
    /// A session's answers.
    output: Vec<u8>,
    /// A session's output to the connection whose request it holds.
    second: Vec<u8>,
    /// Decrypted input.
    plain: Vec<u8>,
    /// Encrypted output.
    cipher: Vec<u8>,
    /// The next batch of a group of sessions that is being delivered to.
    batch: Vec<u8>,
    /// The sessions of that group.
    recipients: Vec<u32>,
    /// A batch in the encoding of its receiver.
    own_words: Vec<u8>,
}

impl Worker {
    pub(crate) fn new(options: Arc<Options>, stop: StopFlag, context: WorkerContext) -> io::Result<Worker> {
        let WorkerContext { number, listeners, inbox, others, peers, faults, held, board, room_counts } =
            context;
        let poller = Poller::new()?;
        // By level: an inbox that is not drained is told again, whatever came in between.
        poller.add(&**inbox.waker(), TOKEN_INBOX, Interest::ReadLevel)?;
        if let Some(interrupts) = stop.interrupts() {
            poller.add(interrupts, TOKEN_INTERRUPTS, Interest::ReadEdge)?;
        }
        stop.register(Arc::clone(inbox.waker()));
        let now_ns = monotonic_ns();
        let mut worker = Worker {
            mesh: Mesh::new(peers, &poller, TOKEN_PEERS)?,
            arrived: Vec::new(),
            next_ping_ns: options.ping_interval_ns.map(|interval_ns| now_ns + interval_ns),
            options,
            stop,
            poller,
            listeners,
            connections: Slab::new(),
            sessions: Sessions::default(),
            asked: VecDeque::new(),
            moved_in: Vec::new(),
            bereft: Vec::new(),
            groups: Groups::of_one_worker(room_counts),
            timers: Timers::default(),
            inbox,
            number,
            others,
            stats: Stats::default(),
            held,
            board,
            publish_at_ns: None,
            rng: fastrand::Rng::new(),
            now_ns,
            next_serial: 0,
            unfinished: Vec::new(),
            exhausted: Vec::new(),
            accept_again_ns: None,
            stop_at_ns: None,
            buffers: Buffers {
                input: vec![0; READ_BYTES].into(),
                output: Vec::new(),
                second: Vec::new(),
                plain: Vec::new(),
                cipher: Vec::new(),
                batch: Vec::new(),
                recipients: Vec::new(),
                own_words: Vec::new(),
            },
            faults: faults.map(|shared| Box::new(WorkerFaults::new(shared))),
        };
        // Last, so that no connection is accepted by a worker that could not be made.
        worker.resume_accepting()?;
        Ok(worker)
    }

    /// Serves until the worker has stopped.
    pub(crate) fn run(mut self) -> io::Result<Stats> {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        while !self.has_stopped() {
            self.poller.wait(&mut events, self.timeout_ns())?;
            self.turn(&events)?;
        }
        self.count_faults();
        Ok(self.stats)
    }

    /// Does one turn: handles the events, and the work that results from them.
    fn turn(&mut self, events: &Events) -> io::Result<()> {
        self.stall();
        // One clock call for the whole turn: all that is handled in it happened before.
        self.now_ns = monotonic_ns();
        let moved_in = std::mem::take(&mut self.moved_in);
        for event in events.iter() {
            self.handle_event(event)?;
        }
        self.asked.extend(moved_in);
        for token in std::mem::take(&mut self.unfinished) {
            self.read_unfinished(token);
        }
        // Behind the others, so that a flood does not keep them from their turn.
        self.unfinished.append(&mut self.exhausted);
        self.handle_timers()?;
        // Sessions may broadcast, and so come before broadcasts are exchanged.
        self.serve_sessions();
        self.exchange_broadcasts();
        self.ping_clients();
        self.work_faults();
        // Timers alone change the figures, too; an idle worker does not publish again and again.
        if self.publish_at_ns.is_none() && (!events.is_empty() || !self.is_published()) {
            self.publish_at_ns = Some(self.now_ns + PUBLISH_AFTER_NS);
        }
        Ok(())
    }

    /// Publishes the worker's figures.
    fn publish(&mut self) {
        self.publish_at_ns = None;
        self.count_faults();
        self.board.publish(self.number, Figures { stats: self.stats.clone(), open: self.connections.len() });
    }

    /// Returns whether the published figures are the newest.
    fn is_published(&self) -> bool {
        self.board.shows(self.number, &self.stats, self.connections.len())
    }

    /// How long the worker may wait for events.
    fn timeout_ns(&self) -> Option<u64> {
        let is_behind = !self.asked.is_empty() || !self.moved_in.is_empty() || !self.bereft.is_empty();
        // No event would come for these: their bytes have been announced, or read, already.
        if !self.unfinished.is_empty() || is_behind {
            return Some(0);
        }
        let faults_ns = self.faults.as_ref().and_then(|faults| faults.poll_timeout(self.now_ns));
        let times = [
            self.timers.next_ns(),
            self.accept_again_ns,
            self.next_ping_ns,
            self.publish_at_ns,
            self.stop_at_ns,
            faults_ns,
        ];
        let next_ns = times.into_iter().flatten().min()?;
        // Not from the time of the turn, which may have taken a while.
        Some(next_ns.saturating_sub(monotonic_ns()))
    }

    fn handle_event(&mut self, event: Event) -> io::Result<()> {
        match event.token {
            token if token < TOKEN_SPECIAL => self.handle_connection(event),
            TOKEN_INBOX => {
                self.inbox.handle_wake();
                while let Some(arrival) = self.inbox.poll_arrival() {
                    self.take_in(arrival);
                }
            }
            // What was raised is looked at with the timers, once a turn.
            TOKEN_INTERRUPTS => {}
            token if token < TOKEN_PEERS => self.accept((token - TOKEN_LISTENERS) as usize)?,
            _ => {
                let (input, arrived) = (&mut self.buffers.input, &mut self.arrived);
                self.mesh.handle_event(event, &self.poller, input, arrived);
            }
        }
        Ok(())
    }

    /// Gives a new number for a connection or session; it leaves out the two highest bits of tokens.
    fn new_serial(&mut self) -> u32 {
        // The serial fills the upper half of a token.
        self.next_serial = (self.next_serial + 1) & (u32::MAX >> 2);
        self.next_serial
    }

    /// The token of a connection that exists.
    fn token_of(&self, key: usize) -> u64 {
        token(key, self.connections[key].serial)
    }

    /// The key of the token's connection, if that connection still exists.
    fn find(&self, token: u64) -> Option<usize> {
        let key = token as u32 as usize;
        // Keys are used again: the serial shows whether an event belongs to an earlier connection with this
        // key.
        let connection = self.connections.get(key)?;
        (u64::from(connection.serial) == token >> 32).then_some(key)
    }

    /// Sets a timer for the connection's next deadline.
    fn arm(&mut self, key: usize) {
        let token = self.token_of(key);
        let connection = &mut self.connections[key];
        // Not in this turn again: a session that always has more to say would keep all others from theirs.
        let wake_ns = connection.session_timeout_ns().map_or(NEVER_NS, |at_ns| at_ns.max(self.now_ns + 1));
        let next_ns = connection.deadline_ns.min(wake_ns);
        // A later deadline needs no entry: the one that is there comes up first, finds nothing due, and
        // arms again.
        if next_ns < connection.timer_ns {
            connection.timer_ns = next_ns;
            self.timers.add(next_ns, token);
        }
    }

    fn handle_timers(&mut self) -> io::Result<()> {
        while let Some((at_ns, token)) = self.timers.pop_due(self.now_ns) {
            if token & TOKEN_SESSION != 0 {
                self.handle_session_timer(at_ns, token);
                continue;
            }
            let Some(key) = self.find(token) else { continue };
            // An entry that counts no more is of an earlier deadline.
            if self.connections[key].timer_ns == at_ns {
                self.connections[key].timer_ns = NEVER_NS;
                self.handle_timeout(key);
            }
        }
        if self.accept_again_ns.is_some_and(|at_ns| at_ns <= self.now_ns) {
            self.resume_accepting()?;
        }
        if self.publish_at_ns.is_some_and(|at_ns| at_ns <= self.now_ns) {
            self.publish();
        }
        if self.stop.level() > 0 && self.stop_at_ns.is_none() {
            self.begin_stop()?;
        }
        Ok(())
    }

    fn handle_timeout(&mut self, key: usize) {
        if self.connections[key].deadline_ns <= self.now_ns && !self.prolong(key) {
            match self.connections[key].phase {
                Phase::Fresh | Phase::Open => self.stats.count_error("handshake_timeout"),
                Phase::Idle => self.stats.idle_closed += 1,
                Phase::Closing => self.stats.count_error("unsent"),
                Phase::Lingering => {}
            }
            return self.close(key);
        }
        if self.connections[key].session_timeout_ns().is_some_and(|at_ns| at_ns <= self.now_ns) {
            self.handle_session_timeout(key);
        }
        // The session may have ended it.
        if self.connections.contains(key) {
            self.arm(key);
        }
    }

    /// Removes a connection. Its socket closes: in order, unless there are unread bytes.
    fn close(&mut self, key: usize) {
        self.part(key);
        self.connections.remove(key);
    }

    /// Counts the failure of a connection, and removes the connection.
    fn fail(&mut self, key: usize, kind: ErrorKind) {
        self.count_failure(kind);
        self.close(key);
    }

    /// Counts a failure, and prints a notice if the machine has run out of something.
    fn count_failure(&mut self, kind: ErrorKind) {
        self.stats.count_error(kind.name());
        match kind {
            ErrorKind::TooManyFiles => self.board.say(Notice::Files, self.now_ns),
            ErrorKind::NoBuffers => self.board.say(Notice::Memory, self.now_ns),
            _ => {}
        }
    }

    /// Takes a connection out of its rooms, and from the session that holds it.
    fn part(&mut self, key: usize) {
        let connection = &mut self.connections[key];
        // Told later: a session that is called now may be in the midst of another call.
        self.bereft.extend(connection.held_by.take());
        self.bereft.extend(connection.streams.drain(..).map(|(_, session)| session));
        let memberships = std::mem::take(&mut connection.memberships);
        self.leave_rooms(memberships);
    }

    fn leave_rooms(&mut self, memberships: Memberships) {
        for place in memberships.into_places() {
            if let Some(moved) = self.groups.leave(place) {
                self.handle_moved(moved);
            }
        }
    }

    /// Handles that another member has left and this one has been given its place.
    fn handle_moved(&mut self, moved: Moved) {
        let Moved { key, place, is_session } = moved;
        let memberships = match is_session {
            true => &mut self.sessions.get(key as usize).memberships,
            false => &mut self.connections[key as usize].memberships,
        };
        memberships.handle_moved(place);
    }
}

fn token(key: usize, serial: u32) -> u64 {
    u64::from(serial) << 32 | key as u64
}
