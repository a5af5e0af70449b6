//! Broken, hostile and odd servers and clients, over real sockets: each gets an answer or its end, and the
//! proxy goes on.

mod answers;
mod clients;
mod sockets;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use har::Entry;
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

fn trusting(authorities: String) -> TlsOptions {
    TlsOptions { authorities: Some(authorities), ..TlsOptions::default() }
}
