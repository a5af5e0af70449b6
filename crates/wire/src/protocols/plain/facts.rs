//! Facts of the dialects of a plain WebSocket.

use crate::dialect_id::DialectId;
use crate::facts::{AppRules, Body, Facts, Form, Joins};

const ANY: Facts = Facts { protocol: "plain", is_bare: true, ..Facts::USUAL };

/// wsdemo's: any message comes back.
static RAW: Facts = Facts {
    name: "raw",
    aliases: &["wsdemo"],
    form: Form::Raw,
    can_broadcast: false,
    takes_anything: true,
    ..ANY
};

/// websocket-bench's, as JSON: echo and broadcast.
static JSON: Facts = Facts { name: "json", aliases: &["standard", "websocket-bench"], ..ANY };

/// websocket-bench's, as binary: echo and broadcast.
static BINARY: Facts = Facts { name: "binary", form: Form::Binary, ..ANY };

/// A user's own app. Servers do not speak it.
static CUSTOM: Facts = Facts {
    name: "custom",
    needs_app: true,
    app: Some(AppRules {
        has_events: false,
        has_replies: false,
        tells_replies: false,
        body: Body::Any,
        joins: Joins::Message,
    }),
    ..ANY
};

pub(super) fn of(dialect: DialectId) -> &'static Facts {
    match dialect {
        DialectId::Raw => &RAW,
        DialectId::Binary => &BINARY,
        DialectId::Custom => &CUSTOM,
        _ => &JSON,
    }
}
