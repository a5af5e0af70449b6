//! Histograms as text, for files and other tools: HdrHistogram V2.

use std::cell::RefCell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use hdrhistogram::serialization::{Serializer, V2Serializer};
use thiserror::Error;

use super::buckets::{Buckets, SIGNIFICANT_DIGITS, US_MAX};
use super::pairs::Pairs;
use super::{DURATION_NS_MAX, Histogram};

const V2_COOKIE: u32 = 0x1c84_9313;
const V2_DEFLATE_COOKIE: u32 = 0x1c84_9314;
const V2_HEADER_BYTES: usize = 40;
/// The bytes of the header of deflated V2: the cookie and the length.
const V2_DEFLATE_HEADER_BYTES: usize = 8;

/// An upper bound of one encoded histogram: 21 half-buckets of 1,024 counts, 9 bytes each, and the header.
const ENCODED_BYTES_MAX: usize = 22 * 1_024 * 9 + V2_HEADER_BYTES;

/// A number of samples that no run reaches; the sum of the squares of this many longest durations fits a
/// thousand times into its type.
pub(super) const SAMPLES_MAX: u64 = 1 << 40;

/// The reason why bytes are not one of throng's histograms.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("the histogram is not base64")]
    Base64,
    /// The bytes are not HdrHistogram V2, or are cut short or corrupt.
    #[error("the histogram is not in HdrHistogram V2 format, or is damaged")]
    Format,
    /// The histogram has another range or precision than throng's.
    #[error("the histogram does not cover 1 to 600,000,000 µs with 3 significant digits")]
    Bounds,
    /// The exact sums cannot belong to the buckets.
    #[error("the histogram's sums do not fit its samples")]
    Sums,
}

impl Histogram {
    /// Encodes the histogram as HdrHistogram V2, deflated, in base64 (`HISTFAAA…`); values are in µs. Other
    /// HdrHistogram tools read it.
    pub fn to_base64(&self) -> String {
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::default();
        }
        STANDARD.encode(SCRATCH.with_borrow_mut(|scratch| scratch.deflated_v2(&self.buckets)))
    }

    /// Reads [`Self::to_base64`], deflated or not. The buckets do not hold the exact sums: mean, σ, minimum
    /// and maximum come from the buckets until [`Self::with_moments`] restores them.
    ///
    /// # Errors
    /// Not base64, not V2, damaged, or of another range or precision.
    pub fn from_base64(text: &str) -> Result<Self, DecodeError> {
        // Base64 takes 4 characters for 3 bytes, and pads to 4. Anything longer is refused before it is
        // decoded.
        if text.len() > ENCODED_BYTES_MAX * 4 / 3 + 4 {
            return Err(DecodeError::Format);
        }
        let bytes = STANDARD.decode(text).map_err(|_| DecodeError::Base64)?;
        thread_local! {
            static INFLATED: RefCell<Inflated> = RefCell::default();
        }
        let (pairs, low_us) = match cookie(&bytes)? {
            V2_DEFLATE_COOKIE => INFLATED
                .with_borrow_mut(|inflated| pairs_from_v2(inflated.of(&bytes[V2_DEFLATE_HEADER_BYTES..])?))?,
            _ => pairs_from_v2(&bytes)?,
        };
        Ok(Histogram::from_pairs(pairs, low_us))
    }

    /// This histogram with its exact mean, σ, minimum and maximum put back, as a file keeps them.
    ///
    /// # Errors
    /// [`DecodeError::Sums`]: a minimum above the maximum, a mean outside of them, or no samples.
    pub fn with_moments(
        mut self,
        mean_ns: f64,
        sd_ns: f64,
        min_ns: u64,
        max_ns: u64,
    ) -> Result<Self, DecodeError> {
        // A mean that was written and read again may have been rounded past the end.
        let (low, high) = (min_ns as f64 - 1.0, max_ns as f64 + 1.0);
        if self.is_empty()
            || min_ns > max_ns
            || max_ns > DURATION_NS_MAX
            || !(low..=high).contains(&mean_ns)
            || !(0.0..=high).contains(&sd_ns)
        {
            return Err(DecodeError::Sums);
        }
        let n = self.count() as f64;
        self.sum_ns = (mean_ns * n).round() as u128;
        // σ² = E[x²] − mean², the other way round.
        self.square_sum_ns = ((mean_ns * mean_ns + sd_ns * sd_ns) * n).round() as u128;
        (self.min_ns, self.max_ns) = (min_ns, max_ns);
        Ok(self)
    }

    /// Makes a histogram of packed buckets, the first of which begins at `low_us`.
    fn from_pairs(pairs: Pairs, low_us: u64) -> Self {
        let mut histogram = Histogram { min_ns: low_us * 1_000, ..Histogram::default() };
        for (us, samples) in pairs.iter() {
            let (value_ns, samples) = (u128::from(us) * 1_000, u128::from(samples));
            histogram.sum_ns += value_ns * samples;
            histogram.square_sum_ns += value_ns * value_ns * samples;
            histogram.max_ns = us * 1_000;
        }
        histogram.buckets = Buckets::of_pairs(pairs);
        histogram
    }
}

/// Buffers of encoding, once for each thread: a run of many steps encodes thousands, and buffers of that size
/// between smaller ones that stay would leave holes in the heap.
struct Scratch {
    dense: Buckets,
    serializer: V2Serializer,
    plain: Vec<u8>,
    compress: Compress,
}

impl Default for Scratch {
    fn default() -> Self {
        // With zlib's header, as the format's other readers expect it.
        let compress = Compress::new(Compression::default(), true);
        Self { dense: Buckets::None, serializer: V2Serializer::new(), plain: Vec::new(), compress }
    }
}

