//! The questions of the first screen, answered: three, and a fourth where clients lose their connections.

use results::conclusion::{self, Claim, Tone};
use results::format::bytes;
use results::{Bottleneck, Delivery, DeliveryGuarantee, Run};
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
    let mut answers = vec![how_much(run), where_it_breaks(run), believable(run)];
    if runs.iter().any(|run| Delivery::of(&run.steps).is_some()) {
        answers.insert(0, arrives(run));
    }
    answers
}

/// The load that the server carried.
fn how_much(run: &Run) -> Answer {
    let claim = conclusion::conclude(run).how_much;
    let memory = run.verdict.memory_per_client.filter(|_| claim.tone == Tone::Plain);
    let memory = memory.filter(|_| run.verdict.capacity.is_none());
    let mut answer = Answer::of("How much does it hold?", claim);
    if let Some(line) = memory {
        let slope = bytes(line.slope);
        answer.detail = match run.verdict.memory_later {
            Some(later) => {
                format!("{slope} of the server's memory for each client, {} at the end", bytes(later))
            }
            None => format!("{slope} of the server's memory for each client"),
        };
    }
    answer
}

/// The load where it stopped doing so, and why.
fn where_it_breaks(run: &Run) -> Answer {
    Answer::of("Where does it break?", conclusion::conclude(run).breaks)
}

impl Answer {
    fn of(question: &'static str, claim: Claim) -> Self {
        let tone = match claim.tone {
            Tone::Good => "good",
            Tone::Plain => "plain",
            Tone::Doubt => "doubt",
            Tone::Bad => "bad",
        };
        Self { question, detail: claim.detail(), answer: claim.answer, tone }
    }
}

/// How often messages come to clients that lose their connections and come back.
fn arrives(run: &Run) -> Answer {
    let question = "Does it arrive when clients drop?";
    let Some(delivery) = Delivery::of(&run.steps) else {
        let (answer, detail) = ("not asked".into(), "no client lost its connection on purpose".into());
        return Answer { question, answer, detail, tone: "plain" };
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

/// Caveats of the figures.
fn believable(run: &Run) -> Answer {
    let question = "Can I believe it?";
    let trust = &run.verdict.trust;
    let limited = conclusion::is_untrusted(run)
        && run.verdict.bottleneck.as_ref().is_some_and(|found| found.bottleneck == Bottleneck::Generator);
    let (answer, tone) = match trust.len() {
        _ if limited => ("not as the server's limit".into(), "bad"),
        0 => ("yes".into(), "good"),
        1 => ("with one reservation".into(), "doubt"),
        n => (format!("with {n} reservations"), "doubt"),
    };
    let detail = match trust.first() {
        None => "nothing speaks against these figures".into(),
        Some(note) if trust.len() == 1 => note.to_string(),
        Some(note) => format!("{note}; and {} more below", trust.len() - 1),
    };
    Answer { question, answer, detail, tone }
}
