//! Results to text, Markdown, CSV, JSON, HTML and what CI reads: one file per exporter, all of them pure
//! functions of a run.

use results::Run;

mod comparison;
mod csv;
mod difference;

mod github;
mod html;
mod junit;
mod markdown;
mod names;
mod reading;
mod ruling;
mod step_table;
mod style;
mod table;
mod text;

pub use comparison::comparison;
pub use csv::csv;
pub use github::annotations;
pub use html::{
    Curve, Page, Published, Question, Row, SCRIPT, STYLE, Server, Shootout, Source, defect_names, html,
    latency_names, middle_repeat, policy, shootout,
};
pub use junit::junit;
pub use markdown::markdown;
pub use reading::latency;
pub use results::format::{bytes, count, duration, rate};
pub use ruling::ruling;
pub use style::{Colour, Detail, Style, Words};
pub use table::{Cell, Column, Table, TableFormat};
pub use text::{Printer, Suggestion, text};

/// Formats of an exported run.
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
        Format::Csv => csv(std::slice::from_ref(run)),
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
        assert_snapshot!(without_histograms(&render(&sample::idle_run(), Format::Json, &Style::PLAIN)));
    }

    #[test]
    fn text_is_the_steps_and_the_summary() {
        assert_snapshot!(sample::keyed(&sample::idle_run(), &render(&sample::idle_run(), Format::Text, &Style::PLAIN)), @"
        throng idle · json · ws://127.0.0.1:3334/ws (node-ws)
        20,000 clients · 30.0s

        ✓ connected  20,000 of 20,000, 200/s

        latency             p50      p95      p99    p99.9      max    samples
        handshake        2.15ms   3.81ms   3.96ms   4.00ms   4.00ms     20,000
          handshake: connect → ready

        RESULT    PASSED
        WHY       WHY
        CAVEATS   none
        ");
    }

    /// The cells of a CSV that say something, by name: a column that is new and empty changes nothing here.
    fn cells(csv: &str) -> String {
        let (header, rows) = csv.split_once("\r\n").expect("a header");
        let row = |row: &str| {
            let cells = header.split(',').zip(row.trim_end().splitn(header.split(',').count(), ','));
            let told = cells.filter(|(_, cell)| !matches!(*cell, "" | "0"));
            told.map(|(name, cell)| format!("{name}: {cell}\n")).collect::<String>()
        };
        rows.lines().map(row).collect::<Vec<_>>().join("\n")
    }

    /// Output that others read, and scripts take apart, changes with intent or not at all.
    #[test]
    fn every_scenario_in_every_format() {
        let runs = [
            ("echo", sample::echo_run()),
            ("broadcast", sample::broadcast_run()),
            ("search", sample::search_run()),
            ("saturate", sample::sweep_run()),
            ("idle", sample::idle_run()),
            ("storm", sample::storm_run()),
            ("http", sample::http_run()),
        ];
        for (name, run) in runs {
            for (extension, format) in [("txt", Format::Text), ("md", Format::Markdown)] {
                let text = sample::keyed(&run, &render(&run, format, &Style::PLAIN));
                assert_snapshot!(format!("{name}.{extension}"), text);
            }
            assert_snapshot!(format!("{name}.csv"), cells(&render(&run, Format::Csv, &Style::PLAIN)));
        }
    }

    #[test]
    fn every_format_ends_its_last_line() {
        for format in [Format::Text, Format::Json, Format::Csv, Format::Markdown, Format::Junit] {
            let text = render(&sample::broadcast_run(), format, &Style::PLAIN);
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{format:?}");
        }
    }
}
