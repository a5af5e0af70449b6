//! One connection, plain or TLS, that waits with deadlines and looks out for interrupts.

use std::fmt;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use net::poll::{Events, Interest, Poller};
use net::socket::{self, Socket};
use net::tls::{ClientSide, ClientTls, Tls, TlsError};

use super::row::NotTried;
use super::site::{Lease, Tester};

/// Time for TCP and TLS to connect.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Interval at which a wait looks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// Time after a deadline in which what has come in already is read: a server that never pauses must not prolong a wait.
const OVERTIME: Duration = Duration::from_secs(1);
/// Bytes that one read takes.
const READ_BYTES: usize = 64 << 10;

/// The end of a connection, seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The server has finished sending.
    Fin,
    /// The server has reset the connection.
    Reset,
    /// Nothing accepts connections there.
    Refused,
    /// The server did not answer in time.
    Silent,
    Tls(TlsError),
    /// The server broke the protocol, so that nothing more was read.
    Broken,
    /// This machine could not go on.
    Local(ErrorKind),
    /// The user has had enough.
    Interrupted,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Fin => f.write_str("FIN"),
            Lost::Reset => f.write_str("reset"),
            Lost::Refused => f.write_str("connection refused"),
            Lost::Silent => f.write_str("no answer in time"),
            Lost::Tls(error) => error.fmt(f),
            Lost::Broken => f.write_str("protocol error of the server"),
            Lost::Local(kind) => write!(f, "this machine: {kind}"),
            Lost::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl Lost {
    /// The name in JSON.
    pub(super) fn key(self) -> &'static str {
        match self {
            Lost::Fin => "fin",
            Lost::Reset => "reset",
            Lost::Refused => "refused",
            Lost::Silent => "silence",
            Lost::Tls(error) => error.name(),
            Lost::Broken => "protocol_error",
            Lost::Local(_) => "local",
            Lost::Interrupted => "interrupted",
        }
    }
}

impl From<std::io::Error> for Lost {
    fn from(error: std::io::Error) -> Lost {
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Lost::Reset,
            ErrorKind::ConnectionRefused => Lost::Refused,
            ErrorKind::TimedOut => Lost::Silent,
            kind => Lost::Local(kind),
        }
    }
}

impl From<Lost> for NotTried {
    fn from(lost: Lost) -> NotTried {
        NotTried(lost.to_string())
    }
}

/// Ways to connect.
#[derive(Default)]
pub(super) struct Way<'a> {
    /// TLS; `None`: plain text.
    pub(super) tls: Option<&'a ClientTls>,
    /// Goes on with a TLS session from before.
    pub(super) resumes: bool,
    /// Bytes of the kernel's receive buffer, where it is to be small.
    pub(super) receive_bytes: Option<usize>,
}

/// A connection.
pub(super) struct Channel<'a> {
    pub(super) socket: Socket,
    poller: Poller,
    events: Events,
    pub(super) tls: Option<Tls<ClientSide>>,
    /// Bytes from the server, decrypted, that nobody has taken.
    pub(super) received: Vec<u8>,
    tester: &'a Tester<'a>,
    /// Given back as soon as the connection has ended.
    lease: Option<Lease<'a>>,
}

