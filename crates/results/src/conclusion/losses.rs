//! What was lost, wrong or too slow, in words; each from the count that its limit is about.

use stats::Count;

use crate::format::{bytes, count, duration, rate};
use crate::judgement::{LimitOutcome, Unit};
use crate::limit::{Counted, Figure};
use crate::scenario::{Due, Scenario};
use crate::standing;
use crate::step::{PUBLISH, Step};

/// The share of the asked rate from which on what was too much is told by what queued up, not by the rate.
const QUEUED_RATE_MIN: f64 = 0.99;
/// From so many messages on, as many missing copies are no coincidence.
const OWN_COPIES_MIN: u64 = 10;

/// Why a step does not pass: standing limits in words, and the others as they were written.
pub fn failings(scenario: Scenario, step: &Step) -> String {
    // Missing clients also miss the rate: one of the two is enough.
    let is_of_rate = |limit: &LimitOutcome| Figure::of_limit(limit) == Some(standing::RATE);
    let explains = |limit: &&LimitOutcome| !limit.passed && !is_of_rate(limit);
    let is_explained = step.standing.iter().any(|limit| explains(&limit));
    let standing = step.standing.iter().filter(|limit| !limit.passed);
    let standing = standing.filter(|limit| !is_explained || !is_of_rate(limit));
    let said = standing.chain(step.limits.iter().chain(&step.stop).filter(|limit| !limit.passed));
    said.map(|limit| failing(scenario, step, limit)).collect::<Vec<_>>().join(", ")
}

/// A broken limit: what was lost, or the limit and what came.
pub fn failing(scenario: Scenario, step: &Step, limit: &LimitOutcome) -> String {
    let is_standing = step.standing.iter().any(|standing| standing.limit == limit.limit);
    let said = match Figure::of_limit(limit).filter(|_| is_standing) {
        Some(figure) => words(scenario, step, figure),
        None if is_standing && standing::is_unfinished(limit) => {
            Some("cut short when the generator gave out".into())
        }
        None => None,
    };
    said.unwrap_or_else(|| match actual(limit) {
        Some(actual) => format!("{} was {actual}", limit.limit),
        None => format!("{} was not measured", limit.limit),
    })
}

/// Everything that was lost or wrong in a step that passed all the same, because it was allowed.
pub(super) fn all(scenario: Scenario, step: &Step) -> Vec<String> {
    standing::FIGURES
        .into_iter()
        .filter(|figure| *figure != standing::RATE)
        .filter_map(|figure| words(scenario, step, figure))
        .collect()
}

/// What was due to clients while they were away, and never came: no limit is about it, for few servers keep it.
pub(super) fn while_away(step: &Step) -> Option<String> {
    let (lost, due) = (step.counts.lost_offline, step.counts.offline_due);
    (lost > 0).then(|| {
        let which = if lost == due {
            format!("all {}", count(due))
        } else {
            format!("{} of {}", count(lost), count(due))
        };
        format!("{which} copies due to clients while they were away never came")
    })
}

/// What a limit's figure came to: `6.40s`, or `at least 9.00s` where some never came.
pub fn actual(limit: &LimitOutcome) -> Option<String> {
    let actual = limit.actual?;
    let text = match limit.unit {
        Unit::Ms => duration((actual * 1e6).round() as u64),
        Unit::Percent => format!("{actual:.2}%"),
        Unit::PerSecond => rate(actual, ""),
        Unit::Bytes => bytes(actual),
        Unit::Count => count(actual.round() as u64),
    };
    Some(if limit.at_least { format!("at least {text}") } else { text })
}

