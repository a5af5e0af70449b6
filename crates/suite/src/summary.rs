//! The tables of a shootout, and what has to be known to judge them.

use std::collections::BTreeMap;
use std::fmt::Write;

use results::format::counted;

use crate::manifest::REFERENCE_NAME;
use crate::noise;
use crate::outcome;
use crate::record::{Entry, Generator, Record};
use crate::section::{Section, with_interval};
use crate::stage::StageFailure;
use crate::standing::Control;
use crate::suite::Suite;

/// A warning that an interval of two rounds is wide: Student's t for one degree of freedom is 12.7, and half
/// of that is on either side.
const FEW_ROUNDS: &str = ". Of two rounds, an interval is their difference 6.4 times to either side: a wide one says that nothing \
                          is known, and a very narrow one is luck";

/// Everything, for people: what was run where, a table for each scenario, and which targets were left out.
pub fn text(suite: &Suite, record: &Record, sections: &[Section]) -> String {
    let mut text = format!("{}: {}\n{}\n", suite.name, suite.title, headline(sections));
    for fact in facts(record) {
        let _ = writeln!(text, "{fact}");
    }
    for section in sections {
        let _ = writeln!(text, "\n{}: {}", section.name, section.command);
        if let Some(line) = shortened(section) {
            let _ = writeln!(text, "{line}");
        }
        text.push_str(&section.table.text());
        for line in footnotes(section) {
            let _ = writeln!(text, "{line}");
        }
        for (target, table) in &section.msacc {
            let _ = write!(text, "\nmsacc of {target}\n{}", table.text());
        }
        if let Some(remark) = &section.remark {
            let _ = writeln!(text, "no published figures: {remark}");
        }
    }
    let left_out = left_out(record);
    if !left_out.is_empty() {
        text.push_str("\nNot measured\n");
        for (name, why) in &left_out {
            let _ = writeln!(text, "{name}: {why}");
        }
    }
    text
}

/// The same in Markdown.
pub fn markdown(suite: &Suite, record: &Record, sections: &[Section]) -> String {
    let mut text = format!("# {}\n\n**{}.**\n\n", suite.title, headline(sections));
    for fact in facts(record) {
        let _ = writeln!(text, "- {fact}");
    }
    for section in sections {
        let _ = write!(text, "\n## {}\n\n`{}`\n\n", section.name, section.command);
        if let Some(line) = shortened(section) {
            let _ = writeln!(text, "{line}\n");
        }
        text.push_str(&section.table.markdown());
        for line in footnotes(section) {
            let _ = writeln!(text, "\n{line}");
        }
        for (target, table) in &section.msacc {
            let _ = write!(
                text,
                "\nWhat the virtual machine's threads did (`msacc`), {target}:\n\n{}",
                table.markdown()
            );
        }
        if let Some(remark) = &section.remark {
            let _ = writeln!(text, "\nNo published figures: {remark}");
        }
    }
    let left_out = left_out(record);
    if !left_out.is_empty() {
        text.push_str("\n## Not measured\n\n");
        for (name, why) in &left_out {
            let _ = writeln!(text, "- {name}: {why}");
        }
    }
    text
}

/// The winner, in a line.
pub fn headline(sections: &[Section]) -> String {
    outcome::headline(sections.iter().map(|section| &section.outcome))
}

/// Flags that differ from the suite's, in a line.
pub fn shortened(section: &Section) -> Option<String> {
    let flags: Vec<String> = section.shortened.iter().map(ToString::to_string).collect();
    (!flags.is_empty()).then(|| format!("Shortened: {}.", flags.join("; ")))
}

