//! NATS and agents for the tests of fleets.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use crew::http::{Source, Timeouts};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::process::Process;
use super::throng::{run, throng};
use super::{REACTS_WITHIN, START_MAX, free_address, skip, wait_until};

/// A NATS server on a free port.
pub struct Bus {
    process: Process,
    address: SocketAddr,
    flags: Vec<String>,
    pub url: String,
}

impl Bus {
    /// Starts it; says so and gives `None` where there is no nats-server.
    pub fn start() -> Option<Bus> {
        Bus::start_with("", &[])
    }

    /// Starts one that has these flags, and lets in whoever the URL says with this before the host.
    pub fn start_with(login: &str, flags: &[&str]) -> Option<Bus> {
        if Command::new("nats-server").arg("--version").output().is_err() {
            skip("fleet", "there is no nats-server: apt-get install nats-server");
            return None;
        }
        let address = free_address();
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        Some(Bus {
            process: server_at(address, &flags),
            address,
            flags,
            url: format!("nats://{login}{address}"),
        })
    }

    /// Ends it and starts it anew at the same address.
    pub fn restart(&mut self) {
        self.process.signal(Signal::TERM);
        assert!(self.process.wait(REACTS_WITHIN).is_some(), "nats-server does not stop");
        self.process = server_at(self.address, &self.flags);
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        self.process.pid()
    }

    /// The URL without whoever it lets in.
    pub fn open_url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Starts an agent, which may load what is on this machine unless the flags say otherwise.
    pub fn agent(&self, flags: &[&str]) -> Process {
        Process::start(throng(["agent", "--nats", &self.url]).args(flags).args(allowing(flags)))
    }

    /// Starts an agent whose monotonic clock is so many seconds ahead; `None` where that is not allowed.
    pub fn agent_in_time(&self, ahead_s: u32, flags: &[&str]) -> Option<Process> {
        let ahead = ahead_s.to_string();
        let unshare = |program: &str| {
            let mut command = Command::new("unshare");
            command.args(["--time", "--fork", "--kill-child", "--monotonic", &ahead, program]);
            command
        };
        if !unshare("true").output().is_ok_and(|output| output.status.success()) {
            skip("fleet: a clock of its own", "time namespaces are not allowed here");
            return None;
        }
        let mut command = unshare(env!("CARGO_BIN_EXE_throng"));
        Some(Process::start(command.args(["agent", "--nats", &self.url]).args(flags).args(allowing(flags))))
    }

    /// The output of `throng fleet list`.
    pub fn list(&self) -> String {
        run(&mut throng(["fleet", "list", "--nats", &self.url]), START_MAX).stdout
    }

    /// Waits until so many agents are there and free.
    pub fn await_agents(&self, agents: usize) {
        let free = || self.list().lines().filter(|line| line.contains(" free")).count();
        assert!(wait_until(START_MAX, || free() == agents), "agents:\n{}", self.list());
    }

    /// The subjects that somebody listens to at this moment, as the protocol's own trace shows: found by
    /// listening to all.
    pub fn subjects(&self) -> Vec<String> {
        let mut heard = Vec::new();
        let mut stream = self.connect();
        stream.write_all(b"SUB throng.> 1\r\nPING\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let end = std::time::Instant::now() + Duration::from_secs(1);
        let mut reader = BufReader::new(stream);
        while std::time::Instant::now() < end {
            let mut line = Vec::new();
            let _ = reader.read_until(b'\n', &mut line);
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(subject) = line.strip_prefix("MSG ").and_then(|rest| rest.split(' ').next()) {
                heard.push(subject.to_owned());
            }
        }
        heard.sort();
        heard.dedup();
        assert!(heard.len() >= 2, "a coordinator and an agent talk: {heard:?}");
        heard.push("throng.call".into());
        heard
    }

    /// Publishes anything, in NATS' own protocol; when it returns, NATS has passed it on.
    pub fn publish(&self, subject: &str, bytes: &[u8]) {
        let mut stream = self.connect();
        let head = format!("PUB {subject} {}\r\n", bytes.len());
        stream.write_all(&[head.as_bytes(), bytes, b"\r\nPING\r\n"].concat()).unwrap();
        await_pong(&mut BufReader::new(stream));
    }

    /// Publishes a question, and waits for the first answer.
    pub fn ask(&self, subject: &str, question: &[u8]) -> String {
        let mut stream = self.connect();
        let head = format!("SUB inbox.of.test 1\r\nPUB {subject} inbox.of.test {}\r\n", question.len());
        stream.write_all(&[head.as_bytes(), question, b"\r\n"].concat()).unwrap();
        let mut reader = BufReader::new(stream);
        next_message(&mut reader).expect("an answer").2
    }

    /// The id of the agent of that name, by what it says when it is called.
    pub fn id_of(&self, name: &str) -> String {
        let hello: Value = serde_json::from_str(&self.ask("throng.call", b"\"who\"")).unwrap();
        assert_eq!(hello["name"], name);
        hello["id"].as_str().unwrap().to_owned()
    }

    /// Somebody who answers every call with this, as an agent would, until the value goes.
    pub fn answer_calls(&self, answer: String) -> Stand {
        let mut stream = self.connect();
        stream.write_all(b"SUB throng.call 1\r\nPING\r\n").unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        await_pong(&mut reader);
        stream.set_read_timeout(None).unwrap();
        let stand = Stand(stream.try_clone().unwrap());
        std::thread::spawn(move || {
            while let Some((_, reply, _)) = next_message(&mut reader) {
                let head = format!("PUB {reply} {}\r\n", answer.len());
                if stream.write_all(&[head.as_bytes(), answer.as_bytes(), b"\r\n"].concat()).is_err() {
                    return;
                }
            }
        });
        stand
    }

    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
        stream.write_all(b"CONNECT {\"verbose\":false}\r\n").unwrap();
        stream
    }
}

