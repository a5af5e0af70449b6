//! How connections are secured, to whichever server: `--ca`, `--cert`, `--key`, `--insecure`.

use std::path::Path;

use load::{TlsIdentity, TlsPlan};
use net::tls::PEM_BYTES_MAX;
use secret::Secret;

use crate::exit::Failure;
use crate::flags::args::RunArgs;

/// The flags of TLS.
pub(crate) struct Security {
    authorities: Option<String>,
    identity: Option<TlsIdentity>,
    insecure: bool,
    resumes: bool,
}

impl Security {
    /// Reads the files that the flags name.
    pub(crate) fn of(args: &RunArgs) -> Result<Security, Failure> {
        let identity = args.access.cert.as_deref().zip(args.access.key.as_deref());
        Ok(Security {
            authorities: args.access.ca.as_deref().map(authorities).transpose()?,
            identity: identity.map(|(cert, key)| identity_in(cert, key)).transpose()?,
            insecure: args.access.insecure,
            resumes: !args.no_tls_resumption,
        })
    }

    /// Connections to a server of this name.
    pub(crate) fn to(&self, name: &str) -> TlsPlan {
        TlsPlan {
            server_name: name.to_owned(),
            authorities: self.authorities.clone(),
            insecure: self.insecure,
            identity: self.identity.clone(),
            resumes: self.resumes,
        }
    }
}

/// The text of a PEM file: it goes to the process that connects.
pub(crate) fn authorities(ca: &Path) -> Result<String, Failure> {
    let cannot = |error: std::io::Error| Failure::usage("--ca", format!("{}: {error}", ca.display()));
    let text = net::files::read_text(ca, PEM_BYTES_MAX).map_err(cannot)?;
    net::tls::check_authorities(&text).map_err(cannot)?;
    Ok(text)
}

fn identity_in(cert: &Path, key: &Path) -> Result<TlsIdentity, Failure> {
    let cannot = |flag: &'static str, path: &Path, error: std::io::Error| {
        Failure::usage(flag, format!("{}: {error}", path.display()))
    };
    let read = |path: &Path| net::files::read_text(path, PEM_BYTES_MAX);
    let chain = read(cert).map_err(|error| cannot("--cert", cert, error))?;
    let unusable = |error| cannot("--key", key, error);
    let key = Secret::from(read(key).map_err(unusable)?);
    // By itself first, so that what is left is the certificate's fault, or that the two do not belong
    // together.
    net::tls::check_key(&key).map_err(unusable)?;
    net::tls::check_identity(&chain, &key).map_err(|error| cannot("--cert", cert, error))?;
    Ok(TlsIdentity { chain, key })
}
