//! Facts of answers that come in pieces over a WebSocket.

use crate::facts::{Facts, Form};

pub(super) static FACTS: Facts = Facts {
    name: "ws-stream",
    protocol: "ws-stream",
    form: Form::Raw,
    can_broadcast: false,
    asks: true,
    ..Facts::USUAL
};
