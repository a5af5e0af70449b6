//! A TCP server that treats each of its clients as badly as it is told to.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::sockopt;

use super::websocket;

/// How often a waiting peer looks whether it should still be there.
const TICK: Duration = Duration::from_millis(20);

/// A flood is sent in pieces of about this size.
const FLOOD_BYTES: usize = 64 * 1024;

/// Runs until it is dropped.
pub struct HostileServer {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl HostileServer {
    /// Serves every client with `treat`, in a thread of its own; when it returns, the connection is closed.
    pub fn start(treat: impl Fn(&mut Peer) + Send + Sync + 'static) -> HostileServer {
        HostileServer::start_late(|_| {}, treat)
    }

    /// The same, but nobody is accepted before `prepare` has returned.
    pub fn start_late(
        prepare: impl FnOnce(&TcpListener) + Send + 'static,
        treat: impl Fn(&mut Peer) + Send + Sync + 'static,
    ) -> HostileServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let listener = thread::spawn(move || {
            prepare(&listener);
            let treat = &treat;
            thread::scope(|scope| {
                while let Ok((stream, _)) = listener.accept() {
                    if told.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut peer = Peer::new(stream, &told);
                    scope.spawn(move || treat(&mut peer));
                }
            });
        });
        HostileServer { address, stop, listener: Some(listener) }
    }

    pub fn url(&self) -> String {
        format!("ws://{}/", self.address)
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
        let _ = self.listener.take().unwrap().join();
    }
}

/// A frame's first byte and its payload.
pub type Frame = (u8, Vec<u8>);

/// The client is gone, or the server is being stopped.
#[derive(Debug)]
pub struct Left;

/// One client, seen from the server. Steps are chained and the last one says how it ends. What fails, because the
/// client has left or the server is being stopped, is silently given up: the client's own report is what tests read.
pub struct Peer<'a> {
    stream: TcpStream,
    unread: Vec<u8>,
    stop: &'a AtomicBool,
}