/// `None` where there is nothing of it.
fn words(scenario: Scenario, step: &Step, figure: Figure) -> Option<String> {
    let counts = &step.counts;
    let part = |part: u64, of: u64, what: &str| {
        (part > 0).then(|| {
            if part == of && of > 1 { format!("all {} {what}", count(of)) } else { of_all(part, of, what) }
        })
    };
    match figure {
        Figure::Counted(Counted::Unusable) => {
            let who = part(step.unusable(), step.clients, "clients")?;
            Some(format!("{who} did not become usable{}", most_frequent(step)))
        }
        Figure::Counted(Counted::Count(Count::Disconnects)) => {
            let who = part(counts.disconnects, step.connections(), "clients")?;
            let their = if counts.disconnects == 1 { "its" } else { "their" };
            Some(format!("{who} lost {their} connection{}", first_loss(step)))
        }
        Figure::Counted(Counted::Count(Count::JoinFailures)) => {
            let who = part(counts.join_failures, step.joins(), "visits")?;
            Some(format!("{who} ended at the door: not let into the room"))
        }
        Figure::Counted(Counted::Count(Count::Unseen)) => {
            let news = part(counts.unseen, counts.seen_due, "notices")?;
            Some(format!("{news} of newcomers never came to who was in their room"))
        }
        Figure::Counted(Counted::Count(Count::NotBack)) => {
            let lost = step.figures.recovery.count().max(counts.cut + counts.disconnects);
            let were = if counts.not_back == 1 { "was" } else { "were" };
            Some(format!("{} {were} not back", part(counts.not_back, lost, "clients")?))
        }
        Figure::Counted(Counted::Count(Count::Missing)) => {
            let copies = part(counts.missing, counts.expected, due(scenario, step))?;
            if step.is_cut_off() {
                return Some(format!(
                    "{copies} still to come when the wait for them ended (--drain-timeout)"
                ));
            }
            Some(format!(
                "{copies} missing{}",
                unpublished(step).unwrap_or_else(|| own_copies(step).to_owned())
            ))
        }
        Figure::Counted(Counted::Wrong) => Some(format!(
            "{} wrong{}",
            part(step.wrong(), step.came(), due(scenario, step))?,
            match counts.leaked {
                0 => wrong_answers(step),
                leaked => format!(", {} of them leaked into other rooms", count(leaked)),
            }
        )),
        standing::RATE => {
            let (asked, achieved) = (step.due_per_s()?, step.rates.achieved_per_s?);
            if achieved >= asked * QUEUED_RATE_MIN && counts.late > 0 {
                return part(counts.late, counts.expected, due(scenario, step))
                    .map(|late| late + " queued up");
            }
            let asked_for = rate(asked, scenario.facts().sends);
            if achieved >= asked * QUEUED_RATE_MIN {
                // Messages are acknowledged whose copies do not come.
                let percent = step.kept_percent()?;
                return Some(format!("{percent:.0}% of the {} of {asked_for} came", due(scenario, step)));
            }
            Some(format!("{} answered of {asked_for}", rate(achieved, "")))
        }
        _ => None,
    }
}

fn of_all(part: u64, of: u64, what: &str) -> String {
    if of == 1 {
        let one = what.strip_suffix("ies").map(|stem| format!("{stem}y"));
        format!("the one {}", one.unwrap_or_else(|| what.trim_end_matches('s').to_owned()))
    } else {
        format!("{} of {} {what}", count(part), count(of))
    }
}

/// What would explain that a copy of each message is missing. A few messages may lack one each by chance.
fn own_copies(step: &Step) -> &'static str {
    let counts = &step.counts;
    if counts.missing == counts.sent && counts.sent >= OWN_COPIES_MIN && counts.received > 0 {
        ", one for each message: if the server leaves out the sender, use --to others"
    } else {
        ""
    }
}

/// Why the application was not told of messages that it was to publish.
fn unpublished(step: &Step) -> Option<String> {
    step.unpublished().map(|example| format!(": requests to publish failed ({example})"))
}

/// What is due for a message.
fn due(scenario: Scenario, step: &Step) -> &'static str {
    match scenario.facts().due {
        Due::Copies => "copies",
        Due::Either if step.counts.expected > step.counts.sent => "copies",
        Due::Either | Due::Answers => "answers",
    }
}

/// Why clients did not become usable, mostly.
fn most_frequent(step: &Step) -> String {
    let connecting = step.errors.iter().filter(|(kind, _)| is_of_clients(kind));
    let main = connecting.max_by_key(|(_, error)| error.count);
    main.filter(|_| step.counts.disconnects == 0).map(|(kind, _)| format!(" ({kind})")).unwrap_or_default()
}

/// When the first connection was lost, where nothing else went wrong with connections.
fn first_loss(step: &Step) -> String {
    let counts = &step.counts;
    let is_sure = counts.connect_failures + counts.connect_timeouts == 0;
    let first_ns = step.errors.iter().filter(|(kind, _)| is_of_clients(kind)).map(|(_, e)| e.first_ns).min();
    let after_ns = first_ns.filter(|_| is_sure).and_then(|first_ns| first_ns.checked_sub(step.start_ns));
    after_ns.map(|after_ns| format!(", the first after {}", duration(after_ns))).unwrap_or_default()
}

/// Whether an error is one of clients' connections: not of an answer, nor of those who publish.
fn is_of_clients(kind: &str) -> bool {
    !kind.starts_with("http_") && !kind.starts_with(PUBLISH)
}

/// Which answers of HTTP were not as expected, mostly.
fn wrong_answers(step: &Step) -> String {
    let answers = step.errors.iter().filter(|(kind, _)| kind.starts_with("http_"));
    let main = answers.max_by_key(|(_, error)| error.count);
    main.map(|(_, error)| format!(" ({})", error.example)).unwrap_or_default()
}
