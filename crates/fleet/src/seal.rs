//! Signatures over what agents are told: the claim, the orders, and the end of the run.
//!
//! Rules. An agent that has a key obeys that alone. Called, it says which, with a word that is good for one
//! claim; the claim is signed with that word, and each packet that follows with the claim and a number that
//! only grows. So what was recorded is worth nothing: no claim, no beat, no part of an order. A packet
//! without this signature is ignored, and does not keep the lease either. What agents say is not signed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use nkeys::KeyPair;
use secret::Secret;
use serde::Serialize;

use crate::intro::Claim;

const SIGNATURE_BYTES: usize = 64;
const NUMBER_BYTES: usize = 8;
/// Bytes of a packet's signature and number.
pub(crate) const SEAL_BYTES: usize = SIGNATURE_BYTES + NUMBER_BYTES;
/// The expected form of a public key.
const KEY_EXPECTED: &str =
    "expected the public part of a key, U and 55 more letters and digits: throng fleet new-key makes a pair";
/// The expected form of a secret key.
const SEED_EXPECTED: &str =
    "expected the seed of a key, SU and 56 more letters and digits: throng fleet new-key makes a pair";

/// The key that an agent obeys: the public part of a pair.
#[derive(Clone, Debug)]
pub struct AgentKey(Arc<KeyPair>);

/// The key that a coordinator signs with: the part that is its own.
#[derive(Clone, Debug)]
pub struct FleetKey(Arc<KeyPair>);

impl FromStr for AgentKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        KeyPair::from_public_key(text).map(|key| Self(key.into())).map_err(|_| KEY_EXPECTED.to_owned())
    }
}

impl fmt::Display for AgentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.public_key())
    }
}

impl FleetKey {
    /// Generates a new key.
    pub fn generate() -> Self {
        Self(KeyPair::new_user().into())
    }

    /// Reads a seed.
    ///
    /// # Errors
    /// What is expected, for the user; the text is not repeated.
    pub fn read(seed: &Secret) -> Result<Self, String> {
        KeyPair::from_seed(seed.reveal().trim())
            .map(|key| Self(key.into()))
            .map_err(|_| SEED_EXPECTED.to_owned())
    }

    /// The seed, as [`read`](Self::read) takes it.
    pub fn seed(&self) -> Secret {
        self.0.seed().expect("it has one").into()
    }

    /// The key for agents to obey, as `--agent-key` takes it.
    pub fn public(&self) -> String {
        self.0.public_key()
    }

    /// Signs a claim on the agent that said this word.
    pub(crate) fn sign_claim(&self, claim: &mut Claim, agent: &str, word: &str) -> Seal {
        let claimed = claimed(claim, agent, word);
        claim.signature = Some(sign(&self.0, &claimed));
        Seal { key: Arc::clone(&self.0), claimed, number: 0 }
    }

    /// Signs that a run is over.
    pub(crate) fn sign_end(&self, run: &str) -> Vec<u8> {
        sign(&self.0, &ended(run))
    }
}

impl AgentKey {
    /// Checks a claim's signature, for the agent that said this word. Returns the seal that checks the
    /// claim's packets.
    pub(crate) fn check_claim(&self, claim: &Claim, agent: &str, word: &str) -> Option<Seal> {
        let claimed = claimed(claim, agent, word);
        self.0.verify(&claimed, claim.signature.as_deref()?).ok()?;
        Some(Seal { key: Arc::clone(&self.0), claimed, number: 0 })
    }

    /// Returns whether this key has signed that the run is over.
    pub(crate) fn is_end(&self, run: &str, signature: &[u8]) -> bool {
        self.0.verify(&ended(run), signature).is_ok()
    }
}

/// The signatures of one claim's packets: made at one end, checked at the other.
pub(crate) struct Seal {
    key: Arc<KeyPair>,
    /// The claim, as it was signed.
    claimed: Vec<u8>,
    /// The number of the last packet.
    number: u64,
}

impl Seal {
    /// Signs a packet: returns it with its number and a signature over both.
    pub(crate) fn close(&mut self, packet: &[u8]) -> Vec<u8> {
        self.number += 1;
        let signature = sign(&self.key, &numbered(&self.claimed, self.number, packet));
        [&signature[..], &self.number.to_le_bytes(), packet].concat()
    }

    /// Checks a packet: returns it if it is signed and later than all before it.
    pub(crate) fn open<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (signature, rest) = bytes.split_at_checked(SIGNATURE_BYTES)?;
        let (number, packet) = rest.split_first_chunk::<NUMBER_BYTES>()?;
        let number = u64::from_le_bytes(*number);
        // Before the signature is checked, which costs more; the number is taken over only with a good
        // signature.
        if number <= self.number {
            return None;
        }
        self.key.verify(&numbered(&self.claimed, number, packet), signature).ok()?;
        self.number = number;
        Some(packet)
    }
}

