//! How accesses of one thread become touches of pages.

use std::ops::Range;

use terrace_base::Result;
use terrace_policy::llc::Kind;
use terrace_policy::replacement::PageId;
use terrace_policy::{PAGE_BYTES, Page, Space};
use terrace_trace::changes::Change;

use super::batch::{Batch, MAX_INSTRUCTIONS, Reference, Run};
use super::{LINE_BYTES, Workload, name, push_order};
use crate::llc::requests::Rows;

impl Workload {
    /// Appends the accesses `begin..end` of the block, all of one thread, up to the first long
    /// pause between two of them. Returns the first access that is left.
    pub(super) fn convert(
        &mut self,
        owner: usize,
        mut begin: usize,
        end: usize,
        batch: &mut Batch,
    ) -> Result<usize> {
        let name = name(&self.block, begin);
        let mut thread = self.thread(owner, name, begin);
        for event in self.programs[owner]
            .acquired
            .remove(&name)
            .unwrap_or_default()
        {
            push_order(thread, event, batch);
        }
        let first = batch.references.len();
        self.touched.clear();
        if self.is_plain(owner) {
            if !self.convert_whole(begin..end, thread.space, batch)? {
                self.convert_plain(begin..end, batch);
            }
            begin = end;
        }
        let has_changes = !self.block.changes.is_empty();
        let tells_zeros = !self.block.zeros.is_empty();
        let rows = self.programs[owner].rows;
        let objects = &mut self.programs[owner].objects;
        let (mut end, mut pause) = (end, 0);
        for index in begin..end {
            let now = self.block.instruction.get(index).copied();
            let now = now.unwrap_or(thread.instruction);
            let instructions = now.saturating_sub(thread.instruction);
            if instructions > MAX_INSTRUCTIONS {
                if index > begin {
                    end = index;
                    break;
                }
                pause = instructions - MAX_INSTRUCTIONS;
            }
            thread.instruction = now;
            let size = self.block.size.get(index).copied();
            let row = |instructions| match rows.request(self.block.write[index], size) {
                None => Reference::new(instructions, self.block.write[index]),
                Some(Kind::WriteBack) => Reference::write_back(instructions),
                Some(kind) => Reference::new(instructions, kind == Kind::Store),
            };
            let address = self.block.address[index];
            let place = (address, size.unwrap_or(0));
            let references = &mut batch.references;
            append_pages(
                place,
                (row(instructions), row(0)),
                &mut self.touched,
                references,
            );
            if self.keeps_lines {
                // The pages that an access goes on to are entered at their beginning.
                batch.lines.push((address % PAGE_BYTES / LINE_BYTES) as u8);
                batch.lines.resize(batch.references.len(), 0);
            }
            if let Some(objects) = objects {
                let site = objects.next(name.0, address);
                batch.sites.resize(batch.references.len(), site);
            }
            if tells_zeros {
                let zeros = self.block.zeros[index];
                batch.zeros.resize(batch.references.len(), zeros);
            }
            if has_changes {
                // The first touch of an access changes its page.
                batch.changes.push(self.block.changes.of(index));
                (batch.changes.len()..batch.references.len())
                    .for_each(|_| batch.changes.push(Change::default()));
            }
        }
        self.numbers.clear();
        self.pages
            .intern(thread.space, &self.touched, &mut self.numbers)?;
        for (reference, number) in batch.references[first..].iter_mut().zip(&self.numbers) {
            *reference = reference.of(*number);
            batch.write_backs += usize::from(reference.is_write_back());
        }
        let touches = batch.references[first..]
            .iter()
            .filter(|row| !row.is_write_back());
        self.pages.touch(touches.map(|touch| touch.page()));
        self.programs[owner].threads.insert(name, thread);
        self.programs[owner].last.insert(name.0, name.1);
        batch.runs.push(Run {
            thread: thread.number,
            space: thread.space,
            end: batch.references.len(),
            discards: batch.discards.len(),
            order: None,
            pause,
        });
        Ok(end)
    }

    /// Whether the accesses of the block are addresses, sizes and whether they are written, and
    /// nothing else is kept of them.
    pub(super) fn is_plain(&self, owner: usize) -> bool {
        let program = &self.programs[owner];
        let others = [
            program.source.meta().counts_instructions,
            program.rows != Rows::Accesses,
            program.objects.is_some(),
            self.keeps_lines,
            !self.block.changes.is_empty(),
            !self.block.zeros.is_empty(),
        ];
        !others.contains(&true)
    }

    /// Appends plain accesses ([`Workload::is_plain`]) to the batch, if none of them goes on to a
    /// second page; returns whether that is so.
    fn convert_whole(
        &mut self,
        accesses: Range<usize>,
        space: Space,
        batch: &mut Batch,
    ) -> Result<bool> {
        let block = &self.block;
        let sizes = block.size.get(accesses.clone()).unwrap_or_default();
        let (addresses, writes) = (&block.address[accesses.clone()], &block.write[accesses]);
        // All are looked at, which takes less time than to stop at the first.
        let goes_on = |any, (address, &size): (&u64, &u32)| {
            any | (address % PAGE_BYTES + u64::from(size) > PAGE_BYTES)
        };
        if addresses.iter().zip(sizes).fold(false, goes_on) {
            return Ok(false);
        }
        let mut writes = writes.iter();
        let append = |numbers: &[PageId]| {
            let rows = numbers.iter().zip(&mut writes);
            let rows = rows.map(|(&number, &write)| Reference::new(0, write).of(number));
            batch.references.extend(rows);
        };
        let page = |address: &u64| Page::of(*address);
        self.pages.intern_groups(space, addresses, page, append)?;
        Ok(true)
    }

    /// Appends plain accesses ([`Workload::is_plain`]) to the batch, and their pages to those of
    /// the run.
    fn convert_plain(&mut self, accesses: Range<usize>, batch: &mut Batch) {
        let block = &self.block;
        let sizes = block.size.get(accesses.clone()).unwrap_or_default();
        let (addresses, writes) = (&block.address[accesses.clone()], &block.write[accesses]);
        let mut sizes = sizes.iter().copied();
        for (&address, &write) in addresses.iter().zip(writes) {
            let (place, row) = (
                (address, sizes.next().unwrap_or(0)),
                Reference::new(0, write),
            );
            append_pages(place, (row, row), &mut self.touched, &mut batch.references);
        }
    }
}

/// Appends the pages of an access to `size` bytes at an address: a touch of the first one, and of
/// each other that it goes on to.
#[inline]
fn append_pages(
    (address, size): (u64, u32),
    (first, other): (Reference, Reference),
    pages: &mut Vec<Page>,
    references: &mut Vec<Reference>,
) {
    let page = Page::of(address);
    pages.push(page);
    references.push(first);
    if address % PAGE_BYTES + u64::from(size) > PAGE_BYTES {
        let last = Page::of(address.saturating_add(u64::from(size) - 1));
        pages.extend((page.0 + 1..=last.0).map(Page));
        let touches = references.len() + last.distance_from(page) as usize;
        references.resize(touches, other);
    }
}
