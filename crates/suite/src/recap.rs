//! Finished shootouts in short, on one page: for each scenario one ranked table, "now" beside "then".

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::manifest::REFERENCE_NAME;
use crate::record::Record;
use crate::section::{Section, main_figure, mean_with_unit, share, with_unit};
use crate::standing::Standing;
use crate::suite::Suite;
use crate::summary;
use crate::table::Table;

/// The number of questions from which one table has all servers and all questions.
const QUESTIONS_MIN: usize = 4;

/// How the table of all servers is read.
const ALL_SERVERS: &str = "The figure by which each question ranks, and the places it may have. *Empty*: not asked, because the \
                           target here does not do that, whatever its library can (its page says what it does). *None*: there \
                           is no figure. *No place*: it lost messages, answered with errors or the like, as its row below says.";

/// One finished shootout.
pub struct Finished {
    /// Its suite.
    pub suite: Suite,
    /// Its record.
    pub record: Record,
    /// The outcome of each of its scenarios.
    pub sections: Vec<Section>,
}

/// The page in Markdown. `written_by`: the command line that wrote it.
pub fn markdown(finished: &[Finished], written_by: &str) -> String {
    let mut text = format!(
        "# Results: then and now\n\nWritten by `{written_by}` from results files, each with its command line, its versions \
         and its histograms. \"Now\" was measured as said below; \"then\" is what the benchmark that the suite is \
         modelled on published, on its own machine: a change of order means something, a quotient of figures does not. \
         `throng shootout SUITE` makes such tables anywhere.\n"
    );
    for Finished { suite, record, sections } in finished {
        let _ = write!(text, "\n## {}\n\n**{}.**\n\n", suite.title, summary::headline(sections));
        // They come first: a figure is forwarded without what stands below it.
        text.extend(record.notes().map(|notes| notes + "\n"));
        for fact in summary::facts(record) {
            let _ = writeln!(text, "- {fact}");
        }
        let _ = writeln!(text, "- All figures: `{}`", record.folder().join("report.md").display());
        if sections.len() >= QUESTIONS_MIN {
            let _ = write!(
                text,
                "\n### {}: all servers\n\n{}\n\n{ALL_SERVERS}\n\n{}",
                suite.name,
                in_short(suite, sections),
                all_servers(sections).markdown()
            );
        }
        for section in sections {
            let _ = write!(text, "\n### {}: {}\n\n", suite.name, section.name);
            if let Some(line) = summary::shortened(section) {
                let _ = writeln!(text, "{line}\n");
            }
            text.push_str(&table(section).markdown());
            for line in summary::footnotes(section).chain(differs(suite, section)) {
                let _ = writeln!(text, "\n{line}");
            }
        }
        if let Some(line) = left_out(record) {
            let _ = writeln!(text, "\n{line}");
        }
    }
    text
}

