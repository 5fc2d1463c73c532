//! The simulation once more, slow and obviously right: lists of pages, and times that are added up.

use terrace_sim::files::{Counts, FilesMachine, Organisation, Writes};

use crate::replay::Request;

/// A machine with LRU in DRAM and on flash, which admits all, or what is read a second time.
/// Writers wait.
pub struct Naive {
    machine: FilesMachine,
    second_read: bool,
    /// Pages, the one used last at the end, and whether each is newer than on the disk.
    dram: Vec<(u64, bool)>,
    flash: Vec<u64>,
    /// Pages that were read from the disk and are not on flash, and whether each was when it was
    /// known already.
    ghosts: Vec<(u64, bool)>,
    ends: [Option<u64>; 2],
    pub counts: Counts,
    pub time: u64,
}

impl Naive {
    pub fn new(machine: &FilesMachine, second_read: bool) -> Self {
        Self {
            machine: machine.clone(),
            second_read,
            dram: Vec::new(),
            flash: Vec::new(),
            ghosts: Vec::new(),
            ends: [None; 2],
            counts: Counts::default(),
            time: 0,
        }
    }

    pub fn serve(&mut self, (first, pages, write): Request) {
        self.counts.requests += 1;
        for page in first..first + pages {
            self.time += self.machine.copy.0;
            match write {
                true => self.write(page),
                false => self.read(page),
            }
        }
    }

    fn read(&mut self, page: u64) {
        self.counts.reads += 1;
        if let Some(at) = self.dram.iter().position(|(other, _)| *other == page) {
            let known = self.dram.remove(at);
            self.dram.push(known);
            self.counts.dram_hits += 1;
            return;
        }
        self.bring(page, false);
        if let Some(at) = self.flash.iter().position(|other| *other == page) {
            self.flash.remove(at);
            if self.machine.organisation != Organisation::Memory {
                self.flash.push(page);
            }
            self.counts.flash_hits += 1;
            let factor = self.machine.slow_down.read;
            self.time += (self.machine.technology.read.0 as f64 * factor).round() as u64;
            return;
        }
        self.counts.disk_reads += 1;
        self.disk(page, 0);
        if self.machine.flash_pages > 0 {
            let again = self.forget(page);
            self.ghosts.push((page, again));
            if self.ghosts.len() > self.machine.flash_pages {
                self.ghosts.remove(0);
            }
            if self.machine.organisation == Organisation::Multilevel {
                self.offer(page);
            }
        }
    }

    fn write(&mut self, page: u64) {
        self.counts.writes += 1;
        if let Some(at) = self.flash.iter().position(|other| *other == page) {
            self.flash.remove(at);
            self.counts.stale += 1;
        }
        if self.machine.writes == Writes::Around {
            self.dram.retain(|(other, _)| *other != page);
            self.counts.disk_writes += 1;
            return self.disk(page, 1);
        }
        let back = self.machine.writes == Writes::Back;
        match self.dram.iter().position(|(other, _)| *other == page) {
            Some(at) => {
                self.dram.remove(at);
                self.dram.push((page, back));
            }
            None => self.bring(page, back),
        }
        if !back {
            self.counts.disk_writes += 1;
            self.disk(page, 1);
        }
        if self.machine.organisation == Organisation::Multilevel {
            self.offer(page);
        }
    }

    fn bring(&mut self, page: u64, dirty: bool) {
        if self.dram.len() == self.machine.dram_pages {
            let (evicted, dirty) = self.dram.remove(0);
            if dirty {
                self.counts.disk_writes += 1;
                self.disk(evicted, 1);
            }
            if self.machine.organisation != Organisation::Multilevel {
                self.offer(evicted);
            }
        }
        self.dram.push((page, dirty));
    }

    fn offer(&mut self, page: u64) {
        if self.machine.flash_pages == 0 || self.flash.contains(&page) {
            return;
        }
        if self.second_read && !self.ghosts.contains(&(page, true)) {
            self.counts.refused += 1;
            return;
        }
        self.forget(page);
        if self.flash.len() == self.machine.flash_pages {
            self.flash.remove(0);
        }
        self.flash.push(page);
        self.counts.flash_writes += 1;
        let factor = self.machine.slow_down.write;
        self.time += (self.machine.technology.write.0 as f64 * factor).round() as u64;
    }

    fn forget(&mut self, page: u64) -> bool {
        let before = self.ghosts.len();
        self.ghosts.retain(|(other, _)| *other != page);
        self.ghosts.len() < before
    }

    fn disk(&mut self, page: u64, kind: usize) {
        if self.ends[kind] != Some(page) {
            self.counts.seeks += 1;
            self.time += self.machine.disk_latency.0;
        }
        self.ends[kind] = Some(page + 1);
        self.time += (4096 * 1_000_000_000_u64).div_ceil(self.machine.disk_rate.0);
    }
}
