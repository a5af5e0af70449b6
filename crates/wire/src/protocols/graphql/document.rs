//! The operation of a document, as far as this server has something to answer: one field without fields of
//! its own.

/// The only field of a document (GraphQL, October 2021, §2). `None`: it has several, or one that is renamed,
/// has fields of its own, a directive or a fragment.
pub(super) fn only_field(document: &[u8]) -> Option<&[u8]> {
    let mut rest = document;
    // Kind, name and variables of the operation; default values may have braces, in parentheses.
    while next(&mut rest)? != Token::Mark(b'{') {}
    let Token::Name(field) = next(&mut rest)? else { return None };
    (next(&mut rest)? == Token::Mark(b'}') && next(&mut rest).is_none() && rest.is_empty()).then_some(field)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    Name(&'a [u8]),
    Mark(u8),
}

/// The next token, taken off `rest`; what is in parentheses is passed over. `None` at the end, or where
/// parentheses have none.
fn next<'a>(rest: &mut &'a [u8]) -> Option<Token<'a>> {
    let mut depth = 0_u32;
    loop {
        let token = token(rest)?;
        match token {
            Token::Mark(b'(') => depth += 1,
            Token::Mark(b')') => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return Some(token),
            _ => {}
        }
    }
}

/// The next token, parentheses included. Blanks, commas and comments say nothing (§2.1); a string is a mark.
fn token<'a>(rest: &mut &'a [u8]) -> Option<Token<'a>> {
    loop {
        let (&first, behind) = rest.split_first()?;
        let bytes = match first {
            b' ' | b'\t' | b'\r' | b'\n' | b',' => 1,
            b'#' => rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len()),
            b'"' => {
                *rest = &rest[string_bytes(rest)?..];
                return Some(Token::Mark(b'"'));
            }
            _ if is_name(&first) => {
                let end = rest.iter().position(|byte| !is_name(byte)).unwrap_or(rest.len());
                let (name, behind) = rest.split_at(end);
                *rest = behind;
                return Some(Token::Name(name));
            }
            _ => {
                *rest = behind;
                return Some(Token::Mark(first));
            }
        };
        *rest = &rest[bytes..];
    }
}

fn is_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Bytes of the string, or of the block string, that begins here (§2.9.4).
fn string_bytes(text: &[u8]) -> Option<usize> {
    let quotes: &[u8] = if text.starts_with(br#"""""#) { br#"""""# } else { b"\"" };
    let mut at = quotes.len();
    while !text.get(at..)?.starts_with(quotes) {
        let is_escape = text[at..].first()? == &b'\\';
        at += if is_escape { 2 } else { 1 };
    }
    Some(at + quotes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_is_found_however_it_is_written() {
        for document in [
            "{echo}",
            "query{echo}",
            "subscription Named { echo }",
            "mutation($payload:JSON!){echo(payload:$payload)}",
            "mutation M($p: In = {a: \"}\"}) @d {\n  # the one { of ours\n  echo(payload: {a: [\"\\\")\", \"\"\"}\\\"\"\"\"\"\"]}),\n}\n",
        ] {
            assert_eq!(only_field(document.as_bytes()), Some(&b"echo"[..]), "{document}");
        }
        for document in [
            "",
            "{}",
            "{echo",
            "echo",
            "{a echo}",
            "{a:echo}",
            "{echo{a}}",
            "{echo @skip(if:true)}",
            "{...F} fragment F on Query{echo}",
            "{echo}{echo}",
            "{echo(}",
            "{echo)}",
            "{echo(a:\"}",
        ] {
            assert_eq!(only_field(document.as_bytes()), None, "{document}");
        }
    }
}
