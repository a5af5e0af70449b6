//! The flags by which a server lets clients in.

use std::path::{Path, PathBuf};

use clap::Args;
use secret::Secret;

use crate::output::quoted;
use crate::secrets::given;

/// The ways of logging in, for clients that a server does not let in.
pub(crate) const WAYS_TO_LOG_IN: [&str; 3] = [
    "a cookie or a header: -H 'Cookie: …' or -H 'Authorization: Bearer …'",
    "a token: --token env:JWT; plain WebSockets: --token-in query:NAME, too",
    "[[login]] in an app file, which throng record URL writes from a session",
];

/// The ways to log in, in a sentence.
pub(crate) fn log_in() -> String {
    let [header, token, login] = WAYS_TO_LOG_IN;
    format!("log in with {header}; {token}; or {login}")
}

/// Returns whether a server says that it does not know the client, or what the client may do.
pub(crate) fn is_refusal(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    // The last is what handlers of sessions say in their own words.
    let words = ["unauthorized", "unauthenticated", "forbidden", "not authorized", "not logged in"];
    words.iter().any(|word| said.contains(word))
}

/// Returns the same of what ends the first moments of a connection: then, frameworks such as FastAPI close it by the
/// code of a broken policy (RFC 6455 §7.4.1), which later is also for clients that are slow.
pub(crate) fn is_refusal_at_once(said: &str) -> bool {
    is_refusal(said) || said.contains("with code 1008")
}

/// The flags of a command that trusts the same certificates, each after a space.
pub(crate) fn trust_flags(ca: Option<&Path>, insecure: bool) -> String {
    match ca {
        Some(ca) => format!(" --ca {}", quoted(&ca.display().to_string())),
        None if insecure => " --insecure".to_owned(),
        None => String::new(),
    }
}

/// Origin, headers and certificates.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connections")]
pub(crate) struct AccessArgs {
    /// The Origin header
    #[arg(short, long, value_name = "URL")]
    pub(crate) origin: Option<String>,
    /// An additional header; its value may be env:NAME or file:PATH, as in 'Authorization: Bearer env:JWT'
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = given::header)]
    pub(crate) headers: Vec<(String, Secret)>,
    /// Trust the authorities in this PEM file, not the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// The clients' certificate: a PEM file with its chain
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Its private key: a PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,
}

impl AccessArgs {
    /// The flags of a command that is let in as these do, except headers: each after a space.
    pub(crate) fn flags(&self) -> String {
        let path = |path: &PathBuf| path.display().to_string();
        let [cert, key] = [&self.cert, &self.key].map(|file| file.as_ref().map(path));
        let given = [("--origin", self.origin.clone()), ("--cert", cert), ("--key", key)];
        let given =
            given.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", quoted(&value?))));
        given.collect::<String>() + &trust_flags(self.ca.as_deref(), self.insecure)
    }
}
