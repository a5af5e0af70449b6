//! A comparison of two sides, as text, Markdown, CSV and JSON.

use results::Run;
use results::Unit;
use results::compare::{Comparison, Row};
use results::finding::{Finding, Note};
use serde_json::json;
use stats::compare::{COMPARISON_CONFIDENCE, Change, REPEATS_MAX, ToTell};

use crate::difference::{show, signed_percent};
use crate::table::{Cell, Column, Table, TableFormat};
use results::format;

mod summary;

use summary::shown;
pub(crate) use summary::{headline, unclear};

const COLUMNS: &[Column] = &[
    Column::right("clients", "clients"),
    Column::right("asked", "asked_per_s"),
    Column::left("metric", "figure"),
    Column::left("unit", "unit"),
    Column::right("A", "a"),
    Column::right("B", "b"),
    Column::right("B − A", "difference"),
    Column::right("in %", "difference_percent"),
    Column::right("99% from", "interval_low"),
    Column::right("to", "interval_high"),
    Column::left("B is", "change"),
    Column::right("runs to tell", "runs_to_tell"),
    // People read it as a sign before the value.
    Column::unseen("a_at_least"),
    Column::unseen("b_at_least"),
];

/// The comparison in one format, ending in a newline. CSV has the table alone.
pub fn comparison(found: &Comparison, a: &[Run], b: &[Run], format: TableFormat) -> String {
    let table = table(found);
    let ids = |side: &[Run]| side.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
    match format {
        TableFormat::Csv => table.render(format),
        TableFormat::Json => {
            let whole = json!({
                "a": ids(a),
                "b": ids(b),
                "confidence": COMPARISON_CONFIDENCE,
                "figures": table.objects(),
                "notes": found.notes.iter().map(Finding::object).collect::<Vec<_>>(),
            });
            format!("{whole:#}\n")
        }
        TableFormat::Text | TableFormat::Markdown => {
            let note = |note: &Note| match format {
                TableFormat::Markdown => format!("- {}\n", results::columns::escape(&note.to_string())),
                // Notes have names in them that servers and files have given.
                _ => format!("note  {}\n", format::printable(&note.to_string())),
            };
            let unclear = unclear(found).map(|why| match format {
                TableFormat::Markdown => format!("- **?** {}\n", results::columns::escape(&why)),
                _ => format!("?     {}\n", format::printable(&why)),
            });
            let notes: String = unclear.into_iter().chain(found.notes.iter().map(note)).collect();
            let notes = if notes.is_empty() { notes } else { format!("\n{notes}") };
            let [a, b] = [("A", a), ("B", b)].map(|(name, side)| side_line(name, side, format));
            let is_empty = found.rows.iter().all(Row::is_nothing);
            let table = if is_empty { String::new() } else { format!("\n{}", table.render(format)) };
            let headline = match format {
                TableFormat::Markdown => format!("**{}.**\n\n", results::columns::escape(&headline(found))),
                _ => format!("{}\n\n", headline(found)),
            };
            format!("{headline}{a}{b}{table}{notes}")
        }
    }
}

/// A row for each figure at each level; nothing on both sides is no finding.
pub(crate) fn table(found: &Comparison) -> Table {
    let mut table = Table::new(COLUMNS);
    for row in shown(found) {
        table.add(cells(row));
    }
    table
}

fn side_line(name: &str, side: &[Run], format: TableFormat) -> String {
    let first = &side[0];
    let target = first.target.name.as_ref().unwrap_or(&first.target.url);
    let ids: Vec<&str> = side.iter().map(|run| run.id.as_str()).collect();
    let own = common_name(side);
    let line = format!("{own}{}, {}, {target}: {}", first.scenario, first.dialect, ids.join(", "));
    let line = format::printable(&line);
    match format {
        TableFormat::Markdown => format!("- **{name}** {}\n", results::columns::escape(&line)),
        _ => format!("{name}  {line}\n"),
    }
}

