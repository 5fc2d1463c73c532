//! Encoding and packing the pages of one column of one row group.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescriptor;

use super::encoding::{self, Dictionary};
use crate::changes::{Changes, Word};
use crate::digest::Digest;

/// Values in a page: few enough that an unpacked page stays in the second-level cache of a core.
const PAGE: usize = 1 << 16;

/// A column that is written.
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    /// The digest of the bytes, made by the thread that packed them.
    pub(super) digest: Digest,
    pub(super) closed: ColumnCloseResult,
}

/// Packs pages.
pub(super) struct Packer {
    zstd: zstd::bulk::Compressor<'static>,
    page: Vec<u8>,
}

impl Packer {
    /// Makes one that packs at this level of zstd.
    pub(super) fn new(level: i32) -> Result<Self> {
        let mut zstd = zstd::bulk::Compressor::new(level)?;
        zstd.include_checksum(true)?;
        Ok(Self {
            zstd,
            page: Vec::new(),
        })
    }

    /// A column of 64-bit values.
    pub(super) fn u64(&mut self, column: &Arc<ColumnDescriptor>, values: &[u64]) -> Result<Chunk> {
        let mut chunk = Pages::new(self);
        for values in values.chunks(PAGE) {
            encoding::deltas(values, &mut chunk.packer.page);
            chunk.data(values.len(), Encoding::DELTA_BINARY_PACKED)?;
        }
        let (least, most) = encoding::extent(values).unzip();
        let signed = |value: Option<u64>| value.map(u64::cast_signed);
        let statistics = Statistics::int64(signed(least), signed(most), None, Some(0), false);
        chunk.close(column, Some(statistics))
    }

    /// A column of values of 32 bits or fewer, few of them distinct as a rule.
    pub(super) fn u32<T: Copy + Into<u32> + PartialEq>(
        &mut self,
        column: &Arc<ColumnDescriptor>,
        values: &[T],
    ) -> Result<Chunk> {
        let mut chunk = Pages::new(self);
        let dictionary = match values.first() {
            // As processes and threads are of most programs.
            Some(one) if encoding::are_equal(values) => {
                Some(Dictionary::of_one((*one).into(), values.len()))
            }
            _ => Dictionary::new(values.iter().map(|value| (*value).into())),
        };
        let Some(dictionary) = dictionary else {
            for values in values.chunks(PAGE) {
                let plain = values.iter().map(|value| (*value).into());
                encoding::plain(plain, &mut chunk.packer.page);
                chunk.data(values.len(), Encoding::PLAIN)?;
            }
            return chunk.close(column, None);
        };
        encoding::plain(dictionary.values.iter().copied(), &mut chunk.packer.page);
        chunk.dictionary(dictionary.values.len())?;
        for begin in (0..values.len()).step_by(PAGE) {
            let end = values.len().min(begin + PAGE);
            dictionary.page(begin..end, &mut chunk.packer.page);
            chunk.data(end - begin, Encoding::RLE_DICTIONARY)?;
        }
        let least = dictionary.values.iter().min().map(|v| v.cast_signed());
        let most = dictionary.values.iter().max().map(|v| v.cast_signed());
        let statistics = Statistics::int32(least, most, None, Some(0), false);
        chunk.close(column, Some(statistics))
    }

    /// A column of 64-bit values that do not follow from each other.
    pub(super) fn u64_plain(
        &mut self,
        column: &Arc<ColumnDescriptor>,
        values: &[u64],
    ) -> Result<Chunk> {
        let mut chunk = Pages::new(self);
        for values in values.chunks(PAGE) {
            encoding::plain_u64(values.iter().copied(), &mut chunk.packer.page);
            chunk.data(values.len(), Encoding::PLAIN)?;
        }
        chunk.close(column, None)
    }

    /// A column of lists: the places of words.
    pub(super) fn word_indexes(
        &mut self,
        column: &Arc<ColumnDescriptor>,
        changes: &Changes,
    ) -> Result<Chunk> {
        let encode = |words: &[Word], page: &mut Vec<u8>| {
            let places: Vec<u64> = words.iter().map(|word| word.index.into()).collect();
            encoding::deltas(&places, page);
        };
        self.lists(column, changes, Encoding::DELTA_BINARY_PACKED, encode)
    }

    /// A column of lists: the values of words.
    pub(super) fn word_values(
        &mut self,
        column: &Arc<ColumnDescriptor>,
        changes: &Changes,
    ) -> Result<Chunk> {
        let encode = |words: &[Word], page: &mut Vec<u8>| {
            encoding::plain_u64(words.iter().map(|word| word.value), page);
        };
        self.lists(column, changes, Encoding::PLAIN, encode)
    }

