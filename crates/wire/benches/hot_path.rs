//! The cost of one message, in nanoseconds of one core: `cargo bench -p throng-wire`; with `-- json`, of the
//! rows whose names contain `json`.
//!
//! Each cost is the best of many short rounds, since disturbances only ever add to a round. Each writes to a
//! place of its own: where what is written lies a multiple of 4 KiB from what is read, a load waits for
//! stores that it has nothing to do with.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use app::Kind;
use app::app_file::{AppFile, Broadcast, Condition, JsonScalar, Say};
use app::people::{Algorithm, Jwt, People};
use app::template::{Names, Purpose, Quoting, Template};
use common::*;
use wire::{
    Client, Config, DialectId, DialectOptions, Options, Payload, Room, Server, ServerConfig, ServerEvent,
};

const ROUNDS: usize = 200;
const CALLS: u32 = 2_000;
/// Offsets at which output starts, from round to round.
const PLACES: usize = 64;
const PLACE_BYTES: usize = 64;

/// `call` is told where its output is to start.
fn measure(name: &str, mut call: impl FnMut(usize)) {
    call(0);
    let mut asked = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).peekable();
    if asked.peek().is_some() && !asked.any(|part| name.contains(&part)) {
        return;
    }
    let best = (0..ROUNDS).map(|round| {
        let at = round % PLACES * PLACE_BYTES;
        call(at);
        let start = Instant::now();
        for _ in 0..CALLS {
            call(at);
        }
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    });
    println!("{name:<40} {:7.1} ns", best.fold(f64::INFINITY, f64::min));
}

/// A usable client and its server, joined in memory.
struct Joined {
    cfg: Config,
    client: Client,
    to_server: Fake,
    server_cfg: ServerConfig,
    server: Server,
    to_client: Fake,
    /// The room whose broadcasts the client hears.
    room: Option<Room>,
    /// The last broadcast, as everyone there gets it.
    copy: Vec<u8>,
}

impl Joined {
    fn new(dialect: DialectId, text: bool) -> Joined {
        let payload = Payload { padding: None, text };
        let mut joined = Joined {
            cfg: Config::new(Options { payload, ..options(dialect) }).unwrap(),
            client: Client::new(),
            to_server: Fake::default(),
            server_cfg: ServerConfig::default(),
            server: Server::new(),
            to_client: Fake::default(),
            room: None,
            copy: Vec::new(),
        };
        joined.client.handle_open(&joined.cfg, 0, 0, &mut joined.to_server);
        while !joined.to_server.out.is_empty() {
            let bytes = std::mem::take(&mut joined.to_server.out);
            joined.serve(&bytes, 0);
            let bytes = std::mem::take(&mut joined.to_client.out);
            joined.receive(&bytes);
        }
        assert!(joined.client.is_usable());
        joined
    }

    fn send(&mut self, kind: Kind, at: usize) {
        self.to_server.out.resize(at, 0);
        self.client.send(
            &self.cfg,
            0,
            1_478_000_000_123_456_789,
            kind,
            black_box(stamp(1)),
            &mut self.to_server,
        );
    }

    fn serve(&mut self, bytes: &[u8], at: usize) {
        self.to_client.out.resize(at, 0);
        let (joined, copy) = (&mut self.room, &mut self.copy);
        let mut on = |event: ServerEvent<'_>| match event {
            ServerEvent::Joined { room } => *joined = Some(room),
            ServerEvent::Broadcast { room, frame } | ServerEvent::Rebroadcast { room, frame }
                if *joined == Some(room) =>
            {
                copy.clear();
                copy.extend_from_slice(frame);
            }
            _ => {}
        };
        self.server
            .handle_input(&self.server_cfg, 0, 0, black_box(bytes), &mut self.to_client, &mut on)
            .unwrap();
        if let Some(room) = self.room.filter(|room| room.is_of_readers()) {
            let frame = std::mem::take(&mut self.copy);
            self.server.put_copies(room, &frame, &mut self.copy);
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let mut on = |event| {
            black_box(event);
        };
        self.client.handle_input(&self.cfg, 0, 0, black_box(bytes), &mut self.to_server, &mut on).unwrap();
    }
}

