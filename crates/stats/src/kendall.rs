//! The agreement of two orders (Kendall 1938; ties as in Kendall 1945).

use std::cmp::Ordering;

/// Kendall's τ-b of pairs of values: 1 when both orders are the same, −1 when one is the other reversed.
/// `None` if all values of either are equal.
pub fn tau(values: &[(f64, f64)]) -> Option<f64> {
    let (mut agree, mut apart_in_first, mut apart_in_second) = (0.0, 0.0_f64, 0.0_f64);
    for (at, one) in values.iter().enumerate() {
        for other in &values[at + 1..] {
            let (first, second) = (sign(one.0, other.0), sign(one.1, other.1));
            agree += first * second;
            apart_in_first += first * first;
            apart_in_second += second * second;
        }
    }
    // τ-b divides by the pairs that each order tells apart, so that ties count for neither agreement nor its
    // opposite.
    let both = (apart_in_first * apart_in_second).sqrt();
    (both > 0.0).then(|| agree / both)
}

fn sign(a: f64, b: f64) -> f64 {
    match a.total_cmp(&b) {
        Ordering::Less => -1.0,
        Ordering::Equal => 0.0,
        Ordering::Greater => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_agree_as_far_as_their_pairs_do() {
        let with = |second: [f64; 4]| tau(&[1.0, 2.0, 3.0, 4.0].into_iter().zip(second).collect::<Vec<_>>());
        assert_eq!(with([10.0, 20.0, 30.0, 40.0]), Some(1.0));
        assert_eq!(with([4.0, 3.0, 2.0, 1.0]), Some(-1.0));
        // One of six pairs is reversed: 5 agree, 1 does not.
        assert!((with([2.0, 1.0, 3.0, 4.0]).unwrap() - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(with([1.0; 4]), None);
        // With a tie of two in the second: 5 / sqrt(6 · 5).
        assert!((with([1.0, 1.0, 3.0, 4.0]).unwrap() - 5.0 / 30f64.sqrt()).abs() < 1e-12);
    }
}
