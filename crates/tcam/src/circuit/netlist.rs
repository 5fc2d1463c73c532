//! The match line of a row and a bitline of the port memory, for ngspice.
//!
//! Without a card, transistors follow the alpha-power law of [`Technology`], as sources of current,
//! and all capacitances stand by themselves. With a card they are its transistors, with its
//! capacitances; a flash transistor is then its NMOS transistor with the gate shifted to the
//! threshold, as Fedorov 2016, 4.4, emulates one.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};

use super::block::{Block, Cell};
use super::flash::Flash;
use super::match_line::MatchLine;
use super::port_line::PortLine;
use super::technology::Technology;

/// A file of transistor models for ngspice, such as those of PTM.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    path: PathBuf,
    nmos: String,
    pmos: String,
    /// The threshold of the NMOS transistor, in V.
    threshold_v: f64,
}

impl Card {
    /// Reads the names of the first NMOS and PMOS models, and the NMOS threshold.
    ///
    /// # Errors
    /// Returns a failure if the file cannot be read, and a usage error if it lacks one of these.
    pub fn open(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read the transistor card `{}`", path.display());
        let text = std::fs::read_to_string(path).or_fail(cannot)?;
        let path = std::path::absolute(path).or_fail(cannot)?;
        let lacks = |what: &str| {
            Error::usage(format!(
                "the transistor card `{}` has no {what}",
                path.display()
            ))
        };
        let text = text.to_ascii_lowercase().replace('=', " = ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let model = |kind| {
            let mut found = words
                .windows(3)
                .filter(|w| w[0] == ".model" && w[2].starts_with(kind));
            found.next().map(|w| w[1].to_owned())
        };
        let nmos = model("nmos").ok_or_else(|| lacks("model of an NMOS transistor"))?;
        let pmos = model("pmos").ok_or_else(|| lacks("model of a PMOS transistor"))?;
        let of_nmos = words.iter().skip_while(|word| **word != nmos).copied();
        let of_nmos: Vec<&str> = of_nmos.collect();
        let mut thresholds = of_nmos
            .windows(3)
            .filter(|w| matches!(w[0], "vth0" | "vto" | "vt0"));
        let threshold_v = thresholds.find_map(|w| w[2].parse().ok());
        let threshold_v =
            threshold_v.ok_or_else(|| lacks("threshold (vth0 or vto) of the NMOS model"))?;
        Ok(Self {
            path,
            nmos,
            pmos,
            threshold_v,
        })
    }
}

/// A netlist, with measurements named `tcam` and `port`, in s.
#[derive(Clone, Debug, PartialEq)]
pub struct Netlist(pub String);

impl Netlist {
    /// Writes the worst case of a block: one cell, of the first section, does not match; and one
    /// flash cell that discharges a bitline.
    pub fn of(block: &Block, flash: &Flash, technology: &Technology, card: Option<&Card>) -> Self {
        let writer = Writer {
            block,
            flash,
            technology,
            card,
            text: String::new(),
        };
        Self(writer.written())
    }
}

/// Width of a transistor and where it is connected.
struct Transistor<'a> {
    name: &'a str,
    drain: &'a str,
    gate: &'a str,
    source: &'a str,
    width_um: f64,
}

struct Writer<'a> {
    block: &'a Block,
    flash: &'a Flash,
    technology: &'a Technology,
    card: Option<&'a Card>,
    text: String,
}

