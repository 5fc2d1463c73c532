//! Accesses that Python has in memory, as a trace in a temporary file.

use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use pyo3::prelude::*;
use tempfile::TempPath;
use terrace_base::{Error, Result};
use terrace_trace::formats::native;
use terrace_trace::{Block, Sink};

use crate::error::{Failure, UsageError, exception};
use crate::stream;

/// Accesses of a block that is written.
const BLOCK: usize = 1 << 16;

/// A trace that is written, in a file that loses its name: no process removes it from another, and
/// none is left behind, however the interpreter ends.
struct Kept {
    sink: Box<dyn Sink>,
    path: TempPath,
    accesses: u64,
}

impl Kept {
    fn new() -> PyResult<Self> {
        let file = tempfile::Builder::new()
            .prefix("terrace-")
            .suffix(".parquet")
            .tempfile();
        let cannot = |error| Failure::new_err(format!("cannot make a temporary file: {error}"));
        let path = file.map_err(cannot)?.into_temp_path();
        let sink = native::create_passing(&path).map_err(|error| exception(&error))?;
        Ok(Self {
            sink,
            path,
            accesses: 0,
        })
    }

    fn write(&mut self, block: &Block) -> PyResult<()> {
        self.accesses += block.len() as u64;
        self.sink.write(block).map_err(|error| exception(&error))
    }

    fn finish(self) -> PyResult<File> {
        if self.accesses == 0 {
            return Err(UsageError::new_err("there is no access in the trace"));
        }
        self.sink.finish().map_err(|error| exception(&error))?;
        Ok(File::open(&self.path)?)
    }
}

/// Writes addresses, 8 bytes each, and whether each is written, a byte each.
pub fn of_addresses(py: Python<'_>, addresses: &[u8], writes: Option<&[u8]>) -> PyResult<File> {
    let (addresses, _) = addresses.as_chunks::<8>();
    py.detach(|| {
        let mut kept = Kept::new()?;
        let mut block = Block::default();
        for (at, part) in addresses.chunks(BLOCK).enumerate() {
            let begin = at * BLOCK;
            let writes = writes.map(|writes| &writes[begin..begin + part.len()]);
            fill(&mut block, part, writes);
            kept.write(&block)?;
        }
        kept.finish()
    })
}

/// Makes a block of addresses, and of a byte each that says what is written.
fn fill(block: &mut Block, addresses: &[[u8; 8]], writes: Option<&[u8]>) {
    let rows = addresses.len();
    block.address.clear();
    let addresses = addresses.iter();
    block
        .address
        .extend(addresses.map(|address| u64::from_ne_bytes(*address)));
    block.write.clear();
    let writes = writes.unwrap_or_default().iter();
    block.write.extend(writes.map(|write| *write != 0));
    block.write.resize(rows, false);
    block.instruction.resize(rows, 0);
    block.ip.resize(rows, 0);
    block.process.resize(rows, 0);
    block.thread.resize(rows, 0);
    block.size.resize(rows, 0);
}

/// Writes the rows of a table, and returns the names of the columns that are not read as well.
pub fn of_table(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<(File, Vec<String>)> {
    let reader = stream::reader(table)?;
    let schema = reader.schema();
    let names = schema.fields().iter().map(|field| field.name().clone());
    let ignored = names
        .filter(|name| !native::COLUMNS.contains(&&**name))
        .collect();
    py.detach(|| {
        let mut kept = Kept::new()?;
        for batch in reader {
            let batch = batch.map_err(|error| Error::failure(format!("the table: {error}")));
            let block = batch.and_then(|batch| block(&batch));
            kept.write(&block.map_err(|error| exception(&error))?)?;
        }
        Ok((kept.finish()?, ignored))
    })
}

/// Returns the accesses of a batch.
fn block(batch: &RecordBatch) -> Result<Block> {
    let rows = batch.num_rows();
    let numbers = |name: &str| match batch.column_by_name(name) {
        Some(column) => whole(name, column),
        None => Ok(vec![0; rows]),
    };
    if batch.column_by_name("address").is_none() {
        return Err(Error::usage(
            "the table has no column `address`: the addresses of bytes, as whole numbers",
        ));
    }
    Ok(Block {
        instruction: numbers("instruction")?,
        address: numbers("address")?,
        ip: numbers("ip")?,
        process: narrow("process", numbers("process")?)?,
        thread: narrow("thread", numbers("thread")?)?,
        size: narrow("size", numbers("size")?)?,
        write: flags(batch)?,
        ..Block::default()
    })
}

/// Returns the whole numbers of a column, which are not negative.
fn whole(name: &str, column: &dyn Array) -> Result<Vec<u64>> {
    let no_number = || {
        Error::usage(format!(
            "the column `{name}` has {}; it takes whole numbers",
            column.data_type()
        ))
    };
    if column.null_count() > 0 {
        return Err(Error::usage(format!(
            "the column `{name}` has rows without a value"
        )));
    }
    fn of<T: ArrowPrimitiveType>(name: &str, column: &dyn Array) -> Result<Vec<u64>>
    where
        u64: TryFrom<T::Native>,
    {
        let values = column.as_primitive::<T>().values().iter();
        let whole = values.map(|value| {
            let value = u64::try_from(*value);
            value.map_err(|_| Error::usage(format!("the column `{name}` has a negative number")))
        });
        whole.collect()
    }
    match column.data_type() {
        DataType::UInt64 => of::<UInt64Type>(name, column),
        DataType::Int64 => of::<Int64Type>(name, column),
        DataType::UInt32 => of::<UInt32Type>(name, column),
        DataType::Int32 => of::<Int32Type>(name, column),
        DataType::UInt16 => of::<UInt16Type>(name, column),
        DataType::Int16 => of::<Int16Type>(name, column),
        DataType::UInt8 => of::<UInt8Type>(name, column),
        DataType::Int8 => of::<Int8Type>(name, column),
        _ => Err(no_number()),
    }
}

/// Returns whether each row is written; none is where the table does not say.
fn flags(batch: &RecordBatch) -> Result<Vec<bool>> {
    let Some(column) = batch.column_by_name("write") else {
        return Ok(vec![false; batch.num_rows()]);
    };
    match column.data_type() {
        DataType::Boolean if column.null_count() == 0 => {
            let flags = column.as_boolean();
            Ok((0..flags.len()).map(|row| flags.value(row)).collect())
        }
        _ => {
            let numbers = whole("write", column)?;
            Ok(numbers.into_iter().map(|number| number != 0).collect())
        }
    }
}

fn narrow<T: TryFrom<u64>>(name: &str, numbers: Vec<u64>) -> Result<Vec<T>> {
    let narrow = numbers.into_iter().map(|number| {
        T::try_from(number).map_err(|_| {
            Error::usage(format!(
                "the column `{name}` has {number}, which is too large"
            ))
        })
    });
    narrow.collect()
}
