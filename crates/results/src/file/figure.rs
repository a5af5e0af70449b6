//! A step's timed figures in the file, each a summary for people and a histogram for programs. Those of a step without
//! samples are left out.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::{Figures, Histogram, QUANTILES, Summary, Timed};

use super::mirror::{ms_from_ns, ns_from_ms};

#[derive(Serialize, Deserialize)]
struct FileFigure {
    count: u64,
    mean_ms: f64,
    sd_ms: f64,
    min_ms: f64,
    p50_ms: f64,
    p90_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    p9999_ms: f64,
    max_ms: f64,
    /// Names of the quantiles above that rest on too few samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marked: Vec<String>,
    /// HdrHistogram V2 in µs, deflated, base64.
    histogram: String,
}

/// Writes a histogram that is not empty; an empty one is a figure that does not apply, and is left out.
pub(super) fn serialize<S: Serializer>(histogram: &Histogram, serializer: S) -> Result<S::Ok, S::Error> {
    let summary = histogram.summary().expect("empty figures are left out");
    let Summary { count, mean_ns, sd_ns, min_ns, max_ns, .. } = summary;
    let [p50_ms, p90_ms, p95_ms, p99_ms, p999_ms, p9999_ms] =
        QUANTILES.map(|(_, q)| ms_from_ns(histogram.quantile_ns(q) as f64));
    let figure = FileFigure {
        count,
        mean_ms: ms_from_ns(mean_ns),
        sd_ms: ms_from_ns(sd_ns),
        min_ms: ms_from_ns(min_ns as f64),
        p50_ms,
        p90_ms,
        p95_ms,
        p99_ms,
        p999_ms,
        p9999_ms,
        max_ms: ms_from_ns(max_ns as f64),
        marked: summary.marked().map(String::from).collect(),
        histogram: histogram.to_base64(),
    };
    figure.serialize(serializer)
}

/// Reads the histogram and puts its exact figures back.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
    let figure = FileFigure::deserialize(deserializer)?;
    let (min_ns, max_ns) = (ns_from_ms(figure.min_ms), ns_from_ms(figure.max_ms));
    Histogram::from_base64(&figure.histogram)
        // Buckets round to whole microseconds and their own width: these were written as they were measured.
        .and_then(|buckets| buckets.with_moments(figure.mean_ms * 1e6, figure.sd_ms * 1e6, min_ns, max_ns))
        .map_err(D::Error::custom)
}

/// All of a step's figures, among its other fields: each by its name, some of them in an object of their own.
#[derive(Debug, Default)]
pub(super) struct FileFigures(pub(super) Figures);

/// Figures that stand in one object.
struct Group<'a> {
    all: &'a Figures,
    of_it: &'a [Timed],
}

#[derive(Serialize)]
struct Written<'a>(#[serde(serialize_with = "serialize")] &'a Histogram);

#[derive(Deserialize)]
struct Read(#[serde(deserialize_with = "deserialize")] Histogram);

impl Serialize for FileFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for of_it in Timed::ALL.chunk_by(|a, b| a.facts().within == b.facts().within) {
            let group = Group { all: &self.0, of_it };
            match of_it[0].facts().within {
                None => group.write(&mut map)?,
                Some(object) if group.samples().next().is_some() => map.serialize_entry(object, &group)?,
                Some(_) => {}
            }
        }
        map.end()
    }
}

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl Group<'_> {
    fn samples(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        let all = self.of_it.iter().map(|timed| (timed.name(), self.all.get(*timed)));
        all.filter(|(_, histogram)| !histogram.is_empty())
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for (name, histogram) in self.samples() {
            map.serialize_entry(name, &Written(histogram))?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for FileFigures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FiguresVisitor)
    }
}

struct FiguresVisitor;

impl<'de> Visitor<'de> for FiguresVisitor {
    type Value = FileFigures;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with timed figures")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<FileFigures, M::Error> {
        let mut figures = Figures::default();
        while let Some(key) = map.next_key::<String>()? {
            let is_within = |timed: &Timed| timed.facts().within == Some(key.as_str());
            if let Some(timed) = Timed::named(&key) {
                *figures.get_mut(timed) = map.next_value::<Read>()?.0;
            } else if Timed::ALL.iter().any(is_within) {
                let mut group = map.next_value::<FileFigures>()?.0;
                for timed in Timed::ALL.into_iter().filter(is_within) {
                    *figures.get_mut(timed) = std::mem::take(group.get_mut(timed));
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(FileFigures(figures))
    }
}
