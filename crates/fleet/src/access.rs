//! NATS's address and our login.
//!
//! Rules. User and password, or a token, may stand in the URL; the client library would leave them there
//! unread, so they are taken out before it sees the URL. What they are appears in no message: neither a URL
//! nor a file is quoted, only named.

use std::fmt;
use std::path::{Path, PathBuf};

use async_nats::ConnectOptions;
use percent_encoding::percent_decode_str;
use secret::Secret;
use url::Url;

/// The port of a URL that names none.
const PORT: u16 = 4222;
/// Bytes of a credentials file, or of a key, that are read: a hundred times those of one.
const CREDENTIALS_BYTES_MAX: u64 = 64 << 10;
/// The form that an error asks for.
const EXPECTED: &str =
    "expected nats://HOST:4222, nats://USER:PASSWORD@HOST:4222, nats://TOKEN@HOST:4222 or tls://…";

/// NATS's address and login.
#[derive(Clone, Default)]
pub struct Nats {
    /// `nats://host:port`, or `tls://…`; user and password or a token may stand in it.
    pub url: Secret,
    /// A credentials file, as `nsc` writes it.
    pub creds: Option<PathBuf>,
    /// A file with an nkey's seed, as `nk` writes it.
    pub nkey: Option<PathBuf>,
    /// Trust the authorities in this PEM file besides the system's.
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key, in PEM files.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Shows NATS without its secrets.
impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nats").field(&self.address()).finish()
    }
}

/// The login in the URL.
#[derive(PartialEq, Eq)]
enum Login {
    Nobody,
    Token(String),
    User(String, String),
}

impl Nats {
    /// The URL without secrets.
    pub(crate) fn address(&self) -> String {
        self.read().map_or_else(|_| "the NATS that was named".to_owned(), |(url, _)| url.to_string())
    }

    /// The host and port.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn host_and_port(&self) -> Result<(String, u16), String> {
        let (url, _) = self.read()?;
        Ok((url.host_str().unwrap_or_default().to_owned(), url.port().unwrap_or(PORT)))
    }

    /// Checks that the URL can be one of a NATS, and that the credentials can be read.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn check(&self) -> Result<(), String> {
        self.options().map(drop)
    }

    /// The URL to connect to, and the options; or an error for the user.
    pub(crate) fn options(&self) -> Result<(String, ConnectOptions), String> {
        let (url, login) = self.read()?;
        let ways = [login != Login::Nobody, self.creds.is_some(), self.nkey.is_some()];
        if ways.into_iter().filter(|&way| way).count() > 1 {
            return Err("one way to be let in is enough: the URL's, --creds or --nkey".to_owned());
        }
        // A server tells of others, and their URLs are without a scheme: what was asked for holds for those
        // as well.
        let mut options = ConnectOptions::new().require_tls(url.scheme() == "tls" || self.ca.is_some());
        options = match login {
            Login::Nobody => options,
            Login::Token(token) => options.token(token),
            Login::User(user, password) => options.user_and_password(user, password),
        };
        if let Some(path) = &self.creds {
            let bad = |_| format!("{}: not a credentials file", path.display());
            options = options.credentials(&text_of(path, CREDENTIALS_BYTES_MAX)?).map_err(bad)?;
        }
        if let Some(path) = &self.nkey {
            options = options.nkey(text_of(path, CREDENTIALS_BYTES_MAX)?.trim().to_owned());
        }
        // async-nats opens these by itself, and would wait for a pipe.
        let of_identity = self.identity.iter().flat_map(|(certificate, key)| [certificate, key]);
        for path in self.ca.iter().chain(of_identity) {
            text_of(path, net::tls::PEM_BYTES_MAX)?;
        }
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &self.identity {
            options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
        }
        Ok((url.to_string(), options))
    }

    /// The URL without the login, and the login.
    fn read(&self) -> Result<(Url, Login), String> {
        let mut url = Url::parse(self.url.reveal()).map_err(|_| EXPECTED.to_owned())?;
        if !matches!(url.scheme(), "nats" | "tls") || url.host_str().is_none_or(str::is_empty) {
            return Err(EXPECTED.to_owned());
        }
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let login = match (url.username(), url.password()) {
            ("", None) => Login::Nobody,
            (token, None) => Login::Token(decode(token)),
            (user, Some(password)) => Login::User(decode(user), decode(password)),
        };
        // Neither can fail: the URL has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Ok((url, login))
    }
}

fn text_of(path: &Path, bytes_max: u64) -> Result<String, String> {
    net::files::read_text(path, bytes_max).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> Nats {
        Nats { url: url.into(), ..Nats::default() }
    }

    #[test]
    fn credentials_are_taken_out_of_the_url() {
        let cases = [
            ("nats://bus:4222", "nats://bus:4222", Login::Nobody),
            ("nats://me:s3cret@bus:4222", "nats://bus:4222", Login::User("me".into(), "s3cret".into())),
            ("tls://me:s%40c@bus", "tls://bus", Login::User("me".into(), "s@c".into())),
            ("nats://t0ken@10.0.0.1", "nats://10.0.0.1", Login::Token("t0ken".into())),
            ("nats://:s3cret@bus", "nats://bus", Login::User(String::new(), "s3cret".into())),
        ];
        for (given, shown, login) in cases {
            let (url, found) = at(given).read().unwrap();
            assert_eq!(url.as_str(), shown, "{given}");
            assert!(found == login, "{given}");
            assert_eq!(format!("{:?}", at(given)), format!("Nats({shown:?})"));
        }
    }

    #[test]
    fn mistakes_are_refused_and_not_repeated() {
        for bad in
            ["me:s3cret@bus:4222", "s3cret@bus", "http://me:s3cret@bus", "nats://", "", "nats://s3cret@:1"]
        {
            let why = at(bad).options().expect_err(bad);
            assert!(!why.contains("s3cret") && !format!("{:?}", at(bad)).contains("s3cret"), "{bad}: {why}");
        }
        let both = Nats { creds: Some("/nowhere".into()), ..at("nats://t0ken@bus") };
        assert!(both.options().err().is_some_and(|why| why.contains("one way")));
    }
}
