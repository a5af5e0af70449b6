use results::Unit;

use super::*;
use crate::sample;

fn row(server: &str, place: Option<(usize, usize)>, mean: f64) -> Row {
    Row {
        server: server.into(),
        place,
        mean: Some(mean),
        interval: Some((0.9 * mean, 1.1 * mean)),
        reach: Some((0.9 * mean, 1.1 * mean)),
        shown: format!("{mean} /s"),
        then: Some(mean / 2.0),
        ..Row::default()
    }
}

fn sample_shootout() -> Shootout {
    let mut best = row("node-ws", Some((1, 2)), 900.0);
    best.curve = Curve::of(&sample::sweep_run());
    let mut lossy = row("lossy", None, 5_000.0);
    lossy.remarks = "12 lost messages".into();
    let question = Question {
        name: "echoes".into(),
        asks: "How many echoes a second?".into(),
        figure: "safe_rate".into(),
        unit: Unit::PerSecond,
        more_is_better: true,
        command: "throng saturate URL".into(),
        notes: vec!["Control: throng ties with itself.".into()],
        at_file_limit: 0,
        published: Some(Source {
            column: "messages_per_core_per_s".into(),
            differs: "64 cores there".into(),
        }),
        rows: vec![row("throng", Some((1, 2)), 1_000.0), best, row("slow", Some((3, 3)), 100.0), lossy],
        columns: vec!["place".into(), "target".into()],
        table: ["throng", "node-ws", "slow", "lossy"].map(|name| vec!["1".into(), name.to_owned()]).to_vec(),
    };
    let server = |name: &str, language: &str| Server {
        name: name.into(),
        language: language.into(),
        library: "ws".into(),
        protocols: vec!["raw".into()],
        ..Server::default()
    };
    Shootout {
        title: "A shootout".into(),
        facts: vec!["CPU of the test".into()],
        questions: vec![question],
        servers: vec![
            server("throng", "Rust"),
            server("node-ws", "JavaScript"),
            server("slow", "Python"),
            server("lossy", "C++"),
        ],
        left_out: vec![("ruby-x".into(), "install: no gem".into())],
        command: "throng shootout 2026".into(),
    }
}

#[test]
fn pages_say_leaders_ties_and_unranked() {
    let page = shootout(&sample_shootout()).replace("&#x2f;", "/");
    for said in [
        "How many echoes a second?",
        "<p class=\"answer\">node-ws</p>",
        "12 lost messages",
        "64 cores there",
        "ruby-x",
        "data-language=\"JavaScript\"",
        "throng shootout 2026",
        "99th percentile of the latency by the rate asked",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert!(page.contains("nobody ties with it"), "the yardstick is not among those to choose from");
    assert!(page.contains("–</span>\n        <a class=\"name\" href=\"#s-lossy\">"), "it has no place");
    let mut bounded = sample_shootout();
    bounded.questions[0].at_file_limit = 11;
    let said = "nobody ties with it; 11 that reached the limit of open files first may hold more";
    assert!(!page.contains("may hold more") && shootout(&bounded).contains(said));
}

#[test]
fn ties_are_told_by_intervals() {
    let mut tied = sample_shootout();
    let rows = &mut tied.questions[0].rows;
    // A wide interval gives the third a place among the first, and it is behind the best all the same.
    (rows[1].place, rows[1].reach) = (Some((1, 4)), Some((850.0, 950.0)));
    (rows[2].place, rows[2].reach) = (Some((2, 4)), Some((10.0, 800.0)));
    rows.insert(3, Row { reach: Some((20.0, 900.0)), ..row("wide", Some((1, 4)), 90.0) });
    let page = shootout(&tied);
    assert!(page.contains("it cannot be told from wide"), "{page}");
    assert!(page.contains("3 servers and throng&#x27;s own measured, 1 question asked"), "{page}");
}

#[test]
fn text_from_outside_is_never_markup() {
    let evil = "</script><img src=x onerror=alert(1)>\"><b {{ 7*7 }}";
    let mut evil_one = sample_shootout();
    evil_one.title = evil.into();
    evil_one.facts.push(evil.into());
    evil_one.left_out.push((evil.into(), evil.into()));
    evil_one.servers[1] =
        Server { name: evil.into(), language: evil.into(), version: evil.into(), ..Server::default() };
    evil_one.questions[0].asks = evil.into();
    evil_one.questions[0].rows[1].server = evil.into();
    evil_one.questions[0].rows[1].remarks = evil.into();
    let (page, harmless) = (shootout(&evil_one), shootout(&sample_shootout()));
    for tag in ["<script", "</script", "<img"] {
        assert_eq!(page.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
    }
    assert!(!page.contains("<b 49") && !page.contains("<b {{"), "nor is it a template");
}

#[test]
fn fifty_servers_stay_small() {
    const BYTES_MAX: usize = 3_000_000;
    let one = sample_shootout();
    let mut many = one.clone();
    many.servers =
        (0..50).map(|n| Server { name: format!("server-{n}"), ..one.servers[0].clone() }).collect();
    let mut question = one.questions[0].clone();
    question.rows =
        (0..50).map(|n| Row { server: format!("server-{n}"), ..one.questions[0].rows[1].clone() }).collect();
    many.questions = vec![question; 8];
    let page = shootout(&many);
    assert!(page.len() <= BYTES_MAX, "{} bytes", page.len());
}
