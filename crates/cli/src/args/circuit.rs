//! Options of `terrace tcam circuit`.

use std::path::PathBuf;

use clap::Args;
use terrace_base::count::whole;

use super::Results;

/// Work out delay, energy and area of a block of the TCAM
///
/// An analytical model: lines are resistances and capacitances, transistors follow the alpha-power
/// law. One figure is fitted, the resistance of a flash transistor, to the published delay of the
/// flash port memory; --json names each figure with its source. The published figures (Fedorov
/// 2016, table 4.1) stand beside the model's. Where ngspice is installed, it simulates the match
/// line and a bitline as well.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace tcam circuit
  terrace tcam circuit --rows 512 --sections 16
  terrace tcam circuit --high-threshold 0.8 --low-gate 0.65
  terrace tcam circuit --card 45nm_HP.pm
  terrace tcam circuit --json=-")]
pub struct Circuit {
    /// Entries of a block
    #[arg(long, value_name = "N", default_value = "256", value_parser = whole(1..=65536_usize))]
    pub rows: usize,

    /// Sections of a match line of flash cells, each with as many cells
    #[arg(long, value_name = "N", default_value = "32", value_parser = whole(1..=256_usize))]
    pub sections: usize,

    /// Lower threshold of flash transistors (T_L), in V
    #[arg(long, value_name = "V", default_value_t = 0.21)]
    pub low_threshold: f64,

    /// Higher threshold of flash transistors (T_H), in V
    #[arg(long, value_name = "V", default_value_t = 0.76)]
    pub high_threshold: f64,

    /// Lower level of search lines (R_L), in V; the higher one is the supply, 1.1 V
    #[arg(long, value_name = "V", default_value_t = 0.6)]
    pub low_gate: f64,

    /// Simulate with the transistors of FILE, models for ngspice such as those of PTM
    #[arg(long, value_name = "FILE")]
    pub card: Option<PathBuf>,

    #[command(flatten)]
    pub results: Results,
}
