//! JSON Web Tokens (RFC 7519), signed (RFC 7515 §7.1): for each client anew, at the moment at which it
//! identifies itself.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use codec::json;
use ring::rand::SystemRandom;
use ring::{hmac, rsa, signature};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use secret::Secret;
use serde::{Deserialize, Serialize};

use crate::template::{Filling, Template};

/// How tokens are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwt {
    /// The algorithm they are signed with.
    pub algorithm: Algorithm,
    /// The key: bytes that both ends know, or a private key in PEM.
    pub key: Secret,
    /// The key's name, for servers that have several.
    pub key_id: Option<String>,
    /// The payload: a JSON object, in which people's names and the time stand in holes.
    pub claims: Template,
}

/// Algorithms that sign a token (RFC 7518 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-256: a microsecond.
    Hs256,
    /// RSA with SHA-256: close to a millisecond.
    Rs256,
    /// ECDSA on P-256 with SHA-256: some twenty microseconds.
    Es256,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 3] = [Algorithm::Hs256, Algorithm::Rs256, Algorithm::Es256];

    /// The algorithm's name in the head of a token.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Hs256 => "HS256",
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
        }
    }

    /// The expected form of its key.
    fn expected(self) -> BadKey {
        BadKey(match self {
            Algorithm::Hs256 => "a secret that is not empty",
            Algorithm::Rs256 => {
                "an RSA private key of 2,048 to 4,096 bits in PEM: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048"
            }
            Algorithm::Es256 => {
                "a private key on P-256 in PEM (PKCS#8): openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256; an \
                 `EC PRIVATE KEY` becomes one by openssl pkcs8 -topk8 -nodes"
            }
        })
    }
}

/// The error of a key that does not fit its algorithm, with what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadKey(pub &'static str);

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.0)
    }
}

impl Jwt {
    /// Checks that the key can sign.
    ///
    /// # Errors
    /// The form that the key has to have.
    pub fn check(&self) -> Result<(), BadKey> {
        Signer::new(self).map(drop)
    }
}

/// The signer of all tokens.
pub(crate) struct Signer {
    key: Key,
    /// The head, encoded, with the point behind it.
    head: Vec<u8>,
    claims: Template,
}

enum Key {
    Hmac(hmac::Key),
    Rsa(rsa::KeyPair),
    Ecdsa(signature::EcdsaKeyPair),
}

impl fmt::Debug for Signer {
    /// Without its key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// Reads the key.
    pub(crate) fn new(jwt: &Jwt) -> Result<Signer, BadKey> {
        // Encoded once: all tokens of a run have the same.
        let mut head = format!(r#"{{"alg":"{}","typ":"JWT""#, jwt.algorithm.name()).into_bytes();
        if let Some(key_id) = &jwt.key_id {
            head.extend_from_slice(br#","kid":""#);
            json::escape(&mut head, key_id.as_bytes());
            head.push(b'"');
        }
        head.push(b'}');
        let mut encoded = Vec::new();
        encode(&mut encoded, &head);
        encoded.push(b'.');
        let key = Key::read(jwt.algorithm, &jwt.key).ok_or(jwt.algorithm.expected())?;
        Ok(Signer { key, head: encoded, claims: jwt.claims.clone() })
    }

    /// Appends the token of the client that sends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>) {
        let start = out.len();
        let mut claims = Vec::with_capacity(128);
        self.claims.write(&mut claims, filling, 0);
        out.extend_from_slice(&self.head);
        encode(out, &claims);
        let signature = self.key.sign(&out[start..]);
        out.push(b'.');
        encode(out, &signature);
    }
}

impl Key {
    fn read(algorithm: Algorithm, key: &Secret) -> Option<Key> {
        let text = key.reveal().as_bytes();
        let pem = || PrivateKeyDer::from_pem_slice(text).ok();
        Some(match algorithm {
            Algorithm::Hs256 if text.is_empty() => return None,
            Algorithm::Hs256 => Key::Hmac(hmac::Key::new(hmac::HMAC_SHA256, text)),
            Algorithm::Rs256 => Key::Rsa(match pem()? {
                PrivateKeyDer::Pkcs8(der) => rsa::KeyPair::from_pkcs8(der.secret_pkcs8_der()).ok()?,
                PrivateKeyDer::Pkcs1(der) => rsa::KeyPair::from_der(der.secret_pkcs1_der()).ok()?,
                _ => return None,
            }),
            Algorithm::Es256 => {
                let PrivateKeyDer::Pkcs8(der) = pem()? else { return None };
                let curve = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
                let pair =
                    signature::EcdsaKeyPair::from_pkcs8(curve, der.secret_pkcs8_der(), &SystemRandom::new());
                Key::Ecdsa(pair.ok()?)
            }
        })
    }

    fn sign(&self, text: &[u8]) -> Vec<u8> {
        const FAILS: &str = "signing fails only without randomness, and then so does TLS";
        match self {
            Key::Hmac(key) => hmac::sign(key, text).as_ref().to_vec(),
            Key::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed =
                    pair.sign(&signature::RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signature);
                signed.expect(FAILS);
                signature
            }
            Key::Ecdsa(pair) => pair.sign(&SystemRandom::new(), text).expect(FAILS).as_ref().to_vec(),
        }
    }
}

/// Appends bytes as a token has them (RFC 7515 §2).
fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + base64::encoded_len(bytes.len(), false).unwrap_or(0), 0);
    let written = URL_SAFE_NO_PAD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written, Ok(out.len() - start));
}

#[cfg(test)]
mod tests;
