//! A NATS of an operator: who is let in stands in JSON Web Tokens, signed from the operator down, as `nsc` makes them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use nkeys::KeyPair;
use serde_json::{Value, json};

/// An operator's keys, and those of its users.
pub struct Operator {
    /// nats-server's configuration.
    pub config: PathBuf,
    /// A user's credentials file.
    pub creds: PathBuf,
    /// The same, signed by nobody whom the operator knows.
    pub false_creds: PathBuf,
}

impl Operator {
    /// Makes an operator with an account and a user of it, in files of this folder.
    pub fn in_folder(folder: &Path) -> Operator {
        let [operator, account, stranger] =
            [KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account()];
        let unlimited = json!({"subs": -1, "data": -1, "payload": -1});
        let mut limits = unlimited.clone();
        for what in ["imports", "exports", "conn", "leaf"] {
            limits[what] = (-1).into();
        }
        limits["wildcards"] = true.into();
        let of_operator = token(&operator, &operator, "operator", json!({}));
        let of_account = token(&operator, &account, "account", json!({ "limits": limits }));
        let config = folder.join("nats.conf");
        let mut text = format!("operator: {of_operator}\nresolver: MEMORY\n");
        let _ = writeln!(text, "resolver_preload: {{ {}: {of_account} }}", account.public_key());
        std::fs::write(&config, text).unwrap();
        let creds = |issuer: &KeyPair, name: &str| {
            let user = KeyPair::new_user();
            let (token, seed) = (token(issuer, &user, "user", unlimited.clone()), user.seed().unwrap());
            let text = format!(
                "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
                 -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
            );
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (creds, false_creds) = (creds(&account, "user.creds"), creds(&stranger, "false.creds"));
        Operator { config, creds, false_creds }
    }
}

/// A signed claim of one on another.
fn token(issuer: &KeyPair, subject: &KeyPair, kind: &str, mut nats: Value) -> String {
    nats["type"] = kind.into();
    nats["version"] = 2.into();
    let (iss, sub) = (issuer.public_key(), subject.public_key());
    let claims =
        json!({"jti": sub, "iat": 1_700_000_000, "iss": iss, "sub": sub, "name": kind, "nats": nats});
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let signed = [header, claims].map(|part| BASE64.encode(part.to_string())).join(".");
    let signature = BASE64.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}
