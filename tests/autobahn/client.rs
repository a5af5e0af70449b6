//! The client role of the Autobahn test: echoes whatever the suite's fuzzing server sends.
//!
//! `throng-autobahn HOST:PORT AGENT` runs every case and asks for the report; the verdicts are in there, not in
//! the exit status. It drives the codec under throng's clients, [`codec::ws`], over a blocking socket: what the
//! engine adds, load and clocks, is none of the suite's business.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

use codec::http::HeadReader;
use codec::http::head::Expect;
use codec::http::response::Response;
use codec::ws::{End, Incoming, Message, Receiver, Sender, extension, upgrade};
use codec::{DeflateOptions, Error, Limits, StreamId};

/// The suite's own longest patience with a silent peer is 100 s (9.7), so a longer silence is a hang.
const SILENCE_MAX: Duration = Duration::from_secs(120);
const READ_BYTES: usize = 1 << 16;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [server, agent] = args.as_slice() else {
        eprintln!("usage: throng-autobahn HOST:PORT AGENT");
        return ExitCode::from(2);
    };
    match run_cases(server, agent) {
        Ok(count) => {
            println!("{count} cases");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("throng-autobahn: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_cases(server: &str, agent: &str) -> io::Result<u32> {
    let mut answer = Vec::new();
    Session::connect(server, "/getCaseCount")?.run(|message, _, _| message.append_to(&mut answer))?;
    let count = std::str::from_utf8(&answer).ok().and_then(|text| text.parse().ok());
    let count = count.ok_or_else(|| io::Error::other(format!("not a count of cases: {answer:?}")))?;
    for case in 1..=count {
        let in_case = |error| io::Error::other(format!("case {case} of {count}: {error}"));
        let session = Session::connect(server, &format!("/runCase?case={case}&agent={agent}"));
        session.and_then(|session| session.run(echo)).map_err(in_case)?;
    }
    Session::connect(server, &format!("/updateReports?agent={agent}"))?.run(|_, _, _| Ok(()))?;
    Ok(count)
}

fn echo(message: &Message<'_>, sender: &mut Sender, link: &mut Link) -> Result<(), Error> {
    let mut payload = Vec::new();
    message.append_to(&mut payload)?;
    sender.message(link, message.message_type, |out| out.extend_from_slice(&payload));
    Ok(())
}

/// The output of a session, until it is flushed.
#[derive(Default)]
struct Link {
    out: Vec<u8>,
}

impl codec::Io for Link {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        &mut self.out
    }

    fn random_u64(&mut self) -> u64 {
        fastrand::u64(..)
    }

    fn open_stream(&mut self, _: StreamId) {
        unreachable!("a WebSocket has one stream");
    }

    fn close_stream(&mut self, _: StreamId) {
        unreachable!("the driver closes it");
    }
}

/// One WebSocket, upgraded.
struct Session {
    socket: TcpStream,
    limits: Limits,
    link: Link,
    receiver: Receiver,
    sender: Sender,
    /// Bytes that came with the handshake's last segment.
    early: Vec<u8>,
}

impl Session {
    fn connect(server: &str, path: &str) -> io::Result<Session> {
        let mut socket = TcpStream::connect(server)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SILENCE_MAX))?;
        let (mut link, limits) = (Link::default(), Limits::default());
        let key = upgrade::new_key(&mut link);
        let deflate = DeflateOptions::default();
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: {server}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: {}\r\n\r\n",
            String::from_utf8_lossy(&key),
            extension::offer(deflate),
        )?;
        let mut reader = HeadReader::default();
        let mut chunk = [0; READ_BYTES];
        loop {
            let read = socket.read(&mut chunk)?;
            if read == 0 {
                return Err(failed(Error::EofBeforeAnswer));
            }
            let mut input = &chunk[..read];
            let found = reader.read(Expect::Response, &limits, &mut input).map_err(failed)?;
            let Some((head, lines)) = found else { continue };
            let response = Response::parse(head, lines).map_err(failed)?;
            let agreed = upgrade::verify(&response, &key, &[], Some(deflate)).map_err(failed)?;
            let (inflater, deflater) = agreed.map(|agreed| agreed.codecs(End::Client, deflate.level)).unzip();
            return Ok(Session {
                early: input.to_vec(),
                socket,
                limits,
                link,
                receiver: Receiver::new(End::Client, inflater),
                sender: Sender::new(End::Client, deflater),
            });
        }
    }

    /// Hands over every message until the peer has closed the connection. A peer that breaks the protocol is
    /// told so and is no error here: half of the cases do.
    fn run(
        mut self,
        mut on_message: impl FnMut(&Message<'_>, &mut Sender, &mut Link) -> Result<(), Error>,
    ) -> io::Result<()> {
        let early = std::mem::take(&mut self.early);
        let mut failure = self.handle_input(&early, &mut on_message).err();
        let mut chunk = vec![0; READ_BYTES];
        loop {
            if let Some(failure) = failure {
                self.sender.fail(&mut self.link, failure.close_code());
            }
            match self.flush().and_then(|()| self.socket.read(&mut chunk)) {
                Ok(0) => return Ok(()),
                // Once failed, all that is left is to wait for the peer to hang up (RFC 6455 §7.1.1).
                Ok(read) if failure.is_none() => {
                    failure = self.handle_input(&chunk[..read], &mut on_message).err();
                }
                Ok(_) => {}
                Err(error) if is_hang_up(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn handle_input(
        &mut self,
        mut input: &[u8],
        on_message: &mut impl FnMut(&Message<'_>, &mut Sender, &mut Link) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while let Some(incoming) =
            self.receiver.next(&self.limits, &mut self.sender, &mut self.link, &mut input)?
        {
            if let Incoming::Message(message) = incoming {
                on_message(&message, &mut self.sender, &mut self.link)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.write_all(&self.link.out)?;
        self.link.out.clear();
        Ok(())
    }
}

fn failed(failure: Error) -> io::Error {
    io::Error::other(format!("{failure:?}"))
}

/// Some cases end with the suite dropping the connection, whatever is still on its way.
fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}
