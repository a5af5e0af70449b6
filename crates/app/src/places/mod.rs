//! Places of values in messages and in answers to requests: how a file names them, and how to look there.

mod answer;
mod body;
mod html;
mod pointer;

pub use answer::{BadFind, Find, check};
pub use body::InBody;
pub(crate) use body::regex;
pub use html::name_in_page;
pub use pointer::{POINTER_DEPTH_MAX, Pointer};
