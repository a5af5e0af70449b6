//! The server's side: one channel, `BenchmarkChannel`, whose subscribers with the same identifier are a room.
//!
//! As Rails does, it answers with silence what it does not understand: broken JSON, an unknown command, channel or
//! action, a second subscription, a message without one. In the extended protocol, a subscription that asks for a
//! history is told that it missed nothing, unless it asks to resume: there is no history to resume from.

use super::facts::{CHANNEL, EXTENDED, PING_INTERVAL};
use crate::absent::NoSession;
use crate::contract::ServerProtocol;
use crate::dialect_id::DialectId;
use crate::event::{ServerEvent, Tells};
use crate::failure::Failure;
use crate::http::request::Request;
use crate::io::Io;
use crate::json;
use crate::link::ServerLink;
use crate::publication::{self, Publication};
use crate::room::Room;
use crate::server_config::ServerConfig;

/// Subscriptions of one connection; further ones are rejected.
const SUBSCRIPTIONS_MAX: usize = 256;
/// A session id has as many characters as AnyCable's, of six bits each.
const SID_CHARS: usize = 21;
/// The protocol's pings show whole seconds.
const NS_PER_S: u64 = 1_000_000_000;

/// One connection's side, in a box: connections of other protocols need no room for it.
pub(crate) type Server = Box<Connection>;

#[derive(Debug, Default)]
pub(crate) struct Connection {
    subscriptions: Vec<Room>,
    /// From one ping to the next.
    interval_ns: u64,
    next_ping_ns: u64,
    is_extended: bool,
}

/// A client's command; strings still escaped.
#[derive(Debug)]
struct Command<'a> {
    name: &'a [u8],
    identifier: &'a [u8],
    data: &'a [u8],
    /// Whether it asks for a history: to resume one, or from now on.
    history: Option<History>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum History {
    FromNow,
    Resumed,
}

impl ServerProtocol for Server {
    type Session = NoSession;

    fn open(cfg: &ServerConfig, _request: &Request<'_>, subprotocol: Option<&str>) -> Result<Server, u16> {
        let is_extended = subprotocol == Some(EXTENDED);
        let interval_ns = cfg.settings.amount(&PING_INTERVAL).max(1);
        Ok(Box::new(Connection { is_extended, interval_ns, ..Connection::default() }))
    }

    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, _on: &mut impl Tells) {
        self.next_ping_ns = link.now_ns + self.interval_ns;
        if self.is_extended {
            let sid = session_id(link.io);
            link.say(&[br#"{"type":"welcome","sid":""#, &sid, br#""}"#]);
        } else {
            link.say(&[br#"{"type":"welcome"}"#]);
        }
    }

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        text: bool,
        start: usize,
        on: &mut impl Tells,
    ) -> Result<(), Failure> {
        let message = link.take(start);
        if let Some(command) = text.then(|| Command::parse(&message)).flatten() {
            self.handle_command(link, &command, message.len() as u32, on);
        }
        Ok(())
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.next_ping_ns)
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        self.next_ping_ns = (self.next_ping_ns + self.interval_ns).max(link.now_ns + 1);
        let unix_s = link.now_ns.wrapping_add(link.cfg.unix_minus_now_ns) / NS_PER_S;
        link.say(&[br#"{"type":"ping","message":"#, unix_s.to_string().as_bytes(), b"}"]);
        Ok(())
    }

    fn handle_close<I: Io>(&mut self, link: &mut ServerLink<'_, I>) {
        link.say(&[br#"{"type":"disconnect","reason":"server_restart","reconnect":true}"#]);
    }

    /// For those whose subscription has the room as its one parameter, written as clients do: without blanks.
    fn publish(_cfg: &ServerConfig, _now_ns: u64, said: &Publication<'_>, on: &mut impl Tells) {
        for name in said.names() {
            let plain = [br#"{"channel":""#, CHANNEL.as_bytes(), br#"","room":"#, &name, b"}"].concat();
            let mut identifier = Vec::new();
            json::escape(&mut identifier, &plain);
            let before: &[u8] = br#"","message":{"action":"broadcast","payload":"#;
            let text = [br#"{"identifier":""#, &identifier[..], before, said.payload, b"}}"];
            publication::tell(Room::of(DialectId::Actioncable, 0, &plain), &text, on);
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
            history: History::of(history),
        })
    }
}

impl History {
    /// A client that resumes names the streams and how far it has come in each; `None`: nothing is asked for.
    fn of(asked: &[u8]) -> Option<History> {
        let [streams] = json::members(asked, ["streams"]).unwrap_or_default();
        let mut history = (!asked.is_empty()).then_some(History::FromNow);
        let _ = json::object(streams, |_, _| history = Some(History::Resumed));
        history
    }
}

impl Connection {
    fn handle_command<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        command: &Command<'_>,
        bytes: u32,
        on: &mut impl Tells,
    ) {
        let Some(room) = room_of(command.identifier) else { return };
        let subscribed = self.subscriptions.iter().position(|&other| other == room);
        match (command.name, subscribed) {
            (b"subscribe", None) => self.subscribe(link, command, room, on),
            (b"unsubscribe", Some(at)) => {
                self.subscriptions.swap_remove(at);
                on(ServerEvent::Left { room });
            }
            (b"message", Some(_)) => {
                if let Some(data) = json::unescape(command.data) {
                    perform(link, command.identifier, &data, room, bytes, on);
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
        on: &mut impl Tells,
    ) {
        let mut answer = |kind: &[u8]| {
            link.say(&[br#"{"identifier":""#, command.identifier, br#"","type":""#, kind, br#""}"#]);
        };
        if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return answer(b"reject_subscription");
        }
        self.subscriptions.push(room);
        on(ServerEvent::Joined { room });
        answer(b"confirm_subscription");
        match command.history.filter(|_| self.is_extended) {
            Some(History::FromNow) => answer(b"confirm_history"),
            Some(History::Resumed) => answer(b"reject_history"),
            None => {}
        }
    }
}

/// Whose identifiers are JSON objects that name our channel.
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
    on: &mut impl Tells,
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
            link.broadcast(room, &[&head, data, end], on);
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
