use stats::Timed;

use super::*;
use crate::step::Step;
use crate::{GeneratorUse, RoleFigures, SayFigures, ServerUse};

const MS: u64 = 1_000_000;

/// 100 round trips of 1 to 100 ms, 20,000 deliveries expected, 200 missing.
fn step() -> Step {
    let mut step = Step::default();
    for i in 1..=100 {
        step.figures.rtt.record_ns(i * MS);
    }
    step.figures.service = step.figures.rtt.clone();
    step.figures.delivery.record_ns(300 * MS);
    step.counts =
        stats::Counts { sent: 900, expected: 20_000, missing: 200, connects: 100, ..Default::default() };
    for at in 0..5 {
        step.errors.add("reset", at, "connection reset");
    }
    step.rates.achieved_per_s = Some(499.0);
    step.server =
        Some(ServerUse { cpu_percent_mean: Some(80.0), rss_bytes_peak: Some(1 << 20), ..Default::default() });
    step.generator = Some(GeneratorUse::default());
    step
}

fn outcome(limit: &str) -> LimitOutcome {
    Limit::parse(limit, Scenario::Broadcast).unwrap_or_else(|error| panic!("{error}")).check(&step())
}

#[test]
fn every_figure_is_held_to_its_limit() {
    for (limit, passed) in [
        ("p95<250ms", true),
        ("p95 < 95ms", false),
        ("rtt.p99<=1s", true),
        ("rtt.max<=100ms", true),
        ("max<100ms", false),
        ("min>=1ms", true),
        ("mean==50500us", true),
        ("median<=50.1ms", true),
        ("p99.9<101ms", true),
        ("p999<101ms", true),
        ("delivery.p99.9<299ms", false),
        ("errors<1%", true),
        ("errors<0.5%", false),
        ("errors==5", true),
        ("missing==0", false),
        ("missing<=1%", true),
        ("rate>=500/s", false),
        ("rate>400", true),
        ("server.cpu<90%", true),
        ("server.rss<=1MiB", true),
        ("server.rss<1MB", false),
    ] {
        assert_eq!(outcome(limit).passed(), passed, "{limit}: {:?}", outcome(limit));
    }
}

#[test]
fn an_outcome_says_what_was_measured() {
    let missing = outcome("missing<0.5%");
    assert_eq!((missing.actual, missing.unit), (Some(1.0), Unit::Percent));
    assert_eq!(outcome("max<1s").actual, Some(100.0));
    assert_eq!(outcome("max<1s").of.to_string(), "max<1s");
}

#[test]
fn unmeasured_figures_break_their_limit() {
    for limit in ["completion.p95<1s", "sent_rate>=0", "generator.cpu<100%", "disconnects<1%"] {
        let outcome = outcome(limit);
        assert_eq!((outcome.passed(), outcome.actual), (false, None), "{limit}");
    }
}

#[test]
fn percentages_are_held_against_what_was_typed() {
    let step = Step {
        counts: stats::Counts { sent: 100, expected: 100, received: 71, missing: 29, ..Default::default() },
        ..Step::default()
    };
    let passes = |text: &str| Limit::parse(text, Scenario::Echo).unwrap().check(&step).passed();
    assert!(passes("missing<=29%") && passes("missing==29%") && !passes("missing<29%"));
    assert_eq!(StepFigure::parse("rtt.p29", Scenario::Echo).unwrap().figure.name(), "rtt.p29");
}

#[test]
fn bare_percentiles_mean_the_main_figure() {
    let mut step = Step::default();
    step.figures.handshake.record_ns(7 * MS);
    assert_eq!(Limit::parse("p50<1s", Scenario::Idle).unwrap().check(&step).actual, Some(7.0));
    assert_eq!(Limit::parse("p50<1s", Scenario::Echo).unwrap().check(&step).actual, None);
}

#[test]
fn figures_have_words_for_people() {
    let words = |name| StepFigure::parse(name, Scenario::Broadcast).unwrap().words();
    let names = ["rtt.p999", "delivery.median", "p95", "connect_timeouts", "server.rss", "say.line.rtt.p99"];
    let expected = [
        "round trip p99.9",
        "delivery p50",
        "round trip p95",
        "timed out",
        "server memory",
        "round trip p99 of line messages",
    ];
    assert_eq!(names.map(words), expected);
}

