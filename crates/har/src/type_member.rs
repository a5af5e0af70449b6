//! The member that tells an app's messages apart whatever it is called: `t`, `a`, `k`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::carried::Turn;
use crate::json::{self, Leaf};
use crate::naming::is_of_person;

/// Messages of the client that are looked at: each of its types is among the first.
const MESSAGES_MAX: usize = 400;
/// Words that such a member has: one tells nothing apart, and many are what people say.
const WORDS: RangeInclusive<usize> = 2..=5;
const WORD_BYTES_MAX: usize = 20;
/// Keys of what is said, and of where: their few words in a short recording are no types.
const CONTENT: [&str; 11] =
    ["text", "body", "message", "content", "msg", "say", "room", "channel", "topic", "to", "from"];

/// The pointer of the member that has a type's word in each object that the client sent; `None`: there is none.
pub(crate) fn find<'a>(turns: impl Iterator<Item = &'a Turn>) -> Option<String> {
    let sent = turns.filter(|turn| turn.is_sent && turn.event.is_none() && turn.body.starts_with('{'));
    let messages: Vec<Vec<Leaf>> =
        sent.take(MESSAGES_MAX).filter_map(|turn| json::leaves(&turn.body)).collect();
    let candidates = messages.first()?.iter().filter(|leaf| !is_content(&leaf.key));
    let mut pointers = candidates.map(|leaf| leaf.pointer.as_str());
    pointers.find(|pointer| tells_apart(pointer, &messages)).map(str::to_owned)
}

/// The value at this pointer, if it is a word as types have.
pub(crate) fn word_at<'a>(pointer: &str, leaves: &'a [Leaf]) -> Option<&'a str> {
    let leaf = leaves.iter().find(|leaf| leaf.pointer == pointer)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-:.".contains(c);
    let is_word = leaf.is_text
        && leaf.value.len() <= WORD_BYTES_MAX
        && leaf.value.starts_with(|c: char| c.is_ascii_alphabetic())
        && leaf.value.chars().all(is_plain);
    is_word.then_some(leaf.value.as_str())
}

/// Returns whether the words at this pointer stand for the members beside them: messages of one word have the same,
/// up to those that may be missing, and messages of all words have not. A name or a text says nothing of the rest.
fn tells_apart(pointer: &str, messages: &[Vec<Leaf>]) -> bool {
    let is_top = pointer.matches('/').count() == 1;
    let mut shapes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for leaves in messages {
        let Some(word) = word_at(pointer, leaves) else { return false };
        let members: BTreeSet<&str> =
            leaves.iter().filter_map(|leaf| leaf.pointer.split('/').nth(1)).collect();
        let known = shapes.entry(word).or_insert_with(|| members.clone());
        if !known.is_subset(&members) && !members.is_subset(known) {
            return false;
        }
    }
    let unlike: BTreeSet<&BTreeSet<&str>> = shapes.values().collect();
    // Where no word is repeated, nothing shows that it is constant.
    is_top && WORDS.contains(&shapes.len()) && unlike.len() > 1 && messages.len() > shapes.len()
}

fn is_content(key: &str) -> bool {
    CONTENT.iter().any(|content| key.eq_ignore_ascii_case(content))
        || is_of_person(key)
        || secret::is_secret(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str]) -> Option<String> {
        let turns =
            texts.iter().map(|text| Turn { is_sent: true, body: (*text).to_owned(), ..Turn::default() });
        find(turns.collect::<Vec<_>>().iter())
    }

    #[test]
    fn types_are_told_from_contents() {
        let (join, step) = (r#"{"t":"join","room":"a"}"#, r#"{"t":"move","x":4,"y":7}"#);
        let sprint = r#"{"t":"move","x":4,"y":7,"fast":true}"#;
        for (texts, pointer) in [
            (&[join, step, step][..], Some("/t")),
            (&[join, sprint, step], Some("/t")),
            (&[step, step], None),
            (&[join, step], None),
            (&[join, step, step, r#"{"x":4}"#], None),
            // Two users, each of whom says several things.
            (&[r#"{"by":"ada","n":1}"#, r#"{"by":"ada","at":1}"#, r#"{"by":"bob","n":1}"#], None),
            (&[r#"{"text":"hi"}"#, r#"{"text":"hi"}"#, r#"{"text":"bye","re":1}"#], None),
            (&[r#"{"text":"hi","re":1}"#, r#"{"text":"bye","re":2}"#, r#"{"text":"bye","re":2}"#], None),
        ] {
            assert_eq!(found(texts).as_deref(), pointer, "{texts:?}");
        }
    }
}
