//! Both sides joined by byte vectors; certificates made on the spot.

use std::fs;
use std::io;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::*;

struct Authority {
    dir: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Authority { dir, issuer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A server whose certificate is for `name`, valid from and until the given years.
    fn server(&self, name: &str, years: (i32, i32)) -> ServerTls {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.path("cert.pem"), cert.pem()).unwrap();
        fs::write(self.path("key.pem"), key.serialize_pem()).unwrap();
        ServerTls::new(&self.path("cert.pem"), &self.path("key.pem")).unwrap()
    }

    fn client(&self) -> ClientTls {
        let authorities = fs::read_to_string(self.path("ca.pem")).unwrap();
        ClientTls::new(&TlsOptions { authorities: Some(authorities), ..TlsOptions::default() }).unwrap()
    }
}

/// Carries bytes both ways, `step` at a time, until neither side has more; what each decrypted.
fn exchange(
    client: &mut Tls<ClientSide>,
    server: &mut Tls<ServerSide>,
    step: usize,
) -> (Result<Vec<u8>, TlsError>, Result<Vec<u8>, TlsError>) {
    let (mut at_client, mut at_server) = (Ok(Vec::new()), Ok(Vec::new()));
    loop {
        let moved = carry(client, server, step, &mut at_server) + carry(server, client, step, &mut at_client);
        if moved == 0 {
            return (at_client, at_server);
        }
    }
}

fn carry(
    from: &mut Tls<impl Side>,
    to: &mut Tls<impl Side>,
    step: usize,
    plain: &mut Result<Vec<u8>, TlsError>,
) -> usize {
    let mut wire = Vec::new();
    from.poll_output(&mut wire);
    for chunk in wire.chunks_mut(step) {
        if let Err(error) = plain.as_mut().map_or(Ok(()), |bytes| to.handle_input(chunk, bytes)) {
            *plain = Err(error);
        }
    }
    wire.len()
}

const VALID: (i32, i32) = (2000, 4000);

#[test]
fn text_passes_both_ways_in_any_portions() {
    let authority = Authority::new("ours");
    let (client_tls, server_tls) = (authority.client(), authority.server("localhost", VALID));
    for step in [usize::MAX, 1, 7] {
        let mut client = Tls::new_client(&client_tls, "localhost").unwrap();
        let mut server = Tls::new_server(&server_tls);
        assert!(client.is_handshaking() && server.is_handshaking());
        let mut wire = Vec::new();
        client.write(b"early ", &mut wire); // kept until the handshake ends; the hello is in `wire`
        server.handle_input(&mut wire, &mut Vec::new()).unwrap();
        let (_, at_server) = exchange(&mut client, &mut server, step);
        assert_eq!(at_server.unwrap(), b"early ");
        assert!(!client.is_handshaking() && !server.is_handshaking());

        let big = vec![7u8; 100_000];
        wire.clear();
        server.write(&big, &mut wire);
        let mut plain = Vec::new();
        for chunk in wire.chunks_mut(step) {
            client.handle_input(chunk, &mut plain).unwrap();
        }
        assert_eq!(plain, big);

        wire.clear();
        client.close_notify(&mut wire);
        server.handle_input(&mut wire, &mut plain).unwrap();
        assert!(server.peer_closed() && !client.peer_closed());
    }
}

fn client_error(client_tls: &ClientTls, server_tls: &ServerTls, name: &str) -> (TlsError, Option<TlsError>) {
    let mut client = Tls::new_client(client_tls, name).unwrap();
    let mut server = Tls::new_server(server_tls);
    let (at_client, at_server) = exchange(&mut client, &mut server, usize::MAX);
    (at_client.unwrap_err(), at_server.err())
}

#[test]
fn bad_certificates_are_told_apart() {
    let authority = Authority::new("ours");
    let client = authority.client();
    let expired = client_error(&client, &authority.server("localhost", (2000, 2001)), "localhost");
    assert_eq!(expired.0, TlsError::Expired);
    assert!(matches!(expired.1, Some(TlsError::Alert(_))), "{expired:?}");
    let early = client_error(&client, &authority.server("localhost", (3000, 3001)), "localhost");
    assert_eq!(early.0, TlsError::NotYetValid);
    let server = authority.server("localhost", VALID);
    assert_eq!(client_error(&client, &server, "example.com").0, TlsError::WrongHost);
    assert_eq!(client_error(&client, &server, "127.0.0.1").0, TlsError::WrongHost);
    assert_eq!(
        client_error(&Authority::new("theirs").client(), &server, "localhost").0,
        TlsError::UnknownIssuer
    );
}

#[test]
fn self_signed_certificates_serve_where_they_were_given() {
    let joins = |client_tls: &ClientTls, server: &ServerTls| {
        let mut client = Tls::new_client(client_tls, "localhost").unwrap();
        exchange(&mut client, &mut Tls::new_server(server), usize::MAX)
    };
    let authority = Authority::new("localhost");
    fs::write(authority.path("key.pem"), authority.issuer.key().serialize_pem()).unwrap();
    let server = ServerTls::new(&authority.path("ca.pem"), &authority.path("key.pem")).unwrap();
    assert_eq!(joins(&authority.client(), &server), (Ok(vec![]), Ok(vec![])), "an authority's own");
    assert_eq!(client_error(&authority.client(), &server, "elsewhere").0, TlsError::WrongHost);
    let others = Authority::new("localhost").client();
    assert_eq!(client_error(&others, &server, "localhost").0, TlsError::SelfSigned, "another of that name");

    let simple = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(authority.path("ca.pem"), simple.cert.pem()).unwrap();
    fs::write(authority.path("key.pem"), simple.signing_key.serialize_pem()).unwrap();
    let server = ServerTls::new(&authority.path("ca.pem"), &authority.path("key.pem")).unwrap();
    assert_eq!(joins(&authority.client(), &server), (Ok(vec![]), Ok(vec![])));
    assert_eq!(
        client_error(&Authority::new("theirs").client(), &server, "localhost").0,
        TlsError::UnknownIssuer
    );
}

