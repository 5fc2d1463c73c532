//! `terrace tcam circuit`.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::circuit::CircuitDocument;
use terrace_tcam::circuit::{Block, Card, Levels, Technology};

use crate::args::circuit::Circuit;
use crate::results::Outputs;

pub fn circuit(asked: &Circuit) -> Result<ExitCode> {
    let inputs: Vec<_> = asked.card.iter().map(|path| ("--card", &**path)).collect();
    let outputs = Outputs::open(&asked.results, &inputs, &[])?;
    let levels = Levels {
        low_threshold_v: asked.low_threshold,
        high_threshold_v: asked.high_threshold,
        low_gate_v: asked.low_gate,
    };
    let flash = Block {
        rows: asked.rows,
        sections: asked.sections,
        levels,
        ..Block::default()
    };
    flash.check(&Technology::default())?;
    let cmos = Block {
        rows: asked.rows,
        ..Block::cmos()
    };
    let card = asked.card.as_deref().map(Card::open).transpose()?;
    let document = CircuitDocument::of(&flash, &cmos, card.as_ref())?;
    outputs.show(&document, &document.to_text())
}
