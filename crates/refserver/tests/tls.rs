//! Echoes, broadcasts and closes over TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::common::*;
use net::tls::{ClientSide, ClientTls, ServerTls, Tls, TlsOptions};

/// A blocking stream over a TLS client.
struct TlsStream {
    tcp: TcpStream,
    tls: Tls<ClientSide>,
    plain: Vec<u8>,
}

impl TlsStream {
    fn new(tcp: TcpStream) -> TlsStream {
        let client = ClientTls::new(&TlsOptions { insecure: true, ..TlsOptions::default() }).unwrap();
        TlsStream { tcp, tls: Tls::new_client(&client, "localhost").unwrap(), plain: Vec::new() }
    }
}

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.plain.is_empty() && !self.tls.peer_closed() {
            self.flush()?;
            let mut cipher = [0; 4096];
            let count = self.tcp.read(&mut cipher)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.tls.handle_input(&mut cipher[..count], &mut self.plain).map_err(io::Error::other)?;
        }
        let count = buffer.len().min(self.plain.len());
        buffer[..count].copy_from_slice(&self.plain[..count]);
        self.plain.drain(..count);
        Ok(count)
    }
}

impl Write for TlsStream {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        let mut cipher = Vec::new();
        self.tls.write(plain, &mut cipher);
        self.tcp.write_all(&cipher)?;
        Ok(plain.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut cipher = Vec::new();
        self.tls.poll_output(&mut cipher);
        self.tcp.write_all(&cipher)
    }
}

fn server() -> Running {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    Running::with(|options| options.tls = Some(ServerTls::new(&cert, &key).unwrap()))
}

#[test]
fn echoes_broadcasts_and_closes() {
    let server = server();
    let mut clients: Vec<TlsStream> = (0..3).map(|_| TlsStream::new(server.connect())).collect();
    for client in &mut clients {
        upgrade(client);
    }
    let large = vec![b'z'; 200_000];
    clients[0].write_all(&frame(BINARY, &large)).unwrap();
    assert!(read_frame(&mut clients[0]) == (BINARY, large));
    clients[1].write_all(&frame(TEXT, broadcast_text(5).as_bytes())).unwrap();
    assert_eq!(read_texts(&mut clients[0], 1), [broadcast_text(5)]);
    assert_eq!(read_texts(&mut clients[1], 2)[0], broadcast_text(5));
    assert_eq!(read_texts(&mut clients[2], 1), [broadcast_text(5)]);
    clients[2].write_all(&frame(CLOSE, &1000u16.to_be_bytes())).unwrap();
    assert_eq!(read_frame(&mut clients[2]).0, CLOSE);
    assert_eq!(clients[2].read(&mut [0]).unwrap(), 0, "ended with a close_notify");
    drop(clients);
    let stats = server.finish();
    assert_eq!((stats.echoes, stats.copies), (1, 3));
}

#[test]
fn requests_before_a_close_notify_are_answered() {
    let server = server();
    let mut client = TlsStream::new(server.connect());
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    read_head(&mut client);
    let mut cipher = Vec::new();
    client.tls.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", &mut cipher);
    client.tls.close_notify(&mut cipher);
    client.tcp.write_all(&cipher).unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 200 "));
    let ended = client.read_to_end(&mut Vec::new());
    assert!(!ended.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "it stays open");
    server.finish();
}

#[test]
fn plain_http_gets_an_alert() {
    let server = server();
    let mut client = server.connect();
    client.write_all(upgrade_request().as_bytes()).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer.first(), Some(&21), "a TLS alert record (RFC 8446 §5.1)");
    let mut proper = TlsStream::new(server.connect());
    upgrade(&mut proper);
    assert_eq!(server.finish().errors.get("tls_not_tls"), Some(&1));
}
