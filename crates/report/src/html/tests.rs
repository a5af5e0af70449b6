use results::{Run, Second, Unit};

use results::finding::{Caveat, Finding};
use stats::{Figures, Histogram, Timed};

use super::*;
use crate::sample;

fn page_of(runs: &[Run]) -> String {
    html(&Page { runs, ..Page::default() })
}

/// The chart's data, as the script gets it.
fn data_of(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").expect("the data");
    serde_json::from_str(rest.split_once("</script>").expect("its end").0).expect("JSON")
}

/// The page without script, style and data: what a reader gets in any case.
fn words_of(page: &str) -> String {
    let (_, body) = page.split_once("<body>").expect("a body");
    body.split_once("<script").expect("the data").0.replace("&#x2f;", "/")
}

#[test]
fn first_screen_says_result_why_and_caveats() {
    let run = sample::search_run();
    let words = sample::keyed(&run, words_of(&page_of(std::slice::from_ref(&run))).as_str());
    for said in [
        "PASSED at 1,000 clients",
        "95% CI 2,890 to 3,310",
        "failed at 4,000 clients",
        "Why",
        "server.cpu",
        "Caveats",
        "caveat.samples",
        "throng broadcast ws://127.0.0.1:3334/ws",
    ] {
        assert!(words.contains(said), "{said}\n{words}");
    }
}

#[test]
fn unanswered_messages_are_drawn_as_no_latency() {
    let mut run = sample::echo_run();
    let drawn = |run: &Run| {
        let step = data_of(&page_of(std::slice::from_ref(run)))["runs"][0]["steps"][0].clone();
        let times = step["series"]["p50"].as_array().unwrap().iter().filter(|ms| !ms.is_null()).count();
        (step["figures"]["rtt"].is_object(), times > 0)
    };
    run.steps.truncate(1);
    run.steps[0].series = vec![Second { t_ns: 1_000_000_000, p50_ns: Some(5_000_000), ..Second::default() }];
    assert_eq!(drawn(&run), (true, true));
    run.steps[0].figures.service.clear();
    assert_eq!(drawn(&run), (false, false), "all that is in it is how long it was waited for");
}

#[test]
fn untold_steps_have_kept_nothing() {
    let mut run = sample::echo_run();
    let kept =
        |run: &Run| data_of(&page_of(std::slice::from_ref(run)))["runs"][0]["steps"][0]["kept"].clone();
    assert_eq!(kept(&run), true);
    run.steps[0].interrupted = Some(results::Interrupted::Connecting);
    assert!(kept(&run).is_null());
}

#[test]
fn charts_are_told_lower_bounds() {
    let mut run = sample::echo_run();
    run.steps.truncate(1);
    let bounds = |run: &Run| {
        data_of(&page_of(std::slice::from_ref(run)))["runs"][0]["steps"][0]["figures"]["rtt"]["at_least"]
            .clone()
    };
    let figures = &mut run.steps[0].figures;
    figures.service = figures.rtt.clone();
    assert!(bounds(&run).is_null());
    let figures = &mut run.steps[0].figures;
    figures.rtt.record_n_ns(10_000_000_000, figures.service.count() / 9);
    assert_eq!(bounds(&run), serde_json::json!(["mean", "p95", "p99", "p999", "max"]));
}

#[test]
fn unanswered_broadcasts_are_told_by_deliveries() {
    let mut run = sample::broadcast_run();
    for step in &mut run.steps {
        step.figures.rtt.clear();
        step.figures.service.clear();
    }
    let page = page_of(std::slice::from_ref(&run));
    assert_eq!(data_of(&page)["runs"][0]["steps"][0]["main"], "delivery");
    let words = words_of(&page);
    assert!(words.contains("delivery median") && !words.contains("handshake median"), "{words}");
}

