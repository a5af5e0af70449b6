//! The results files of a shootout in one compressed file: gzip, a line of JSON for each, with its name and
//! what it holds.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of all results files, unpacked: those of the largest suites are a tenth of that. A few kilobytes of
/// gzip can stand for as many gigabytes.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;
/// Bytes of one results file, unpacked: thirty times those of the largest in `records`.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Results files by their names below the shootout's folder; each is compressed by itself, since one is
/// looked at at a time.
#[derive(Debug, Default)]
pub(crate) struct Archive(BTreeMap<String, Vec<u8>>);

#[derive(Serialize, Deserialize)]
struct Line {
    file: String,
    /// Text, because a list of numbers, once parsed, takes many times its bytes.
    results: Box<RawValue>,
}

impl Archive {
    /// Reads it; without a file there is nothing in it.
    pub(crate) fn read(path: &Path) -> io::Result<Archive> {
        let file = match net::files::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Archive::default()),
            file => file?,
        };
        Archive::unpack(file)
    }

    /// Reads what [`Archive::bytes`] wrote.
    pub(crate) fn unpack(packed: impl Read) -> io::Result<Archive> {
        Archive::unpack_at_most(packed, UNPACKED_BYTES_MAX, LINE_BYTES_MAX)
    }

    fn unpack_at_most(packed: impl Read, bytes_max: u64, line_bytes_max: u64) -> io::Result<Archive> {
        let mut unpacked = BufReader::new(GzDecoder::new(packed).take(bytes_max));
        let (mut files, mut line) = (BTreeMap::new(), Vec::new());
        while (&mut unpacked).take(line_bytes_max).read_until(b'\n', &mut line)? > 0 {
            // Looked at line by line, before the next is taken in: no more than a line is ever in memory.
            let is_long = line.len() as u64 == line_bytes_max;
            if is_long || unpacked.get_ref().limit() == 0 {
                let (of, most) = if is_long { ("a line of ", line_bytes_max) } else { ("", bytes_max) };
                return Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    format!("{of}more than {most} bytes, unpacked"),
                ));
            }
            let Line { file, results } = serde_json::from_slice(&line)?;
            files.insert(file, deflated(results.get()));
            line.clear();
        }
        Ok(Archive(files))
    }

    /// The text of a results file.
    pub(crate) fn get(&self, file: &str) -> Option<String> {
        self.0.get(file).map(|bytes| inflated(bytes))
    }

    /// Returns whether it holds that file.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.0.contains_key(file)
    }

    /// Takes in a results file's text, which is JSON over many lines.
    pub(crate) fn add(&mut self, file: String, text: &str) -> io::Result<()> {
        self.0.insert(file, deflated(&serde_json::from_str::<Value>(text)?.to_string()));
        Ok(())
    }

    /// The bytes of the file. The same results give the same bytes.
    pub(crate) fn bytes(self) -> io::Result<Vec<u8>> {
        // Written once, and kept in a repository for good.
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        for (file, bytes) in self.0 {
            let results = RawValue::from_string(inflated(&bytes))?;
            packed.write_all(&serde_json::to_vec(&Line { file, results })?)?;
            packed.write_all(b"\n")?;
        }
        packed.finish()
    }
}

/// Fast, because it lives as long as this process.
fn deflated(results: &str) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    // At once: the encoder clears its buffer for each write.
    packed.write_all(results.as_bytes()).expect("memory takes all");
    packed.finish().expect("memory takes all")
}

fn inflated(bytes: &[u8]) -> String {
    let mut text = String::new();
    ZlibDecoder::new(bytes).read_to_string(&mut text).expect("it was compressed here");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_is_not_unpacked() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&vec![b' '; 1 << 20]).unwrap();
        let packed = packed.finish().unwrap();
        assert!(packed.len() < 2 << 10);
        for (bytes_max, line_bytes_max) in [(1 << 19, 1 << 21), (1 << 21, 1 << 19)] {
            let refused = Archive::unpack_at_most(&packed[..], bytes_max, line_bytes_max).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        }
    }

    #[test]
    fn archives_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl.gz");
        assert!(!Archive::read(&path).unwrap().has("a/b-1.json"), "there is none yet");
        let mut archive = Archive::default();
        archive
            .add("a/b-1.json".into(), "{\n  \"rate\": 0.1,\n  \"sent\": 18446744073709551615\n}\n")
            .unwrap();
        std::fs::write(&path, archive.bytes().unwrap()).unwrap();
        let found = Archive::read(&path).unwrap();
        assert_eq!(found.get("a/b-1.json").as_deref(), Some("{\"rate\":0.1,\"sent\":18446744073709551615}"));
        std::fs::write(&path, b"no gzip").unwrap();
        assert!(Archive::read(&path).is_err());
    }
}
