//! Secrets as they are given: as they are, or by `env:NAME` and `file:PATH`, so that the list of processes
//! shows none.

use std::env::{self, VarError};
use std::path::Path;

use net::files;
use secret::{Reference, Secret};

/// The most that is read of a file: a token of that size fits into no header.
const SECRET_BYTES_MAX: u64 = 64 << 10;
/// The folder in which the paths of flags begin.
const HERE: &str = "";

/// The value of a flag.
pub(crate) fn value(text: &str) -> Result<Secret, String> {
    value_in(HERE.as_ref(), text)
}

/// The value of a key in a file, whose paths begin in the file's folder.
pub(crate) fn value_in(folder: &Path, text: &str) -> Result<Secret, String> {
    let Some(reference) = Reference::of(text) else { return Ok(text.into()) };
    read(folder, reference).map(known)
}

/// A URL: the whole of it may be somewhere else.
pub(crate) fn url(text: &str) -> Result<String, String> {
    let Some(reference) = Reference::of(text) else { return Ok(text.to_owned()) };
    let url = read(HERE.as_ref(), reference)?;
    super::know(super::in_command([url.clone()]));
    Ok(url)
}

/// A server for WebSockets: `host:port/path` means `ws://`.
pub(crate) fn websocket_url(text: &str) -> Result<String, String> {
    url(text).map(|url| with_scheme(&url, "ws"))
}

/// A server for requests: `host:port/path` means `http://`.
pub(crate) fn http_url(text: &str) -> Result<String, String> {
    url(text).map(|url| with_scheme(&url, "http"))
}

/// A URL as users write it: without a scheme, it has this one.
fn with_scheme(text: &str, scheme: &str) -> String {
    // Its query may have a whole URL in it.
    let is_scheme = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let has_scheme = text.split_once("://").is_some_and(|(before, _)| is_scheme(before));
    if has_scheme { text.to_owned() } else { format!("{scheme}://{text}") }
}

/// A URL that only one end may see, such as NATS': it may contain credentials.
pub(crate) fn whole_url(text: &str) -> Result<Secret, String> {
    url(text).map(Secret::from)
}

/// `Name: value`; what lets a client in may be somewhere else, after its scheme.
pub(crate) fn header(text: &str) -> Result<(String, Secret), String> {
    let (name, value) = text.split_once(':').ok_or("expected 'Name: value'")?;
    let (name, value) = (name.trim(), value.trim());
    Ok((name.to_owned(), header_in(HERE.as_ref(), name, value)?))
}

/// The value of a header in a file, whose paths begin in its folder.
pub(crate) fn header_in(folder: &Path, name: &str, value: &str) -> Result<Secret, String> {
    match Reference::of_header(value).filter(|_| secret::is_secret(name)) {
        None => Ok(value.into()),
        Some((scheme, reference)) => {
            let credentials = read(folder, reference)?;
            super::know([Secret::from(credentials.as_str())]);
            Ok(known(format!("{scheme}{credentials}")))
        }
    }
}

/// Returns whether a flag's value is somewhere else, which is for the user alone to say.
pub(crate) fn is_reference(value: &str) -> bool {
    Reference::of(value).or_else(|| Reference::of_header(value).map(|(_, reference)| reference)).is_some()
}

fn known(text: String) -> Secret {
    let secret = Secret::from(text);
    super::know([secret.clone()]);
    secret
}

fn read(folder: &Path, reference: Reference<'_>) -> Result<String, String> {
    let text = match reference {
        Reference::Env(name) => env::var(name).map_err(|error| match error {
            VarError::NotPresent => format!("the environment has no {name}"),
            VarError::NotUnicode(_) => format!("{name} in the environment is not text"),
        })?,
        Reference::File(path) => {
            let path = folder.join(path);
            let cannot = |error| format!("could not read {}: {error}", path.display());
            files::read_text(&path, SECRET_BYTES_MAX).map_err(cannot)?
        }
    };
    // Editors and `echo` end a file with a line break, which is no part of it.
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err("there is nothing in it".to_owned()),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_may_be_left_out() {
        assert_eq!(websocket_url("localhost:3000/ws").as_deref(), Ok("ws://localhost:3000/ws"));
        assert_eq!(http_url("[::1]:80").as_deref(), Ok("http://[::1]:80"));
        assert_eq!(http_url("a/ws?to=http://b").as_deref(), Ok("http://a/ws?to=http://b"));
        assert_eq!(http_url("https://a/ws").as_deref(), Ok("https://a/ws"));
    }

    #[test]
    fn secrets_in_the_environment_and_in_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "open sesame\n").unwrap();
        let reference = format!("file:{}", file.path().display());
        assert_eq!(value(&reference).unwrap().reveal(), "open sesame");
        assert_eq!(value("as it is").unwrap().reveal(), "as it is");
        let (name, of_header) = header(&format!("Authorization: Bearer {reference}")).unwrap();
        assert_eq!((name.as_str(), of_header.reveal()), ("Authorization", "Bearer open sesame"));
        assert_eq!(header("X-Place: env:prod").unwrap().1.reveal(), "env:prod");
        assert!(value("env:THRONG_NO_SUCH_VARIABLE").unwrap_err().contains("no THRONG_NO_SUCH_VARIABLE"));
        assert!(value("file:/no/such/file").unwrap_err().starts_with("could not read /no/such/file"));
        assert!(header("Authorization").is_err());
        std::fs::write(file.path(), "\n").unwrap();
        assert!(value(&reference).is_err());
        assert_eq!(crate::secrets::scrub("no open sesame here"), "no *** here");
    }
}
