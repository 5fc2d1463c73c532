//! The list of formats, and how the format of a file is detected.
//!
//! A format is one file here, with its layout, its origin and its `FORMAT`, and one line in
//! [`Format::ALL`]. Options, help, messages and detection come from that list.

pub mod caffeine;
pub mod champsim;
pub mod csv;
pub mod lackey;
pub mod lcs;
pub mod native;
pub mod oracle_general;
pub mod perf;
pub mod vscsi;

use std::path::Path;
use std::sync::Arc;

use terrace_base::{Error, Result};

use crate::access::Columns;
use crate::compression::Compression;
use crate::crowded::watched;
use crate::format::{Content, Field, Format};
use crate::input::Input;
use crate::object_pages::placed;
use crate::objects::{Extent, Objects};
use crate::ranges::Ranges;
use crate::reading::Reading;
use crate::sound::sound;
use crate::source::{Sink, Source};
use crate::store::Stored;

impl Format {
    /// All formats. A text that fits several is taken for the first of them.
    pub const ALL: &[Self] = &[
        native::FORMAT,
        champsim::FORMAT,
        lackey::FORMAT,
        oracle_general::FORMAT,
        caffeine::FORMAT,
        csv::FORMAT,
        lcs::FORMAT,
        vscsi::FORMAT,
        perf::FORMAT,
    ];

    /// Returns the format called `name`.
    ///
    /// # Errors
    /// Returns a usage error that lists the names.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|format| format.name() == name);
        found.copied().ok_or_else(|| {
            let names = names(Self::ALL).join(", ");
            Error::usage(format!("`{name}` is no trace format; there are {names}"))
        })
    }

    /// Returns the format of the file `path` that `input` reads, if it shows: by the content, or by
    /// the name if the content fits no format, or records of several.
    fn detect(path: &Path, input: &Input) -> Option<Self> {
        let fits = |format: &&Self| format.declaration().content.fits(&input.head);
        let fitting: Vec<Self> = Self::ALL.iter().filter(fits).copied().collect();
        let is_sure = |format: &&Self| {
            let content = &format.declaration().content;
            !matches!(content, Content::Records(_))
        };
        let sure = fitting.iter().find(is_sure);
        let only = (fitting.len() == 1).then(|| fitting[0]);
        // A name can still be right if the file is damaged: the reader says how.
        sure.copied().or(only).or_else(|| Self::by_name(path))
    }

    /// Returns the format that the ending of a file name says, apart from that of a compression.
    fn by_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = Compression::strip(&name);
        let is_named = |format: &&Self| {
            let endings = format.endings().iter();
            endings
                .map(|e| e.to_ascii_lowercase())
                .any(|e| name.ends_with(&e))
        };
        Self::ALL.iter().find(is_named).copied()
    }
}

/// Opens a trace, whose format the content of the file tells, or else its name.
///
/// # Errors
/// Returns a failure if the file cannot be read or is corrupt, and a usage error if its format
/// cannot be told.
pub fn open(path: &Path, columns: Columns) -> Result<Box<dyn Source>> {
    let reading = Reading::default();
    if let Some(source) = stored(path, &reading, columns)? {
        return Ok(source);
    }
    detected(path, &reading, columns, || {
        let endings: Vec<_> = usual_endings(Format::ALL.iter()).collect();
        format!("give it the ending of its format ({})", endings.join(", "))
    })
}

/// Opens a trace of the format `format`.
///
/// # Errors
/// Returns a failure if the file cannot be read or is not of this format.
pub fn open_as(path: &Path, format: Format, columns: Columns) -> Result<Box<dyn Source>> {
    open_in(path, &Some(format).into(), columns)
}

/// Opens a trace that is read so: as [`open_as`] does if a format is given, otherwise as [`open`]
/// does.
///
/// # Errors
/// Returns the errors of [`open_as`] and [`open`].
pub fn open_in(path: &Path, reading: &Reading, columns: Columns) -> Result<Box<dyn Source>> {
    if let Some(source) = stored(path, reading, columns)? {
        return Ok(source);
    }
    match (reading.format, &reading.layout) {
        (format, Some(layout)) => {
            let input = Input::open(path)?;
            require_table(path, &input, format)?;
            let source = csv::open(input, Some(layout))?;
            Ok(checked(path, source, csv::FORMAT, reading))
        }
        (Some(format), None) => source(path, Input::open(path)?, format, reading, columns),
        (None, None) => detected(path, reading, columns, || {
            format!("say which it is: {}", names(Format::ALL).join(", "))
        }),
    }
}

/// Opens a trace of the native format whose bytes lie anywhere, and reads of it what these columns
/// need. Errors call it `name`, which may be an address such as `s3://traces/a.parquet`.
///
/// # Errors
/// Returns a failure if the bytes cannot be read, or are no trace of the native format.
pub fn open_ranges(
    name: &str,
    ranges: Arc<dyn Ranges>,
    columns: Columns,
) -> Result<Box<dyn Source>> {
    let name = Path::new(name);
    let source = native::open_ranges(name, ranges, columns)?;
    Ok(checked(name, source, native::FORMAT, &Reading::default()))
}

impl Reading {
    /// Opens a trace, with these columns.
    ///
    /// # Errors
    /// The errors of [`open_in`](crate::open_in).
    pub fn open(&self, path: &Path, columns: Columns) -> Result<Box<dyn Source>> {
        let source = open_in(path, self, columns)?;
        self.tallies.begin(path, &source.meta().tally);
        Ok(source)
    }
}

