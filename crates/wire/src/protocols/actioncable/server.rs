//! The server's side: one channel, `BenchmarkChannel`, whose subscribers with the same identifier are a room.
//!
//! As Rails does, it answers with silence what it does not understand: broken JSON, an unknown command,
//! channel or action, a second subscription, a message without one. In the extended protocol, where
//! broadcasts are kept, a client that comes back finds its subscriptions as they were. They get broadcasts
//! again once their history is asked for, so that what was missed comes before what is new, and nothing
//! twice. Where nothing is kept, a subscription that asks for a history is told that it missed nothing,
//! unless it says how far it had come.

use codec::http::query;
use codec::http::request::Request;
use codec::json;
use codec::ws::MessageType;

use super::facts::{CHANNEL, EXTENDED, PING_INTERVAL, PONG_TIMEOUT};
use super::histories::{self, HistoryRequest};
use crate::absent::NoSession;
use crate::contract::ServerProtocol;
use crate::dialect_id::DialectId;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::history::History;
use crate::io::Io;
use crate::link::ServerLink;
use crate::publication::{self, Publication};
use crate::room::Room;
use crate::server_config::ServerConfig;

/// Subscriptions of one connection; further ones are rejected.
const SUBSCRIPTIONS_MAX: usize = 256;
/// A session id has as many characters as AnyCable's, of six bits each.
const SID_CHARS: usize = 21;
/// The code of a close that is not the client's fault (RFC 6455 §7.4.1).
const NORMAL_CLOSURE: u16 = 1000;
/// The protocol's pings show whole seconds.
const NS_PER_S: u64 = 1_000_000_000;

/// One connection's side, in a box: connections of other protocols need no room for it.
pub(crate) type Server = Box<Connection>;

#[derive(Debug, Default)]
pub(crate) struct Connection {
    subscriptions: Vec<Subscription>,
    /// The time from one ping to the next.
    interval_ns: u64,
    next_ping_ns: u64,
    /// When the client last said something.
    heard_ns: u64,
    is_extended: bool,
    /// The name of the session, and of the one that it is to go on with.
    sid: [u8; SID_CHARS],
    before: Box<[u8]>,
}

#[derive(Debug)]
struct Subscription {
    room: Room,
    /// It has been restored, and its history is still to be asked for: the latest number that was given until
    /// then.
    restored_at: Option<u64>,
}

/// A client's command; strings still escaped.
#[derive(Debug)]
struct Command<'a> {
    name: &'a [u8],
    identifier: &'a [u8],
    data: &'a [u8],
    /// The history asked for.
    history: &'a [u8],
}

impl ServerProtocol for Server {
    type Session = NoSession;

