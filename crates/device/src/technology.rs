//! A technology: figures of one kind of memory, each with its source.

use serde::{Deserialize, Deserializer};
use terrace_base::{Bytes, Error, Nanos, Result};

use crate::timing::{Order, Timing};

/// A figure and its source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a figure as { value = ..., source = \"...\" }"
)]
pub struct Figure<T> {
    /// The figure.
    pub value: T,
    /// Paper and section; `derived` where it follows from others, `assumed` where it is ours.
    #[serde(deserialize_with = "source")]
    pub source: String,
}

/// How a memory can be addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ByteAddressable {
    /// Bytes are read and written.
    Yes,
    /// Bytes are read, blocks are written.
    Reads,
    /// Blocks are read and written.
    No,
}

/// The power that a chip takes, in milliwatts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// The chip's capacity.
    #[serde(deserialize_with = "capacity")]
    pub chip: Bytes,
    /// While a row is read.
    #[serde(deserialize_with = "no_less_than_zero")]
    pub row_read: f64,
    /// While a row is written.
    #[serde(deserialize_with = "no_less_than_zero")]
    pub row_write: f64,
    /// While a row is opened.
    #[serde(deserialize_with = "no_less_than_zero")]
    pub activate: f64,
    /// All the time.
    #[serde(deserialize_with = "no_less_than_zero")]
    pub standby: f64,
    /// All the time, for refreshing the cells.
    #[serde(deserialize_with = "no_less_than_zero")]
    pub refresh: f64,
    /// Source of these figures.
    #[serde(deserialize_with = "source")]
    pub source: String,
}

/// Figures of one kind of memory; `None` for those that no source gives.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a technology as [name]")]
pub struct Technology {
    /// Name in the catalogue.
    #[serde(skip)]
    pub name: String,
    /// One line of description.
    pub summary: String,
    /// The technology from which missing figures are taken.
    pub(crate) like: Option<toml::Spanned<String>>,
    /// Latency of reading 4 KiB when nothing else is under way.
    #[serde(deserialize_with = "time")]
    pub page_read: Option<Figure<Nanos>>,
    /// Latency of writing 4 KiB when nothing else is under way.
    #[serde(deserialize_with = "time")]
    pub page_write: Option<Figure<Nanos>>,
    /// Latency of reading 64 bytes in a row that is not open.
    #[serde(deserialize_with = "time")]
    pub line_read: Option<Figure<Nanos>>,
    /// Latency of writing 64 bytes in a row that is not open.
    #[serde(deserialize_with = "time")]
    pub line_write: Option<Figure<Nanos>>,
    /// Latency of a further 64 bytes in the open row.
    #[serde(deserialize_with = "time")]
    pub same_row: Option<Figure<Nanos>>,
    /// Time from the opening of a row to the next in the same bank (tRC).
    #[serde(deserialize_with = "time")]
    pub row_cycle: Option<Figure<Nanos>>,
    /// Time in which no more than four rows are opened (tFAW).
    #[serde(deserialize_with = "time")]
    pub four_rows: Option<Figure<Nanos>>,
    /// Time between the data of a write and the data of a read.
    #[serde(deserialize_with = "time")]
    pub write_to_read: Option<Figure<Nanos>>,
    /// Time between the data of a read and the data of a write.
    #[serde(deserialize_with = "time")]
    pub read_to_write: Option<Figure<Nanos>>,
    /// Time in which a row that is closed writes the lines that were changed in it to its cells;
    /// `None` where writes reach the cells at once.
    #[serde(deserialize_with = "time")]
    pub array_write: Option<Figure<Nanos>>,
    /// Writes that a cell sustains.
    #[serde(deserialize_with = "amount")]
    pub endurance: Option<Figure<f64>>,
    /// Whether bytes can be addressed.
    pub byte_addressable: Option<Figure<ByteAddressable>>,
    /// Whether it keeps what it holds without power.
    pub non_volatile: Option<Figure<bool>>,
    /// Least and most area of a cell, in squares of the feature size.
    pub cell_area: Option<Figure<(f64, f64)>>,
    /// Requests that are served at the same time.
    #[serde(deserialize_with = "count")]
    pub channels: Option<Figure<u32>>,
    /// Bytes a second, over all channels.
    #[serde(deserialize_with = "amount")]
    pub bandwidth: Option<Figure<f64>>,
    /// Energy of writing the array, DRAM's being 1.
    #[serde(deserialize_with = "amount")]
    pub write_energy_ratio: Option<Figure<f64>>,
    /// The power that a chip takes.
    pub power: Option<Power>,
}

impl Technology {
    /// Whether the latencies of a line, for reads and for writes, are known.
    pub fn has_lines(&self) -> bool {
        self.line_read.is_some() && self.line_write.is_some()
    }