/// A client receives an event of a stream, in which clients send nothing and get no answers.
fn measure_event_stream() {
    let cfg = Config::new(options(DialectId::Sse)).unwrap();
    let (mut client, mut io) = (Client::new(), Fake::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let id = String::from_utf8(stamp(1).to_text().to_vec()).unwrap();
    let event = format!("id: 1\ndata: {{\"sendTime\":\"1478000000123456789\",\"id\":\"{id}\"}}\n\n");
    let copy = format!("{:x}\r\n{event}\r\n", event.len());
    let mut receive = |bytes: &str| {
        let mut on = |event| {
            black_box(event);
        };
        client.handle_input(&cfg, 0, 0, black_box(bytes.as_bytes()), &mut io, &mut on).unwrap();
    };
    receive(head);
    measure(&format!("client receives a copy, sse, {} B", copy.len()), |_| receive(&copy));
}

/// A client receives a frame of an app of a file, with one copy in it or several.
fn measure_app_file() {
    let copy =
        Condition { json: vec![("/type".into(), JsonScalar::Text("said".into()))], ..Condition::default() };
    let body = Template::parse(r#"{"text":"{id}"}"#, Purpose::Measured, &Names::default(), Quoting::JSON);
    let say = Say { body: body.unwrap(), ..Say::default() };
    let broadcast = Broadcast { copy: Some(copy), ..Broadcast::of(say) };
    let app = AppFile { broadcasts: vec![broadcast], ..AppFile::default() };
    let of_dialect = DialectOptions { app: Some(app.into()), ..DialectOptions::default() };
    let cfg = Config::new(Options { of_dialect, ..options(DialectId::Custom) }).unwrap();
    let (mut client, mut io) = (Client::new(), Fake::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    let request = String::from_utf8(std::mem::take(&mut io.out)).unwrap();
    let (_, key) = request.split_once("Sec-WebSocket-Key: ").unwrap();
    let accept = codec::ws::upgrade::accept_of(&key.as_bytes()[..24]);
    let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    let mut receive = |bytes: &[u8]| {
        let mut on = |event| {
            black_box(event);
        };
        client.handle_input(&cfg, 0, 0, black_box(bytes), &mut io, &mut on).unwrap();
    };
    receive(&[&head[..], b"Sec-WebSocket-Accept: ", &accept, b"\r\n\r\n"].concat());
    for copies in [1, 20] {
        let ids: Vec<String> = (1..=copies)
            .map(|seq| format!("\"{}\"", String::from_utf8(stamp(seq).to_text().to_vec()).unwrap()))
            .collect();
        let payload = format!(r#"{{"type":"said","list":[{}]}}"#, ids.join(","));
        let length = u16::try_from(payload.len()).unwrap();
        let head = match u8::try_from(length) {
            Ok(short @ ..126) => vec![0x81, short],
            _ => [&[0x81, 126][..], &length.to_be_bytes()].concat(),
        };
        let frame = [&head[..], payload.as_bytes()].concat();
        let words = if copies == 1 { "a copy" } else { "20 copies in a frame" };
        measure(&format!("client receives {words}, app file, {} B", frame.len()), |_| receive(&frame));
    }
}

/// Each client signs one as `--jwt-secret` has it.
fn with_token(options: Options) -> Options {
    let mut people = People::default();
    let claims = Template::literal(r#"{"sub":""#).then(&Template::of_client()).text(r#"","exp":"#);
    let claims = claims.then(&Template::of_second(3600)).text("}");
    let key = "a secret of 32 bytes, as is usual".into();
    people.token = Some(Jwt { algorithm: Algorithm::Hs256, key, key_id: None, claims });
    people.names.set("token", Template::of_token());
    Options { path: "/ws?token={token}".into(), people: people.into(), ..options }
}

fn main() {
    for (name, dialect, text) in [
        ("raw", DialectId::Raw, false),
        ("raw text", DialectId::Raw, true),
        ("json", DialectId::Json, false),
        ("binary", DialectId::Binary, false),
        ("actioncable", DialectId::Actioncable, false),
        ("phoenix", DialectId::Phoenix, false),
        ("sockjs", DialectId::Sockjs, false),
        ("socketio", DialectId::Socketio, false),
        ("graphql", DialectId::Graphql, false),
    ] {
        let mut joined = Joined::new(dialect, text);
        joined.send(Kind::Echo, 0);
        let sent = joined.to_server.out.clone();
        measure(&format!("client sends, {name}, {} B", sent.len()), |at| joined.send(Kind::Echo, at));
        measure(&format!("server echoes, {name}, {} B", sent.len()), |at| joined.serve(&sent, at));
        joined.serve(&sent, 0);
        let answer = joined.to_client.out.clone();
        measure(&format!("client receives, {name}, {} B", answer.len()), |_| joined.receive(&answer));
        if dialect.can_broadcast() {
            joined.send(Kind::Broadcast, 0);
            let sent = joined.to_server.out.clone();
            measure(&format!("server broadcasts, {name}, {} B", sent.len()), |at| joined.serve(&sent, at));
            let copy = joined.copy.clone();
            measure(&format!("client receives a copy, {name}, {} B", copy.len()), |_| joined.receive(&copy));
        }
        if text || dialect == DialectId::Json {
            measure(&format!("stamp found, {name}"), |_| {
                black_box(codec::stamp::find(black_box(&answer[2..])));
            });
        }
    }
    measure_event_stream();
    measure_app_file();
    let nobody = Config::new(options(DialectId::Raw)).unwrap();
    measure("client asks for its upgrade", |_| {
        let (mut client, mut io) = (Client::new(), Fake::default());
        client.handle_open(&nobody, 0, 0, &mut io);
        black_box(io.out);
    });
    let signed = Config::new(with_token(options(DialectId::Raw))).unwrap();
    measure("the same with a token of its own, HS256", |_| {
        let (mut client, mut io) = (Client::new(), Fake::of(black_box(7)));
        client.handle_open(&signed, 0, 0, &mut io);
        black_box(io.out);
    });
    let (cfg, upgrade) = (ServerConfig::default(), request(""));
    measure("server upgrades", |_| {
        let (mut server, mut io) = (Server::new(), Fake::default());
        server.handle_input(&cfg, 0, 0, black_box(upgrade.as_bytes()), &mut io, &mut |_| {}).unwrap();
    });
    let get = "GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: x\r\n\r\n";
    let (mut server, mut io) = (Server::new(), Fake::default());
    measure("server answers GET", |at| {
        io.out.resize(at, 0);
        server.handle_input(&cfg, 0, 0, black_box(get.as_bytes()), &mut io, &mut |_| {}).unwrap();
    });
}
