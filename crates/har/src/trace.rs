//! Origins of the values that a client says: what was typed, and what answers to earlier requests had.

mod answers;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use app::app_file::KEEPS_MAX;

use crate::credentials::{is_random, is_token, is_typed_secret};
use crate::exchange::{Exchange, is_called};
use crate::file::Pair;
use crate::json::{self, Leaf};
use crate::naming::{column_of, free, identifier, is_of_person, is_same_name};
use crate::recording::Recording;
use crate::toml_text::plain;
use answers::{Answers, place};

/// Values that are looked for in answers: a page has a handful, and each search goes through all bodies.
const SEARCHES_MAX: usize = 64;
/// Columns of the users' data, and values kept of answers and messages: an app has a handful of each, and
/// each is looked for in all values behind it.
const COLUMNS_MAX: usize = 100;
const KNOWN_MAX: usize = 200;
/// The shortest value that is replaced within another.
const PART_BYTES_MIN: usize = 6;
/// The key of a value within another or in a path: none.
pub(crate) const NO_KEY: &str = "";
/// A value behind which a search goes on is at most this long.
const VALUE_BYTES_MAX: usize = 8 * 1024;
/// Fields of logins that are the app's, whoever logs in.
const CONSTANT: [&str; 12] = [
    "grant_type",
    "client_id",
    "scope",
    "remember",
    "remember_me",
    "commit",
    "utf8",
    "_method",
    "response_type",
    "redirect_uri",
    "next",
    "type",
];
/// Headers that requests of a page add themselves.
const HEADERS: [&str; 6] =
    ["authorization", "x-csrf-token", "x-xsrf-token", "x-csrftoken", "x-api-key", "mcp-session-id"];
/// Placeholders of throng's own.
const RESERVED: [&str; 14] = [
    "id",
    "padding",
    "client",
    "seq",
    "token",
    "room",
    "now",
    "uuid",
    "kept",
    "person",
    "data",
    "random",
    "unix_ns",
    "intended_ns",
];

/// A value kept from an answer.
pub(crate) struct Kept {
    pub(crate) name: String,
    /// The place in the answer, as a file has it.
    pub(crate) place: String,
}

/// A text as it stands beside a placeholder: escaped for its place, and no placeholder itself.
pub(crate) type Quote = fn(&str) -> String;

/// A value of an answer, and what stands for it behind that.
struct Known {
    value: String,
    placeholder: String,
    from_s: f64,
}

/// The origins of values, found on demand.
pub(crate) struct Trace<'a> {
    recording: &'a Recording,
    answers: Answers,
    /// Columns of the users' data, and this user's cells.
    pub(crate) columns: Vec<(String, String)>,
    /// Values of answers.
    known: Vec<Known>,
    /// Placeholders of values that are kept no more, and the columns in their place.
    forgotten: Vec<(String, String)>,
    /// Exchanges that are needed, by their place, with what is kept of each.
    pub(crate) needed: BTreeMap<usize, Vec<Kept>>,
    /// Exchanges that log in or set a cookie: they are made even if nothing is kept of their answers.
    required: BTreeSet<usize>,
    /// Values that were looked for, with the count of the exchanges before that time: a repeated value costs
    /// a search only once an answer was added.
    searched: HashSet<(String, usize)>,
    /// Typed values that were looked for in pages and texts.
    typed: usize,
}

