//! The proxy's listener, and the way of one request through it.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use har::{Entry, Pair};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderValue, LOCATION, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version, upgrade};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use net::tls::{ClientTls, TlsError};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::rustls;
use url::Url;

use crate::connecting::connect;
use crate::headers::{self, asks_for_socket};
use crate::links::Links;
use crate::relayed::Relayed;
use crate::session::{Place, Session};
use crate::socket;
use crate::trouble::Trouble;
use crate::upstream::{Upstream, is_loopback};

/// Connections at once, WebSockets included; further ones wait. A browser has six and its WebSockets.
const CONNECTIONS_MAX: usize = 256;
/// Time for a request's head.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
/// Pause after a failed accept: descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval at which the caller is asked whether to stop.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Addresses of a proxy, and how it reaches its server.
pub struct Options {
    /// Addresses to listen on: one for each user, whose session is recorded by itself.
    pub listen: Vec<SocketAddr>,
    /// The server.
    pub upstream: Upstream,
    /// Rules by which a server with TLS is judged.
    pub tls: ClientTls,
}

/// State that all connections share.
struct Proxy {
    upstream: Upstream,
    tls: ClientTls,
    address: SocketAddr,
    session: Session,
}

type Answer = Response<Either<Relayed, Full<Bytes>>>;

/// Serves until `watch` says so, asked ten times a second; each address has one of the sessions. `ready` is
/// told the addresses.
///
/// # Errors
/// An address cannot be listened on; it is named.
pub fn serve(
    options: Options,
    sessions: &[Session],
    ready: impl FnOnce(&[SocketAddr]),
    mut watch: impl FnMut() -> bool,
) -> io::Result<()> {
    assert_eq!(options.listen.len(), sessions.len());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let mut addresses = Vec::new();
        for (listen, session) in options.listen.iter().zip(sessions) {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{listen}: {error}"));
            let listener = TcpListener::bind(listen).await.map_err(named)?;
            let address = listener.local_addr()?;
            let (upstream, tls) = (options.upstream.clone(), options.tls.clone());
            let proxy = Arc::new(Proxy { upstream, tls, address, session: session.clone() });
            if addresses.is_empty() {
                // A server that is down or has a bad certificate is told before anybody opens a page.
                let tried = Arc::clone(&proxy);
                tokio::spawn(async move { drop(tried.connect::<Full<Bytes>>().await) });
            }
            addresses.push(address);
            tokio::spawn(accept(listener, proxy));
        }
        ready(&addresses);
        while !watch() {
            tokio::time::sleep(WATCH_INTERVAL).await;
        }
        Ok(())
    });
    // A name that is being looked up is not waited for.
    runtime.shutdown_background();
    served
}

/// Accepts and serves for ever.
async fn accept(listener: TcpListener, proxy: Arc<Proxy>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                proxy.session.note(Trouble::NotAccepted(reason(&error)));
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if places.available_permits() == 0 {
            proxy.session.note(Trouble::Crowded);
        }
        // Connections behind this one wait in the kernel's queue.
        let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
        // Frames of a WebSocket are small, and wait for nothing.
        let _ = stream.set_nodelay(true);
        let (proxy, place) = (Arc::clone(&proxy), Arc::new(place));
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let (proxy, place) = (Arc::clone(&proxy), Arc::clone(&place));
                async move { Ok::<_, Infallible>(proxy.handle(request, place).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX).preserve_header_case(true);
            // How it ended is the client's affair.
            let _ = http.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
        });
    }
}

