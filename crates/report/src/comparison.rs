//! A comparison of two sides, as text, Markdown, CSV and JSON.

use results::Run;
use results::Unit;
use results::compare::{Comparison, Row};
use serde_json::json;
use stats::compare::{COMPARISON_CONFIDENCE, Change};

use crate::table::{Cell, Column, Table, TableFormat};
use results::format;

const COLUMNS: &[Column] = &[
    Column::right("clients", "clients"),
    Column::right("asked", "asked_per_s"),
    Column::left("figure", "figure"),
    Column::left("unit", "unit"),
    Column::right("A", "a"),
    Column::right("B", "b"),
    Column::right("B − A", "difference"),
    Column::right("in %", "difference_percent"),
    Column::right("99% from", "interval_low"),
    Column::right("to", "interval_high"),
    Column::left("B is", "change"),
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
                "notes": found.notes,
            });
            format!("{whole:#}\n")
        }
        TableFormat::Text | TableFormat::Markdown => {
            let bullet = if format == TableFormat::Text { "note  " } else { "- " };
            let gap = if found.rows.is_empty() { "" } else { "\n" };
            let notes: String = found.notes.iter().map(|note| format!("{bullet}{note}\n")).collect();
            let notes = if notes.is_empty() { notes } else { format!("\n{notes}") };
            let [a, b] = [("A", a), ("B", b)].map(|(name, side)| side_line(name, side, format));
            format!(
                "{a}{b}{gap}{}{notes}",
                if found.rows.is_empty() { String::new() } else { table.render(format) }
            )
        }
    }
}

/// A row for each figure at each level.
pub(crate) fn table(found: &Comparison) -> Table {
    let mut table = Table::new(COLUMNS);
    found.rows.iter().for_each(|row| table.add(cells(row)));
    table
}

fn side_line(name: &str, side: &[Run], format: TableFormat) -> String {
    let first = &side[0];
    let target = first.target.name.as_ref().unwrap_or(&first.target.url);
    let target = format::printable(target);
    let ids: Vec<&str> = side.iter().map(|run| run.id.as_str()).collect();
    let line = format!("{}, {}, {target}: {}", first.scenario, first.dialect, ids.join(", "));
    match format {
        TableFormat::Markdown => format!("- **{name}** {}\n", crate::markdown::escape(&line)),
        _ => format!("{name}  {line}\n"),
    }
}

fn cells(row: &Row) -> Vec<Cell> {
    let value = |value: f64| Cell::Number(value, show(row.unit, value));
    let signed = |value: f64| {
        let sign = if value < 0.0 { "−" } else { "+" };
        Cell::Number(value, format!("{sign}{}", show(row.unit, value.abs())))
    };
    let bound = |bound: Option<f64>| bound.map_or(Cell::Absent, signed);
    let percent = |percent: f64| Cell::Number(percent, format!("{percent:+.1}%").replace('-', "−"));
    vec![
        Cell::number(row.clients, |n| n as f64, format::count),
        Cell::number(row.asked_per_s, |rate| rate, |rate| format::rate(rate, "")),
        Cell::Text(row.figure.clone()),
        Cell::Text(row.unit.name().into()),
        value(row.a),
        value(row.b),
        signed(row.b - row.a),
        row.percent().map_or(Cell::Absent, percent),
        bound(row.difference.map(|interval| interval.low)),
        bound(row.difference.map(|interval| interval.high)),
        Cell::text(row.change.map(|change| word(row, change))),
    ]
}

/// What is said of a change: times and rates are faster or slower, everything else better or worse.
pub fn word(row: &Row, change: Change) -> &'static str {
    let is_speed = matches!(row.unit, Unit::Ms | Unit::PerSecond);
    match change {
        Change::NoDifference => "no difference",
        Change::Faster if is_speed => "faster",
        Change::Slower if is_speed => "slower",
        Change::Faster => "better",
        Change::Slower => "worse",
    }
}

