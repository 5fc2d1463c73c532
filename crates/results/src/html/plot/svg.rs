//! Plots as vectors, drawn by plotters.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use terrace_base::{Bytes, Error, Nanos, Result};

use super::{Axis, Heat, Kind, Plot, Series, Unit};

/// Size of a plot.
const SIZE: (u32, u32) = (800, 480);
/// Width of the names of series beside a plot, and the height of one.
const NAMES: u32 = 190;
const ROW: i32 = 20;
/// Colours that people with any eyes tell apart (Okabe and Ito 2008), and four for more series.
const COLORS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
    RGBColor(153, 153, 153),
    RGBColor(102, 51, 0),
    RGBColor(128, 0, 128),
    RGBColor(170, 220, 130),
];
/// Share of the room of a name that its bars take.
const BARS: f64 = 0.8;

/// How plots are drawn.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The title of the first plot, if it is not its own.
    pub title: Option<String>,
    /// Other names of series.
    pub labels: Vec<(String, String)>,
}

impl Look {
    /// Returns the name of a series.
    fn name<'a>(&'a self, name: &'a str) -> &'a str {
        let label = self.labels.iter().find(|(series, _)| series == name);
        label.map_or(name, |(_, label)| label)
    }

    /// Checks that each label is of a series.
    fn check(&self, plots: &[Plot]) -> Result<()> {
        let mut names: Vec<&str> = Vec::new();
        for series in plots.iter().flat_map(|plot| &plot.series) {
            if !names.contains(&&*series.name) {
                names.push(&series.name);
            }
        }
        match self
            .labels
            .iter()
            .find(|(name, _)| !names.contains(&&**name))
        {
            None => Ok(()),
            Some((name, _)) => Err(Error::usage(format!(
                "--label names `{name}`, and no series is called so; there are {}",
                names.join(", ")
            ))),
        }
    }
}

/// Draws plots one below the other.
///
/// # Errors
/// A failure if there is no plot; a usage error if a label is of no series.
pub(in crate::html) fn draw(plots: &[Plot], look: &Look) -> Result<String> {
    if plots.is_empty() {
        return Err(Error::failure(
            "these results have no plot: --svg has nothing to draw",
        ));
    }
    look.check(plots)?;
    let mut text = String::new();
    let size = (SIZE.0, SIZE.1 * plots.len() as u32);
    let drawn = whole(SVGBackend::with_string(&mut text, size), plots, look);
    drawn.map_err(|error| Error::failure(format!("a plot cannot be drawn: {error}")))?;
    Ok(text)
}

/// The error of drawing.
type Drawn<B> = std::result::Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn whole<'a>(backend: SVGBackend<'a>, plots: &[Plot], look: &Look) -> Drawn<SVGBackend<'a>> {
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let areas = root.split_evenly((plots.len(), 1));
    for (index, (plot, area)) in plots.iter().zip(&areas).enumerate() {
        let title = look.title.as_deref().filter(|_| index == 0);
        one(area, plot, title.unwrap_or(&plot.title), look)?;
    }
    root.present()
}

/// A range of numbers as they are drawn: logarithms on axes that are logarithmic.
struct Scale<'a> {
    axis: &'a Axis,
    /// What is drawn as 1.
    unit: f64,
    from: f64,
    to: f64,
}

impl<'a> Scale<'a> {
    /// Returns the scale of an axis with these values; it begins at 0 if it is that of amounts.
    fn of(axis: &'a Axis, values: impl Iterator<Item = f64>, has_zero: bool) -> Self {
        if !axis.names.is_empty() {
            let (from, to) = (-0.5, axis.names.len() as f64 - 0.5);
            let unit = 1.0;
            return Self {
                axis,
                unit,
                from,
                to,
            };
        }
        let values: Vec<f64> = values.collect();
        let mut scale = Self {
            axis,
            unit: match (axis.log, axis.unit) {
                (false, Unit::Bytes) => binary(values.iter().copied().fold(0.0, f64::max)),
                _ => 1.0,
            },
            from: f64::INFINITY,
            to: f64::NEG_INFINITY,
        };
        for value in values {
            let Some(value) = scale.place(value) else {
                continue;
            };
            scale.from = scale.from.min(value);
            scale.to = scale.to.max(value);
        }
        for band in &axis.bands {
            scale.from = scale.from.min(band.from);
            scale.to = scale.to.max(band.to);
        }
        if has_zero && !axis.log {
            scale.from = scale.from.min(0.0);
            scale.to += (scale.to - scale.from) * 0.05;
        }
        if !scale.from.is_finite() || scale.from >= scale.to {
            let middle = if scale.from.is_finite() {
                scale.from
            } else {
                0.0
            };
            (scale.from, scale.to) = (middle - 0.5, middle + 0.5);
        }
        scale
    }