#[test]
fn a_wrong_figure_lists_what_there_is() {
    let error = Limit::parse("delivry.p99<1s", Scenario::Broadcast).unwrap_err().to_string();
    let listed: Vec<&str> = error.split([' ', ',', ';']).collect();
    for timed in Timed::ALL.into_iter().filter(|timed| *timed != Timed::Rtt) {
        let is_of_broadcasts = Scenario::Broadcast.timed().any(|known| known == timed);
        assert_eq!(listed.contains(&timed.name()), is_of_broadcasts, "{}: {error}", timed.name());
    }
    for name in
        ["p99.9", "errors", "missing", "unusable", "rate", "server.cpu", "delivered", "say.NAME.delivery.p99"]
    {
        assert!(listed.contains(&name), "{name}: {error}");
    }
    assert!(!listed.contains(&"not_back"), "of a storm: {error}");
    for limit in ["delivery.p99<1s", "rtt.p100<1s", "rtt.p0<1s", "gap<1s", "p<1s", "rtt.pp9<1s"] {
        assert!(matches!(Limit::parse(limit, Scenario::Echo), Err(LimitError::Figure { .. })), "{limit}");
    }
}

#[test]
fn names_of_other_tools_name_ours() {
    let own = |name: &str| match Limit::parse(&format!("{name}<1s"), Scenario::Broadcast) {
        Err(LimitError::Foreign { own, .. }) => own,
        other => panic!("{name}: {other:?}"),
    };
    for (theirs, ours) in [
        ("avg", "mean"),
        ("p(95)", "p95"),
        ("P99", "p99"),
        ("http_req_duration p(95)", "p95"),
        ("latency", "p95"),
        ("latency.avg", "mean"),
        ("delivery.avg", "delivery.mean"),
        ("rps", "rate"),
        ("http_req_failed", "errors"),
    ] {
        assert_eq!(own(theirs), ours, "{theirs}");
        assert!(StepFigure::parse(ours, Scenario::Broadcast).is_ok(), "{ours}");
    }
    let error = Limit::parse("avg<5ms", Scenario::Echo).unwrap_err().to_string();
    assert_eq!(error, "there is no metric \"avg\" in echo: write mean");
}

#[test]
fn limits_take_their_units() {
    for limit in [
        "received_byte_rate>=1MB/s",
        "sent_byte_rate>=1MB/s",
        "received_byte_rate>=64KiB",
        "rate>=30/min",
        "rate>=1.5k/s",
    ] {
        Limit::parse(limit, Scenario::Broadcast).unwrap_or_else(|error| panic!("{limit}: {error}"));
    }
    let messages = Limit::parse("rate>=1MB/s", Scenario::Echo);
    assert!(matches!(messages, Err(LimitError::Value { .. })), "{messages:?}");
}

#[test]
fn a_bare_figure_is_its_largest_value() {
    let mut step = Step::default();
    step.figures.first.record_ns(400_000_000);
    step.figures.first.record_ns(600_000_000);
    let check = |limit: &str| Limit::parse(limit, Scenario::Stream).unwrap().check(&step);
    assert!(!check("first<500ms").passed() && check("first<700ms").passed());
    assert!(
        check("first.min<500ms").passed() && check("p50<500ms").passed(),
        "the figure of a bare percentile"
    );
}

#[test]
fn a_wrong_value_says_what_it_should_be() {
    let error = Limit::parse("p95<250", Scenario::Echo).unwrap_err().to_string();
    assert!(error.starts_with("in the limit \"p95<250\", \"250\" is not a duration"), "{error}");
    for limit in ["errors<1ms", "missing<0.5", "rate>5ms", "server.cpu<5"] {
        assert!(matches!(Limit::parse(limit, Scenario::Echo), Err(LimitError::Value { .. })), "{limit}");
    }
}

#[test]
fn invalid_limits_are_refused() {
    for limit in ["", "p95", "<250ms", "p95<", "p95=250ms", "p95 250ms"] {
        assert!(matches!(Limit::parse(limit, Scenario::Echo), Err(LimitError::Shape(_))), "{limit}");
    }
}

