//! JSON Web Tokens (RFC 7519) with an HMAC (RFC 7515, HS256).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use codec::json::{object, plain, string};
use ring::hmac;

/// Returns whether a token was signed with this key, and is valid at this second.
pub(super) fn is_valid(token: &str, key: &str, unix_s: u64) -> bool {
    judge(token, key, unix_s).is_some()
}

fn judge(token: &str, key: &str, unix_s: u64) -> Option<()> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (head, claims) = signed.split_once('.')?;
    // Another algorithm is another key: one that says `none` has none (RFC 8725 §3.1). What is critical has
    // to be understood (RFC 7515 §4.1.11), and no extension is.
    let [algorithm, critical] = members(&decode(head)?, ["alg", "crit"])?;
    let is_spoken = string(&algorithm).is_some_and(|name| *plain(name) == *b"HS256") && critical.is_empty();
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    hmac::verify(&key, signed.as_bytes(), &decode(signature)?).ok().filter(|()| is_spoken)?;
    let [expires, begins] = members(&decode(claims)?, ["exp", "nbf"])?;
    let expires = if expires.is_empty() { f64::INFINITY } else { second(&expires)? };
    let begins = if begins.is_empty() { f64::NEG_INFINITY } else { second(&begins)? };
    let now = unix_s as f64;
    (expires > now && begins <= now).then_some(())
}

/// The values of these members, whose names may be escaped; nothing for those that there are not.
fn members<const N: usize>(text: &[u8], names: [&str; N]) -> Option<[Vec<u8>; N]> {
    let mut values = [(); N].map(|()| Vec::new());
    object(text, |name, value| {
        if let Some(at) = names.iter().position(|known| *plain(name) == *known.as_bytes()) {
            values[at] = value.to_vec();
        }
    })?;
    Some(values)
}

/// The second in which a NumericDate is (RFC 7519 §2): any number of JSON's, before 1970 and beyond 2106 too.
fn second(claim: &[u8]) -> Option<f64> {
    std::str::from_utf8(claim).ok()?.parse::<f64>().ok().map(f64::floor)
}

fn decode(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The token of RFC 7515 appendix A.1, whose `exp` is 1300819380; its key is given there in base64url.
    const TOKEN: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const KEY: &str =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";

    fn signed(head: &str, claims: &str, key: &[u8]) -> String {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let text = format!("{}.{}", encode(head.as_bytes()), encode(claims.as_bytes()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes());
        format!("{text}.{}", encode(tag.as_ref()))
    }

    #[test]
    fn standard_example_is_valid_until_it_expires() {
        let key = decode(KEY).unwrap();
        let (signed, signature) = TOKEN.rsplit_once('.').unwrap();
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes());
        assert_eq!(decode(signature).unwrap(), tag.as_ref(), "the key is no text, so it is tried here");
    }

    #[test]
    fn forged_expired_or_early_tokens_are_invalid() {
        const HEAD: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
        for (head, claims, key, is_sound) in [
            (HEAD, r#"{"sub":"1","exp":101}"#, "k", true),
            (HEAD, r#"{"sub":"1"}"#, "k", true),
            (HEAD, r#"{"exp":100.9,"nbf":100}"#, "k", false),
            (HEAD, r#"{"exp":100}"#, "k", false),
            (HEAD, r#"{"exp":"soon"}"#, "k", false),
            (HEAD, r#"{"exp":null}"#, "k", false),
            (HEAD, r#"{"exp":8589934593,"nbf":-1}"#, "k", true),
            (HEAD, r#"{"exp":1e300,"nbf":-1.5e9}"#, "k", true),
            (HEAD, r#"{"exp":99999999999999999999999}"#, "k", true),
            (HEAD, r#"{"exp":-1}"#, "k", false),
            (HEAD, r#"{"nbf":1E2}"#, "k", true),
            (HEAD, r#"{"\u0065xp":100}"#, "k", false),
            (r#"{"\u0061lg":"HS\u0032\u0035\u0036"}"#, "{}", "k", true),
            (r#"{"alg":"HS256","crit":["exp"],"exp":1}"#, "{}", "k", false),
            (r#"{"alg":"HS256","cr\u0069t":[]}"#, "{}", "k", false),
            (HEAD, r#"{"nbf":101}"#, "k", false),
            (HEAD, r#"{"sub":"1"}"#, "other", false),
            (HEAD, "no JSON", "k", false),
            (r#"{"alg":"none"}"#, r#"{"sub":"1"}"#, "k", false),
            (r#"{"typ":"JWT"}"#, r#"{"sub":"1"}"#, "k", false),
        ] {
            let token = signed(head, claims, key.as_bytes());
            assert_eq!(is_valid(&token, "k", 100), is_sound, "{head} {claims} {key}");
            assert!(!is_valid(&token[..token.len() - 1], "k", 100), "{head} {claims} {key}");
        }
        for nothing in ["", ".", "..", "a.b.c", "e30.e30."] {
            assert!(!is_valid(nothing, "k", 0), "{nothing}");
        }
    }
}