    /// Returns the timing of page transfers, in plain order. If no source gives the number of
    /// channels, it is 1.
    ///
    /// # Errors
    /// Returns a usage error if the latency of a page is not known.
    pub fn timing(&self) -> Result<Timing> {
        let latency = |figure: &Option<Figure<Nanos>>, what| {
            figure.as_ref().map(|figure| figure.value).ok_or_else(|| {
                Error::usage(format!(
                    "nothing says how long `{}` takes to {what} a page; give page_read and page_write in a file of your own, with like = \"{}\"",
                    self.name, self.name
                ))
            })
        };
        Ok(Timing {
            read: latency(&self.page_read, "read")?,
            write: latency(&self.page_write, "write")?,
            channels: self.channels.as_ref().map_or(1, |figure| figure.value),
            bandwidth: self.bandwidth.as_ref().map(|figure| figure.value as u64),
            order: Order::Plain,
        })
    }

    /// Returns name, value and source of every known figure, as text.
    pub fn figures(&self) -> Vec<(&'static str, String, &str)> {
        type Text<'a> = Option<(String, &'a str)>;
        fn of<T>(figure: &Option<Figure<T>>, show: impl Fn(&T) -> String) -> Text<'_> {
            figure.as_ref().map(|f| (show(&f.value), f.source.as_str()))
        }
        let power = |p: &Power| {
            format!(
                "{} a chip: read {} mW, write {} mW, activate {} mW, standby {} mW, refresh {} mW",
                p.chip, p.row_read, p.row_write, p.activate, p.standby, p.refresh
            )
        };
        let addressable = |a: &ByteAddressable| match a {
            ByteAddressable::Yes => "yes".into(),
            ByteAddressable::Reads => "reads only".into(),
            ByteAddressable::No => "no".into(),
        };
        let endurance = |n: &f64| format!("{n:e} writes a cell");
        let bandwidth = |n: &f64| format!("{} GB/s", n / 1e9);
        let ratio = |n: &f64| format!("{n} times DRAM's");
        let powers = self.power.as_ref();
        let area = |(least, most): &(f64, f64)| match least == most {
            true => format!("{least} F^2"),
            false => format!("{least} to {most} F^2"),
        };
        let yes = |yes: &bool| if *yes { "yes" } else { "no" }.to_string();
        [
            ("page read", of(&self.page_read, Nanos::to_string)),
            ("page write", of(&self.page_write, Nanos::to_string)),
            ("line read", of(&self.line_read, Nanos::to_string)),
            ("line write", of(&self.line_write, Nanos::to_string)),
            ("same row", of(&self.same_row, Nanos::to_string)),
            ("row cycle", of(&self.row_cycle, Nanos::to_string)),
            ("four rows", of(&self.four_rows, Nanos::to_string)),
            ("write to read", of(&self.write_to_read, Nanos::to_string)),
            ("read to write", of(&self.read_to_write, Nanos::to_string)),
            ("array write", of(&self.array_write, Nanos::to_string)),
            ("endurance", of(&self.endurance, endurance)),
            ("byte addressable", of(&self.byte_addressable, addressable)),
            ("non-volatile", of(&self.non_volatile, yes)),
            ("cell area", of(&self.cell_area, area)),
            ("channels", of(&self.channels, u32::to_string)),
            ("bandwidth", of(&self.bandwidth, bandwidth)),
            ("write energy", of(&self.write_energy_ratio, ratio)),
            ("power", powers.map(|p| (power(p), p.source.as_str()))),
        ]
        .into_iter()
        .filter_map(|(name, figure)| figure.map(|(value, source)| (name, value, source)))
        .collect()
    }

    /// Takes missing figures from `base`.
    pub(crate) fn inherit(&mut self, base: &Self) {
        macro_rules! inherit {
            ($missing:ident: $($figure:ident),*) => {$(
                if self.$figure.$missing() {
                    self.$figure.clone_from(&base.$figure);
                }
            )*};
        }
        inherit!(is_empty: summary);
        inherit!(is_none: page_read, page_write, line_read, line_write, same_row);
        inherit!(is_none: row_cycle, four_rows, write_to_read, read_to_write, array_write);
        inherit!(is_none: endurance, byte_addressable, non_volatile, cell_area);
        inherit!(is_none: channels, bandwidth, write_energy_ratio, power);
    }
}

fn source<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<String, D::Error> {
    let text = String::deserialize(from)?;
    match text.trim() {
        "" => Err(serde::de::Error::custom("a source is empty")),
        _ => Ok(text),
    }
}

fn time<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<Figure<Nanos>>, D::Error> {
    let Figure { value, source } = Figure::<String>::deserialize(from)?;
    let value = Nanos::parse(&value).map_err(serde::de::Error::custom)?;
    Ok(Some(Figure { value, source }))
}

fn capacity<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Bytes, D::Error> {
    Bytes::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

fn amount<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<Figure<f64>>, D::Error> {
    let figure = Figure::<f64>::deserialize(from)?;
    if figure.value.is_finite() && figure.value > 0.0 {
        return Ok(Some(figure));
    }
    let wrong = format!("{} is not above zero", figure.value);
    Err(serde::de::Error::custom(wrong))
}

fn count<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<Figure<u32>>, D::Error> {
    let Figure { value, source } = Figure::<i64>::deserialize(from)?;
    match u32::try_from(value) {
        Ok(value @ 1..) => Ok(Some(Figure { value, source })),
        _ => Err(serde::de::Error::custom(format!(
            "{value} is no count above zero"
        ))),
    }
}

fn no_less_than_zero<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(serde::de::Error::custom(format!("{value} is below zero")))
}
