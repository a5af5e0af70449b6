use super::*;

const MS: Kind = Kind::Measured { grain: 0.001 };

/// A latency with a long tail: the p99 of a second of 200 exponential samples of mean 10.
fn second(random: &mut fastrand::Rng) -> f64 {
    let mut samples: Vec<f64> = (0..200).map(|_| -10.0 * (1.0 - random.f64()).ln()).collect();
    samples.sort_by(f64::total_cmp);
    samples[197]
}

/// The difference between runs of one server: a factor whose logarithm has this standard deviation.
fn run_factor(random: &mut fastrand::Rng, deviation: f64) -> f64 {
    let deviate = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    (deviation * deviate).exp()
}

/// `n` repeats of a server `times` as slow, whose runs differ; now and then one is much slower.
fn runs(random: &mut fastrand::Rng, n: usize, times: f64, deviation: f64) -> Vec<f64> {
    let mut tail = || 1.0 - 0.04 * (1.0 - random.f64()).ln();
    let tails: Vec<f64> = (0..n).map(|_| tail()).collect();
    tails.into_iter().map(|tail| 10.0 * times * tail * run_factor(random, deviation)).collect()
}

/// Outcomes of 200 comparisons of repeats, each of seeds of its own.
fn changes(n: usize, times: f64, deviation: f64) -> Vec<Change> {
    let change = |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let (a, b) = (runs(&mut random, n, 1.0, deviation), runs(&mut random, n, times, deviation));
        repeats(&a, &b, Better::Lower, MS).unwrap().change()
    };
    (0..200).map(change).collect()
}

fn count(changes: &[Change], wanted: Change) -> usize {
    changes.iter().filter(|change| **change == wanted).count()
}

/// A run whose seconds depend on each other: each second is half the one before, and the whole run has a
/// factor of its own.
fn series(random: &mut fastrand::Rng, times: f64, deviation: f64) -> Vec<f64> {
    let factor = times * run_factor(random, deviation);
    let mut last = 0.0;
    let mut row = || {
        last = (last + second(random)) / 2.0;
        factor * last
    };
    (0..60).map(|_| row()).collect()
}

fn singles(times: f64, deviation: f64) -> Vec<Change> {
    let change = |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let (a, b) = (series(&mut random, 1.0, deviation), series(&mut random, times, deviation));
        let whole = |series: &[f64]| series.iter().sum::<f64>() / series.len() as f64;
        let of = |series| Single { value: whole(series), series };
        single(of(&a), of(&b), Better::Lower, MS).unwrap().change()
    };
    (0..100).map(change).collect()
}

#[test]
fn equal_servers_differ_in_1_percent() {
    let claims_of = |(n, deviation)| {
        let found = changes(n, 1.0, deviation);
        count(&found, Change::Slower) + count(&found, Change::Faster)
    };
    let claims = [(2, 0.0), (3, 0.0), (3, 0.3), (5, 0.1), (10, 0.5)].map(claims_of);
    assert!(claims.iter().sum::<usize>() <= 10, "{claims:?} of 200 each");
}

/// Repeated evaluation finds more false differences; with these numbers of repeats, it finds no more than one
/// evaluation at 95%.
#[test]
fn repeated_looks_differ_in_5_percent() {
    let ever_differs = |deviation: f64, seed: u64| {
        let mut random = fastrand::Rng::with_seed(seed);
        let n = LOOKS[LOOKS.len() - 1] as usize;
        let (a, b) = (runs(&mut random, n, 1.0, deviation), runs(&mut random, n, 1.0, deviation));
        let change =
            |&n: &u32| repeats(&a[..n as usize], &b[..n as usize], Better::Lower, MS).unwrap().change();
        LOOKS.iter().map(change).any(|change| matches!(change, Change::Slower | Change::Faster))
    };
    for deviation in [0.0, 0.1, 0.5] {
        let claims = (0..400).filter(|&seed| ever_differs(deviation, seed)).count();
        assert!(claims <= 20, "{claims} of 400 that vary by {deviation}");
    }
}

