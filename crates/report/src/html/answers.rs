//! The first screen: the result, why, its caveats, and what arrived where clients lose their connections.

use results::conclusion::{self, Conclusion, Status};
use results::format::bytes;
use results::{Bottleneck, Delivery, DeliveryGuarantee, Run, Step};
use serde::Serialize;

/// One of the questions, answered.
#[derive(Serialize)]
pub(super) struct Answer {
    question: &'static str,
    answer: String,
    detail: String,
    /// `good`, `bad`, `doubt` or `plain`; said in words as well.
    tone: &'static str,
}

/// All of them. What is asked of one of the runs is asked of each.
pub(super) fn all(run: &Run, runs: &[Run]) -> Vec<Answer> {
    let conclusion = conclusion::conclude(run);
    let mut answers = vec![result(run, &conclusion), why(&conclusion), caveats(run)];
    // The answers of runs stand side by side: one that lacks a question would put the others out of line.
    if runs.iter().any(|run| Delivery::of(&run.steps).is_some()) {
        answers.insert(1, arrives(run));
    }
    answers
}

/// The run's RESULT, its load apart from the rest, with the memory of a client where that was measured.
fn result(run: &Run, conclusion: &Conclusion) -> Answer {
    let tone = match conclusion.status() {
        Status::Passed if conclusion.noticed.is_some() => "doubt",
        Status::Passed => "good",
        Status::Failed => "bad",
        Status::Unclear => "doubt",
    };
    let (answer, result) = (conclusion.headline(), conclusion.result());
    // The headline is the beginning of the result, and stands in larger letters already.
    let rest = result.strip_prefix(&answer).unwrap_or(&result);
    let detail = rest.trim_start_matches([':', ',', ';', '.', ' ']).to_owned();
    let memory = run.verdict.memory_per_client.filter(|_| run.verdict.capacity.is_none()).map(|line| {
        let later = run.verdict.memory_later.map(|later| format!(", {} at the end", bytes(later)));
        format!("{} of the server's memory per client{}", bytes(line.slope), later.unwrap_or_default())
    });
    let detail = [Some(detail), memory].into_iter().flatten().filter(|part| !part.is_empty());
    Answer { question: "Result", answer, detail: detail.collect::<Vec<_>>().join("; "), tone }
}

/// The owner of what held the load back, and the cause.
fn why(conclusion: &Conclusion) -> Answer {
    let found = conclusion.breaks.cause.as_ref().or(conclusion.how_much.cause.as_ref());
    let (answer, detail) = match found {
        Some(found) if found.bottleneck == Bottleneck::None => {
            ("no bottleneck".into(), found.cause.to_string())
        }
        Some(found) => (found.bottleneck.to_string(), found.cause.to_string()),
        None => ("unknown".into(), String::new()),
    };
    Answer { question: "Why", answer, detail, tone: "plain" }
}

/// How often messages come to clients that lose their connections and come back.
fn arrives(run: &Run) -> Answer {
    let question = "Does it arrive when clients drop?";
    let Some(delivery) = Delivery::of(&run.steps) else {
        let away = || run.steps.iter().filter(|step| !step.absences.is_empty());
        let (answer, detail) = match (away().count(), away().any(Step::was_interrupted)) {
            (0, _) => ("not asked", "no client lost its connection on purpose"),
            (_, true) => ("unclear", "the user ended the run before clients were back"),
            (_, false) => ("not asked", "nothing was due to clients that were away"),
        };
        return Answer { question, answer: answer.into(), detail: detail.into(), tone: "plain" };
    };
    let tone = match (delivery.away(), delivery.here()) {
        (DeliveryGuarantee::ExactlyOnce, DeliveryGuarantee::ExactlyOnce) => "good",
        (_, here) if here.is_at_least_once() => "doubt",
        _ => "bad",
    };
    let said = delivery.to_string();
    let (answer, detail) = said.split_once(": ").unwrap_or((&said, ""));
    Answer { question, answer: answer.into(), detail: detail.into(), tone }
}

/// The number of caveats, and the first of them.
fn caveats(run: &Run) -> Answer {
    let told = conclusion::conclude(run).caveats(run);
    let limited = conclusion::is_untrusted(run)
        && run.verdict.bottleneck.as_ref().is_some_and(|found| found.bottleneck == Bottleneck::Generator);
    let (answer, tone) = match told.len() {
        // Whatever else there is: figures of the generator say nothing of the server.
        _ if limited => ("limited by the generator".into(), "bad"),
        0 => ("none".into(), "good"),
        n => (n.to_string(), "doubt"),
    };
    let detail = match &told[..] {
        [] => String::new(),
        [caveat] => caveat.clone(),
        [caveat, more @ ..] => format!("{caveat}; and {} more below", more.len()),
    };
    Answer { question: "Caveats", answer, detail, tone }
}
