//! What was lost, wrong or too slow, in words; each from the count that its limit is about.

use stats::Count;

use crate::format::{bytes, count, duration, rate};
use crate::judgement::{LimitOutcome, Unit};
use crate::limit::{Counted, Figure};
use crate::scenario::{Due, Scenario};
use crate::standing;
use crate::step::{PUBLISH, Step, is_of_answers};

/// The share of the asked rate from which on what was too much is told by what queued up, not by the rate.
const QUEUED_RATE_MIN: f64 = 0.99;
/// The share of the rate that is left without what was lost that is enough for it to be explained by that.
const EXPLAINED: f64 = 0.9;
/// From so many messages on, as many missing copies are no coincidence.
const OWN_COPIES_MIN: u64 = 10;

/// Why a step does not pass: standing limits in words, and the others as they were written.
pub fn failings(scenario: Scenario, step: &Step) -> String {
    // Missing clients also miss the rate: one of the two is enough, unless much more is missing than they would have sent.
    let is_of_rate = |limit: &LimitOutcome| Figure::of_limit(limit) == Some(standing::RATE);
    let is_explained = step.standing.iter().any(|limit| !limit.passed && !is_of_rate(limit))
        && step.kept_percent().is_none_or(|kept| kept >= EXPLAINED * 100.0 * (1.0 - share_lost(step)));
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

/// The largest share of what there was that was lost: of clients, connections or messages.
fn share_lost(step: &Step) -> f64 {
    let counts = &step.counts;
    let lost = [
        (step.unusable(), step.clients),
        (counts.disconnects, step.connections()),
        (counts.join_failures, step.joins()),
        (counts.missing, counts.expected),
    ];
    let shares = lost.into_iter().filter(|(part, _)| *part > 0).map(|(part, of)| part as f64 / of as f64);
    shares.fold(0.0, f64::max).min(1.0)
}

/// Everything that was lost or wrong in a step that passed all the same, because it was allowed.
pub(super) fn all(scenario: Scenario, step: &Step) -> Vec<String> {
    standing::FIGURES
        .into_iter()
        .filter(|figure| *figure != standing::RATE && figure.is_told(step))
        .filter_map(|figure| words(scenario, step, figure))
        .collect()
}

/// What was due to clients while they were away, and never came: no limit is about it, for few servers keep it.
pub(super) fn while_away(step: &Step) -> Option<String> {
    let (lost, due) = (step.counts.lost_offline, step.counts.offline_due);
    let is_told = Figure::Counted(Counted::Count(Count::LostOffline)).is_told(step);
    (lost > 0 && is_told).then(|| {
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
        Unit::Percent => percent_apart(limit, actual),
        Unit::PerSecond => rate(actual, ""),
        Unit::Bytes => bytes(actual),
        Unit::Count => count(actual.round() as u64),
    };
    Some(if limit.at_least { format!("at least {text}") } else { text })
}

/// With two digits, or as many more as it takes to be told from the bound that it broke.
fn percent_apart(limit: &LimitOutcome, actual: f64) -> String {
    let bound = limit.limit.trim_end_matches('%').rsplit(['<', '>', '=']).next();
    let bound: Option<f64> = bound.and_then(|bound| bound.trim().parse().ok()).filter(|_| !limit.passed);
    let written = |digits: usize| format!("{actual:.digits$}");
    let is_apart = |text: &String| bound.is_none_or(|bound| text.parse() != Ok(bound));
    (2..=9).map(written).find(is_apart).unwrap_or_else(|| actual.to_string()) + "%"
}

/// `None` where there is nothing of it.
fn words(scenario: Scenario, step: &Step, figure: Figure) -> Option<String> {
    let counts = &step.counts;
    match figure {
        Figure::Counted(Counted::Unusable) => not_let_in(step),
        Figure::Counted(Counted::Count(Count::Disconnects)) => lost(step),
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
        Figure::Counted(Counted::Count(Count::Unacknowledged)) => {
            // A request to publish may have failed before it was sent.
            let asked = counts.sent.max(counts.unacknowledged);
            let messages = part(counts.unacknowledged, asked, "messages")?;
            let why = unpublished(step).filter(|_| counts.missing == 0).unwrap_or_default();
            Some(format!("{messages} not acknowledged{why}"))
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
                let percent = match step.kept_percent()? {
                    near if near >= 98.5 => format!("{:.1}", (near * 10.0).floor() / 10.0),
                    percent => format!("{percent:.0}"),
                };
                return Some(format!("{percent}% of the {} of {asked_for} came", due(scenario, step)));
            }
            Some(format!("{} answered of {asked_for}", rate(achieved, "")))
        }
        _ => None,
    }
}

/// Who did not become usable. Where clients come and go, one may fail and get in later, or another in its place.
fn not_let_in(step: &Step) -> Option<String> {
    let said = match step.failed_to_come() {
        0 => part(step.unusable(), step.clients, "clients")? + " did not become usable",
        failed => part(failed, step.counts.connects, "attempts to connect")? + " failed",
    };
    Some(said + &most_frequent(step))
}

/// Whose connections were lost. Where clients come and go, they had several.
fn lost(step: &Step) -> Option<String> {
    let (lost, connections) = (step.counts.disconnects, step.connections());
    let said = match (connections > step.clients, lost) {
        (true, 1) => part(lost, connections, "connections")? + " was lost",
        (true, _) => part(lost, connections, "connections")? + " were lost",
        (false, 1) => part(lost, connections, "clients")? + " lost its connection",
        (false, _) => part(lost, connections, "clients")? + " lost their connection",
    };
    Some(said + &first_loss(step))
}

/// `3 of 300 clients`, or `all 300 clients`; `None` where it is none.
fn part(part: u64, of: u64, what: &str) -> Option<String> {
    (part > 0).then(|| {
        if part == of && of > 1 { format!("all {} {what}", count(of)) } else { of_all(part, of, what) }
    })
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

/// Whether an error is one of the connections of clients that count: not of an answer or of a message, nor of those who
/// publish, of visits, or of slow clients.
fn is_of_clients(kind: &str) -> bool {
    const OTHERS: [&str; 10] = [
        "cut_off",
        "join_refused",
        "join_unanswered",
        "not_resent",
        "slow_dropped",
        "step_full",
        "unaccepted",
        "unheeded",
        "unrecognised",
        "unsent",
    ];
    !is_of_answers(kind) && !kind.starts_with(PUBLISH) && !OTHERS.contains(&kind)
}

/// Which answers of HTTP were not as expected, mostly.
fn wrong_answers(step: &Step) -> String {
    let answers = step.errors.iter().filter(|(kind, _)| is_of_answers(kind));
    let main = answers.max_by_key(|(_, error)| error.count);
    main.map(|(_, error)| format!(" ({})", error.example)).unwrap_or_default()
}
