//! Names of secrets.

/// A name is a secret's if one of these is in it …
const PARTS: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "jwt",
    "signature",
    "credential",
    "authorization",
    "cookie",
    "session",
    "apikey",
];
/// … or if one of these is the whole, or its last word.
const WORDS: [&str; 11] = ["key", "sig", "auth", "jid", "sid", "pass", "pwd", "pw", "hmac", "otp", "ticket"];

/// Returns whether a header, a parameter or a variable of this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    PARTS.iter().any(|part| name.contains(part)) || WORDS.contains(&last)
}

/// Returns whether a text, such as a JSON object, has the name of a secret in it.
pub(crate) fn is_secret_in(text: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).any(is_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_and_others() {
        for name in [
            "Authorization",
            "X-Api-Key",
            "access_token",
            "KEY",
            "Set-Cookie",
            "AWS_SECRET_ACCESS_KEY",
            "ticket",
            "X-Passphrase",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["room", "monkey", "author", "Accept", "PATH", "keyboard"] {
            assert!(!is_secret(name), "{name}");
        }
        assert!(is_secret_in(r#"{"api_key":1}"#) && !is_secret_in(r#"{"room":1}"#));
    }
}