/// Asked of each run where it is asked of one, so that the columns are the same.
#[test]
fn arrival_is_asked_about_where_clients_drop() {
    let question = "Does it arrive when clients drop?";
    let steady = sample::broadcast_run();
    assert!(!words_of(&page_of(std::slice::from_ref(&steady))).contains(question));
    let mut flapping = steady.clone();
    flapping.steps[0].absences.push(results::Absences::default());
    let counts = &mut flapping.steps[0].counts;
    (counts.offline_due, counts.lost_offline, counts.recovered) = (1_000, 129, 871);
    let alone = words_of(&page_of(&[flapping.clone()]));
    for said in [
        question,
        "at most once while clients are away",
        "12.9% of what was sent in their absence never came",
    ] {
        assert!(alone.contains(said), "{said}\n{alone}");
    }
    let both = words_of(&page_of(&[flapping.clone(), steady.clone()]));
    assert!(both.contains("not asked") && both.matches(question).count() == 1, "{both}");
    let mut silent = steady;
    silent.steps[0].absences.push(results::Absences { count: 3, ..results::Absences::default() });
    let is_asked =
        |silent: &Run| !words_of(&page_of(&[flapping.clone(), silent.clone()])).contains("not asked");
    assert!(!is_asked(&silent), "nothing was due in these absences");
    silent.steps[0].interrupted = Some(results::Interrupted::Loading);
    assert!(is_asked(&silent));
}

#[test]
fn shares_of_the_ceiling_are_bounds() {
    let mut run = sample::broadcast_run();
    let generator = run.steps[0].generator.as_mut().unwrap();
    generator.ceiling_per_s = Some(120_000.0);
    (generator.ceiling_percent, generator.ceiling_at_least) = (Some(41.67), Some(true));
    let counted =
        |run: &Run, share: &str| words_of(&page_of(std::slice::from_ref(run))).matches(share).count();
    assert_eq!(counted(&run, "at most 42%"), 2, "in the table of health, and of the environment");
    run.steps[0].generator.as_mut().unwrap().ceiling_percent = Some(0.2);
    assert_eq!(counted(&run, "less than 1%"), 2);
}

#[test]
fn clients_that_left_had_connected() {
    let mut run = sample::echo_run();
    let step = &mut run.steps[0];
    (step.clients, step.reached, step.usable) = (5, Some(5), Some(1));
    let words = words_of(&page_of(&[run]));
    assert!(words.contains("<dd>5<small>of 5, 4 lost"), "{words}");
}

#[test]
fn defects_are_of_deliveries() {
    let names: Vec<&str> = defect_names().collect();
    let has = ["missing", "corrupt", "sent"].map(|name| names.contains(&name));
    assert_eq!(has, [true, true, false], "{names:?}");
}

#[test]
fn curves_are_of_few_steps() {
    let drawn = |run: &Run, value: &str| -> Vec<f64> {
        let data = data_of(&page_of(std::slice::from_ref(run)));
        let steps = data["runs"][0]["steps"].as_array().unwrap().clone();
        let has_curve = |step: &&serde_json::Value| {
            let curve = |figure: &serde_json::Value| !figure["curve"].as_array().unwrap().is_empty();
            let figures = step["figures"].as_object().unwrap();
            assert!(
                figures.values().all(|figure| curve(figure) != figure["bars"].as_array().unwrap().is_empty())
            );
            figures.values().filter(|figure| curve(figure)).count() == 1
        };
        steps.iter().filter(has_curve).map(|step| step[value].as_f64().unwrap()).collect()
    };
    let mut run = sample::echo_run();
    let step = run.steps[0].clone();
    run.steps = (1..=200).map(|clients| results::Step { clients, ..step.clone() }).collect();
    assert_eq!(drawn(&run, "clients"), [30.0, 64.0, 98.0, 132.0, 166.0, 200.0]);
    let mut sweep = sample::sweep_run();
    assert_eq!(drawn(&sweep, "asked"), [200.0, 400.0, 80.0, 160.0]);
    let mut again = sweep.clone();
    again.steps.insert(1, results::Step { stop: sweep.steps[2].stop.clone(), ..sweep.steps[1].clone() });
    assert_eq!(drawn(&again, "asked"), [200.0, 400.0, 80.0, 160.0], "the other try passed");
    (sweep.steps[2].stop, sweep.steps[2].interrupted) = (None, Some(results::Interrupted::Connecting));
    assert_eq!(drawn(&sweep, "asked"), [200.0, 80.0, 160.0], "nothing is known of 400/s");
}

