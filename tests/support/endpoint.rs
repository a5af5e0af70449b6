//! An HTTP server that others push to: it keeps what it was sent, and answers as it is told.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A request, whole.
#[derive(Debug)]
pub struct Request {
    /// Its method and path.
    pub line: String,
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    /// A field of its head.
    pub fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Takes one request a connection, until nobody wants to know of them any more. `answer` gives a status and a
/// body of JSON.
pub fn endpoint(
    mut answer: impl FnMut(&Request) -> (&'static str, String) + Send + 'static,
) -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, taken) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let request = read(&mut stream);
            let (status, body) = answer(&request);
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
            // Who asked may be gone.
            let _ = write!(stream, "{head}Connection: close\r\n\r\n{body}");
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (address, taken)
}

fn read(stream: &mut TcpStream) -> Request {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let (line, head) = head.split_once("\r\n").expect("fields");
            let line = line.trim_end_matches(" HTTP/1.1").to_owned();
            let mut request = Request { line, head: head.to_owned(), body: bytes[end + 4..].to_vec() };
            let length: usize = request.field("Content-Length").map_or(0, |length| length.parse().unwrap());
            while request.body.len() < length {
                let received = stream.read(&mut chunk).unwrap();
                assert!(received > 0, "a request cut short");
                request.body.extend_from_slice(&chunk[..received]);
            }
            return request;
        }
        let received = stream.read(&mut chunk).unwrap();
        assert!(received > 0, "a request cut short");
        bytes.extend_from_slice(&chunk[..received]);
    }
}
