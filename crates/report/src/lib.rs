//! Results to text, Markdown, CSV, JSON and what CI reads: one file per exporter, all of them pure functions of a run.

use results::Run;

mod csv;
mod format;
mod github;
mod junit;
mod markdown;
mod style;
mod table;
mod text;

pub use csv::csv;
pub use format::{bytes, count, duration, rate};
pub use github::annotations;
pub use junit::junit;
pub use markdown::markdown;
pub use style::{Colour, Style};
pub use table::{Cell, Column, Table, TableFormat};
pub use text::{step_lines, summary, text};

/// What a run can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people at a terminal.
    Text,
    /// The results file itself, schema 1.
    Json,
    /// One row per step, for spreadsheets.
    Csv,
    /// Tables for issues, READMEs and blogs.
    Markdown,
    /// JUnit's XML, for CI.
    Junit,
}

/// The whole run in one format, ending in a newline. Only text looks at the style.
pub fn render(run: &Run, format: Format, style: &Style) -> String {
    match format {
        Format::Text => text(run, style),
        Format::Json => results::file::write(run),
        Format::Csv => csv(run),
        Format::Markdown => markdown(run),
        Format::Junit => junit(run),
    }
}

#[cfg(test)]
mod sample;

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    /// The histogram's bytes are the deflater's choice; that they are read back is tested with the file format.
    fn without_histograms(json: &str) -> String {
        let keep = |line: &&str| !line.trim_start().starts_with("\"histogram\"");
        json.lines().filter(keep).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn json_is_the_results_file() {
        let run = sample::idle_run();
        assert_snapshot!(without_histograms(&render(&run, Format::Json, &Style::PLAIN)), @r#"
        {
          "schema": 1,
          "id": "20261120-183000-abcdef",
          "started": "2026-11-20T18:30:00Z",
          "throng": "0.1.0",
          "command": [
            "throng",
            "idle",
            "ws://127.0.0.1:3334/ws"
          ],
          "scenario": "idle",
          "dialect": "json",
          "target": {
            "url": "ws://127.0.0.1:3334/ws",
            "name": "node-ws"
          },
          "environment": {
            "cpu": "i7-4790K",
            "cores": 8,
            "memory_bytes": 17179869184,
            "same_host": false
          },
          "steps": [
            {
              "clients": 20000,
              "agents": 2,
              "workers": 2,
              "start_s": 0.0,
              "duration_s": 30.0,
              "rates": {
                "connects_per_s": 200.0
              },
              "handshake": {
                "count": 20000,
                "mean_ms": 2.15,
                "sd_ms": 1.068151,
                "min_ms": 0.3,
                "p50_ms": 2.151,
                "p90_ms": 3.631,
                "p95_ms": 3.815,
                "p99_ms": 3.963,
                "p999_ms": 3.997,
                "p9999_ms": 4.0,
                "max_ms": 4.0,
                "marked": [
                  "p9999"
                ],
              },
              "counts": {
                "connects": 20000,
                "connected": 20000,
                "connect_timeouts": 0,
                "connect_failures": 0,
                "connecting": 0,
                "disconnects": 0,
                "errors": {}
              },
              "machine": {
                "cores": 2,
                "same_host": true
              },
              "limits": [],
              "bottleneck": "none",
              "bottleneck_reason": "nothing reached its limit",
              "marks": [],
              "series": []
            }
          ],
          "verdict": {
            "limits": [],
            "bottleneck": "none",
            "bottleneck_reason": "nothing reached its limit",
            "trust": []
          }
        }
    "#);
    }

    #[test]
    fn text_is_the_steps_and_the_summary() {
        assert_snapshot!(render(&sample::idle_run(), Format::Text, &Style::PLAIN), @r#"
        clients: 20000
          handshake   p50 2.15ms     p95 3.81ms     p99 3.96ms     p99.9 4.00ms   max 4.00ms
          clients     20,000 of 20,000 usable at 200/s
          bottleneck  none: nothing reached its limit

        how much  20,000 clients
        breaks    no limit was set; nothing reached its limit
        trust     nothing speaks against these figures
    "#);
    }

    #[test]
    fn every_format_ends_its_last_line() {
        for format in [Format::Text, Format::Json, Format::Csv, Format::Markdown, Format::Junit] {
            let text = render(&sample::broadcast_run(), format, &Style::PLAIN);
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{format:?}");
        }
    }
}