/// Somebody at the bus who is no agent. Dropped, it leaves.
pub struct Stand(TcpStream);

impl Drop for Stand {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// Waits for the answer to a PING: what the connection said before it has been handled.
fn await_pong(reader: &mut impl BufRead) {
    let mut line = String::new();
    while !line.starts_with("PONG") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "NATS has gone");
    }
}

/// Subject, reply and content of the next message; `None` at the end.
fn next_message(reader: &mut impl BufRead) -> Option<(String, String, String)> {
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let ["MSG", subject, _, between @ .., bytes] = &words[..] {
            let mut content = vec![0; bytes.parse::<usize>().ok()? + 2];
            reader.read_exact(&mut content).ok()?;
            content.truncate(content.len() - 2);
            let reply = between.first().map(|&reply| reply.to_owned()).unwrap_or_default();
            return Some(((*subject).to_owned(), reply, String::from_utf8_lossy(&content).into_owned()));
        }
    }
}

/// Messages that a NATS has taken in so far, as it tells at this address (`-m`).
pub fn messages_taken_in(told_at: SocketAddr) -> u64 {
    let source = Source { host: told_at.ip().to_string(), port: told_at.port(), path: "/varz".into() };
    let patience = Timeouts { word: REACTS_WITHIN, answer: REACTS_WITHIN };
    let told: Value = serde_json::from_slice(&source.get(patience).expect("NATS tells").body).unwrap();
    told["in_msgs"].as_u64().unwrap_or_else(|| panic!("no count in {told}"))
}

/// Returns whether an agent of that name answers.
pub fn is_there(bus: &Bus, name: &str) -> bool {
    bus.list().lines().any(|line| line.starts_with(name))
}

/// Connections that are open to a server of this machine, seen from its clients.
pub fn connections_to(server: SocketAddr) -> usize {
    connections_in("01", server)
}

/// How many of this machine are being opened to it, and have had no answer.
pub fn attempts_at(server: SocketAddr) -> usize {
    connections_in("02", server)
}

/// In a state of TCP, as the kernel numbers them (include/net/tcp_states.h).
fn connections_in(wanted: &str, server: SocketAddr) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X}", server.port());
    let is_wanted = |line: &&str| {
        let mut fields = line.split_ascii_whitespace().skip(2);
        let (remote, state) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        remote.ends_with(&port) && state == wanted
    };
    table.lines().filter(is_wanted).count()
}

/// Flags with which an agent loads servers of this machine.
fn allowing(flags: &[&str]) -> &'static [&'static str] {
    let is_told = flags.iter().any(|flag| ["--role", "--allow"].contains(flag));
    if is_told { &[] } else { &["--allow", "127.0.0.0/8:*"] }
}

fn server_at(address: SocketAddr, flags: &[String]) -> Process {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let mut server = Command::new("nats-server");
    Process::start(server.args(["-a", &host, "-p", &port]).args(flags)).listening_at(address)
}
