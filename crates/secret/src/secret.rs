//! A secret, and what stands for it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The text in place of a secret.
pub const HIDDEN: &str = "***";

/// A token, a password, the value of a header. It has no `Display`, and `Debug` prints `***`; serialized it
/// is what it is, for the plan has to carry it to those who speak to the server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret itself: for the wire only, never to be shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_itself() {
        let secret = Secret::from("open sesame");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
        assert_eq!(secret.reveal(), "open sesame");
    }
}