impl<'a> Channel<'a> {
    /// Connects, and finishes the TLS handshake.
    pub(super) fn open(tester: &'a Tester<'a>, way: &Way<'_>) -> Result<Channel<'a>, Lost> {
        let until = Instant::now() + CONNECT_MAX;
        let addr = tester.site.addr();
        // Before the connect: an attempt that fails was an attempt.
        let lease = tester.take_connection();
        let socket = match way.receive_bytes {
            None => socket::connect(&addr, None)?,
            Some(bytes) => socket::connect_narrow(&addr, None, bytes)?,
        };
        let poller = Poller::new()?;
        poller.add(&socket, 0, Interest::ReadWriteEdge)?;
        let tls = match (way.tls, &tester.site.plan.tls) {
            (Some(tls), Some(plan)) => {
                let new = if way.resumes { Tls::new_client_again } else { Tls::new_client };
                Some(new(tls, &plan.server_name).map_err(Lost::Tls)?)
            }
            _ => None,
        };
        let (events, received) = (Events::with_capacity(1), Vec::new());
        let mut channel = Channel { socket, poller, events, tls, received, tester, lease: Some(lease) };
        while !channel.events.iter().any(|event| event.writable) {
            channel.wait(until)?;
        }
        if let Some(error) = channel.socket.take_error()? {
            return Err(error.into());
        }
        channel.flush(until)?;
        while channel.tls.as_ref().is_some_and(Tls::is_handshaking) {
            if !channel.receive(until)? {
                return Err(Lost::Silent);
            }
        }
        Ok(channel)
    }

    /// Counts as open no more.
    pub(super) fn release(&mut self) {
        self.lease = None;
    }

    /// Time left until then; an error once there is none, or the user has had enough.
    fn time_left(&self, until: Instant) -> Result<Duration, Lost> {
        if self.tester.site.is_interrupted() {
            return Err(Lost::Interrupted);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Lost::Silent) } else { Ok(left) }
    }

    /// Waits for the socket until then, but never longer than [`LOOK`].
    fn wait(&mut self, until: Instant) -> Result<(), Lost> {
        let left = self.time_left(until)?;
        self.poller.wait(&mut self.events, Some(left.min(LOOK).as_nanos() as u64))?;
        Ok(())
    }

    /// Receives: true once something has come in, false if nothing has by then. While TLS shakes hands, also
    /// true when that has gone on.
    pub(super) fn receive(&mut self, until: Instant) -> Result<bool, Lost> {
        loop {
            match self.time_left(until + OVERTIME) {
                Err(Lost::Silent) => return Ok(false),
                Err(lost) => return Err(lost),
                Ok(_) => {}
            }
            if self.read_some()? {
                return Ok(true);
            }
            match self.wait(until) {
                Err(Lost::Silent) => return Ok(false),
                waited => waited?,
            }
        }
    }

    /// Reads once: whether there was something.
    fn read_some(&mut self) -> Result<bool, Lost> {
        let mut buffer = [0; READ_BYTES];
        let bytes = match self.socket.recv(&mut buffer) {
            Ok(0) => return Err(Lost::Fin),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        self.tester.count_bytes(bytes);
        match &mut self.tls {
            None => self.received.extend_from_slice(&buffer[..bytes]),
            Some(tls) => {
                let taken = tls.handle_input(&mut buffer[..bytes], &mut self.received);
                // Also after an error, of which the peer is to hear.
                let flushed = self.flush(Instant::now() + CONNECT_MAX);
                taken.map_err(Lost::Tls)?;
                flushed?;
            }
        }
        Ok(true)
    }

    /// Sends what TLS has to say.
    fn flush(&mut self, until: Instant) -> Result<(), Lost> {
        let mut out = Vec::new();
        if let Some(tls) = &mut self.tls {
            tls.poll_output(&mut out);
        }
        self.put(&out, until, false)
    }

    /// Sends all of it by then, and reads meanwhile: a server that echoes would otherwise wait for us as we for it.
    pub(super) fn send(&mut self, plain: &[u8], until: Instant) -> Result<(), Lost> {
        self.send_with(plain, until, true)
    }

    /// Sends all of it by then; `reads`: reads what comes in meanwhile.
    pub(super) fn send_with(&mut self, plain: &[u8], until: Instant, reads: bool) -> Result<(), Lost> {
        match &mut self.tls {
            None => self.put(plain, until, reads),
            Some(tls) => {
                let mut out = Vec::new();
                tls.write(plain, &mut out);
                self.put(&out, until, reads)
            }
        }
    }

    fn put(&mut self, mut bytes: &[u8], until: Instant, reads: bool) -> Result<(), Lost> {
        while !bytes.is_empty() {
            match self.socket.send(bytes) {
                Ok(sent) => {
                    self.tester.count_bytes(sent);
                    bytes = &bytes[sent..];
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Also where there is always something to read.
                    self.time_left(until)?;
                    let has_read = reads && self.read_some()?;
                    if !has_read {
                        self.wait(until)?;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
