use super::estimate::CLIENTS_APART_MIN;
use super::*;

const CONFIG: SearchConfig =
    SearchConfig { start: 1_000, step: 1_000, max: 100_000, unit: 1, tolerance: 0.05, repeats: 3 };

/// Runs a search against a server that passes a level if `passes` is true; returns the result and the levels
/// asked.
fn run(config: SearchConfig, mut passes: impl FnMut(u64) -> bool) -> (Capacity, Vec<u64>) {
    let mut search = Search::new(config);
    let mut asked = Vec::new();
    loop {
        match search.next() {
            Ask::Measure(clients) => {
                asked.push(clients);
                assert!(asked.len() < 100, "the search does not end: {asked:?}");
                assert!((1..=config.max).contains(&clients), "asked for {clients}");
                search.handle(clients, passes(clients));
            }
            Ask::Done(capacity) => return (capacity, asked),
        }
    }
}

#[test]
fn gallops_bisects_and_repeats() {
    let (capacity, asked) = run(CONFIG, |clients| clients <= 12_345);
    assert_eq!(asked[..5], [1_000, 2_000, 4_000, 8_000, 16_000], "the increase doubles");
    assert_eq!(asked[5..9], [12_000, 14_000, 13_000, 12_500], "the gap halves");
    assert_eq!(asked[9..], [12_500, 12_000, 12_500, 12_000], "both ends are measured three times");
    assert!((12_000..=12_500).contains(&capacity.clients), "{capacity:?}");
    assert!(capacity.low <= 12_345 && 12_345 <= capacity.high, "{capacity:?}");
    assert!(capacity.high - capacity.low < 2_500, "{capacity:?}");
    assert!(!capacity.at_least);
}

#[test]
fn says_at_least_when_nothing_fails() {
    let (capacity, asked) = run(CONFIG, |_| true);
    assert_eq!(asked, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 100_000]);
    assert_eq!((capacity.clients, capacity.at_least), (100_000, true));
}

#[test]
fn searches_below_a_start_that_fails() {
    let (capacity, _) = run(CONFIG, |clients| clients <= 37);
    assert!(capacity.low <= 38 && 37 <= capacity.high && capacity.clients.abs_diff(37) <= 3, "{capacity:?}");
    let (capacity, asked) = run(CONFIG, |_| false);
    assert_eq!((asked.last(), capacity.low), (Some(&1), 0), "{capacity:?}");
    assert!(capacity.clients <= 1, "{capacity:?}");
}

#[test]
fn halved_levels_are_of_full_rooms() {
    let config = SearchConfig { start: 16, step: 16, max: 1_000, unit: 8, ..CONFIG };
    for limit in [0, 7, 8, 50, 300] {
        let (capacity, asked) = run(config, |clients| clients <= limit);
        assert!(asked.iter().all(|clients| clients % 8 == 0), "{asked:?}");
        assert!(capacity.low <= limit + 8 && limit <= capacity.high + 8, "{limit}: {capacity:?}");
    }
    let (_, asked) = run(SearchConfig { start: 5, unit: 2, ..config }, |_| false);
    assert_eq!(asked, [5, 2, 2, 2], "one client has nobody to send to");
}

#[test]
fn one_unlucky_measurement_does_not_decide() {
    let mut first = true;
    let (capacity, _) = run(CONFIG, |clients| {
        let unlucky = clients == 8_000 && std::mem::take(&mut first);
        clients <= 8_700 && !unlucky
    });
    assert!(capacity.low <= 8_700 && 8_700 <= capacity.high, "{capacity:?}");
}

#[test]
fn more_measurements_narrow_the_interval() {
    let width = |repeats| {
        let (capacity, _) = run(SearchConfig { repeats, ..CONFIG }, |clients| clients <= 12_345);
        capacity.high - capacity.low
    };
    assert!(width(10) < width(1), "{} < {}", width(10), width(1));
}

#[test]
fn intervals_hold_soft_limits_95_in_100() {
    let (mut covered, mut undecided) = (0, 0);
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let softness = 600.0;
        let (capacity, _) = run(SearchConfig { repeats: 5, ..CONFIG }, |clients| {
            random.f64() < 1.0 / (1.0 + ((clients as f64 - 12_345.0) / softness).exp())
        });
        let is_covered = capacity.low <= 12_345 && 12_345 <= capacity.high;
        covered += u32::from(is_covered && capacity.is_decided());
        assert!((8_000..17_000).contains(&capacity.clients), "seed {seed}: {capacity:?}");
        assert!(capacity.low <= capacity.clients && capacity.clients <= capacity.high, "{capacity:?}");
        undecided += u32::from(!capacity.is_decided());
    }
    assert!(undecided <= 10, "{undecided} of 200");
    assert!(20 * covered >= 19 * (200 - undecided), "{covered} of {}", 200 - undecided);
}

