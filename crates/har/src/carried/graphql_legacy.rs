//! GraphQL over the older subprotocol `graphql-ws` (subscriptions-transport-ws): JSON over a plain WebSocket, whose
//! operations are begun and answered by number. It is no protocol of throng's: the file says all of it.

use std::collections::{HashMap, HashSet};

use super::turn::{Carried, Sign, Turn};
use crate::json::{member, text_member};
use crate::naming::SEQ;
use crate::recording::{Recording, Text};

const SUBPROTOCOL: &str = "graphql-ws";
/// Messages with which a client leaves, which a load does not say.
const LEAVING: [&str; 2] = ["stop", "connection_terminate"];
const NUMBER: &str = "/id";
const DOCUMENT: &str = "/payload/query";

/// An operation that the client began.
struct Operation {
    document: String,
    /// The number that a file gives it.
    number: String,
    is_subscription: bool,
}

pub(super) fn read(recording: &Recording) -> Option<Carried> {
    let socket = &recording.socket;
    if socket.offered() != [SUBPROTOCOL] {
        return None;
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, document) in socket.frames.iter().filter_map(begun) {
        *counts.entry(document).or_default() += 1;
    }
    let mut operations: HashMap<String, Operation> = HashMap::new();
    let mut turns = Vec::new();
    let mut taken: HashSet<String> = HashSet::new();
    for text in &socket.frames {
        if let Some((number, document)) = begun(text) {
            let is_subscription = document.trim_start().starts_with("subscription");
            let is_repeated = !is_subscription && counts.get(&document).is_some_and(|&count| count > 1);
            // Its answer has the number of its message. Recorded numbers may be those of later messages.
            let own = if is_repeated { SEQ.to_owned() } else { format!("operation-{}", taken.len() + 1) };
            taken.insert(own.clone());
            let operation = Operation { document, number: own, is_subscription };
            operations.insert(number, operation);
        }
        turns.extend(turn(text, &operations));
    }
    Some(Carried {
        protocol: "plain",
        speaks: Some(SUBPROTOCOL),
        names_subprotocols: true,
        turns,
        ..Carried::default()
    })
}

/// The number and the document of an operation that begins.
fn begun(text: &Text) -> Option<(String, String)> {
    let is_start = text.is_sent && text_member(&text.text, "type").as_deref() == Some("start");
    let number = text_member(&text.text, "id").filter(|_| is_start)?;
    Some((number, text_member(member(&text.text, "payload")?, "query")?))
}

fn turn(text: &Text, operations: &HashMap<String, Operation>) -> Option<Turn> {
    let kind = text_member(&text.text, "type").unwrap_or_default();
    if text.is_sent && LEAVING.contains(&kind.as_str()) {
        return None;
    }
    let turn = Turn::of(text, &*text.text);
    let number = text_member(&text.text, "id");
    let operation = number.as_ref().and_then(|number| operations.get(number));
    let (Some(operation), "start" | "data") = (operation, kind.as_str()) else { return Some(turn) };
    let is_asked = !operation.is_subscription;
    if text.is_sent {
        let signs = if is_asked { vec![Sign::new(DOCUMENT, &operation.document)] } else { Vec::new() };
        let fixed = vec![Sign::new(NUMBER, &operation.number)];
        return Some(Turn { signs, fixed, asks: number.filter(|_| is_asked), ..turn });
    }
    let signs = vec![Sign::new(NUMBER, &operation.number), Sign::new("/type", &kind)];
    Some(Turn { signs, answers: number.filter(|_| is_asked), ..turn })
}
