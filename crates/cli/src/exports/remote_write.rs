//! `--remote-write`: the figures of each second, pushed to a Prometheus or to what takes its protocol
//! (Remote-Write 1.0).
//!
//! A request is a `prometheus.WriteRequest`, protocol buffers in Snappy's block format. The series end with
//! the run: each gets the marker of staleness, by which Prometheus knows that its last value is not the value
//! since.

use net::clock;

use super::measures::Measures;
use super::prometheus::{Family, Sample, families};
use super::push::{Moment, Way};

/// The NaN that says that a series has ended (Prometheus, `model/value`).
const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;
/// How long after its last value a series ends, so that it is seen on a graph with a point every few seconds.
const STALE_AFTER_MS: u64 = 5_000;
/// Wire types of protocol buffers.
const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const BYTES: u8 = 2;

pub(crate) fn way() -> Way {
    Way {
        flag: "--remote-write",
        example: "http://127.0.0.1:9090/api/v1/write",
        method: "POST",
        port: 9090,
        path: "/api/v1/write".to_owned(),
        fields: &[
            ("Content-Type", "application/x-protobuf"),
            ("Content-Encoding", "snappy"),
            ("X-Prometheus-Remote-Write-Version", "0.1.0"),
        ],
        body,
    }
}

fn body(measures: &Measures, moment: Moment) -> Vec<u8> {
    let request = request(measures, moment, clock::realtime_ns() / 1_000_000);
    snap::raw::Encoder::new().compress_vec(&request).expect("far less than 4 GiB")
}

/// A `WriteRequest`: `timeseries` is field 1.
fn request(measures: &Measures, moment: Moment, now_ms: u64) -> Vec<u8> {
    let mut request = Vec::new();
    for Family { name, samples, .. } in families(measures) {
        for Sample { suffix, label, value } in samples {
            let common = measures.labels().iter().map(|(name, value)| (*name, value.clone()));
            let mut labels: Vec<(&str, String)> = common.chain(label).collect();
            labels.push(("__name__", format!("{name}{suffix}")));
            labels.sort();
            put_bytes(&mut request, 1, &series(&labels, value, moment, now_ms));
        }
    }
    request
}

/// A `TimeSeries`: `labels` is field 1 and `samples` 2.
fn series(labels: &[(&str, String)], value: f64, moment: Moment, now_ms: u64) -> Vec<u8> {
    let mut series = Vec::new();
    for (name, value) in labels {
        let mut label = Vec::new();
        put_bytes(&mut label, 1, name.as_bytes());
        put_bytes(&mut label, 2, value.as_bytes());
        put_bytes(&mut series, 1, &label);
    }
    put_bytes(&mut series, 2, &sample(value.to_bits(), now_ms));
    if moment == Moment::End {
        put_bytes(&mut series, 2, &sample(STALE_BITS, now_ms + STALE_AFTER_MS));
    }
    series
}

/// A `Sample`: `value` is field 1 and `timestamp`, in milliseconds, 2.
fn sample(value_bits: u64, at_ms: u64) -> Vec<u8> {
    let mut sample = vec![key(1, FIXED_64)];
    sample.extend(value_bits.to_le_bytes());
    sample.push(key(2, VARINT));
    put_varint(&mut sample, at_ms);
    sample
}

fn key(field: u8, wire_type: u8) -> u8 {
    field << 3 | wire_type
}

fn put_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(key(field, BYTES));
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `protoc --encode=prometheus.TimeSeries` writes it.
    #[test]
    fn a_series_is_a_time_series() {
        let labels = [("__name__", "up".to_owned()), ("job", "a".to_owned())];
        let found = series(&labels, 1.5, Moment::End, 300);
        let expected = b"\x0a\x0e\x0a\x08__name__\x12\x02up\x0a\x08\x0a\x03job\x12\x01a\
            \x12\x0c\x09\x00\x00\x00\x00\x00\x00\xf8\x3f\x10\xac\x02\
            \x12\x0c\x09\x02\x00\x00\x00\x00\x00\xf0\x7f\x10\xb4\x29";
        assert_eq!(found, expected);
    }
}
