//! Somebody at the bus who is neither agent nor coordinator: speaks NATS' own protocol, and knows the fleet's packets.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use engine::Report;
use serde::{Deserialize, Serialize};

use super::REACTS_WITHIN;

/// A message as it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    pub subject: String,
    pub reply: Option<String>,
    pub bytes: Vec<u8>,
}

/// A connection to NATS. Dropped, it leaves.
pub struct Peer {
    stream: TcpStream,
    heard: Receiver<Heard>,
}

impl Peer {
    /// Connects, and hears these subjects from then on.
    pub fn at(address: SocketAddr, subjects: &[&str]) -> Peer {
        let (sender, heard) = mpsc::channel();
        Peer { stream: Peer::join(address, subjects, sender, |heard| heard), heard }
    }

    /// The same, with what is heard going to others, as `of` makes it theirs.
    pub fn join<T: Send + 'static>(
        address: SocketAddr,
        subjects: &[&str],
        sender: Sender<T>,
        of: impl Fn(Heard) -> T + Send + 'static,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"CONNECT {\"verbose\":false,\"echo\":false,\"headers\":false}\r\n").unwrap();
        for (id, subject) in subjects.iter().enumerate() {
            stream.write_all(format!("SUB {subject} {}\r\n", id + 1).as_bytes()).unwrap();
        }
        stream.write_all(b"PING\r\n").unwrap();
        let (mut reader, mut writer) = (Reader::of(stream.try_clone().unwrap()), stream.try_clone().unwrap());
        stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
        assert!(reader.until_pong(), "NATS has gone");
        stream.set_read_timeout(None).unwrap();
        thread::spawn(move || {
            while let Some(line) = reader.line() {
                if line == "PING" {
                    let _ = writer.write_all(b"PONG\r\n");
                } else if let Some(heard) = reader.message(&line)
                    && sender.send(of(heard)).is_err()
                {
                    return;
                }
            }
        });
        stream
    }

    pub fn publish(&self, subject: &str, reply: Option<&str>, bytes: &[u8]) {
        publish(&self.stream, subject, reply, bytes);
    }

    /// The next message, if one comes within this time.
    pub fn next(&self, within: Duration) -> Option<Heard> {
        self.heard.recv_timeout(within).ok()
    }

    /// The first message within this time for which this is so.
    pub fn find(&self, within: Duration, is_it: impl Fn(&Heard) -> bool) -> Option<Heard> {
        let until = Instant::now() + within;
        loop {
            let heard = self.next(until.saturating_duration_since(Instant::now()))?;
            if is_it(&heard) {
                return Some(heard);
            }
        }
    }

    /// Everything that was heard until now.
    pub fn all(&self) -> Vec<Heard> {
        self.heard.try_iter().collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Publishes anything; whether NATS took it.
pub fn publish(mut stream: &TcpStream, subject: &str, reply: Option<&str>, bytes: &[u8]) -> bool {
    let reply = reply.map(|reply| format!("{reply} ")).unwrap_or_default();
    let head = format!("PUB {subject} {reply}{}\r\n", bytes.len());
    stream.write_all(&[head.as_bytes(), bytes, b"\r\n"].concat()).is_ok()
}

struct Reader {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Reader {
    fn of(stream: TcpStream) -> Self {
        Self { stream, bytes: Vec::new() }
    }

    fn until_pong(&mut self) -> bool {
        while let Some(line) = self.line() {
            if line == "PONG" {
                return true;
            }
        }
        false
    }

    /// `None`: the connection has ended.
    fn more(&mut self) -> Option<()> {
        let mut bytes = [0; 65_536];
        let read = self.stream.read(&mut bytes).ok().filter(|&read| read > 0)?;
        self.bytes.extend_from_slice(&bytes[..read]);
        Some(())
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
                self.bytes.drain(..end + 2);
                return Some(line);
            }
            self.more()?;
        }
    }

    /// Reads the message that the line announces.
    fn message(&mut self, line: &str) -> Option<Heard> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["MSG", subject, _, between @ .., length] = &words[..] else { return None };
        let length: usize = length.parse().ok()?;
        while self.bytes.len() < length + 2 {
            self.more()?;
        }
        let bytes = self.bytes.drain(..length + 2).take(length).collect();
        let reply = between.first().map(|&reply| reply.to_owned());
        Some(Heard { subject: (*subject).to_owned(), reply, bytes })
    }
}

/// Packets between a coordinator and one agent, written down a second time: whoever changes it changes the protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packet {
    pub session: u64,
    pub ack: u32,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Content {
    Beat { sent_ns: u64 },
    Answer { sent_ns: u64, here_ns: u64, rss_bytes: Option<u64> },
    Ack,
    Part { number: u32, last: bool, bytes: Vec<u8> },
}

/// Messages from a coordinator to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Down {
    Brief(Box<Brief>),
    Command(engine::Command),
    Release,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Brief {
    pub plan: load::Plan,
    pub segments: Vec<load::Segment>,
    pub processes: u16,
    pub offset_ns: i64,
}

/// Messages from an agent to its coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Up {
    Ready { rss_bytes: Option<u64> },
    Report(Report),
    Leaving(String),
}

impl Packet {
    pub fn read(bytes: &[u8]) -> Option<Packet> {
        postcard::from_bytes(bytes).ok()
    }

    pub fn write(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap()
    }
}
