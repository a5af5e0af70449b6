//! A client that sends what it is told to, right or wrong, and reads what comes back.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt;

use super::websocket::{self, TEXT, masked, take_frame};

/// How long the server may take for one answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);

pub struct TestClient {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl TestClient {
    pub fn connect(address: SocketAddr) -> TestClient {
        let stream = TcpStream::connect(address).expect("the server accepts connections");
        stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
        stream.set_write_timeout(Some(ANSWER_MAX)).unwrap();
        stream.set_nodelay(true).unwrap();
        TestClient { stream, unread: Vec::new() }
    }

    /// Connects and opens a WebSocket.
    pub fn upgrade(address: SocketAddr) -> TestClient {
        TestClient::upgrade_by(address, websocket::UPGRADE)
    }

    /// Connects and opens a WebSocket with this request.
    pub fn upgrade_by(address: SocketAddr, request: &str) -> TestClient {
        let mut client = TestClient::connect(address);
        client.send(request.as_bytes());
        assert_eq!(client.status(), Some(101));
        client
    }

    /// Sends as much as the server takes: it may have good reasons to close in the middle.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// The same connection once more, to write from another thread.
    pub fn second(&self) -> TestClient {
        TestClient { stream: self.stream.try_clone().unwrap(), unread: Vec::new() }
    }

    /// Sends the message so many times, as far as the server takes them in this time.
    pub fn send_within(&mut self, within: Duration, message: &[u8], times: usize) {
        self.stream.set_write_timeout(Some(within)).unwrap();
        for _ in 0..times {
            if self.stream.write_all(message).is_err() {
                break;
            }
        }
    }

    /// Sends each byte in a segment of its own.
    pub fn send_slowly(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send(&[*byte]);
            thread::sleep(Duration::from_micros(200));
        }
    }

    /// The status of the next HTTP answer, whose head is taken; `None` if the server closes instead.
    pub fn status(&mut self) -> Option<u16> {
        let end = loop {
            if let Some(end) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
            if !self.read_more() {
                return None;
            }
        };
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let line = std::str::from_utf8(&head).expect("an HTTP head").lines().next().unwrap();
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        Some(status.unwrap_or_else(|| panic!("{line:?} is no status line")))
    }

    /// The next frame's first byte and payload; `None` if the server closes the connection instead.
    pub fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if let Some(frame) = take_frame(&mut self.unread) {
                return Some(frame);
            }
            if !self.read_more() {
                return None;
            }
        }
    }

    /// The code of the server's close frame, past all other frames; 1005 if it has none, `None` if none comes.
    pub fn close_code(&mut self) -> Option<u16> {
        loop {
            let (first, payload) = self.frame()?;
            if first == websocket::CLOSE {
                return Some(payload.get(..2).map_or(1005, |code| u16::from_be_bytes([code[0], code[1]])));
            }
        }
    }

    /// Waits until the server ends the connection, whatever it sends before.
    pub fn expect_end(&mut self) {
        while self.read_more() {
            self.unread.clear();
        }
    }

    /// Sends a text message and panics unless it comes back.
    pub fn echo(&mut self, text: &str) {
        self.send(&masked(TEXT, text.as_bytes()));
        assert_eq!(self.frame(), Some((TEXT, text.as_bytes().to_vec())));
    }

    /// Sends a FIN and goes on reading.
    pub fn half_close(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }

    /// False once the server has ended the connection. Panics if it says nothing for too long.
    fn read_more(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(length) => {
                self.unread.extend_from_slice(&buffer[..length]);
                length > 0
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("the server neither answers nor closes: {error}"),
        }
    }
}
