//! Signs of credentials: names under which they are typed, and messages that log in, whatever the names.

use crate::json::{self, Leaf};

/// Names of messages that log in, written without what stands between their words.
const LOGINS: [&str; 11] = [
    "login",
    "logon",
    "signin",
    "signup",
    "authenticat",
    "authoriz",
    "authoris",
    "credential",
    "password",
    "passcode",
    "identify",
];
/// Words that name such a message by themselves.
const LOGIN_WORDS: [&str; 4] = ["auth", "pass", "otp", "register"];
/// The word of a login that chats have for something else: they pin messages.
const PIN: &str = "pin";
/// Commands that are logins with a few arguments, and talk with more: `pass me the salt`.
const BRIEF_COMMANDS: [&str; 2] = ["pass", PIN];
const BRIEF_ARGUMENTS_MAX: usize = 2;
/// Members of such messages, and of options that are credentials, that are the app's, whoever logs in.
const CONSTANT: [&str; 30] = [
    "id",
    "ref",
    "msg",
    "jsonrpc",
    "version",
    "protocol",
    "grant_type",
    "client_id",
    "scope",
    "realm",
    "type",
    "scheme",
    "algorithm",
    "platform",
    "os",
    "browser",
    "device",
    "lang",
    "language",
    "locale",
    "timezone",
    "format",
    "compress",
    "accept-version",
    "heart-beat",
    "host",
    "content-type",
    "receipt",
    "remember",
    "token_type",
];
/// Ends of names under which something secret is typed.
const TYPED_ENDS: [&str; 8] =
    ["password", "passwd", "pwd", "passphrase", "passcode", "client_secret", "secret", "otp"];
/// Names of the same that are ends of other words.
const TYPED_WORDS: [&str; 5] = ["pin", "pincode", "pass", "pw", "cvv"];
/// Parts of names of secrets, whatever their values look like.
const TOKENS: [&str; 6] = ["token", "secret", "jwt", "credential", "apikey", "authorization"];

/// The key of a value without a name that lets a user in.
pub(crate) const TOKEN: &str = "token";
/// Subprotocols behind which pages offer a token, for want of headers.
const BEARERS: [&str; 4] = ["bearer", "token", "auth", "jwt"];
/// A subprotocol is a token from this length on: registered ones have 36 characters at most.
const SUBPROTOCOL_BYTES_MAX: usize = 40;
/// A value is told from a word by its length.
const RANDOM_BYTES_MIN: usize = 8;
/// Letters of both cases are random from this length on: a name that is taken for one is found in the page
/// just as well.
const BASE64_BYTES_MIN: usize = 16;
/// Digits behind a word, as versions have them, and digits by themselves, as years do.
const VERSION_DIGITS_MAX: usize = 2;
const YEAR_DIGITS_MAX: usize = 4;
/// Capital letters are at most this part of words: every other letter of a random text is one.
const CAPITALS: usize = 4;

/// Returns whether a subprotocol is a token, given the one offered before it.
pub(crate) fn is_token_behind(before: &str, subprotocol: &str) -> bool {
    let before = before.to_lowercase();
    BEARERS.iter().any(|bearer| before.contains(bearer)) || subprotocol.len() > SUBPROTOCOL_BYTES_MAX
}

/// Returns whether a value is random, as tokens and identifiers are, and no word.
pub(crate) fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    // A path has digits, too, and is the page's own.
    let is_path = value.starts_with('/') || value.contains("://");
    let is_one = !value.contains(|c: char| c.is_whitespace()) && !is_path;
    let has_both_cases = value.contains(char::is_uppercase) && value.contains(char::is_lowercase);
    // One text in fifteen of twelve random bytes in Base64 has no digit.
    let is_mixed = digits > 0 && digits < value.len() || has_both_cases && value.len() >= BASE64_BYTES_MIN;
    is_one && value.len() >= RANDOM_BYTES_MIN && (is_mixed || value.len() >= 24)
}

/// Returns whether a segment of a path or a subprotocol is random, and not made of words and versions as
/// `v12.stomp` and `NotificationHubEndpoint` are.
pub(crate) fn is_opaque(text: &str) -> bool {
    let capitals = text.bytes().filter(u8::is_ascii_uppercase).count();
    let is_cased = capitals * CAPITALS <= text.len() || !text.contains(char::is_lowercase);
    let is_word = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits_max = if word.is_empty() { YEAR_DIGITS_MAX } else { VERSION_DIGITS_MAX };
        part.len() - word.len() <= digits_max && word.chars().all(char::is_alphabetic)
    };
    is_random(text) && !(is_cased && text.split(['.', '-', '_', '+']).all(is_word))
}

/// Returns whether what stands under a key is typed and secret, however short or plain it is.
pub(crate) fn is_typed_secret(key: &str) -> bool {
    let lower = key.to_lowercase();
    let words = words(key);
    let is_word = |typed: &&str| lower == **typed || words.last().is_some_and(|last| last == *typed);
    TYPED_ENDS.iter().any(|end| lower.ends_with(end)) || TYPED_WORDS.iter().any(is_word)
}

