//! What rows changed in their pages, in a trace recorded with contents ([`crate::contents`]).

/// An aligned word of 8 bytes of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Its place in the page, below [`WORDS`](crate::contents::WORDS).
    pub index: u16,
    /// Its bytes as a little-endian number.
    pub value: u64,
}

/// What rows changed in their pages. All is empty where the trace has no contents, or the column
/// was not asked for; otherwise there is an entry for each row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The words that were changed, of one row after the other.
    pub words: Vec<Word>,
    /// By row: the end of its words in `words`.
    pub ends: Vec<u32>,
    /// By row: the version of the page that it reports; 0 where it reports nothing.
    pub versions: Vec<u32>,
    /// By row: the [checksum](crate::contents::checksum) of the page in this version; 0 where none
    /// was taken.
    pub checksums: Vec<u64>,
}

/// What one row changed in its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change<'a> {
    /// The words that were changed, by their place.
    pub words: &'a [Word],
    /// The version of the page that they make; 0 where nothing is reported.
    pub version: u32,
    /// The [checksum](crate::contents::checksum) of the page in this version; 0 where none was
    /// taken.
    pub checksum: u64,
}

impl Changes {
    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns what a row changed: nothing where there is no such row.
    pub fn of(&self, row: usize) -> Change<'_> {
        let Some(&end) = self.ends.get(row) else {
            return Change::default();
        };
        let begin = self.begin(row);
        Change {
            words: self.words.get(begin..end as usize).unwrap_or_default(),
            version: self.versions.get(row).copied().unwrap_or_default(),
            checksum: self.checksums.get(row).copied().unwrap_or_default(),
        }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// Panics at the 2^32nd word: a block has fewer.
    pub fn push(&mut self, change: Change<'_>) {
        self.words.extend_from_slice(change.words);
        let end = u32::try_from(self.words.len()).expect("a block has fewer words");
        self.ends.push(end);
        self.versions.push(change.version);
        self.checksums.push(change.checksum);
    }

    /// Appends the rows `range` of others; those that they do not have report nothing.
    pub fn extend(&mut self, others: &Self, range: std::ops::Range<usize>) {
        for row in range {
            self.push(others.of(row));
        }
    }

    /// Removes all rows and keeps the allocations.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the first `len` rows.
    pub fn truncate(&mut self, len: usize) {
        self.words.truncate(self.begin(len));
        self.ends.truncate(len);
        self.versions.truncate(len);
        self.checksums.truncate(len);
    }

    /// Removes the first `count` rows, or all if there are fewer.
    pub fn drain_front(&mut self, count: usize) {
        let begin = self.begin(count);
        let rows = count.min(self.len());
        self.words.drain(..begin);
        self.ends.drain(..rows);
        self.ends.iter_mut().for_each(|end| *end -= begin as u32);
        self.versions.drain(..rows);
        self.checksums.drain(..rows);
    }

    /// Returns the place in `words` of the first word of a row, or of all that follow the last.
    fn begin(&self, row: usize) -> usize {
        let before = row.min(self.len()).checked_sub(1);
        before.map_or(0, |before| self.ends[before] as usize)
    }
}