fn show(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Ms => format::duration((value.max(0.0) * 1e6).round() as u64),
        Unit::Percent => format!("{value:.1}%"),
        Unit::PerSecond => format::rate(value, ""),
        Unit::Bytes => format::bytes(value),
        Unit::Count => format::count(value.round().max(0.0) as u64),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use stats::Interval;
    use stats::compare::Better;

    use super::*;
    use crate::sample;

    fn found() -> Comparison {
        let row = |figure: &str, unit, a, b, interval: Option<(f64, f64)>, change| Row {
            clients: Some(1_000),
            asked_per_s: Some(5_000.0),
            figure: figure.into(),
            unit,
            better: Better::Lower,
            a,
            b,
            difference: interval.map(|(low, high)| Interval { low, high }),
            change,
        };
        let rows = vec![
            row("rtt.p99", Unit::Ms, 9.0, 10.5, Some((1.2, 1.8)), Some(Change::Slower)),
            row(
                "received_rate",
                Unit::PerSecond,
                4_990.0,
                4_985.0,
                Some((-20.0, 10.0)),
                Some(Change::NoDifference),
            ),
            row("server.rss", Unit::Bytes, 5e6, 4e6, None, None),
        ];
        Comparison { rows, notes: vec!["the CPU differs: i5 | i7".into()] }
    }

    fn rendered(format: TableFormat) -> String {
        comparison(&found(), &[sample::echo_run()], &[sample::echo_run(), sample::echo_run()], format)
    }

    #[test]
    fn text_and_markdown_are_for_people() {
        assert_snapshot!(rendered(TableFormat::Text), @r#"
        A  echo, json, node-ws: 20261120-183000-abcdef
        B  echo, json, node-ws: 20261120-183000-abcdef, 20261120-183000-abcdef

        clients    asked  figure         unit          A         B     B − A    in %  99% from       to  B is
          1,000  5,000/s  rtt.p99        ms       9.00ms    10.5ms   +1.50ms  +16.7%   +1.20ms  +1.80ms  slower
          1,000  5,000/s  received_rate  /s      4,990/s   4,985/s    −5.0/s   −0.1%   −20.0/s  +10.0/s  no difference
          1,000  5,000/s  server.rss     bytes  4.77 MiB  3.81 MiB  −977 KiB  −20.0%         –        –  –

        note  the CPU differs: i5 | i7
        "#);
        assert_snapshot!(rendered(TableFormat::Markdown), @r#"
        - **A** echo, json, node-ws: 20261120-183000-abcdef
        - **B** echo, json, node-ws: 20261120-183000-abcdef, 20261120-183000-abcdef

        | clients | asked | figure | unit | A | B | B − A | in % | 99% from | to | B is |
        |---:|---:|---|---|---:|---:|---:|---:|---:|---:|---|
        | 1,000 | 5,000/s | rtt.p99 | ms | 9.00ms | 10.5ms | +1.50ms | +16.7% | +1.20ms | +1.80ms | slower |
        | 1,000 | 5,000/s | received_rate | /s | 4,990/s | 4,985/s | −5.0/s | −0.1% | −20.0/s | +10.0/s | no difference |
        | 1,000 | 5,000/s | server.rss | bytes | 4.77 MiB | 3.81 MiB | −977 KiB | −20.0% | – | – | – |

        - the CPU differs: i5 | i7
        "#);
    }

    #[test]
    fn csv_and_json_are_for_programs() {
        assert_snapshot!(rendered(TableFormat::Csv), @r#"
        clients,asked_per_s,figure,unit,a,b,difference,difference_percent,interval_low,interval_high,change
        1000,5000,rtt.p99,ms,9,10.5,1.5,16.666666666666668,1.2,1.8,slower
        1000,5000,received_rate,/s,4990,4985,-5,-0.10020040080160321,-20,10,no difference
        1000,5000,server.rss,bytes,5000000,4000000,-1000000,-20,,,
        "#);
        assert_snapshot!(rendered(TableFormat::Json), @r#"
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
              "asked_per_s": 5000,
              "b": 10.5,
              "change": "slower",
              "clients": 1000,
              "difference": 1.5,
              "difference_percent": 16.666666666666668,
              "figure": "rtt.p99",
              "interval_high": 1.8,
              "interval_low": 1.2,
              "unit": "ms"
            },
            {
              "a": 4990,
              "asked_per_s": 5000,
              "b": 4985,
              "change": "no difference",
              "clients": 1000,
              "difference": -5,
              "difference_percent": -0.10020040080160321,
              "figure": "received_rate",
              "interval_high": 10,
              "interval_low": -20,
              "unit": "/s"
            },
            {
              "a": 5000000,
              "asked_per_s": 5000,
              "b": 4000000,
              "clients": 1000,
              "difference": -1000000,
              "difference_percent": -20,
              "figure": "server.rss",
              "unit": "bytes"
            }
          ],
          "notes": [
            "the CPU differs: i5 | i7"
          ]
        }
        "#);
    }
}
