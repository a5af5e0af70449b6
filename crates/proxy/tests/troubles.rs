//! Broken, hostile and odd servers and clients, over real sockets: each gets an answer or its end, and the
//! proxy goes on.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use har::{Direction, Entry};
use net::tls::{ClientTls, TlsOptions};
use proxy::{Options, Session, Trouble, Upstream, serve};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{self, ServerConfig, ServerConnection, StreamOwned};

const WITHIN: Duration = Duration::from_secs(20);

/// A proxy in front of a server, until it is dropped.
struct Proxy {
    address: SocketAddr,
    session: Session,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Proxy {
    fn start(upstream: SocketAddr) -> Proxy {
        let any = TlsOptions { insecure: true, ..TlsOptions::default() };
        Proxy::start_with(&format!("http://{upstream}"), &any)
    }

    fn start_with(url: &str, tls: &TlsOptions) -> Proxy {
        let url = url::Url::parse(url).unwrap();
        let tls = ClientTls::new(tls).unwrap();
        let listen = vec!["127.0.0.1:0".parse().unwrap()];
        let options = Options { listen, upstream: Upstream::of(&url).unwrap(), tls };
        let (session, stop) = (Session::default(), Arc::new(AtomicBool::new(false)));
        let (tell, told) = mpsc::channel();
        let (sessions, stopped) = ([session.clone()], Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let ready = |addresses: &[SocketAddr]| tell.send(addresses[0]).unwrap();
            serve(options, &sessions, ready, || stopped.load(Ordering::Relaxed)).unwrap();
        });
        let address = told.recv_timeout(WITHIN).unwrap();
        Proxy { address, session, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(WITHIN)).unwrap();
        stream
    }

    /// The bytes that answer a request, whose connection ends with it.
    fn answer(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A connection that is cut ends with an error or without.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.answer(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n",
            self.address.port()
        ))
    }

    fn troubles(&self) -> BTreeSet<Trouble> {
        self.session.troubles().into_keys().collect()
    }

    /// Waits for one of these.
    fn assert_trouble(&self, expected: impl Fn(&Trouble) -> bool) {
        let start = Instant::now();
        while !self.troubles().iter().any(&expected) {
            assert!(start.elapsed() < WITHIN, "{:?}", self.troubles());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it, and returns what was recorded.
    fn end(mut self) -> Vec<Entry> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        self.session.take()
    }
}

/// A server of one thread for each connection, which gets the request's head.
fn server(serve: impl Fn(&str, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    serve_on(listener, serve);
    address
}

/// The same on this listener.
fn serve_on(
    listener: TcpListener,
    serve: impl Fn(&str, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
) {
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, serve) = (stream.unwrap(), Arc::clone(&serve));
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") {
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        return;
                    }
                    head.push(byte[0]);
                }
                // A client that is gone is what some tests are about.
                let _ = serve(&String::from_utf8(head).unwrap(), &mut stream);
            });
        }
    });
}

/// A connection with TLS, as its server has it.
type Secured = StreamOwned<ServerConnection, TcpStream>;

/// A server with TLS for `localhost`, which gets its own port, and the text of its certificate.
fn secure_server(serve: impl Fn(u16, &mut Secured) -> io::Result<()> + Send + 'static) -> (u16, String) {
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(signed.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![signed.cert.der().clone()], key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(session, stream.unwrap());
            // Clients that do not trust it go before they ask.
            if stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                serve(port, &mut stream).unwrap();
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (port, signed.cert.pem())
}

/// A server with one answer to everything.
fn answering(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let answer = answer.into();
    server(move |_, stream| stream.write_all(&answer))
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn server_that_is_down_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let proxy = Proxy::start(address);
    proxy.assert_trouble(|trouble| matches!(trouble, Trouble::Unreachable(_)));
    assert_eq!(status(&proxy.get("/")), "502");
    // It goes on as soon as the server is there.
    serve_on(TcpListener::bind(address).unwrap(), |_, stream| {
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
    });
    assert_eq!(status(&proxy.get("/")), "204");
    let statuses: Vec<i64> = proxy.end().iter().map(|entry| entry.response.status).collect();
    assert_eq!(statuses, [0, 204]);
}

#[test]
fn half_and_senseless_answers_are_cut() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n5\r\nhalf",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "",
    ] {
        let proxy = Proxy::start(answering(answer));
        let got = proxy.get("/");
        assert!(["200", "502", "none"].contains(&status(&got)), "{got}");
        assert!(!got.ends_with("0\r\n\r\n"), "{got}");
        proxy.assert_trouble(|trouble| *trouble == Trouble::BrokenAnswer);
        proxy.end();
    }
}

