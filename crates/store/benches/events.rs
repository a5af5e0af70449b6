//! The event log's throughput: events per second through its one thread, and bytes of each on disk:
//! `cargo bench -p throng-store`.

use std::time::Instant;

use engine::events::{BATCH_ENTRIES, Batch, Entry, Kind};
use store::events::{EventLog, Header, LogFile};

const EVENTS: usize = 4_000_000;
const CLIENTS: u32 = 10_000;
/// Half of the events are sends, so this is ten million a second: the log is the slower one.
const PACE_NS: u64 = 200;

fn main() {
    let batches = echoes();
    let dir = tempfile::tempdir().unwrap();
    let file = LogFile::open(&dir.path().join("bench.parquet")).unwrap();
    let log = EventLog::begin(file, &Header::default()).unwrap();
    let (queue, start) = (log.queue(), Instant::now());
    for batch in batches {
        queue.send(batch).unwrap();
    }
    drop(queue);
    let totals = log.finish();
    let elapsed = start.elapsed();
    assert_eq!((totals.written, totals.lost, totals.failure), (EVENTS as u64, 0, None));
    let events = EVENTS as f64;
    println!("events per second {:>12.0}", events / elapsed.as_secs_f64());
    println!("ns for each event {:>12.0}", elapsed.as_nanos() as f64 / events);
    println!("bytes each        {:>12.1}", totals.bytes as f64 / events);
}

/// Clients taking turns to send a message, and its echo, some 100 µs to 1 ms later, among the others' sends.
fn echoes() -> Vec<Batch> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut entries = Vec::with_capacity(EVENTS);
    for number in 0..EVENTS as u64 / 2 {
        let (client, message) = (number as u32 % CLIENTS, number as u32 / CLIENTS);
        let sent_ns = number * PACE_NS + random.u64(..PACE_NS);
        let lag_ns = random.u64(100..20_000);
        let rtt_ns = 100_000 + (-200_000.0 * (1.0 - random.f64()).ln()) as u64;
        let entry = |kind, at_ns| Entry::new(kind, at_ns, client).message(client, message);
        entries.push(entry(Kind::Send, sent_ns).latency(lag_ns).bytes(39));
        entries.push(entry(Kind::Receive, sent_ns + rtt_ns).latency(rtt_ns).bytes(33));
    }
    entries.sort_by_key(Entry::at_ns);
    let batch = |entries: &[Entry]| Batch { entries: entries.to_vec(), ..Batch::default() };
    entries.chunks(BATCH_ENTRIES).map(batch).collect()
}
