//! Screens of runs as they go on, line by line.

use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use results::{Scenario, Target};

use super::*;

const ELAPSED: Duration = Duration::from_secs(72);

fn view(has_colour: bool, is_ascii: bool) -> View {
    let target = Target { url: "ws://127.0.0.1:9000/ws".into(), ..Target::default() };
    let run = Run { scenario: Scenario::Echo, dialect: "json".into(), target, ..Run::default() };
    let mut view = View::new(&run, Some(3), has_colour, is_ascii);
    for k in 1..=12 {
        let second = Second {
            t_ns: k * 1_000_000_000,
            sent: 1_000 * k,
            received: 990 * k,
            p50_ns: Some(1_500_000),
            p95_ns: Some(4_000_000),
            p99_ns: Some(k * 1_000_000),
            density: vec![(25, 800), (26, 150), (32, 50)],
            max_ns: Some(20_000_000),
            server_cpu_percent: Some(61.4),
            server_rss_bytes: Some(4_660_000),
            generator_cpu_percent: Some(20.0),
            ..Second::default()
        };
        let progress = Progress {
            phase: crew::StepPhase::Loading,
            done: 0.6,
            clients: 1_000,
            usable: 900,
            sent: 78_000,
            received: 77_220,
            errors: 100,
            second: Some(second),
            ..Progress::default()
        };
        view.handle_progress(&progress);
    }
    view
}

fn drawn(width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view(true, false).render(frame, ELAPSED)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_wide_terminal_has_curves() {
    let text = drawn(80, 20);
    assert!(text.lines().last().is_some_and(|keys| keys.contains("Ctrl-C")), "{text}");
    let plots: Vec<&str> = text.lines().take(19).collect();
    assert_snapshot!(plots.join("\n"), @r#"
    "throng echo · json · ws://127.0.0.1:9000/ws                                     "
    "████████████████████step 1 of 3: loading 60%, 1m 12s elapsed                    "
    "900 of 1,000 clients   12,000 sent/s   11,880 received/s                        "
    "p50 1.50ms   p95 4.00ms   p99 12.0ms   max 20.0ms                               "
    "server CPU 61%   generator CPU 20%   server RSS 4.44 MiB                        "
    "100 errors                                                                      "
    "received/s                                                                      "
    "  11,880                                                                    ▂▄▆█"
    "                                                                        ▂▄▆█████"
    "       0                                                            ▂▄▆█████████"
    "o p50  + p95  x p99                           distribution in this step         "
    "  12.0ms                                   xxx  1.33ms ████████████████████ 95% "
    "                                        xxx     2.37ms  0%                      "
    "                                      xx        4.22ms  0%                      "
    "                                  ++xx++++++++  7.50ms █ 5%                     "
    "                                   x                                            "
    "                                  oooooooooooo                                  "
    "  1.00ms                          x                                             "
    "         36s ago                           now                                  "
    "#);
}

#[test]
fn terminals_without_unicode_get_ascii() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let mut view = view(false, true);
    view.now.second.as_mut().unwrap().p50_ns = Some(42_000);
    terminal.draw(|frame| view.render(frame, ELAPSED)).unwrap();
    let text = terminal.backend().to_string();
    assert!(text.is_ascii(), "{text}");
    for shown in ["p50 42us", "o p50  + p95  x p99", "#", "Ctrl-C"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}

#[test]
fn a_narrow_one_has_what_matters_most() {
    assert_snapshot!(drawn(30, 6), @r#"
    "throng echo · json · ws://127."
    "step 1 of 3: loading 60%, 1m 1"
    "900 of 1,000 clients          "
    "p50 1.50ms   p95 4.00ms       "
    "server CPU 61%                "
    "100 errors                    "
    "#);
}

#[test]
fn warmups_are_no_part_of_the_step() {
    let mut view = view(false, true);
    view.cells.clear();
    for (s, is_warmup, name) in [(20, true, "warm-up"), (21, false, "step 1 of 3")] {
        let second = view.now.second.clone().unwrap();
        let second = Second { t_ns: s * 1_000_000_000, density: vec![(s as u8, 7)], ..second };
        let progress = Progress { is_warmup, second: Some(second), ..view.now.clone() };
        view.handle_progress(&progress);
        assert_eq!(view.name(), name);
        assert_eq!(view.cells, BTreeMap::from([(s as u8, 7)]), "{name}");
    }
}

#[test]
fn any_size_is_drawn() {
    for (width, height) in [(1, 1), (5, 2), (200, 3), (3, 60), (300, 100)] {
        drawn(width, height);
    }
}

#[test]
fn unwanted_colour_is_left_out() {
    let mut terminal = Terminal::new(TestBackend::new(72, 14)).unwrap();
    terminal.draw(|frame| view(false, false).render(frame, ELAPSED)).unwrap();
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}
