//! The client's side.
//!
//! ```text
//! upgraded: joins its topics; joining --ok to the last of them--> usable; joining --error--> rejected
//! any --30 s--> sends a heartbeat; --30 s more without its answer--> failed
//! any --phx_error, or phx_close of a topic that it stays in, or of more than it has left--> rejected
//! usable --visits a topic--> joins it, and leaves it again; its own topics stay what they are
//! ```

use std::sync::LazyLock;

use app::Kind;
use app::conditions::Opened;
use app::template::{Filling, Mark};
use codec::json::{decimal, items, members, string, unescape};
use codec::ws::MessageType;
use codec::ws::receiver::Message;
use codec::{Found, stamp};
use memchr::memmem::Finder;

use super::binary::{Push, Received};
use super::parts::{ACCEPTED, HEARTBEAT_REF, LEAVE_REF, Parts, Topic};
use crate::carried::{Arrival, MessageHint, MessageTemplate, ProtocolEvent, ProtocolHandler, Spelling};
use crate::contract::{ClientProtocol, RoomProtocol};
use crate::event::{Direction, Event, Rejection, RoomChange};
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;
use crate::pending::{self, Pending};

/// The time between two heartbeats, the same as that of phoenix.js. Phoenix gives up a client that is silent
/// for twice this time.
const HEARTBEAT_INTERVAL_NS: u64 = 30_000_000_000;

/// One client's channels.
#[derive(Debug, Default)]
pub(crate) struct Client {
    next_heartbeat_ns: u64,
    /// Messages sent, the joins being the first.
    number: u32,
    topics: Topics,
    /// A server's replies do not say to what: as a rule, to what was sent last.
    sent_broadcast: bool,
    awaits_heartbeat: bool,
}

/// A client's topics.
#[derive(Debug)]
enum Topics {
    /// On the way: the topics joined so far, of those that it stays in, a bit each.
    Joining(u8),
    /// The client has joined all topics. `leaving`: the number of visited topics that it has left without
    /// having heard that they are closed. Phoenix may say so when it has let the client in again, because it
    /// closes the former channel for that.
    Joined { leaving: u8 },
}

impl Default for Topics {
    fn default() -> Self {
        Topics::Joining(0)
    }
}

impl ClientProtocol for Client {
    type Parts = Parts;

    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, on: &mut impl ProtocolHandler) {
        self.next_heartbeat_ns = link.now_ns + HEARTBEAT_INTERVAL_NS;
        // All at once, without waiting for the answers: their numbers tell them apart.
        for topic in &link.parts.topics {
            // Each has the number of its join, whenever that is.
            self.number += 1;
            if topic.visited.is_none() {
                link.say(&topic.join);
            }
        }
        if link.parts.standing() == 0 {
            self.topics = Topics::Joined { leaving: 0 };
            on.handle(ProtocolEvent::Ready);
        }
    }

    fn rooms(&mut self) -> Option<&mut impl RoomProtocol<Parts>> {
        Some(self)
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (text, bytes) = (message.bytes()?, message.wire_bytes);
        if message.message_type == MessageType::Binary {
            on.handle(self.handle_binary(text, bytes));
            return Ok(());
        }
        let found = stamp::find_before(text, link.parts.bytes_behind_id(text));
        let hint = match found {
            Found::None => {
                if let Some(event) = self.handle_control(link, text, bytes) {
                    on.handle(event);
                }
                return Ok(());
            }
            // A stamp that announces a client is in the join itself, and comes back in its answer.
            Found::At { stamp, .. } if stamp.announced().is_some() && is_reply(text) => {
                // A server may tell a newcomer what it has joined with.
                if let Some(event) = self.handle_control(link, text, bytes) {
                    on.handle(event);
                }
                return Ok(());
            }
            _ if link.parts.is_pushed(text) => MessageHint::Pushed,
            // Behind the usual: a whole parse for every message would cost more than the rest of it.
            _ => match self.says_of_unusual(&mut link.pending, text) {
                Some(hint) => hint,
                None => {
                    on.handle(ProtocolEvent::Event(Event::Rejected(Rejection::Message)));
                    return Ok(());
                }
            },
        };
        on.handle(ProtocolEvent::text(text, bytes, found, hint, open));
        Ok(())
    }

    #[inline]
    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) {
        self.number = self.number.wrapping_add(1);
        self.sent_broadcast = message_template.kind == Some(Kind::Broadcast);
        let number = u64::from(self.number);
        pending::push(&mut link.pending, number, message_template.kind, *filling.mark.stamp);
        let topics = &link.parts.topics;
        link.sender.message(link.io, message_template.message_type, |out| {
            if message_template.message_type == MessageType::Binary {
                // The benchmark's, which has one topic.
                let (number, topic) = (self.number.to_string(), topics[0].name.filled(filling));
                let strings = [b"1", number.as_bytes(), &topic, &message_template.event];
                Push::write_head(out, strings);
            }
            message_template.text.write(out, filling, number);
        });
    }

    fn is_ready(&self) -> bool {
        matches!(self.topics, Topics::Joined { .. })
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.next_heartbeat_ns)
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut Link<'_, Parts, I>) -> Result<(), Failure> {
        // As phoenix.js does: a heartbeat that is still unanswered when the next is due ends the connection.
        if std::mem::replace(&mut self.awaits_heartbeat, true) {
            return Err(Failure::HeartbeatTimeout);
        }
        self.next_heartbeat_ns = link.now_ns + HEARTBEAT_INTERVAL_NS;
        let heartbeat = &link.parts.heartbeat;
        link.sender.message(link.io, MessageType::Text, |out| out.extend_from_slice(heartbeat));
        Ok(())
    }
}

