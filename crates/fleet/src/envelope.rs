//! Encryption of orders, since a plan has the clients' credentials.
//!
//! An agent makes up a key when it starts, and says its public part of itself. A coordinator makes one up for
//! each claim, and says that part in the claim; from then on each message to the agent is sealed with both
//! (X25519, XSalsa20-Poly1305: NATS' xkeys). A program that only listens reads nothing. One that can also
//! answer calls in an agent's place gets what that agent would have got: against that, NATS has accounts and
//! permissions.

use std::sync::Arc;

use nkeys::XKey;

/// The shared secret of the two ends.
#[derive(Clone)]
pub(crate) struct Envelope {
    own: Arc<XKey>,
    other: Arc<XKey>,
}

impl Envelope {
    /// An envelope for the other end, by the public part of its key; `None` if that is not a key.
    pub(crate) fn new(own: &Arc<XKey>, other: &str) -> Option<Envelope> {
        let other = XKey::from_public_key(other).ok()?;
        Some(Envelope { own: Arc::clone(own), other: other.into() })
    }

    /// Seals a message for the other end alone.
    pub(crate) fn seal(&self, message: &[u8]) -> Vec<u8> {
        self.own.seal(message, &self.other).expect("our own key has both its parts")
    }

    /// Opens a message of the other end; `None` if it is not one, or was changed.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.own.open(sealed, &self.other).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_ends_read_what_one_says() {
        let [ann, bob, eve] = [(); 3].map(|()| Arc::new(XKey::new()));
        let to_bob = Envelope::new(&ann, &bob.public_key()).unwrap();
        let sealed = to_bob.seal(b"open sesame");
        assert!(!sealed.windows(4).any(|part| part == b"open"));
        assert_ne!(sealed, to_bob.seal(b"open sesame"), "never the same twice");
        let at_bob = Envelope::new(&bob, &ann.public_key()).unwrap();
        assert_eq!(at_bob.open(&sealed).as_deref(), Some(&b"open sesame"[..]));
        let at_eve = Envelope::new(&eve, &ann.public_key()).unwrap();
        assert_eq!(at_eve.open(&sealed), None);
        for byte in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[byte] ^= 1;
            assert_eq!(at_bob.open(&changed), None, "byte {byte}");
            assert_eq!(at_bob.open(&sealed[..byte]), None);
        }
        assert!(Envelope::new(&ann, "XABC").is_none() && Envelope::new(&ann, "").is_none());
    }
}
