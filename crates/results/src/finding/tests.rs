//! Rules of every row of the tables. Their wording stands in docs/FINDINGS.md.

use std::collections::BTreeSet;

use serde_json::Map;

use super::quantity::{Extreme, Ns};
use super::*;
use crate::judgement::Bottleneck;

#[test]
fn keys_are_unique_and_name_their_kind() {
    let keys: Vec<&str> = [Cause::KEYS, Caveat::KEYS, Loss::KEYS, Note::KEYS].concat();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    assert!(Cause::KEYS.iter().all(|key| Bottleneck::of_key(key).is_some()));
    assert!(Caveat::KEYS.iter().all(|key| key.starts_with("caveat.")));
    assert!(Loss::KEYS.iter().all(|key| key.starts_with("loss.")));
    assert!(Note::KEYS.iter().all(|key| key.starts_with("note.")));
}

fn read_back<F: Finding + PartialEq>(findings: &[F]) {
    for finding in findings {
        let read = F::read(finding.key(), &finding.numbers());
        assert!(read.as_ref() == Some(finding), "{}", finding.terse());
    }
}

#[test]
fn findings_are_key_and_numbers() {
    read_back(&Cause::examples());
    read_back(&Caveat::examples());
    read_back(&Loss::examples());
    read_back(&Note::examples());
    assert_eq!(Cause::read("server.of_tomorrow", &Map::new()), None);
    assert_eq!(Cause::read("server.ended", &Map::new()), None);
}

#[test]
fn optional_numbers_are_left_out() {
    let bare = Cause::Nothing { server: None, cores: None, worker: None };
    assert_eq!(bare.terse(), "none.saturated");
    read_back(&[bare]);
}

#[test]
fn steps_that_differ_in_numbers_share_a_caveat() {
    let samples = |samples| Caveat::Samples { quantile: quantity::Quantile(0.95), samples, needed: 200 };
    let behind = |ms: u64| Caveat::GeneratorBehind { by: Ns(ms * 1_000_000) };
    assert!(samples(20).is_alike(&samples(160)) && !samples(20).is_alike(&behind(20)));
    let told = |text: &str| Caveat::told(text.into());
    assert!(told("a").is_alike(&told("a")) && !told("a").is_alike(&told("b")));
    assert_eq!(samples(20).merged(&samples(160), Extreme::Highest), samples(160));
    assert_eq!(samples(20).merged(&samples(160), Extreme::Lowest), samples(20));
}

/// Each example with 1 for every whole number; words that follow one of them.
fn behind_one<F: Finding>(examples: Vec<F>) -> Vec<String> {
    let mut found = Vec::new();
    for example in examples {
        let of_one = |value: serde_json::Value| if value.is_u64() { 1.into() } else { value };
        let numbers: Map<_, _> =
            example.numbers().into_iter().map(|(name, value)| (name, of_one(value))).collect();
        let said = F::read(example.key(), &numbers).unwrap().to_string();
        let words: Vec<&str> = said.split(|c: char| !c.is_alphanumeric()).collect();
        let behind = words.windows(2).filter(|pair| pair[0] == "1").map(|pair| pair[1]);
        found.extend(behind.filter(|word| word.ends_with('s')).map(|word| format!("{word}: {said}")));
    }
    found
}

#[test]
fn one_of_anything_is_singular() {
    let plural = [
        behind_one(Cause::examples()),
        behind_one(Caveat::examples()),
        behind_one(Loss::examples()),
        behind_one(Note::examples()),
    ];
    assert_eq!(plural.concat(), Vec::<String>::new());
    let missing = |what: &str| Loss::Missing { missing: 1, of: 1, what: what.into(), unpublished: None };
    assert!(missing("copies").to_string().starts_with("the one copy"));
    assert!(missing("answers").to_string().starts_with("the one answer"));
    let attempt = Loss::Attempts { failed: 1, of: 1, errors: quantity::Kinds::default() };
    assert!(attempt.to_string().starts_with("the one attempt to"));
    assert!(Loss::Pushes { missing: 1, of: 1 }.to_string().starts_with("the one push "));
    let lost = |lost, what: &str| Loss::Connections { lost, of: 300, what: what.into(), first: None };
    assert!(lost(1, "clients").to_string().ends_with("its connection"));
    assert!(lost(2, "clients").to_string().ends_with("their connection"));
    assert!(lost(1, "connections").to_string().ends_with("was lost"));
    assert!(lost(2, "connections").to_string().ends_with("were lost"));
    let no_storm = |left| Loss::NoStorm { left, of: left }.to_string();
    assert!(no_storm(1).contains("lost its connection") && no_storm(2).contains("lost their connection"));
    let waited = |waited| {
        Cause::ServerKeptWaiting { waited, of: 300, what: "clients".into(), overflows: Some(1) }.to_string()
    };
    assert!(waited(1).contains(" it gave up") && waited(2).contains(" they gave up"));
    assert!(waited(1).contains(" once"));
}
