//! How long a client waits before it connects again.

const NS_PER_MS: f64 = 1e6;
/// Waits have grown as far as they ever will by then.
const GROWTHS_MAX: u32 = 10;

/// How the clients of a protocol wait, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Backoff {
    /// Waits from a list, one after the other, and then always the same wait.
    Steps {
        /// The waits before the first attempts, in ms.
        ms: &'static [f64],
        /// The wait before all further attempts, in ms.
        then_ms: f64,
    },
    /// Grows by a factor with each attempt, and of that a share at random.
    Grown {
        /// The wait before the first attempt, in ms.
        first_ms: f64,
        /// How many times as long each is.
        factor: f64,
        /// The range of the random share of a wait, before the first attempt.
        first_share: (f64, f64),
        /// The range of the random share before all other attempts.
        share: (f64, f64),
        /// The longest wait, in ms.
        ms_max: f64,
    },
}

/// The server's word on when a client that has lost its connection may come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reconnection {
    /// The server has stated nothing: the client waits as clients of its protocol do.
    #[default]
    Usual,
    /// A fixed time after each loss and each attempt that failed.
    After {
        /// The wait in nanoseconds.
        wait_ns: u64,
    },
    /// Never.
    Never,
}

impl Backoff {
    /// The back-off of clients without a library of their own: at once, and then after 100 ms, 200 ms, … up
    /// to 5 s.
    pub const USUAL: Backoff = Backoff::Grown {
        first_ms: 50.0,
        factor: 2.0,
        first_share: (0.0, 0.0),
        share: (1.0, 1.0),
        ms_max: 5_000.0,
    };

    /// The wait before attempt `tries` (0: the first after the loss), in nanoseconds. `random` lies in 0..1.
    pub fn wait_ns(&self, tries: u32, random: f64) -> u64 {
        let ms = match *self {
            Backoff::Steps { ms, then_ms } => ms.get(tries as usize).copied().unwrap_or(then_ms),
            Backoff::Grown { first_ms, factor, first_share, share, ms_max } => {
                let grown = first_ms * factor.powi(tries.min(GROWTHS_MAX) as i32);
                let (from, to) = if tries == 0 { first_share } else { share };
                (grown * (from + (to - from) * random)).min(ms_max)
            }
        };
        (ms * NS_PER_MS) as u64
    }

    /// The longest wait before the first attempt, in nanoseconds.
    pub fn first_wait_ns_max(&self) -> u64 {
        self.wait_ns(0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect_id::DialectId;

    fn ms(dialect: DialectId, tries: u32, random: f64) -> u64 {
        dialect.facts().backoff.wait_ns(tries, random) / 1_000_000
    }

    #[test]
    fn as_the_clients_of_the_protocols_do() {
        let cable = |tries, random| ms(DialectId::Actioncable, tries, random);
        assert_eq!((cable(0, 0.0), cable(0, 0.5), cable(1, 0.5)), (6_000, 9_000, 7_417));
        let phoenix = |tries| ms(DialectId::Phoenix, tries, 0.9);
        assert_eq!((phoenix(0), phoenix(8), phoenix(9)), (10, 2_000, 5_000));
        let socketio = |tries, random| ms(DialectId::Socketio, tries, random);
        assert_eq!((socketio(0, 0.0), socketio(1, 1.0), socketio(9, 0.0)), (500, 3_000, 5_000));
    }

    #[test]
    fn nobody_waits_longer_than_the_longest_first_wait() {
        for dialect in DialectId::ALL {
            let ns_max = dialect.facts().backoff.first_wait_ns_max();
            assert!(
                (0..100).all(|i| dialect.facts().backoff.wait_ns(0, f64::from(i) / 100.0) <= ns_max),
                "{dialect:?}"
            );
        }
        assert_eq!(DialectId::Actioncable.facts().backoff.first_wait_ns_max(), 12_000_000_000);
        assert_eq!(DialectId::Socketio.facts().backoff.first_wait_ns_max(), 1_500_000_000);
    }

    #[test]
    fn other_clients_back_off_exponentially() {
        let json = |tries| ms(DialectId::Json, tries, 0.7);
        assert_eq!((json(0), json(1), json(2)), (0, 100, 200));
        assert_eq!(ms(DialectId::Raw, 40, 0.7), 5_000);
    }
}
