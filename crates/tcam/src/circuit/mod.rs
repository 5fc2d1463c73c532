//! What a block of the TCAM takes: delay, area and energy of a search (Fedorov 2016, 4.3.4 and
//! 4.4).
//!
//! The model is analytical: lines are resistances and capacitances, transistors are resistances by
//! the alpha-power law, and a line has switched when it has passed half of the supply. A row's
//! match line is a chain of sections. A cell that does not match discharges its section, and each
//! section discharges the next.
//!
//! One figure is fitted, the resistance of a flash transistor: to the delay of the flash port
//! memory in table 4.1 ([`Flash::fitted`]). All other figures of the table are predictions, and
//! those of `published` the ones to compare with. [`Netlist`] is the same row for ngspice.

mod block;
mod die;
mod energy;
mod figures;
mod fit;
mod flash;
mod layout;
mod match_line;
mod netlist;
mod port_line;
mod published;
mod spice;
mod sweep;
mod technology;
mod variants;

pub use block::{Block, Cell, Levels};
pub use die::{Area, Die};
pub use figures::{Figures, line_rate_gbps};
pub use flash::Flash;
pub use layout::Layout;
pub use match_line::Parts;
pub use netlist::{Card, Netlist};
pub use published::{PUBLISHED_CMOS, PUBLISHED_FLASH, Published};
pub use spice::Spice;
pub use sweep::{Axis, Point, sweep};
pub use technology::{Parameter, Technology};
pub use variants::{Variant, variants};

/// Returns the time (ps) in which a resistance (kohm) discharges a capacitance (fF) by half.
fn halved_ps(kohm: f64, ff: f64) -> f64 {
    std::f64::consts::LN_2 * kohm * ff
}