#[test]
fn curves_are_of_the_figure_that_boxes_show() {
    for timed in [Timed::First, Timed::PushGap, Timed::Recovery] {
        let mut run = sample::echo_run();
        let figures = &mut run.steps[0].figures;
        *figures.get_mut(timed) = figures.rtt.clone();
        if timed != Timed::First {
            figures.rtt = Histogram::new();
        }
        let mut lighter = run.clone();
        lighter.steps[0].clients += 1;
        run.steps.push(lighter.steps[0].clone());
        for runs in [&[run.clone()][..], &[run, lighter]] {
            let data = data_of(&page_of(runs));
            for run in data["runs"].as_array().unwrap() {
                let step = &run["steps"][run["shown"].as_u64().unwrap() as usize];
                assert_eq!(step["main"], timed.name());
                let curve = step["figures"][timed.name()]["curve"].as_array().unwrap();
                assert!(!curve.is_empty(), "{timed}");
            }
        }
    }
}

#[test]
fn caveats_of_all_steps_are_said_once() {
    let mut run = sample::echo_run();
    let caveat = |sentence: &str| Caveat::told(sentence.into());
    run.steps = vec![run.steps[0].clone(), run.steps[0].clone()];
    for step in &mut run.steps {
        step.caveats = vec![caveat("of all steps")];
    }
    run.steps[1].caveats.push(caveat("of one step"));
    run.verdict = results::verdict::conclude(run.scenario, &run.steps);
    let words = words_of(&page_of(&[run]));
    let steps = words.split_once("id=\"verdicts\"").unwrap().1;
    assert_eq!((steps.matches("of all steps").count(), steps.matches("of one step").count()), (1, 2));
}

#[test]
fn text_from_outside_is_never_markup() {
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7*7 }} <!--";
    let mut run = sample::broadcast_run();
    run.target.name = Some(evil.into());
    run.target.version = Some(evil.into());
    run.environment.cpu = Some(evil.into());
    run.command.push(evil.into());
    run.steps[0].caveats.push(Caveat::told(evil.into()));
    run.steps[0].errors.add(evil, 0, evil);
    run.verdict = results::verdict::conclude(run.scenario, &run.steps);
    let harmless = page_of(&[sample::broadcast_run()]);
    let page = page_of(&[run]);
    for tag in ["<script", "</script", "<img", "<!--"] {
        assert_eq!(page.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
    }
    assert!(!page.contains("49 &lt;!--"), "the template is not filled in twice");
    assert_eq!(data_of(&page)["runs"][0]["name"], evil, "and the reader sees it as it was");
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let page = page_of(&[sample::echo_run()]);
    let words = words_of(&page);
    for attribute in ["src=", "href=\"http", "url(", "@import"] {
        assert!(!words.contains(attribute), "{attribute}");
    }
    assert!(page.contains("default-src &#x27;none&#x27;"));
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
}

#[test]
fn the_script_ends_where_its_element_ends() {
    assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
    assert!(!SCRIPT.contains(['\r', '\0']), "a reader of HTML changes these, and the hash with them");
    assert!(SCRIPT.contains("Licensed under the Apache License"));
}

