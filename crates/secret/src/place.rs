//! Secrets in URLs: user and password (RFC 3986 §3.2.1), and values of the query and the fragment.

use crate::names::is_secret;
use crate::secret::Secret;

/// The place of a secret, when it is not on the command line itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// `env:NAME`: in that variable of the environment.
    Env(&'a str),
    /// `file:PATH`: in that file.
    File(&'a str),
}

impl<'a> Reference<'a> {
    /// Reads `env:NAME` or `file:PATH`; `None`: the text stands for itself.
    pub fn of(text: &'a str) -> Option<Self> {
        let env = text.strip_prefix("env:").map(Self::Env);
        env.or_else(|| text.strip_prefix("file:").map(Self::File))
    }

    /// The same of a header's value, which may have a scheme before it, as in `Bearer env:NAME`: that, and
    /// the reference.
    pub fn of_header(value: &'a str) -> Option<(&'a str, Self)> {
        let last = value.rfind(' ').map_or(0, |space| space + 1);
        Some((&value[..last], Self::of(&value[last..])?))
    }
}

/// The signs that start the first pair, and that end each.
const BETWEEN: [char; 3] = ['?', '#', '&'];

/// The values of a path's query that are secrets, as they stand there.
pub fn in_place(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut keep = |secret: &str| {
        found.push(Secret::from(secret));
        String::new()
    };
    hide_in_place(text, &mut keep);
    found
}

/// A URL, with its scheme or without, or several with commas between, as NATS takes them; or a path.
pub(crate) fn hide_in_url(text: &str, hide: &mut dyn FnMut(&str) -> String) -> String {
    if Reference::of(text).is_some() {
        return text.to_owned();
    }
    let mut urls: Vec<String> = Vec::new();
    for piece in text.split(',') {
        match urls.last_mut() {
            // A comma within a URL.
            Some(before) if !piece.contains("://") => *before += &format!(",{piece}"),
            _ => urls.push(piece.to_owned()),
        }
    }
    let shown: Vec<String> = urls.iter().map(|url| hide_in_one(url, hide)).collect();
    shown.join(",")
}

fn hide_in_one(text: &str, hide: &mut dyn FnMut(&str) -> String) -> String {
    match text.split_once("://") {
        // What stands before it may be the scheme, or a URL without one whose query has another URL in it.
        Some((before, rest)) => {
            format!(
                "{}://{}",
                hide_behind_scheme(before, hide, is_user),
                hide_behind_scheme(rest, hide, |_, _, _| true)
            )
        }
        None => hide_behind_scheme(text, hide, is_user),
    }
}

/// The part of a URL after its scheme; `is_user` judges what stands before the @ by itself and the host.
fn hide_behind_scheme(
    text: &str,
    hide: &mut dyn FnMut(&str) -> String,
    is_user: fn(&str, &str, &str) -> bool,
) -> String {
    let (authority, place) = text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
    // From the end: a password may have an @ in it that nobody has encoded.
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) if is_user(user, host, place) => (hide(user) + "@", host),
        _ => (String::new(), authority),
    };
    format!("{user}{host}{}", hide_in_place(place, hide))
}

/// Returns whether a word without a scheme is a URL with a user: neither a text, nor an address of mail, a
/// fault or a version. What has no password is one only before what looks like a host, and has more behind
/// it.
fn is_user(user: &str, host: &str, place: &str) -> bool {
    let is_text =
        |part: &str| part.is_empty() || part.contains(|c: char| c.is_whitespace() || "\"'`=".contains(c));
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| is_number(port));
    let is_host = has_port || host.contains('.') && !place.is_empty();
    !is_text(user) && !is_text(host) && (user.contains(':') || is_host)
}

/// A path with what follows it.
pub(crate) fn hide_in_place(text: &str, hide: &mut dyn FnMut(&str) -> String) -> String {
    let (path, rest) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    // With their signs, so that what is shown differs from the URL in nothing else.
    rest.split_inclusive(BETWEEN).fold(path.to_owned(), |shown, piece| {
        let pair = piece.trim_end_matches(BETWEEN);
        match pair.split_once('=') {
            // Nothing is no secret, and mistakes such as ?token= should show.
            Some((name, value)) if is_secret(name) && !value.is_empty() => {
                shown + name + "=" + &hide(value) + &piece[pair.len()..]
            }
            _ => shown + piece,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_keeps_what_is_no_secret() {
        for (given, shown) in [
            ("ws://me:p@ss@host:9000/ws?room=1", "ws://***@host:9000/ws?room=1"),
            ("wss://host/cable?jid=ey.J&vsn=2.0.0", "wss://host/cable?jid=***&vsn=2.0.0"),
            (
                "wss://host?access_token=1&KEY=2&sig=3&x_key=4",
                "wss://host?access_token=***&KEY=***&sig=***&x_key=***",
            ),
            ("wss://host/#access_token=1&a=2", "wss://host/#access_token=***&a=2"),
            ("ws://host/a@b?monkey=1&author=2&flag&token=", "ws://host/a@b?monkey=1&author=2&flag&token="),
            ("nats://a:b@h:1,nats://c:d@h:2", "nats://***@h:1,nats://***@h:2"),
            ("ws://h/?token=a,b", "ws://h/?token=***"),
            ("ws://127.0.0.1:9000/", "ws://127.0.0.1:9000/"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:80/#top", "[::1]:80/#top"),
            ("file:///a://b:c@d", "file:///a://b:c@d"),
        ] {
            assert_eq!(hide_in_url(given, &mut |_| "***".into()), shown);
        }
        assert_eq!(in_place("/ws?token=a%20b&room=1"), [Secret::from("a%20b")]);
    }

    #[test]
    fn urls_without_scheme_hide_their_secrets() {
        for (given, shown) in [
            ("me:p@ss@127.0.0.1:9000/ws?token=T&room=1", "***@127.0.0.1:9000/ws?token=***&room=1"),
            ("token@example.com/ws", "***@example.com/ws"),
            ("room@hall/1", "room@hall/1"),
            ("{person.n}:pw@host", "***@host"),
            ("host:80?jid=a,b", "host:80?jid=***"),
            ("/say?api_key=K", "/say?api_key=***"),
            ("me:pw@h/?next=http://x/?sig=1", "***@h/?next=http://x/?sig=***"),
            ("nats://a:b@h:1,c:d@h:2", "nats://***@h:2"),
            ("me@example.com", "me@example.com"),
            ("@2", "@2"),
            ("{\"say\":\"a:b@c\"}", "{\"say\":\"a:b@c\"}"),
            ("mail me: a@b", "mail me: a@b"),
        ] {
            assert_eq!(hide_in_url(given, &mut |_| "***".into()), shown);
        }
    }

    #[test]
    fn a_reference_says_where_the_secret_is() {
        assert_eq!(Reference::of("env:TOKEN"), Some(Reference::Env("TOKEN")));
        assert_eq!(Reference::of("file:/run/secrets/jwt"), Some(Reference::File("/run/secrets/jwt")));
        assert_eq!(Reference::of("eyJhbGciOi"), None);
        assert_eq!(Reference::of_header("Bearer env:A"), Some(("Bearer ", Reference::Env("A"))));
        assert_eq!(Reference::of_header("env:A"), Some(("", Reference::Env("A"))));
        assert_eq!(Reference::of_header("Bearer abc"), None);
    }
}
