//! A connection whose upgrade is asked for, and then granted.

use codec::http::request::Request;
use codec::ws::receiver::{Incoming, Receiver};
use codec::ws::sender::Sender;
use codec::ws::upgrade::{self, Terms};
use codec::ws::{End, frame};

use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::link::ServerLink;
use crate::registry::servers::{ServerState, dialect_of_upgrade};
use crate::registry::sessions::SessionRequest;
use crate::server_config::ServerConfig;

/// An upgrade that may be granted: the 101, and what comes after it.
#[derive(Debug)]
pub(super) struct Upgrade {
    opening: Vec<u8>,
    session: Session,
}

/// The state of a connection after an upgrade.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) receiver: Receiver,
    pub(super) sender: Sender,
    pub(super) dialect: ServerState,
}

impl Upgrade {
    /// Grants a request its upgrade, or returns the HTTP status to refuse it with.
    pub(super) fn judge(request: &Request<'_>, cfg: &ServerConfig) -> Result<Upgrade, u16> {
        let id = dialect_of_upgrade(cfg, request.path());
        let facts = id.facts();
        let terms =
            Terms { origins: &cfg.origins, origin_refusal: facts.origin_refusal, deflate: cfg.deflate };
        let granted = upgrade::judge(request, terms, |offered| subprotocol(cfg, facts.compiled, offered))?;
        let dialect = ServerState::open(id, cfg, request, granted.subprotocol)?;
        // Written now and sent later: the request it answers is gone by the time a session has had its say.
        let mut opening = Vec::new();
        granted.write(&mut opening);
        let level = cfg.deflate.map_or(0, |deflate| deflate.level);
        let (inflater, deflater) = granted.deflate.map(|agreed| agreed.codecs(End::Server, level)).unzip();
        let session = Session {
            receiver: Receiver::new(End::Server, inflater),
            sender: Sender::new(End::Server, deflater),
            dialect,
        };
        Ok(Upgrade { opening, session })
    }

    /// Takes the question to a session before it is granted.
    pub(super) fn take_request(&mut self) -> Option<SessionRequest> {
        self.session.dialect.take_request()
    }

    /// Writes the 101 and what the dialect says first.
    pub(super) fn open(
        self,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) -> Session {
        let Upgrade { opening, mut session } = self;
        io.out(0).extend_from_slice(&opening);
        on(ServerEvent::Upgraded);
        session.dialect.handle_upgraded(&mut ServerLink { cfg, now_ns, sender: &mut session.sender, io }, on);
        session
    }
}

impl Session {
    #[inline]
    pub(super) fn handle_input(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let Session { receiver, sender, dialect } = self;
        loop {
            let handled = match receiver.next(&cfg.limits, sender, io, &mut input) {
                Ok(None) => return Ok(()),
                // Our close is out: whatever else the client says is judged, but nothing may be answered.
                Ok(Some(Incoming::Message(message))) if sender.is_closed() => {
                    let out = io.out(0);
                    let start = out.len();
                    let judged = message.append_to(out);
                    // It has to be read to its end to be judged, and nothing of it stays.
                    out.truncate(start);
                    judged.map_err(Failure::from)
                }
                Ok(Some(Incoming::Message(message))) => {
                    let out = io.out(0);
                    // Into the output, behind room for a header: an echo is then sent without a copy.
                    let start = frame::open(out, End::Server);
                    let mut link = ServerLink { cfg, now_ns, sender, io };
                    match message.append_to(link.io.out(0)) {
                        Ok(()) => dialect.handle_message(&mut link, message.message_type, start, on),
                        Err(error) => {
                            link.io.out(0).truncate(start);
                            Err(error.into())
                        }
                    }
                }
                Ok(Some(Incoming::Control)) => Ok(()),
                Ok(Some(Incoming::Closed { code })) => {
                    on(ServerEvent::Closed { code });
                    Ok(())
                }
                Err(error) => Err(error.into()),
            };
            handled.inspect_err(|&failure| sender.fail(io, failure.close_code()))?;
        }
    }
}

/// The subprotocol with this name, if it is one of the dialect's, or of those configured in their place.
fn subprotocol<'a>(cfg: &'a ServerConfig, own: &[&'static str], name: &[u8]) -> Option<&'a str> {
    match cfg.subprotocols.as_slice() {
        [] => own.iter().copied().find(|compiled| compiled.as_bytes() == name),
        compiled => compiled.iter().map(String::as_str).find(|compiled| compiled.as_bytes() == name),
    }
}