impl<'a> Trace<'a> {
    /// Begins with the requests that carry a password.
    pub(crate) fn new(recording: &'a Recording) -> Trace<'a> {
        let mut trace = Trace {
            recording,
            answers: Answers::new(&recording.exchanges),
            columns: Vec::new(),
            known: Vec::new(),
            forgotten: Vec::new(),
            needed: BTreeMap::new(),
            required: BTreeSet::new(),
            searched: HashSet::new(),
            typed: 0,
        };
        for (at, exchange) in recording.exchanges.iter().enumerate() {
            let is_before = exchange.at_s <= recording.socket.at_s;
            if is_before && exchange.method == "POST" && exchange.has_password() {
                trace.note_typed(at, &exchange.fields());
                trace.require(at);
            }
        }
        trace.need_cookies();
        trace
    }

    /// Makes columns of what was typed: of all that no earlier answer had.
    fn note_typed(&mut self, at: usize, fields: &[(String, String)]) {
        for (key, value) in fields {
            let is_constant = CONSTANT.contains(&key.to_lowercase().as_str()) || value.is_empty();
            if is_typed_secret(key) || !is_constant && !self.is_of_page(at, key, value) {
                self.column(key, value);
            }
        }
    }

    /// Returns whether an answer before this exchange had the value.
    fn is_of_page(&mut self, at: usize, key: &str, value: &str) -> bool {
        if self.answers.with(value).iter().any(|&other| other < at) {
            return true;
        }
        self.typed += 1;
        let mut before = self.answers.texts().iter().take_while(|&&other| other < at);
        self.typed <= SEARCHES_MAX
            && before.any(|&other| place(&self.recording.exchanges[other], key, value).is_some())
    }

    /// Answers that set a cookie which the WebSocket's request has: the newest of each.
    fn need_cookies(&mut self) {
        let socket = &self.recording.socket;
        let Some(cookies) = socket.header("cookie") else { return };
        for cookie in cookies.split(';').map(str::trim) {
            let sets = |exchange: &Exchange| exchange.set_cookies().any(|set| set == cookie);
            let exchanges = self.recording.exchanges.iter();
            let before = exchanges.take_while(|exchange| exchange.at_s <= socket.at_s);
            if let Some((at, _)) = before.enumerate().filter(|(_, exchange)| sets(exchange)).last() {
                self.require(at);
            }
        }
    }

    fn require(&mut self, at: usize) {
        self.needed.entry(at).or_default();
        self.required.insert(at);
    }

    /// Returns whether a client makes this request: it is required, or something is still kept of its answer.
    pub(crate) fn is_needed(&self, at: usize) -> bool {
        self.required.contains(&at) || self.needed.get(&at).is_some_and(|keeps| !keeps.is_empty())
    }

    /// The cookies of the WebSocket's request that no answer set: they were there before the recording.
    pub(crate) fn older_cookies(&self) -> Vec<&'a str> {
        let socket = &self.recording.socket;
        let names = |exchange: &'a Exchange| exchange.set_cookies().filter_map(|set| set.split('=').next());
        let set: HashSet<&str> = self.recording.exchanges.iter().flat_map(names).collect();
        let cookies = socket.header("cookie").unwrap_or_default().split(';').map(str::trim);
        cookies.filter(|cookie| cookie.split_once('=').is_some_and(|(name, _)| !set.contains(name))).collect()
    }

    /// The placeholder of the column for what was typed under this key.
    pub(crate) fn column(&mut self, key: &str, value: &str) -> String {
        if let Some(known) = self.cell(key, value) {
            return known;
        }
        if let Some((column, _)) = self.columns.last().filter(|_| self.columns.len() >= COLUMNS_MAX) {
            // What is secret is hidden all the same.
            return format!("{{person.{column}}}");
        }
        let wanted = column_of(key);
        let is_taken = |name: &str| self.columns.iter().any(|(column, _)| column == name);
        let column = free(&wanted, is_taken);
        self.columns.push((column.clone(), value.to_owned()));
        format!("{{person.{column}}}")
    }

    /// The text with which a file says a value at this time: with placeholders, if it is the user's or an
    /// answer's. `quote` makes the text beside a placeholder what it is in its place: JSON, a query, a header.
    pub(crate) fn resolve(&mut self, key: &str, value: &str, before_s: f64, quote: Quote) -> Option<String> {
        if let Some(known) = self.placeholder(key, value, before_s) {
            return Some(known);
        }
        if let Some(found) = self.search(key, value, before_s) {
            return Some(found);
        }
        if is_typed_secret(key) || is_token(key) || secret::is_secret(key) && is_random(value) {
            return Some(self.column(key, value));
        }
        self.within(key, value, before_s, quote)
    }

    /// The placeholder of a value under this key that is known by this time.
    fn placeholder(&self, key: &str, value: &str, before_s: f64) -> Option<String> {
        let known = self.known.iter().find(|known| known.value == value && known.from_s < before_s);
        known.map(|known| known.placeholder.clone()).or_else(|| self.cell(key, value))
    }

