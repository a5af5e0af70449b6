//! The configuration of a side of TLS: the authorities to trust, or the identity.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring::Ticketer;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};

use secret::Secret;

use super::error::TlsError;
use super::sessions::{SessionStore, Sessions};
use crate::files;

/// The variables of OpenSSL that replace the system's root certificates (openssl-env(7)).
const ROOT_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Bytes of a PEM file that is read: several times a system's bundle of authorities.
pub const PEM_BYTES_MAX: u64 = 1 << 20;

/// The options of a client's TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Certificates to trust instead of the system's, as the text of a PEM file.
    pub authorities: Option<String>,
    /// Accepts any certificate.
    pub insecure: bool,
    /// The client's own certificate chain (leaf first) and its key, as the texts of PEM files, for servers
    /// that ask for it.
    pub identity: Option<(String, Secret)>,
    /// The protocol on which both sides have to agree (RFC 7301); `None`: the client asks for none.
    pub alpn: Option<&'static str>,
}

/// A version of TLS. rustls speaks no older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    V12,
    /// TLS 1.3 (RFC 8446).
    V13,
}

impl TlsVersion {
    /// Both versions, the newer one last.
    pub const ALL: [TlsVersion; 2] = [TlsVersion::V12, TlsVersion::V13];

    /// The version's number, such as `1.3`.
    pub fn name(self) -> &'static str {
        match self {
            TlsVersion::V12 => "1.2",
            TlsVersion::V13 => "1.3",
        }
    }

    fn supported(self) -> &'static SupportedProtocolVersion {
        match self {
            TlsVersion::V12 => &rustls::version::TLS12,
            TlsVersion::V13 => &rustls::version::TLS13,
        }
    }
}

/// The client's configuration, which all connections share. Cheap to clone.
#[derive(Clone)]
pub struct ClientTls {
    newcomers: Arc<ClientConfig>,
    returned: Arc<ClientConfig>,
    sessions: Arc<Sessions>,
}

impl ClientTls {
    /// Loads the roots: `options.authorities`, or the system's. Errors name the fault of the authorities.
    pub fn new(options: &TlsOptions) -> io::Result<ClientTls> {
        ClientTls::of_versions(options, rustls::DEFAULT_VERSIONS)
    }

    /// Loads the roots for a client that speaks this version of TLS and no other.
    pub fn of_version(options: &TlsOptions, version: TlsVersion) -> io::Result<ClientTls> {
        ClientTls::of_versions(options, &[version.supported()])
    }

    fn of_versions(
        options: &TlsOptions,
        versions: &[&'static SupportedProtocolVersion],
    ) -> io::Result<ClientTls> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(io::Error::other)?;
        let trust = Arc::new(Trust::of(options, provider)?);
        // rustls calls any verifier of one's own dangerous; `Trust` asks webpki all the same, and adds one
        // exception.
        let builder = builder.dangerous().with_custom_certificate_verifier(trust);
        let mut config = match &options.identity {
            Some((chain, key)) => {
                let (chain, key) = identity(chain, key)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| unusable(error.to_string()))?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = options.alpn.into_iter().map(Into::into).collect();
        let sessions = Arc::new(Sessions::default());
        let with = |is_back| {
            let session_store = SessionStore { sessions: Arc::clone(&sessions), is_back };
            let mut config = config.clone();
            config.resumption = Resumption::store(Arc::new(session_store));
            Arc::new(config)
        };
        // Each client is a new one to the server: a resumed session would make handshakes look cheap.
        Ok(ClientTls { newcomers: with(false), returned: with(true), sessions })
    }

    /// Keeps the sessions of this many clients for their return; without this call, no sessions are kept.
    pub fn keep_sessions(&self, clients: usize) {
        self.sessions.keep(clients);
    }

    /// Gives rustls' own configuration, for connections of another library.
    pub fn config(&self) -> &Arc<ClientConfig> {
        &self.newcomers
    }

    pub(super) fn of_newcomers(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.newcomers)
    }

    pub(super) fn of_the_returned(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.returned)
    }

    /// Returns whether this is the protocol that the client asked for, or the client asked for none.
    pub(super) fn expects(&self, agreed: Option<&[u8]>) -> bool {
        self.newcomers.alpn_protocols.first().is_none_or(|asked| Some(asked.as_slice()) == agreed)
    }
}

/// The server's configuration, which all connections share. Cheap to clone.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
}

/// Protocols of a server. A client that accepts either gets HTTP/1.1, which carries more: WebSockets, and
/// sessions over requests.
const SERVED: [&str; 2] = ["http/1.1", "h2"];

