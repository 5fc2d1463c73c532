//! The JSON of `terrace tcam replay --json`: schema `terrace.tcam.replay/1`. Every field is
//! documented here.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_tcam::Settings;
use terrace_tcam::circuit::{Die, Flash, PUBLISHED_CMOS, PUBLISHED_FLASH, Technology};
use terrace_tcam::count::Counts;
use terrace_tcam::input::Origin;
use terrace_tcam::ordering::Moves;
use terrace_tcam::pool::Allocation;
use terrace_tcam::replay::{OfLength, Outcome};

use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::rows::Rows;

/// The JSON of `terrace tcam replay --json`. All results are simulated.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReplayDocument {
    /// `terrace.tcam.replay/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// The routing table.
    pub table: Input,
    /// The updates.
    pub updates: Input,
    /// Effective settings.
    pub settings: ReplaySettings,
    /// Results over all prefix lengths.
    pub totals: Totals,
    /// What the chip takes, and the CMOS chip that it replaces.
    pub chip: Chip,
    /// Results of each prefix length that had a route or an update.
    pub lengths: Vec<LengthRow>,
    /// What the same updates move in a conventional TCAM, by its ordering; empty without
    /// `--orderings`.
    pub orderings: Vec<OrderingRow>,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Input {
    /// The file, as it was named.
    pub file: String,
    /// Its format.
    pub format: String,
    /// The peer whose view was taken; null if the file names none.
    pub peer: Option<String>,
}

impl Input {
    /// Returns where a table or updates are from.
    pub fn of(origin: &Origin) -> Self {
        Self {
            file: origin.path.display().to_string(),
            format: origin.format.to_string(),
            peer: origin.peer.map(|peer| peer.to_string()),
        }
    }
}

/// Effective settings of the chip and its firmware.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReplaySettings {
    /// Update policy, several with `+` between them.
    pub policy: String,
    /// Rows of a flash block.
    pub rows: u32,
    /// Flash blocks.
    pub blocks: u32,
    /// Rows of a shadow block.
    pub shadow_rows: u32,
    /// Shadow blocks beside one for each prefix length; null: as many as were needed.
    pub buffers: Option<u32>,
    /// Writes of a flash block, erase and programming, in a second.
    pub flash_writes_per_second: f64,
    /// `shared` or `static`: who may use a free block.
    pub allocation: &'static str,
    /// Wear levelling over flash blocks.
    pub levelling: String,
    /// Seed of random levelling, made times and sampled lookups.
    pub seed: u64,
    /// `trace`, `even` or `bursty`: where the times of the updates are from.
    pub update_times: &'static str,
    /// Share of the announcements that change the port, made where the file has no next hops.
    pub port_changes: f64,
    /// Writes that a flash block endures.
    pub endurance: f64,
}

/// What the chip takes, beside a CMOS chip of as many entries, which needs no shadow blocks.
/// Erasing and programming are not counted: Fedorov 2016 has no energy of them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Chip {
    /// CMOS shadow blocks: one for each prefix length, and `buffers`, or as many as were needed.
    pub shadow_blocks: u32,
    /// Area of the flash blocks in cm2, by the blocks of Fedorov 2016, table 4.1, in proportion to
    /// rows.
    pub flash_cm2: f64,
    /// Area of the shadow blocks in cm2, by the same.
    pub shadow_cm2: f64,
    /// Area of the die in cm2: the blocks are 63 % of it (4.4.1 there).
    pub die_cm2: f64,
    /// Power in W by table 4.1, at its frequency, which it does not name, if every block is
    /// searched in every cycle.
    pub power_w: f64,
    /// Energy of a lookup in nJ, by the model of `terrace tcam circuit`.
    pub lookup_nj: f64,
    /// Area of a die of CMOS blocks alone in cm2.
    pub cmos_die_cm2: f64,
    /// Its power in W.
    pub cmos_power_w: f64,
    /// Energy of a lookup in it in nJ.
    pub cmos_lookup_nj: f64,
}

