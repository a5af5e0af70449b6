//! Cells of the users' data, kept out of the rest of a file: what was typed may have come back in any message.

/// Keys whose values throng reads as words of its own.
const OWN: [&str; 9] = ["protocol", "frames", "data", "keep", "to", "kind", "every", "number", "time"];

/// Replaces a cell by its placeholder wherever it stands, but for the file's own words: a password may be
/// `send`, which is a key, or `password`, which is a column.
pub(crate) fn hide(file: String, cell: &str, placeholder: &str) -> String {
    let places: Vec<usize> = file.match_indices(cell).map(|(at, _)| at).collect();
    let places: Vec<usize> = places.into_iter().filter(|&at| !is_in_placeholder(&file[..at])).collect();
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
        toml::Value::String(text) if is_own => words.push(text.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