#[test]
fn missing_returns_break_limits() {
    let mut step = Step::default();
    step.figures.recovery.record_n_ns(1_000 * MS, 60);
    step.figures.recovery.record_n_ns(3_000 * MS, 40);
    let check = |step: &Step, limit: &str| Limit::parse(limit, Scenario::Storm).unwrap().check(step);
    for limit in
        ["p99<5s", "recovery.p61<5s", "max<5s", "mean<5s", "p60<5s", "min<5s", "p99>=1s", "not_back==0"]
    {
        assert!(check(&step, limit).passed(), "{limit}: all are back");
    }
    step.counts.not_back = 40;
    for limit in ["p99<5s", "recovery.p61<5s", "max<5s", "mean<5s", "p99>=1s"] {
        let outcome = check(&step, limit);
        assert!(
            !outcome.passed() && outcome.is_at_least() && outcome.actual.is_some(),
            "{limit}: {outcome:?}"
        );
    }
    for limit in ["p60<5s", "min<5s", "not_back<=40%"] {
        let outcome = check(&step, limit);
        assert!(outcome.passed() && !outcome.is_at_least(), "{limit}: {outcome:?}");
    }
    assert!(!check(&step, "not_back==0").passed());
    assert!(Limit::parse("not_back==0", Scenario::Echo).is_err(), "nobody is dropped there");
}

#[test]
fn answers_that_never_began_open_first() {
    let mut step = Step::default();
    step.counts = stats::Counts { sent: 100, expected: 100, received: 90, missing: 10, ..step.counts };
    // Two broke off behind their first event.
    step.figures.first.record_n_ns(80 * MS, 92);
    let check = |step: &Step, limit: &str| Limit::parse(limit, Scenario::Stream).unwrap().check(step);
    for limit in ["p95<500ms", "p93<500ms", "first<500ms", "mean<500ms"] {
        let outcome = check(&step, limit);
        assert!(
            !outcome.passed() && outcome.is_at_least() && outcome.actual == Some(80.0),
            "{limit}: {outcome:?}"
        );
    }
    for limit in ["p92<500ms", "p50<500ms", "min<500ms"] {
        assert!(check(&step, limit).passed(), "{limit}");
    }
    // Without an event, and whole.
    step.counts = stats::Counts { received: 98, missing: 2, ..step.counts };
    assert!(check(&step, "p97<500ms").passed() && !check(&step, "p98<500ms").passed());
}

#[test]
fn no_share_is_above_the_whole() {
    // The tenth step of a walk: 100 clients more, and then all 1,000 are lost; each copy came three times.
    let mut step = Step { clients: 1_000, usable: Some(1_000), ..Step::default() };
    step.counts = stats::Counts {
        sent: 10,
        expected: 100,
        received: 100,
        late: 100,
        duplicate: 200,
        unexpected: 500,
        corrupt: 150,
        connects: 100,
        connected: 100,
        disconnects: 1_000,
        ..Default::default()
    };
    for at in 0..3_000 {
        step.errors.add("unmatched", at, "who knows");
    }
    let share =
        |name: &str| Limit::parse(&format!("{name}<1%"), Scenario::Broadcast).unwrap().check(&step).actual;
    for (name, percent) in [
        ("late", 100.0),
        ("duplicate", 100.0 * 200.0 / 950.0),
        ("unexpected", 100.0 * 500.0 / 950.0),
        ("corrupt", 100.0 * 150.0 / 950.0),
        ("disconnects", 100.0),
        ("errors", 100.0),
    ] {
        assert_eq!(share(name), Some(percent), "{name}");
    }
}

#[test]
fn limits_may_name_a_kind_of_messages() {
    let mut step = Step::default();
    let mut say = |name: &str, ms: u64, missing: u64| {
        let counts =
            stats::Counts { sent: 10, expected: 20, received: 20 - missing, missing, ..Default::default() };
        let mut say = SayFigures { name: name.into(), counts, ..SayFigures::default() };
        say.delivery.record_n_ns(ms * 1_000_000, 20 - missing);
        say.rtt.record_n_ns(ms * 1_000_000, 10);
        step.figures.delivery.merge(&say.delivery);
        step.figures.rtt.merge(&say.rtt);
        step.figures.service.merge(&say.rtt);
        step.says.push(say);
    };
    say("line", 5, 0);
    say("news", 90, 2);
    let passes = |text: &str| Limit::parse(text, Scenario::Broadcast).unwrap().check(&step).passed();
    assert!(passes("say.line.delivery.p99<=10ms") && !passes("say.news.delivery.p99<=10ms"));
    assert!(passes("say.line.rtt.max<=10ms") && passes("say.line.missing==0"));
    assert!(!passes("say.news.missing==0") && passes("say.news.missing<=10%"));
    assert!(!passes("say.other.missing==0"), "what was not measured is no proof");
    for wrong in [
        "say.line.server.cpu<5%",
        "say.line.rate>=5/s",
        "say.line.handshake.p99<1s",
        "say.line.disconnects==0",
        "say.line.corrupt==0",
        "say.line<5ms",
    ] {
        let error = Limit::parse(wrong, Scenario::Broadcast).unwrap_err();
        assert!(error.to_string().contains("say.NAME.delivery.p99"), "{wrong}: {error}");
    }
    assert!(Limit::parse("say.line.delivery.p99<=10ms", Scenario::Echo).is_err());
}

