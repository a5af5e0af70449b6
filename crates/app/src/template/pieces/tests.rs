use codec::Stamp;
use codec::http::cookies::Cookies;

use super::*;
use crate::template::{ClientContext, CompiledTemplate, Kept, PersonData};

impl PersonData for Table {
    fn rows(&self) -> &Table {
        self
    }

    fn room(&self, kind: u16, client: u32) -> u32 {
        client / 10 + 1_000 * u32::from(kind)
    }

    fn unix_ns(&self, now_ns: u64) -> u64 {
        now_ns
    }

    /// Shows whose it is.
    fn write_token(&self, out: &mut Vec<u8>, filling: &Filling<'_>) {
        out.extend_from_slice(format!("token-of-{}", filling.context.client).as_bytes());
    }
}

/// The first client of these.
pub(in crate::template) fn nobody(rows: &Table) -> ClientContext<'_> {
    ClientContext {
        client: 0,
        now_ns: 1_700_000_000_999_999_999,
        people: rows,
        kept: Kept::NOTHING,
        cookies: &Cookies::NONE,
    }
}

fn filled(template: &Template, data: &Table) -> String {
    let mark = Mark { stamp: &Stamp::new(1, 2, 3, 456, 789), unix_ns: 5 };
    let filling = Filling { mark, seq: 9, context: nobody(data), tail: b"tail" };
    let mut out = Vec::new();
    template.write(&mut out, &filling, 7);
    let id = mark.stamp.to_text();
    String::from_utf8(out).unwrap().replace(std::str::from_utf8(&id).unwrap(), "ID")
}

#[test]
fn a_stencil_writes_what_its_template_does() {
    let mut data = Table::new(1);
    assert!(data.push([r#"a"b"#].into_iter()));
    let holes = [
        Piece::UnixNs,
        Piece::Id,
        Piece::Number,
        Piece::IdBytes,
        Piece::Tail,
        Piece::UnixNsBytes,
        Piece::IntendedNs,
        Piece::Seq,
        Piece::Cell { column: 0, quoting: Quoting::JSON },
        Piece::Token,
        Piece::Second { ahead_s: -60 },
        Piece::Millisecond,
        Piece::Client,
    ];
    let template = holes.into_iter().fold(Template::literal("<"), |all, hole| all.hole(hole).text("|"));
    let compiled = CompiledTemplate::from(&template);
    for unix_ns in [0, 5, 1_000_000_000_000_000_000, 1_800_000_000_123_456_789, u64::MAX] {
        let mark = Mark { stamp: &Stamp::new(1, 2, 3, 456, 789), unix_ns };
        let filling = Filling { mark, seq: 9, context: nobody(&data), tail: b"tail" };
        let (mut laid_out, mut out) = (b"before".to_vec(), b"before".to_vec());
        compiled.write(&mut laid_out, &filling, 7);
        template.write(&mut out, &filling, 7);
        assert_eq!(laid_out, out, "{unix_ns}");
    }
}

#[test]
fn literals_that_meet_become_one() {
    let inner = Template::literal("b").hole(Piece::Id).text("c");
    let whole = Template::literal("a").then(&inner).text("d");
    assert_eq!(whole.pieces.len(), 3);
    assert_eq!(filled(&whole, &Table::default()), "abIDcd");
    let behind_id = |template: &Template| CompiledTemplate::from(template).bytes_behind_id();
    assert_eq!((behind_id(&whole), behind_id(&inner.hole(Piece::Tail))), (Some(2), None));
    assert_eq!(CompiledTemplate::from(&whole).start(), b"ab");
}

#[test]
fn a_string_in_a_string_is_escaped_twice() {
    let mut data = Table::new(1);
    assert!(data.push([r#"a"b"#].into_iter()));
    let plain =
        Template::literal(r#"{"t":""#).hole(Piece::Cell { column: 0, quoting: Quoting::Plain }).text("\"}");
    assert_eq!(filled(&plain.escaped(), &data), r#"{\"t\":\"a\"b\"}"#);
    assert_eq!(filled(&plain.escaped().escaped(), &data), r#"{\\\"t\\\":\\\"a\\\"b\\\"}"#);
}

#[test]
fn the_members_of_an_object() {
    let members =
        |text: &str| Template::literal(text).members().map(|inner| filled(&inner, &Table::default()));
    assert_eq!(members(r#" { "a":1 } "#).as_deref(), Some(r#""a":1"#));
    assert_eq!(members("{}").as_deref(), Some(""));
    assert_eq!((members("[]"), members("{"), members("")), (None, None, None));
}

#[test]
fn names_are_quoted_for_their_place() {
    let mut rows = Table::new(1);
    assert!(rows.push(["a b"].into_iter()) && rows.push(["\"c\""].into_iter()));
    let name = Template::of_column(0);
    let said = |quoting, client| {
        let template =
            Template::literal("<").then(&name.quoted(quoting)).text(">").then(&Template::of_token());
        let mut out = Vec::new();
        template.write(&mut out, &Filling::of(ClientContext { client, ..nobody(&rows) }), 0);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(said(Quoting::Percent, 0), "<a%20b>token-of-0");
    assert_eq!(said(Quoting::JSON, 3), r#"<\"c\">token-of-3"#);
    assert_eq!(said(Quoting::Plain, 1), r#"<"c">token-of-1"#);
    assert_eq!(name.quoted(Quoting::Plain).plain_columns().collect::<Vec<_>>(), [0]);
    assert_eq!(name.quoted(Quoting::Percent).plain_columns().count(), 0);
    let mut out = Vec::new();
    Template::of_second(3600).write(&mut out, &Filling::of(nobody(&rows)), 0);
    assert_eq!(out, b"1700003600");
}
