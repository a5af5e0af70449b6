//! The least a client can do with the copies of a broadcast: one `read` for what has come, a look at the
//! clock for each copy, and its delay into a bin. The yardstick for what a copy costs `throng broadcast`;
//! `bench/run.py` runs it.
//!
//! ```text
//! bare_receives PORT CLIENTS BROADCASTS
//! ```
//!
//! Speaks websocket-bench's JSON protocol on 127.0.0.1, four broadcasts at a time. Checks nothing but that
//! every copy comes; prints how many did, and their median delay in µs.

use std::env;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use codec::ws::End;
use codec::ws::frame::{self, Accepts, Header, Opcode};
use codec::ws::mask::Key;
use net::clock::monotonic_ns;
use net::poll::{Events, Interest, Poller};

type Failure = Box<dyn Error>;

const UPGRADE: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const AT_A_TIME: usize = 4;
const BINS: usize = 1 << 20;
/// The place of a copy's stamp: `{"type":"broadcast","payload":{"t":"` comes before it. A result's type is
/// longer.
const COPY_STAMP_AT: usize = 36;
const STAMP_DIGITS: usize = 20;

fn main() -> Result<(), Failure> {
    let mut args = env::args().skip(1);
    let (Some(port), Some(clients), Some(broadcasts)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: bare_receives PORT CLIENTS BROADCASTS".into());
    };
    let (port, clients, broadcasts): (u16, usize, usize) =
        (port.parse()?, clients.parse()?, broadcasts.parse()?);
    let poller = Poller::new()?;
    let mut members = Vec::with_capacity(clients);
    for index in 0..clients {
        let member = join(port)?;
        poller.add(&member, index as u64, Interest::ReadEdge)?;
        members.push(member);
    }
    let mut delays = vec![0_u32; BINS];
    let mut started = 0;
    while started < AT_A_TIME.min(broadcasts) {
        broadcast(&members[started])?;
        started += 1;
    }
    let (mut copies, mut bytes, mut events) = (0, vec![0; 1 << 16], Events::with_capacity(1024));
    while copies < clients * broadcasts {
        poller.wait(&mut events, None)?;
        for event in events.iter() {
            let mut member = &members[event.token as usize];
            let read = match member.read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                read => read?,
            };
            let results = receive(&bytes[..read], &mut delays, &mut copies)?;
            for _ in 0..results.min(broadcasts - started) {
                broadcast(member)?;
                started += 1;
            }
        }
    }
    println!("{copies} copies, median {} µs", median(&delays, copies));
    Ok(())
}

/// Connects a client, and has it join.
fn join(port: u16) -> Result<TcpStream, Failure> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.write_all(UPGRADE)?;
    let mut answer = [0; 1024];
    let read = stream.read(&mut answer)?;
    if !answer[..read].starts_with(b"HTTP/1.1 101") || !answer[..read].ends_with(b"\r\n\r\n") {
        return Err("the server does not upgrade in one piece".into());
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn broadcast(mut member: &TcpStream) -> Result<(), Failure> {
    let message = format!("{{\"type\":\"broadcast\",\"payload\":{{\"t\":\"{:020}\"}}}}", monotonic_ns());
    let mut out = Vec::with_capacity(128);
    let start = frame::open(&mut out, End::Client);
    out.extend_from_slice(message.as_bytes());
    frame::seal(&mut out, start, Opcode::Text, false, Some(Key::new([0; 4])));
    Ok(member.write_all(&out)?)
}

/// Bins and counts the copies among the frames of one read, and returns the number of results among them.
fn receive(mut bytes: &[u8], delays: &mut [u32], copies: &mut usize) -> Result<usize, Failure> {
    let mut results = 0;
    while !bytes.is_empty() {
        let header = Header::parse(bytes, Accepts { end: End::Client, deflate: false });
        let Ok(Some((header, start))) = header else { return Err("a frame in pieces, or none".into()) };
        let message = bytes.get(start..start + header.len as usize).ok_or("a message in pieces")?;
        bytes = &bytes[start + message.len()..];
        let stamp = message.get(COPY_STAMP_AT..COPY_STAMP_AT + STAMP_DIGITS).unwrap_or_default();
        if !stamp.is_empty() && stamp.iter().all(u8::is_ascii_digit) {
            let sent_ns = stamp.iter().fold(0, |ns, digit| ns * 10 + u64::from(digit - b'0'));
            let delay_us = monotonic_ns().saturating_sub(sent_ns) / 1000;
            delays[(delay_us as usize).min(BINS - 1)] += 1;
            *copies += 1;
        } else {
            results += 1;
        }
    }
    Ok(results)
}

fn median(delays: &[u32], copies: usize) -> usize {
    let mut seen = 0;
    let mut bins = delays.iter().map(|&count| count as usize);
    bins.position(|count| {
        seen += count;
        seen > copies / 2
    })
    .unwrap_or(BINS)
}
