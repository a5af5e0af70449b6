//! Cells of the users' data, kept out of the rest of a file: what was typed may have come back in any message.

/// Keys whose values throng reads as words of its own, or compares with what is said.
const OWN: [&str; 19] = [
    "protocol", "frames", "data", "keep", "to", "kind", "every", "number", "time", "when", "copy", "own",
    "ack", "reply", "expect", "event", "flags", "end", "tokens",
];
/// Words with which documents of GraphQL begin.
const OPERATIONS: [&str; 3] = ["query", "mutation", "subscription"];

/// Replaces a cell by its placeholder wherever it was said, but for the file's own words: a password may be
/// `send`, which is a key, or `password`, which is a column and a member of a message.
pub(crate) fn hide(file: String, cell: &str, placeholder: &str) -> String {
    // A word in a comment or in a member's name tells nothing; what is random would.
    let is_word = cell.chars().all(|c| c.is_alphabetic() || c == '_');
    let was_said = |at: &usize| {
        let (before, behind) = (&file[..*at], &file[*at + cell.len()..]);
        !is_in_placeholder(before) && !(is_word && (is_in_comment(before) || is_in_key(behind)))
    };
    let places: Vec<usize> = file.match_indices(cell).map(|(at, _)| at).filter(was_said).collect();
    let hidden = |places: &[usize]| {
        let (mut out, mut end) = (String::with_capacity(file.len()), 0);
        for &at in places {
            out += &file[end..at];
            out += placeholder;
            end = at + cell.len();
        }
        out + &file[end..]
    };
    let words = own_words(&file);
    hidden(&foreign(&places, &|places| own_words(&hidden(places)) == words))
}

/// The places that may all be hidden: halves are tried, as a file has few words of its own and a parse of it
/// takes its time.
fn foreign(places: &[usize], may_be_hidden: &impl Fn(&[usize]) -> bool) -> Vec<usize> {
    match places {
        [] => Vec::new(),
        places if may_be_hidden(places) => places.to_vec(),
        [_] => Vec::new(),
        places => {
            let (front, back) = places.split_at(places.len() / 2);
            [foreign(front, may_be_hidden), foreign(back, may_be_hidden)].concat()
        }
    }
}

/// Returns whether a placeholder has begun before this place, and goes on.
fn is_in_placeholder(before: &str) -> bool {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.:".contains(c);
    before.trim_end_matches(is_name).ends_with('{')
}

/// Returns whether this place is in a line that is a comment.
fn is_in_comment(before: &str) -> bool {
    before.rsplit('\n').next().is_some_and(|line| line.starts_with('#'))
}

/// Returns whether the name of a member of JSON ends behind this place, in a string of TOML or of JSON.
fn is_in_key(behind: &str) -> bool {
    let rest = behind.trim_start_matches(|c: char| c.is_alphanumeric() || "_-.".contains(c));
    let rest = rest.trim_start_matches('\\').strip_prefix('"');
    rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
}

/// Returns whether a text is JSON or a document of GraphQL: what stands in it may have been typed.
fn is_document(text: &str) -> bool {
    let is_operation = OPERATIONS.iter().any(|word| text.starts_with(word));
    text.starts_with(['{', '[']) || is_operation && text.contains('(')
}

/// The keys of a file, and the values that are throng's; `None` if it is no TOML.
fn own_words(file: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    add_words(&toml::Value::Table(file.parse().ok()?), false, &mut words);
    Some(words)
}

fn add_words(value: &toml::Value, is_own: bool, words: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                words.push(key.clone());
                match value.as_table().filter(|_| key == "form") {
                    // Its fields may have any name, and their values are the user's.
                    Some(fields) => words.extend(fields.keys().cloned()),
                    None => add_words(value, is_own || OWN.contains(&key.as_str()), words),
                }
            }
        }
        toml::Value::Array(values) => {
            for value in values {
                add_words(value, is_own, words);
            }
        }
        toml::Value::String(text) if is_own && !is_document(text) => words.push(text.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_were_not_said_stay() {
        let file = "# password: came 2 times.\n\
                    [flags]\nchannel = \"passwordChannel\"\nauth = '{\"key\":\"password\"}'\n\
                    [[login]]\njson = '{\"password\":\"password\",\"password_again\":\"password\"}'\n\
                    [broadcast]\nsend = 'password'\ncopy = { json = { \"/type\" = \"password_set\" } }\n";
        let said = file.replace(":\"password\"", ":\"{person.x}\"").replace("'password'", "'{person.x}'");
        assert_eq!(hide(file.to_owned(), "password", "{person.x}"), said);
        let token = file.replace("password", "t0ken");
        let hidden = hide(token, "t0ken", "{person.x}");
        assert_eq!(hidden.matches("t0ken").count(), 2, "in flags and conditions alone: {hidden}");
    }

    #[test]
    fn own_words_of_the_file_stay() {
        let file = "[people]\ndata = \"users.csv\"\n[[open]]\nsend = \"{person.password} send users\"\n";
        let hidden = |cell| hide(file.to_owned(), cell, "{person.x}");
        assert_eq!(hidden("send"), file.replace(" send users", " {person.x} users"));
        assert_eq!(hidden("users"), file.replace(" send users", " send {person.x}"));
        assert_eq!(hidden("password"), file);
        assert_eq!(hidden("open-sesame"), file);
    }
}
