//! First events of streamed answers, beside the journal of a server on Node that knows when it wrote them.

use std::net::SocketAddr;

use serde_json::Value;

use super::{OTHERS_PERCENT_MAX, others_percent};
use crate::streams::{journal, node, stream};
use crate::support::{alone, skip, timed};

/// Times from a request to its first event, in Node's journal.
fn written_ms(server: SocketAddr) -> Vec<f64> {
    let journal = journal(server);
    journal["first_ms"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
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
                return skip("first events", &format!("other programs had {others_percent:.0}% of a core"));
            }
            let mut written_ms = written_ms(first).split_off(before);
            written_ms.sort_by(f64::total_cmp);
            let p50_ms = results["steps"][0]["first"]["p50_ms"].as_f64().unwrap();
            let late_ms = p50_ms - written_ms[(written_ms.len() - 1) / 2];
            assert!((-0.5..=1.0).contains(&late_ms), "{version} {late_ms}: {written_ms:?}\n{outcome}");
        });
    }
}
