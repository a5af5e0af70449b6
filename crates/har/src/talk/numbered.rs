//! Answers by number, as those of JSON-RPC: they need say nothing else of the message that they answer.

use std::collections::{HashMap, HashSet};

use super::Talk;
use crate::kind::{Kind, Message};
use crate::naming::{is_counter, is_of_id};

/// Messages of a kind with numbers of their own, from which on these are seen to be such.
const NUMBERED_MIN: usize = 2;

impl Talk {
    /// The kind of the server's messages that answer these by their numbers, and the place of the number in both.
    pub(super) fn numbered(&self, kind: &Kind, is_meant: impl Fn(&Kind) -> bool) -> Option<(Kind, String)> {
        let (_, first) = self.of(true, kind).next()?;
        let places = first.leaves.iter().filter(|leaf| is_counter(&leaf.key) || is_of_id(&leaf.key));
        let mut places = places.map(|leaf| &leaf.pointer).filter(|pointer| pointer.matches('/').count() == 1);
        let answers: Vec<&Kind> = self.kinds(false).into_iter().filter(|answer| is_meant(answer)).collect();
        places.find_map(|pointer| {
            let mut asked: HashMap<&str, usize> = HashMap::new();
            let sent = self.messages.iter().enumerate().filter(|(_, message)| message.turn.is_sent);
            for (number, at) in sent.filter_map(|(at, message)| Some((number(message, pointer)?, at))) {
                asked.entry(number).or_insert(at);
            }
            let numbers: Option<Vec<&str>> =
                self.of(true, kind).map(|(_, message)| number(message, pointer)).collect();
            let numbers = numbers.filter(|numbers| numbers.len() >= NUMBERED_MIN)?;
            let answer = answers.iter().find(|answer| self.answers(answer, pointer, &asked, &numbers))?;
            Some(((*answer).clone(), pointer.clone()))
        })
    }

    /// Returns whether all messages of a kind answer one that was asked before, and these numbers among them: the
    /// recording may end before the last answer.
    fn answers(&self, answer: &Kind, pointer: &str, asked: &HashMap<&str, usize>, numbers: &[&str]) -> bool {
        let mut answered = HashSet::new();
        for (at, message) in self.of(false, answer) {
            let number =
                number(message, pointer).filter(|number| asked.get(number).is_some_and(|&asked| asked < at));
            if !number.is_some_and(|number| answered.insert(number)) {
                return false;
            }
        }
        let own: HashSet<&str> = numbers.iter().copied().collect();
        let count = own.intersection(&answered).count();
        own.len() == numbers.len() && count > 0 && count + 1 >= numbers.len()
    }
}

/// The number of a message at this place, in digits.
fn number<'a>(message: &'a Message, pointer: &str) -> Option<&'a str> {
    let leaf = message.leaves.iter().find(|leaf| leaf.pointer == pointer)?;
    let is_number = !leaf.value.is_empty() && leaf.value.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(leaf.value.as_str())
}