impl ServerTls {
    /// Reads the certificate chain (leaf first) and its private key from PEM files. Errors name the file.
    pub fn new(cert: &Path, key: &Path) -> io::Result<ServerTls> {
        let chain = certificates_in(&pem(cert)?).map_err(|error| in_file(cert, error))?;
        let private = PrivateKeyDer::from_pem_slice(&pem(key)?).map_err(|error| in_file(key, error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|error| in_file(cert, error))?;
        // The session is in the ticket, encrypted with this server's key: however many clients come back,
        // nothing is kept for them.
        config.ticketer = Ticketer::new().map_err(io::Error::other)?;
        config.alpn_protocols = SERVED.map(Into::into).to_vec();
        Ok(ServerTls { config: Arc::new(config) })
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// Checks that this text of a PEM file contains certificates, which can be trusted.
///
/// # Errors
/// What is wrong with it.
pub fn check_authorities(text: &str) -> io::Result<()> {
    roots(Some(text)).map(drop)
}

/// Checks that this text of a PEM file is a private key that can be used.
///
/// # Errors
/// It cannot be used, and why.
pub fn check_key(key: &Secret) -> io::Result<()> {
    let provider = rustls::crypto::ring::default_provider().key_provider;
    provider.load_private_key(private_key(key)?).map(drop).map_err(|error| unusable(error.to_string()))
}

/// Checks that a client can identify itself with these texts of PEM files.
///
/// # Errors
/// They cannot be used, and why.
pub fn check_identity(chain: &str, key: &Secret) -> io::Result<()> {
    let options = TlsOptions {
        insecure: true,
        identity: Some((chain.to_owned(), key.clone())),
        ..TlsOptions::default()
    };
    ClientTls::new(&options).map(drop)
}

fn identity(chain: &str, key: &Secret) -> io::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    Ok((certificates_in(chain.as_bytes())?, private_key(key)?))
}

fn private_key(key: &Secret) -> io::Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(key.reveal().as_bytes())
        .map_err(|error| unusable(format!("the key: {error}")))
}

fn certificates_in(text: &[u8]) -> io::Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(|error| unusable(error.to_string()))?;
    if found.is_empty() { Err(unusable("no certificate in it".to_owned())) } else { Ok(found) }
}

fn unusable(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn roots(authorities: Option<&str>) -> io::Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match authorities {
        Some(text) => {
            for certificate in certificates_in(text.as_bytes())? {
                store.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
        }
        // Certificates of the system that rustls does not take are left out without a word: the user cannot
        // change them.
        None => {
            let system = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(system.certs);
            if store.is_empty() {
                let variable = ROOT_VARIABLES.into_iter().find(|name| std::env::var_os(name).is_some());
                let text = no_roots(variable, system.errors.first());
                return Err(io::Error::new(io::ErrorKind::NotFound, text));
            }
        }
    }
    Ok(store)
}

/// The message for a machine without root certificates: the variable that is set instead of the system's
/// paths, and the first error on the way.
pub(super) fn no_roots(variable: Option<&str>, error: Option<&impl fmt::Display>) -> String {
    let (place, remedy) = match variable {
        Some(name) => (format!("{name} leads to"), "correct or unset it"),
        None => ("this machine has".to_owned(), "install ca-certificates"),
    };
    let reason = error.map(|error| format!(" ({error})")).unwrap_or_default();
    format!("{place} no root certificates{reason}: {remedy}, or pass --ca or --insecure")
}

fn pem(path: &Path) -> io::Result<Vec<u8>> {
    files::read(path, PEM_BYTES_MAX).map_err(|error| in_file(path, error))
}

fn in_file(path: &Path, what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

/// Trusts what these authorities have signed; and of those that were given, what is an authority's own
/// certificate: `openssl req -x509` makes one for a server, which may sign others and, by RFC 5280, not
/// serve. Without authorities, any certificate will do. In any case the server must hold its key.
#[derive(Debug)]
struct Trust {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    given: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    fn of(options: &TlsOptions, provider: Arc<CryptoProvider>) -> io::Result<Trust> {
        let authorities = options.authorities.as_deref();
        if options.insecure {
            return Ok(Trust { authorities: None, given: Vec::new(), provider });
        }
        let given = authorities.map(str::as_bytes).map(certificates_in).transpose()?.unwrap_or_default();
        let roots = Arc::new(roots(authorities)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
        Ok(Trust { authorities: Some(verifier.map_err(io::Error::other)?), given, provider })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        let verified =
            authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        // webpki looks at the time before this, and at the name after it.
        let is_authoritys = |error: &Error| TlsError::from(error.clone()) == TlsError::SelfSigned;
        match verified {
            Err(error) if is_authoritys(&error) && self.given.iter().any(|given| given == end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
