//! Results of `terrace tcam circuit`: tables, and the JSON of schema `terrace.tcam.circuit/1`.
//!
//! Figures are of a model or of ngspice; those of Fedorov 2016 stand beside them, marked
//! `published`.

mod die;

use comfy_table::Table;
use schemars::JsonSchema;
use serde::Serialize;
use terrace_tcam::circuit::{
    self as model, Axis as Swept, Block, Cell, Figures, Flash, Layout, Netlist, PUBLISHED_CMOS,
    PUBLISHED_FLASH, Published, Spice, Technology, Variant, line_rate_gbps, sweep, variants,
};

pub use die::DieFigures;
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// By how much thresholds may be off, in V (Fedorov 2016, 4.4).
const OFF_V: f64 = 0.02;

/// The JSON of `terrace tcam circuit --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CircuitDocument {
    /// `terrace.tcam.circuit/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// The flash block and the CMOS block.
    pub blocks: [BlockFigures; 2],
    /// The delay of the flash block when its thresholds are off.
    pub sensitivity: Sensitivity,
    /// The flash block over rows, sections, thresholds and gate levels.
    pub sweeps: Vec<SweepPoint>,
    /// The model with an assumption changed, the first as it is.
    pub variants: Vec<VariantFigures>,
    /// The chip, from the published figures of blocks.
    pub die: DieFigures,
    /// Resistance of a flash transistor with its gate a volt above the threshold, in kohm: fitted
    /// to the published delay of the flash port memory, and to nothing else.
    pub fitted_flash_kohm_at_a_volt: f64,
    /// The figures of the process.
    pub technology: Vec<ParameterFigures>,
}

/// A block.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlockFigures {
    /// `flash` or `cmos`.
    pub cell: &'static str,
    /// Entries.
    pub rows: usize,
    /// Sections of a match line.
    pub sections: usize,
    /// By the analytical model.
    pub model: ModelFigures,
    /// By ngspice, the lines without what drives them; null where it is not installed.
    pub ngspice: Option<SpiceFigures>,
    /// Table 4.1, of 256 rows.
    pub published: PublishedFigures,
    /// Area if cells were as dense as those of memories, in um2.
    pub dense_um2: f64,
}

/// Figures of the model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelFigures {
    /// Delay until search lines are driven, in ps.
    pub search_ps: f64,
    /// Delay until the cell that does not match has discharged its section, in ps.
    pub cell_ps: f64,
    /// Delay until each section has discharged the next, in ps.
    pub cascade_ps: f64,
    /// Delay of the TCAM cells: the sum of these, in ps.
    pub tcam_ps: f64,
    /// Delay of the port memory, in ps.
    pub port_ps: f64,
    /// Delay of both, in ps.
    pub delay_ps: f64,
    /// Energy of a search, in pJ; at 1 GHz, the power in mW.
    pub search_pj: f64,
    /// Part of the TCAM cells.
    pub tcam_pj: f64,
    /// Area, from the sides of the published layouts, in um2.
    pub um2: f64,
    /// By how much a section that matches is discharged during the search, in V.
    pub droop_v: f64,
    /// Rate of a line whose packets are looked up one after the other, in Gb/s.
    pub line_gbps: f64,
    /// The same if the TCAM cells and the port memory work on different packets, in Gb/s.
    pub pipelined_gbps: f64,
}

/// Figures of ngspice, in ps.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpiceFigures {
    /// From the cell's search lines to the last section: `cell_ps` and `cascade_ps` of the model.
    pub line_ps: f64,
    /// From the selected row to the bitline.
    pub bitline_ps: f64,
}

/// Figures of table 4.1.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PublishedFigures {
    /// Delay of the TCAM cells, in ps.
    pub tcam_ps: f64,
    /// Delay of the port memory, in ps.
    pub port_ps: f64,
    /// Power at a frequency that is not given, in mW.
    pub mw: f64,
    /// Area, in um2.
    pub um2: f64,
    /// The line rates that follow from the delays, in Gb/s.
    pub line_gbps: f64,
    /// The same if pipelined.
    pub pipelined_gbps: f64,
}

/// What thresholds that are off do to the delay.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sensitivity {
    /// By how much, in V, each of the two.
    pub off_v: f64,
    /// Change to the lowest delay, as a share.
    pub least: f64,
    /// Change to the highest delay, as a share.
    pub most: f64,
}

/// The flash block with one figure changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SweepPoint {
    /// What is changed, with its unit.
    pub axis: &'static str,
    /// To what.
    pub value: f64,
    /// Delay of the TCAM cells, in ps.
    pub tcam_ps: f64,
    /// Delay of the port memory, in ps.
    pub port_ps: f64,
    /// Energy of a search, in pJ.
    pub search_pj: f64,
    /// Area, in um2.
    pub um2: f64,
    /// By how much a section that matches is discharged during the search, in V.
    pub droop_v: f64,
}

