//! JSON Web Tokens (RFC 7519) with an HMAC (RFC 7515, HS256).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::json;

/// Whether a token was signed with this key, and is valid at this second.
pub(super) fn is_valid(token: &str, key: &str, unix_s: u64) -> bool {
    judge(token, key, unix_s).is_some()
}

fn judge(token: &str, key: &str, unix_s: u64) -> Option<()> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (head, claims) = signed.split_once('.')?;
    // Another algorithm is another key: one that says `none` has none (RFC 8725 §3.1).
    let [algorithm] = json::members(&decode(head)?, ["alg"])?.map(|alg| alg == br#""HS256""#);
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    hmac::verify(&key, signed.as_bytes(), &decode(signature)?).ok().filter(|()| algorithm)?;
    let claims = decode(claims)?;
    let [expires, begins] = json::members(&claims, ["exp", "nbf"])?.map(second);
    (expires?.unwrap_or(u64::MAX) > unix_s && begins?.unwrap_or(0) <= unix_s).then_some(())
}

/// A claim that is a time; `None` within: it is not there, or has no meaning.
fn second(claim: &[u8]) -> Option<Option<u64>> {
    if claim.is_empty() {
        return Some(None);
    }
    let text = std::str::from_utf8(claim).ok()?;
    let whole = text.split('.').next().unwrap_or_default();
    whole.parse().ok().map(Some)
}

fn decode(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of RFC 7515 appendix A.1, whose `exp` is 1300819380; its key is given there in base64url.
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
    fn the_example_of_the_standard_is_valid_until_it_expires() {
        let key = decode(KEY).unwrap();
        let (signed, signature) = TOKEN.rsplit_once('.').unwrap();
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes());
        assert_eq!(decode(signature).unwrap(), tag.as_ref(), "the key is no text, so it is tried here");
    }

    #[test]
    fn what_is_forged_expired_or_early_is_not_valid() {
        const HEAD: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
        for (head, claims, key, is_sound) in [
            (HEAD, r#"{"sub":"1","exp":101}"#, "k", true),
            (HEAD, r#"{"sub":"1"}"#, "k", true),
            (HEAD, r#"{"exp":100.9,"nbf":100}"#, "k", false),
            (HEAD, r#"{"exp":100}"#, "k", false),
            (HEAD, r#"{"exp":"soon"}"#, "k", false),
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
