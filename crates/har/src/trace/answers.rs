//! Answers to requests: which of them have a value, and where in one it stands.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::exchange::{Exchange, is_called};
use crate::file::Pair;
use crate::json::{self, Leaf};
use crate::toml_text::escaped;

/// Letters of a page before a value, by which it is found again.
const CONTEXT_BYTES: usize = 24;

/// Answers by their values: each is read once, and not again for every value that is looked for.
pub(super) struct Answers {
    hasher: RandomState,
    /// Exchanges whose answers have a value in JSON, a header or a cookie, by the value's hash.
    by_value: HashMap<u64, Vec<usize>>,
    /// Exchanges with a page or a text, in which a value may stand anywhere.
    texts: Vec<usize>,
}

impl Answers {
    /// Reads the answers of these exchanges, which are in the order of their times.
    pub(super) fn new(exchanges: &[Exchange]) -> Answers {
        let mut answers = Answers { hasher: RandomState::new(), by_value: HashMap::new(), texts: Vec::new() };
        for (at, exchange) in exchanges.iter().enumerate() {
            let leaves = exchange.answer.as_deref().map(json::leaves);
            if let Some(None) = leaves {
                answers.texts.push(at);
            }
            let leaves = leaves.flatten().unwrap_or_default();
            let headers = exchange.answer_headers.iter().filter(|header| !is_called(header, "set-cookie"));
            let cookies = exchange.set_cookies().filter_map(|set| set.split_once('='));
            let values = leaves.iter().map(|leaf| leaf.value.as_str());
            let values = values.chain(headers.map(|header| header.value.as_str()));
            for value in values.chain(cookies.map(|(_, value)| value)) {
                let places = answers.by_value.entry(answers.hasher.hash_one(value)).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        answers
    }

    /// Exchanges whose answers have this value, but for pages and texts.
    pub(super) fn with(&self, value: &str) -> &[usize] {
        self.by_value.get(&self.hasher.hash_one(value)).map_or(&[], Vec::as_slice)
    }

    /// Exchanges with a page or a text.
    pub(super) fn texts(&self) -> &[usize] {
        &self.texts
    }

    /// Exchanges whose answers may have this value, the newest first.
    pub(super) fn newest(&self, value: &str) -> Vec<usize> {
        let mut all = [self.with(value), &self.texts].concat();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.dedup();
        all
    }
}

/// The name and the place of a value in an answer.
pub(super) fn place(exchange: &Exchange, key: &str, value: &str) -> Option<(String, String)> {
    if let Some(answer) = &exchange.answer {
        let leaves = json::leaves(answer);
        let equal = leaves.iter().flatten().filter(|leaf| leaf.value == value);
        let reachable = equal.clone().filter(|leaf| leaf.is_reachable());
        if let Some(Leaf { key, pointer, .. }) = reachable.min_by_key(|leaf| leaf.key != key) {
            return Some((key.clone(), format!("json:{pointer}")));
        }
        let is_page = leaves.is_none();
        if let Some(name) = is_page.then(|| app::places::name_in_page(answer, value)).flatten() {
            let place = format!("html:{name}");
            return Some((name, place));
        }
        // What no pointer leads to is found by what stands before it, as in a text.
        let is_searched = is_page || equal.count() > 0;
        if let Some(expression) = is_searched.then(|| expression(answer, value)).flatten() {
            return Some((key.to_owned(), format!("regex:{expression}")));
        }
    }
    let pair = |header: &&Pair| header.value == value && !is_called(header, "set-cookie");
    if let Some(header) = exchange.answer_headers.iter().find(pair) {
        return Some((header.name.clone(), format!("header:{}", header.name)));
    }
    let cookie = exchange.set_cookies().filter_map(|set| set.split_once('=')).find(|(_, set)| *set == value);
    cookie.map(|(name, _)| (name.to_owned(), format!("cookie:{name}")))
}

/// An expression that finds a value by what is before it, if that stands there once.
fn expression(answer: &str, value: &str) -> Option<String> {
    let at = answer.find(value)?;
    let start = (at.saturating_sub(CONTEXT_BYTES)..at).find(|&start| answer.is_char_boundary(start))?;
    let before = answer[start..at].rsplit(['\n', '\r']).next().filter(|before| before.len() >= 3)?;
    let end = answer[at + value.len()..].chars().next().filter(|c| c.is_ascii_punctuation())?;
    let is_first = answer.find(before).map(|found| found + before.len()) == Some(at);
    let is_whole = !value.contains(end);
    (is_first && is_whole).then(|| format!("{}([^{}]+)", escaped(before), escaped(&end.to_string())))
}
