use super::*;

#[test]
fn placeholder_records() {
    let mut h = Histogram::new();
    h.record_ns(1_500);
    assert_eq!((h.count(), h.min_ns(), h.max_ns(), h.quantile_ns(0.5)), (1, 1_500, 1_500, 1_500));
}