impl RoomProtocol<Parts> for Client {
    fn pass<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        place: usize,
        way: Direction,
        announced: Mark<'_>,
    ) {
        let topic = &link.parts.topics[place];
        match way {
            Direction::In => link.say_marked(&topic.join, announced),
            Direction::Out => {
                if let Topics::Joined { leaving } = &mut self.topics {
                    // Phoenix says `phx_close` for each leave: without the count, it would pass for a channel
                    // that the server closed.
                    *leaving = leaving.saturating_add(1);
                }
                link.say(&topic.leave);
            }
        }
    }
}

impl Client {
    /// Notes that a topic is joined. Returns whether it was the last that was missing.
    fn handle_joined(&mut self, topic: usize, parts: &Parts) -> bool {
        let Topics::Joining(joined) = &mut self.topics else { return false };
        *joined |= 1 << topic;
        let is_last = *joined == parts.standing();
        if is_last {
            self.topics = Topics::Joined { leaving: 0 };
        }
        is_last
    }

    /// The event of a message about a topic that the client visits.
    fn passed<'a, I: Io>(
        &self,
        control: &Control<'_>,
        joins: Option<usize>,
        link: &Link<'_, Parts, I>,
    ) -> Option<ProtocolEvent<'a>> {
        let at =
            joins.or_else(|| control.left_topic(link.parts)).filter(|_| control.event == b"phx_reply")?;
        let kind = link.parts.topics[at].visited?;
        let passed = match (joins, control.status) {
            (None, _) => RoomChange::Out,
            (Some(_), b"ok") => RoomChange::In,
            (Some(_), _) => RoomChange::Refused,
        };
        Some(ProtocolEvent::Event(Event::RoomChange { kind, passed }))
    }

    /// The kind of message that a reply answers, if it does not say so itself.
    fn last_sent(&self) -> Kind {
        if self.sent_broadcast { Kind::Broadcast } else { Kind::Echo }
    }

    /// The hint at a message with an id that does not start as those usually do that answer nothing; `None`:
    /// it is refused.
    fn says_of_unusual(
        &self,
        pending: &mut Option<&mut Pending>,
        text: &[u8],
    ) -> Option<MessageHint<'static>> {
        static REPLY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""phx_reply""#));
        // The usual ending says that it was taken: only others are worth a parse.
        if !text.ends_with(ACCEPTED) && is_refusal(text) {
            return None;
        }
        if REPLY.find(text).is_none() {
            return Some(MessageHint::Pushed);
        }
        let numbered = pending.is_some().then(|| Control::parse(text)).flatten();
        let kind = numbered.and_then(|control| pending::take(pending, control.number)).map(|(kind, _)| kind);
        Some(MessageHint::Answer(kind.unwrap_or_else(|| self.last_sent())))
    }

    fn handle_binary<'a>(&self, message: &'a [u8], bytes: u32) -> ProtocolEvent<'a> {
        let (hint, data) = match Received::parse(message) {
            Some(Received::Pushed { data }) => (MessageHint::Pushed, data),
            Some(Received::Replied { status: b"ok", data }) => (MessageHint::Answer(self.last_sent()), data),
            Some(Received::Replied { .. }) => {
                return ProtocolEvent::Event(Event::Rejected(Rejection::Message));
            }
            None => return ProtocolEvent::Event(Event::Foreign { bytes }),
        };
        let found = Some(stamp::read_binary(data));
        ProtocolEvent::Arrival(Arrival {
            text: data,
            spelling: Spelling::Bytes,
            found,
            hint,
            bytes,
            open: Opened::whole,
        })
    }

    /// A message without an id: `None` when it is the protocol's own, and needs no more.
    #[cold]
    fn handle_control<'a, I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        text: &'a [u8],
        bytes: u32,
    ) -> Option<ProtocolEvent<'a>> {
        let Some(control) = Control::parse(text) else {
            return Some(ProtocolEvent::Event(Event::Foreign { bytes }));
        };
        let rejected = |rejection| Some(ProtocolEvent::Event(Event::Rejected(rejection)));
        let joins = control.joined_topic(link.parts);
        if let Some(passed) = self.passed(&control, joins, link) {
            return Some(passed);
        }
        let is_of_channel = joins.is_some() || control.event != b"phx_reply";
        match (control.event, control.number) {
            (b"phx_reply" | b"phx_error" | b"phx_close", _)
                if is_of_channel && !control.is_of(joins, link) =>
            {
                Some(ProtocolEvent::Event(Event::Foreign { bytes }))
            }
            (b"phx_reply", _) if let Some(topic) = joins => match control.status {
                b"ok" if self.handle_joined(topic, link.parts) => Some(ProtocolEvent::Ready),
                b"ok" => None,
                _ => rejected(Rejection::Subscription),
            },
            (b"phx_reply", number) if number == HEARTBEAT_REF.as_bytes() => {
                self.awaits_heartbeat = false;
                None
            }
            (b"phx_reply", _) if control.status == b"error" => rejected(Rejection::Message),
            (b"phx_reply", number) => Some(match pending::take(&mut link.pending, number) {
                Some((kind, stamp)) => ProtocolEvent::text(
                    text,
                    bytes,
                    Found::At { stamp, offset: 0 },
                    MessageHint::Answer(kind),
                    open,
                ),
                None => ProtocolEvent::text(text, bytes, Found::None, MessageHint::Unknown, open),
            }),
            (b"phx_error", _) => rejected(Rejection::Crashed),
            (b"phx_close", _) => match &mut self.topics {
                // A server may say nothing of the end of a topic that was left: it does not excuse the end
                // of one that the client stays in.
                Topics::Joined { leaving } if *leaving > 0 && control.is_of_visited(link) => {
                    *leaving -= 1;
                    None
                }
                _ => rejected(Rejection::ChannelClosed),
            },
            // The framework's own news of members.
            (b"presence_state" | b"presence_diff", _) => None,
            _ => Some(ProtocolEvent::text(text, bytes, Found::None, MessageHint::Pushed, open)),
        }
    }
}

