//! First events of streamed answers, beside the journal of a server on Node that knows when it wrote them.

use std::net::SocketAddr;

use serde_json::Value;

use super::{OTHERS_PERCENT_MAX, others_percent};
use crate::streams::{counts, journal, node, stream};
use crate::support::requests::RUN_MAX;
use crate::support::throng::{run, throng};
use crate::support::{alone, in_time, skip, timed};

/// Times from a request to its first event, in Node's journal.
fn written_ms(server: SocketAddr) -> Vec<f64> {
    let journal = journal(server);
    journal["first_ms"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Time to the first event above the journal's, at this percentile.
fn late_ms(results: &Value, written_ms: &[f64], percent: usize) -> f64 {
    let seen_ms = results["steps"][0]["first"][format!("p{percent}_ms")].as_f64().unwrap();
    seen_ms - written_ms[(written_ms.len() - 1) * percent / 100]
}

#[test]
fn first_events_come_as_the_journal_says() {
    let _alone = alone();
    let Some((_node, [first, second])) = node() else { return };
    for (address, version) in [(first, ""), (second, "--http2")] {
        timed(|| {
            let before = written_ms(first).len();
            let url = format!("http://{address}/sse?first=30");
            let outcome = stream(&url, &format!("{version} -m POST -b {{}} -c 1 -n 20 --end [DONE]"));
            let results = outcome.json();
            let others_percent = others_percent(&results);
            if others_percent > OTHERS_PERCENT_MAX {
                skip("first events", &format!("other programs had {others_percent:.0}% of a core"));
                return Ok(());
            }
            let mut written_ms = written_ms(first).split_off(before);
            written_ms.sort_by(f64::total_cmp);
            let late_ms = late_ms(&results, &written_ms, 50);
            in_time((-0.5..=1.0).contains(&late_ms), || {
                format!("{version} {late_ms}: {written_ms:?}\n{outcome}")
            })
        });
    }
}

/// A hundred answers begin each second, and each takes twenty.
#[test]
#[ignore = "a test of the machine: cargo test --release"]
fn first_events_among_two_thousand_answers() {
    if cfg!(debug_assertions) {
        return skip("first events among 2,000 answers", "needs a release build");
    }
    let _alone = alone();
    timed(|| {
        let Some((_node, [address, _])) = node() else { return Ok(()) };
        let url = format!("http://{address}/sse?events=200&gap=100&first=30");
        let mut command = throng(["stream", &url, "--format", "json", "--no-preflight", "--no-store"]);
        // A connection for each: Node closes one that was idle for five seconds.
        command.args("-m POST -b {} -c 3000 -R 100 -d 30s --end [DONE]".split(' '));
        let outcome = run(&mut command, 4 * RUN_MAX);
        let results = outcome.json();
        let mut written_ms = written_ms(address);
        written_ms.sort_by(f64::total_cmp);
        assert_eq!((written_ms.len(), counts(&results, ["received"])), (3_000, [3_000]), "{outcome}");
        for percent in [50, 95] {
            let late_ms = late_ms(&results, &written_ms, percent);
            in_time((-0.5..=1.0).contains(&late_ms), || format!("p{percent} {late_ms}: {outcome}"))?;
        }
        Ok(())
    });
}