impl Chip {
    fn of(settings: &ReplaySettings, outcome: &Outcome) -> Self {
        let shadow_blocks = outcome.shadow_lengths + settings.buffers.unwrap_or(outcome.buffers);
        let die = Die {
            blocks: settings.blocks as usize,
            rows: settings.rows as usize,
            shadow_blocks: shadow_blocks as usize,
            shadow_rows: settings.shadow_rows as usize,
        };
        let area = die.area(&PUBLISHED_FLASH, &PUBLISHED_CMOS);
        let technology = Technology::default();
        let (lookup_nj, cmos_lookup_nj) = die.lookup_nj(&Flash::fitted(&technology), &technology);
        Self {
            shadow_blocks,
            flash_cm2: area.flash_cm2,
            shadow_cm2: area.shadow_cm2,
            die_cm2: area.die_cm2,
            power_w: die.power_w(&PUBLISHED_FLASH, &PUBLISHED_CMOS),
            lookup_nj,
            cmos_die_cm2: die.cmos_die_cm2(&PUBLISHED_CMOS),
            cmos_power_w: die.cmos_power_w(&PUBLISHED_CMOS),
            cmos_lookup_nj,
        }
    }
}

/// Results over all prefix lengths.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Totals {
    /// Routes of the table before the first update.
    pub routes_loaded: u64,
    /// Routes after the last update.
    pub routes_left: u64,
    /// Time of the updates in seconds.
    pub elapsed_s: f64,
    /// What happened to the updates.
    #[serde(flatten)]
    pub counts: Counts,
    /// Part of the announcements that did not reach flash, 0 to 1: 1 less `flushed` over
    /// `announcements`.
    pub filtered: f64,
    /// The fewest flash writes with which any policy could have served the updates.
    pub bound: u64,
    /// Mean time between a flush and the next of any length in seconds, or null.
    pub flush_spacing_s: Option<f64>,
    /// Median time between a flush and the next of the same length in seconds, or null.
    pub flush_spacing_same_length_s: Option<f64>,
    /// Cases of two flushes or more of one length within a second.
    pub double_flushes: u64,
    /// Cases of seven flushes or more of one length within a second.
    pub sevenfold_flushes: u64,
    /// The most flushes of one length within a second.
    pub most_flushes_a_second: u64,
    /// Shadow blocks that were needed so that no update waited, or were there: one for each prefix
    /// length that addresses of the table's families can have, and `buffers_used`.
    pub shadow_blocks_needed: u32,
    /// Shadow blocks in use at one time beside the first of each length.
    pub buffers_used: u32,
    /// The most updates that waited at one time.
    pub queue_most: u64,
    /// The longest wait of an update in seconds.
    pub wait_longest_s: f64,
    /// Writes of the most worn flash block.
    pub wear_most: f64,
    /// Writes of a flash block in the mean.
    pub wear_mean: f64,
    /// Blocks that wear levelling moved by itself.
    pub moved_blocks: u64,
    /// Lifetimes in years at this rate of updates.
    pub lifetime_years: LifetimeYears,
    /// Lookups that were compared with a longest-prefix match on the golden copy; a wrong one is an
    /// error.
    pub lookups_checked: u64,
}

/// Lifetimes in years; null where nothing was written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LifetimeYears {
    /// By the four assumptions of Fedorov 2016, 4.4.1: each flushed entry rewrites a block, over
    /// all free blocks.
    pub estimate: Option<f64>,
    /// The same with fixed shares: the length most written, over half of the free blocks.
    pub estimate_static: Option<f64>,
    /// Until the most worn block fails, by simulated writes.
    pub first_block: Option<f64>,
    /// If all blocks wore evenly, by simulated writes.
    pub even: Option<f64>,
}

/// Results of a prefix length; a row of CSV and Parquet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LengthRow {
    /// `IPv4` or `IPv6`.
    pub family: String,
    /// Bits of the prefixes.
    pub length: u8,
    /// Entries in flash before the first update.
    pub entries_loaded: u64,
    /// Blocks that they took.
    pub blocks_loaded: u64,
    /// Valid entries in flash after the last update.
    pub entries_left: u64,
    /// Blocks that they are in.
    pub blocks_left: u64,
    /// What happened to the updates.
    #[serde(flatten)]
    pub counts: Counts,
    /// The fewest flash writes with which any policy could have served the updates.
    pub bound: u64,
}

impl From<&OfLength> for LengthRow {
    fn from(of: &OfLength) -> Self {
        Self {
            family: of.length.family.to_string(),
            length: of.length.bits,
            entries_loaded: of.loaded.0,
            blocks_loaded: of.loaded.1,
            entries_left: of.left.0,
            blocks_left: of.left.1,
            counts: of.counts,
            bound: of.bound,
        }
    }
}

/// What an ordering of a conventional TCAM moves.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OrderingRow {
    /// `sorted-end`, `sorted-middle`: by length, with free rows at the end or in the middle;
    /// `partial`: only prefixes that contain one another are in order; `hermes`: sorted, behind a
    /// small table that takes updates.
    pub ordering: &'static str,
    /// Entries that were moved.
    pub moves: u64,
    /// The most that were moved for one update.
    pub moves_most: u64,
}

