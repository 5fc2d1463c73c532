//! The kernel's reads of a file, step by step as Linux 6.18 makes them (`filemap_read`,
//! `page_cache_sync_ra`, `page_cache_async_ra`): numbers that wrap around, and batches of pages.

/// Pages that are looked up at a time (`PAGEVEC_SIZE`).
const BATCH: usize = 31;

/// An open file.
#[derive(Clone, Copy)]
pub struct File {
    most: u64,
    start: u64,
    size: u64,
    async_size: u64,
    prev_pos: u64,
}

impl File {
    pub fn new(most: u64) -> Self {
        Self {
            most,
            start: 0,
            size: 0,
            async_size: 0,
            prev_pos: u64::MAX,
        }
    }

    fn max_pages(&self, req_count: u64) -> u64 {
        if req_count > self.most {
            req_count
        } else {
            self.most
        }
    }

    fn next_size(&self, max: u64) -> u64 {
        if self.size < max / 16 {
            return 4 * self.size;
        }
        if self.size <= max / 2 {
            return 2 * self.size;
        }
        max
    }
}

fn init_size(size: u64, max: u64) -> u64 {
    let mut rounded = 1;
    while rounded < size {
        rounded *= 2;
    }
    if rounded <= max / 32 {
        rounded * 4
    } else if rounded <= max / 4 {
        rounded * 2
    } else {
        max
    }
}

/// The page cache of a file: of each page whether it is there, and whether it has the flag.
pub struct Kernel {
    pages: Vec<Option<bool>>,
    /// What was read since the last call.
    came: Vec<u64>,
}

impl Kernel {
    pub fn new(pages: u64) -> Self {
        Self {
            pages: vec![None; pages as usize],
            came: Vec::new(),
        }
    }

    pub fn evict(&mut self, page: u64) {
        if let Some(page) = self.pages.get_mut(page as usize) {
            *page = None;
        }
    }

    /// Returns the pages that a read brings, in their order.
    pub fn read(&mut self, file: &mut File, mut pos: u64, mut count: u64) -> Vec<u64> {
        self.came.clear();
        let isize = 4096 * self.pages.len() as u64;
        let mut last_pos = file.prev_pos;
        while count > 0 && pos < isize {
            let last_index = (pos + count).div_ceil(4096);
            let batch = self.batch(file, pos >> 12, last_index);
            let end = isize.min((pos + count).min((batch.last().unwrap() + 1) << 12));
            count -= end - pos;
            pos = end;
            last_pos = pos;
        }
        file.prev_pos = last_pos;
        std::mem::take(&mut self.came)
    }

    /// `filemap_get_pages`.
    fn batch(&mut self, file: &mut File, index: u64, last_index: u64) -> Vec<u64> {
        let mut batch = self.found(index, last_index);
        if batch.is_empty() {
            self.sync(file, index, last_index - index);
            batch = self.found(index, last_index);
        }
        let last = *batch.last().unwrap();
        if self.pages[last as usize] == Some(true) {
            self.pages[last as usize] = Some(false);
            self.r#async(file, last, last_index - last);
        }
        batch
    }

    /// `filemap_get_read_batch`: pages in a row, as far as one that has the flag.
    fn found(&self, index: u64, last_index: u64) -> Vec<u64> {
        let mut found = Vec::new();
        for page in index..last_index {
            let Some(&Some(flag)) = self.pages.get(page as usize) else {
                break;
            };
            found.push(page);
            if flag || found.len() == BATCH {
                break;
            }
        }
        found
    }

    fn sync(&mut self, ra: &mut File, index: u64, req_count: u64) {
        let max_pages = ra.max_pages(req_count);
        let prev_index = ra.prev_pos >> 12;
        if index == 0 || req_count > max_pages || index.wrapping_sub(prev_index) <= 1 {
            ra.start = index;
            ra.size = init_size(req_count, max_pages);
            ra.async_size = if ra.size > req_count {
                ra.size - req_count
            } else {
                ra.size >> 1
            };
            return self.order(ra);
        }
        let miss = self.prev_miss(index - 1, max_pages);
        let mut contig_count = index.wrapping_sub(miss).wrapping_sub(1);
        if contig_count <= req_count {
            return self.pages(index, req_count, 0);
        }
        if miss == u64::MAX {
            contig_count *= 2;
        }
        ra.start = index;
        ra.size = (contig_count + req_count).min(max_pages);
        ra.async_size = 1;
        self.order(ra);
    }

    fn r#async(&mut self, ra: &mut File, index: u64, req_count: u64) {
        let max_pages = ra.max_pages(req_count);
        let expected = ra.start + ra.size - ra.async_size;
        if index == expected {
            ra.start += ra.size;
            ra.size = ra.size.max(ra.next_size(max_pages));
        } else {
            let start = self.next_miss(index + 1, max_pages);
            if start == 0 || start - index > max_pages {
                return;
            }
            ra.start = start;
            ra.size = start - index;
            ra.size += req_count;
            ra.size = ra.next_size(max_pages);
        }
        // The order of single pages is 0, and the next one two above it.
        let align = 1_u64 << 2.min(ffs(max_pages) - 1);
        let end = ra.start + ra.size;
        let aligned_end = end / align * align;
        if aligned_end > ra.start {
            ra.size -= end - aligned_end;
        }
        ra.async_size = ra.size;
        self.order(ra);
    }

    /// `page_cache_ra_order` without large folios.
    fn order(&mut self, ra: &File) {
        if ra.size > 0 {
            self.pages(ra.start, ra.size, ra.async_size);
        }
    }

    /// `do_page_cache_ra`.
    fn pages(&mut self, index: u64, mut nr_to_read: u64, lookahead_size: u64) {
        let end_index = self.pages.len() as u64 - 1;
        if index > end_index {
            return;
        }
        if nr_to_read > end_index - index {
            nr_to_read = end_index - index + 1;
        }
        let mut mark = u64::MAX;
        if lookahead_size <= nr_to_read {
            mark = nr_to_read - lookahead_size;
        }
        for i in 0..nr_to_read {
            let page = &mut self.pages[(index + i) as usize];
            if page.is_none() {
                *page = Some(i == mark);
                self.came.push(index + i);
            }
        }
    }

    fn prev_miss(&self, index: u64, max_scan: u64) -> u64 {
        // The first step of `xas_prev` stays where it is; behind the last one there is no more.
        let mut at = index.wrapping_add(1);
        for _ in 0..max_scan {
            at = at.wrapping_sub(1);
            if at == u64::MAX || self.pages[at as usize].is_none() {
                break;
            }
        }
        at
    }

    fn next_miss(&self, index: u64, max_scan: u64) -> u64 {
        let mut at = index;
        for _ in 0..max_scan {
            if self.pages.get(at as usize).is_none_or(Option::is_none) {
                return at;
            }
            at += 1;
        }
        at
    }
}

/// The number of the lowest bit, from 1 on.
fn ffs(number: u64) -> u32 {
    number.trailing_zeros() + 1
}