/// Facts needed to judge the figures.
pub fn facts(record: &Record) -> Vec<String> {
    let head = &record.head;
    let machine: Vec<String> = head.machine.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let mut facts = vec![
        format!("throng {}, suite {}, {}, seed {}", head.throng, head.suite, head.started, head.seed),
        machine.join(", "),
    ];
    if head.scale != 1.0 {
        facts.push(format!(
            "Shortened to {} of what the suite asks for (--scale): the flags that each scenario says, and the pauses",
            head.scale
        ));
    }
    let pinned = match (&head.pin, &head.server_pin) {
        (None, None) => "not pinned".to_owned(),
        (pin, server_pin) => {
            let cpus = |pin: &Option<String>| pin.clone().unwrap_or_else(|| "any".to_owned());
            format!("on CPUs {} and {}", cpus(pin), cpus(server_pin))
        }
    };
    let fleet = head.generator.as_ref().filter(|generator| **generator != Generator::Here);
    let load = fleet.map_or(String::new(), |fleet| format!(", and the load comes from {fleet}"));
    facts.push(match &head.target_agent {
        Some(agent) => format!("Servers run under the target agent {agent}{load}, {pinned}"),
        None if fleet.is_some() => format!("Servers run on this machine{load}, {pinned}"),
        None => format!("Generator and server share this machine, {pinned}"),
    });
    facts.push(match rounds(record) {
        (_, 0) => "No measurement was finished".to_owned(),
        (_, 1) => {
            "One round: nothing is known of what varies from run to run, so no server has a place".to_owned()
        }
        (least, most) => {
            let rounds = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let few = if least == 2 { FEW_ROUNDS } else { "" };
            format!(
                "{rounds} rounds in random order: means and 95% intervals, which reach up to the next load that broke the limits \
                 where a load was searched; servers with overlapping intervals are tied, and a place such as 1–3 says so{few}"
            )
        }
    });
    facts.extend(interrupted(record).map(|(made, all)| format!("Interrupted: {made} of {all} measurements")));
    let again = measured_again(record);
    if again > 0 {
        facts.push(format!(
            "Measured again because {} had more than {}% of the CPU: {}",
            noise::OTHERS,
            noise::PERCENT_MAX,
            counted(again as u64, "measurement")
        ));
    }
    facts
}

/// Measurements of which an earlier try was lost to other programs or the hypervisor.
fn measured_again(record: &Record) -> usize {
    record.entries.iter().filter(|entry| entry.noise_percent.len() > 1).count()
}

/// How many measurements were made in the rounds that every target has, and of how many, where one round is not whole.
fn interrupted(record: &Record) -> Option<(usize, usize)> {
    let head = &record.head;
    let begun = record.entries.iter().map(|entry| entry.repeat).max().unwrap_or(1);
    // Where there is a time to end in, it may have been up after any round.
    let rounds = if head.budget_s.is_some() { begun.min(head.repeats) } else { head.repeats };
    let made = record.entries.iter().filter(|entry| entry.repeat <= rounds).count();
    let all = head.in_round? * rounds as usize;
    (made < all).then_some((made, all))
}

/// Rounds whose load was not lost: the fewest and the most of the targets that have any, in a scenario.
fn rounds(record: &Record) -> (usize, usize) {
    let mut rounds: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    // A server that dies has had its round.
    let is_made = |entry: &&Entry| entry.trouble.as_ref().is_none_or(StageFailure::is_of_target);
    for entry in record.entries.iter().filter(is_made) {
        *rounds.entry((&entry.scenario, &entry.target)).or_default() += 1;
    }
    let (least, most) = (rounds.values().min(), rounds.values().max());
    (least.copied().unwrap_or_default(), most.copied().unwrap_or_default())
}

/// Footnotes of a table: who may be ahead of all that it ranks, and whether the reference server can be told from
/// itself.
pub fn footnotes(section: &Section) -> impl Iterator<Item = String> {
    beyond(section).into_iter().chain(control(section))
}

fn beyond(section: &Section) -> Option<String> {
    let who = match section.at_file_limit {
        0 => return None,
        1 => "One server".to_owned(),
        some => format!("{some} servers"),
    };
    Some(format!(
        "{who} had as many clients as the limit of open files allows, and broke no limit before: how many more there could be is not \
         known, so there is no place."
    ))
}

/// In a line for each scenario.
fn control(section: &Section) -> Option<String> {
    let figure = &section.figure;
    let (has, is_apart) = match section.control.as_ref()? {
        Control::Incomparable(why) => {
            return Some(format!("Control: {REFERENCE_NAME} a second time cannot be compared: {why}."));
        }
        Control::Compared { mean, interval, is_bound, is_apart } => {
            (figure.sign(*is_bound).to_owned() + &with_interval(figure, *mean, *interval), is_apart)
        }
    };
    Some(if *is_apart {
        format!(
            "Control: {REFERENCE_NAME} a second time has {has} and is told from itself: differences as small as that mean \
             nothing here."
        )
    } else {
        format!("Control: {REFERENCE_NAME} a second time has {has}, and ties with itself.")
    })
}