fn sign(key: &KeyPair, signed: &[u8]) -> Vec<u8> {
    key.sign(signed).expect("a fleet's key has a seed")
}

/// The bytes to sign of a claim on an agent.
fn claimed(claim: &Claim, agent: &str, word: &str) -> Vec<u8> {
    let Claim { version, run, index, session, sealed_by, signature: _ } = claim;
    signed("throng claim", (agent, word, version, run, index, session, sealed_by))
}

/// The bytes to sign of a packet that belongs to a claim.
fn numbered(claimed: &[u8], number: u64, packet: &[u8]) -> Vec<u8> {
    signed("throng packet", (claimed, number, packet))
}

/// The bytes to sign of the end of a run.
fn ended(run: &str) -> Vec<u8> {
    signed("throng end", run)
}

/// The bytes to sign, with their kind: nothing passes for something else.
fn signed(kind: &str, what: impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(&(kind, what)).expect("our statements can be encoded")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim {
            version: "1/1".into(),
            run: "r".into(),
            index: 3,
            session: 7,
            sealed_by: "X".into(),
            signature: None,
        }
    }

    fn pair() -> (FleetKey, AgentKey) {
        let key = FleetKey::generate();
        let public = key.public().parse().unwrap();
        (key, public)
    }

    #[test]
    fn claims_bind_agent_word_and_content() {
        let ((key, public), (other, _)) = (pair(), pair());
        let mut good = claim();
        key.sign_claim(&mut good, "a", "w");
        assert!(public.check_claim(&good, "a", "w").is_some());
        assert!(public.check_claim(&good, "b", "w").is_none(), "another agent");
        assert!(public.check_claim(&good, "a", "v").is_none(), "an earlier word: it was recorded");
        let altered: [fn(&mut Claim); 6] = [
            |claim| claim.version = "1/2".into(),
            |claim| claim.run = "q".into(),
            |claim| claim.index = 4,
            |claim| claim.session = 8,
            |claim| claim.signature = None,
            |claim| claim.signature.as_mut().unwrap()[5] ^= 1,
        ];
        for alter in altered {
            let mut bad = good.clone();
            alter(&mut bad);
            assert!(public.check_claim(&bad, "a", "w").is_none(), "{bad:?}");
        }
        let mut of_other = claim();
        other.sign_claim(&mut of_other, "a", "w");
        assert!(public.check_claim(&of_other, "a", "w").is_none());
    }

    #[test]
    fn packets_of_a_claim_come_once_in_order() {
        let (key, public) = pair();
        let ends = |session| {
            let mut claim = Claim { session, ..claim() };
            let here = key.sign_claim(&mut claim, "a", "w");
            (here, public.check_claim(&claim, "a", "w").unwrap())
        };
        let ((mut here, mut there), (_, mut elsewhere)) = (ends(1), ends(2));
        let [first, second, third] = [b"1", b"2", b"3"].map(|packet| here.close(packet));
        assert_eq!(first.len(), 1 + SEAL_BYTES);
        assert_eq!(elsewhere.open(&first), None, "of another claim");
        assert_eq!(there.open(&first), Some(&b"1"[..]));
        assert_eq!(there.open(&third), Some(&b"3"[..]), "one was lost");
        for late in [&first, &second, &third] {
            assert_eq!(there.open(late), None, "it was recorded");
        }
        let fourth = here.close(b"4");
        for place in 0..fourth.len() {
            let mut bad = fourth.clone();
            bad[place] ^= 0x40;
            assert_eq!(there.open(&bad), None, "byte {place}");
            assert_eq!(there.open(&fourth[..place]), None, "cut after {place}");
        }
        assert_eq!(there.open(&fourth), Some(&b"4"[..]), "none of that counted");
    }

    #[test]
    fn ends_of_runs_are_not_interchangeable() {
        let ((key, public), (other, _)) = (pair(), pair());
        assert!(public.is_end("r", &key.sign_end("r")));
        assert!(!public.is_end("q", &key.sign_end("r")) && !public.is_end("r", &other.sign_end("r")));
    }

    #[test]
    fn keys_round_trip_and_are_not_repeated() {
        let (key, public) = pair();
        assert_eq!(FleetKey::read(&key.seed()).unwrap().public(), public.to_string());
        assert_eq!(format!("{key:?} {public:?}").matches(&key.seed().reveal()[2..]).count(), 0);
        for bad in ["", "SU", "S3CRET", &key.public(), &"S".repeat(58), &"U".repeat(56), &"é".repeat(29)] {
            let (why, _) = (FleetKey::read(&bad.into()).unwrap_err(), bad.parse::<AgentKey>());
            assert!(bad.len() < 3 || !why.contains(bad), "{why}");
        }
        assert!(key.seed().reveal().parse::<AgentKey>().is_err());
    }
}
