//! Redirects: where a `Location` leads a client that has a connection to one server (RFC 9110 §10.2.2).

use url::Url;

/// Path and query that a location leads to from `asked`, at the server of this scheme and `Host`; `None`: it
/// leads elsewhere.
pub(crate) fn target(
    location: &str,
    scheme: &str,
    host: &str,
    asked: impl FnOnce() -> String,
) -> Option<String> {
    let asked = Url::parse(&format!("{scheme}://{host}{}", asked())).ok()?;
    let led = asked.join(location).ok()?;
    let query = led.query().map(|query| format!("?{query}")).unwrap_or_default();
    // An app behind a proxy that speaks TLS for it may not know of that.
    let is_untold = scheme == "https" && led.scheme() == "http" && led.host() == asked.host();
    let is_here =
        led.origin() == asked.origin() || is_untold && led.port().is_none() && asked.port().is_none();
    // One of a `Url` is encoded: nothing in it may end our request line.
    is_here.then(|| format!("{}{query}", led.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_lead_on_at_their_server_alone() {
        let led = |location| target(location, "http", "example.com", || "/a/b?c=d".to_owned());
        for (location, expected) in [
            ("/x?y=1#z", "/x?y=1"),
            ("x", "/a/x"),
            ("../x", "/x"),
            ("../../../x", "/x"),
            ("?y", "/a/b?y"),
            ("http://example.com", "/"),
            ("http://Example.COM:80/x", "/x"),
            ("HTTP://example.com?y", "/?y"),
            ("//example.com/x", "/x"),
            ("/x y\r\nz", "/x%20yz"),
        ] {
            assert_eq!(led(location).as_deref(), Some(expected), "{location}");
        }
        let secure = |location| target(location, "https", "example.com", || "/".to_owned());
        assert_eq!(secure("http://example.com/x").as_deref(), Some("/x"), "written behind a proxy");
        assert_eq!(secure("http://example.com:8080/x"), None);
        let elsewhere =
            ["https://example.com/x", "http://example.com:81/", "//other/", "http://", "mailto:x"];
        for location in elsewhere {
            assert_eq!(led(location), None, "{location}");
        }
    }
}
