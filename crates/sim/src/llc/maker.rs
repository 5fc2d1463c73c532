//! What a core makes of accesses: touches of its private levels, and requests to the last level.

use std::ops::Range;

use terrace_base::{Error, Result};
use terrace_policy::llc::{Kind, Request};
use terrace_trace::Block;

use super::batch::{Asked, Batch, Near};
use super::dependence::distance;
use super::flush::Flushed;
use super::frames::Frames;
use super::lines::{Lines, Space};
use super::private::Private;
use super::program::INSTRUCTIONS_AN_ACCESS;
use super::requests::Rows;

/// The state that all accesses of a run share.
pub struct Maker<'f> {
    /// Division of addresses into lines.
    pub lines: Lines,
    /// The frames of pages; `None` where addresses stay virtual.
    pub frames: &'f mut Option<Frames>,
    /// The program, by number.
    pub program: usize,
    /// The address space of the process.
    pub space: Space,
    /// What marks the frames' lines; 0 where it does not matter whose they are.
    pub mark: u64,
    /// The core.
    pub core: u8,
    /// Instructions that the core had executed before the run.
    pub begin: u64,
    /// The trace's instruction count at that time.
    pub since: u64,
    /// Instructions of the run.
    pub instructions: u64,
    /// Whether the trace counts instructions.
    pub counts_instructions: bool,
    /// Whether the write-backs of a touch precede its other requests.
    pub writes_first: bool,
}