/// The name and the note that all runs of a side have, which tell it from a side of the same server.
fn common_name(side: &[Run]) -> String {
    let common = |of: fn(&Run) -> Option<&str>| {
        of(&side[0]).filter(|text| side.iter().all(|run| of(run) == Some(*text)))
    };
    match (common(|run| run.name.as_deref()), common(|run| run.note.as_deref())) {
        (Some(name), Some(note)) => format!("{name} ({note}), "),
        (Some(one), None) | (None, Some(one)) => format!("{one}, "),
        (None, None) => String::new(),
    }
}

fn cells(row: &Row) -> Vec<Cell> {
    let value = |value: f64, at_least: bool| {
        Cell::Number(value, format!("{}{}", if at_least { "≥ " } else { "" }, show(row.unit, value)))
    };
    let signed = |value: f64| {
        let sign = if value < 0.0 { "−" } else { "+" };
        Cell::Number(value, format!("{sign}{}", show(row.unit, value.abs())))
    };
    let bound = |bound: Option<f64>| bound.filter(|bound| bound.is_finite()).map_or(Cell::Absent, signed);
    // A difference from a lower bound is one itself, which a number does not say; the first line does.
    let is_open = row.at_least.contains(&true);
    let by = if is_open { Cell::Absent } else { signed(row.b - row.a) };
    let percent = row.percent().filter(|_| !is_open);
    let to_tell = match row.runs_to_tell(0.0) {
        _ if row.told() != Change::CannotTell => Cell::Absent,
        // Of a change that a caveat may be the cause of, no number of runs tells more.
        _ if row.change != Change::CannotTell => Cell::Said("", "no number would".into()),
        ToTell::NoNumber => Cell::Absent,
        ToTell::Repeats(runs) => {
            let what = if row.is_of_single_runs() { "or more" } else { "a side" };
            Cell::Number(f64::from(runs), format!("{runs} {what}"))
        }
        ToTell::More => Cell::Said("", format!("> {REPEATS_MAX} a side")),
    };
    vec![
        Cell::number(row.clients, |n| n as f64, format::count),
        Cell::number(row.asked_per_s, |rate| rate, |rate| format::rate(rate, "")),
        Cell::Text(row.figure.clone()),
        Cell::Text(row.unit.name().into()),
        value(row.a, row.at_least[0]),
        value(row.b, row.at_least[1]),
        by,
        Cell::number(percent, |percent| percent, signed_percent),
        bound(row.difference().map(|interval| interval.low)),
        bound(row.difference().map(|interval| interval.high)),
        Cell::Said(word(row), said(row)),
        to_tell,
        Cell::Flag(row.at_least[0], ""),
        Cell::Flag(row.at_least[1], ""),
    ]
}

/// The word for a change: times and rates are faster or slower, everything else better or worse.
pub(crate) fn word(row: &Row) -> &'static str {
    let is_speed = matches!(row.unit, Unit::Ms | Unit::PerSecond);
    match row.told() {
        Change::NoDifference => "no difference",
        Change::CannotTell => "cannot tell",
        Change::Faster if is_speed => "faster",
        Change::Slower if is_speed => "slower",
        Change::Faster => "better",
        Change::Slower => "worse",
    }
}