impl Proxy {
    /// One request; `place` is that of its connection, which a WebSocket keeps.
    async fn handle(&self, request: Request<Incoming>, place: Arc<OwnedSemaphorePermit>) -> Answer {
        let Some(own) = self.own_name(&request) else {
            self.session.note(Trouble::NotForUs);
            let text = format!("this is http://{}, and answers to that name and to localhost", self.address);
            return refusal(StatusCode::FORBIDDEN, &text);
        };
        let is_socket = asks_for_socket(request.headers());
        let head = headers::of_request(request.headers(), &own, &self.upstream);
        let at = self.session.begin(self.entry(&request, &head, is_socket), self.names(&own));
        let (mut parts, body) = request.into_parts();
        let client = parts.extensions.remove::<upgrade::OnUpgrade>();
        let body = Relayed::of_request(body, &head, self.session.clone(), at);
        let Ok(target) = path(&parts.uri).parse() else {
            return refusal(StatusCode::BAD_REQUEST, "expected a path in the request");
        };
        (parts.uri, parts.version, parts.headers) = (target, Version::HTTP_11, head);
        let mut sender = match self.connect().await {
            Ok(sender) => sender,
            Err(why) => {
                let text = format!("could not reach {}: {why}", self.upstream.origin());
                return refusal(StatusCode::BAD_GATEWAY, &text);
            }
        };
        let mut answer = match sender.send_request(Request::from_parts(parts, body)).await {
            Ok(answer) => answer,
            Err(error) => {
                // A client that breaks off its own request is no trouble of the server's.
                if !error.is_user() {
                    self.session.note(Trouble::BrokenAnswer);
                }
                return refusal(
                    StatusCode::BAD_GATEWAY,
                    "the server closed the connection before its answer",
                );
            }
        };
        self.record_head(at, &answer);
        let links = Links::to_proxy(&self.upstream, &own);
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let server = upgrade::on(&mut answer);
            let Some(client) = client.filter(|_| is_socket) else {
                self.session.note(Trouble::BrokenAnswer);
                return refusal(StatusCode::BAD_GATEWAY, "the server changed the protocol, unasked");
            };
            let session = self.session.clone();
            tokio::spawn(async move {
                if let (Ok(client), Ok(server)) = tokio::join!(client, server) {
                    socket::relay(client, server, session, at).await;
                }
                drop(place);
            });
            return switched(headers::of_answer(answer.headers(), &links, false));
        }
        if is_socket {
            self.session.note(Trouble::SocketRefused(answer.status().as_u16()));
        }
        self.pass(answer, links, &own, at)
    }

    /// The name by which the client knows the proxy; `None` for a foreign one, as a page on the web may make
    /// a browser ask by a name of its own that leads here (DNS rebinding).
    fn own_name(&self, request: &Request<Incoming>) -> Option<String> {
        let named = request.uri().authority().map(|authority| authority.as_str());
        let host = named.or_else(|| headers::text(request.headers(), &HOST));
        // HTTP/1.0 has no Host.
        let Some(host) = host else { return Some(self.address.to_string()) };
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name);
        (request.method() != Method::CONNECT && is_loopback(name)).then(|| host.to_owned())
    }

    async fn connect<B>(&self) -> Result<hyper::client::conn::http1::SendRequest<B>, String>
    where
        B: hyper::body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + 'static,
    {
        connect(&self.upstream, &self.tls).await.map_err(|error| {
            let why = reason(&error);
            self.session.note(Trouble::Unreachable(why.clone()));
            why
        })
    }

    /// Origins of the proxy in what a page says, as they are and as a form has them, with the server's.
    fn names(&self, own: &str) -> Arc<[(String, String)]> {
        let plain = [
            (format!("http://{own}"), self.upstream.origin()),
            (format!("ws://{own}"), self.upstream.socket_origin()),
        ];
        let coded = plain.clone().map(|(from, to)| (in_form(&from), in_form(&to)));
        plain.into_iter().chain(coded).collect()
    }

    /// The entry of a request that begins now, with the server's names.
    fn entry(&self, request: &Request<Incoming>, head: &HeaderMap, is_socket: bool) -> Entry {
        let origin = if is_socket { self.upstream.socket_origin() } else { self.upstream.origin() };
        Entry {
            started_date_time: Timestamp::now().to_string(),
            request: har::Request {
                method: request.method().to_string(),
                url: format!("{origin}{}", path(request.uri())),
                headers: pairs(head),
                post_data: None,
            },
            messages: is_socket.then(Vec::new),
            ..Entry::default()
        }
    }

    fn record_head(&self, at: Place, answer: &Response<Incoming>) {
        self.session.change(at, |entry| {
            entry.response.status = answer.status().as_u16().into();
            entry.response.headers = pairs(answer.headers());
        });
    }

    /// An answer on its way to the client, which knows the proxy as `own`.
    fn pass(&self, answer: Response<Incoming>, links: Links, own: &str, at: Place) -> Answer {
        let (mut parts, body) = answer.into_parts();
        let body = Relayed::of_answer(body, &parts.headers, links.clone(), self.session.clone(), at);
        parts.headers = headers::of_answer(&parts.headers, &links, body.is_changed());
        parts.version = Version::HTTP_11;
        if let Some(origin) = elsewhere(parts.status, &parts.headers, own) {
            self.session.note(Trouble::Elsewhere(origin));
        }
        Response::from_parts(parts, Either::Left(body))
    }
}

/// The origin of another server that an answer leads to: any but the proxy's own, also one on this machine.
fn elsewhere(status: StatusCode, head: &HeaderMap, own: &str) -> Option<String> {
    let url = Url::parse(headers::text(head, &LOCATION).filter(|_| status.is_redirection())?).ok()?;
    let (to, own) = (url.origin(), Url::parse(&format!("http://{own}")).ok()?.origin());
    // Apps have schemes of their own (`app://callback`), which lead to no server.
    (to.is_tuple() && to != own).then(|| to.ascii_serialization())
}

/// The path and query of a request, whatever its form.
fn path(uri: &hyper::Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}

/// A text as forms and queries have it.
fn in_form(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn pairs(head: &HeaderMap) -> Vec<Pair> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    head.iter().map(|(name, value)| Pair { name: name.as_str().to_owned(), value: text(value) }).collect()
}

/// The reason why there is no connection, in few words.
fn reason(error: &io::Error) -> String {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match of_tls {
        Some(error) => {
            let error = TlsError::from(error.clone());
            let remedy = error.remedy().map(|remedy| format!("; {remedy}"));
            format!("{error}{}", remedy.unwrap_or_default())
        }
        // Without the number that Rust adds.
        None => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

/// The answer by which a WebSocket begins.
fn switched(mut head: HeaderMap) -> Answer {
    head.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    head.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let mut answer = Response::new(Either::Right(Full::default()));
    (*answer.status_mut(), *answer.headers_mut()) = (StatusCode::SWITCHING_PROTOCOLS, head);
    answer
}

/// An answer of the proxy's own.
fn refusal(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Either::Right(Full::from(format!("throng: {text}\n"))));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_to_other_origins_are_told() {
        let at = |location: &'static str, status| {
            let head = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(location))]);
            elsewhere(status, &head, "localhost:4000")
        };
        for (location, expected) in [
            ("/login", None),
            ("http://localhost:4000/login", None),
            ("app://callback", None),
            ("http://localhost:5000/realms/x", Some("http://localhost:5000")),
            ("https://sso.test/a?b", Some("https://sso.test")),
        ] {
            assert_eq!(at(location, StatusCode::FOUND).as_deref(), expected, "{location}");
        }
        assert_eq!(at("https://sso.test/", StatusCode::OK), None);
    }
}
