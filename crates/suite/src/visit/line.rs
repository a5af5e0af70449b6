//! The connection of a visit: in the clear, at a unix socket, or over TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use net::tls::{ClientSide, ClientTls, Tls, TlsError, TlsOptions};
use url::Url;

/// Bytes of one read.
const CIPHERTEXT_BYTES: usize = 16 << 10;
/// How long a connection may take to be accepted.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// A connection of any kind, which never waits.
pub(super) trait Line: Read + Write {}

impl Line for TcpStream {}
impl Line for UnixStream {}
impl Line for Secure {}

/// Connects to where the URL says, or to the socket in its place.
pub(super) fn connect(url: &Url, socket: Option<&Path>) -> io::Result<Box<dyn Line>> {
    if let Some(path) = socket {
        let stream = UnixStream::connect(path)?;
        stream.set_nonblocking(true)?;
        return Ok(Box::new(stream));
    }
    let stream = TcpStream::connect_timeout(&address(url)?, CONNECT_MAX)?;
    stream.set_nonblocking(true)?;
    if !matches!(url.scheme(), "wss" | "https") {
        return Ok(Box::new(stream));
    }
    Ok(Box::new(Secure::new(stream, url.host_str().unwrap_or_default())?))
}

/// The address in a URL: targets listen on the loopback address, so there is no name to resolve.
pub(crate) fn address(url: &Url) -> io::Result<SocketAddr> {
    let addresses = url.socket_addrs(|| None)?;
    addresses
        .first()
        .copied()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the URL has no address"))
}

/// A connection over TLS to a server whose certificate throng has made itself, and does not check.
struct Secure {
    stream: TcpStream,
    tls: Tls<ClientSide>,
    heard: Vec<u8>,
    unsent: Vec<u8>,
}

impl Secure {
    fn new(stream: TcpStream, host: &str) -> io::Result<Secure> {
        // What is tested is the server's protocol; the certificate is throng's own work.
        let tls = ClientTls::new(&TlsOptions { insecure: true, ..TlsOptions::default() })?;
        let tls = Tls::new_client(&tls, host).map_err(broken)?;
        Ok(Secure { stream, tls, heard: Vec::new(), unsent: Vec::new() })
    }
}

impl Read for Secure {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.flush()?;
        while self.heard.is_empty() {
            let mut ciphertext = [0; CIPHERTEXT_BYTES];
            let bytes = self.stream.read(&mut ciphertext)?;
            // The end of the stream, although TLS has its own: servers often just close.
            if bytes == 0 {
                return Ok(0);
            }
            let handled = self.tls.handle_input(&mut ciphertext[..bytes], &mut self.heard);
            self.flush()?;
            handled.map_err(broken)?;
        }
        let bytes = buffer.len().min(self.heard.len());
        buffer[..bytes].copy_from_slice(&self.heard[..bytes]);
        self.heard.drain(..bytes);
        Ok(bytes)
    }
}

impl Write for Secure {
    /// Takes all of it: what cannot be sent yet is sent with the next read.
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.tls.write(plain, &mut self.unsent);
        self.flush()?;
        Ok(plain.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tls.poll_output(&mut self.unsent);
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(bytes) => drop(self.unsent.drain(..bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn broken(error: TlsError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.name())
}
