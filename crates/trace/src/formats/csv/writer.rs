//! Writing lines.

use std::fmt::Write;
use std::path::Path;

use terrace_base::Result;

use crate::access::{Access, Block};
use crate::allocation::Allocations;
use crate::compression::Packed;
use crate::lost::{Kind, Loss, Lost};
use crate::source::Sink;

/// The header that is written.
pub(super) const HEADER: &str = "instruction,address,ip,process,thread,size,write";

/// Writes lines.
pub(super) struct Writer {
    output: Packed,
    lines: String,
    lost: Lost,
}

/// What lines do not keep.
const UNKEPT: [Kind; 5] = [
    Kind::Contents,
    Kind::Dependences,
    Kind::Zeros,
    Kind::Discards,
    Kind::Orders,
];

impl Writer {
    /// Begins a file, of a trace with so many keys of metadata.
    pub(super) fn create(path: &Path, about: usize) -> Result<Self> {
        let mut lost = Lost::default();
        lost.add(Kind::About, about as u64);
        Ok(Self {
            output: Packed::create(path)?,
            lines: format!("{HEADER}\n"),
            lost,
        })
    }

    fn line(&mut self, access: Access) {
        let (instruction, address, ip) = (access.instruction, access.address, access.ip);
        let (process, thread, size) = (access.process, access.thread, access.size);
        let write = u8::from(access.write);
        let _ = writeln!(
            self.lines,
            "{instruction},{address},{ip},{process},{thread},{size},{write}"
        );
    }

    /// Writes the collected lines: a packer is slow with small pieces.
    fn write_lines(&mut self) -> Result<()> {
        self.output.put(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        self.lost.note(block, &UNKEPT);
        block.iter().for_each(|access| self.line(access));
        self.write_lines()
    }

    fn note(&mut self, _: &str, _: &str) {
        self.lost.add(Kind::About, 1);
    }

    fn allocations(&mut self, allocations: Allocations) {
        let count = allocations.objects.len() as u64;
        self.lost.add(Kind::Allocations, count);
    }

    fn lost(&self) -> Vec<Loss> {
        self.lost.losses()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_lines()?;
        self.output.complete()
    }
}