impl Writer<'_> {
    fn written(mut self) -> String {
        self.line(
            "* A match line and a bitline of a TCAM block (Fedorov 2016, figures 4.3 and 4.5)",
        );
        match self.card {
            Some(card) => self.line(&format!(".include \"{}\"", card.path.display())),
            None => self.models(),
        }
        let supply_v = self.technology.supply_v;
        self.line(&format!("Vdd vdd 0 {supply_v}"));
        self.search_lines();
        self.match_line();
        self.bitline();
        // Three times as long as the model expects, but not for ever.
        let expected_ps = self.block.figures(self.flash, self.technology).delay_ps();
        let until_ps = (3.0 * expected_ps).min(50_000.0);
        self.line(&format!(".tran 1p {until_ps:.0}p uic"));
        self.measurements();
        self.line(".end");
        self.text
    }

    /// Half of the supply is where an inverter switches; a sense amplifier needs less of a fall.
    fn measurements(&mut self) {
        let half_v = self.technology.supply_v / 2.0;
        let bit_v = match self.block.cell {
            Cell::Flash => half_v,
            Cell::Cmos => half_v - self.technology.sense_v,
        };
        let last = format!("m{}", self.block.sections);
        for (name, node, volts) in [("tcam", &*last, half_v), ("port", "bit", bit_v)] {
            self.line(&format!(
                ".meas tran {name} trig v(start) val={half_v} rise=1 targ v({node}) val={volts} fall=1"
            ));
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The alpha-power law (Sakurai and Newton 1990): below its saturation voltage the current
    /// falls as a parabola.
    fn models(&mut self) {
        let t = self.technology;
        let overdrive_v = t.rated_v - t.cmos_threshold_v;
        for (name, rated_ua) in [("nch", t.nmos_current_ua_um), ("pch", t.pmos_current_ua_um)] {
            self.line(&format!(
                ".subckt {name} d g s w=1 vt={} k={:.6e}",
                t.cmos_threshold_v,
                rated_ua * 1e-6 / overdrive_v.powf(t.alpha)
            ));
            // A PMOS transistor is the same with all voltages and the current turned round.
            let (gate, drain, current) = match name {
                "nch" => ("v(g,s)", "v(d,s)", "Bd d s"),
                _ => ("v(s,g)", "v(s,d)", "Bd s d"),
            };
            let over = format!("uramp({gate}-vt)");
            let saturated = format!("({:.4}*({over}+1u)**{})", self.saturation(), t.alpha / 2.0);
            self.line(&format!(
                "{current} i={{k*w}}*{over}**{}*(2-min(uramp({drain})/{saturated},1))*min(uramp({drain})/{saturated},1)",
                t.alpha
            ));
            self.line(".ends");
        }
    }

    /// Returns the saturation voltage at an overdrive of 1 V.
    fn saturation(&self) -> f64 {
        let t = self.technology;
        t.saturation_v / (t.rated_v - t.cmos_threshold_v).powf(t.alpha / 2.0)
    }

    /// The address arrives: the search lines of the one cell, and the select line of the port.
    fn search_lines(&mut self) {
        let (low, high) = match self.block.cell {
            Cell::Flash => (self.block.levels.low_gate_v, self.technology.supply_v),
            Cell::Cmos => (self.technology.supply_v, self.technology.supply_v),
        };
        let supply_v = self.technology.supply_v;
        for (name, volts) in [
            ("start", supply_v),
            ("a", low),
            ("b", high),
            ("select", low),
        ] {
            self.line(&format!("V{name} {name} 0 pwl(0 0 20p 0 30p {volts})"));
        }
    }

    fn match_line(&mut self) {
        let line = MatchLine::of(self.block, self.technology);
        let overhead = match self.card {
            // The card's transistors have these capacitances.
            Some(_) => MatchLine::overhead_ff(self.technology),
            None => 0.0,
        };
        let supply_v = self.technology.supply_v;
        let sections = self.block.sections;
        for n in 1..=sections {
            self.capacitor(&format!("m{n}"), line.section_ff - overhead, supply_v);
            self.inverter(n);
            if n > 1 {
                let (name, node, gate) = (format!("m{n}"), format!("m{n}"), format!("n{}", n - 1));
                self.nmos(&name, &node, &gate, "0");
            }
        }
        self.cell();
    }

    /// The inverter behind section `n`, and the keeper that it turns on.
    fn inverter(&mut self, n: usize) {
        let (line, out) = (format!("m{n}"), format!("n{n}"));
        let width_um = self.technology.cmos_width_um;
        self.transistor(
            false,
            &Transistor {
                name: &format!("p{n}"),
                drain: &out,
                gate: &line,
                source: "vdd",
                width_um: 2.0 * width_um,
            },
        );
        self.nmos(&format!("i{n}"), &out, &line, "0");
        self.nmos(&format!("k{n}"), &line, &out, "0");
        if self.card.is_none() {
            self.capacitor(&out, MatchLine::driven_ff(self.technology), 0.0);
        }
    }

    /// The cell that does not match, in the first section.
    fn cell(&mut self) {
        // Between the two transistors.
        self.capacitor("x", 0.1, 0.0);
        let levels = self.block.levels;
        match self.block.cell {
            Cell::Flash => {
                self.flash("f1", ["m1", "a", "x"], levels.low_threshold_v);
                self.flash("f2", ["x", "b", "0"], levels.high_threshold_v);
            }
            Cell::Cmos => {
                self.nmos("c1", "m1", "a", "x");
                self.nmos("c2", "x", "b", "0");
            }
        }
    }

    /// A bitline that one cell discharges.
    fn bitline(&mut self) {
        let line = PortLine::of(self.block, self.technology);
        let supply_v = self.technology.supply_v;
        let begin_v = match self.block.cell {
            Cell::Flash => supply_v,
            Cell::Cmos => supply_v / 2.0,
        };
        self.capacitor("bit", line.bitline_ff, begin_v);
        match self.block.cell {
            Cell::Flash => {
                self.flash(
                    "r1",
                    ["bit", "select", "0"],
                    self.block.levels.low_threshold_v,
                );
            }
            Cell::Cmos => {
                self.capacitor("y", 0.1, 0.0);
                self.nmos("r1", "bit", "select", "y");
                self.nmos("r2", "y", "vdd", "0");
            }
        }
    }

    fn capacitor(&mut self, node: &str, ff: f64, begin_v: f64) {
        self.line(&format!("C{node} {node} 0 {ff:.4}f ic={begin_v}"));
    }

    fn nmos(&mut self, name: &str, drain: &str, gate: &str, source: &str) {
        let width_um = self.technology.cmos_width_um;
        self.transistor(
            true,
            &Transistor {
                name,
                drain,
                gate,
                source,
                width_um,
            },
        );
    }

    fn transistor(&mut self, is_nmos: bool, transistor: &Transistor) {
        let Transistor {
            name,
            drain,
            gate,
            source,
            width_um,
        } = transistor;
        let length_um = self.technology.feature_um;
        let line = match (self.card, is_nmos) {
            (None, true) => format!("X{name} {drain} {gate} {source} nch w={width_um}"),
            (None, false) => format!("X{name} {drain} {gate} {source} pch w={width_um}"),
            (Some(card), true) => {
                format!(
                    "M{name} {drain} {gate} {source} 0 {} W={width_um}u L={length_um}u",
                    card.nmos
                )
            }
            (Some(card), false) => {
                format!(
                    "M{name} {drain} {gate} {source} vdd {} W={width_um}u L={length_um}u",
                    card.pmos
                )
            }
        };
        self.line(&line);
    }

    /// A flash transistor with this threshold.
    fn flash(&mut self, name: &str, [drain, gate, source]: [&str; 3], threshold_v: f64) {
        let t = self.technology;
        let mut line = String::new();
        let _ = match self.card {
            None => {
                // The current whose resistance the model has: see `Technology::nmos_kohm`.
                let amperes = 0.75 * t.supply_v / (self.flash.kohm_at_a_volt * 1e3);
                write!(
                    line,
                    "X{name} {drain} {gate} {source} nch vt={threshold_v} k={amperes:.6e}"
                )
            }
            Some(card) => write!(
                line,
                "V{name} {name}g {gate} {}\nM{name} {drain} {name}g {source} 0 {} W={}u L={}u",
                card.threshold_v - threshold_v,
                card.nmos,
                t.flash_width_um,
                t.feature_um
            ),
        };
        self.line(&line);
    }
}
