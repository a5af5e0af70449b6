//! The recording reverse proxy of `throng record`: a client opens the proxy in place of its server, and a HAR
//! of what both said is left.
//!
//! Bytes pass as they are, except for names of the server (`headers`, `cookies`, `links`): a page that comes
//! from the proxy has to stay there. The recording has the server's names. `serving` accepts, `relayed`
//! passes bodies on, `socket` passes WebSockets on, and `session` keeps copies within bounds.

mod connecting;
mod cookies;
mod headers;
mod links;
mod relayed;
mod serving;
mod session;
mod socket;
mod trouble;
mod upstream;

pub use serving::{Options, serve};
pub use session::Session;
pub use trouble::Trouble;
pub use upstream::Upstream;