    /// Returns where a value is drawn, if it can be.
    fn place(&self, value: f64) -> Option<f64> {
        let number = match (self.axis.log, self.axis.unit) {
            (false, _) => value / self.unit,
            (true, Unit::Bytes) => value.log2(),
            (true, _) => value.log10(),
        };
        number.is_finite().then_some(number)
    }

    /// Returns the text at a place.
    fn label(&self, place: f64) -> String {
        if !self.axis.names.is_empty() || !self.axis.bands.is_empty() {
            return String::new();
        }
        let value = match (self.axis.log, self.axis.unit) {
            (false, _) => place * self.unit,
            (true, Unit::Bytes) => place.exp2(),
            (true, _) => 10_f64.powf(place),
        };
        text(value, self.axis.unit)
    }
}

/// Returns the largest power of 1024 bytes that is no more than `most`, so that marks are whole.
fn binary(most: f64) -> f64 {
    let powers = [1e3_f64, 1e6, 1e9, 1e12, 1e15, 1e18];
    let power = powers.iter().filter(|power| most >= **power).count();
    1024_f64.powi(power as i32)
}

/// Writes a number with its unit.
fn text(value: f64, unit: Unit) -> String {
    // As short as it can be without the dust of binary fractions.
    let short = |value: f64| (value * 1e6).round() / 1e6;
    match unit {
        Unit::Bytes => Bytes(value.max(0.0).round() as u64).to_string(),
        Unit::Nanos => Nanos(value.max(0.0).round() as u64).to_string(),
        Unit::Seconds => format!("{} s", short(value)),
        Unit::Share => format!("{} %", short(value * 100.0)),
        Unit::Times => format!("{}×", short(value)),
        Unit::Count => match value.abs() {
            size if size >= 1e9 => format!("{} G", short(value / 1e9)),
            size if size >= 1e6 => format!("{} M", short(value / 1e6)),
            size if size >= 1e4 => format!("{} k", short(value / 1e3)),
            _ => short(value).to_string(),
        },
    }
}

fn one<'a>(area: &Area<'a>, plot: &Plot, title: &str, look: &Look) -> Drawn<SVGBackend<'a>> {
    let has_names = plot.series.len() > 1;
    let width = if has_names { SIZE.0 - NAMES } else { SIZE.0 };
    let (area, beside) = area.split_horizontally(width);
    if has_names {
        list(&beside, plot, look)?;
    }
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let columns = plot.heat.iter().flat_map(|heat| [0.0, heat.end()]);
    let x = Scale::of(&plot.x, points().map(|point| point.0).chain(columns), false);
    let stacked = plot.kind == Kind::Stacked;
    let heights: Vec<f64> = match stacked {
        true => sums(plot),
        false => {
            let spread = plot.series.iter().flat_map(|series| &series.spread);
            let most = spread.map(|spread| spread.1);
            points().map(|point| point.1).chain(most).collect()
        }
    };
    let y = Scale::of(
        &plot.y,
        heights.into_iter(),
        !matches!(plot.kind, Kind::Points | Kind::Heat),
    );
    let named = !plot.x.names.is_empty();
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .margin_right(30)
        .x_label_area_size(if named { 56 } else { 44 })
        .y_label_area_size(if plot.y.bands.is_empty() { 84 } else { 200 })
        .build_cartesian_2d(x.from..x.to, y.from..y.to)?;
    let (x_label, y_label) = (|place: &f64| x.label(*place), |place: &f64| y.label(*place));
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(&plot.x.title)
        .y_desc(&plot.y.title)
        .x_labels(6)
        .x_label_formatter(&x_label)
        .y_label_formatter(&y_label)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12));
    if named {
        mesh.disable_x_mesh()
            .set_tick_mark_size(LabelAreaPosition::Bottom, 0);
    }
    mesh.draw()?;
    names(&mut chart, &x, &y)?;
    if let Some(heat) = &plot.heat {
        cells(&mut chart, heat)?;
    }
    let mut below = vec![0.0; plot.x.names.len()];
    for (index, series) in plot.series.iter().enumerate() {
        let color = color(index);
        match plot.kind {
            Kind::Lines | Kind::Points => {
                line(&mut chart, plot, series, (&x, &y), color)?;
            }
            Kind::Heat => {}
            Kind::Bars | Kind::Stacked => {
                let all = plot.series.len() as f64;
                let (width, offset) = match stacked {
                    true => (BARS, -BARS / 2.0),
                    false => (BARS / all, BARS * (index as f64 / all - 0.5)),
                };
                let bars = (width, offset, stacked.then_some(&mut below[..]));
                bar(&mut chart, series, &y, color, bars)?;
            }
        }
    }
    Ok(())
}

