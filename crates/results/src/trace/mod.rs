//! Results of `terrace trace info`: tables, and the JSON of schema `terrace.trace/1`.

use comfy_table::Table;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::Bytes;
use terrace_base::bytes::PAGE_BYTES;
use terrace_trace::info::{self, LINE_BYTES};
use terrace_trace::objects::Objects;
use terrace_trace::reuse::Bin;
use terrace_trace::{Info, Meta};

use crate::document::Document;
use crate::html::{Axis, Page, Plot, Unit};
use crate::number::count;
use crate::rows::Rows;
use crate::table::table;
use crate::text::Text;

/// Bytes of a word of contents.
const WORD_BYTES: u64 = 8;

/// The most sizes of accesses that have a row of the table each; where there are more, as with
/// objects, the smallest and the largest are shown.
const SIZES: usize = 40;

/// Columns of the longest bar.
const BAR: u64 = 40;

/// Sizes of the LRU DRAM as shares of the footprint, in tenths of a percent.
const SHARES: [u64; 3] = [125, 250, 500];

/// The JSON of `terrace trace info --json`: schema `terrace.trace/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceDocument {
    /// `terrace.trace/1`.
    pub schema: &'static str,
    /// The file, as it was named.
    pub file: String,
    /// The format's name.
    pub format: String,
    /// Digest of the trace, 64 hexadecimal digits: two files with the same are the same trace. Not
    /// there where the file does not hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How the file was understood.
    pub read_as: ReadAs,
    /// Metadata of the file, in its order.
    pub about: Vec<About>,
    /// Loads and stores.
    pub accesses: u64,
    /// Accesses that load.
    pub reads: u64,
    /// Accesses that store.
    pub writes: u64,
    /// Instructions up to the last access of each thread, added up; null where the trace does not
    /// count them.
    pub instructions: Option<u64>,
    /// Distinct addresses of instructions; 0 if the trace has none.
    pub instruction_addresses: u64,
    /// Distinct processes.
    pub processes: u64,
    /// Distinct threads.
    pub threads: u64,
    /// Accesses of each size, the smallest first.
    pub sizes: Vec<Size>,
    /// Different lines of 64 bytes that were touched.
    pub lines: u64,
    /// Different pages of 4 KiB that were touched.
    pub pages: u64,
    /// Memory that was given back; not there where the trace says of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discarded: Option<Discarded>,
    /// What pages held; not there where the trace does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// Touches of pages: an access that crosses into another page is two.
    pub page_touches: u64,
    /// First touches of a page.
    pub cold: u64,
    /// The other touches, by the number of other pages touched since the last touch of the page:
    /// 0, 1, 2 to 3, 4 to 7 and so on.
    pub reuse: Vec<Reuse>,
    /// Misses of an LRU DRAM of 12.5, 25 and 50 % of the pages, empty at first.
    pub lru: Vec<Lru>,
}

/// How a file was understood.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadAs {
    /// Columns or fields that were read.
    pub columns: Vec<String>,
    /// Columns or fields that the file has and that were not read.
    pub ignored: Vec<String>,
    /// What is asked for: `bytes` of memory, or `objects`, which have pages of their own.
    pub unit: &'static str,
    /// Bytes that all accesses asked for together; 0 where the format does not say.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes_asked: u64,
    /// What was read otherwise than it stands in the file.
    pub counted: Vec<Counted>,
}

/// What was read otherwise than it stands in a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Counted {
    /// How often.
    pub count: u64,
    /// What, as the end of a sentence.
    pub what: &'static str,
}

impl ReadAs {
    fn of(meta: &Meta, info: &Info) -> Self {
        let sizes = info.sizes.iter();
        let bytes = sizes.map(|(size, count)| u128::from(*size) * u128::from(*count));
        let counts = meta.tally.counts().into_iter();
        Self {
            columns: meta.columns.clone(),
            ignored: meta.ignored.clone(),
            unit: match meta.objects {
                Objects::None | Objects::Disk => "bytes",
                Objects::Named | Objects::Placed => "objects",
            },
            bytes_asked: u64::try_from(bytes.sum::<u128>()).unwrap_or(u64::MAX),
            counted: counts
                .map(|(what, count)| Counted { count, what })
                .collect(),
        }
    }

    /// Returns it in one line.
    fn line(&self, pages: u64) -> String {
        let names = |columns: &[String]| match columns {
            [] => "nothing".to_owned(),
            columns => columns.join(", "),
        };
        let asked = match self.bytes_asked {
            0 => "sizes are not known".to_owned(),
            bytes => format!("{} asked for", Bytes(bytes)),
        };
        format!(
            "{} of {}; ignored: {}; {} pages; {asked}",
            self.unit,
            names(&self.columns),
            names(&self.ignored),
            count(pages)
        )
    }
}

/// An entry of the metadata.
#[derive(Debug, Serialize, JsonSchema)]
pub struct About {
    /// Key.
    pub key: String,
    /// Value.
    pub value: String,
}