    fn open(cfg: &ServerConfig, request: &Request<'_>, subprotocol: Option<&str>) -> Result<Server, u16> {
        let interval_ns = cfg.settings.amount(&PING_INTERVAL).max(1);
        let is_extended = subprotocol == Some(EXTENDED);
        let before = query::param(request.target, "sid").unwrap_or_default().as_bytes().into();
        Ok(Box::new(Connection { interval_ns, is_extended, before, ..Connection::default() }))
    }

    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, _on: &mut impl OnServerEvent) {
        (self.next_ping_ns, self.heard_ns) = (link.now_ns + self.interval_ns, link.now_ns);
        if !self.is_extended {
            return link.say(&[br#"{"type":"welcome"}"#]);
        }
        self.sid = session_id(link.io);
        let restored = link.cfg.history.as_ref().and_then(|history| self.restore(history, link.now_ns));
        match restored {
            None => link.say(&[br#"{"type":"welcome","sid":""#, &self.sid, br#""}"#]),
            Some(ids) => link.say(&[
                br#"{"type":"welcome","sid":""#,
                &self.sid,
                br#"","restored":true,"restored_ids":["#,
                &ids,
                b"]}",
            ]),
        }
    }

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let message = link.take(start);
        self.heard_ns = link.now_ns;
        // Rails logs what it does not understand, and keeps the connection.
        if message_type == MessageType::Text
            && let Some(command) = Command::parse(&message)
        {
            self.handle_command(link, &command, message.len() as u32, on);
        }
        Ok(())
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.next_ping_ns)
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        let patience_ns = link.cfg.settings.amount(&PONG_TIMEOUT);
        let is_silent = link.now_ns > self.heard_ns + self.interval_ns + patience_ns;
        if self.is_extended && patience_ns > 0 && is_silent {
            link.say(&[br#"{"type":"disconnect","reason":"no_pong","reconnect":true}"#]);
            link.sender.close(link.io, NORMAL_CLOSURE);
            return Err(Failure::Silent);
        }
        // From the time it was due and not from now, so that pings do not drift; but never in the past.
        self.next_ping_ns = (self.next_ping_ns + self.interval_ns).max(link.now_ns + 1);
        // A session is kept for some time after its connection is lost: each ping puts off its end.
        if let Some(history) = link.cfg.history.as_ref().filter(|_| self.is_extended) {
            history.sessions().touch(&self.sid, self.next_ping_ns);
        }
        let unix_s = link.now_ns.wrapping_add(link.cfg.unix_minus_now_ns) / NS_PER_S;
        link.say(&[br#"{"type":"ping","message":"#, unix_s.to_string().as_bytes(), b"}"]);
        Ok(())
    }

    fn handle_close<I: Io>(&mut self, link: &mut ServerLink<'_, I>) {
        link.say(&[br#"{"type":"disconnect","reason":"server_restart","reconnect":true}"#]);
    }

    /// For those whose subscription has the room as its one parameter, written as clients do: without blanks.
    fn publish(cfg: &ServerConfig, now_ns: u64, publication: &Publication<'_>, on: &mut impl OnServerEvent) {
        for name in publication.names() {
            let plain = [br#"{"channel":""#, CHANNEL.as_bytes(), br#"","room":"#, &name, b"}"].concat();
            let mut identifier = Vec::new();
            json::escape(&mut identifier, &plain);
            let before: &[u8] = br#"","message":{"action":"broadcast","payload":"#;
            let text = [br#"{"identifier":""#, &identifier[..], before, publication.payload, b"}}"];
            let room = Room::of(DialectId::Actioncable, 0, &plain);
            match &cfg.history {
                None => publication::tell(room, &text, on),
                Some(history) => {
                    let message = histories::keep(history, room, now_ns, &text);
                    publication::tell(room, &[&message[0]], on);
                }
            }
        }
    }
}

impl<'a> Command<'a> {
    fn parse(message: &'a [u8]) -> Option<Command<'a>> {
        let [name, identifier, data, history] =
            json::members(message, ["command", "identifier", "data", "history"])?;
        Some(Command {
            name: json::string(name).unwrap_or_default(),
            identifier: json::string(identifier)?,
            data: json::string(data).unwrap_or_default(),
            history,
        })
    }

    fn answer<I: Io>(&self, link: &mut ServerLink<'_, I>, kind: &[u8]) {
        link.say(&[br#"{"identifier":""#, self.identifier, br#"","type":""#, kind, br#""}"#]);
    }
}

impl Connection {
    /// Goes on with the session before, if there is one: what it had subscribed to, as the client is told.
    /// This session takes its place.
    fn restore(&mut self, history: &History, now_ns: u64) -> Option<Vec<u8>> {
        let mut sessions = history.sessions();
        let before = sessions.take(&std::mem::take(&mut self.before), now_ns);
        let identifiers = before.as_deref().unwrap_or_default();
        let rooms = identifiers.iter().filter_map(|identifier| room_of(identifier));
        let restored_at = Some(history.latest());
        self.subscriptions.extend(rooms.map(|room| Subscription { room, restored_at }));
        let ids = identifiers.iter().map(|identifier| [b"\"", &identifier[..], b"\""].concat());
        let ids = before.is_some().then(|| ids.collect::<Vec<_>>().join(&b','));
        sessions.keep(&self.sid, before.unwrap_or_default(), now_ns);
        sessions.touch(&self.sid, self.next_ping_ns);
        ids
    }

    fn handle_command<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        command: &Command<'_>,
        bytes: u32,
        on: &mut impl OnServerEvent,
    ) {
        let Some(room) = room_of(command.identifier) else { return };
        let subscribed = self.subscriptions.iter().position(|other| other.room == room);
        match (command.name, subscribed) {
            (b"subscribe", None) => self.subscribe(link, command, room, on),
            (b"unsubscribe", Some(at)) => {
                // A subscription whose history was never asked for has not joined its room, and cannot
                // leave it.
                if self.subscriptions.swap_remove(at).restored_at.is_none() {
                    on(ServerEvent::Left { room });
                }
                if let Some(history) = &link.cfg.history {
                    history.sessions().leave(&self.sid, command.identifier);
                }
            }
            (b"message", Some(_)) => {
                if let Some(data) = json::unescape(command.data) {
                    perform(link, command.identifier, &data, room, bytes, on);
                }
            }
            (b"history", Some(at)) if self.is_extended => {
                // Joined only behind the catching up, so that no broadcast comes before what was missed.
                let restored_at = self.subscriptions[at].restored_at.take();
                self.catch_up(link, command, room, restored_at);
                if restored_at.is_some() {
                    on(ServerEvent::Joined { room });
                }
            }
            _ => {}
        }
    }

    fn subscribe<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        command: &Command<'_>,
        room: Room,
        on: &mut impl OnServerEvent,
    ) {
        if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return command.answer(link, b"reject_subscription");
        }
        self.subscriptions.push(Subscription { room, restored_at: None });
        if let Some(history) = &link.cfg.history {
            history.sessions().join(&self.sid, command.identifier);
        }
        on(ServerEvent::Joined { room });
        command.answer(link, b"confirm_subscription");
        self.catch_up(link, command, room, None);
    }

    /// Says what a subscription has missed, if it asks for that. One that was restored before has been there
    /// since: what came meanwhile is no part of what it missed, and comes even where that is rejected.
    fn catch_up<I: Io>(
        &self,
        link: &mut ServerLink<'_, I>,
        command: &Command<'_>,
        room: Room,
        restored_at: Option<u64>,
    ) {
        let stream = histories::stream_of(room);
        let asked = HistoryRequest::of(command.history, stream.as_bytes()).filter(|_| self.is_extended);
        let Some(asked) = asked else { return };
        let missed = match &link.cfg.history {
            Some(history) => {
                asked.missed(history, room, restored_at, link.now_ns, link.cfg.unix_minus_now_ns)
            }
            None => (!histories::names_streams(command.history)).then(Vec::new),
        };
        let meanwhile = || {
            let history = link.cfg.history.as_ref()?;
            Some(history.after(&[room], restored_at?, restored_at, link.now_ns)?.messages)
        };
        let kind: &[u8] = if missed.is_some() { b"confirm_history" } else { b"reject_history" };
        for message in missed.or_else(meanwhile).iter().flatten() {
            link.say(&[&message[0]]);
        }
        command.answer(link, kind);
    }
}

/// The room of an identifier, a JSON object that names our channel.
fn room_of(identifier: &[u8]) -> Option<Room> {
    let plain = json::unescape(identifier)?;
    let [channel] = json::members(&plain, ["channel"])?;
    (json::string(channel) == Some(CHANNEL.as_bytes())).then(|| Room::of(DialectId::Actioncable, 0, &plain))
}

/// Carries out an action of the channel, if `data` names one.
fn perform<I: Io>(
    link: &mut ServerLink<'_, I>,
    identifier: &[u8],
    data: &[u8],
    room: Room,
    bytes: u32,
    on: &mut impl OnServerEvent,
) {
    let Some(action) = json::members(data, ["action"]).and_then(|[action]| json::string(action)) else {
        return;
    };
    let (head, end) = ([br#"{"identifier":""#, identifier, br#"","message":"#].concat(), b"}");
    match action {
        b"echo" => {
            link.say(&[&head, data, end]);
            on(ServerEvent::Echoed { bytes });
        }
        b"broadcast" => {
            match link.cfg.history.as_ref() {
                None => link.broadcast(room, &[&head, data, end], on),
                Some(history) => {
                    let message = histories::keep(history, room, link.now_ns, &[&head, data, end]);
                    link.broadcast(room, &[&message[0]], on);
                }
            }
            // The action's value is a part of the data: what is before and after it stays.
            let at = action.as_ptr() as usize - data.as_ptr() as usize;
            let (before, after) = (&data[..at], &data[at + action.len()..]);
            link.say(&[&head, before, b"broadcastResult", after, end]);
        }
        _ => {}
    }
}

fn session_id(io: &mut impl Io) -> [u8; SID_CHARS] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = u128::from(io.random_u64()) << 64 | u128::from(io.random_u64());
    std::array::from_fn(|n| ALPHABET[(bits >> (6 * n)) as usize & 63])
}
