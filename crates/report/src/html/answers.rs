//! The three questions of the first screen, answered.

use results::{Bottleneck, Run};
use serde::Serialize;

use crate::text::{amount, breaks, failings, heaviest_kept, lightest_broken, place};
use results::format::bytes;

/// One of the three questions, answered.
#[derive(Serialize)]
pub(super) struct Answer {
    question: &'static str,
    answer: String,
    detail: String,
    /// `good`, `bad`, `doubt` or `plain`; said in words as well.
    tone: &'static str,
}

/// What the server carried.
pub(super) fn how_much(run: &Run) -> Answer {
    let (answer, mut detail) = amount(run);
    if let Some(line) = run.verdict.memory_per_client.filter(|_| run.verdict.capacity.is_none()) {
        detail = format!("{} of the server's memory for each client", bytes(line.slope));
    }
    let tone = if heaviest_kept(run).is_some() { "plain" } else { "bad" };
    Answer { question: "How much does it hold?", answer, detail, tone }
}

/// Where it stopped doing so, and why.
pub(super) fn where_it_breaks(run: &Run) -> Answer {
    let question = "Where does it break?";
    let reason = run.verdict.bottleneck.as_ref();
    let because = reason.map(|finding| match finding.bottleneck {
        Bottleneck::None => finding.reason.clone(),
        who => format!("bottleneck {who}: {}", finding.reason),
    });
    let (answer, detail, tone) = match lightest_broken(run) {
        Some(step) => {
            let held = because.map(|because| format!("; {because}")).unwrap_or_default();
            (place(run, step), failings(step) + &held, "bad")
        }
        None if run.steps.is_empty() => ("nothing was measured".into(), String::new(), "doubt"),
        None => {
            let (answer, tone) = match reason.map(|finding| finding.bottleneck) {
                None | Some(Bottleneck::None) => ("it did not break", "good"),
                Some(Bottleneck::Server) => ("it was at its limit", "doubt"),
                Some(Bottleneck::Generator) => ("unknown: the generator gave out first", "bad"),
                Some(Bottleneck::Machine) => ("unknown: the machine was full", "doubt"),
                Some(Bottleneck::Network) => ("unknown: the network was full", "doubt"),
            };
            (answer.into(), breaks(run), tone)
        }
    };
    Answer { question, answer, detail, tone }
}

/// What speaks against the figures.
pub(super) fn believable(run: &Run) -> Answer {
    let question = "Can I believe it?";
    let trust = &run.verdict.trust;
    let limited = results::verdict::limited_by_generator(&run.steps);
    let (answer, tone) = match trust.len() {
        _ if limited => ("not as the server's limit".into(), "bad"),
        0 => ("yes".into(), "good"),
        1 => ("with one reservation".into(), "doubt"),
        n => (format!("with {n} reservations"), "doubt"),
    };
    let detail = match trust.first() {
        None => "nothing speaks against these figures".into(),
        Some(note) if trust.len() == 1 => note.0.clone(),
        Some(note) => format!("{}; and {} more below", note.0, trust.len() - 1),
    };
    Answer { question, answer, detail, tone }
}