/// Memory that processes gave back: unmapped, or discarded by advice, or by their end.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Discarded {
    /// How often pages were given back, touched or not.
    pub times: u64,
    /// Pages that had been touched then, each as often as that happened.
    pub pages: u64,
    /// The most pages at once that were touched and not given back.
    pub most_at_once: u64,
}

/// What pages held, in a trace recorded with contents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Contents {
    /// Pages with a report.
    pub pages: u64,
    /// Words of 8 bytes that were reported.
    pub words: u64,
    /// Samples: checksums of pages that the recorder took, and pages with missing reports.
    pub sampled: u64,
    /// Samples with which the contents agree.
    pub held: u64,
    /// Their share; null where there is no sample.
    pub held_share: Option<f64>,
    /// The first pages that deviate.
    pub deviating: Vec<Deviating>,
}

/// A page whose contents deviate from what the recorder saw.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Deviating {
    /// Its process.
    pub process: u16,
    /// The address of its first byte.
    pub address: u64,
}

impl From<&info::Contents> for Contents {
    fn from(contents: &info::Contents) -> Self {
        let verified = &contents.verified;
        let deviating = verified.deviating.iter();
        Self {
            pages: contents.pages,
            words: contents.words,
            sampled: verified.sampled,
            held: verified.held,
            held_share: (verified.sampled > 0)
                .then(|| verified.held as f64 / verified.sampled as f64),
            deviating: deviating
                .map(|&(process, page)| Deviating {
                    process,
                    address: page * PAGE_BYTES,
                })
                .collect(),
        }
    }
}

/// Accesses of one size.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Size {
    /// Bytes touched; 0 where the format does not say.
    pub bytes: u32,
    /// How many accesses.
    pub accesses: u64,
}

/// Touches of a range of reuse distances.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reuse {
    /// The smallest distance, in pages.
    pub from: u64,
    /// The largest distance, in pages.
    pub to: u64,
    /// How many touches.
    pub touches: u64,
}

/// Misses of an LRU DRAM.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Lru {
    /// Its share of the pages touched.
    pub share: f64,
    /// Its pages: the share rounded down, at least one.
    pub pages: u64,
    /// Touches that miss, first touches included.
    pub misses: u64,
    /// Misses a touch; null for an empty trace.
    pub miss_ratio: Option<f64>,
}

impl TraceDocument {
    /// Returns the document of the trace in `file`.
    pub fn of(file: &str, meta: &Meta, info: &Info) -> Self {
        let touches = info.reuse.touches();
        let lru = |share: u64| {
            let pages = (u128::from(info.pages) * u128::from(share) / 1000).max(1) as u64;
            let misses = info.reuse.misses(pages);
            Lru {
                share: share as f64 / 1000.0,
                pages,
                misses,
                miss_ratio: (touches > 0).then(|| misses as f64 / touches as f64),
            }
        };
        let about = meta.about.iter().cloned();
        let sizes = info.sizes.iter();
        let sizes = sizes.map(|(&bytes, &accesses)| Size { bytes, accesses });
        let reuse = info.reuse.by_powers_of_two().into_iter();
        let reuse = reuse.map(|Bin { from, to, touches }| Reuse { from, to, touches });
        Self {
            schema: "terrace.trace/1",
            file: file.to_owned(),
            format: meta.format.clone(),
            digest: meta.digest.map(|digest| digest.to_string()),
            read_as: ReadAs::of(meta, info),
            about: about.map(|(key, value)| About { key, value }).collect(),
            accesses: info.accesses,
            reads: info.accesses - info.writes,
            writes: info.writes,
            instructions: info.instructions,
            instruction_addresses: info.ips,
            processes: info.processes,
            threads: info.threads,
            sizes: sizes.collect(),
            lines: info.lines,
            pages: info.pages,
            discarded: info.discarded.map(|discarded| Discarded {
                times: discarded.times,
                pages: discarded.pages,
                most_at_once: discarded.most_at_once,
            }),
            contents: info.contents.as_ref().map(Contents::from),
            page_touches: touches,
            cold: info.reuse.cold,
            reuse: reuse.collect(),
            lru: SHARES.into_iter().map(lru).collect(),
        }
    }