/// Name and port that a request asks for.
fn host(head: &str) -> &str {
    let name = |line: &'_ str| line.len() > 6 && line[..6].eq_ignore_ascii_case("host: ");
    head.lines().find(|line| name(line)).map(|line| &line[6..]).unwrap()
}

#[test]
fn chunked_and_compressed_pages_are_rewritten() {
    let address = server(|head, stream| {
        let host = host(head);
        assert!(head.contains("identity"), "{head}");
        let page = format!("<a href=\"http://{host}/a\">");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(page.as_bytes())?;
        let coded = gzip.finish()?;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        )?;
        for chunk in coded.chunks(10) {
            write!(stream, "{:x}\r\n", chunk.len())?;
            stream.write_all(chunk)?;
            write!(stream, "\r\n")?;
        }
        write!(stream, "0\r\n\r\n")
    });
    let proxy = Proxy::start(address);
    let got = proxy.get("/");
    assert!(got.contains(&format!("http://localhost:{}/a\">", proxy.address.port())), "{got}");
    let entry = proxy.end().remove(0);
    assert_eq!(entry.response.content.text, Some(format!("<a href=\"http://{address}/a\">")));
    assert_eq!(entry.request.url, format!("http://{address}/"));
}

/// A body without a type is what its first letter says: a page, JSON, or neither.
#[test]
fn untyped_pages_are_kept_and_rewritten() {
    let address = server(|head, stream| {
        let host = host(head);
        let start = match head.split(' ').nth(1) {
            Some("/page") => "<a>",
            Some("/json") => "{",
            _ => "PK",
        };
        let body = format!("\n {start}http://{host}/a");
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
        for part in [&body[..1], &body[1..3], &body[3..]] {
            stream.write_all(part.as_bytes())?;
            stream.flush()?;
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    });
    let proxy = Proxy::start(address);
    let own = format!("http://localhost:{}/a", proxy.address.port());
    for (path, start, is_page) in [("/page", "<a>", true), ("/json", "{", true), ("/zip", "PK", false)] {
        // HTTP/1.0: a body in one piece.
        let got =
            proxy.answer(&format!("GET {path} HTTP/1.0\r\nHost: localhost:{}\r\n\r\n", proxy.address.port()));
        assert_eq!(got.contains(&format!("\n {start}{own}")), is_page, "{got}");
        assert_eq!(got.contains(&format!("\n {start}http://{address}/a")), !is_page, "{got}");
    }
    let kept: Vec<bool> =
        proxy.end().into_iter().map(|entry| entry.response.content.text.is_some()).collect();
    assert_eq!(kept, [true, true, false]);
}

#[test]
fn empty_bodies_need_no_coding() {
    let head = "HTTP/1.1 302 Found\r\nLocation: /in\r\nContent-Type: text/html\r\nContent-Encoding: GZIP\r\nContent-Length: 0\r\n\r\n";
    let proxy = Proxy::start(answering(head));
    let got = proxy.get("/");
    assert!(status(&got) == "302" && got.ends_with("0\r\n\r\n"), "{got}");
    assert_eq!(proxy.troubles(), BTreeSet::new());
    proxy.end();
}

fn trusting(authorities: String) -> TlsOptions {
    TlsOptions { authorities: Some(authorities), ..TlsOptions::default() }
}

#[test]
fn servers_with_tls_are_judged() {
    let (port, pem) = secure_server(|port, stream| {
        write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: https://localhost:{port}/in\r\nContent-Length: 0\r\n\
             Set-Cookie: s=1; Secure; SameSite=None\r\nConnection: close\r\n\r\n"
        )
    });
    let url = format!("https://localhost:{port}");
    let (_, foreign) = secure_server(|_, _| Ok(()));
    let proxy = Proxy::start_with(&url, &trusting(pem));
    let got = proxy.get("/login").to_lowercase();
    for line in [
        format!("location: http://localhost:{}/in", proxy.address.port()),
        "set-cookie: s=1; samesite=lax".to_owned(),
    ] {
        assert!(got.contains(&format!("{line}\r\n")), "{line}: {got}");
    }
    let entry = proxy.end().remove(0);
    assert_eq!((entry.request.url, entry.response.status), (format!("{url}/login"), 302));
    let proxy = Proxy::start_with(&url, &trusting(foreign));
    assert_eq!(status(&proxy.get("/")), "502");
    proxy
        .assert_trouble(|trouble| matches!(trouble, Trouble::Unreachable(why) if why.contains("--insecure")));
    proxy.end();
}

