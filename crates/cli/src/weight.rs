//! What a client costs in the server's memory, or why that cannot be told.

use crew::ServerWatch;
use results::{TrustNote, Verdict};
use stats::fit::{self, Before, Growth};

/// Windows that a server keeps are made when they are first needed by some servers, and with the connection by others.
const KEEPS_WINDOWS: &str = "what a client costs in memory depends on whether it has said something: --compress lets both \
                             ends keep a window for each (--no-context-takeover asks them not to)";

/// Adds the figure to the verdict, or the reason why there is none. `keeps_windows`: the clients' compression does.
pub(crate) fn weigh(watch: &ServerWatch, keeps_windows: bool, verdict: &mut Verdict) {
    let found = fit::growth(watch.growth(), net::limits::page_bytes() as f64, watch.before());
    match found {
        Growth::Seen(line) => {
            verdict.memory_per_client = Some(line);
            verdict.trust.extend(keeps_windows.then(|| TrustNote(KEEPS_WINDOWS.into())));
        }
        _ => {
            let readings = watch.sees_server().then(|| watch.growth().len());
            verdict.trust.extend(why_not(found, readings, watch.before()).map(TrustNote));
        }
    }
}

/// Why nothing is said. `readings`: how many there were of the server's memory; `None`: it cannot be looked at.
fn why_not(found: Growth, readings: Option<usize>, before: Before) -> Option<String> {
    let why = match (found, readings) {
        (Growth::Seen(_), _) => return None,
        (_, None) => "the server's process cannot be observed from this machine".into(),
        (Growth::Unknown, Some(readings @ 3..)) => format!(
            "the {readings} readings of the server's memory were all made beside the same number of clients: use more \
             clients, or a lower --connect-rate"
        ),
        (Growth::Unknown, Some(readings)) => format!(
            "there {} of the server's memory while they connected, and it takes three: use more clients, or a lower \
             --connect-rate",
            match readings {
                0 => "was no reading".into(),
                1 => "was one reading".into(),
                _ => format!("were {readings} readings"),
            }
        ),
        (Growth::Unseen, _) => {
            "the server's memory is not seen to grow with them: they need too little, or memory was given back meanwhile; use \
             more clients"
                .into()
        }
        (Growth::Reconnected, _) => format!(
            "the server has had up to {} connections before, and may be using memory again that it freed after these; restart \
             it and measure again, or with more clients than that",
            report::count(before.connections)
        ),
        (Growth::Reused, _) => format!(
            "the server has needed {} of memory before, which it did not come to again, and may be using memory again that it \
             freed; restart it and measure again",
            report::bytes(before.bytes as f64)
        ),
    };
    Some(format!("what a client costs in memory cannot be told: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_said() {
        let before = Before { connections: 16_384, bytes: 64 << 20 };
        let said = |found, readings| why_not(found, readings, before).unwrap();
        for (found, readings, words) in [
            (Growth::Unknown, None, "cannot be observed from this machine"),
            (Growth::Unknown, Some(0), "there was no reading"),
            (Growth::Unknown, Some(2), "there were 2 readings"),
            (Growth::Unknown, Some(57), "all made beside the same number of clients"),
            (Growth::Unseen, Some(9), "is not seen to grow"),
            (Growth::Reconnected, Some(9), "up to 16,384 connections before"),
            (Growth::Reused, Some(9), "has needed 64.0 MiB of memory before"),
        ] {
            let said = said(found, readings);
            assert!(said.starts_with("what a client costs in memory cannot be told: "), "{said}");
            assert!(said.contains(words), "{said}");
        }
    }
}