#[test]
fn limits_may_name_a_role() {
    let role = |name: &str, ms: u64, failed: u64| {
        let mut role = RoleFigures { name: name.into(), people: 10, ..RoleFigures::default() };
        role.counts = stats::Counts {
            sent: 10,
            expected: 20,
            received: 20 - failed,
            missing: failed,
            connected: 10 - failed,
            connect_failures: failed,
            ..Default::default()
        };
        role.handshake.record_n_ns(ms * MS, 10 - failed);
        role.rtt.record_n_ns(ms * MS, 10);
        role.delivery.record_n_ns(ms * MS, 20 - failed);
        role
    };
    let mut step = Step { roles: vec![role("speaker", 5, 0), role("listener", 90, 2)], ..Step::default() };
    let passes =
        |step: &Step, text: &str| Limit::parse(text, Scenario::Broadcast).unwrap().check(step).passed();
    for figure in ["rtt.p99", "delivery.p99", "handshake.p99", "p50"] {
        assert!(passes(&step, &format!("role.speaker.{figure}<=10ms")), "{figure}");
        assert!(!passes(&step, &format!("role.listener.{figure}<=10ms")), "{figure}");
    }
    for count in ["missing", "connect_failures"] {
        assert!(passes(&step, &format!("role.speaker.{count}==0")), "{count}");
        assert!(!passes(&step, &format!("role.listener.{count}==0")), "{count}");
    }
    assert!(passes(&step, "role.listener.missing<=10%") && !passes(&step, "role.listener.missing<10%"));
    assert!(passes(&step, "role.listener.connect_failures<=20%"), "of ten who tried");
    assert!(!passes(&step, "role.listener.connect_failures<20%"));
    (step.usable, step.roles[0].people) = (Some(108), 110);
    step.roles[0].counts.disconnects = 1;
    assert!(passes(&step, "role.speaker.disconnects<1%"), "100 of them are of earlier steps");
    assert!(!passes(&step, "role.speaker.disconnects<0.9%"));
    (step.clients, step.usable) = (1_110, Some(1_060));
    (step.roles[0].counts.connected, step.roles[0].counts.connect_failures) = (60, 50);
    assert!(!passes(&step, "role.speaker.disconnects<1%"), "1 of 60");
    step.usable = Some(1_110);
    assert!(passes(&step, "role.speaker.disconnects<1%"), "50 tries to come back failed");
    assert!(!passes(&step, "role.other.missing==0"), "what was not measured is no proof");
    step.figures.rtt.record_n_ns(5 * MS, 1);
    assert!(!passes(&step, "role.speaker.rtt.max<=10ms"), "the message without an answer may be a speaker's");
    for wrong in
        ["role.speaker.server.cpu<5%", "role.speaker.corrupt==0", "role.speaker.tcp.p99<1s", "role.x<5"]
    {
        let error = Limit::parse(wrong, Scenario::Broadcast).unwrap_err();
        assert!(error.to_string().contains("role.NAME.handshake.p99"), "{wrong}: {error}");
    }
    assert!(Limit::parse("role.speaker.handshake.p99<=10ms", Scenario::Idle).is_err());
}

#[test]
fn room_sizes_have_their_own_limits() {
    let mut step = Step::default();
    step.figures.delivery_1.record_n_ns(5 * MS, 10);
    step.figures.delivery_11_100.record_n_ns(90 * MS, 10);
    let passes = |text: &str| Limit::parse(text, Scenario::Broadcast).unwrap().check(&step).passed();
    assert!(passes("delivery_1.p99<=10ms") && !passes("delivery_11_100.p99<=10ms"));
    assert!(!passes("delivery_2_10.p99<=10ms"), "there were no such rooms");
    assert!(Limit::parse("delivery_1.p99<=10ms", Scenario::Echo).is_err());
}
