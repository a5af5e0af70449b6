//! A login: plain requests that a client makes before its opening request, as an app's file describes them
//! ([`LoginRequest`](app::app_file::LoginRequest)). It is no protocol's business: whichever comes after it,
//! the login comes first, on stream 0.
//!
//! ```text
//! a request --its answer is whole, and as expected--> the next, on the same connection if it stands and is to the same server
//! a request --a redirect that is followed--> the request that it leads to
//! the last --its answer is whole, and as expected--> done: the opening request comes next
//! ```
//!
//! Values kept of the answers, and the cookies, go into the holes of what is said later
//! ([`Kept`](app::template::Kept)).

mod answer;
mod steps;
mod visit;

pub(crate) use steps::Steps;
pub(crate) use visit::{LoginProgress, Visit};
