//! Flapping: clients lose their connections in mid-step, stay away, and come back.

use serde::{Deserialize, Serialize};

/// A way in which a client's connection ends on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cut {
    /// The protocol's own message that closes a connection: a WebSocket's close frame.
    Close,
    /// A reset.
    Reset,
    /// Silence: nothing that the server sends arrives any more, and nothing is sent to it.
    Silence,
}

impl Cut {
    /// All ways to end a connection.
    pub const ALL: [Cut; 3] = [Cut::Close, Cut::Reset, Cut::Silence];

    /// The name of the way in flags, files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Cut::Close => "close",
            Cut::Reset => "reset",
            Cut::Silence => "silence",
        }
    }
}

/// Flapping: each client loses its connection again and again, stays away for a while, and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flap {
    /// The shortest life of a connection; positive.
    pub up_ns_min: u64,
    /// The longest life of a connection.
    pub up_ns_max: u64,
    /// How long a client stays away; absent: as long as its protocol's back-off demands.
    pub away_ns: Option<u64>,
    /// The ways in which connections end, each as often as the others.
    pub cuts: Cuts,
    /// True if a client that is back asks for the messages it missed, where its protocol can do that.
    pub resumes: bool,
}

/// A set of ways in which connections end: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cuts {
    close: bool,
    reset: bool,
    silence: bool,
}

impl Cuts {
    /// The set of resets alone.
    pub const RESET: Cuts = Cuts { close: false, reset: true, silence: false };

    /// The set of these ways; one that is named twice counts once.
    pub fn of(cuts: &[Cut]) -> Cuts {
        let has = |cut| cuts.contains(&cut);
        Cuts { close: has(Cut::Close), reset: has(Cut::Reset), silence: has(Cut::Silence) }
    }

    /// Gives each way of the set.
    pub fn iter(self) -> impl Iterator<Item = Cut> {
        let Cuts { close, reset, silence } = self;
        Cut::ALL.into_iter().zip([close, reset, silence]).filter(|(_, is_one)| *is_one).map(|(cut, _)| cut)
    }
}

impl Flap {
    /// Returns whether the flapping is valid: connections end in some way, and last a while.
    pub fn is_sound(&self) -> bool {
        0 < self.up_ns_min && self.up_ns_min <= self.up_ns_max && self.cuts.iter().next().is_some()
    }

    /// The most connections of a client at once: of one that fell silent, the old one stays beside the new one.
    pub fn links(&self) -> u64 {
        if self.cuts.silence { 2 } else { 1 }
    }

    /// How long a connection lasts, drawn by a number from 0 to 1.
    pub fn up_ns(&self, unit: f64) -> u64 {
        self.up_ns_min + ((self.up_ns_max - self.up_ns_min) as f64 * unit) as u64
    }

    /// The way in which a connection ends, drawn by a number from 0 to 1.
    pub fn cut(&self, unit: f64) -> Cut {
        let cuts: Vec<Cut> = self.cuts.iter().collect();
        cuts[((cuts.len() as f64 * unit) as usize).min(cuts.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_and_ends_are_drawn_as_asked() {
        let cuts = Cuts::of(&[Cut::Silence, Cut::Close, Cut::Close]);
        assert_eq!(cuts.iter().collect::<Vec<_>>(), [Cut::Close, Cut::Silence]);
        let flap = Flap { up_ns_min: 10, up_ns_max: 20, away_ns: None, cuts, resumes: true };
        assert!(flap.is_sound() && flap.links() == 2);
        assert_eq!(Flap { cuts: Cuts::RESET, ..flap }.links(), 1);
        assert_eq!([0.0, 0.5, 1.0].map(|unit| flap.up_ns(unit)), [10, 15, 20]);
        assert_eq!([0.0, 0.49, 0.5, 1.0].map(|unit| flap.cut(unit)), {
            use Cut::{Close, Silence};
            [Close, Close, Silence, Silence]
        });
        assert!(!Flap { up_ns_max: 9, ..flap }.is_sound());
        assert!(!Flap { cuts: Cuts::of(&[]), ..flap }.is_sound());
    }
}