#[test]
fn twenty_targets_of_long_runs_stay_small() {
    const BYTES_MAX: usize = 2_000_000;
    let mut run = sample::echo_run();
    let second = |k: u64| Second {
        t_ns: k * 1_000_000_123,
        clients: 10_000,
        sent: 9_999,
        received: 9_998,
        p50_ns: Some(1_234_567 + k),
        p95_ns: Some(2_345_678 + k),
        p99_ns: Some(3_456_789 + k),
        max_ns: Some(14_567_890 + k),
        server_cpu_percent: Some(97.123),
        server_rss_bytes: Some(123_456_789),
        generator_cpu_percent: Some(45.678),
        density: (16..36).map(|cell| (cell, 1_234)).collect(),
        ..Second::default()
    };
    run.steps[0].series = (1..=600).map(second).collect();
    run.steps[0].connecting = (1..=60).map(second).collect();
    run.steps = vec![run.steps[0].clone(); 5];
    let page = page_of(&vec![run; 20]);
    assert!(page.len() <= BYTES_MAX, "{} bytes", page.len());
}

#[test]
fn runs_of_one_name_are_told_apart() {
    let mut other = sample::broadcast_run();
    other.dialect = "phoenix".into();
    let names = |runs: &[Run]| view::names(runs);
    assert_eq!(names(&[sample::broadcast_run(), other.clone()]), ["node-ws json", "node-ws phoenix"]);
    let started = "node-ws (2026-11-20 18:30:00)";
    assert_eq!(names(&[other.clone(), other.clone()]), [started.to_owned(), format!("{started} (2)")]);
    other.name = Some("nightly".into());
    let noted = Run { note: Some("before".into()), ..other.clone() };
    assert_eq!(names(&[noted, other]), ["nightly (before)", "nightly (2026-11-20 18:30:00)"]);
}

#[test]
fn two_runs_say_whether_they_differ() {
    let page = page_of(&[sample::broadcast_run(), sample::broadcast_run()]);
    let words = words_of(&page);
    assert!(words.contains("Unclear whether A and B differ") && words.contains("rtt.p99"), "{words}");
    assert!(words.contains("B compared with A"), "{words}");
    assert_eq!(words.matches("too few runs").count(), 1, "each reason is said once: {words}");
    let unlike = page_of(&[sample::broadcast_run(), sample::echo_run()]);
    assert!(!words_of(&unlike).contains("B compared with A"));
}

#[test]
fn then_stands_beside_now() {
    let published = Published {
        scenario: "10k".into(),
        target: "node-ws".into(),
        figure: "rtt.p95".into(),
        unit: Unit::Ms,
        then: 1_768.25,
        now: Some(66.0),
        sign: "≤ ",
    };
    let page = html(&Page { runs: &[sample::broadcast_run()], published: &[published], ..Page::default() });
    let row = &data_of(&page)["published"][0];
    assert_eq!((row["then"].as_f64(), row["now"].as_f64()), (Some(1_768.0), Some(66.0)));
    assert_eq!(row["unit"], "ms");
    assert_eq!(row["sign"], "≤ ");
}

#[test]
fn a_sweep_is_answered_in_rates() {
    let page = page_of(&[sample::sweep_run()]);
    let words = words_of(&page);
    for said in
        ["10,000 deliveries/s", "safe: 200/s to 50, 80.0/s to 100 clients", "at 400 messages/s to 50 clients"]
    {
        assert!(words.contains(said), "{said}\n{words}");
    }
    let data = data_of(&page);
    assert_eq!(data["runs"][0]["shown"], 1);
    assert_eq!(data["runs"][0]["levels"][1]["safe"], 80.0);
}

/// The medians of repeats in milliseconds, each with whether it is a lower bound.
fn medians(repeats: &serde_json::Value) -> Vec<(f64, bool)> {
    let median =
        |median: &serde_json::Value| (median[0].as_f64().unwrap().round(), median[1].as_bool().unwrap());
    repeats["medians"].as_array().unwrap().iter().map(median).collect()
}

