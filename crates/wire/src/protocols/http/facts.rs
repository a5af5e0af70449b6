//! Facts of plain HTTP.

use crate::facts::{Facts, Form, TokenHome};

pub(super) static FACTS: Facts = Facts {
    name: "http",
    protocol: "http",
    form: Form::Raw,
    can_broadcast: false,
    asks: true,
    token: TokenHome::Authorization,
    ..Facts::USUAL
};