/// The same for people: what is excluded. Why a row is unclear is said once, below all.
fn said(row: &Row) -> String {
    let word = word(row);
    match row.told() {
        Change::Faster | Change::Slower => word.into(),
        Change::NoDifference => {
            let percent = row.found.and_then(|found| found.percent());
            let most = percent.map_or(0.0, |percent| percent.low.abs().max(percent.high.abs()));
            // Upwards: what is a little larger than the bound has not been excluded.
            format!("{word} larger than {:.1}%", (most * 10.0).ceil() / 10.0)
        }
        Change::CannotTell => "?".into(),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use stats::compare::{self, Better, Kind};

    use super::*;
    use crate::sample;

    fn found() -> Comparison {
        let row = |figure: &str, unit, a: &[f64], b: &[f64]| {
            let found = compare::repeats(a, b, Better::Lower, Kind::Measured { grain: 0.0 });
            Row {
                clients: Some(1_000),
                asked_per_s: Some(5_000.0),
                figure: figure.into(),
                unit,
                better: Better::Lower,
                a: found.map_or(a[0], |found| found.a),
                b: found.map_or(b[0], |found| found.b),
                at_least: [false; 2],
                found,
                change: found.map_or(Change::CannotTell, |found| found.change()),
                is_blind: false,
                caveat: None,
            }
        };
        let rows = vec![
            row("rtt.p99", Unit::Ms, &[9.0, 9.1, 8.9], &[10.5, 10.4, 10.6]),
            row("rtt.p50", Unit::Ms, &[2.0, 2.2, 1.9], &[2.1, 2.4, 1.8]),
            row("received_rate", Unit::PerSecond, &[4_990.0, 4_988.0, 4_991.0], &[4_985.0, 4_990.0, 4_987.0]),
            row("missing", Unit::Count, &[0.0; 3], &[0.0; 3]),
            Row { at_least: [false, true], ..row("recovery.p99", Unit::Ms, &[900.0], &[5_000.0]) },
            row("server.rss", Unit::Bytes, &[5e6], &[4e6]),
        ];
        Comparison { rows, notes: vec![Note::Differs { what: "CPU".into(), values: "i5 | i7".into() }] }
    }

    fn rendered(found: &Comparison, format: TableFormat) -> String {
        comparison(found, &[sample::echo_run()], &[sample::echo_run(), sample::echo_run()], format)
    }

    #[test]
    fn text_and_markdown_are_for_people() {
        assert_snapshot!(rendered(&found(), TableFormat::Text), @r#"
        B is worse than A in 1 of 5 metrics: rtt.p99 +16.7%

        A  echo, json, node-ws: 20261120-183000-abcdef
        B  echo, json, node-ws: 20261120-183000-abcdef, 20261120-183000-abcdef

        clients    asked  metric         unit          A         B     B − A    in %  99% from       to  B is                            runs to tell
          1,000  5,000/s  rtt.p99        ms       9.00ms    10.5ms   +1.50ms  +16.7%   +1.08ms  +1.93ms  slower                                     –
          1,000  5,000/s  rtt.p50        ms       2.03ms    2.10ms     +67µs   +3.3%    −819µs  +1.60ms  ?                               > 100 a side
          1,000  5,000/s  received_rate  /s      4,990/s   4,987/s    −2.3/s   −0.0%   −16.4/s  +11.8/s  no difference larger than 0.4%             –
          1,000  5,000/s  recovery.p99   ms        900ms   ≥ 5.00s         –       –         –        –  ?                                          –
          1,000  5,000/s  server.rss     bytes  4.77 MiB  3.81 MiB  −977 KiB  −20.0%         –        –  ?                                  3 or more

        ?     unclear: a value is a lower bound (1 of 5); the interval includes zero and differences that matter (1 of 5); too few runs, or too short (1 of 5)
        note  the CPU differs: i5 | i7
        "#);
        assert_snapshot!(rendered(&found(), TableFormat::Markdown), @r#"
        **B is worse than A in 1 of 5 metrics: rtt.p99 +16.7%.**

        - **A** echo, json, node-ws: 20261120-183000-abcdef
        - **B** echo, json, node-ws: 20261120-183000-abcdef, 20261120-183000-abcdef

        | clients | asked | metric | unit | A | B | B − A | in % | 99% from | to | B is | runs to tell |
        |---:|---:|---|---|---:|---:|---:|---:|---:|---:|---|---:|
        | 1,000 | 5,000/s | rtt.p99 | ms | 9.00ms | 10.5ms | +1.50ms | +16.7% | +1.08ms | +1.93ms | slower | – |
        | 1,000 | 5,000/s | rtt.p50 | ms | 2.03ms | 2.10ms | +67µs | +3.3% | −819µs | +1.60ms | ? | > 100 a side |
        | 1,000 | 5,000/s | received_rate | /s | 4,990/s | 4,987/s | −2.3/s | −0.0% | −16.4/s | +11.8/s | no difference larger than 0.4% | – |
        | 1,000 | 5,000/s | recovery.p99 | ms | 900ms | ≥ 5.00s | – | – | – | – | ? | – |
        | 1,000 | 5,000/s | server.rss | bytes | 4.77 MiB | 3.81 MiB | −977 KiB | −20.0% | – | – | ? | 3 or more |

        - **?** unclear: a value is a lower bound (1 of 5); the interval includes zero and differences that matter (1 of 5); too few runs, or too short (1 of 5)
        - the CPU differs: i5 \| i7
        "#);
    }

    #[test]
    fn sides_have_their_common_name_and_note() {
        let run = |name: &str, note: Option<&str>| Run {
            name: Some(name.into()),
            note: note.map(String::from),
            ..sample::broadcast_run()
        };
        let before = run("nightly", Some("before"));
        assert_eq!(common_name(&[before.clone(), before.clone()]), "nightly (before), ");
        assert_eq!(common_name(&[before.clone(), run("nightly", None)]), "nightly, ");
        assert_eq!(common_name(&[before.clone(), run("weekly", Some("before"))]), "before, ");
        assert_eq!(common_name(&[before, run("weekly", None)]), "");
        assert!(side_line("A", &[run("nightly", None)], TableFormat::Text).starts_with("A  nightly, "));
    }

    #[test]
    fn csv_is_for_programs() {
        assert_snapshot!(rendered(&found(), TableFormat::Csv), @r#"
        clients,asked_per_s,figure,unit,a,b,difference,difference_percent,interval_low,interval_high,change,runs_to_tell,a_at_least,b_at_least
        1000,5000,rtt.p99,ms,9,10.5,1.5,16.666666666666668,1.0829384479210928,1.9343125091407618,slower,,false,false
        1000,5000,rtt.p50,ms,2.033333333333333,2.1,0.06666666666666687,3.2786885245901742,-0.8193223478692884,1.599253235324707,cannot tell,,false,false
        1000,5000,received_rate,/s,4989.666666666667,4987.333333333333,-2.3333333333339397,-0.04676331084241979,-16.39072575785657,11.7637935205857,no difference,,false,false
        1000,5000,recovery.p99,ms,900,5000,,,,,cannot tell,,false,true
        1000,5000,server.rss,bytes,5000000,4000000,-1000000,-20,,,cannot tell,3,false,false
        "#);
    }

    #[test]
    fn json_is_for_programs() {
        let mut found = found();
        found.rows.retain(|row| ["rtt.p99", "recovery.p99"].contains(&row.figure.as_str()));
        assert_snapshot!(rendered(&found, TableFormat::Json), @r#"
        {
          "a": [
            "20261120-183000-abcdef"
          ],
          "b": [
            "20261120-183000-abcdef",
            "20261120-183000-abcdef"
          ],
          "confidence": 0.99,
          "figures": [
            {
              "a": 9,
              "a_at_least": false,
              "asked_per_s": 5000,
              "b": 10.5,
              "b_at_least": false,
              "change": "slower",
              "clients": 1000,
              "difference": 1.5,
              "difference_percent": 16.666666666666668,
              "figure": "rtt.p99",
              "interval_high": 1.9343125091407618,
              "interval_low": 1.0829384479210928,
              "unit": "ms"
            },
            {
              "a": 900,
              "a_at_least": false,
              "asked_per_s": 5000,
              "b": 5000,
              "b_at_least": true,
              "change": "cannot tell",
              "clients": 1000,
              "figure": "recovery.p99",
              "unit": "ms"
            }
          ],
          "notes": [
            {
              "key": "note.differs",
              "text": "the CPU differs: i5 | i7",
              "values": "i5 | i7",
              "what": "CPU"
            }
          ]
        }
        "#);
    }
}