/// Returns the colour of a series.
fn color(index: usize) -> RGBAColor {
    COLORS[index % COLORS.len()].to_rgba()
}

/// Lists the series with their colours, beside a plot.
fn list<'a>(area: &Area<'a>, plot: &Plot, look: &Look) -> Drawn<SVGBackend<'a>> {
    for (index, series) in plot.series.iter().enumerate() {
        let y = 44 + ROW * index as i32;
        let corners = [(4, y), (16, y + 8)];
        area.draw(&Rectangle::new(corners, color(index).filled()))?;
        let name = look.name(&series.name).to_owned();
        area.draw(&Text::new(name, (22, y - 2), ("sans-serif", 13)))?;
    }
    Ok(())
}

/// Returns the height of each stack.
fn sums(plot: &Plot) -> Vec<f64> {
    let mut sums = vec![0.0; plot.x.names.len()];
    for (at, value) in plot.series.iter().flat_map(|series| &series.points) {
        if let Some(sum) = sums.get_mut(*at as usize) {
            *sum += value;
        }
    }
    sums
}

/// Writes the names of axes that have some: of bars below them, of ranges of addresses beside them.
fn names<'b>(chart: &mut Chart<'_, 'b>, x: &Scale, y: &Scale) -> Drawn<SVGBackend<'b>> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    let style = |horizontal, vertical| {
        let style = TextStyle::from(("sans-serif", 13).into_font());
        style.pos(Pos::new(horizontal, vertical))
    };
    let below = style(HPos::Center, VPos::Top);
    let beside = style(HPos::Right, VPos::Center);
    let bars = x.axis.names.iter().enumerate().map(|(index, name)| {
        let at = (index as f64, y.from);
        EmptyElement::at(at) + Text::new(name.clone(), (0, 8), below.clone())
    });
    chart.draw_series(bars)?;
    let named = y.axis.names.iter().enumerate();
    let named = named.map(|(index, name)| (index as f64, name.clone()));
    let bands = y.axis.bands.iter();
    let bands = bands.map(|band| ((band.from + band.to) / 2.0, band.name.clone()));
    let rows = named.chain(bands).map(|(height, name)| {
        EmptyElement::at((x.from, height)) + Text::new(name, (-8, 0), beside.clone())
    });
    chart.draw_series(rows)?;
    Ok(())
}

/// Draws the points of a series, and the line through them if the plot is one of lines.
fn line<'b>(
    chart: &mut Chart<'_, 'b>,
    plot: &Plot,
    series: &Series,
    (x, y): (&Scale, &Scale),
    color: RGBAColor,
) -> Drawn<SVGBackend<'b>> {
    let points = series.points.iter();
    let places = points.filter_map(|&(at, value)| Some((x.place(at)?, y.place(value)?)));
    let places: Vec<(f64, f64)> = places.collect();
    let is_line = plot.kind == Kind::Lines;
    let dots = !is_line || places.len() <= 40;
    if dots {
        let size = if is_line { 3 } else { 2 };
        let circle = |place: &(f64, f64)| Circle::new(*place, size, color.filled());
        chart.draw_series(places.iter().map(circle))?;
    }
    let drawn = if is_line { places } else { Vec::new() };
    let path = PathElement::new(drawn, color.stroke_width(2));
    chart.draw_series(std::iter::once(path))?;
    let spread = series.points.iter().zip(&series.spread);
    let bars = spread.filter_map(|(&(at, _), &(least, most))| {
        let at = x.place(at)?;
        let ends = vec![(at, y.place(least)?), (at, y.place(most)?)];
        Some(PathElement::new(ends, color.stroke_width(1)))
    });
    chart.draw_series(bars)?;
    Ok(())
}

/// Draws the cells of a heat map.
fn cells<'b>(chart: &mut Chart<'_, 'b>, heat: &Heat) -> Drawn<SVGBackend<'b>> {
    for row in &heat.rows {
        let values = row.values.iter().enumerate();
        let cells = values.filter(|(_, value)| **value > 0.0);
        let cells = cells.map(|(column, value)| {
            let left = column as f64 * heat.width;
            let corners = [(left, row.from), (left + heat.width, row.to)];
            Rectangle::new(corners, COLORS[1].mix(heat.strength(*value)).filled())
        });
        chart.draw_series(cells)?;
    }
    Ok(())
}

