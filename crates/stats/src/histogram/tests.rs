use super::encoding::DecodeError;
use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record_ns(value);
    }
    histogram
}

/// The nearest rank by METHODOLOGY's definition, on the samples themselves and in whole numbers.
fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    sorted[(percent * sorted.len()).div_ceil(100) - 1]
}

/// The mean and population σ, computed the slow way.
fn moments(values: &[u64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
    let variance = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

proptest! {
    // Few: each of them fills several histograms of 21,504 buckets, unoptimised.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn quantiles_are_the_nearest_rank_and_never_below(
        mut values in prop::collection::vec(0..DURATION_NS_MAX, 1..400), percent in 1..100usize
    ) {
        let histogram = of(values.iter().copied());
        values.sort_unstable();
        let truth = nearest_rank(&values, percent);
        let got = histogram.quantile_ns(percent as f64 / 100.0);
        prop_assert!(truth <= got && got <= truth + truth / 1_000 + 1_000, "{got} for {truth}");
        prop_assert_eq!(histogram.quantile_ns(1.0), *values.last().unwrap());
        prop_assert_eq!(histogram.min_ns(), values[0]);
    }

    #[test]
    fn mean_and_deviation_are_exact(values in prop::collection::vec(0..DURATION_NS_MAX, 1..200)) {
        let histogram = of(values.iter().copied());
        let (mean, sd) = moments(&values);
        prop_assert!((histogram.mean_ns() - mean).abs() <= mean * 1e-12);
        prop_assert!((histogram.sd_ns() - sd).abs() <= sd * 1e-9 + 1e-3);
    }

    #[test]
    fn merging_parts_is_recording_all(values in prop::collection::vec(0..2 * DURATION_NS_MAX, 0..300), parts in 1..5usize) {
        let mut merged = Histogram::new();
        for part in 0..parts {
            merged.merge(&of(values.iter().copied().skip(part).step_by(parts)));
        }
        prop_assert_eq!(merged, of(values));
    }

    #[test]
    fn packed_buckets_answer_as_dense_ones(
        values in prop::collection::vec(0..2 * DURATION_NS_MAX, 0..300), q in 0.0..1.0f64, more in 0..DURATION_NS_MAX
    ) {
        let mut dense = of(values);
        let mut packed = dense.clone();
        packed.shrink_to_fit();
        prop_assert!(!matches!(packed.buckets, Buckets::Dense(_)));
        prop_assert_eq!(&packed, &dense);
        prop_assert_eq!((packed.count(), packed.quantile_ns(q)), (dense.count(), dense.quantile_ns(q)));
        prop_assert_eq!(packed.to_base64(), dense.to_base64());
        prop_assert_eq!(packed::Packed::from(&packed), packed::Packed::from(&dense));
        let mut merged = of([more]);
        merged.merge(&packed);
        packed.record_ns(more);
        dense.record_ns(more);
        prop_assert_eq!(&packed, &dense);
        prop_assert_eq!(&merged, &dense);
    }

    #[test]
    fn damaged_text_never_panics(values in prop::collection::vec(0..DURATION_NS_MAX, 0..50), at in 0..200usize, flip in 1..=255u8) {
        let mut text = of(values).to_base64().into_bytes();
        let at = at % text.len();
        text[at] = flip;
        let _ = Histogram::from_base64(&String::from_utf8_lossy(&text)).map(|histogram| histogram.summary());
    }

    #[test]
    fn base64_keeps_buckets_and_moments(values in prop::collection::vec(1..DURATION_NS_MAX, 1..300)) {
        let histogram = of(values);
        let read = Histogram::from_base64(&histogram.to_base64()).unwrap();
        prop_assert!(read.mean_ns() >= histogram.mean_ns() && read.mean_ns() <= histogram.mean_ns() * 1.001 + 1_000.0);
        let restored = read
            .with_moments(histogram.mean_ns(), histogram.sd_ns(), histogram.min_ns(), histogram.max_ns())
            .unwrap();
        let (a, b) = (restored.summary().unwrap(), histogram.summary().unwrap());
        prop_assert!((a.mean_ns - b.mean_ns).abs() < 1.0 && (a.sd_ns - b.sd_ns).abs() < 1.0 + b.mean_ns * 1e-6);
        prop_assert_eq!((a.p50_ns, a.p999_ns, a.min_ns, a.max_ns), (b.p50_ns, b.p999_ns, b.min_ns, b.max_ns));
    }
}

#[test]
fn rank_arithmetic_does_not_slip() {
    // 0.07 × 100 and 0.99 × 10,000 are not exact in binary.
    let hundred = of((1..=100).map(|i| i * MS));
    assert_eq!(hundred.quantile_ns(0.07) / MS, 7);
    assert_eq!(hundred.quantile_ns(0.95) / MS, 95);
    let spiked = of((1..=10_000).map(|i| if i % 100 == 0 { S } else { MS }));
    assert_eq!(spiked.quantile_ns(0.99), MS, "rank 9,900 is the last fast one");
    assert_eq!(spiked.quantile_ns(0.9901), S, "the maximum caps its bucket");
    assert_eq!(spiked.mean_ns(), 10.99 * MS as f64);
}

#[test]
fn the_deviation_survives_a_large_mean() {
    let histogram = of([500 * S, 500 * S + 2, 500 * S + 4]);
    assert!((histogram.sd_ns() - (8.0_f64 / 3.0).sqrt()).abs() < 1e-9);
}

#[test]
fn longer_than_ten_minutes_is_clamped_and_counted() {
    let histogram = of([DURATION_NS_MAX, DURATION_NS_MAX + 1, u64::MAX]);
    assert_eq!((histogram.count(), histogram.clamped()), (3, 2));
    assert_eq!((histogram.max_ns(), histogram.min_ns()), (DURATION_NS_MAX, DURATION_NS_MAX));
}

#[test]
fn empty_is_zero_and_cheap() {
    let empty = Histogram::new();
    assert_eq!((empty.count(), empty.quantile_ns(0.5), empty.mean_ns(), empty.sd_ns()), (0, 0, 0.0, 0.0));
    assert!(matches!(empty.buckets, Buckets::None));
    assert_eq!(empty, of([]));
    assert!(Histogram::from_base64(&empty.to_base64()).unwrap().is_empty());
}

#[test]
fn clearing_forgets_everything() {
    let mut histogram = of([5 * MS, 700 * S]);
    histogram.clear();
    assert_eq!(histogram, Histogram::new());
    histogram.record_ns(3 * MS);
    assert_eq!(histogram, of([3 * MS]));
}

#[test]
fn foreign_histograms_are_refused() {
    assert_eq!(Histogram::from_base64("not base64!"), Err(DecodeError::Base64));
    assert_eq!(Histogram::from_base64("AAAA"), Err(DecodeError::Format));
    // A well-formed V2 histogram of 1 to 1,000,000 with 2 digits.
    let other = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1_000_000, 2).unwrap();
    let mut bytes = Vec::new();
    use hdrhistogram::serialization::Serializer as _;
    hdrhistogram::serialization::V2Serializer::new().serialize(&other, &mut bytes).unwrap();
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    assert_eq!(Histogram::from_base64(&text), Err(DecodeError::Bounds));
}

