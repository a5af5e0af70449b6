//! The target's own metrics, as users point at them.

use crew::Scrape;
use crew::http::Source;
use url::Url;

use crate::exit::Failure;
use crate::secrets::{self, given};

/// An `http://` URL.
pub(crate) fn source(text: &str) -> Result<Source, String> {
    let expected = || "expected an address of metrics such as http://127.0.0.1:9100/metrics".to_owned();
    let url =
        Url::parse(&given::url(text)?).ok().filter(|url| url.scheme() == "http").ok_or_else(expected)?;
    let (host, port) = url.host_str().zip(url.port_or_known_default()).ok_or_else(expected)?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok(Source { host, port, path: format!("{}{query}", url.path()) })
}

/// Begins to read them.
pub(crate) fn start(source: &Source, only: &[String]) -> Result<Scrape, Failure> {
    let Source { host, port, path } = source;
    let what = format!("read the metrics at {host}:{port}{} (--scrape)", secrets::place(path));
    Scrape::start(source.clone(), only.to_vec()).map_err(|why| Failure::could_not("scrape", what, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_url() {
        let source = source("http://[::1]:9100/metrics?all=1").unwrap();
        assert_eq!(source, Source { host: "::1".into(), port: 9100, path: "/metrics?all=1".into() });
    }
}
