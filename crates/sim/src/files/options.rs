//! The settings of machines with a page cache, flash and a disk: options of `sim files`, and their
//! fields in results.
//!
//! To add one: a field in [`FilesMachine`], an entry here, and its use in the simulation.

use std::sync::Arc;

use terrace_base::count::whole;
use terrace_base::schema::{Field, Unit};
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::Catalogue;
use terrace_policy::admission::Chain;
use terrace_policy::replacement;

use super::settings::{FilesMachine, SlowDown, Technology};
use crate::pages::levelling;
use crate::setting::{self, Machine, Values, settings};

/// One value of a setting.
type Set = setting::Set<FilesMachine>;

/// A setting with its option and its fields in results.
type Setting = setting::Setting<FilesMachine>;

/// Heading of the options.
const HEADING: &str = "Machine (each takes a list: a,b,c)";

/// Pages of a level at most, as pages of a simulation are numbered.
const MOST_PAGES: u64 = u32::MAX as u64 - 1;

impl Machine for FilesMachine {
    type Choice = Self;
    type Known = Catalogue;
    type Record = Self;

    fn of(choice: &mut Self) -> &mut Self {
        choice
    }

    fn settings() -> Vec<(Option<&'static str>, Vec<Setting>)> {
        let levels = [caches(), devices(), driving()];
        vec![(Some(HEADING), levels.into_iter().flatten().collect())]
    }
}

/// Returns the fields of results that show the settings of a machine.
pub fn effective() -> Vec<Field<FilesMachine>> {
    let settings = setting::all::<FilesMachine>().into_iter();
    settings.flat_map(|setting| setting.fields).collect()
}

/// Settings of the levels and of their policies.
fn caches() -> Vec<Setting> {
    settings! { FilesMachine;
        /// DRAM of the page cache: 64M, 1000p (pages)
        "dram" "SIZE": read(dram, |m, pages| m.dram_pages = pages), required(), common(),
            column("DRAM", "dram_pages", Unit::Pages, |m| m.dram_pages);
        /// flash behind it; off: the disk alone
        "flash-size" "SIZE": read(pages_or_off, |m, pages| m.flash_pages = pages), default("off"), common(),
            column("flash", "flash_pages", Unit::Pages, |m| m.flash_pages);
        /// how flash stands to DRAM
        "organisation" "NAME": named(|m, organisation| m.organisation = organisation),
            column("organisation", "organisation", Unit::None, |m| m.organisation);
        /// what is written to flash
        "admission" "NAME": new(Values::List(Arc::new(chains))), default("second-read,all"),
            common(),
            details("Policies are listed by `terrace list admission`. With + between them all must \
                     agree, as in sequential+sketch:reads=3. Where none is given, second-read \
                     stands beside all, which writes each page that DRAM evicts."),
            column("admission", "admission", Unit::None, |m| m.admission.to_string());
        /// bytes to flash in a day: 20G
        "budget" "SIZE": quantity(Bytes::parse, |m, bytes| m.budget = Some(bytes)),
            otherwise("no bound"), common(),
            details("The admission policy write-budget is added to those of --admission."),
            column("budget", "budget_bytes", Unit::Bytes, |m| m.budget);
        /// the largest window of the kernel's read-ahead of files: 128K; off: pages are read one by
        /// one
        "readahead" "SIZE": read(window, |m, pages| m.readahead_pages = pages), default("off"), common(),
            details("A read at the beginning of a file, or where the one before ended, opens a window, and \
                     windows double, as those of Linux 6.18. What flash has is left there, and pages that \
                     were read ahead and never used are not offered to it."),
            column("read-ahead", "readahead_pages", Unit::Pages, |m| m.readahead_pages);
        /// what stays in DRAM
        "replacement" "NAME": new(Values::List(Arc::new(dram_policies))), default("lru"),
            details("Policies are listed by `terrace list policies`."),
            column("replacement", "replacement", Unit::None, |m| m.replacement.to_string());
        /// what stays on flash
        "flash-replacement" "NAME": new(Values::List(Arc::new(flash_policies))), default("lru"),
            column("flash replacement", "flash_replacement", Unit::None, |m| m.flash_replacement.to_string());
        /// when written pages go to the disk
        "writes" "NAME": named(|m, writes| m.writes = writes),
            column("writes", "writes", Unit::None, |m| m.writes);
    }
}

/// Settings of devices and of their times.
fn devices() -> Vec<Setting> {
    settings! { FilesMachine;
        /// what flash is made of; dram: emulated in DRAM
        "memory" "NAME": parsed(technology), default("flash"),
            details("A technology of `terrace list memories`."),
            column("memory", "memory", Unit::None, |m| m.technology.name.clone()),
            result("flash_read_ns", Unit::Nanos, |m| m.technology.read),
            result("flash_write_ns", Unit::Nanos, |m| m.technology.write);
        /// factor by which flash is slower than that: 5, or 2:10 for reads and writes
        "flash-slow-down" "FACTOR": quantity(SlowDown::parse, |m, factors| m.slow_down = factors),
            default("1"),
            column("slow-down", "flash_slow_down", Unit::None, |m| m.slow_down.to_string());
        /// wear levelling of flash
        "levelling" "NAME": new(Values::List(Arc::new(levellings))), default("none"),
            details("Levellings are listed by `terrace list wear-levellings`. Pages that are moved wear flash, and take \
                     no time."),
            column("levelling", "levelling", Unit::None, |m| m.levelling.to_string());
        /// pages that wait to be written to flash, or to the disk, before their writer waits; 0: it
        /// waits at once
        "write-buffer" "PAGES": number(0..=1 << 20, |m, pages| m.write_buffer = pages), default("64"),
            column("buffer", "write_buffer", Unit::None, |m| m.write_buffer);
        /// time of a seek, for a page that does not follow the one before
        "disk-latency" "TIME": quantity(time, |m, time| m.disk_latency = time), default("8ms"),
            column("disk latency", "disk_latency_ns", Unit::Nanos, |m| m.disk_latency);
        /// bytes a second that the disk transfers
        "disk-rate" "SIZE": quantity(Bytes::parse, |m, bytes| m.disk_rate = bytes), default("100M"),
            column("disk rate", "disk_rate", Unit::Rate, |m| m.disk_rate);
        /// time in which a page is copied from or to DRAM
        "copy" "TIME": quantity(time, |m, time| m.copy = time), default("1us"),
            column("copy", "copy_ns", Unit::Nanos, |m| m.copy);
    }
}

