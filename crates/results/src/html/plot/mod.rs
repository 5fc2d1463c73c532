//! Plots as plain data, which the page's script draws with Chart.js.

mod svg;

use std::ops::Range;

use serde::Serialize;

pub use svg::Look;
pub(super) use svg::draw;

/// A plot.
#[derive(Clone, Debug, Serialize)]
pub struct Plot {
    /// Its title.
    title: String,
    /// One sentence below it.
    note: String,
    kind: Kind,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    /// Cells, if it is a heat map.
    heat: Option<Heat>,
}

/// Cells of a heat map.
#[derive(Clone, Debug, Serialize)]
struct Heat {
    /// Width of a column on the horizontal axis, which begins at 0.
    width: f64,
    rows: Vec<HeatRow>,
    /// The largest value of a cell.
    most: f64,
    /// Powers of ten from the weakest cell to the strongest.
    orders: f64,
}

/// The most powers of ten that are told apart, and the fewest.
const ORDERS: (f64, f64) = (1.0, 4.0);

impl Heat {
    /// Returns the end of the last column.
    fn end(&self) -> f64 {
        let columns = self.rows.first().map_or(0, |row| row.values.len());
        self.width * columns as f64
    }

    /// Returns how strong a cell of a value is, as the page's script: from nearly nothing to 1, by
    /// the logarithm.
    fn strength(&self, value: f64) -> f64 {
        let place = 1.0 + (value / self.most).log10() / self.orders;
        0.12 + 0.88 * place.max(0.0)
    }
}

/// Cells of a heat map beside each other.
#[derive(Clone, Debug, Serialize)]
pub struct HeatRow {
    /// Its lower end on the vertical axis.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
    /// Value of the cell in each column.
    pub values: Vec<f64>,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Lines,
    Points,
    Bars,
    Stacked,
    Heat,
}

/// An axis.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    title: String,
    unit: Unit,
    log: bool,
    /// Names on the axis; none if it is a scale of numbers.
    names: Vec<String>,
    /// Parts of an axis of addresses; none on other axes.
    bands: Vec<Band>,
}

/// A range of addresses on an axis that leaves out what is between the ranges.
#[derive(Clone, Debug, Serialize)]
pub struct Band {
    /// Its name.
    pub name: String,
    /// Beginning and end on the axis.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// The first page.
    pub first: u64,
    /// Pages.
    pub pages: u64,
}

/// Least height of a range on an axis of addresses, as a share of all of them, and the space
/// between two.
const LEAST: f64 = 0.03;
const SPACE: f64 = 0.01;

impl Band {
    /// Returns ranges of pages one above the other, each as high as its share of the pages, but not
    /// too low to be seen.
    pub fn stack(ranges: impl IntoIterator<Item = (String, Range<u64>)>) -> Vec<Self> {
        let ranges: Vec<_> = ranges.into_iter().collect();
        let pages = |range: &Range<u64>| range.end - range.start;
        let all: u64 = ranges.iter().map(|(_, range)| pages(range)).sum();
        let mut from = 0.0;
        let band = |(name, range): (String, Range<u64>)| {
            let share = pages(&range) as f64 / all as f64;
            let to = from + share.max(LEAST);
            let band = Self {
                name,
                from,
                to,
                first: range.start,
                pages: pages(&range),
            };
            from = to + SPACE;
            band
        };
        ranges.into_iter().map(band).collect()
    }

    /// Returns the middle of a page on the axis; `None` if it is not in the range.
    pub fn height(&self, page: u64) -> Option<f64> {
        let index = page
            .checked_sub(self.first)
            .filter(|&index| index < self.pages)?;
        Some(self.from + (index as f64 + 0.5) / self.pages as f64 * (self.to - self.from))
    }
}

/// Unit of the numbers on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanos,
    /// Seconds.
    Seconds,
    /// Shares of 1, shown in percent.
    Share,
    /// Multiple of a reference.
    Times,
}

