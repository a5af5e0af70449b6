//! A server with many connections and sessions, in memory: what a driver does, without a network and with a
//! clock that the test moves.

use std::collections::HashMap;

use codec::StreamId;
use wire::Answer;
use wire::session::{HELD, REQUEST};
use wire::{Failure, Io, Room, Server, ServerConfig, ServerEvent, Session};

/// The world.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) cfg: ServerConfig,
    pub(crate) now_ns: u64,
    /// Requests are handed over after later ones.
    pub(crate) is_late: bool,
    connections: Vec<Connection>,
    sessions: HashMap<String, Kept>,
    rooms: HashMap<Room, Vec<Member>>,
}

#[derive(Default)]
struct Connection {
    server: Server,
    out: Vec<u8>,
    closed: bool,
    held_by: Option<String>,
}

struct Kept {
    session: Session,
    held: Option<usize>,
}

#[derive(Clone, PartialEq, Eq)]
enum Member {
    Connection(usize),
    Session(String),
}

/// The output of one call.
#[derive(Default)]
struct Output {
    streams: [Vec<u8>; 2],
    closed: [bool; 2],
    seed: u64,
    is_late: bool,
}

impl codec::Io for Output {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        &mut self.streams[usize::from(stream)]
    }

    fn random_u64(&mut self) -> u64 {
        self.seed += 1;
        self.seed
    }

    fn open_stream(&mut self, _stream: StreamId) {
        panic!("a server does not connect");
    }

    fn close_stream(&mut self, stream: StreamId) {
        self.closed[usize::from(stream)] = true;
    }
}

impl Io for Output {
    fn was_earlier(&mut self, _: StreamId) -> bool {
        self.is_late
    }
}

/// The effects of a call besides its output.
#[derive(Default)]
struct Happened {
    asked: bool,
    joined: Vec<Room>,
    left: Vec<Room>,
    broadcasts: Vec<(Room, Vec<u8>)>,
}

impl Happened {
    fn note(&mut self, event: ServerEvent<'_>) {
        match event {
            ServerEvent::Asked => self.asked = true,
            ServerEvent::Joined { room } => self.joined.push(room),
            ServerEvent::Left { room } => self.left.push(room),
            ServerEvent::Broadcast { room, frame } | ServerEvent::Rebroadcast { room, frame } => {
                self.broadcasts.push((room, frame.to_vec()))
            }
            _ => {}
        }
    }
}

/// The verb of a session to call.
enum Verb<'a> {
    Request(usize, wire::SessionRequest),
    Lost,
    Broadcast(&'a [u8]),
    Timeout,
}

impl World {
    pub(crate) fn new() -> World {
        World { now_ns: 1_000_000_000, ..World::default() }
    }

    /// A new connection.
    pub(crate) fn connect(&mut self) -> usize {
        self.connections.push(Connection::default());
        self.connections.len() - 1
    }

    /// A client sends bytes; what the server says to it is there at once.
    pub(crate) fn send(&mut self, at: usize, bytes: &[u8]) -> Result<(), Failure> {
        self.call(at, |server, cfg, now_ns, io, happened| {
            server.handle_input(cfg, now_ns, 0, bytes, io, &mut |event| happened.note(event))
        })
    }

    /// The server's output on a connection since the last time.
    pub(crate) fn take(&mut self, at: usize) -> Vec<u8> {
        std::mem::take(&mut self.connections[at].out)
    }

    /// The server's output on a connection since the last time, as text.
    pub(crate) fn read(&mut self, at: usize) -> String {
        String::from_utf8_lossy(&self.take(at)).into_owned()
    }

    /// Returns whether the server has closed it.
    pub(crate) fn is_closed(&self, at: usize) -> bool {
        self.connections[at].closed
    }

    /// A client drops its connection.
    pub(crate) fn abort(&mut self, at: usize) {
        self.connections[at].closed = true;
        for members in self.rooms.values_mut() {
            members.retain(|member| *member != Member::Connection(at));
        }
        if let Some(name) = self.connections[at].held_by.take() {
            self.sessions.get_mut(&name).expect("it holds").held = None;
            self.call_session(&name, Verb::Lost);
        }
    }