/// Settings of time and chance.
fn driving() -> Vec<Setting> {
    settings! { FilesMachine;
        /// least time from one request to the next
        "interval" "TIME": quantity(time, |m, time| m.interval = time), default("0ns"), common(),
            details("Without it requests follow each other at once, as from a program that waits for nothing \
                     else, and a day of flash's life is busier than a real one."),
            column("interval", "interval_ns", Unit::Nanos, |m| m.interval);
        /// requests before figures are taken
        "warmup" "N": read(whole(0..=u64::MAX), |m, requests| m.warmup = requests), default("0"),
            column("warm-up", "warmup", Unit::None, |m| m.warmup);
        /// seed of the random choices of policies
        "seed" "N": read(whole(0..=u64::MAX), |m, seed| m.seed = seed), default("1"),
            column("seed", "seed", Unit::None, |m| terrace_base::schema::Unsigned(m.seed));
    }
}

/// Reads the size of DRAM.
fn dram(text: &str) -> Result<usize> {
    in_pages(text, Bytes::parse_memory(text, false)?)
}

/// Reads the size of a level.
fn pages(text: &str) -> Result<usize> {
    in_pages(text, Bytes::parse(text)?)
}

fn in_pages(text: &str, size: Bytes) -> Result<usize> {
    let pages = size.pages();
    match (1..=MOST_PAGES).contains(&pages) {
        true => Ok(pages as usize),
        false => Err(Error::usage(format!(
            "`{text}` is {pages} pages of 4 KiB; a level has from 1 to {MOST_PAGES}"
        ))),
    }
}

/// Reads the size of a level that may be absent.
fn pages_or_off(text: &str) -> Result<usize> {
    match text {
        "off" => Ok(0),
        _ => pages(text),
    }
}

/// Reads the largest window of read-ahead.
fn window(text: &str) -> Result<u64> {
    if text == "off" {
        return Ok(0);
    }
    match Bytes::parse(text)?.pages() {
        0 => Err(Error::usage(format!(
            "`{text}` is less than a page; ‘readahead’ takes 4K and more, or off"
        ))),
        pages => Ok(pages),
    }
}

/// Reads a time of a day at most.
fn time(text: &str) -> Result<Nanos> {
    const DAY: Nanos = Nanos(86_400_000_000_000);
    let time = Nanos::parse(text)?;
    match time <= DAY {
        true => Ok(time),
        false => Err(Error::usage(format!("`{text}` is longer than a day"))),
    }
}

/// Reads a list of chains.
fn chains(text: &str) -> Result<Vec<Set>> {
    let chains = Chain::parse_list(text).map_err(Error::usage)?.into_iter();
    let set = |chain: Chain| Set::plain(move |m| m.admission = chain.clone());
    Ok(chains.map(set).collect())
}

/// Reads a list of policies of DRAM.
fn dram_policies(text: &str) -> Result<Vec<Set>> {
    policies(text, |m, spec| m.replacement = spec)
}

/// Reads a list of policies of flash.
fn flash_policies(text: &str) -> Result<Vec<Set>> {
    policies(text, |m, spec| m.flash_replacement = spec)
}

fn policies(text: &str, set: fn(&mut FilesMachine, replacement::Spec)) -> Result<Vec<Set>> {
    let specs = replacement::Spec::parse_list(text).map_err(Error::usage)?;
    let each = |spec: replacement::Spec| Set::plain(move |m| set(m, spec.clone()));
    Ok(specs.into_iter().map(each).collect())
}

/// Reads a list of wear levellings.
fn levellings(text: &str) -> Result<Vec<Set>> {
    let specs = levelling::Spec::parse_list(text).map_err(Error::usage)?;
    let each = |spec: levelling::Spec| Set::plain(move |m| m.levelling = spec.clone());
    Ok(specs.into_iter().map(each).collect())
}

/// Reads the name of a memory.
fn technology(name: &str) -> Result<Set> {
    let name = name.to_owned();
    Ok(Set::new(move |machine: &mut FilesMachine, catalogue| {
        let known = catalogue.get_for(&name, |technology| technology.timing().is_ok())?;
        let timing = known.timing()?;
        machine.technology = Technology {
            name: known.name.clone(),
            read: timing.read,
            write: timing.write,
            channels: timing.channels.max(1),
            endurance: known.endurance.as_ref().map(|figure| figure.value),
        };
        Ok(())
    }))
}
