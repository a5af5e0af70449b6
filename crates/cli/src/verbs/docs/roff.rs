//! Markdown as a page of the manual: prose that `man` folds, code and tables as they stand.

use super::markdown::{Block, blocks, subject, table};

/// Columns of a table: a terminal's, less the margins of `man`.
const COLUMNS: usize = 72;

/// The page in section 7, under the name of its topic.
pub(super) fn render(topic: &str, page: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(".TH throng-{topic} 7 \"\" \"throng {version}\"\n");
    text +=
        &format!(".SH NAME\n{}\n.SH DESCRIPTION\n", prose(&format!("throng-{topic} - {}", subject(page))));
    // The first block is the title, which NAME stands for.
    for block in blocks(page).into_iter().skip(1) {
        text += &match block {
            Block::Blank => ".PP\n".to_owned(),
            Block::Heading(line) => heading(line),
            Block::Code(lines) => verbatim(lines),
            Block::Table(rows) => {
                let row = |cells: Vec<String>| cells.iter().map(|cell| without_targets(cell)).collect();
                verbatim(table(rows.into_iter().map(row).collect(), COLUMNS).lines())
            }
            Block::Prose(text, None) => format!("{}\n", prose(&text)),
            Block::Prose(text, Some(_)) => item(&text),
        };
    }
    text
}

fn heading(line: &str) -> String {
    let title = line.trim_start_matches('#');
    let request = if line.len() - title.len() > 2 { ".SS" } else { ".SH" };
    format!("{request} {}\n", prose(title.trim()))
}

fn verbatim<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: String = lines.into_iter().map(|line| guarded(&escaped(line)) + "\n").collect();
    format!(".RS 4\n.nf\n{lines}.fi\n.RE\n")
}

/// An item of a list, by the mark that it begins with.
fn item(text: &str) -> String {
    let (mark, text) = text.trim_start().split_once(' ').unwrap_or_default();
    let mark = if mark == "-" { "\\(bu" } else { mark };
    format!(".IP {mark} 4\n{}\n", prose(text))
}

/// Text with its code in bold, and with the words of its links.
fn prose(text: &str) -> String {
    let text = without_targets(text);
    let part = |(place, part): (usize, &str)| match place % 2 {
        0 => escaped(&part.replace("**", "")),
        // Between two backticks.
        _ => format!("\\fB{}\\fR", escaped(part)),
    };
    guarded(&text.split('`').enumerate().map(part).collect::<String>())
}

/// Text with `[words](target)` as its words.
fn without_targets(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(middle) = text.find("](") {
        let (start, end) = (text[..middle].rfind('['), text[middle..].find(')'));
        let (Some(start), Some(end)) = (start, end) else { break };
        text.replace_range(middle..=middle + end, "");
        text.remove(start);
    }
    text
}

/// Characters that roff would take for its own, or print as others (groff_char(7)).
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '\\' => "\\e".to_owned(),
        '-' => "\\-".to_owned(),
        '\'' => "\\(aq".to_owned(),
        '"' => "\\(dq".to_owned(),
        '`' => "\\(ga".to_owned(),
        '^' => "\\(ha".to_owned(),
        '~' => "\\(ti".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// The line with a character of no width before what would be a request.
fn guarded(line: &str) -> String {
    if line.starts_with('.') { format!("\\&{line}") } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const PAGE: &str = "\
# A page

It says `a - b` to
[clients](APP.md#x). And more.

## Part **one**

- an item, with `--flag`
12. another

| key | n |
|---|---:|
| a | 10 |

```sh
.hidden 'x' \\
```
";

    #[test]
    fn pages_are_requests_of_roff() {
        let page = render("app", PAGE).replace(env!("CARGO_PKG_VERSION"), "VERSION");
        assert_snapshot!(page, @r#"
        .TH throng-app 7 "" "throng VERSION"
        .SH NAME
        throng\-app \- It says \fBa \- b\fR to clients
        .SH DESCRIPTION
        .PP
        It says \fBa \- b\fR to clients. And more.
        .PP
        .SH Part one
        .PP
        .IP \(bu 4
        an item, with \fB\-\-flag\fR
        .IP 12. 4
        another
        .PP
        .RS 4
        .nf
        key   n
        \-\-\-  \-\-
        a    10
        .fi
        .RE
        .PP
        .RS 4
        .nf
        \&.hidden \(aqx\(aq \e
        .fi
        .RE
        "#);
    }
}