/// A machine that fails now and then may fail a level that the server holds, but never holds a level that the
/// server does not.
#[test]
fn an_interval_does_not_reach_what_never_passed() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut outcomes = std::collections::BTreeMap::<u64, (u32, u32)>::new();
        let config = SearchConfig { start: 10, step: 10, max: 1_000, ..CONFIG };
        let (capacity, _) = run(config, |clients| {
            let passes = clients <= 60 && random.f64() < 0.8;
            let (passed, tried) = outcomes.entry(clients).or_default();
            (*passed, *tried) = (*passed + u32::from(passes), *tried + 1);
            passes
        });
        let never = outcomes.iter().rev().take_while(|(_, (passed, _))| *passed == 0);
        let edge = never.filter(|(_, (_, tried))| *tried >= 3).last().map(|(&clients, _)| clients);
        assert!(edge.is_none_or(|edge| capacity.high < edge), "seed {seed}: {capacity:?} {outcomes:?}");
    }
}

#[test]
fn capacities_of_random_servers_are_not_contradicted() {
    let mut undecided = 0;
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut outcomes = std::collections::BTreeMap::<u64, i32>::new();
        let (capacity, _) = run(SearchConfig { start: 100, step: 100, ..CONFIG }, |clients| {
            let passed = random.f64() < 0.6;
            *outcomes.entry(clients).or_default() += if passed { 1 } else { -1 };
            passed
        });
        if !capacity.is_decided() {
            undecided += 1;
            continue;
        }
        let Capacity { low, high, at_least, .. } = capacity;
        assert!(high <= WIDTH_MAX * low || high - low <= CLIENTS_APART_MIN, "{capacity:?}");
        assert!(at_least || outcomes.iter().all(|(&clients, &most)| clients <= high || most <= 0));
        assert!(
            outcomes.iter().all(|(&clients, &most)| clients >= low || most >= 0),
            "{capacity:?} {outcomes:?}"
        );
    }
    assert!(undecided >= 50, "{undecided} of 200");
}

#[test]
fn unknown_interval_ends_are_said() {
    let of = |low, high, contradicted_by| {
        let (clients, confidence) = ((low + high) / 2, 0.95);
        Capacity { clients, low, high, confidence, at_least: false, contradicted_by }.doubt()
    };
    assert_eq!(of(35, 1_189, Some(1_500)), Some(Inconclusive::Wide));
    assert_eq!(of(900, 1_189, Some(1_500)), Some(Inconclusive::Contradicted(1_500)));
    assert_eq!(of(900, 1_800, None), None);
    assert_eq!(of(0, 3, None), None, "a handful is told apart by clients, not by shares");
    let at_least =
        Capacity { low: 10, high: 10, clients: 10, confidence: 0.95, at_least: true, contradicted_by: None };
    assert!(at_least.is_decided());
}

#[test]
fn one_measurement_far_outside_contradicts() {
    let found = Capacity { clients: 850, low: 800, high: 1_100, ..Search::new(CONFIG).at_least_max() };
    let of = |at_least, (clients, passed, failed)| {
        let levels = [Level { clients, passed, failed }];
        Capacity { at_least, ..found }.contradicted(&levels).contradicted_by
    };
    for (level, contradicts) in
        [((10, 4, 1), true), ((400, 4, 1), false), ((2_200, 1, 4), false), ((2_201, 1, 4), true)]
    {
        assert_eq!(of(false, level), contradicts.then_some(level.0), "{level:?}");
    }
    assert_eq!(of(true, (10, 4, 1)), Some(10), "what was held at most was not held at least");
    assert_eq!(of(true, (2_201, 1, 4)), None);
}

#[test]
fn passes_contradict_a_capacity_of_none() {
    let found =
        Capacity { clients: 0, low: 0, high: 1, at_least: false, ..Search::new(CONFIG).at_least_max() };
    let of = |passed| found.contradicted(&[Level { clients: 1, passed, failed: 2 }]).contradicted_by;
    assert_eq!((of(0), of(1)), (None, Some(1)));
}

#[test]
fn the_highest_level_that_contradicts_is_named() {
    let levels = [(500, 0, 2), (800, 3, 0), (900, 1, 2), (1_500, 2, 1), (2_000, 1, 1)];
    let levels = levels.map(|(clients, passed, failed)| Level { clients, passed, failed });
    let found = Capacity { clients: 850, low: 800, high: 1_100, ..Search::new(CONFIG).at_least_max() };
    let of = |at_least, levels| Capacity { at_least, ..found }.contradicted(levels).contradicted_by;
    assert_eq!(of(false, &levels), Some(1_500));
    assert_eq!(of(false, &levels[..3]), Some(500), "it failed below the interval");
    assert_eq!(of(true, &levels), Some(500), "nothing is above a highest level that passed");
    assert_eq!(of(false, &levels[1..3]), None);
}

#[test]
#[should_panic(expected = "only the level asked for")]
fn an_answer_nobody_asked_for_is_a_mistake() {
    Search::new(CONFIG).handle(3, true);
}