/// The answer to each question.
fn in_short(suite: &Suite, sections: &[Section]) -> String {
    let lines = sections.iter().map(|section| {
        let asks = suite.scenario(&section.name).map_or("", |scenario| &scenario.asks);
        let asks = if asks.is_empty() { &section.name } else { asks };
        let best = section.outcome.leaders().first();
        let best = best.and_then(|best| section.standings.iter().find(|one| one.target == *best));
        let figure =
            best.map_or(String::new(), |best| format!(" ({})", mean_with_unit(&section.figure, best)));
        format!("- {asks} **{}**{figure}: {}.", section.outcome.answer(), section.outcome)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The same tables for a terminal.
pub fn text(finished: &[Finished]) -> String {
    let mut text = String::new();
    for Finished { suite, record, sections } in finished {
        let _ = writeln!(text, "{}: {}\n{}", suite.name, suite.title, summary::headline(sections));
        text.extend(record.notes());
        for fact in summary::facts(record) {
            let _ = writeln!(text, "{fact}");
        }
        for section in sections {
            let _ = write!(text, "\n{}\n{}", section.name, table(section).text());
            for line in summary::footnotes(section).chain(differs(suite, section)) {
                let _ = writeln!(text, "{line}");
            }
        }
        if let Some(line) = left_out(record) {
            let _ = writeln!(text, "\n{line}");
        }
        text.push('\n');
    }
    text
}

/// Why what was published is not what was measured.
fn differs(suite: &Suite, section: &Section) -> Option<String> {
    let published = suite.scenario(&section.name)?.published.as_ref()?;
    let is_told = !section.then.is_empty() && !published.differs.is_empty();
    is_told.then(|| format!("Why \"then\" differs: {}", published.differs))
}

fn table(section: &Section) -> Table {
    let now = with_unit(&section.figure);
    let then = section.then_column.as_ref().map(|column| format!("then ({column})"));
    let mut head = vec!["place", "target", &now];
    let multiple = format!("× {REFERENCE_NAME}");
    head.push(&multiple);
    head.extend(then.as_deref());
    head.push("remarks");
    let mut table = Table::new(&head, 2..head.len() - 1);
    for (standing, remarks) in section.standings.iter().zip(&section.remarks) {
        let mut row = vec![
            standing.place.map_or(String::new(), |place| place.to_string()),
            standing.target.clone(),
            main_figure(&section.figure, standing),
            share(&section.figure, standing),
        ];
        if then.is_some() {
            let published = section.then.get(&standing.target);
            row.push(published.map_or(String::new(), |value| section.figure.show(*value)));
        }
        row.push(remarks.clone());
        table.row(row);
    }
    table
}

/// A row for each server, by their names, and a column for each question: who chooses a server has more than one.
fn all_servers(sections: &[Section]) -> Table {
    let columns: Vec<String> =
        sections.iter().map(|section| format!("{} ({})", section.name, with_unit(&section.figure))).collect();
    let head: Vec<&str> = ["target"].into_iter().chain(columns.iter().map(String::as_str)).collect();
    let mut table = Table::new(&head, 1..head.len());
    let names: BTreeSet<&str> = sections
        .iter()
        .flat_map(|section| &section.standings)
        .map(|standing| standing.target.as_str())
        .collect();
    for name in names {
        let cells = sections.iter().map(|section| {
            let standing = section.standings.iter().find(|standing| standing.target == name);
            standing.map_or(String::new(), |standing| figure_and_place(section, standing))
        });
        table.row([name.to_owned()].into_iter().chain(cells).collect());
    }
    table
}

/// `186,575 (1–6)`; a figure without a place is of a server that did not do all that was asked.
fn figure_and_place(section: &Section, standing: &Standing) -> String {
    let figure =
        standing.mean.map_or("none".to_owned(), |mean| section.figure.show_bound(mean, standing.is_bound));
    match standing.place {
        Some(place) => format!("{figure} ({place})"),
        None => format!("{figure} (no place)"),
    }
}

/// The targets that were not measured, in a line: the record says why.
fn left_out(record: &Record) -> Option<String> {
    let named = record.head.receipts.iter().filter_map(|receipt| {
        let trouble = receipt.trouble.as_ref()?;
        Some(format!("{} ({})", receipt.target, trouble.stage.name()))
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty())
        .then(|| format!("Not measured, and at which stage that was found: {}.", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use results::Scenario;

    use super::*;
    use crate::figure::Figure;
    use crate::outcome::Outcome;
    use crate::standing::{Entrant, standings};

    fn section(name: &str, figure: &str, entrants: &[(&str, &[f64], bool)]) -> Section {
        let figure = Figure::parse(figure, Scenario::Echo).unwrap();
        let entrants: Vec<Entrant> = entrants
            .iter()
            .map(|&(target, values, is_ranked)| Entrant {
                target: target.to_owned(),
                values: values.to_vec(),
                reaches: values.to_vec(),
                is_ranked,
                is_bound: false,
            })
            .collect();
        let standings = standings(&figure, &entrants, REFERENCE_NAME);
        Section {
            name: name.to_owned(),
            command: String::new(),
            shortened: Vec::new(),
            outcome: Outcome::of(&figure, &standings, 0),
            standings,
            figure,
            remarks: Vec::new(),
            at_file_limit: 0,
            control: None,
            table: Table::new(&[], 0..0),
            columns: Vec::new(),
            msacc: Vec::new(),
            then: BTreeMap::new(),
            then_column: None,
            remark: None,
        }
    }

    #[test]
    fn short_answers_are_of_the_choices() {
        let sections = [
            section(
                "tied",
                "rate",
                &[("a", &[90.0, 92.0], true), ("b", &[89.0, 91.0], true), ("throng", &[200.0, 200.0], true)],
            ),
            section("alone", "rate", &[("a", &[90.0, 90.0], true), ("lossy", &[99.0, 99.0], false)]),
            section("ahead", "rate", &[("a", &[90.0, 90.0], true), ("b", &[9.0, 9.0], true)]),
            section("nobody", "rate", &[("throng", &[200.0, 200.0], true)]),
        ];
        let suite = Suite {
            name: "short".into(),
            title: String::new(),
            repeats: 2,
            repeats_max: 2,
            busy_retries: 0,
            control: false,
            cooldown: Duration::ZERO,
            targets: None,
            scenarios: Vec::new(),
            text: String::new(),
        };
        let expected = [
            "- tied **Tie of 2** (91 /s): a and b.",
            "- alone **No winner** (90 /s): only a has a place.",
            "- ahead **a** (90 /s): ahead of the other.",
            "- nobody **No winner**: no server has a place.",
        ];
        assert_eq!(in_short(&suite, &sections).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn one_table_has_every_server_and_every_question() {
        let sections = [
            section("fast", "rate", &[("node-ws", &[90.0, 92.0], true), ("throng", &[200.0, 200.0], true)]),
            section("late", "rtt.p99", &[("deaf", &[], false), ("node-ws", &[7.0, 7.0], false)]),
        ];
        let expected = [
            ["deaf", "", "none (no place)"],
            ["node-ws", "91 (2)", "7.00 (no place)"],
            ["throng", "200 (1)", ""],
        ];
        let table = all_servers(&sections);
        assert_eq!(table.head(), ["target", "fast (rate /s)", "late (rtt.p99 ms)"]);
        assert_eq!(table.body(), expected.map(|row| row.map(str::to_owned).to_vec()));
    }
}
