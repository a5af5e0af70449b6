//! The conclusion of a run's steps.

use super::*;

#[test]
fn a_run_is_concluded_from_its_steps() {
    let outcome = |limit, passed| LimitOutcome {
        status: LimitStatus::of(passed),
        actual: Some(1.0),
        ..LimitOutcome::of_text(limit)
    };
    let found = |bottleneck| Some(Found { bottleneck, cause: Cause::told(String::new()) });
    let step = |clients, p95, bottleneck| Step {
        clients,
        limits: vec![outcome("p95<1ms", p95), outcome("missing==0", true)],
        bottleneck: found(bottleneck),
        caveats: vec![Caveat::GeneratorFull],
        ..Step::default()
    };
    let mut steps = vec![step(1, true, Bottleneck::None), step(2, false, Bottleneck::Generator)];
    steps[1].caveats.push(Caveat::Interrupted);
    let verdict = conclude(Scenario::Echo, &steps);
    assert_eq!(verdict.limits, [outcome("p95<1ms", false), outcome("missing==0", true)]);
    assert_eq!(verdict.bottleneck, found(Bottleneck::Generator));
    let placed = |caveat: Caveat, place| RunCaveat { low: caveat.clone(), high: caveat, place };
    assert_eq!(
        verdict.caveats,
        [
            placed(Caveat::GeneratorFull, Place::All),
            placed(Caveat::Interrupted, Place::Some { steps: 1, clients: (2, 2) })
        ]
    );
    assert_eq!(conclude(Scenario::Echo, &[]).caveats, [Caveat::NothingMeasured.into()]);
}

#[test]
fn searches_conclude_from_the_lightest_broken_step() {
    let step = |clients, asked_per_s, broke: Option<f64>| Step {
        clients,
        rates: Rates { asked_per_s, ..Rates::default() },
        limits: vec![LimitOutcome {
            status: LimitStatus::of(broke.is_none()),
            actual: broke,
            ..LimitOutcome::of_text("p95<1ms")
        }],
        bottleneck: Some(Cause::ServerTookNone { clients }.into()),
        ..Step::default()
    };
    let steps = [
        step(100, None, None),
        step(400, None, Some(9.0)),
        step(120, None, Some(2.0)),
        step(110, None, None),
    ];
    let verdict = conclude(Scenario::Echo, &steps);
    assert_eq!(lightest_broken(&steps, &crate::Verdict::default()).unwrap().clients, 120);
    assert_eq!((verdict.limits[0].passed(), verdict.limits[0].actual), (false, Some(2.0)));
    assert_eq!(verdict.bottleneck, Some(Cause::ServerTookNone { clients: 120 }.into()));
    assert_eq!(
        conclude(Scenario::Echo, &steps[..1]).bottleneck,
        Some(Cause::ServerTookNone { clients: 100 }.into())
    );
    let rates = [step(50, Some(400.0), Some(9.0)), step(50, Some(200.0), Some(2.0))];
    assert_eq!(
        conclude(Scenario::Echo, &rates).limits[0].actual,
        Some(2.0),
        "at one number of clients, the lowest rate"
    );
    let tries = [step(50, Some(200.0), Some(9.0)), step(50, Some(200.0), None)];
    let of_sweep = conclude(Scenario::Saturate, &tries);
    assert!(lightest_broken(&tries, &of_sweep).is_none(), "the second try passed");
    assert!(of_sweep.limits[0].passed() && is_refuted(&tries, &of_sweep, &tries[0]));
    assert!(!is_refuted(&tries, &of_sweep, &tries[1]), "it broke nothing");
    assert!(!is_refuted(&tries[..1], &of_sweep, &tries[0]), "it was asked once");
    let broken = |text| LimitOutcome { actual: Some(3.0), ..LimitOutcome::of_text(text) };
    for (text, stands) in [("missing<1", false), ("duplicate<1", true), ("wrong<1", true)] {
        let mut tries = tries.clone();
        tries[0].limits = vec![broken(text)];
        assert_eq!(is_refuted(&tries, &of_sweep, &tries[0]), !stands, "{text}");
        let safe_per_s = conclude(Scenario::Saturate, &tries).levels[0].safe_per_s;
        assert_eq!(safe_per_s, (!stands).then_some(200.0), "{text}");
    }
}

#[test]
fn repeated_loads_are_decided_by_most() {
    let step = |(at, bottleneck): (usize, Bottleneck)| Step {
        clients: 43,
        limits: vec![LimitOutcome { actual: Some(2.0), ..LimitOutcome::of_text("p95<1ms") }],
        bottleneck: Some(Found { bottleneck, cause: Cause::told(at.to_string()) }),
        ..Step::default()
    };
    let said = |who: &[Bottleneck]| {
        let steps: Vec<Step> = who.iter().copied().enumerate().map(step).collect();
        let found = conclude(Scenario::Echo, &steps).bottleneck.unwrap();
        (found.bottleneck, found.cause.to_string())
    };
    let (server, machine) = (Bottleneck::Server, Bottleneck::Machine);
    assert_eq!(said(&[server, machine, machine]), (machine, "1".into()));
    assert_eq!(said(&[machine, machine, server]), (machine, "0".into()));
    assert_eq!(said(&[server, machine, server]), (server, "0".into()));
    assert_eq!(said(&[server, machine]), (machine, "1".into()), "in doubt, not the server");
    assert_eq!(said(&[machine, server]), (machine, "0".into()));
}

#[test]
fn sweeps_conclude_from_their_best_level() {
    let step = |clients, per_s, passed| Step {
        clients,
        rates: Rates { asked_per_s: Some(per_s), received_per_s: Some(per_s), ..Rates::default() },
        limits: vec![LimitOutcome { status: LimitStatus::of(passed), ..LimitOutcome::of_text("p95<1ms") }],
        bottleneck: Some(Cause::ServerTookNone { clients }.into()),
        ..Step::default()
    };
    let steps =
        [step(50, 100.0, true), step(50, 200.0, false), step(500, 400.0, true), step(500, 800.0, false)];
    let verdict = conclude(Scenario::Saturate, &steps);
    let safe: Vec<_> = verdict.levels.iter().map(|level| (level.clients, level.safe_per_s)).collect();
    assert_eq!(safe, [(50, Some(100.0)), (500, Some(400.0))]);
    assert_eq!(verdict.bottleneck, Some(Cause::ServerTookNone { clients: 500 }.into()));
}