/// Series of points.
#[derive(Clone, Debug, Serialize)]
struct Series {
    name: String,
    /// Horizontal, vertical; with names on an axis, the index of the name.
    points: Vec<(f64, f64)>,
    /// Least and most of the values whose median a point is; empty if there is one value
    /// each.
    spread: Vec<(f64, f64)>,
}

impl Axis {
    /// Makes an axis of numbers.
    pub fn new(title: &str, unit: Unit) -> Self {
        Self {
            title: title.to_owned(),
            unit,
            log: false,
            names: Vec::new(),
            bands: Vec::new(),
        }
    }

    /// An axis of addresses, in ranges.
    pub fn bands(title: &str, bands: Vec<Band>) -> Self {
        Self {
            bands,
            ..Self::new(title, Unit::Count)
        }
    }

    /// Makes an axis of names.
    pub fn names(title: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self {
            names,
            ..Self::new(title, Unit::Count)
        }
    }

    /// Makes the scale logarithmic.
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }
}

impl Plot {
    fn new(kind: Kind, title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            note: String::new(),
            kind,
            x,
            y,
            series: Vec::new(),
            heat: None,
        }
    }

    /// Makes a heat map of rows of cells, each cell `width` wide.
    pub fn heat(title: &str, x: Axis, y: Axis, width: f64, rows: Vec<HeatRow>) -> Self {
        let values = rows.iter().flat_map(|row| &row.values);
        let values = values.copied().filter(|value| *value > 0.0);
        let most = values.clone().fold(0.0, f64::max);
        let orders = (most / values.fold(most, f64::min)).log10();
        let heat = Heat {
            width,
            rows,
            most,
            orders: orders.max(ORDERS.0).min(ORDERS.1),
        };
        Self {
            heat: Some(heat),
            ..Self::new(Kind::Heat, title, x, y)
        }
    }

    /// Makes a plot of lines through the points of each series.
    pub fn lines(title: &str, x: Axis, y: Axis) -> Self {
        Self::new(Kind::Lines, title, x, y)
    }

    /// Makes a plot of points.
    pub fn points(title: &str, x: Axis, y: Axis) -> Self {
        Self::new(Kind::Points, title, x, y)
    }

    /// Makes a plot of bars beside each other.
    pub fn bars(title: &str, x: Axis, y: Axis) -> Self {
        Self::new(Kind::Bars, title, x, y)
    }

    /// Makes a plot of stacked bars: parts of a whole.
    pub fn stacked(title: &str, x: Axis, y: Axis) -> Self {
        Self::new(Kind::Stacked, title, x, y)
    }

    /// Adds a sentence below the title.
    pub fn note(mut self, note: &str) -> Self {
        self.note = note.to_owned();
        self
    }

    /// Adds a series of points.
    pub fn series(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.add(name, points.into_iter().collect(), Vec::new());
        self
    }

    /// Adds a series of values, one for each name on the axis.
    pub fn values(self, name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let points = values.into_iter().enumerate();
        self.series(name, points.map(|(index, value)| (index as f64, value)))
    }

    /// Adds a series of values with the least and the most of each.
    pub fn spread(mut self, name: &str, values: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let values = values.into_iter().enumerate();
        let (points, spread) = values
            .map(|(index, (value, least, most))| ((index as f64, value), (least, most)))
            .unzip();
        self.add(name, points, spread);
        self
    }

    fn add(&mut self, name: &str, points: Vec<(f64, f64)>, spread: Vec<(f64, f64)>) {
        self.series.push(Series {
            name: name.to_owned(),
            points,
            spread,
        });
    }

    /// Returns whether any value is not zero, or there is a point beside a name.
    pub(super) fn shows_something(&self) -> bool {
        if let Some(heat) = &self.heat {
            return heat.most > 0.0;
        }
        let mut points = self.series.iter().flat_map(|series| &series.points);
        let named = !self.y.names.is_empty();
        points.any(|point| named || point.1 != 0.0)
    }

    /// Whether the plot needs the whole width of the page.
    pub(super) fn is_wide(&self) -> bool {
        !self.y.bands.is_empty()
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Returns the sentence below it.
    pub fn sentence(&self) -> &str {
        &self.note
    }
}