/// Opens a trace of the native format that lies in a store; none if this is another one.
fn stored(path: &Path, reading: &Reading, columns: Columns) -> Result<Option<Box<dyn Source>>> {
    let Some(stored) = Stored::of(path)? else {
        return Ok(None);
    };
    let is_asked_for = reading.format.is_none_or(|format| format == native::FORMAT);
    if !is_asked_for || reading.layout.is_some() || !native::ends(path, &*stored.ranges)? {
        return Ok(None);
    }
    let source = native::open_ranges(path, stored.ranges, columns)?;
    Ok(Some(checked(path, source, native::FORMAT, reading)))
}

/// Opens a trace that shows its format; `advice` says what to do if it does not.
fn detected(
    path: &Path,
    reading: &Reading,
    columns: Columns,
    advice: impl FnOnce() -> String,
) -> Result<Box<dyn Source>> {
    let input = Input::open(path)?;
    let format = Format::detect(path, &input).ok_or_else(|| {
        let table = csv::advice(&input.head);
        let table = table.map_or(String::new(), |table| format!("; {table}"));
        Error::usage(format!(
            "the format of the trace `{}` shows neither in it nor in its name; {}{table}",
            path.display(),
            advice()
        ))
    })?;
    source(path, input, format, reading, columns)
}

fn source(
    path: &Path,
    input: Input,
    format: Format,
    reading: &Reading,
    columns: Columns,
) -> Result<Box<dyn Source>> {
    let source = (format.declaration().open)(input, columns)?;
    Ok(checked(path, source, format, reading))
}

/// Checks that a trace whose columns are said may be a table.
fn require_table(path: &Path, input: &Input, format: Option<Format>) -> Result<()> {
    let shown = match format {
        Some(format) => Some(format).filter(|format| *format != csv::FORMAT),
        None => Format::detect(path, input).filter(|_| input.head.contains(&0)),
    };
    let what = match shown {
        Some(format) => format.name(),
        None if input.head.contains(&0) => "no text",
        None => return Ok(()),
    };
    Err(Error::usage(format!(
        "‘columns’ says what the columns of a csv hold, and the trace `{}` is {what}; leave \
         ‘columns’ away",
        path.display()
    )))
}

/// Returns the same trace, whose objects have places, checked while it is read.
fn checked(
    path: &Path,
    source: Box<dyn Source>,
    format: Format,
    reading: &Reading,
) -> Box<dyn Source> {
    let extent = match source.meta().objects {
        Objects::Named => Some(reading.objects.unwrap_or(Extent::Sized)),
        Objects::None | Objects::Placed | Objects::Disk => reading.objects,
    };
    let source = match extent {
        Some(extent) => placed(source, extent),
        None if source.meta().is_table && source.meta().objects == Objects::None => watched(source),
        None => source,
    };
    let mut meta = source.meta().clone();
    if meta.columns.is_empty() {
        let (read, ignored): (Vec<_>, Vec<_>) =
            format.fields().iter().partition(|field| field.is_read);
        let names = |fields: Vec<&Field>| fields.iter().map(|field| field.name.into()).collect();
        (meta.columns, meta.ignored) = (names(read), names(ignored));
    }
    sound(path, source, meta)
}

/// Begins a trace, whose format the ending of its name tells. The file gets this name when the
/// trace is finished; until then a file that has the name stays.
///
/// `about` holds keys and values that say what was recorded, how and on what. Only the native
/// format keeps them.
///
/// # Errors
/// Returns a usage error if the name does not tell the format, and a failure if the file cannot be
/// made.
pub fn create(path: &Path, about: &[(String, String)]) -> Result<Box<dyn Sink>> {
    let format = Format::by_name(path).ok_or_else(|| {
        let endings = one_of(usual_endings(written()));
        Error::usage(format!(
            "the ending of `{}` names no trace format; use {endings}",
            path.display()
        ))
    })?;
    create_as(path, format, about)
}

/// Begins a trace of the format `format`, as [`create`] does. A trace of any format but the native
/// one is packed if its name ends in .gz, .xz or .zst.
///
/// # Errors
/// Returns a usage error if the format cannot be written, and a failure if the file cannot be made.
pub fn create_as(path: &Path, format: Format, about: &[(String, String)]) -> Result<Box<dyn Sink>> {
    let create = format.declaration().create.ok_or_else(|| {
        let names = one_of(written().map(|format| format.name()));
        Error::usage(format!("the format {format} is only read; write {names}"))
    })?;
    create(path, about)
}

/// Returns the formats that can be written.
fn written() -> impl Iterator<Item = &'static Format> {
    Format::ALL.iter().filter(|format| format.is_written())
}

fn names(formats: &[Format]) -> Vec<&'static str> {
    formats.iter().map(|format| format.name()).collect()
}

/// Returns the usual ending of each format that has one.
fn usual_endings<'a>(formats: impl Iterator<Item = &'a Format>) -> impl Iterator<Item = &'a str> {
    formats.filter_map(|format| format.endings().first().copied())
}

/// Joins names as a sentence does: `a, b or c`.
fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    let (last, others) = names.split_last().expect("some formats are written");
    format!("{} or {last}", others.join(", "))
}