#[test]
fn unknown_codings_pass() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\n";
    let proxy = Proxy::start(answering(format!("{head}\x01\x02\x03\x04")));
    assert!(proxy.get("/").ends_with("\r\n\r\n\x01\x02\x03\x04"));
    proxy.assert_trouble(|trouble| *trouble == Trouble::Encoded("br".to_owned()));
    assert_eq!(proxy.end()[0].response.content.text, None);
}

#[test]
fn clients_of_http_1_0_are_answered() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let proxy = Proxy::start(answering(answer));
    let got = proxy.answer("GET /x HTTP/1.0\r\n\r\n");
    assert!(got.starts_with("HTTP/1.") && got.ends_with("\r\n\r\nhello"), "{got}");
    assert!(!got.to_lowercase().contains("transfer-encoding"), "{got}");
    let got = proxy.answer("HEAD /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(got.ends_with("\r\n\r\n"), "{got}");
    assert_eq!(proxy.end().len(), 2);
}

#[test]
fn names_of_others_are_refused() {
    let proxy = Proxy::start(answering("HTTP/1.1 204 No Content\r\n\r\n"));
    for request in [
        "GET / HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
        "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
        "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\nConnection: close\r\n\r\n",
    ] {
        assert_eq!(status(&proxy.answer(request)), "403", "{request}");
    }
    assert_eq!(proxy.troubles(), BTreeSet::from([Trouble::NotForUs]));
    assert!(proxy.end().is_empty());
}

#[test]
fn refused_upgrade_is_passed() {
    let proxy = Proxy::start(answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnope"));
    let got = proxy.answer(&upgrade(&proxy));
    assert_eq!((status(&got), got.contains("\r\nnope\r\n")), ("403", true), "{got}");
    proxy.assert_trouble(|trouble| *trouble == Trouble::SocketRefused(403));
    assert_eq!(proxy.end()[0].messages, Some(Vec::new()));
}

fn upgrade(proxy: &Proxy) -> String {
    format!(
        "GET /ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        proxy.address
    )
}

/// Says "Hello", hears one frame, and goes without a word.
fn greet(stream: &mut (impl Read + Write)) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05Hello",
    )?;
    stream.read_exact(&mut [0; 11])
}

/// Asserts that "Hello" passes to the client and to the server, and that the end without a word is told.
fn assert_hello_passes(proxy: Proxy, origin: &str) {
    let mut stream = proxy.connect();
    stream.write_all(upgrade(&proxy).as_bytes()).unwrap();
    let mut got = Vec::new();
    let mut byte = [0];
    while !got.ends_with(b"Hello") {
        stream.read_exact(&mut byte).unwrap();
        got.push(byte[0]);
    }
    // "Hello", masked (RFC 6455 §5.7).
    stream.write_all(&[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]).unwrap();
    assert_eq!(stream.read(&mut byte).unwrap_or(0), 0);
    proxy.assert_trouble(|trouble| *trouble == Trouble::SocketLost);
    let entry = proxy.end().remove(0);
    assert_eq!(entry.request.url, format!("{origin}/ws"));
    let said: Vec<_> =
        entry.messages.unwrap().into_iter().map(|frame| (frame.direction, frame.data)).collect();
    assert_eq!(said, [(Direction::Receive, "Hello".into()), (Direction::Send, "Hello".into())]);
}