impl<'a> Peer<'a> {
    fn new(stream: TcpStream, stop: &'a AtomicBool) -> Peer<'a> {
        stream.set_read_timeout(Some(TICK)).unwrap();
        stream.set_write_timeout(Some(TICK)).unwrap();
        stream.set_nodelay(true).unwrap();
        Peer { stream, unread: Vec::new(), stop }
    }

    /// Lets small writes wait until what was sent before is acknowledged, as sockets do by themselves (Nagle).
    pub fn delay_small(&mut self) -> &mut Self {
        self.stream.set_nodelay(false).unwrap();
        self
    }

    /// Reads the request's head.
    pub fn request(&mut self) -> &mut Self {
        let _ = self.read_head();
        self
    }

    /// Reads the request and answers it with this status and these header lines, the last without its CRLF.
    pub fn answer(&mut self, head: &str) -> &mut Self {
        self.request().send(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes())
    }

    /// Reads the request and answers it as a good server does.
    pub fn upgrade(&mut self) -> &mut Self {
        self.upgrade_with("X-Good: yes")
    }

    /// Reads the request and answers 101 with the right key and one more header line.
    pub fn upgrade_with(&mut self, line: &str) -> &mut Self {
        let head = self.read_head().unwrap_or_default();
        self.accept(&head, line)
    }

    /// Reads the request and upgrades it if its head has this text; otherwise answers with this status.
    pub fn upgrade_if(&mut self, text: &str, refusal: &str) -> &mut Self {
        let head = self.read_head().unwrap_or_default();
        if head.contains(text) {
            return self.accept(&head, "X-Good: yes");
        }
        self.send(format!("HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n").as_bytes())
    }

    fn accept(&mut self, head: &str, line: &str) -> &mut Self {
        let accept = websocket::accept_key(&key_in(head));
        let head = "101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade";
        self.send(format!("HTTP/1.1 {head}\r\nSec-WebSocket-Accept: {accept}\r\n{line}\r\n\r\n").as_bytes())
    }

    pub fn send(&mut self, bytes: &[u8]) -> &mut Self {
        self.try_send(bytes);
        self
    }

    pub fn frame(&mut self, first: u8, payload: &[u8]) -> &mut Self {
        self.send(&websocket::frame(first, payload))
    }

    /// Sends so many messages back, as a good echo server does.
    pub fn echo(&mut self, messages: usize) -> &mut Self {
        for _ in 0..messages {
            let Some((first, payload)) = self.receive_frame() else { break };
            self.frame(first, &payload);
        }
        self
    }

    /// Answers each message with what `answers` makes of it, until the client leaves.
    pub fn answer_all(&mut self, answers: fn(&[u8]) -> Vec<Vec<u8>>) {
        while let Some((first, payload)) = self.receive_frame() {
            if first == websocket::CLOSE {
                self.frame(first, &payload);
                break;
            }
            for answer in answers(&payload) {
                self.frame(first, &answer);
            }
        }
    }

    /// Closes the connection with a FIN.
    pub fn fin(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Ends the connection with a reset.
    pub fn reset(&mut self) {
        // Without time to linger, closing is resetting; the stream is closed when the treatment returns.
        sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }

    /// Reads and forgets until the client leaves.
    pub fn hold(&mut self) {
        while self.read_more() {
            self.unread.clear();
        }
    }

    /// Reads until the client leaves; the bytes that it sent.
    pub fn receive_all(&mut self) -> Vec<u8> {
        while self.read_more() {}
        std::mem::take(&mut self.unread)
    }

    /// Reads until the client has begun a frame of HTTP/2 of this kind, or leaves.
    pub fn until_frame(&mut self, kind: u8) -> &mut Self {
        while !frame_kinds(&self.unread).contains(&kind) && self.read_more() {}
        self
    }

    /// Reads nothing until the server is stopped.
    pub fn ignore(&mut self) {
        while !self.is_over() {
            thread::sleep(TICK);
        }
    }

    /// Sends the same again and again until the client leaves, reading nothing.
    pub fn flood(&mut self, bytes: &[u8]) {
        let many = bytes.repeat(1 + FLOOD_BYTES / bytes.len());
        while self.try_send(&many) {}
    }

    /// Sends one byte at a time, with a pause after each, until the client leaves.
    pub fn drip(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().cycle() {
            if !self.try_send(&[*byte]) {
                break;
            }
            thread::sleep(TICK);
        }
    }

    /// Answers each request so much later, one after the other, until the client leaves.
    pub fn answer_after(&mut self, wait: Duration) {
        while self.read_head().is_some() {
            thread::sleep(wait);
            self.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    }

    /// The request's head, or `None` if the client leaves before it is complete.
    fn read_head(&mut self) -> Option<String> {
        let end = loop {
            if let Some(end) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
            if !self.read_more() {
                return None;
            }
        };
        let head: Vec<u8> = self.unread.drain(..end).collect();
        Some(String::from_utf8(head).expect("throng's requests are text"))
    }

    /// The request's `Sec-WebSocket-Key`, or nothing if the client leaves before.
    /// The client's next frame, or `None` once it has left.
    pub fn receive_frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = websocket::take_frame(&mut self.unread) {
                return Some(frame);
            }
            if !self.read_more() {
                return None;
            }
        }
    }

    /// The client's next frame if it comes in a moment, or `Err` once the client has left.
    pub fn receive_soon(&mut self) -> Result<Option<Frame>, Left> {
        match websocket::take_frame(&mut self.unread) {
            Some(frame) => Ok(Some(frame)),
            None => self.read_soon().map(|()| websocket::take_frame(&mut self.unread)),
        }
    }

    /// Sends as fast as the client reads; false if it has left or the server is being stopped.
    fn try_send(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if is_timeout(&error) && !self.is_over() => {}
                Err(_) => return false,
            }
        }
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn read_more(&mut self) -> bool {
        let known = self.unread.len();
        while self.unread.len() == known {
            if self.read_soon().is_err() {
                return false;
            }
        }
        true
    }

    /// Reads what comes in a moment.
    fn read_soon(&mut self) -> Result<(), Left> {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(1..) | Err(_) if self.is_over() => Err(Left),
            Ok(length @ 1..) => {
                self.unread.extend_from_slice(&buffer[..length]);
                Ok(())
            }
            Err(error) if is_timeout(&error) => Ok(()),
            Ok(0) | Err(_) => Err(Left),
        }
    }
}

/// The kinds of the frames that a client of HTTP/2 has sent, behind its preface (RFC 9113 §3.4, §4.1).
pub fn frame_kinds(sent: &[u8]) -> Vec<u8> {
    const PREFACE_BYTES: usize = 24;
    const HEAD_BYTES: usize = 9;
    let mut rest = sent.get(PREFACE_BYTES..).unwrap_or_default();
    let mut kinds = Vec::new();
    // A frame's length, and behind it its kind.
    while let [l0, l1, l2, kind, ..] = *rest {
        kinds.push(kind);
        rest = rest.get(HEAD_BYTES + u32::from_be_bytes([0, l0, l1, l2]) as usize..).unwrap_or_default();
    }
    kinds
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The client's key for the upgrade.
fn key_in(head: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let key = lines.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    key.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}