impl Maker<'_> {
    /// Returns the line at `address >> shift`.
    #[inline]
    fn line(&mut self, shifted: u64) -> Result<u64> {
        match self.frames {
            None => Ok(self.lines.of(self.space, shifted)),
            Some(frames) => {
                let line = frames.line(self.program, self.lines, self.space, shifted)?;
                Ok(line | self.mark)
            }
        }
    }

    /// Advances by a number of accesses.
    pub fn go_on(&mut self, accesses: usize) {
        if !self.counts_instructions {
            self.begin += accesses as u64 * INSTRUCTIONS_AN_ACCESS;
        }
    }

    /// Returns the line that an access flushes.
    ///
    /// # Errors
    /// A usage error where it is no address, or no frame is free for its page.
    pub fn flush(&mut self, block: &Block, index: usize, invalidates: bool) -> Result<Flushed> {
        let address = block.address[index];
        self.check(address)?;
        Ok(Flushed {
            line: self.line(address >> self.lines.shift())?,
            core: self.core,
            instruction: self.instruction(block, index, 0),
            dirty: false,
            invalidates,
            before: 0,
        })
    }

    /// Touches the lines of accesses in the private levels.
    ///
    /// # Errors
    /// A usage error where there is no such address, or no frame is free for its page.
    pub fn touch(
        &mut self,
        block: &Block,
        range: Range<usize>,
        private: &mut Private,
        batch: &mut Batch,
    ) -> Result<()> {
        if !block.depends.is_empty() {
            return self.touch_in_order(block, range, private, batch);
        }
        let shift = self.lines.shift();
        let (mut next, mut more) = (range.start, 0);
        loop {
            next += self.touch_known(block, next..range.end, private);
            if next == range.end {
                break;
            }
            let (index, address, write) = (next, block.address[next], block.write[next]);
            self.check(address)?;
            let (first, last) = (address >> shift, end(block, index) >> shift);
            for shifted in first..=last {
                let line = self.line(shifted)?;
                let from = batch.len();
                private.touch(line, write, &mut |kind, line| {
                    let ip = || block.ip.get(index).copied().unwrap_or(0);
                    let instruction = self.instruction(block, index, index - range.start);
                    batch.push(self.asked(kind, line, ip, instruction, 0));
                });
                if let Some(ahead) = private.take_asked() {
                    let instruction = self.instruction(block, index, index - range.start);
                    let near = self.near(instruction, 0, !write);
                    if ahead {
                        let ahead = Some(line);
                        batch.push_near(Near { ahead, ..near });
                    }
                    self.read_ahead(line, block.get(index).ip, near, private, batch);
                }
                if self.writes_first {
                    batch.writes_first(from);
                }
            }
            more += last - first;
            next += 1;
        }
        private.touched(range.len() as u64 + more);
        Ok(())
    }

    /// Touches the lines of accesses in the private levels up to the first access that needs more
    /// than to be found where it was last; returns how many that are. Most are.
    fn touch_known(&mut self, block: &Block, range: Range<usize>, private: &mut Private) -> usize {
        let (lines, shift) = (self.lines, self.lines.shift());
        let accesses = range.map(|index| {
            let address = block.address[index];
            let is_plain = address >> shift == end(block, index) >> shift && lines.fits(address);
            is_plain.then_some((address >> shift, block.write[index]))
        });
        let accesses = accesses.map_while(|access| access);
        match self.frames {
            None => {
                let space = self.space;
                let of = |(shifted, write)| (lines.of(space, shifted), write);
                private.touch_known(accesses.map(of))
            }
            Some(_) => {
                let of = |(shifted, write)| Some((self.line(shifted).ok()?, write));
                private.touch_known(accesses.map_while(of))
            }
        }
    }

    /// Touches the lines of accesses that say where their addresses come from.
    fn touch_in_order(
        &mut self,
        block: &Block,
        range: Range<usize>,
        private: &mut Private,
        batch: &mut Batch,
    ) -> Result<()> {
        let shift = self.lines.shift();
        let mut lines = 0;
        for (offset, index) in range.enumerate() {
            let access = block.get(index);
            self.check(access.address)?;
            let instruction = self.instruction(block, index, offset);
            let address_from = private.dependences.root(instruction, block.depends[index]);
            let after = distance(instruction, address_from);
            let mut root = address_from;
            let last = end(block, index) >> shift;
            for shifted in access.address >> shift..=last {
                lines += 1;
                let line = self.line(shifted)?;
                let from = batch.len();
                let (misses, mut asks) = (private.first_misses(), false);
                private.touch(line, access.write, &mut |kind, line| {
                    let demand = kind.reads();
                    asks |= demand;
                    let after = if demand { after } else { 0 };
                    batch.push(self.asked(kind, line, || access.ip, instruction, after));
                });
                let is_near = !asks && private.first_misses() > misses;
                let asked = private.take_asked();
                let near = Near {
                    ahead: asked.filter(|ahead| *ahead).map(|_| line),
                    ..self.near(instruction, after, !access.write)
                };
                if is_near && (near.load || near.ahead.is_some()) {
                    batch.push_near(near);
                }
                if asked.is_some() {
                    self.read_ahead(line, access.ip, near, private, batch);
                }
                if self.writes_first {
                    batch.writes_first(from);
                }
                if asks || is_near {
                    private.dependences.request(line, instruction);
                    root = Some(instruction);
                } else {
                    root = root.max(private.dependences.requested(line, instruction));
                }
            }
            if !access.write {
                private.dependences.load(instruction, root);
            }
        }
        private.touched(lines);
        Ok(())
    }

    fn near(&self, instruction: u64, after: u8, load: bool) -> Near {
        Near {
            before: 0,
            core: self.core,
            instruction,
            after,
            load,
            ahead: None,
        }
    }

    /// Requests the lines that the second level reads ahead, after the instruction at `ip` has
    /// asked it for one at the time of `near`.
    fn read_ahead(&self, line: u64, ip: u64, near: Near, private: &mut Private, batch: &mut Batch) {
        let Near {
            instruction, after, ..
        } = near;
        private.read_ahead(line, ip, &mut |kind, line| {
            let after = if kind.reads() { after } else { 0 };
            batch.push(self.asked(kind, line, || ip, instruction, after));
        });
    }

    /// Requests the lines of accesses where there is no private level.
    ///
    /// # Errors
    /// A usage error where there is no such address, or no frame is free for its page.
    pub fn ask(
        &mut self,
        block: &Block,
        range: Range<usize>,
        rows: Rows,
        batch: &mut Batch,
    ) -> Result<()> {
        let shift = self.lines.shift();
        for (offset, index) in range.enumerate() {
            let access = block.get(index);
            self.check(access.address)?;
            let kind = rows.kind(&access);
            let instruction = self.instruction(block, index, offset);
            let after = block.depends.get(index).copied().unwrap_or(0);
            let last = end(block, index) >> shift;
            for shifted in access.address >> shift..=last {
                let line = self.line(shifted)?;
                batch.push(self.asked(kind, line, || access.ip, instruction, after));
            }
        }
        Ok(())
    }

    /// Returns a request of the core; `ip` returns the address of the instruction that asks, which
    /// is none for a write-back.
    #[inline]
    fn asked(
        &self,
        kind: Kind,
        line: u64,
        ip: impl FnOnce() -> u64,
        instruction: u64,
        after: u8,
    ) -> Asked {
        let request = Request {
            line,
            ip: if kind.reads() { ip() } else { 0 },
            core: self.core,
            kind,
        };
        Asked {
            request,
            instruction,
            after,
        }
    }

    /// Returns the instructions that the core had executed at an access, `offset` accesses after
    /// the first.
    #[inline]
    fn instruction(&self, block: &Block, index: usize, offset: usize) -> u64 {
        let executed = match self.counts_instructions {
            // A count that does not grow is wrong, but not fatal.
            true => block.instruction[index]
                .saturating_sub(self.since)
                .min(self.instructions),
            false => offset as u64 * INSTRUCTIONS_AN_ACCESS,
        };
        self.begin.saturating_add(executed)
    }

    fn check(&self, address: u64) -> Result<()> {
        if self.lines.fits(address) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "there is an access to 0x{address:x}, which is no address of a processor; caches cannot be simulated on this trace"
        )))
    }
}

/// Returns the last address of an access.
#[inline]
fn end(block: &Block, index: usize) -> u64 {
    let size = block.size.get(index).copied().unwrap_or(0);
    block.address[index].saturating_add(size.saturating_sub(1).into())
}
