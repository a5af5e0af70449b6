//! The least a server can do for a broadcast: one `write` for each client, and nothing else. The yardstick
//! for how long a broadcast of `throng serve` takes; `bench/run.py` runs it.
//!
//! ```text
//! bare_sends PORT CLIENTS
//! ```
//!
//! Speaks websocket-bench's JSON protocol as far as one client's broadcast at a time needs, on 127.0.0.1. For
//! each broadcast it prints how long the writes took, in ns, and it ends when a client does.

use std::env;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use codec::ws::frame::{self, Accepts, Header, Opcode};
use codec::ws::{End, mask, upgrade};
use rustix::event::{PollFd, PollFlags, poll};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let mut args = env::args().skip(1);
    let (Some(port), Some(clients)) = (args.next(), args.next()) else {
        return Err("usage: bare_sends PORT CLIENTS".into());
    };
    let clients: usize = clients.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?))?;
    let mut members = Vec::with_capacity(clients);
    while members.len() < clients {
        // A connection that only checks for a listener is no client.
        members.extend(greet(listener.accept()?.0)?);
    }
    while let Some((sender, message)) = hear(&members)? {
        let copy = framed(&message);
        let started = Instant::now();
        for mut member in &members {
            member.write_all(&copy)?;
        }
        println!("{}", started.elapsed().as_nanos());
        let answer = String::from_utf8(message)?.replacen("\"broadcast\"", "\"broadcastResult\"", 1);
        (&members[sender]).write_all(&framed(answer.as_bytes()))?;
    }
    Ok(())
}

/// Answers the upgrade, and returns the stream; `None` if the peer goes away without a request.
fn greet(mut stream: TcpStream) -> Result<Option<TcpStream>, Failure> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            n => request.extend_from_slice(&piece[..n]),
        }
    }
    let request = String::from_utf8(request)?;
    let key = request.lines().filter_map(|line| line.split_once(": "));
    let mut key = key.filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key")).map(|(_, key)| key);
    let accept = upgrade::accept_of(key.next().ok_or("a request without a key")?.as_bytes());
    stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")?;
    stream.write_all(b"Sec-WebSocket-Accept: ")?;
    stream.write_all(&accept)?;
    stream.write_all(b"\r\n\r\n")?;
    Ok(Some(stream))
}

/// Waits for a message, and returns its sender and its text; `None` once a member has gone.
fn hear(members: &[TcpStream]) -> Result<Option<(usize, Vec<u8>)>, Failure> {
    let mut fds: Vec<PollFd<'_>> = members.iter().map(|member| PollFd::new(member, PollFlags::IN)).collect();
    poll(&mut fds, None)?;
    let sender = fds.iter().position(|fd| !fd.revents().is_empty()).ok_or("poll found nobody")?;
    let mut bytes = vec![0; 1024];
    let read = match (&members[sender]).read(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
        read => read?,
    };
    let header = Header::parse(&bytes[..read], Accepts { end: End::Server, deflate: false });
    let Ok(Some((Header { opcode: Opcode::Text, key: Some(key), len, .. }, start))) = header else {
        return Ok(None);
    };
    let mut message = bytes.get(start..start + len as usize).ok_or("a message in pieces")?.to_vec();
    mask::apply(&mut message, key, 0);
    Ok(Some((sender, message)))
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let start = frame::open(&mut out, End::Server);
    out.extend_from_slice(message);
    frame::seal(&mut out, start, Opcode::Text, false, None);
    out
}
