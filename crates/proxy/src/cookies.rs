//! Cookies of a server with TLS for a browser that comes without, and back.

/// Prefixes of names that browsers take over TLS alone (RFC 6265bis §4.1.3).
const PREFIXES: [&str; 2] = ["__Host-", "__Secure-"];
/// Text before such a name while the browser has it.
const MARK: &str = "throng";

/// A `Set-Cookie` that the browser takes from the proxy: of no domain but the proxy's, and without TLS.
pub(crate) fn set_cookie(value: &str) -> String {
    let mut parts = value.split(';');
    let pair = parts.next().unwrap_or_default().trim();
    let is_prefixed = PREFIXES.iter().any(|prefix| pair.starts_with(prefix));
    let mut out = if is_prefixed { format!("{MARK}{pair}") } else { pair.to_owned() };
    for part in parts.map(str::trim) {
        let (name, setting) = part.split_once('=').unwrap_or((part, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "domain" | "secure" | "partitioned" => {}
            // `None` needs TLS (RFC 6265bis §5.6).
            "samesite" if setting.trim().eq_ignore_ascii_case("none") => out += "; SameSite=Lax",
            _ => out = format!("{out}; {part}"),
        }
    }
    out
}

/// A `Cookie` of the browser as the server gave them.
pub(crate) fn cookie(value: &str) -> String {
    let own = |pair: &str| match pair.strip_prefix(MARK) {
        Some(rest) if PREFIXES.iter().any(|prefix| rest.starts_with(prefix)) => rest.to_owned(),
        _ => pair.to_owned(),
    };
    value.split(';').map(|pair| own(pair.trim())).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_lose_what_needs_tls() {
        for (given, expected) in [
            ("a=b; Path=/; HttpOnly", "a=b; Path=/; HttpOnly"),
            ("a=b; Domain=app.test; Secure; SameSite=None; Partitioned", "a=b; SameSite=Lax"),
            ("a=b; secure; samesite=Strict", "a=b; samesite=Strict"),
            ("__Host-s=x=y; Path=/; Secure", "throng__Host-s=x=y; Path=/"),
            ("a=\"b\"", "a=\"b\""),
            ("", ""),
        ] {
            assert_eq!(set_cookie(given), expected);
        }
    }

    #[test]
    fn names_come_back_as_they_were() {
        assert_eq!(cookie("throng__Host-s=x=y; a=b;throngs=1"), "__Host-s=x=y; a=b; throngs=1");
        let sent = set_cookie("__Secure-id=7; Secure");
        assert_eq!(cookie(&sent), "__Secure-id=7");
    }
}
