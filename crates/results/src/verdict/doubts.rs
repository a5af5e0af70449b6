//! What speaks against a run: the marks of its steps, gathered.

use crate::format::counted;
use crate::run::TrustNote;
use crate::step::Step;

/// Marks of the same words are one doubt, with the steps that have it: a sweep of thirty steps has not thirty reasons
/// for doubt because its figures differ. They are given from the lowest to the highest.
pub(super) fn doubts(steps: &[Step]) -> Vec<TrustNote> {
    let mut found: Vec<Doubt> = Vec::new();
    for (at, mark) in
        steps.iter().enumerate().flat_map(|(at, step)| step.marks.iter().map(move |mark| (at, mark)))
    {
        let parts = parts(mark);
        match found.iter_mut().find(|doubt| doubt.is_said_by(&parts)) {
            Some(doubt) => doubt.add(parts, at),
            None => found
                .push(Doubt { ranges: parts.into_iter().map(|part| (part, part)).collect(), at: vec![at] }),
        }
    }
    let nothing = steps.is_empty().then(|| TrustNote("nothing was measured".into()));
    found.iter().map(|doubt| TrustNote(doubt.text() + &place(steps, &doubt.at))).chain(nothing).collect()
}

struct Doubt<'a> {
    /// Words, each twice, and figures, the lowest and the highest.
    ranges: Vec<(Part<'a>, Part<'a>)>,
    /// The steps that have it, each once.
    at: Vec<usize>,
}

impl<'a> Doubt<'a> {
    /// Whether a mark differs in nothing but its figures.
    fn is_said_by(&self, parts: &[Part<'_>]) -> bool {
        let alike = |((known, _), part): (&(Part<'_>, Part<'_>), &Part<'_>)| match part.value {
            Some(_) => known.value.is_some(),
            None => known.text == part.text,
        };
        self.ranges.len() == parts.len() && self.ranges.iter().zip(parts).all(alike)
    }

    fn add(&mut self, parts: Vec<Part<'a>>, at: usize) {
        for ((low, high), part) in self.ranges.iter_mut().zip(parts) {
            if part.value < low.value {
                *low = part;
            }
            if part.value > high.value {
                *high = part;
            }
        }
        if self.at.last() != Some(&at) {
            self.at.push(at);
        }
    }

    fn text(&self) -> String {
        let range = |(low, high): &(Part<'_>, Part<'_>)| match low.text == high.text {
            true => low.text.to_owned(),
            false => format!("{} to {}", low.text, high.text),
        };
        self.ranges.iter().map(range).collect()
    }
}

/// Which steps, unless there is but one.
fn place(steps: &[Step], at: &[usize]) -> String {
    let clients = |at: &usize| steps[*at].clients;
    match at {
        _ if steps.len() == 1 => String::new(),
        _ if at.len() == steps.len() => " (at every step)".into(),
        [one] => format!(" (at {})", counted(clients(one), "client")),
        [first, .., last] if clients(first) == clients(last) => {
            format!(" (at {} steps of {})", at.len(), counted(clients(first), "client"))
        }
        [first, .., last] => {
            format!(" (at {} steps, {} to {} clients)", at.len(), clients(first), clients(last))
        }
        [] => unreachable!("a mark comes from a step"),
    }
}

/// A figure, or the words between two.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    /// A figure's.
    value: Option<f64>,
}

/// A figure stands by itself: the 95 of p95 is a part of a word.
fn parts(mark: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut words, mut at) = (0, 0);
    while let Some(start) = mark[at..].find(|c: char| c.is_ascii_digit()).map(|found| at + found) {
        let length =
            mark[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(mark.len() - start);
        let text = mark[start..start + length].trim_end_matches('.');
        at = start + text.len();
        let stands_alone = !mark[..start].ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
        if let Some(value) = text.parse().ok().filter(|_| stands_alone) {
            parts.push(Part { text: &mark[words..start], value: None });
            parts.push(Part { text, value: Some(value) });
            words = at;
        }
    }
    parts.push(Part { text: &mark[words..], value: None });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(steps: &[(u64, &[&str])]) -> Vec<String> {
        let step = |(clients, marks): &(u64, &[&str])| Step {
            clients: *clients,
            marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
            ..Step::default()
        };
        let steps: Vec<Step> = steps.iter().map(step).collect();
        doubts(&steps).into_iter().map(|note| note.0).collect()
    }

    #[test]
    fn the_same_words_are_said_once() {
        let found = said(&[
            (10, &["p95 rests on 20 samples; 200 are needed", "p99 rests on 20 samples; 1000 are needed"]),
            (10, &["p95 rests on 160 samples; 200 are needed", "missed by 22.3%: 248.8/s of 320.0/s."]),
            (20, &["p95 rests on 40 samples; 200 are needed", "missed by 5.1%: 9.5/s of 10.0/s."]),
            (40, &["ws://127.0.0.1:80/ gave up"]),
        ]);
        assert_eq!(
            found,
            [
                "p95 rests on 20 to 160 samples; 200 are needed (at 3 steps, 10 to 20 clients)",
                "p99 rests on 20 samples; 1000 are needed (at 10 clients)",
                "missed by 5.1 to 22.3%: 9.5 to 248.8/s of 10.0 to 320.0/s. (at 2 steps, 10 to 20 clients)",
                "ws://127.0.0.1:80/ gave up (at 40 clients)",
            ]
        );
    }

    #[test]
    fn steps_of_one_size_are_counted() {
        assert_eq!(said(&[(10, &["late"]), (10, &["late"]), (10, &[])]), ["late (at 2 steps of 10 clients)"]);
        assert_eq!(said(&[(10, &["late"]), (20, &["late"])]), ["late (at every step)"]);
        assert_eq!(said(&[(10, &["late, 2 of 3"])]), ["late, 2 of 3"]);
    }
}