/// The event and its payload; of a reply, the response.
fn open(message: &[u8]) -> Option<Opened<'_>> {
    let Control { event, payload, response, .. } = Control::parse(message)?;
    let body = if event == b"phx_reply" { response } else { payload };
    Some(Opened { event: event.into(), body: body.into() })
}

/// A message taken apart; strings without their marks.
#[derive(Debug)]
struct Control<'a> {
    topic: &'a [u8],
    number: &'a [u8],
    event: &'a [u8],
    payload: &'a [u8],
    /// The status of a reply.
    status: &'a [u8],
    response: &'a [u8],
}

impl<'a> Control<'a> {
    fn parse(message: &'a [u8]) -> Option<Control<'a>> {
        let [number, topic, event, payload] = if message.first() == Some(&b'[') {
            let [_, number, topic, event, payload] = items(message)?;
            [number, topic, event, payload]
        } else {
            members(message, ["ref", "topic", "event", "payload"])?
        };
        // Not every payload is an object, and only a reply's has a status.
        let [status, response] = members(payload, ["status", "response"]).unwrap_or_default();
        let text = |value| string(value).unwrap_or_default();
        let payload = if payload.is_empty() { b"null" } else { payload };
        let (number, topic, event, status) = (text(number), text(topic), text(event), text(status));
        Some(Control { topic, number, event, payload, status, response })
    }

    /// The topic whose join has this number.
    fn joined_topic(&self, parts: &Parts) -> Option<usize> {
        // Joins are numbered from 1 in the order of the topics, so that the number is the place.
        let number: usize = decimal(self.number)?;
        number.checked_sub(1).filter(|&topic| topic < parts.topics.len())
    }

    /// The topic whose leave has this number.
    fn left_topic(&self, parts: &Parts) -> Option<usize> {
        let number = self.number.strip_prefix(LEAVE_REF.as_bytes())?;
        Control { number, ..*self }.joined_topic(parts)
    }

    /// Returns whether it is of this topic, or else of any of the client's.
    fn is_of<I: Io>(&self, topic: Option<usize>, link: &Link<'_, Parts, I>) -> bool {
        self.topics(link).any(|named| topic.is_none_or(|topic| topic == named))
    }

    /// Returns whether it is of topics alone that the client visits.
    fn is_of_visited<I: Io>(&self, link: &Link<'_, Parts, I>) -> bool {
        self.topics(link).all(|at| link.parts.topics[at].visited.is_some())
    }

    /// Topics of the client that have its name.
    fn topics<I: Io>(&self, link: &Link<'_, Parts, I>) -> impl Iterator<Item = usize> {
        let named = unescape(self.topic).unwrap_or_default();
        let is_it = move |topic: &Topic| *named == *topic.name.filled(&link.filling());
        (0..).zip(&link.parts.topics).filter(move |(_, topic)| is_it(topic)).map(|(at, _)| at)
    }
}

/// Returns whether it is the protocol's own reply to something.
fn is_reply(message: &[u8]) -> bool {
    Control::parse(message).is_some_and(|control| control.event == b"phx_reply")
}

/// Returns whether a message of ours comes back as an error. Only what has the word is looked at closely.
fn is_refusal(payload: &[u8]) -> bool {
    static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""error""#));
    let is_error = |control: Control<'_>| control.event == b"phx_reply" && control.status == b"error";
    ERROR.find(payload).is_some() && Control::parse(payload).is_some_and(is_error)
}
