//! Links that the sides of a protocol act through.

use app::Identities;
use app::template::{ClientContext, Filling, Kept, Mark, Template};
use codec::http::cookies::Cookies;
use codec::ws::MessageType;
use codec::ws::frame::{self, Opcode};
use codec::ws::sender::Sender;

use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::pending::Pending;
use crate::request::Common;
use crate::room::Room;
use crate::server_config::ServerConfig;

/// The link that a client's side of a protocol acts through.
pub(crate) struct Link<'a, P, I> {
    /// The parts the protocol has encoded once.
    pub(crate) parts: &'a P,
    /// Messages whose answers may come without their ids; `None`: the app's answers carry them.
    pub(crate) pending: Option<&'a mut Pending>,
    /// The clients' identities.
    pub(crate) identities: &'a Identities,
    /// The values this client was given at its login.
    pub(crate) kept: &'a Kept,
    /// The time, for protocols with heartbeats and deadlines.
    pub(crate) now_ns: u64,
    pub(crate) sender: &'a mut Sender,
    pub(crate) io: &'a mut I,
}

impl<'a, P, I: Io> Link<'a, P, I> {
    /// The filling of this client's messages that are not the app's.
    pub(crate) fn filling(&self) -> Filling<'a> {
        Filling::of(self.identities.context(self.io.client(), self.now_ns, self.kept))
    }

    /// Sends a text that is not a message of the app.
    pub(crate) fn say(&mut self, text: &Template) {
        self.say_marked(text, Mark::NONE);
    }

    /// Sends a text that is not a message of the app, with a mark that may announce this client.
    pub(crate) fn say_marked(&mut self, text: &Template, mark: Mark<'_>) {
        let filling = Filling { mark, ..self.filling() };
        self.sender.message(self.io, MessageType::Text, |out| text.write(out, &filling, 0));
    }
}

/// The link of a client's side that goes over plain requests.
pub(crate) struct HttpLink<'a, P, I> {
    /// The parts the protocol has encoded once.
    pub(crate) parts: &'a P,
    /// Messages whose answers may come without their ids; `None`: the app's answers carry them.
    pub(crate) pending: Option<&'a mut Pending>,
    pub(crate) common: &'a Common,
    /// The values this client was given at its login.
    pub(crate) kept: &'a Kept,
    pub(crate) now_ns: u64,
    pub(crate) io: &'a mut I,
}

impl<'a, P, I: Io> HttpLink<'a, P, I> {
    /// The same link with other parts.
    pub(crate) fn with<Q>(self, parts: &'a Q) -> HttpLink<'a, Q, I> {
        let HttpLink { parts: _, pending, common, kept, now_ns, io } = self;
        HttpLink { parts, pending, common, kept, now_ns, io }
    }

    /// This client's context now.
    pub(crate) fn context(&self) -> ClientContext<'a> {
        self.common.context(self.io, self.now_ns, self.kept)
    }

    /// This client's context now, with the cookies that its transport has by now.
    pub(crate) fn context_with<'b>(&self, cookies: &'b Cookies) -> ClientContext<'b>
    where
        'a: 'b,
    {
        ClientContext { cookies, ..self.context() }
    }
}

/// The link that a server's side acts through.
pub(crate) struct ServerLink<'a, I> {
    pub(crate) cfg: &'a ServerConfig,
    /// The time, for protocols with heartbeats and deadlines.
    pub(crate) now_ns: u64,
    pub(crate) sender: &'a mut Sender,
    pub(crate) io: &'a mut I,
}

impl<I: Io> ServerLink<'_, I> {
    /// Takes a message off the output, at whose end it lies as the payload of an unsealed frame that starts
    /// at `start`.
    pub(crate) fn take(&mut self, start: usize) -> Vec<u8> {
        let out = self.io.out(0);
        let message = out[start + frame::BODY..].to_vec();
        out.truncate(start);
        message
    }

    /// Sends a text that is made of parts.
    pub(crate) fn say(&mut self, parts: &[&[u8]]) {
        self.sender.message(self.io, MessageType::Text, |out| codec::io::extend(out, parts));
    }

    /// Closes the connection over what the peer may not do, with a code and a reason in words.
    pub(crate) fn refuse(&mut self, code: u16, reason: &str) -> Failure {
        self.sender.close_because(self.io, code, reason);
        Failure::BadMessage
    }

    /// Has a text that is made of parts sent to every member of a room.
    pub(crate) fn broadcast(&mut self, room: Room, parts: &[&[u8]], on: &mut impl OnServerEvent) {
        let out = self.io.out(0);
        let start = out.len();
        frame::put(out, Opcode::Text, |out| codec::io::extend(out, parts));
        on(ServerEvent::Broadcast { room, frame: &out[start..] });
        out.truncate(start);
    }
}
