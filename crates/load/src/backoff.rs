//! How long a client of each protocol waits before it connects again.

const MS: f64 = 1e6;

/// The wait before attempt `tries` (0: the first after the loss), in nanoseconds. `random` lies in 0..1.
///
/// Action Cable and Phoenix and Socket.IO wait as their own clients do (`@rails/actioncable` 7.1
/// `connection_monitor.js`, `phoenix` 1.7 `socket.js`, `socket.io-client` 4 `manager.ts`); dialects without a
/// client library of their own come back at once, and then wait 100 ms, 200 ms, … up to 5 s.
pub fn backoff_ns(dialect: &str, tries: u32, random: f64) -> u64 {
    let ms = match dialect {
        "actioncable" => {
            let grown = 1.15f64.powi(tries.min(10) as i32);
            let jitter = if tries == 0 { 1.0 } else { 0.15 };
            6_000.0 * grown * (1.0 + jitter * random)
        }
        "phoenix" => {
            const STEPS: [f64; 9] = [10.0, 50.0, 100.0, 150.0, 200.0, 250.0, 500.0, 1_000.0, 2_000.0];
            STEPS.get(tries as usize).copied().unwrap_or(5_000.0)
        }
        "socketio" => {
            let doubled = 1_000.0 * 2f64.powi(tries.min(10) as i32);
            (doubled * (1.0 + 0.5 * (2.0 * random - 1.0))).min(5_000.0)
        }
        _ if tries == 0 => 0.0,
        _ => (50.0 * 2f64.powi(tries.min(10) as i32)).min(5_000.0),
    };
    (ms * MS) as u64
}

/// The longest wait before the first attempt, in nanoseconds.
pub fn first_backoff_ns_max(dialect: &str) -> u64 {
    backoff_ns(dialect, 0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(dialect: &str, tries: u32, random: f64) -> u64 {
        backoff_ns(dialect, tries, random) / 1_000_000
    }

    #[test]
    fn as_the_clients_of_the_protocols_do() {
        assert_eq!((ms("actioncable", 0, 0.0), ms("actioncable", 0, 0.5)), (6_000, 9_000));
        assert_eq!((ms("phoenix", 0, 0.9), ms("phoenix", 8, 0.9), ms("phoenix", 9, 0.9)), (10, 2_000, 5_000));
        assert_eq!(
            (ms("socketio", 0, 0.0), ms("socketio", 1, 1.0), ms("socketio", 9, 0.0)),
            (500, 3_000, 5_000)
        );
    }

    #[test]
    fn nobody_waits_longer_than_the_longest_first_wait() {
        for (dialect, ns_max) in [("actioncable", 12_000), ("phoenix", 10), ("socketio", 1_500), ("raw", 0)] {
            assert_eq!(first_backoff_ns_max(dialect), ns_max * 1_000_000, "{dialect}");
            assert!((0..100).all(|i| ms(dialect, 0, f64::from(i) / 100.0) <= ns_max), "{dialect}");
        }
    }

    #[test]
    fn others_come_back_at_once_and_then_wait_longer_and_longer() {
        assert_eq!((ms("json", 0, 0.7), ms("json", 1, 0.7), ms("json", 2, 0.7)), (0, 100, 200));
        assert_eq!(ms("raw", 40, 0.7), 5_000);
    }
}