    /// Lets time pass, a second at a time.
    pub(crate) fn pass_s(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.pass_ms(1000);
        }
    }

    /// Lets time pass at once.
    pub(crate) fn pass_ms(&mut self, ms: u64) {
        self.now_ns += ms * 1_000_000;
        let now_ns = self.now_ns;
        let due = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| at_ns <= now_ns);
        for at in 0..self.connections.len() {
            if due(self.connections[at].server.poll_timeout()) && !self.connections[at].closed {
                let called =
                    self.call(at, |server, cfg, now_ns, io, _| server.handle_timeout(cfg, now_ns, io));
                assert_eq!(called.is_err(), self.connections[at].closed, "who is too late is cut off");
            }
        }
        let sessions = self.sessions.iter();
        let due: Vec<String> = sessions
            .filter(|(_, kept)| due(kept.session.poll_timeout()))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &due {
            self.call_session(name, Verb::Timeout);
        }
    }

    /// Sessions that are kept.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn call(
        &mut self,
        at: usize,
        verb: impl FnOnce(&mut Server, &ServerConfig, u64, &mut Output, &mut Happened) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut io, mut happened) = (Output::default(), Happened::default());
        // Connections must not share the ids that they draw at the same time.
        io.seed = self.now_ns ^ (at as u64) << 40;
        let connection = &mut self.connections[at];
        let result = verb(&mut connection.server, &self.cfg, self.now_ns, &mut io, &mut happened);
        connection.out.append(&mut io.streams[0]);
        connection.closed |= io.closed[0];
        let request =
            happened.asked.then(|| connection.server.take_request()).flatten().map(|(_, request)| request);
        self.settle(happened, &Member::Connection(at));
        if let Some(request) = request.as_ref().filter(|request| request.is_for_publishing()) {
            self.publish(at, request);
        } else if let Some(request) = request {
            let name = request.name().to_owned();
            if request.opens() && !self.sessions.contains_key(&name) {
                self.sessions
                    .insert(name.clone(), Kept { session: Session::new(&self.cfg, &request), held: None });
            }
            if self.sessions.contains_key(&name) {
                self.call_session(&name, Verb::Request(at, request));
            } else {
                let mut io = Output::default();
                request.refuse(&mut io);
                self.answer(at, &io.streams[0], Answer::Whole);
            }
        }
        result
    }

    /// Tells a room what is published there, and answers.
    fn publish(&mut self, at: usize, request: &wire::SessionRequest) {
        let (mut happened, mut out) = (Happened::default(), Vec::new());
        let is_sound = request.publish(&self.cfg, self.now_ns, &mut |event| happened.note(event));
        self.settle(happened, &Member::Connection(at));
        request.answer_published(is_sound.then_some(0), &mut out);
        self.answer(at, &out, Answer::Whole);
    }

    fn call_session(&mut self, name: &str, verb: Verb<'_>) {
        let (mut io, mut happened) =
            (Output { is_late: self.is_late, ..Output::default() }, Happened::default());
        let Kept { session, held } = self.sessions.get_mut(name).expect("it is kept");
        let now_ns = self.now_ns;
        let mut on = |event: ServerEvent<'_>| happened.note(event);
        let mut answer = None;
        match verb {
            Verb::Request(at, request) => {
                answer = Some((at, session.handle_request(now_ns, request, &mut io, &mut on)));
            }
            Verb::Lost => session.handle_lost(now_ns, &mut io, &mut on),
            Verb::Broadcast(frames) => session.handle_broadcast(now_ns, frames, &mut io, &mut on),
            Verb::Timeout => session.handle_timeout(now_ns, &mut io, &mut on),
        }
        let is_over = session.is_over();
        let before = if io.closed[usize::from(HELD)] { held.take() } else { *held };
        if let Some((at, answer @ (Answer::Held | Answer::Taken(_)))) = &answer {
            if let Answer::Held = answer {
                *held = Some(*at);
            }
            self.connections[*at].held_by = Some(name.to_owned());
        }
        if is_over {
            self.sessions.remove(name);
            let own = Member::Session(name.to_owned());
            for members in self.rooms.values_mut() {
                members.retain(|member| *member != own);
            }
        }
        let broadcasts = std::mem::take(&mut happened.broadcasts);
        self.settle(happened, &Member::Session(name.to_owned()));
        let [to_request, to_held] = &io.streams;
        assert!(before.is_some() || to_held.is_empty(), "nobody to say it to");
        if let Some(at) = before {
            let is_whole = io.closed[usize::from(HELD)];
            self.answer(at, to_held, if is_whole { Answer::Whole } else { Answer::Held });
        }
        if let Some((at, answer)) = answer {
            assert!(!io.closed[usize::from(REQUEST)]);
            self.answer(at, to_request, answer);
        }
        // Only now: the session itself may be a member.
        self.settle(Happened { broadcasts, ..Happened::default() }, &Member::Session(name.to_owned()));
    }

    /// Hands on what a session says, and has the connection go on if its answer ends with that.
    fn answer(&mut self, at: usize, bytes: &[u8], answer: Answer) {
        self.connections[at].out.extend_from_slice(bytes);
        let is_bound = matches!(answer, Answer::Taken(_));
        let word = match answer {
            Answer::Held => return,
            Answer::Whole => None,
            Answer::Told(word) | Answer::Taken(word) => Some(word),
        };
        self.connections[at].held_by.take_if(|_| !is_bound);
        let called = self.call(at, |server, cfg, now_ns, io, happened| {
            server.handle_answered(cfg, now_ns, word, io, &mut |event| happened.note(event))
        });
        // What waited may be nonsense: the output says so.
        assert!(called.is_ok() || self.connections[at].closed, "who fails is cut off");
    }

    fn settle(&mut self, happened: Happened, member: &Member) {
        for room in happened.joined {
            self.rooms.entry(room).or_default().push(member.clone());
        }
        for room in happened.left {
            self.rooms.get_mut(&room).expect("it was there").retain(|other| other != member);
        }
        for (room, frame) in happened.broadcasts {
            for member in self.rooms.get(&room).cloned().unwrap_or_default() {
                match member {
                    Member::Connection(at) => self.connections[at].out.extend_from_slice(&frame),
                    Member::Session(name) => self.call_session(&name, Verb::Broadcast(&frame)),
                }
            }
        }
    }
}
