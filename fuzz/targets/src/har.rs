//! Recordings of browsers, and what is written of them.

use ::har::{Recording, draft};

/// The largest input: what takes the time is parsing the file that is written.
const BYTES_MAX: usize = 64 << 10;

/// Any bytes are a recording or an error, and the file of a recording is TOML.
pub fn run(data: &[u8]) {
    let Ok(recording) = Recording::read("a.har", data[..data.len().min(BYTES_MAX)].to_vec()) else { return };
    let drafted = draft(&[recording], "users.csv");
    if let Err(error) = drafted.toml.parse::<toml::Table>() {
        panic!("{error}: {}", drafted.toml);
    }
}