    /// A column of a list a row, of what `encode` makes of its words.
    fn lists(
        &mut self,
        column: &Arc<ColumnDescriptor>,
        changes: &Changes,
        encoding: Encoding,
        encode: impl Fn(&[Word], &mut Vec<u8>),
    ) -> Result<Chunk> {
        let mut chunk = Pages::new(self);
        let (mut ends, mut begin) = (&changes.ends[..], 0);
        while !ends.is_empty() {
            let rows = rows_of_page(begin, ends);
            let (page, rest) = ends.split_at(rows);
            let entries = encoding::levels(begin, page, &mut chunk.packer.page);
            let end = page[rows - 1];
            encode(
                &changes.words[begin as usize..end as usize],
                &mut chunk.packer.page,
            );
            chunk.rows(rows, entries, encoding)?;
            (ends, begin) = (rest, end);
        }
        chunk.close(column, None)
    }

    /// A column of truth values.
    pub(super) fn bool(
        &mut self,
        column: &Arc<ColumnDescriptor>,
        values: &[bool],
    ) -> Result<Chunk> {
        let mut chunk = Pages::new(self);
        for values in values.chunks(PAGE) {
            encoding::bits(values, &mut chunk.packer.page);
            chunk.data(values.len(), Encoding::PLAIN)?;
        }
        chunk.close(column, None)
    }
}

/// Returns how many of the rows whose words end there, at least one, make up a page.
fn rows_of_page(begin: u32, ends: &[u32]) -> usize {
    let mut entries = 0;
    let mut last = begin;
    let full = ends.iter().position(|&end| {
        entries += (end - last).max(1) as usize;
        last = end;
        entries >= PAGE
    });
    full.map_or(ends.len(), |last| last + 1)
}

/// The pages of a chunk so far.
struct Pages<'a> {
    packer: &'a mut Packer,
    sink: TrackedWrite<Vec<u8>>,
    rows: usize,
    /// Values, or entries of lists.
    values: usize,
    encodings: Vec<Encoding>,
    has_dictionary: bool,
    first_data: Option<u64>,
    packed_bytes: usize,
    bytes: usize,
}

impl<'a> Pages<'a> {
    fn new(packer: &'a mut Packer) -> Self {
        packer.page.clear();
        Self {
            packer,
            sink: TrackedWrite::new(Vec::new()),
            rows: 0,
            values: 0,
            encodings: Vec::new(),
            has_dictionary: false,
            first_data: None,
            packed_bytes: 0,
            bytes: 0,
        }
    }

    /// Ends the page of distinct values.
    fn dictionary(&mut self, values: usize) -> Result<()> {
        self.has_dictionary = true;
        self.page(Encoding::PLAIN, |buf| Page::DictionaryPage {
            buf,
            num_values: values as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })
        .map(drop)
    }

    /// Ends a page of values, one a row.
    fn data(&mut self, values: usize, encoding: Encoding) -> Result<()> {
        self.rows(values, values, encoding)
    }

    /// Ends a page of rows with so many values.
    fn rows(&mut self, rows: usize, values: usize, encoding: Encoding) -> Result<()> {
        let offset = self.page(encoding, |buf| Page::DataPage {
            buf,
            num_values: values as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.rows += rows;
        self.values += values;
        self.first_data.get_or_insert(offset);
        Ok(())
    }

    /// Packs the encoded bytes; returns the offset of the page.
    fn page(&mut self, encoding: Encoding, page: impl FnOnce(Bytes) -> Page) -> Result<u64> {
        let packed = self.packer.zstd.compress(&self.packer.page)?;
        let page = CompressedPage::new(page(packed.into()), self.packer.page.len());
        self.packer.page.clear();
        let written = SerializedPageWriter::new(&mut self.sink).write_page(page)?;
        self.packed_bytes += written.compressed_size;
        self.bytes += written.uncompressed_size;
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        Ok(written.offset)
    }

    fn close(
        self,
        column: &Arc<ColumnDescriptor>,
        statistics: Option<Statistics>,
    ) -> Result<Chunk> {
        let mut metadata = ColumnChunkMetaData::builder(Arc::clone(column))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_encodings(self.encodings)
            .set_num_values(self.values as i64)
            .set_total_compressed_size(self.packed_bytes as i64)
            .set_total_uncompressed_size(self.bytes as i64)
            .set_dictionary_page_offset(self.has_dictionary.then_some(0))
            .set_data_page_offset(self.first_data.unwrap_or_default() as i64);
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let closed = ColumnCloseResult {
            bytes_written: self.packed_bytes as u64,
            rows_written: self.rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        let bytes: Bytes = self.sink.into_inner()?.into();
        Ok(Chunk {
            digest: Digest::of(&bytes),
            bytes,
            closed,
        })
    }
}