#[test]
fn text_is_that_of_hdrhistogram() {
    use base64::Engine as _;
    use hdrhistogram::serialization::Serializer as _;
    let values = (0..20_000u64).map(|i| i * i * 1_499 % DURATION_NS_MAX);
    let histogram = of(values);
    let Buckets::Dense(dense) = &histogram.buckets else { panic!("it was recorded into") };
    let mut bytes = Vec::new();
    hdrhistogram::serialization::V2DeflateSerializer::new().serialize(dense, &mut bytes).unwrap();
    assert_eq!(histogram.to_base64(), base64::engine::general_purpose::STANDARD.encode(bytes));
}

#[test]
fn moments_that_cannot_be_are_refused() {
    let histogram = of([MS, 2 * MS]);
    assert_eq!(histogram.clone().with_moments(5e6, 0.0, MS, 2 * MS), Err(DecodeError::Sums));
    assert_eq!(histogram.clone().with_moments(1.5e6, f64::NAN, MS, 2 * MS), Err(DecodeError::Sums));
    assert_eq!(histogram.clone().with_moments(1.5e6, 0.0, MS, u64::MAX), Err(DecodeError::Sums));
    assert!(histogram.with_moments(1.5e6, 0.5e6, MS, 2 * MS).is_ok());
}

/// Written by HdrHistogram's Python port: 1 ms to 100 ms by 1 ms, and 30 s five times.
#[test]
fn another_implementations_histogram_is_read() {
    let python = "HISTFAAAAFl4nJNpmSzMwMBwlwECmKE0I4hQPuzGYP8BInCen+ksP9NUDqan7EwLWZg+MkPRciam74xY0EpGpmqmSjw4m8ka\
                  CG3BJHm0LpM0kywQIkhy+NNbGLkAWf8oPw==";
    let read = Histogram::from_base64(python).unwrap();
    assert_eq!(read.count(), 105);
    let quantiles_us = [0.5, 0.9, 0.95, 0.99].map(|q| read.quantile_ns(q) / 1_000);
    assert_eq!(quantiles_us, [53_023, 95_039, 100_031, 30_015_487], "as Python gives them");
    let mut ours = of((1..=100).map(|i| i * MS));
    ours.record_n_ns(30 * S, 5);
    let ours = Histogram::from_base64(&ours.to_base64()).unwrap();
    assert_eq!(ours, read);
}
