//! The causes of TLS failures.

use std::fmt;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// The kind of a TLS failure: small and `Copy`, because it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TlsError {
    /// The certificate is past its end (or the clock is wrong).
    Expired,
    /// The certificate is not valid yet (or the clock is wrong).
    NotYetValid,
    /// The certificate is for another name.
    WrongHost,
    /// The certificate's issuer is not trusted.
    UnknownIssuer,
    /// The certificate is a certificate authority's own, as `openssl req -x509` makes them: it may sign
    /// others, but not serve.
    SelfSigned,
    /// The certificate is unusable for another reason: revoked, malformed, a bad signature.
    BadCertificate,
    /// The peer refused with this alert (RFC 8446 section 6).
    Alert(u8),
    /// The peer closed the connection in the handshake.
    Eof,
    /// The peer does not speak TLS at all.
    NotTls,
    /// The server does not carry the protocol that the client asked for (RFC 7301).
    NoProtocol,
    /// The two sides have no version, cipher suite or key exchange in common.
    Incompatible,
    /// The peer broke the protocol.
    Misbehaved,
    /// The server name is neither a DNS name nor an IP address.
    BadServerName,
    /// Another failure.
    Other,
}

impl TlsError {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            TlsError::Expired => "tls_expired",
            TlsError::NotYetValid => "tls_not_yet_valid",
            TlsError::WrongHost => "tls_wrong_host",
            TlsError::UnknownIssuer => "tls_unknown_issuer",
            TlsError::SelfSigned => "tls_self_signed",
            TlsError::BadCertificate => "tls_bad_certificate",
            TlsError::Alert(_) => "tls_alert",
            TlsError::Eof => "tls_eof",
            TlsError::NotTls => "tls_not_tls",
            TlsError::NoProtocol => "tls_no_protocol",
            TlsError::Incompatible => "tls_incompatible",
            TlsError::Misbehaved => "tls_misbehaved",
            TlsError::BadServerName => "tls_bad_server_name",
            TlsError::Other => "tls_other",
        }
    }

    /// The user's remedy, if there is one.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            TlsError::Expired | TlsError::NotYetValid => {
                Some("renew the server's certificate, check this machine's clock, or pass --insecure")
            }
            TlsError::WrongHost => Some("use the name that the certificate carries, or pass --insecure"),
            TlsError::UnknownIssuer => Some("pass the issuer's certificate with --ca, or --insecure"),
            TlsError::SelfSigned => Some("trust it with --ca FILE, or accept any with --insecure"),
            TlsError::BadCertificate => {
                Some("if it is the server's own, pass the certificate with --ca, or pass --insecure")
            }
            // RFC 8446, section 6.2: certificate_required, and what servers say instead of it.
            TlsError::Alert(116 | 40 | 42 | 48) => {
                Some("if the server wants a certificate of its clients, pass one with --cert and --key")
            }
            TlsError::NotTls => Some("use ws:// or http://"),
            TlsError::NoProtocol => Some(
                "the server does not offer HTTP/2 over TLS (ALPN h2): leave out --http2, or enable it there",
            ),
            _ => None,
        }
    }
}

impl From<Error> for TlsError {
    fn from(error: Error) -> TlsError {
        match error {
            Error::InvalidCertificate(certificate) => TlsError::from(certificate),
            Error::AlertReceived(AlertDescription::NoApplicationProtocol) => TlsError::NoProtocol,
            Error::AlertReceived(alert) => TlsError::Alert(u8::from(alert)),
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::MessageTooLarge
                | InvalidMessage::InvalidEmptyPayload,
            ) => TlsError::NotTls,
            Error::PeerIncompatible(_) => TlsError::Incompatible,
            Error::InvalidMessage(_)
            | Error::InappropriateMessage { .. }
            | Error::InappropriateHandshakeMessage { .. }
            | Error::PeerMisbehaved(_)
            | Error::DecryptError
            | Error::PeerSentOversizedRecord => TlsError::Misbehaved,
            _ => TlsError::Other,
        }
    }
}

impl From<CertificateError> for TlsError {
    fn from(error: CertificateError) -> TlsError {
        use CertificateError as C;
        match error {
            C::Expired | C::ExpiredContext { .. } => TlsError::Expired,
            C::NotValidYet | C::NotValidYetContext { .. } => TlsError::NotYetValid,
            C::NotValidForName | C::NotValidForNameContext { .. } => TlsError::WrongHost,
            C::UnknownIssuer => TlsError::UnknownIssuer,
            // The type of webpki's error is not public: its text is compared.
            C::Other(other) if other.to_string() == "CaUsedAsEndEntity" => TlsError::SelfSigned,
            _ => TlsError::BadCertificate,
        }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsError::Expired => "the certificate has expired",
            TlsError::NotYetValid => "the certificate is not valid yet",
            TlsError::WrongHost => "the certificate is for another host",
            TlsError::UnknownIssuer => "the certificate's issuer is not trusted",
            TlsError::SelfSigned => "the certificate is self-signed",
            TlsError::BadCertificate => "the certificate is not to be trusted",
            TlsError::Alert(code) => {
                return write!(f, "the peer refused with alert {code} ({:?})", AlertDescription::from(*code));
            }
            TlsError::Eof => "the peer closed the connection in the TLS handshake",
            TlsError::NotTls => "the peer does not speak TLS on this port",
            TlsError::NoProtocol => "the peer does not carry what was asked for",
            TlsError::Incompatible => "the peer has no version or cipher of TLS in common with us",
            TlsError::Misbehaved => "the peer breaks the rules of TLS",
            TlsError::BadServerName => "the server's name is neither a DNS name nor an IP address",
            TlsError::Other => "TLS failed",
        })
    }
}

impl std::error::Error for TlsError {}
