//! Names that a file gives to columns and kept values, and the keys that they come from.

/// Keys of what is typed into forms, and the columns that they become.
const TYPED: [(&str, &str); 17] = [
    ("password", "password"),
    ("passwd", "password"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("pass", "password"),
    ("pw", "password"),
    ("secret", "secret"),
    ("pin", "pin"),
    ("otp", "otp"),
    ("username", "name"),
    ("user", "name"),
    ("login", "name"),
    ("nickname", "name"),
    ("nick", "name"),
    ("name", "name"),
    ("email", "email"),
    ("phone", "phone"),
];

/// The placeholder of the number of a message, which counts.
pub(crate) const SEQ: &str = "{seq}";

/// Returns whether a key is one of a person's name.
pub(crate) fn is_of_person(key: &str) -> bool {
    TYPED.iter().any(|(typed, _)| key.eq_ignore_ascii_case(typed))
}

/// Returns whether a key names something by its number, as `userId` does; `paid` is a word of its own.
pub(crate) fn is_of_id(key: &str) -> bool {
    ["id", "uid", "userid"].into_iter().any(|name| key.eq_ignore_ascii_case(name))
        || ["_id", "-id", "Id", "ID"].into_iter().any(|end| key.ends_with(end))
}

/// Keys of what counts messages.
const COUNTERS: [&str; 6] = ["ref", "msg_ref", "seq", "n", "nr", "counter"];

/// Returns whether a key is one of a number that counts messages.
pub(crate) fn is_counter(key: &str) -> bool {
    COUNTERS.contains(&key.to_lowercase().as_str())
}

/// Returns whether two keys may name the same number: what is `id` in one place is `userId` in another.
pub(crate) fn is_same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || is_of_id(one) && is_of_id(other)
}

/// A name of a file's value: lower-case letters, digits and `_`.
pub(crate) fn identifier(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let name: String =
        text.to_lowercase().chars().map(|c| if is_name(c) { c } else { '_' }).take(30).collect();
    let name = name.trim_matches('_');
    match name.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => name.to_owned(),
        false => format!("value{name}"),
    }
}

/// The column for what is typed under this key, while it is free.
pub(crate) fn column_of(key: &str) -> String {
    let lower = key.to_lowercase();
    let found = TYPED.iter().find(|(typed, _)| lower == *typed || lower.ends_with(&format!("_{typed}")));
    found.map_or_else(|| identifier(&lower), |(_, column)| (*column).to_owned())
}

/// A name that is not taken: the wanted one, or that with a number.
pub(crate) fn free(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(wanted) {
        return wanted.to_owned();
    }
    (2..)
        .map(|number| format!("{wanted}_{number}"))
        .find(|name| !is_taken(name))
        .expect("there are more numbers than names")
}