#[test]
fn certificate_errors_say_what_to_do() {
    for error in [
        TlsError::Expired,
        TlsError::NotYetValid,
        TlsError::WrongHost,
        TlsError::UnknownIssuer,
        TlsError::SelfSigned,
        TlsError::BadCertificate,
    ] {
        assert!(error.to_string().starts_with("the certificate"), "{error}");
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("--insecure")), "{error}");
    }
}

#[test]
fn insecure_accepts_a_stranger() {
    let server_tls = Authority::new("ours").server("localhost", (2000, 2001));
    let client_tls = ClientTls::new(&TlsOptions { insecure: true, ..TlsOptions::default() }).unwrap();
    let mut client = Tls::new_client(&client_tls, "example.com").unwrap();
    let mut server = Tls::new_server(&server_tls);
    let (at_client, at_server) = exchange(&mut client, &mut server, usize::MAX);
    assert_eq!((at_client, at_server), (Ok(vec![]), Ok(vec![])));
    assert!(!client.is_handshaking());
}

#[test]
fn sessions_resume_for_returning_clients_alone() {
    let authority = Authority::new("ours");
    let (client_tls, server_tls) = (authority.client(), authority.server("localhost", VALID));
    let handshake = |is_back: bool| {
        let new = if is_back { Tls::new_client_again } else { Tls::new_client };
        let (mut client, mut server) = (new(&client_tls, "localhost").unwrap(), Tls::new_server(&server_tls));
        assert_eq!(exchange(&mut client, &mut server, usize::MAX), (Ok(vec![]), Ok(vec![])));
        assert_eq!(client.is_resumed(), server.is_resumed());
        client.is_resumed()
    };
    assert!(!handshake(false) && !handshake(true), "none is kept at first");
    client_tls.keep_sessions(2);
    assert!(!handshake(false) && !handshake(false), "both are new");
    assert!(handshake(true) && handshake(true) && handshake(true), "each brings the next");
    assert!(!handshake(false));
    client_tls.keep_sessions(0);
    assert!(!handshake(true));
}

#[test]
fn peers_without_tls_are_named() {
    let authority = Authority::new("ours");
    let mut client = Tls::new_client(&authority.client(), "localhost").unwrap();
    let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    assert_eq!(client.handle_input(&mut answer.to_vec(), &mut Vec::new()), Err(TlsError::NotTls));
    let mut server = Tls::new_server(&authority.server("localhost", VALID));
    let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(server.handle_input(&mut request.to_vec(), &mut Vec::new()), Err(TlsError::NotTls));
}

#[test]
fn bad_files_are_refused_by_name() {
    let authority = Authority::new("ours");
    assert_eq!(Tls::new_client(&authority.client(), "a b").err(), Some(TlsError::BadServerName));
    let nothing = ClientTls::new(&TlsOptions { authorities: Some("none".into()), ..TlsOptions::default() });
    assert!(nothing.err().unwrap().to_string().contains("no certificate in it"));
    fs::write(authority.path("empty.pem"), "").unwrap();
    let empty = ServerTls::new(&authority.path("empty.pem"), &authority.path("ca.pem"));
    assert!(empty.err().unwrap().to_string().contains("empty.pem: no certificate"));
}

#[test]
fn disagreement_on_alpn_is_known() {
    let authority = Authority::new("ours");
    let server_tls = authority.server("localhost", VALID);
    let join = |alpn| {
        let client_tls =
            ClientTls::new(&TlsOptions { insecure: true, alpn, ..TlsOptions::default() }).unwrap();
        let mut client = Tls::new_client(&client_tls, "localhost").unwrap();
        let mut server = Tls::new_server(&server_tls);
        let (at_client, _) = exchange(&mut client, &mut server, usize::MAX);
        at_client.and_then(|_| client.check_agreed(&client_tls))
    };
    assert_eq!(join(None), Ok(()));
    assert_eq!(join(Some("h2")), Ok(()));
    assert_eq!(join(Some("http/1.1")), Ok(()));
    assert_eq!(join(Some("spdy/3")), Err(TlsError::NoProtocol), "the server says so itself");
}

#[test]
fn missing_roots_name_the_variable() {
    let error = io::Error::from(io::ErrorKind::NotFound);
    let typo = config::no_roots(Some("SSL_CERT_FILE"), Some(&error));
    assert!(typo.starts_with("SSL_CERT_FILE ") && typo.contains(&format!("({error})")), "{typo}");
    assert!(!typo.contains("ca-certificates"), "{typo}");
    let bare = config::no_roots(None, None::<&io::Error>);
    assert!(bare.contains("ca-certificates") && !bare.contains("SSL_CERT"), "{bare}");
}
