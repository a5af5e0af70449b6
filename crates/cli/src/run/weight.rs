//! The memory of a client at the server, or why that cannot be told.

use crew::ServerWatch;
use results::Verdict;
use results::finding::Caveat;
use results::finding::quantity::Bytes;
use stats::fit::{self, Before, Growth};

/// Adds the figure to the verdict, or the reason why there is none. `clients`: those that were there at the
/// end of the load. `keeps_windows`: their compression does.
pub(crate) fn weigh(watch: &ServerWatch, clients: u64, keeps_windows: bool, verdict: &mut Verdict) {
    let found = fit::growth(watch.growth(), net::limits::page_bytes() as f64, watch.before());
    match found {
        Growth::Seen(line) => {
            verdict.memory_per_client = Some(line);
            let later = watch.own_bytes().filter(|_| clients > 0);
            verdict.memory_later = later.and_then(|bytes| line.exceeded_by(clients as f64, bytes as f64));
            // Some servers make the windows when they first need them, others with the connection.
            verdict.caveats.extend(keeps_windows.then(|| Caveat::KeptWindows.into()));
        }
        _ => {
            let readings = watch.sees_server().then(|| watch.growth().len());
            verdict.caveats.extend(why_not(found, readings, watch.before()).map(Into::into));
        }
    }
}

/// The caveat that says why there is no weight. `readings`: number of readings of the server's memory, or
/// `None` if it cannot be read.
fn why_not(found: Growth, readings: Option<usize>, before: Before) -> Option<Caveat> {
    Some(match (found, readings) {
        (Growth::Seen(_), _) => return None,
        (_, None) => Caveat::MemoryUnseen,
        (Growth::Unknown, Some(readings @ 3..)) => Caveat::MemoryOneLoad { readings: readings as u64 },
        (Growth::Unknown, Some(readings)) => Caveat::MemoryFewReadings { readings: readings as u64 },
        (Growth::Unseen, _) => Caveat::MemoryFlat,
        (Growth::Reconnected, _) => Caveat::MemoryReconnected { connections: before.connections },
        (Growth::Reused, _) => Caveat::MemoryReused { needed: Bytes(before.bytes) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_unknown_has_a_cause() {
        let before = Before { connections: 16_384, bytes: 64 << 20 };
        for (found, readings, caveat) in [
            (Growth::Unknown, None, Caveat::MemoryUnseen),
            (Growth::Unknown, Some(0), Caveat::MemoryFewReadings { readings: 0 }),
            (Growth::Unknown, Some(2), Caveat::MemoryFewReadings { readings: 2 }),
            (Growth::Unknown, Some(57), Caveat::MemoryOneLoad { readings: 57 }),
            (Growth::Unseen, Some(9), Caveat::MemoryFlat),
            (Growth::Reconnected, Some(9), Caveat::MemoryReconnected { connections: 16_384 }),
            (Growth::Reused, Some(9), Caveat::MemoryReused { needed: Bytes(64 << 20) }),
        ] {
            assert_eq!(why_not(found, readings, before), Some(caveat));
        }
    }
}