/// Draws the bars of a series: `(width, offset, heights below)`.
fn bar<'b>(
    chart: &mut Chart<'_, 'b>,
    series: &Series,
    y: &Scale,
    color: RGBAColor,
    (width, offset, mut below): (f64, f64, Option<&mut [f64]>),
) -> Drawn<SVGBackend<'b>> {
    let mut rectangles = Vec::new();
    for &(at, value) in &series.points {
        let base = below.as_mut().and_then(|all| all.get_mut(at as usize));
        let from = base.as_deref().copied().unwrap_or(0.0);
        if let Some(base) = base {
            *base += value;
        }
        let (Some(low), Some(high)) = (y.place(from).or(Some(y.from)), y.place(from + value))
        else {
            continue;
        };
        let corners = [(at + offset, low), (at + offset + width, high)];
        rectangles.push(Rectangle::new(corners, color.filled()));
    }
    chart.draw_series(rectangles)?;
    let spread = series.points.iter().zip(&series.spread);
    let middle = offset + width / 2.0;
    let lines = spread.filter_map(|(&(at, _), &(least, most))| {
        let ends = vec![
            (at + middle, y.place(least)?),
            (at + middle, y.place(most)?),
        ];
        Some(PathElement::new(ends, BLACK.mix(0.7).stroke_width(1)))
    });
    chart.draw_series(lines)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Band, HeatRow};
    use super::*;

    fn plot() -> Plot {
        let axis = Axis::new("DRAM", Unit::Bytes).log();
        Plot::lines("Misses <of> LRU", axis, Axis::new("misses", Unit::Share))
            .series("lru", [(0.0, 1.0), (4096.0, 0.5), (1e6, 0.25)])
            .series("arc", [(4096.0, 0.4), (1e6, f64::NAN)])
    }

    fn bars() -> Plot {
        let axis = || Axis::names("", ["a & b", "c"]);
        Plot::stacked("Parts", axis(), Axis::new("pages", Unit::Count))
            .values("one", [1.0, 2.0])
            .values("two", [3.0, 4.0])
    }

    #[test]
    fn titles_and_names_of_series_are_those_that_were_asked_for() {
        let own = draw(&[plot(), bars()], &Look::default()).unwrap();
        for text in [
            "Misses &lt;of&gt; LRU",
            "lru",
            "Parts",
            "a &amp; b",
            "4.00 KiB",
        ] {
            assert!(own.contains(text), "{text}: {own}");
        }
        assert!(!own.contains("NaN"), "{own}");
        let look = Look {
            title: Some("Figure 1".into()),
            labels: vec![("lru".into(), "LRU <x>".into())],
        };
        let other = draw(&[plot(), bars()], &look).unwrap();
        assert!(other.contains("Figure 1") && other.contains("LRU &lt;x&gt;"));
        assert!(!other.contains("Misses") && !other.contains(">\nlru"));
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let look = Look {
            labels: vec![("lfu".into(), "x".into())],
            ..Look::default()
        };
        let error = draw(&[plot()], &look).unwrap_err().to_string();
        assert!(error.contains("`lfu`") && error.contains("there are lru, arc"));
        let error = draw(&[], &Look::default()).unwrap_err().to_string();
        assert!(error.contains("no plot"), "{error}");
    }

    #[test]
    fn a_cell_is_as_strong_as_its_value() {
        let bands = Band::stack([("heap".to_owned(), 100..200)]);
        let row = |from, to, values: [f64; 3]| HeatRow {
            from,
            to,
            values: values.to_vec(),
        };
        let rows = vec![
            row(0.0, 0.5, [0.0, 1.0, 0.0]),
            row(0.5, 1.0, [100.0, 0.0, 10.0]),
        ];
        let axis = Axis::new("accesses", Unit::Count);
        let plot = Plot::heat("Heat", axis, Axis::bands("address", bands), 5.0, rows);
        let svg = draw(&[plot], &Look::default()).unwrap();
        let cells = svg.lines().filter(|line| line.contains("#D55E00"));
        let strengths = cells.map(|line| {
            let (_, rest) = line.split_once("opacity=\"").unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        });
        assert_eq!(strengths.collect::<Vec<_>>(), ["0.12", "1", "0.56"]);
    }

    #[test]
    fn a_plot_of_anything_is_drawn() {
        let axis = |unit| Axis::new("x", unit);
        for unit in [
            Unit::Count,
            Unit::Bytes,
            Unit::Nanos,
            Unit::Seconds,
            Unit::Share,
            Unit::Times,
        ] {
            for points in [
                vec![],
                vec![(0.0, 0.0)],
                vec![(1e300, -1e300), (f64::INFINITY, 1.0)],
            ] {
                let plain = Plot::points("t", axis(unit), axis(unit).log());
                draw(&[plain.series("s", points.clone())], &Look::default()).unwrap();
                let lines = Plot::lines("t", axis(unit).log(), axis(unit));
                draw(&[lines.series("s", points)], &Look::default()).unwrap();
            }
        }
        let spread = Plot::bars("t", Axis::names("", ["a"]), axis(Unit::Times));
        let spread = spread.spread("s", [(1.0, 0.5, 2.0)]);
        draw(&[spread], &Look::default()).unwrap();
    }
}