impl From<Moves> for OrderingRow {
    fn from(moves: Moves) -> Self {
        Self {
            ordering: moves.name,
            moves: moves.moves,
            moves_most: moves.most,
        }
    }
}

impl ReplayDocument {
    /// Returns the document of a replay, and of orderings if they were counted.
    pub fn new(
        table: Input,
        updates: Input,
        settings: ReplaySettings,
        outcome: &Outcome,
        orderings: Vec<Moves>,
    ) -> Self {
        Self {
            schema: "terrace.tcam.replay/1",
            chip: Chip::of(&settings, outcome),
            table,
            updates,
            settings,
            totals: Totals::of(outcome),
            lengths: outcome.lengths.iter().map(LengthRow::from).collect(),
            orderings: orderings.into_iter().map(OrderingRow::from).collect(),
        }
    }
}

impl ReplaySettings {
    /// Returns the effective settings.
    pub fn of(
        settings: &Settings,
        policy: String,
        update_times: &'static str,
        port_changes: f64,
        endurance: f64,
    ) -> Self {
        let names = Allocation::NAMES.into_iter();
        let name = names.filter(|(_, allocation)| *allocation == settings.allocation);
        Self {
            policy,
            rows: settings.rows,
            blocks: settings.blocks,
            shadow_rows: settings.shadow_rows,
            buffers: settings.buffers,
            flash_writes_per_second: settings.writes_per_second,
            allocation: name.map(|(name, _)| name).next().unwrap_or_default(),
            levelling: settings.levelling.to_string(),
            seed: settings.seed,
            update_times,
            port_changes,
            endurance,
        }
    }
}

impl Totals {
    fn of(outcome: &Outcome) -> Self {
        let Outcome {
            spacing, lifetime, ..
        } = outcome;
        let median = spacing.of_a_length.get(spacing.of_a_length.len() / 2);
        Self {
            routes_loaded: outcome.loaded,
            routes_left: outcome.left,
            elapsed_s: outcome.elapsed.seconds(),
            counts: outcome.counts,
            filtered: outcome.filtered(),
            bound: outcome.bound,
            flush_spacing_s: spacing.mean.map(|mean| mean.seconds()),
            flush_spacing_same_length_s: median.map(|median| median.seconds()),
            double_flushes: spacing.at_least(2),
            sevenfold_flushes: spacing.at_least(7),
            most_flushes_a_second: spacing.cases.len().saturating_sub(1) as u64,
            shadow_blocks_needed: outcome.shadow_lengths + outcome.buffers,
            buffers_used: outcome.buffers,
            queue_most: outcome.queue.most,
            wait_longest_s: outcome.queue.longest.seconds(),
            wear_most: outcome.worn.0,
            wear_mean: outcome.worn.1,
            moved_blocks: outcome.moved_blocks,
            lifetime_years: LifetimeYears {
                estimate: lifetime.estimate,
                estimate_static: lifetime.estimate_static,
                first_block: lifetime.first,
                even: lifetime.even,
            },
            lookups_checked: outcome.checked,
        }
    }
}

/// Prefix lengths with fewer entries are not in the picture, as in figure 4.9.
const SHOWN: u64 = 2000;

impl Document for ReplayDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.lengths)
    }

    fn page(&self) -> Page {
        let most = |row: &&LengthRow| row.entries_loaded.max(row.counts.announcements) >= SHOWN;
        let shown: Vec<&LengthRow> = match self.lengths.iter().any(|row| most(&row)) {
            true => self.lengths.iter().filter(most).collect(),
            false => self.lengths.iter().collect(),
        };
        let names = shown
            .iter()
            .map(|row| format!("{} /{}", row.family, row.length));
        let figure = |get: fn(&LengthRow) -> u64| shown.iter().map(move |row| get(row) as f64);
        let entries = Axis::new("entries", Unit::Count).log();
        let plot = Plot::bars("Entries by prefix length", Axis::names("", names), entries)
            .note("As figure 4.9 of Fedorov 2016 has them; lengths with few entries are left out. Simulated.")
            .values("base size", figure(|row| row.entries_loaded))
            .values("updates without shadow blocks", figure(|row| row.counts.announcements))
            .values("updates with shadow blocks", figure(|row| row.counts.flushed));
        Page::new("terrace tcam replay")
            .plot(plot)
            .settings("", &self.settings)
    }
}
