//! A WebSocket echo server over blocking sockets, one thread for each: `cargo run -p throng-codec --example
//! echo`, and then a browser's `new WebSocket("ws://127.0.0.1:9001")`.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use codec::http::date::DateField;
use codec::http::head::Expect;
use codec::http::{HeadReader, Request, request};
use codec::ws::{End, Incoming, Receiver, Sender, upgrade};
use codec::{DeflateOptions, Error, Io, Limits, StreamId};

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:9001")?;
    println!("ws://{}", listener.local_addr()?);
    for socket in listener.incoming() {
        let socket = socket?;
        thread::spawn(move || serve(socket));
    }
    Ok(())
}

/// Carries bytes between a socket and its connection, which never see each other.
fn serve(mut socket: TcpStream) -> io::Result<()> {
    let mut connection = Connection::default();
    let mut chunk = [0; 16 << 10];
    while !connection.is_over {
        match socket.read(&mut chunk)? {
            0 => break,
            read => connection.handle_input(&chunk[..read]),
        }
        socket.write_all(&connection.output.0)?;
        connection.output.0.clear();
    }
    Ok(())
}

/// The bytes that go out next.
#[derive(Default)]
struct Output(Vec<u8>);

impl Io for Output {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        &mut self.0
    }

    fn random_u64(&mut self) -> u64 {
        unreachable!("clients make keys and masks, servers do not")
    }

    fn open_stream(&mut self, _: StreamId) {
        unreachable!("clients connect")
    }

    fn close_stream(&mut self, _: StreamId) {}
}

/// One client's connection: first a request for an upgrade, then messages.
#[derive(Default)]
struct Connection {
    limits: Limits,
    output: Output,
    head: HeadReader,
    upgraded: Option<(Receiver, Sender)>,
    is_over: bool,
}

impl Connection {
    fn handle_input(&mut self, input: &[u8]) {
        let Err(error) = self.try_input(input) else { return };
        self.is_over = true;
        match &mut self.upgraded {
            Some((_, sender)) => sender.fail(&mut self.output, error.close_code()),
            None => self.refuse(error.status()),
        }
    }

    fn try_input(&mut self, mut input: &[u8]) -> Result<(), Error> {
        if self.upgraded.is_none() && !self.upgrade(&mut input)? {
            return Ok(());
        }
        let Some((receiver, sender)) = &mut self.upgraded else { return Ok(()) };
        while let Some(incoming) = receiver.next(&self.limits, sender, &mut self.output, &mut input)? {
            match incoming {
                Incoming::Message(message) => {
                    let mut payload = Vec::new();
                    message.append_to(&mut payload)?;
                    sender.message(&mut self.output, message.message_type, |out| out.extend(payload));
                }
                Incoming::Control => {}
                Incoming::Closed { .. } => self.is_over = true,
            }
        }
        Ok(())
    }

    /// Answers the request; returns whether what follows are frames.
    fn upgrade(&mut self, input: &mut &[u8]) -> Result<bool, Error> {
        let Some((head, lines)) = self.head.read(Expect::Request, &self.limits, input)? else {
            return Ok(false);
        };
        let deflate = DeflateOptions::default();
        let terms = upgrade::Terms { origins: &[], origin_refusal: 403, deflate: Some(deflate) };
        match upgrade::judge(&Request::parse(head, lines)?, terms, |_| None) {
            Ok(granted) => {
                granted.write(&mut self.output.0);
                let codecs = granted.deflate.map(|agreed| agreed.codecs(End::Server, deflate.level));
                let (inflater, deflater) = codecs.unzip();
                let receiver = Receiver::new(End::Server, inflater);
                self.upgraded = Some((receiver, Sender::new(End::Server, deflater)));
            }
            Err(status) => self.refuse(status),
        }
        Ok(self.upgraded.is_some())
    }

    fn refuse(&mut self, status: u16) {
        self.is_over = true;
        let fields = [upgrade::refusal_fields(status), request::CLOSE];
        request::answer(&mut self.output.0, status, DateField::new(None), &fields);
    }
}
