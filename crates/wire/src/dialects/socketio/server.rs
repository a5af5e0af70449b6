//! The server's side over a WebSocket: a packet is a message.

use super::app::{self, Outlet, SID_CHARS};
use super::side::{Next, Opening, Side};
use super::{Service, Version, query_param, sid};
use crate::dialects::{ServerDialect, ServerLink};
use crate::failure::Failure;
use crate::http::request::Request;
use crate::io::Io;
use crate::room::Room;
use crate::server::ServerEvent;
use crate::ws::close::NO_CODE;

/// Where the payload of a server's unsealed frame starts.
const BODY: usize = 2;

/// One connection's side, in a box: connections of other dialects need no room for it.
pub(crate) type Server = Box<Connection>;

#[derive(Debug)]
pub(crate) enum Connection {
    /// Before the upgrade.
    New(Version, Service),
    Live(Side),
}

impl Default for Connection {
    fn default() -> Connection {
        Connection::New(Version::V4, Service::Socket)
    }
}

impl ServerDialect for Server {
    fn open(request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Server, u16> {
        let version = query_param(request.target, "EIO").and_then(Version::named).ok_or(400u16)?;
        let is_plain = query_param(request.target, "transport") == Some("websocket")
            && query_param(request.target, "sid").is_none();
        if !is_plain {
            return Err(400);
        }
        Ok(Box::new(Connection::New(version, Service::at(request.path()))))
    }

    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, on: &mut impl FnMut(ServerEvent<'_>)) {
        let Connection::New(version, service) = **self else { return };
        let opening = Opening { version, service, sid: &sid(link.io), has_upgrade: false };
        let (cfg, now_ns) = (link.cfg, link.now_ns);
        **self = Connection::Live(Side::open(&opening, cfg, now_ns, &mut Frames { link, version }, on));
    }

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        text: bool,
        start: usize,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let out = link.io.out(0);
        let bytes = out.len() - start - BODY;
        if bytes > link.cfg.of_dialect.socketio_payload_bytes_max {
            out.truncate(start);
            return Err(Failure::MessageTooLarge);
        }
        let Connection::Live(side) = &mut **self else { unreachable!("live from the upgrade on") };
        if side.is_echo(text, &out[start + BODY..]) {
            link.sender.seal(out, start, text, None);
            on(ServerEvent::Echoed { bytes: bytes as u32 });
            return Ok(());
        }
        let message = out[start + BODY..].to_vec();
        out.truncate(start);
        handle(side, link, text, &message, on)
    }

    fn poll_timeout(&self) -> Option<u64> {
        match &**self {
            Connection::New(..) => None,
            Connection::Live(side) => Some(side.poll_timeout()),
        }
    }

    fn handle_timeout<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let Connection::Live(side) = &mut **self else { return Ok(()) };
        let (now_ns, version) = (link.now_ns, side.version);
        let outcome = side.handle_timeout(now_ns, &mut Frames { link, version });
        outcome.inspect_err(|_| link.sender.close(link.io, NO_CODE))
    }
}

/// Takes a message.
fn handle<I: Io>(
    side: &mut Side,
    link: &mut ServerLink<'_, I>,
    text: bool,
    message: &[u8],
    on: &mut impl FnMut(ServerEvent<'_>),
) -> Result<(), Failure> {
    let (now_ns, version) = (link.now_ns, side.version);
    let frames = &mut Frames { link, version };
    if !text {
        let attachment = message.strip_prefix(version.before_attachment()).ok_or(Failure::BadMessage)?;
        return side.handle_attachment(attachment, frames, on);
    }
    if side.handle_text(now_ns, message, frames, on)? == Next::Close {
        link.sender.close(link.io, NO_CODE);
    }
    Ok(())
}

/// Packets as messages of a WebSocket.
struct Frames<'a, 'b, I> {
    link: &'a mut ServerLink<'b, I>,
    version: Version,
}

impl<I: Io> Outlet for Frames<'_, '_, I> {
    fn text(&mut self, parts: &[&[u8]]) {
        self.link.sender.message(self.link.io, true, |out| {
            parts.iter().for_each(|part| out.extend_from_slice(part));
        });
    }

    fn attachment(&mut self, bytes: &[u8]) {
        self.link.sender.message(self.link.io, false, |out| {
            out.extend_from_slice(self.version.before_attachment());
            out.extend_from_slice(bytes);
        });
    }

    fn sid(&mut self) -> [u8; SID_CHARS] {
        sid(self.link.io)
    }

    fn room(&self, namespace: &[u8]) -> Room {
        app::room(self.version, namespace)
    }
}