#[test]
fn shifts_are_never_called_no_difference() {
    for (n, times, deviation) in
        [(3, 1.05, 0.02), (5, 1.05, 0.0), (10, 1.05, 0.02), (10, 0.95, 0.02), (60, 1.05, 0.0), (3, 3.45, 0.5)]
    {
        let found = changes(n, times, deviation);
        assert_eq!(count(&found, Change::NoDifference), 0, "{n} repeats, {times} times, {deviation}");
    }
    let found = count(&changes(90, 1.05, 0.02), Change::Slower);
    assert!(found >= 180, "5% more was found in {found} of 200 with 90 repeats");
}

#[test]
fn fivefold_latency_shows_after_three_repeats() {
    let found = count(&changes(3, 4.93, 0.1), Change::Slower);
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn single_runs_tell_constant_figures() {
    for deviation in [0.0, 0.25] {
        let found = singles(1.0, deviation);
        assert!(count(&found, Change::CannotTell) >= 95, "{found:?} with {deviation}");
        assert_eq!(count(&found, Change::NoDifference), 0);
    }
    assert_eq!(count(&singles(3.45, 0.25), Change::NoDifference), 0);
    let found = count(&singles(4.93, 0.15), Change::Slower);
    assert!(found >= 90, "{found} of 100");
}

#[test]
fn as_many_repeats_as_it_says_decide() {
    let told = |n: usize, share: f64, seed: u64| {
        let mut random = fastrand::Rng::with_seed(seed);
        let (a, b) = (runs(&mut random, n, 1.0, 0.1), runs(&mut random, n, 1.0, 0.1));
        repeats(&a, &b, Better::Lower, MS).unwrap().ruling(Change::Slower, share)
    };
    let mut random = fastrand::Rng::with_seed(3);
    let (a, b) = (runs(&mut random, 10, 1.0, 0.1), runs(&mut random, 10, 1.0, 0.1));
    let ToTell::Repeats(needed @ 15..=60) = repeats(&a, &b, Better::Lower, MS).unwrap().repeats_for(0.15)
    else {
        panic!("15 to 60 would");
    };
    let kept = (0..100).filter(|&seed| told(needed as usize, 0.15, seed) == Ruling::Kept).count();
    assert!(kept >= 75, "{kept} of 100 with {needed} repeats");
}

#[test]
fn results_near_the_bound_ask_for_repeats() {
    let found = repeats(&[100.0, 100.5, 99.5], &[104.9, 105.4, 104.4], Better::Lower, MS).unwrap();
    assert_eq!((found.change(), found.ruling(Change::Slower, 0.05)), (Change::Slower, Ruling::CannotTell));
    assert_eq!(found.repeats_for(0.05), ToTell::Repeats(6));
    let wild = repeats(&[1.0, 10.0, 100.0], &[1.0, 10.0, 100.0], Better::Lower, MS).unwrap();
    assert_eq!((wild.change(), wild.repeats_for(0.05)), (Change::CannotTell, ToTell::More));
}

#[test]
fn shares_too_small_to_see_ask_for_none() {
    let of_none = repeats(&[0.0; 3], &[0.0, 1.0, 0.0], Better::Lower, Kind::Counted).unwrap();
    assert_eq!(of_none.repeats_for(0.0), ToTell::NoNumber);
    let coarse = repeats(&[1.0, 1.0, 2.0], &[1.0, 2.0, 1.0], Better::Lower, Kind::Measured { grain: 1.0 });
    assert_eq!(coarse.unwrap().repeats_for(0.05), ToTell::NoNumber);
}

#[test]
fn a_bound_is_broken_kept_or_neither() {
    let of = |b: [f64; 3], better, toward, share| {
        repeats(&[100.0, 101.0, 99.0], &b, better, MS).unwrap().ruling(toward, share)
    };
    let (same, worse, wild) = ([100.0, 101.0, 99.0], [150.0, 151.0, 149.0], [50.0, 100.0, 200.0]);
    for share in [0.0, 0.05, 0.2] {
        assert_eq!(of(worse, Better::Lower, Change::Slower, share), Ruling::Broken);
        assert_eq!(of(worse, Better::Lower, Change::Faster, share), Ruling::Kept);
        assert_eq!(of(worse, Better::Higher, Change::Slower, share), Ruling::Kept);
        assert_eq!(of(wild, Better::Lower, Change::Slower, share), Ruling::CannotTell);
    }
    assert_eq!(of(same, Better::Lower, Change::Slower, 0.2), Ruling::Kept);
    assert_eq!(of(worse, Better::Lower, Change::Slower, 0.6), Ruling::Kept, "slower, but not by that much");
}

#[test]
fn more_is_faster_only_for_rates() {
    let (a, b) = ([100.0, 101.0, 99.0], [150.0, 151.0, 149.0]);
    assert_eq!(repeats(&a, &b, Better::Higher, MS).unwrap().change(), Change::Faster);
    assert_eq!(repeats(&a, &b, Better::Lower, MS).unwrap().change(), Change::Slower);
    assert_eq!(repeats(&b, &a, Better::Lower, MS).unwrap().change(), Change::Faster);
}

#[test]
fn a_difference_within_the_precision_is_none() {
    let found = repeats(&[100.0; 3], &[100.05; 3], Better::Lower, MS).unwrap();
    assert_eq!(found.change(), Change::NoDifference);
    assert!(found.difference.contains(0.0));
    assert_eq!(repeats(&[100.0], &[1.0, 2.0], Better::Lower, MS), None);
    let microseconds = repeats(&[0.050; 3], &[0.051; 3], Better::Lower, MS).unwrap();
    assert_eq!(microseconds.change(), Change::CannotTell, "read in whole µs");
}

#[test]
fn events_vary_as_events_do() {
    let of = |a: &[f64], b: &[f64]| repeats(a, b, Better::Lower, Kind::Counted).unwrap().change();
    assert_eq!(of(&[0.0, 0.0], &[1.0, 1.0]), Change::CannotTell);
    assert_eq!(of(&[0.0; 3], &[500.0, 480.0, 510.0]), Change::Slower);
    assert_eq!(of(&[0.0; 3], &[0.0; 3]), Change::NoDifference);
}

#[test]
fn the_interval_holds_its_estimate() {
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..2_000 {
        let mut side = |n: usize| -> Vec<f64> {
            let scale = 10f64.powi(random.i32(-3..9));
            (0..n).map(|_| scale * random.f64() * f64::from(u8::from(random.f64() < 0.9))).collect()
        };
        let (a, b) = (side(3), side(4));
        for kind in [MS, Kind::Measured { grain: 0.0 }, Kind::Counted] {
            let found = repeats(&a, &b, Better::Lower, kind).unwrap();
            let (low, high) = (found.difference.low, found.difference.high);
            assert!(low <= found.b - found.a && found.b - found.a <= high || low == high, "{found:?}");
        }
    }
}

#[test]
fn differences_of_equals_do_not_stand_among_many() {
    let [mut claimed, mut standing] = [0, 0];
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut metric = || {
            let [a, b] = [(); 2].map(|()| runs(&mut random, 8, 1.0, 0.05));
            repeats(&a, &b, Better::Lower, MS).unwrap()
        };
        let all: Vec<Comparison> = (0..11).map(|_| metric()).collect();
        let is_change = |found: &Comparison| matches!(found.change(), Change::Faster | Change::Slower);
        claimed += u32::from(all.iter().any(is_change));
        standing += u32::from(all.iter().any(|found| is_change(found) && found.stands_among(11)));
    }
    assert!(claimed > 8 && standing <= 6, "{standing} of {claimed}");
    let plain = repeats(&[100.0, 101.0, 99.0], &[150.0, 151.0, 149.0], Better::Lower, MS).unwrap();
    assert!(plain.stands_among(11));
}
