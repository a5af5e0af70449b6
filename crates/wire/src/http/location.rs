//! Redirects: where a `Location` leads a client that has a connection to one server (RFC 9110 §10.2.2).

/// Path and query that a location leads to from `asked`, at the server with this `Host`; `None`: it leads elsewhere.
pub(crate) fn target(location: &str, host: &str, asked: impl FnOnce() -> String) -> Option<String> {
    let location = location.split('#').next().unwrap_or_default();
    let here = location.strip_prefix("http://").or_else(|| location.strip_prefix("https://"));
    let target = match here.or_else(|| location.strip_prefix("//")) {
        Some(place) => {
            let target = place.strip_prefix(host)?;
            if target.is_empty() { "/".to_owned() } else { target.to_owned() }
        }
        None if location.starts_with('/') => location.to_owned(),
        None => {
            let asked = asked();
            let path = asked.split('?').next().unwrap_or_default();
            if location.starts_with('?') {
                format!("{path}{location}")
            } else {
                format!("{}{location}", &path[..path.rfind('/').map_or(0, |slash| slash + 1)])
            }
        }
    };
    // A server's words go into our request line: nothing in them may end it.
    (target.starts_with('/') && target.bytes().all(|b| b.is_ascii_graphic())).then_some(target)
}