    /// Returns a table, and one of the reuse distances with bars.
    pub fn to_text(&self) -> Text {
        let mut table = table(&[&self.file, ""]);
        let mut row = |name: &str, value: String| {
            table.add_row([name.to_owned(), value]);
        };
        row("format", self.format.clone());
        if let Some(digest) = &self.digest {
            row("digest", digest.clone());
        }
        row("read as", self.read_as.line(self.pages));
        for counted in &self.read_as.counted {
            row(
                "- not as it stands",
                format!("{} {}", counted.count, counted.what),
            );
        }
        for about in &self.about {
            row(&format!("- {}", about.key), about.value.clone());
        }
        row("accesses", count(self.accesses));
        row("- reads", part(self.reads, self.accesses));
        row("- writes", part(self.writes, self.accesses));
        let sizes: Vec<&Size> = self.sizes.iter().filter(|size| size.bytes > 0).collect();
        match &sizes[..] {
            [least, .., most] if sizes.len() > SIZES => {
                let (least, most) = (least.bytes.into(), most.bytes.into());
                let range = format!("{} to {}", Bytes(least), Bytes(most));
                row(&format!("- of {} sizes", sizes.len()), range);
            }
            sizes => sizes.iter().for_each(|size| {
                let name = format!("- of {} B", size.bytes);
                row(&name, part(size.accesses, self.accesses));
            }),
        }
        if let Some(instructions) = self.instructions {
            row("instructions", count(instructions));
        }
        if self.instruction_addresses > 0 {
            row("instruction addresses", count(self.instruction_addresses));
        }
        row("processes", count(self.processes));
        row("threads", count(self.threads));
        row("lines of 64 B", amount(self.lines, LINE_BYTES));
        row("pages of 4 KiB", amount(self.pages, PAGE_BYTES));
        if let Some(discarded) = &self.discarded {
            let most = amount(discarded.most_at_once, PAGE_BYTES);
            row("- most at once", most);
            row("pages given back", amount(discarded.pages, PAGE_BYTES));
        }
        if let Some(contents) = &self.contents {
            row("contents of pages", amount(contents.pages, PAGE_BYTES));
            row("- words that changed", amount(contents.words, WORD_BYTES));
            row("- samples that held", part(contents.held, contents.sampled));
            for page in &contents.deviating {
                let place = format!("{:#x} of process {}", page.address, page.process);
                row("- deviates: page at", place);
            }
        }
        row("page touches", count(self.page_touches));
        for lru in &self.lru {
            let name = format!("- missed by LRU, {} % in DRAM", lru.share * 100.0);
            row(&name, part(lru.misses, self.page_touches));
        }
        Text::default().table(table).prose("\n").table(self.bars())
    }

    fn bars(&self) -> Table {
        let mut head = table(&["other pages between touches", "page touches", "share", ""]);
        if let Some(bars) = head.column_mut(3) {
            bars.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
        let most = self.reuse.iter().map(|bin| bin.touches).max();
        let most = most.unwrap_or(0).max(self.cold);
        let mut row = |name: String, touches: u64| {
            head.add_row([
                name,
                count(touches),
                percent(touches, self.page_touches),
                bar(touches, most),
            ]);
        };
        for bin in &self.reuse {
            let range = match (bin.from, bin.to) {
                (from, to) if from == to => count(from),
                (from, to) => format!("{} to {}", count(from), count(to)),
            };
            row(range, bin.touches);
        }
        row("first touch".into(), self.cold);
        head
    }
}

impl Document for TraceDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.reuse)
    }

    fn page(&self) -> Page {
        let touches = self.page_touches.max(1) as f64;
        let mut missed = self.page_touches;
        // A DRAM of one page more than the largest distance holds what is touched again so soon.
        let curve = self.reuse.iter().map(|bin| {
            missed -= bin.touches;
            let bytes = (bin.to + 1).saturating_mul(PAGE_BYTES);
            (bytes as f64, missed as f64 / touches)
        });
        let dram = Axis::new("DRAM", Unit::Bytes).log();
        let lru = Plot::lines("Misses of LRU over DRAM", dram, Axis::new("missed page touches", Unit::Share))
            .note("The share of page touches that an LRU DRAM of this size misses, empty at first; first touches are misses at any size.")
            .series("LRU", curve);
        let sizes = self.sizes.iter().filter(|size| size.bytes > 0);
        let (names, sizes): (Vec<_>, Vec<_>) = sizes
            .map(|size| (format!("{} B", size.bytes), size.accesses as f64))
            .unzip();
        let (names, accesses) = (Axis::names("", names), Axis::new("accesses", Unit::Count));
        let sizes = Plot::bars("Accesses by size", names, accesses)
            .note("Bytes that one access touches.")
            .values("accesses", sizes);
        let about = self.about.iter();
        let about: IndexMap<_, _> = about.map(|about| (&about.key, &about.value)).collect();
        Page::new(format!("terrace trace info: {}", self.file))
            .plot(lru)
            .plot(sizes)
            .settings("", &about)
    }
}

/// `1,234 (5.6 %)`.
fn part(part: u64, whole: u64) -> String {
    format!("{} ({})", count(part), percent(part, whole))
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0)
}

/// `1,234 (77.1 KiB)`.
fn amount(units: u64, bytes: u64) -> String {
    format!("{} ({})", count(units), Bytes(units.saturating_mul(bytes)))
}

/// Returns a bar as long as its part of `most`, of at least one character if `part` is not 0.
fn bar(part: u64, most: u64) -> String {
    let length = u128::from(part) * u128::from(BAR);
    "#".repeat(length.div_ceil(u128::from(most.max(1))) as usize)
}

#[cfg(test)]
mod tests;
