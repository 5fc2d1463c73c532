//! Reading files into the flash level because people ask for it.

use std::io;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::bytes::PAGE_BYTES;
use terrace_policy::admission::rules::Rule;

use crate::cache::{Cache, Source};
use crate::file::Identity;
use crate::page::{PAGE_SIZE, zeroed};
use crate::store::{Reading, Refusal};

/// Pages that are read at once.
const AT_ONCE: u64 = 256;

/// How long is waited for a full segment to be written, in milliseconds: longer than any device
/// that works takes.
const BUSY_MS: u64 = 30_000;

/// What came of warming a part of a file, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warmed {
    /// Pages of the part.
    pub pages: u64,
    /// Those that were on flash already.
    pub had: u64,
    /// Those that were put there.
    pub admitted: u64,
    /// Those of an excluded file.
    pub excluded: u64,
    /// Those whose file has just changed, or is open for writing elsewhere.
    pub changed: u64,
    /// Those for which the endurance of the flash left nothing.
    pub budget: u64,
    /// Those that came while the flash was written, for too long.
    pub busy: u64,
}

impl Warmed {
    /// Adds another part.
    pub fn add(&mut self, other: Self) {
        self.pages += other.pages;
        self.had += other.had;
        self.admitted += other.admitted;
        self.excluded += other.excluded;
        self.changed += other.changed;
        self.budget += other.budget;
        self.busy += other.busy;
    }
}

impl Cache {
    /// Puts the pages of a part of a file on flash, whatever the admission says, and returns what
    /// came of it. `offset` is that of a page.
    ///
    /// # Errors
    /// Returns the error of the source.
    pub fn warm(
        &self,
        file: Identity,
        source: &dyn Source,
        offset: u64,
        bytes: u64,
    ) -> io::Result<Warmed> {
        let mut warmed = Warmed::default();
        let size = source.version()?.size;
        let pages = offset / PAGE_BYTES..size.min(offset + bytes).div_ceil(PAGE_BYTES);
        let mut first = pages.start;
        while first < pages.end {
            let next = pages.end.min(first + AT_ONCE);
            warmed.add(self.warm_pages(file, source, first, next - first)?);
            first = next;
        }
        Ok(warmed)
    }

    fn warm_pages(
        &self,
        file: Identity,
        source: &dyn Source,
        first: u64,
        pages: u64,
    ) -> io::Result<Warmed> {
        let mut warmed = Warmed {
            pages,
            ..Warmed::default()
        };
        let Some(mut reading) = self.store().reading(file, || source.version())? else {
            warmed.changed = pages;
            return Ok(warmed);
        };
        let version = reading.version();
        reading.set_rule(source.rule(version.size));
        if reading.rule() == Rule::Excluded {
            warmed.excluded = pages;
            return Ok(warmed);
        }
        let missing: Vec<_> = (first..first + pages)
            .filter(|page| !self.store().contains(&reading, *page))
            .collect();
        warmed.had = pages - missing.len() as u64;
        if !missing.is_empty() && !source.is_settled(&version) {
            warmed.changed = missing.len() as u64;
            return Ok(warmed);
        }
        for row in missing.chunk_by(|one, next| next == &(one + 1)) {
            self.warm_row(&reading, source, row, &mut warmed)?;
        }
        Ok(warmed)
    }

    /// Reads a row of pages and puts them.
    fn warm_row(
        &self,
        reading: &Reading,
        source: &dyn Source,
        row: &[u64],
        warmed: &mut Warmed,
    ) -> io::Result<()> {
        let size = reading.version().size;
        let at = row[0] * PAGE_BYTES;
        let wanted = size.saturating_sub(at).min((row.len() * PAGE_SIZE) as u64) as usize;
        let mut contents = zeroed(row.len());
        let into: &mut [u8] = bytemuck::cast_slice_mut(&mut contents);
        if self.timed_read(source, at, &mut into[..wanted])? < wanted {
            // It has been truncated meanwhile.
            warmed.changed += row.len() as u64;
            return Ok(());
        }
        for (page, contents) in row.iter().zip(&contents) {
            let request = self.request(reading, *page, size);
            let mut put = self.put(reading, &request, *page, contents);
            for _ in 0..BUSY_MS {
                if put.refused != Some(Refusal::Busy) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
                put = self.put(reading, &request, *page, contents);
            }
            match put.refused {
                Some(Refusal::Changed) => warmed.changed += 1,
                Some(Refusal::Budget) => warmed.budget += 1,
                Some(Refusal::Busy) => warmed.busy += 1,
                None if put.admitted => warmed.admitted += 1,
                // Another reader was first.
                None => warmed.had += 1,
            }
        }
        Ok(())
    }
}
