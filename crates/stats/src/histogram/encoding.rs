//! Histograms as text, for files and other tools: HdrHistogram V2.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use thiserror::Error;

use super::{DURATION_NS_MAX, Histogram, SIGNIFICANT_DIGITS, US_MAX};

const V2_COOKIE: u32 = 0x1c84_9313;
const V2_DEFLATE_COOKIE: u32 = 0x1c84_9314;
const V2_HEADER_BYTES: usize = 40;

/// An upper bound of one encoded histogram: 21 half-buckets of 1,024 counts, 9 bytes each, and the header.
const ENCODED_BYTES_MAX: usize = 22 * 1_024 * 9 + V2_HEADER_BYTES;

/// More samples than any run has; the squares of this many longest durations fit their sum a thousand times.
pub(super) const SAMPLES_MAX: u64 = 1 << 40;

/// Why bytes are not one of our histograms.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("the histogram is not base64")]
    Base64,
    /// Not HdrHistogram V2, cut short, or corrupt.
    #[error("the histogram is not in HdrHistogram V2 format, or is damaged")]
    Format,
    /// Another range or precision than throng's.
    #[error("the histogram does not cover 1 to 600,000,000 µs with 3 significant digits")]
    Bounds,
    /// The exact sums cannot belong to the buckets.
    #[error("the histogram's sums do not fit its samples")]
    Sums,
}

impl Histogram {
    /// HdrHistogram V2, deflated, as base64 (`HISTFAAA…`); values in µs. Other HdrHistogram tools read it.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        let empty;
        let buckets = match &self.buckets {
            Some(buckets) => buckets,
            None => {
                empty = super::empty_buckets();
                &empty
            }
        };
        V2DeflateSerializer::new().serialize(buckets, &mut bytes).expect("writing to memory cannot fail");
        STANDARD.encode(bytes)
    }

    /// Reads [`Self::to_base64`], deflated or not. The buckets do not hold the exact sums: mean, σ, minimum
    /// and maximum are those of the buckets until [`Self::with_moments`] restores them.
    ///
    /// # Errors
    /// Not base64, not V2, damaged, or of another range or precision.
    pub fn from_base64(text: &str) -> Result<Self, DecodeError> {
        if text.len() > ENCODED_BYTES_MAX * 4 / 3 + 4 {
            return Err(DecodeError::Format);
        }
        let bytes = STANDARD.decode(text).map_err(|_| DecodeError::Base64)?;
        let bytes = match cookie(&bytes)? {
            V2_DEFLATE_COOKIE => inflate(&bytes[8..])?,
            _ => bytes,
        };
        Ok(Histogram::from_buckets(buckets_from_v2(&bytes)?))
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
        self.square_sum_ns = ((mean_ns * mean_ns + sd_ns * sd_ns) * n).round() as u128;
        (self.min_ns, self.max_ns) = (min_ns, max_ns);
        Ok(self)
    }

    fn from_buckets(buckets: Hdr<u64>) -> Self {
        let mut histogram = Histogram { max_ns: buckets.max() * 1_000, ..Histogram::default() };
        histogram.min_ns = buckets.min() * 1_000;
        for bucket in buckets.iter_recorded() {
            let (value_ns, n) =
                (u128::from(bucket.value_iterated_to()) * 1_000, bucket.count_since_last_iteration());
            histogram.sum_ns += value_ns * u128::from(n);
            histogram.square_sum_ns += value_ns * value_ns * u128::from(n);
        }
        histogram.buckets = Some(buckets);
        histogram
    }
}

fn cookie(bytes: &[u8]) -> Result<u32, DecodeError> {
    let head = bytes.first_chunk::<4>().ok_or(DecodeError::Format)?;
    match u32::from_be_bytes(*head) {
        cookie @ V2_COOKIE => Ok(cookie),
        cookie @ V2_DEFLATE_COOKIE if bytes.len() > 8 => Ok(cookie),
        _ => Err(DecodeError::Format),
    }
}

/// Inflates at most one histogram's worth, whatever the stream claims.
fn inflate(deflated: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = Vec::new();
    let mut reader = ZlibDecoder::new(deflated).take(ENCODED_BYTES_MAX as u64 + 1);
    reader.read_to_end(&mut bytes).map_err(|_| DecodeError::Format)?;
    if bytes.len() > ENCODED_BYTES_MAX { Err(DecodeError::Format) } else { Ok(bytes) }
}

/// Checks the header before hdrhistogram sees it: its reader allocates whatever the header says.
fn buckets_from_v2(bytes: &[u8]) -> Result<Hdr<u64>, DecodeError> {
    if bytes.len() < V2_HEADER_BYTES || cookie(bytes)? != V2_COOKIE {
        return Err(DecodeError::Format);
    }
    let u32_at = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let u64_at = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    if u32_at(4) as usize != bytes.len() - V2_HEADER_BYTES {
        return Err(DecodeError::Format);
    }
    if (u32_at(12), u64_at(16), u64_at(24)) != (u32::from(SIGNIFICANT_DIGITS), 1, US_MAX) {
        return Err(DecodeError::Bounds);
    }
    let buckets: Hdr<u64> =
        Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| DecodeError::Format)?;
    if buckets.len() > SAMPLES_MAX { Err(DecodeError::Format) } else { Ok(buckets) }
}