/// The model with an assumption changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariantFigures {
    /// What is changed.
    pub name: &'static str,
    /// Delay of the TCAM cells of the flash block, in ps.
    pub flash_tcam_ps: f64,
    /// Delay of its port memory, in ps.
    pub flash_port_ps: f64,
    /// Delay of the TCAM cells of the CMOS block, in ps.
    pub cmos_tcam_ps: f64,
    /// Delay of its port memory, in ps.
    pub cmos_port_ps: f64,
}

impl From<Variant> for VariantFigures {
    fn from(variant: Variant) -> Self {
        Self {
            name: variant.name,
            flash_tcam_ps: variant.flash.tcam_ps(),
            flash_port_ps: variant.flash.port_ps,
            cmos_tcam_ps: variant.cmos.tcam_ps(),
            cmos_port_ps: variant.cmos.port_ps,
        }
    }
}

/// A figure of the process.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ParameterFigures {
    /// What it is.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

impl CircuitDocument {
    /// Works out a flash block and the CMOS block beside it, with ngspice where it is installed.
    ///
    /// # Errors
    /// Returns a failure if ngspice fails.
    pub fn of(
        flash_block: &Block,
        cmos_block: &Block,
        card: Option<&model::Card>,
    ) -> terrace_base::Result<Self> {
        let technology = Technology::default();
        let flash = Flash::fitted(&technology);
        let block = |block: &Block| {
            let netlist = Netlist::of(block, &flash, &technology, card);
            let spice = Spice::run(&netlist)?;
            Ok(BlockFigures::of(block, &flash, &technology, spice))
        };
        Ok(Self {
            schema: "terrace.tcam.circuit/1",
            blocks: [block(flash_block)?, block(cmos_block)?],
            sensitivity: Sensitivity::of(flash_block, &flash, &technology),
            sweeps: sweeps(flash_block, &flash, &technology),
            variants: variants(flash_block, cmos_block, PUBLISHED_FLASH.tcam_ps)
                .map(VariantFigures::from)
                .into(),
            die: DieFigures::of_the_thesis(),
            fitted_flash_kohm_at_a_volt: flash.kohm_at_a_volt,
            technology: parameters(&technology),
        })
    }

    /// Returns the text for people.
    pub fn to_text(&self) -> Text {
        let Sensitivity { off_v, least, most } = self.sensitivity;
        let die = &self.die;
        Text::default()
            .table(self.blocks_table())
            .prose(format!(
                "model: analytical, one figure fitted, to the published delay of the flash port memory; power is at 1 GHz\n\
                 published: Fedorov 2016, table 4.1, which does not say at what frequency\n\n\
                 thresholds off by {:.0} mV change the delay of the flash block by {:.1} % to {:+.1} % \
                 (published: -2.8 % to +3.8 %)\n\
                 a die of {} flash blocks and {} shadow blocks, from the published blocks: {:.1} cm2 and {:.0} W if \
                 each block is searched in each cycle; of CMOS alone: {:.1} cm2 and {:.0} W\n\n",
                off_v * 1e3, least * 100.0, most * 100.0, die.blocks, die.shadow_blocks, die.die_cm2,
                die.power_w, die.cmos_die_cm2, die.cmos_power_w,
            ))
            .table(self.sweeps_table())
    }

    fn blocks_table(&self) -> Table {
        let heads = [
            "",
            "flash, model",
            "ngspice",
            "published",
            "CMOS, model",
            "ngspice",
            "published",
        ];
        let mut table = table(&heads);
        let mut row = |name: &str, of: &dyn Fn(&BlockFigures) -> [String; 3]| {
            let cells = self.blocks.iter().flat_map(of);
            table.add_row([name.to_owned()].into_iter().chain(cells));
        };
        let nothing = || "-".to_owned();
        let spice = |block: &BlockFigures, of: fn(&SpiceFigures) -> f64| {
            block
                .ngspice
                .as_ref()
                .map_or_else(nothing, |spice| ps(of(spice)))
        };
        row("match line", &|b| {
            [
                ps(b.model.cell_ps + b.model.cascade_ps),
                spice(b, |s| s.line_ps),
                nothing(),
            ]
        });
        row("with its search lines", &|b| {
            [ps(b.model.tcam_ps), nothing(), ps(b.published.tcam_ps)]
        });
        row("port memory", &|b| {
            [ps(b.model.port_ps), nothing(), ps(b.published.port_ps)]
        });
        row("of it the bitline", &|b| {
            [nothing(), spice(b, |s| s.bitline_ps), nothing()]
        });
        row("delay", &|b| {
            let published = b.published.tcam_ps + b.published.port_ps;
            [ps(b.model.delay_ps), nothing(), ps(published)]
        });
        row("power", &|b| {
            [
                format!("{:.1} mW", b.model.search_pj),
                nothing(),
                format!("{:.1} mW", b.published.mw),
            ]
        });
        row("area", &|b| {
            [
                format!("{:.0} um2", b.model.um2),
                nothing(),
                format!("{:.0} um2", b.published.um2),
            ]
        });
        row("with cells as dense as in memories", &|b| {
            [format!("{:.0} um2", b.dense_um2), nothing(), nothing()]
        });
        row("line rate", &|b| {
            [
                gbps(b.model.line_gbps),
                nothing(),
                gbps(b.published.line_gbps),
            ]
        });
        row("line rate, pipelined", &|b| {
            [
                gbps(b.model.pipelined_gbps),
                nothing(),
                gbps(b.published.pipelined_gbps),
            ]
        });
        table
    }