#[test]
fn repeats_without_some_answers_are_bounds() {
    let repeat = |missing: u64| {
        let mut run = sample::http_run();
        run.steps.truncate(1);
        let step = &mut run.steps[0];
        step.figures = Figures::default();
        step.figures.first.record_n_ns(50_000_000, 100);
        (step.counts.expected, step.counts.missing) = (100 + missing, missing);
        run
    };
    let page = html(&Page { runs: &[repeat(101)], repeats: &[vec![repeat(0)]], ..Page::default() });
    let repeats = &data_of(&page)["runs"][0]["repeats"];
    assert_eq!(
        repeats["all"]["at_least"],
        serde_json::json!(["mean", "p75", "p90", "p95", "p99", "p999", "max"])
    );
    assert_eq!(medians(repeats), [(50.0, true), (50.0, false)]);
}

#[test]
fn repeats_show_their_median_and_spread() {
    let repeat = |slower: u64| {
        let mut run = sample::echo_run();
        run.id = format!("run-{slower}");
        run.steps[0].figures.rtt = Default::default();
        for k in 1..=100 {
            run.steps[0].figures.rtt.record_ns((k + slower) * 1_000_000);
        }
        run
    };
    let (run, others) = middle_repeat(vec![repeat(20), repeat(0), repeat(10)]).unwrap();
    assert_eq!((run.id.as_str(), others.len()), ("run-10", 2));
    let runs = [run, sample::broadcast_run()];
    let page = html(&Page { runs: &runs, repeats: &[others], ..Page::default() });
    assert!(words_of(&page).contains("50.0ms to 70.0ms in 3 repeats"), "{}", words_of(&page));
    let data = data_of(&page);
    let repeats = &data["runs"][0]["repeats"];
    assert_eq!(repeats["all"]["count"], 300);
    assert_eq!(medians(repeats), [(60.0, false), (50.0, false), (70.0, false)]);
    assert!(data["runs"][1]["repeats"].is_null());
    assert!(middle_repeat(Vec::new()).is_none());
    let silent = || {
        let mut run = sample::echo_run();
        run.id = "silent".to_owned();
        run.steps[0].figures = Figures::default();
        run
    };
    let middle = |repeats| middle_repeat(repeats).unwrap().0.id;
    assert_eq!(middle(vec![silent(), repeat(10)]), "run-10");
    assert_eq!(middle(vec![silent(), repeat(20), repeat(0), repeat(10)]), "run-10");
    assert_eq!(middle(vec![silent()]), "silent");
    let mut unsent = silent();
    unsent.steps[0].figures.handshake.record_ns(1_000_000);
    assert_eq!(middle(vec![unsent, repeat(10)]), "run-10");
}

#[test]
fn ranges_of_repeats_may_end_open() {
    let repeat = |ms: u64, answered: u64| {
        let mut run = sample::echo_run();
        let figures = &mut run.steps[0].figures;
        (figures.rtt, figures.service) = Default::default();
        figures.rtt.record_n_ns(ms * 1_000_000, 100);
        figures.service.record_n_ns(ms * 1_000_000, answered);
        run
    };
    let words = |run: Run, other: Run| {
        let runs = [run, sample::broadcast_run()];
        words_of(&html(&Page { runs: &runs, repeats: &[vec![other]], ..Page::default() }))
    };
    let open = words(repeat(2_000, 100), repeat(1_500, 20));
    assert!(open.contains("≥ 1.50s to ≥ 2.00s"), "{open}");
    let begins_closed = words(repeat(2_000, 20), repeat(1_500, 100));
    let has_range = begins_closed.contains("1.50s to ≥ 2.00s");
    assert!(has_range && !begins_closed.contains("≥ 1.50s"), "{begins_closed}");
    let unanswered = words(repeat(2_000, 100), repeat(1_500, 0));
    assert!(!unanswered.contains("in 2 repeats"), "{unanswered}");
}
