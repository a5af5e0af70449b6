use insta::assert_snapshot;
use results::finding::{Cause, Caveat, Finding, Loss, Note};

use super::*;
use crate::sample;

fn in_words(words: Words, run: &Run) -> String {
    sample::keyed(run, &lines(run, &Style { words, ..Style::PLAIN }))
}

#[test]
fn a_broadcast_run_that_broke() {
    assert_snapshot!(in_words(Words::WebsocketBench(95.0), &sample::broadcast_run()), @"
    Missing received broadcasts: expected 1398000, got 1397510


    RESULT    FAILED
    WHY       WHY
    CAVEATS   caveat.samples
    ");
}

#[test]
fn broadcasts_in_flight_are_not_missing() {
    let mut run = sample::broadcast_run();
    for step in &mut run.steps {
        let counts = &mut step.counts;
        (counts.in_flight, counts.missing) = (counts.in_flight + counts.missing, 0);
    }
    assert_eq!(missing_line(&run), None);
}

#[test]
fn echo_runs_may_end_with_wsdemos_table() {
    assert_snapshot!(in_words(Words::Wsdemo, &sample::echo_run()), @"
                        mean        σ   median      95%      99%    99.9%
    handshake time    7.15ms   3.96ms   7.15ms   13.3ms   13.9ms   14.0ms
    latency           1.20ms    664µs   1.20ms   2.23ms   2.32ms   2.34ms
    connection timeouts 0


    RESULT    PASSED
    WHY       WHY
    CAVEATS   none
    ");
}

#[test]
fn a_search_ends_with_its_capacity() {
    assert_snapshot!(in_words(Words::Own, &sample::search_run()), @"
    memory    32.2 KiB per client ± 239 B (95% CI)

    RESULT    PASSED
    WHY       WHY
    CAVEATS   caveat.samples
    ");
}

#[test]
fn sweeps_end_with_safe_rates_by_level() {
    assert_snapshot!(in_words(Words::Own, &sample::sweep_run()), @"
     clients    safe rate     deliveries         knee   mean ≥ 200ms     overload
          50        200/s       10,000/s            -          200/s        400/s
         100       80.0/s        8,000/s            -          160/s        160/s


    RESULT    PASSED
    WHY       WHY
    CAVEATS   none
    ");
}

#[test]
fn terminal_lines_break_between_fields() {
    let style = Style { columns: Some(80), ..Style::PLAIN };
    let text = lines(&sample::broadcast_run(), &style);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let unbroken = text.replace("\n          ", " ");
    assert_snapshot!(sample::keyed(&sample::broadcast_run(), &unbroken), @"
    RESULT    FAILED
    WHY       WHY
    CAVEATS   caveat.samples
    ");
}

#[test]
fn a_calibrated_run_quotes_the_ceiling() {
    let mut run = sample::broadcast_run();
    let generator = run.steps[0].generator.as_mut().unwrap();
    generator.ceiling_per_s = Some(120_000.0);
    generator.ceiling_percent = Some(41.67);
    let line = |run: &Run| {
        in_words(Words::Own, run).lines().find(|line| line.starts_with("ceiling")).map(str::to_owned)
    };
    let said = "ceiling   42% of the generator's ceiling here (120,000 copies/s)";
    assert_eq!(line(&run).as_deref(), Some(said));
    run.steps[0].generator.as_mut().unwrap().ceiling_at_least = Some(true);
    let said = "ceiling   at most 42% of the generator's ceiling here (at least 120,000 copies/s)";
    assert_eq!(line(&run).as_deref(), Some(said));
}

#[test]
fn an_empty_run_says_so() {
    let verdict = results::verdict::conclude(Scenario::default(), &[]);
    let run = Run { verdict, ..Run::default() };
    assert_snapshot!(in_words(Words::Own, &run), @"
    RESULT    UNCLEAR: nothing was measured
    CAVEATS   nothing was measured
    ");
}

fn sentences<F: Finding>(examples: &[F]) -> Vec<String> {
    examples.iter().map(ToString::to_string).collect()
}

/// Each sentence in a terminal of 80 columns, in ASCII, in colour, and in a pipe.
#[test]
fn each_finding_fits_each_output() {
    let all = [
        sentences(&Cause::examples()),
        sentences(&Caveat::examples()),
        sentences(&Loss::examples()),
        sentences(&Note::examples()),
    ]
    .concat();
    assert!(all.len() > 100, "{}", all.len());
    for sentence in all {
        let row = |style: Style| {
            let rows = Rows { style: &style, indent: 0, label: LABEL_WIDTH };
            style.in_letters(rows.painted("CAVEATS", &sentence, Some(Colour::Red)))
        };
        let piped = row(Style::PLAIN);
        assert_eq!(piped.trim_start_matches("CAVEATS").trim(), sentence, "one line, and no escapes");
        let terminal = Style { columns: Some(80), ..Style::PLAIN };
        let folded = row(terminal);
        assert!(folded.lines().all(|line| line.chars().count() <= 80), "{folded}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&folded), words(&piped));
        let letters = row(Style { ascii: true, ..terminal });
        let is_spelled = letters.matches('?').count() == folded.matches('?').count();
        assert!(letters.is_ascii() && is_spelled, "{letters}");
        let coloured = row(Style { ansi: true, ..terminal });
        let uncoloured =
            ["\x1b[31m", "\x1b[2m", "\x1b[0m"].iter().fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(words(&uncoloured), words(&piped));
    }
}