    fn sweeps_table(&self) -> Table {
        let mut table = table(&["flash, model", "", "TCAM", "ports", "energy", "droop"]);
        for point in &self.sweeps {
            table.add_row([
                point.axis.to_owned(),
                point.value.to_string(),
                ps(point.tcam_ps),
                ps(point.port_ps),
                format!("{:.1} pJ", point.search_pj),
                format!("{:.1} mV", point.droop_v * 1e3),
            ]);
        }
        table
    }
}

fn ps(value: f64) -> String {
    format!("{value:.0} ps")
}

fn gbps(value: f64) -> String {
    format!("{value:.0} Gb/s")
}

impl BlockFigures {
    fn of(block: &Block, flash: &Flash, technology: &Technology, spice: Option<Spice>) -> Self {
        let (cell, published) = match block.cell {
            Cell::Flash => ("flash", &PUBLISHED_FLASH),
            Cell::Cmos => ("cmos", &PUBLISHED_CMOS),
        };
        let (tcam_um2, port_um2) = Layout::dense_um2(block.cell, technology);
        let of_a_row = block.columns as f64 * tcam_um2 + block.port_columns as f64 * port_um2;
        Self {
            cell,
            rows: block.rows,
            sections: block.sections,
            model: ModelFigures::of(&block.figures(flash, technology), technology),
            ngspice: spice.map(|spice| SpiceFigures {
                line_ps: spice.tcam_ps,
                bitline_ps: spice.port_ps,
            }),
            published: PublishedFigures::of(published, technology),
            dense_um2: block.rows as f64 * of_a_row,
        }
    }
}

impl ModelFigures {
    fn of(figures: &Figures, technology: &Technology) -> Self {
        Self {
            search_ps: figures.parts.search_ps,
            cell_ps: figures.parts.cell_ps,
            cascade_ps: figures.parts.cascade_ps,
            tcam_ps: figures.tcam_ps(),
            port_ps: figures.port_ps,
            delay_ps: figures.delay_ps(),
            search_pj: figures.pj(),
            tcam_pj: figures.tcam_pj,
            um2: figures.um2(),
            droop_v: figures.droop_v,
            line_gbps: line_rate_gbps(figures.delay_ps(), technology),
            pipelined_gbps: line_rate_gbps(figures.pipelined_ps(), technology),
        }
    }
}

impl PublishedFigures {
    fn of(published: &Published, technology: &Technology) -> Self {
        let slower = published.tcam_ps.max(published.port_ps);
        Self {
            tcam_ps: published.tcam_ps,
            port_ps: published.port_ps,
            mw: published.mw(),
            um2: published.um2(),
            line_gbps: line_rate_gbps(published.tcam_ps + published.port_ps, technology),
            pipelined_gbps: line_rate_gbps(slower, technology),
        }
    }
}

impl Sensitivity {
    fn of(block: &Block, flash: &Flash, technology: &Technology) -> Self {
        let delay = block.figures(flash, technology).delay_ps();
        let (least, most) = block.delay_range_ps(OFF_V, flash, technology);
        Self {
            off_v: OFF_V,
            least: least / delay - 1.0,
            most: most / delay - 1.0,
        }
    }
}

fn sweeps(block: &Block, flash: &Flash, technology: &Technology) -> Vec<SweepPoint> {
    let points = Swept::ALL.into_iter().flat_map(|axis| {
        let points = sweep(block, axis, flash, technology).into_iter();
        points.map(move |point| (axis, point))
    });
    points
        .map(|(axis, point)| SweepPoint {
            axis: axis.name(),
            value: point.value,
            tcam_ps: point.figures.tcam_ps(),
            port_ps: point.figures.port_ps,
            search_pj: point.figures.pj(),
            um2: point.figures.um2(),
            droop_v: point.figures.droop_v,
        })
        .collect()
}

fn parameters(technology: &Technology) -> Vec<ParameterFigures> {
    let parameters = technology.parameters().into_iter();
    parameters
        .map(|parameter| ParameterFigures {
            name: parameter.name,
            value: parameter.value,
            unit: parameter.unit,
            source: parameter.source,
        })
        .collect()
}

impl Document for CircuitDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.sweeps)
    }

    fn page(&self) -> Page {
        let delay = || Axis::new("delay (ps)", Unit::Count);
        let mut page = Page::new("terrace tcam circuit");
        for axis in Swept::ALL.map(Swept::name) {
            let points = || self.sweeps.iter().filter(|point| point.axis == axis);
            let plot = Plot::lines(
                &format!("Delay over {axis}"),
                Axis::new(axis, Unit::Count),
                delay(),
            )
            .note("Of the flash block, by the model.")
            .series(
                "TCAM cells",
                points().map(|point| (point.value, point.tcam_ps)),
            )
            .series(
                "port memory",
                points().map(|point| (point.value, point.port_ps)),
            );
            page = page.plot(plot);
        }
        page
    }
}