/// Returns whether what stands under a key is a secret by the key alone. Others are secrets if they are random:
/// `session` and `key` name rooms as well.
pub(crate) fn is_token(key: &str) -> bool {
    let lower = key.to_lowercase().replace(['-', '_'], "");
    // `max_tokens` counts them.
    TOKENS.iter().any(|token| lower.contains(token)) && !lower.ends_with("tokens")
}

/// Returns whether messages of this name log in.
pub(crate) fn is_login(name: &str) -> bool {
    let joined: String = name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    LOGINS.iter().any(|login| joined.contains(login))
        || words(name).iter().any(|word| LOGIN_WORDS.contains(&word.as_str()))
}

/// Returns whether messages of this name log in if their values have no names, as a number alone.
pub(crate) fn is_pin(name: &str) -> bool {
    words(name).iter().any(|word| word == PIN)
}

/// Returns whether a member of a message that logs in is the user's.
pub(crate) fn is_of_login(key: &str) -> bool {
    !CONSTANT.contains(&key.to_lowercase().as_str())
}

/// The words of a name: `userPin`, `user-pin` and `USER_PIN` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || was_lower && letter.is_ascii_uppercase() {
            words.push(String::new());
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if letter.is_ascii_alphanumeric() {
            words.last_mut().expect("there is one").push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The key of a value by its place among the values without names: a name and a password, or a token.
pub(crate) fn key_of_argument<'a>(leaf: &Leaf, leaves: impl Iterator<Item = &'a Leaf>) -> &'static str {
    let arguments: Vec<&Leaf> = leaves.filter(|other| is_argument(other)).collect();
    match (arguments.iter().position(|other| other.pointer == leaf.pointer), arguments.len()) {
        (_, 1) => TOKEN,
        (Some(0), _) => "name",
        (Some(1), _) => "password",
        _ => "value",
    }
}

/// Returns whether a value stands in a list: its place is all that tells it from others.
pub(crate) fn is_argument(leaf: &Leaf) -> bool {
    leaf.pointer.rsplit('/').next().is_some_and(|last| last.parse::<usize>().is_ok())
}

/// The first word of a text that is no JSON, and the place behind it; `None` unless it logs in.
pub(crate) fn login_command(text: &str) -> Option<(&str, usize)> {
    let start = text.find(|c: char| c.is_ascii_alphanumeric())?;
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c));
    let end = text[start..].find(is_end).map_or(text.len(), |end| start + end);
    let word = &text[start..end];
    let line = text[end..].lines().next().unwrap_or_default();
    // JSON has its names, however many words.
    let is_brief = line.contains(['{', '[']) || line.split_whitespace().count() <= BRIEF_ARGUMENTS_MAX;
    let is_login = match BRIEF_COMMANDS.contains(&word.to_ascii_lowercase().as_str()) {
        true => is_brief,
        false => is_login(word),
    };
    is_login.then_some((word, end))
}

/// The arguments of a text that logs in: values without names, as in `AUTH name password`, or JSON.
pub(crate) fn arguments(text: &str) -> Vec<Leaf> {
    let Some((_, start)) = login_command(text) else { return Vec::new() };
    let object = text[start..].find(['{', '[']).map(|at| start + at);
    if let Some((at, mut leaves)) = object.and_then(|at| Some((at, json::leaves(&text[at..])?))) {
        for leaf in &mut leaves {
            leaf.range = leaf.range.start + at..leaf.range.end + at;
        }
        return leaves;
    }
    let is_between = |c: char| c.is_whitespace() || ",;:|".contains(c);
    let place = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
    // The first word of each line is a command: `PASS`, `NICK`.
    let is_argument = |part: &&str| !part.is_empty() && !text[..place(part)].ends_with('\n');
    let parts = text[start..].split(is_between).filter(is_argument);
    let leaf = |(at, part): (usize, &str)| Leaf {
        pointer: format!("/{at}"),
        key: String::new(),
        range: place(part)..place(part) + part.len(),
        is_text: true,
        value: part.to_owned(),
    };
    parts.enumerate().map(leaf).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_logins_and_others() {
        for name in ["login", "userLogin", "sign_in", "AUTH", "doAuth", "authenticate", "PASS", "/auth"] {
            assert!(is_login(name), "{name}");
        }
        for name in ["author", "say", "passed", "pin", "message", "authored by", "spin"] {
            assert!(!is_login(name), "{name}");
        }
        assert!(is_pin("enterPin") && !is_pin("pinned") && !is_pin("spin"));
        for text in
            ["pass hunter2", "PASS ada hunter2", "pin 4711", "auth all of these", "pass {\"a\": \"b c\"}"]
        {
            assert!(login_command(text).is_some(), "{text}");
        }
        for text in ["pass me the salt", "pin it to the wall", "passed by"] {
            assert!(login_command(text).is_none(), "{text}");
        }
    }

    #[test]
    fn keys_of_typed_secrets_and_others() {
        for key in ["passcode", "PIN", "userPin", "card_pin", "pass", "newPassword", "otp"] {
            assert!(is_typed_secret(key), "{key}");
        }
        for key in ["spin", "compass", "pins", "passed", "name"] {
            assert!(!is_typed_secret(key), "{key}");
        }
        assert!(is_token("access_token") && is_token("X-Api-Key") && !is_token("max_tokens"));
    }
}
