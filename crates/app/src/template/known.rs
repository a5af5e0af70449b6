//! Values of a client that a template needs before it can be written.

use super::functions::Function;
use super::kept::Values;
use super::pieces::{Piece, Template};

impl Template {
    /// Returns whether it depends on the client alone, and so can be compared with what the client receives:
    /// on no message of its own, and not on the time.
    pub(super) fn is_of_client(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Text(_) | Piece::Client | Piece::Room { .. } | Piece::Cell { .. } | Piece::Kept { .. } => {
                true
            }
            Piece::Function(function) => match &**function {
                // Findings show conditions as they are written, and a key may be written in one.
                Function::Hmac { .. } | Function::Uuid { .. } | Function::Random { .. } => false,
                function => function.of().is_some_and(Template::is_of_client),
            },
            _ => false,
        })
    }

    /// Returns whether the client has all values that stand in it.
    pub(crate) fn is_known(&self, values: &Values) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Kept { value, .. } => !values.get(*value).is_empty(),
            Piece::Function(function) => function.of().is_none_or(|of| of.is_known(values)),
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Names, Purpose, Quoting};

    fn parsed(text: &str) -> Option<Template> {
        let mut names = Names::default();
        names.set("person.name", Template::of_column(0));
        names.set("room", Template::of_room(0));
        names.set("sid", Template::of_kept(1));
        names.set("token", Template::of_token());
        Template::parse(text, Purpose::Condition, &names, Quoting::Plain).ok()
    }

    #[test]
    fn conditions_hold_what_is_known_beforehand() {
        for text in ["x", "{person.name}:{room}", "{client}", "{sid}", "{base64:{sid}}", "{hex:0a}"] {
            assert!(parsed(text).is_some(), "{text}");
        }
        assert_eq!(parsed("{hmac:sha256:key:{sid}}"), None);
        for text in ["{id}", "{seq}", "{now}", "{now:ms}", "{uuid}", "{random:1..6}", "{token}", "{nobody}"] {
            assert_eq!(parsed(text), None, "{text}");
            assert_eq!(parsed(&format!("{{sha1:{text}}}")), None, "{text}");
        }
    }

    #[test]
    fn values_not_kept_yet_are_unknown() {
        let mut values = Values::default();
        let [plain, of_function, other] =
            ["{sid}", "{md5:a{sid}}", "{room}"].map(|text| parsed(text).unwrap());
        let known = |values: &Values| [&plain, &of_function, &other].map(|of| of.is_known(values));
        values.set(0, "of another name");
        assert_eq!(known(&values), [false, false, true]);
        values.set(1, "s1");
        assert_eq!(known(&values), [true; 3]);
    }
}