/// Targets that were not measured, and why: `TARGET`, or `TARGET in SCENARIO`.
pub fn left_out(record: &Record) -> Vec<(String, String)> {
    let of = |receipt: &crate::record::PreparedTarget| {
        Some((receipt.target.clone(), receipt.trouble.as_ref()?.to_string()))
    };
    let whole = record.head.receipts.iter().filter_map(of);
    let in_part = record
        .head
        .left_out
        .iter()
        .map(|out| (format!("{} in {}", out.target, out.scenario), format!("it {}", out.why)));
    whole.chain(in_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Claim, Head};
    use crate::stage::Stage;

    /// One that took so many tries.
    fn entry(target: &str, repeat: u32, tries: usize) -> Entry {
        Entry { target: target.to_owned(), repeat, noise_percent: vec![0.0; tries], ..Entry::default() }
    }

    #[test]
    fn rounds_that_are_not_whole_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::create(Claim::make(folder.path()).unwrap(), Head::blank()).unwrap();
        assert_eq!(rounds(&record), (0, 0));
        assert_eq!(interrupted(&record), None, "it does not say how many there were to be");
        record.head.in_round = Some(2);
        assert_eq!(interrupted(&record), Some((0, 6)));
        for repeat in 1..=3 {
            record.entries.push(entry("a", repeat, 3));
            assert_eq!(interrupted(&record), Some((2 * repeat as usize - 1, 6)));
            record.entries.push(entry("b", repeat, 1));
        }
        assert_eq!(interrupted(&record), None);
        assert_eq!(measured_again(&record), 3, "however often each");
        record.entries.truncate(4);
        assert_eq!(interrupted(&record), Some((4, 6)));
        record.head.budget_s = Some(60.0);
        assert_eq!(interrupted(&record), None, "its time was up");
        record.entries.truncate(3);
        assert_eq!(interrupted(&record), Some((3, 4)));
        let told = facts(&record).into_iter().find(|fact| fact.contains("3 of 4"));
        assert!(told.is_some(), "{:?}", facts(&record));
    }

    #[test]
    fn lost_measurements_are_no_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::create(Claim::make(folder.path()).unwrap(), Head::blank()).unwrap();
        let lost = |target, repeat| {
            let trouble = Some(StageFailure::new(Stage::Load, "agent a was lost"));
            Entry { trouble, ..entry(target, repeat, 1) }
        };
        record.entries = vec![entry("a", 1, 1), lost("a", 2), lost("b", 1), lost("b", 2)];
        assert_eq!(rounds(&record), (1, 1));
        record.entries.push(entry("a", 3, 1));
        assert_eq!(rounds(&record), (2, 2));
        assert!(facts(&record).iter().any(|fact| fact.ends_with(FEW_ROUNDS)));
        record.entries = vec![lost("a", 1)];
        assert_eq!(rounds(&record), (0, 0));
        let died = Entry { trouble: Some(StageFailure::new(Stage::Measure, "signal 9")), ..entry("b", 1, 1) };
        record.entries = vec![entry("a", 1, 1), entry("a", 2, 1), died, entry("b", 2, 1)];
        assert_eq!(rounds(&record), (2, 2));
    }

    #[test]
    fn summaries_say_the_loads_origin() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::create(Claim::make(folder.path()).unwrap(), Head::blank()).unwrap();
        let mut told = |generator| {
            record.head.generator = generator;
            facts(&record).remove(2)
        };
        let names = |fact: &str| ["fleet", " 2 agents ", "zone=a", "rack-7"].map(|name| fact.contains(name));
        for here in [None, Some(Generator::Here)] {
            assert_eq!(names(&told(here)), [false; 4]);
        }
        let labels = [("zone".to_owned(), "a".to_owned())].into();
        let of_fleet = told(Some(Generator::Fleet { agents: Some(2), labels }));
        assert_eq!(names(&of_fleet), [true, true, true, false], "{of_fleet}");
        record.head.target_agent = Some("rack-7".to_owned());
        assert_eq!(names(&facts(&record)[2]), [true; 4]);
    }
}
