//! Facts of plain HTTP.

use crate::facts::{Facts, Form};

pub(super) static FACTS: Facts = Facts {
    name: "http",
    protocol: "http",
    form: Form::Raw,
    can_broadcast: false,
    asks: true,
    ..Facts::USUAL
};
