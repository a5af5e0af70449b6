use results::Unit;

use super::*;
use crate::sample;

fn row(server: &str, place: &str, mean: f64) -> Row {
    Row {
        server: server.into(),
        place: place.into(),
        mean: Some(mean),
        interval: Some((0.9 * mean, 1.1 * mean)),
        reach: Some((0.9 * mean, 1.1 * mean)),
        shown: format!("{mean} /s"),
        with_interval: format!("{mean} ±{} /s", 0.1 * mean),
        then: Some(mean / 2.0),
        ..Row::default()
    }
}

fn sample_shootout() -> Shootout {
    let mut best = row("node-ws", "1–2", 900.0);
    best.curve = Curve::of(&sample::sweep_run());
    best.ahead_of = vec![2];
    let mut lossy = row("lossy", "", 5_000.0);
    lossy.remarks = "12 lost messages".into();
    let question = Question {
        name: "echoes-per-core".into(),
        asks: "How many echoes a second?".into(),
        figure: "highest rate".into(),
        unit: Unit::PerSecond,
        more_is_better: true,
        answer: "node-ws".into(),
        detail: "ahead of the other".into(),
        leaders: vec!["node-ws".into()],
        command: "throng saturate URL".into(),
        notes: vec!["Control: throng ties with itself.".into()],
        published: Some(Source {
            column: "messages_per_core_per_s".into(),
            differs: "64 cores there".into(),
        }),
        rows: vec![row("throng", "1–2", 1_000.0), best, row("slow", "3", 100.0), lossy],
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
        headline: "node-ws wins".into(),
        yardstick: "throng".into(),
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
fn pages_begin_with_the_winner() {
    let page = shootout(&sample_shootout()).replace("&#x2f;", "/").replace("&#x27;", "'");
    for said in [
        "<h1 id=\"title\">node-ws wins</h1>",
        "<strong>node-ws</strong> ahead of the other <small>highest rate 900 ±90 /s</small>",
        "3 servers and throng's own measured, 1 question asked",
        "12 lost messages",
        "64 cores there",
        "<th scope=\"row\">echoes per core</th>",
        "ruby-x",
        "data-language=\"JavaScript\"",
        "data-ahead-of=\"2\"",
        "throng shootout 2026",
        "99th percentile of the latency by the rate asked",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert!(page.contains("–</span>\n        <a class=\"name\" href=\"#s-lossy\">"), "it has no place");
}

#[test]
fn quotients_of_bounds_are_bounds() {
    let mut one = sample_shootout();
    one.questions[0].rows[1].sign = "≥ ";
    assert_eq!(shootout(&one).matches("≥ 2.00").count(), 1);
}

#[test]
fn one_table_has_all_places() {
    let mut two = sample_shootout();
    let other = Question {
        name: "other".into(),
        leaders: vec!["slow".into(), "node-ws".into()],
        rows: vec![row("slow", "1–2", 9.0), row("node-ws", "1–2", 8.9)],
        ..two.questions[0].clone()
    };
    two.questions.push(other);
    let page = shootout(&two);
    let body =
        page.split("Places of all servers").nth(1).and_then(|rest| rest.split("</table>").next()).unwrap();
    let rows: Vec<&str> = body.split("<tr data-server=\"").skip(1).collect();
    let names: Vec<&str> = rows.iter().filter_map(|row| row.split('"').next()).collect();
    assert_eq!(names, ["node-ws", "slow", "lossy", "throng"], "most questions first, the yardstick last");
    let cells = |at: usize| rows[at].split("</th>").nth(1).and_then(|row| row.split("</tr>").next()).unwrap();
    assert_eq!(cells(0), "<td class=\"first\">1–2</td><td class=\"first\">1–2</td>");
    assert_eq!(cells(1), "<td>3</td><td class=\"first\">1–2</td>");
    assert_eq!(cells(2), "<td>–</td><td></td>", "no place is not the same as not asked");
}

#[test]
fn labels_are_words() {
    let labels = ["clients-per-gib", "idle-over-tls", "deliveries-to-1000", "10k"].map(view::label);
    assert_eq!(labels, ["clients per GiB", "idle over TLS", "deliveries to 1,000", "10k"]);
}

#[test]
fn intervals_beyond_the_chart_end_in_arrows() {
    let arrows = |interval, reach| {
        let mut one = sample_shootout();
        let row = &mut one.questions[0].rows[2];
        (row.interval, row.reach) = (Some(interval), Some(reach));
        one.questions[0].rows.pop();
        let page = shootout(&one);
        let whiskers = page.split("</b><u").skip(1).filter_map(|rest| rest.split(" style").next());
        whiskers.map(str::to_owned).filter(|class| !class.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(arrows((90.0, 110.0), (90.0, 110.0)), [""; 0]);
    assert_eq!(arrows((90.0, 9_000.0), (90.0, 9_000.0)), [" class=\" higher\""]);
    assert_eq!(arrows((90.0, 110.0), (90.0, f64::INFINITY)), [" class=\" higher\""], "a floor");
    assert_eq!(arrows((-90.0, 110.0), (-90.0, 110.0)), [""; 0], "below nothing there is nothing");
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
