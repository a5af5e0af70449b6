//! HTTP/1.1 (RFC 9110, 9112) as far as upgrades, plain requests and fallback transports need it.
//!
//! [`httparse`] knows the grammar of a head; what is here adds what a careful peer refuses besides: bare line
//! ends, control characters, ambiguous lengths, heads and bodies beyond the limits.

pub mod answer;
pub mod body;
pub mod cookies;
pub mod date;
pub mod exchange;
pub mod fields;
pub mod head;
pub mod query;
pub mod request;
pub mod response;

pub use body::{Body, Framing, Piece};
pub use exchange::{Exchange, is_timeout_notice};
pub use head::HeadReader;
pub use request::Request;
pub use response::{Response, ResponseEvent, Responses};
