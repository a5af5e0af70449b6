//! Rules of every row of the tables. Their wording stands in docs/FINDINGS.md.

use std::collections::BTreeSet;

use serde_json::Map;

use super::quantity::{Extreme, Ns};
use super::*;
use crate::judgement::Bottleneck;

#[test]
fn keys_are_unique_and_name_their_kind() {
    let keys: Vec<&str> = [Cause::KEYS, Caveat::KEYS, Loss::KEYS].concat();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    assert!(Cause::KEYS.iter().all(|key| Bottleneck::of_key(key).is_some()));
    assert!(Caveat::KEYS.iter().all(|key| key.starts_with("caveat.")));
    assert!(Loss::KEYS.iter().all(|key| key.starts_with("loss.")));
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

#[test]
fn one_of_anything_is_singular() {
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
}
