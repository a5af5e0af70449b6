//! A server in a thread, and clients that write bytes by hand: the client codec is ours as well, so that a
//! mistake made on both sides would not show.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use net::socket::Addr;
use refserver::{Options, Server, Stats, StopFlag};
use wire::Settings;

/// How long a read may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// A deadline of the server's that no test reaches which is not about it, however busy the machine is.
const NEVER_NS: u64 = 300_000_000_000;

/// RFC 6455 §1.3: the sample key and its answer.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A running server. Dropped, it stops at once.
pub struct Running {
    pub addrs: Vec<Addr>,
    stop: StopFlag,
    thread: Option<JoinHandle<io::Result<Stats>>>,
}

impl Running {
    pub fn start(options: Options) -> Running {
        let server = Server::bind(options).unwrap();
        let addrs = server.local_addrs().to_vec();
        let stop = StopFlag::new();
        let flag = stop.clone();
        let thread = Some(std::thread::spawn(move || server.run(&flag)));
        Running { addrs, stop, thread }
    }

    /// Starts a server with one address on loopback, a short grace, long deadlines, and the changes of `change`
    /// to these.
    pub fn with(change: impl FnOnce(&mut Options)) -> Running {
        let mut options = Options::new(vec![Addr::Inet("127.0.0.1:0".parse().unwrap())]);
        options.grace_ns = 200_000_000;
        options.handshake_timeout_ns = NEVER_NS;
        options.protocol.settings = Settings::default().with("sockjs-disconnect", NEVER_NS);
        change(&mut options);
        Running::start(options)
    }

    pub fn addr(&self) -> SocketAddr {
        match &self.addrs[0] {
            Addr::Inet(addr) => *addr,
            Addr::Unix(path) => panic!("{} is no TCP address", path.display()),
        }
    }

    /// Opens a TCP connection with a bound on every read.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Opens a WebSocket.
    pub fn open(&self) -> TcpStream {
        let mut stream = self.connect();
        upgrade(&mut stream);
        stream
    }

    pub fn ask_to_stop(&self) {
        self.stop.stop();
    }

    /// Stops the server in order, and gives the totals.
    pub fn finish(mut self) -> Stats {
        self.stop.stop();
        self.join()
    }

    fn join(&mut self) -> Stats {
        let thread = self.thread.take().expect("joined once");
        thread.join().expect("no panic").expect("no error")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn upgrade_request() -> String {
    format!(
        "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

/// Does a client's part of the opening handshake.
pub fn upgrade(stream: &mut (impl Read + Write)) {
    stream.write_all(upgrade_request().as_bytes()).unwrap();
    let head = read_head(stream);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains(ACCEPT), "{head}");
}

/// Reads up to the empty line, byte by byte, so that the bytes after it stay unread.
pub fn read_head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;

/// A client's frame (RFC 6455 §5.2): final, masked.
pub fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode];
    match payload.len() {
        len @ 0..=125 => frame.push(0x80 | len as u8),
        len @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend((len as u16).to_be_bytes());
        }
        len => {
            frame.push(0x80 | 127);
            frame.extend((len as u64).to_be_bytes());
        }
    }
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// Reads one frame of the server's: final, unmasked.
pub fn read_frame(stream: &mut impl Read) -> (u8, Vec<u8>) {
    try_read_frame(stream).expect("a frame")
}

pub fn try_read_frame(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head)?;
    assert_eq!(head[0] & 0xf0, 0x80, "one final frame without reserved bits");
    let len = match head[1] {
        len @ 0..=125 => len.into(),
        126 => {
            let mut len = [0; 2];
            stream.read_exact(&mut len)?;
            u16::from_be_bytes(len).into()
        }
        127 => {
            let mut len = [0; 8];
            stream.read_exact(&mut len)?;
            u64::from_be_bytes(len)
        }
        _ => panic!("a server's frame is not masked"),
    };
    let mut payload = vec![0; len as usize];
    stream.read_exact(&mut payload)?;
    Ok((head[0] & 0x0f, payload))
}

/// Asserts that nothing comes for a while.
pub fn assert_silent(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let error = stream.read(&mut [0]).expect_err("nothing more");
    assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
}

pub fn broadcast_text(number: usize) -> String {
    format!(r#"{{"type":"broadcast","payload":{{"sendTime":"{number}","padding":"x"}}}}"#)
}

pub fn result_text(number: usize) -> String {
    broadcast_text(number).replace("\"broadcast\"", "\"broadcastResult\"")
}

/// Reads `count` text frames, in any order, sorted.
pub fn read_texts(stream: &mut impl Read, count: usize) -> Vec<String> {
    let mut texts: Vec<String> = (0..count)
        .map(|_| {
            let (opcode, payload) = read_frame(stream);
            assert_eq!(opcode, TEXT);
            String::from_utf8(payload).unwrap()
        })
        .collect();
    texts.sort();
    texts
}