    /// The placeholder of a column with this value. A name and a password that are equal have a column each:
    /// of the next user, they differ. A password that is typed twice has one.
    fn cell(&self, key: &str, value: &str) -> Option<String> {
        let is_of_secret =
            |column: &str| is_typed_secret(column.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()));
        let is_own = is_of_secret(&column_of(key));
        let fits = |column: &str| is_of_secret(column) == is_own || !is_own && !is_of_person(key);
        let mut columns = self.columns.iter().filter(|(_, cell)| cell == value);
        let (column, _) = columns.find(|(column, _)| fits(column))?;
        Some(format!("{{person.{column}}}"))
    }

    /// The same of a value with others inside: `Bearer …`, `lv:…`.
    fn within(&mut self, key: &str, value: &str, before_s: f64, quote: Quote) -> Option<String> {
        let is_inside = |part: &&str| part.len() >= PART_BYTES_MIN && value.contains(*part);
        let before = self.known.iter().filter(|known| known.from_s < before_s);
        let kept = before.map(|known| known.value.as_str()).filter(is_inside);
        let cells = self.columns.iter().map(|(_, cell)| cell.as_str()).filter(is_inside);
        // Of several that are as long, the first.
        if let Some(part) = kept.chain(cells).min_by_key(|part| usize::MAX - part.len()) {
            let placeholder = self.placeholder(NO_KEY, part, before_s)?;
            let (front, behind) = value.split_once(part)?;
            return Some(format!("{}{placeholder}{}", quote(front), quote(behind)));
        }
        let (front, part) =
            value.split_once([' ', ':']).filter(|(front, part)| !front.is_empty() && is_random(part))?;
        let resolved = self
            .search(key, part, before_s)
            .or_else(|| secret::is_secret(key).then(|| self.column(key, part)))?;
        Some(format!("{}{resolved}", quote(&value[..=front.len()])))
    }

    /// Looks for a value in the answers before this time, the newest first.
    fn search(&mut self, key: &str, value: &str, before_s: f64) -> Option<String> {
        let is_worth = is_random(value) && value.len() <= VALUE_BYTES_MAX;
        let before = self.recording.exchanges.partition_point(|exchange| exchange.at_s < before_s);
        if !is_worth
            || self.is_full()
            || self.searched.len() >= SEARCHES_MAX
            || !self.searched.insert((value.to_owned(), before))
        {
            return None;
        }
        let (at, (name, place)) = self.answers.newest(value).into_iter().find_map(|at| {
            let exchange = &self.recording.exchanges[at];
            let is_usable = at < before && exchange.status < 400;
            is_usable.then(|| place(exchange, key, value)).flatten().map(|place| (at, place))
        })?;
        // Random and in an answer, it may let the user in.
        Some(match self.has_room(at) {
            true => self.keep_answer(at, value, &name, place),
            false => self.column(&name, value),
        })
    }

    /// The placeholder of a number that is the user's own, if an answer before this time had it under such a name: by
    /// itself, it would be too short to be told from others.
    pub(crate) fn own_number(&mut self, key: &str, value: &str, before_s: f64) -> Option<String> {
        let known = self.known.iter().find(|known| known.value == value && known.from_s < before_s);
        if known.is_some() || self.is_full() {
            return known.map(|known| known.placeholder.clone());
        }
        let before = self.recording.exchanges.partition_point(|exchange| exchange.at_s < before_s);
        let newest = self.answers.with(value).iter().copied().filter(|&at| at < before).rev();
        let (at, leaf) = newest.take(SEARCHES_MAX).find_map(|at| {
            let exchange = &self.recording.exchanges[at];
            let leaves = json::leaves(exchange.answer.as_deref()?).filter(|_| exchange.status < 400)?;
            // Each item of a list has a number; which of them is the user's own, it does not say.
            let is_in_list = |leaf: &Leaf| leaf.pointer.split('/').any(|part| part.parse::<usize>().is_ok());
            let is_it = |leaf: &Leaf| {
                leaf.value == value
                    && is_same_name(key, &leaf.key)
                    && !is_in_list(leaf)
                    && leaf.is_reachable()
            };
            Some((at, leaves.into_iter().find(is_it).filter(|_| self.has_room(at))?))
        })?;
        Some(self.keep_answer(at, value, &leaf.key, format!("json:{}", leaf.pointer)))
    }

    /// Keeps the value at this place of an answer, and returns what stands for it.
    fn keep_answer(&mut self, at: usize, value: &str, key: &str, place: String) -> String {
        let name = self.forget_later(value).unwrap_or_else(|| {
            free(&identifier(key), |name| RESERVED.contains(&name) || self.is_known(name))
        });
        let placeholder = format!("{{{name}}}");
        let from_s = self.recording.exchanges[at].at_s;
        self.known.push(Known { value: value.to_owned(), placeholder: placeholder.clone(), from_s });
        self.needed.entry(at).or_default().push(Kept { name, place });
        placeholder
    }

    /// Keeps a value of a later answer no more, and returns its name: an earlier answer had it, too.
    fn forget_later(&mut self, value: &str) -> Option<String> {
        let known = self.known.iter().position(|known| known.value == value)?;
        let is_same = |kept: &Kept| self.known[known].placeholder == format!("{{{}}}", kept.name);
        let keeps = self.needed.values_mut().find(|keeps| keeps.iter().any(is_same))?;
        let kept = keeps.remove(keeps.iter().position(is_same)?);
        self.known.remove(known);
        Some(kept.name)
    }

    /// Makes columns of what is kept of an answer, as its request is not made.
    pub(crate) fn forget(&mut self, at: usize) {
        for kept in self.needed.remove(&at).unwrap_or_default() {
            let placeholder = format!("{{{}}}", kept.name);
            let known = self.known.iter().position(|known| known.placeholder == placeholder);
            if let Some(known) = known.map(|known| self.known.remove(known)) {
                let column = self.column(&kept.name, &known.value);
                self.forgotten.push((placeholder, column));
            }
        }
    }

    /// A text with columns in place of what is kept no more.
    pub(crate) fn without_forgotten(&self, text: String) -> String {
        self.forgotten.iter().fold(text, |text, (placeholder, column)| text.replace(placeholder, column))
    }

    /// Returns whether a text has a value that is kept of an answer or a message.
    pub(crate) fn is_kept(&self, text: &str) -> bool {
        self.known.iter().any(|known| text.contains(&known.placeholder))
    }

    /// A text with columns in place of what is kept, for requests that nobody logs in for.
    pub(crate) fn without_kept(&mut self, text: String) -> String {
        let known = self.known.iter().filter(|known| text.contains(&known.placeholder));
        let kept: Vec<_> = known.map(|known| (known.placeholder.clone(), known.value.clone())).collect();
        kept.into_iter().fold(text, |text, (placeholder, value)| {
            let column = self.column(placeholder.trim_matches(['{', '}']), &value);
            text.replace(&placeholder, &column)
        })
    }

    /// Returns whether no further value is kept.
    pub(crate) fn is_full(&self) -> bool {
        self.known.len() >= KNOWN_MAX
    }

    /// Returns whether a further value is kept of this answer.
    fn has_room(&self, at: usize) -> bool {
        self.needed.get(&at).is_none_or(|keeps| keeps.len() < KEEPS_MAX)
    }

    fn is_known(&self, name: &str) -> bool {
        self.known.iter().any(|known| known.placeholder == format!("{{{name}}}"))
    }

    /// Names a value that a message of the server had at this time; the placeholder stands for it from there on.
    pub(crate) fn keep(&mut self, key: &str, value: &str, from_s: f64) -> String {
        let name = free(&identifier(key), |name| RESERVED.contains(&name) || self.is_known(name));
        self.known.push(Known { value: value.to_owned(), placeholder: format!("{{{name}}}"), from_s });
        name
    }

    /// The headers of a request that are not the browser's own, with what stands for their values.
    pub(crate) fn headers(&mut self, headers: &[Pair], before_s: f64) -> Vec<(String, String)> {
        let meant = headers.iter().filter(|header| HEADERS.iter().any(|name| is_called(header, name)));
        meant
            .map(|header| {
                let key = header.name.to_lowercase();
                let value = self.resolve(&key, &header.value, before_s, plain);
                (header.name.clone(), value.unwrap_or_else(|| self.column(&key, &header.value)))
            })
            .collect()
    }
}
