use ring::signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

use super::*;
use crate::identities::Identities;
use crate::people::People;
use crate::template::{Kept, Names, Purpose, Quoting, Table};

fn jwt(algorithm: Algorithm, key: &str, claims: &str, names: &Names) -> Jwt {
    let claims = Template::parse(claims, Purpose::Opening, names, Quoting::JSON).unwrap();
    Jwt { algorithm, key: key.into(), key_id: None, claims }
}

/// The token of a client, at a second of the wall clock.
fn token(people: &People, client: u32, unix_s: u64) -> String {
    let identities = Identities::new(people.clone().into()).unwrap();
    Template::of_token().filled_text(&Filling::of(identities.context(
        client,
        unix_s * 1_000_000_000,
        Kept::NOTHING,
    )))
}

fn claims_of(token: &str) -> String {
    let payload = token.split('.').nth(1).expect("three parts");
    String::from_utf8(URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// The example that jwt.io shows, and every library is tried with.
#[test]
fn a_token_that_others_have_signed() {
    let claims = r#"{"sub":"1234567890","name":"John Doe","iat":1516239022}"#;
    let token_of = Some(jwt(Algorithm::Hs256, "your-256-bit-secret", claims, &Names::default()));
    let people = People { token: token_of, ..People::default() };
    assert_eq!(
        token(&people, 0, 0),
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.\
         SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
    );
}

#[test]
fn each_client_has_its_own_and_the_time() {
    let mut people = People::default();
    let mut rows = Table::new(1);
    assert!(rows.push(["ann \"a\""].into_iter()) && rows.push(["bob"].into_iter()));
    people.rows = rows;
    people.names.set("person.name", Template::of_column(0));
    people.names.set("in an hour", Template::of_second(3600));
    let claims = r#"{"sub":"{person.id}","name":"{person.name}","exp":"#;
    let mut shared = jwt(Algorithm::Hs256, "s", claims, &people.names);
    shared.claims = shared.claims.then(&Template::of_second(3600)).text("}");
    people.token = Some(shared);
    assert_eq!(claims_of(&token(&people, 2, 1_000)), r#"{"sub":"2","name":"ann \"a\"","exp":4600}"#);
    assert_eq!(claims_of(&token(&people, 3, 2_000)), r#"{"sub":"3","name":"bob","exp":5600}"#);
}

#[test]
fn a_key_has_its_name_in_the_head() {
    let mut named = jwt(Algorithm::Hs256, "s", "{}", &Names::default());
    named.key_id = Some("k\"1".into());
    let people = People { token: Some(named), ..People::default() };
    let token = token(&people, 0, 0);
    let head = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    assert_eq!(head, br#"{"alg":"HS256","typ":"JWT","kid":"k\"1"}"#);
}

#[test]
fn a_curve_signs_what_its_public_key_verifies() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let body = base64::engine::general_purpose::STANDARD.encode(&pkcs8);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let people = People {
        token: Some(jwt(Algorithm::Es256, &pem, r#"{"sub":"{person.id}"}"#, &People::default().names)),
        ..People::default()
    };
    let token = token(&people, 7, 0);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let public = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key());
    public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    assert_eq!(claims_of(&token), r#"{"sub":"7"}"#);

    let rsa = jwt(Algorithm::Rs256, &pem, "{}", &Names::default());
    assert!(rsa.check().unwrap_err().to_string().contains("an RSA private key"), "a key of another kind");
}

#[test]
fn invalid_keys_are_told_with_valid_ones() {
    for (algorithm, key, expected) in [
        (Algorithm::Hs256, "", "not empty"),
        (Algorithm::Rs256, "open sesame", "openssl genpkey -algorithm RSA"),
        (Algorithm::Es256, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "P-256"),
        (
            Algorithm::Es256,
            "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----",
            "pkcs8 -topk8",
        ),
    ] {
        let why = jwt(algorithm, key, "{}", &Names::default()).check().unwrap_err().to_string();
        assert!(why.starts_with("expected ") && why.contains(expected), "{why}");
        assert!(!format!("{:?}", jwt(algorithm, "open sesame", "{}", &Names::default())).contains("sesame"));
    }
}