#[test]
fn lost_sockets_are_told_and_ended() {
    let address = server(|head, stream| {
        assert!(!head.to_lowercase().contains("permessage-deflate"), "{head}");
        greet(stream)
    });
    assert_hello_passes(Proxy::start(address), &format!("ws://{address}"));
}

#[test]
fn sockets_pass_over_tls() {
    let (port, pem) = secure_server(|_, stream| greet(stream));
    let origin = format!("wss://localhost:{port}");
    assert_hello_passes(Proxy::start_with(&origin, &trusting(pem)), &origin);
}

#[test]
fn client_that_goes_ends_an_endless_stream() {
    let ended = Arc::new(Mutex::new(false));
    let noted = Arc::clone(&ended);
    let address = server(move |_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        let sent = loop {
            if let Err(error) = stream.write_all(b"data: hello\n\n") {
                break error;
            }
            thread::sleep(Duration::from_millis(5));
        };
        *noted.lock().unwrap() = true;
        Err(sent)
    });
    let proxy = Proxy::start(address);
    let mut stream = proxy.connect();
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", proxy.address).as_bytes()).unwrap();
    let mut heard = vec![0; 1000];
    stream.read_exact(&mut heard).unwrap();
    assert!(String::from_utf8_lossy(&heard).contains("data: hello"));
    drop(stream);
    let start = Instant::now();
    while !*ended.lock().unwrap() {
        assert!(start.elapsed() < WITHIN, "the server still sends");
        thread::sleep(Duration::from_millis(10));
    }
    proxy.end();
}

#[test]
fn large_bodies_pass_in_bounded_memory() {
    for (kind, bytes) in [("application/octet-stream", 1_u64 << 30), ("text/html", 16 << 20)] {
        let address = server(move |_, stream| {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {bytes}\r\n\r\n")?;
            let portion = vec![b'h'; 1 << 18];
            for _ in 0..bytes >> 18 {
                stream.write_all(&portion)?;
            }
            Ok(())
        });
        let proxy = Proxy::start(address);
        let before = resident_bytes();
        let mut stream = proxy.connect();
        stream
            .write_all(
                format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", proxy.address).as_bytes(),
            )
            .unwrap();
        let (mut portion, mut read, mut most) = (vec![0; 1 << 20], 0, 0);
        loop {
            let now = stream.read(&mut portion).unwrap();
            if now == 0 {
                break;
            }
            read += now as u64;
            most = most.max(resident_bytes());
        }
        assert!(read >= bytes, "{read} of {bytes}");
        assert!(most.saturating_sub(before) < 100 << 20, "{} MiB more for {kind}", (most - before) >> 20);
        let text = proxy.end().remove(0).response.content.text;
        assert_eq!(text.map(|text| text.len()), (kind == "text/html").then_some(2 << 20));
    }
}

fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() << 12
}

#[test]
fn further_connections_wait_for_a_place() {
    let proxy = Proxy::start(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    let request = |stream: &mut TcpStream| {
        let head = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", proxy.address);
        stream.write_all(head.as_bytes()).unwrap();
    };
    let mut idle: Vec<TcpStream> = (0..255).map(|_| proxy.connect()).collect();
    let mut last = proxy.connect();
    request(&mut last);
    last.read_exact(&mut [0; 12]).unwrap();
    assert!(!proxy.troubles().contains(&Trouble::Crowded));
    idle.extend([proxy.connect(), proxy.connect()]);
    proxy.assert_trouble(|trouble| *trouble == Trouble::Crowded);
    let mut further = proxy.connect();
    request(&mut further);
    further.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(further.read(&mut [0]).is_err());
    idle.truncate(200);
    further.set_read_timeout(Some(WITHIN)).unwrap();
    let mut got = String::new();
    further.read_to_string(&mut got).unwrap();
    assert_eq!(status(&got), "200", "{got}");
    proxy.end();
}
