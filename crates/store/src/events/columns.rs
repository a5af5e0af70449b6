//! The columns of the log: their names and types, and the rows of a group while it fills.
//!
//! Times and numbers that grow or hover are delta-encoded, words and other values with few variants have dictionaries;
//! zstd takes what is left.

use std::sync::Arc;

use engine::events::{Batch, Entry, Kind};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};

/// The columns, in their order; docs/EVENTS.md says what they hold.
pub(crate) const SCHEMA: &str = "
    message event {
        REQUIRED INT64 time_ns;
        REQUIRED BYTE_ARRAY kind (STRING);
        OPTIONAL INT32 step;
        REQUIRED INT32 client;
        OPTIONAL INT32 sender;
        OPTIONAL INT32 message;
        OPTIONAL INT64 latency_ns;
        OPTIONAL INT32 bytes;
        OPTIONAL BYTE_ARRAY detail (STRING);
    }";

/// Columns whose values differ from row to row.
const DELTAS: [&str; 5] = ["time_ns", "client", "sender", "message", "latency_ns"];

/// Above this zstd takes more time than it saves space.
const ZSTD_LEVEL: i32 = 1;

pub(crate) fn schema() -> Arc<Type> {
    Arc::new(parse_message_type(SCHEMA).expect("a constant"))
}

pub(crate) fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("a constant");
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("throng ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(level))
        // Only of the time, by which readers can leave out whole groups.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_column_statistics_enabled(ColumnPath::from("time_ns"), EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in DELTAS {
        properties = properties
            .set_column_dictionary_enabled(ColumnPath::from(column), false)
            .set_column_encoding(ColumnPath::from(column), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// A column in which a row may have no value.
#[derive(Default)]
struct Optional<T> {
    values: Vec<T>,
    /// 1 where there is a value.
    levels: Vec<i16>,
}

impl<T> Optional<T> {
    #[inline]
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn clear(&mut self) {
        self.values.clear();
        self.levels.clear();
    }
}

/// The rows of a group, column by column.
#[derive(Default)]
pub(crate) struct Columns {
    time_ns: Vec<i64>,
    kind: Vec<ByteArray>,
    step: Optional<i32>,
    client: Vec<i32>,
    sender: Optional<i32>,
    message: Optional<i32>,
    latency_ns: Optional<i64>,
    bytes: Optional<i32>,
    detail: Optional<ByteArray>,
}

impl Columns {
    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.time_ns.len()
    }

    pub(crate) fn add(&mut self, batch: &Batch) {
        // Once for a batch: a copy of such an array is only counted.
        let kinds = Kind::ALL.map(|kind| ByteArray::from(kind.name()));
        let names: Vec<ByteArray> = batch.names.iter().map(|name| ByteArray::from(name.as_str())).collect();
        for entry in &batch.entries {
            self.push(entry, &kinds, &names);
        }
    }

    #[inline]
    fn push(&mut self, entry: &Entry, kinds: &[ByteArray], names: &[ByteArray]) {
        // Parquet's plain integers have a sign; neither a time nor a number of a client needs the half it costs.
        self.time_ns.push(entry.at_ns() as i64);
        self.kind.push(kinds[entry.kind() as usize].clone());
        self.step.push(entry.step().map(i32::from));
        self.client.push(entry.client() as i32);
        self.sender.push(entry.sender().map(|sender| sender as i32));
        self.message.push(entry.message_number().map(|number| number as i32));
        self.latency_ns.push(entry.latency_ns().map(|ns| ns as i64));
        self.bytes.push(entry.byte_count().map(|bytes| bytes as i32));
        self.detail.push(entry.detail().and_then(|place| names.get(place)).cloned());
    }

    /// Writes the rows as a group and forgets them.
    pub(crate) fn write<W: std::io::Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        column::<Int64Type, _>(group, &self.time_ns, None)?;
        column::<ByteArrayType, _>(group, &self.kind, None)?;
        column::<Int32Type, _>(group, &self.step.values, Some(&self.step.levels))?;
        column::<Int32Type, _>(group, &self.client, None)?;
        column::<Int32Type, _>(group, &self.sender.values, Some(&self.sender.levels))?;
        column::<Int32Type, _>(group, &self.message.values, Some(&self.message.levels))?;
        column::<Int64Type, _>(group, &self.latency_ns.values, Some(&self.latency_ns.levels))?;
        column::<Int32Type, _>(group, &self.bytes.values, Some(&self.bytes.levels))?;
        column::<ByteArrayType, _>(group, &self.detail.values, Some(&self.detail.levels))?;
        self.clear();
        Ok(())
    }

    /// Forgets all rows, and keeps their room.
    fn clear(&mut self) {
        let Columns { time_ns, kind, step, client, sender, message, latency_ns, bytes, detail } = self;
        time_ns.clear();
        kind.clear();
        client.clear();
        for column in [step, sender, message, bytes] {
            column.clear();
        }
        latency_ns.clear();
        detail.clear();
    }
}

fn column<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut writer = group.next_column()?.expect("as many columns as the schema has");
    writer.typed::<T>().write_batch(values, levels, None)?;
    writer.close()
}