impl Scratch {
    fn deflated_v2(&mut self, buckets: &Buckets) -> Vec<u8> {
        let dense = match buckets {
            Buckets::Dense(dense) => dense,
            packed => {
                let dense = self.dense.dense();
                dense.reset();
                for (us, samples) in packed.iter() {
                    dense.saturating_record_n(us, samples);
                }
                dense
            }
        };
        self.plain.clear();
        self.serializer.serialize(dense, &mut self.plain).expect("writing to memory cannot fail");
        // What does not shrink grows by five bytes a block, of some kilobytes each (RFC 1951 §3.2.4), and by
        // zlib's six.
        let mut bytes = Vec::with_capacity(V2_DEFLATE_HEADER_BYTES + 64 + 2 * self.plain.len());
        bytes.resize(V2_DEFLATE_HEADER_BYTES, 0);
        self.compress.reset();
        let deflated = self.compress.compress_vec(&self.plain, &mut bytes, FlushCompress::Finish);
        assert!(matches!(deflated, Ok(Status::StreamEnd)), "there is room for all of it");
        let length = (bytes.len() - V2_DEFLATE_HEADER_BYTES) as u32;
        bytes[..4].copy_from_slice(&V2_DEFLATE_COOKIE.to_be_bytes());
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        bytes
    }
}

fn cookie(bytes: &[u8]) -> Result<u32, DecodeError> {
    let head = bytes.first_chunk::<4>().ok_or(DecodeError::Format)?;
    match u32::from_be_bytes(*head) {
        cookie @ V2_COOKIE => Ok(cookie),
        cookie @ V2_DEFLATE_COOKIE if bytes.len() > V2_DEFLATE_HEADER_BYTES => Ok(cookie),
        _ => Err(DecodeError::Format),
    }
}

/// Buffers of inflating, once for each thread, as [`Scratch`] is.
struct Inflated {
    decompress: Decompress,
    plain: Vec<u8>,
}

impl Default for Inflated {
    fn default() -> Self {
        Self { decompress: Decompress::new(true), plain: Vec::new() }
    }
}

impl Inflated {
    /// Inflates at most one histogram's worth, whatever the stream claims.
    fn of(&mut self, deflated: &[u8]) -> Result<&[u8], DecodeError> {
        self.plain.clear();
        self.plain.reserve_exact(ENCODED_BYTES_MAX);
        self.decompress.reset(true);
        match self.decompress.decompress_vec(deflated, &mut self.plain, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) if self.plain.len() <= ENCODED_BYTES_MAX => Ok(&self.plain),
            _ => Err(DecodeError::Format),
        }
    }
}

/// The occupied buckets of V2, and the lower edge (µs) of the first. V2 has the counts of one bucket after
/// the other, as ZigZag LEB128: samples, or, negative, how many empty buckets there are (HdrHistogram,
/// `AbstractHistogram.java`). They are read here and not by hdrhistogram, which allocates all buckets: see
/// [`Scratch`].
fn pairs_from_v2(bytes: &[u8]) -> Result<(Pairs, u64), DecodeError> {
    if bytes.len() < V2_HEADER_BYTES || cookie(bytes)? != V2_COOKIE {
        return Err(DecodeError::Format);
    }
    let u32_at = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let u64_at = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let index_offset = u32_at(8);
    if u32_at(4) as usize != bytes.len() - V2_HEADER_BYTES || index_offset != 0 {
        return Err(DecodeError::Format);
    }
    if (u32_at(12), u64_at(16), u64_at(24)) != (u32::from(SIGNIFICANT_DIGITS), 1, US_MAX) {
        return Err(DecodeError::Bounds);
    }
    let (edges, mut counts) = (Buckets::edges_us(), &bytes[V2_HEADER_BYTES..]);
    // Sums saturate: the bytes may claim any counts, and only the totals are checked below.
    let (mut bucket, mut samples, mut pairs) = (0usize, 0u64, Vec::new());
    while !counts.is_empty() {
        let count = zigzag_leb128(&mut counts)?;
        if count < 0 {
            bucket = bucket.saturating_add(count.unsigned_abs() as usize);
            continue;
        }
        let edge_us = *edges.get(bucket).ok_or(DecodeError::Format)?;
        if count > 0 {
            pairs.push((bucket, edge_us, count as u64));
        }
        samples = samples.saturating_add(count as u64);
        bucket += 1;
    }
    if samples > SAMPLES_MAX || bucket > edges.len() {
        return Err(DecodeError::Format);
    }
    let first = pairs.first().map_or(0, |&(bucket, ..)| bucket);
    let low_us = first.checked_sub(1).map_or(0, |before| edges[before] + 1);
    Ok((pairs.into_iter().map(|(_, edge_us, samples)| (edge_us, samples)).collect(), low_us))
}

/// Takes a number off the front. The last of nine bytes has eight bits, and no flag for further bytes.
fn zigzag_leb128(bytes: &mut &[u8]) -> Result<i64, DecodeError> {
    let mut number = 0u64;
    for shift in (0..=56).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(DecodeError::Format)?;
        *bytes = rest;
        let is_last = byte < 0x80 || shift == 56;
        number |= u64::from(if is_last { byte } else { byte & 0x7f }) << shift;
        if is_last {
            break;
        }
    }
    // ZigZag: the sign is in the lowest bit, so that small negative numbers are short, too.
    Ok((number >> 1) as i64 ^ -((number & 1) as i64))
}
