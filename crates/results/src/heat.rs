//! Heat maps of traces: how often each part of memory was touched, over time.

use std::cmp::Reverse;
use std::ops::Range;

use terrace_base::Bytes;
use terrace_base::bytes::PAGE_BYTES;
use terrace_trace::heat::{Heat, Region};

use crate::html::{Axis, Band, HeatRow, Plot, Unit};
use crate::number::share;

/// Ranges of addresses that are shown at most: those with the most accesses.
const MOST_RANGES: usize = 12;
/// Pages without an access that divide two ranges: 16 MiB.
const GAP: u64 = 4096;
/// Rows of all ranges together, about.
const ROWS: f64 = 160.0;

/// Neighbouring regions of a process.
struct Stretch<'a> {
    process: u16,
    pages: Range<u64>,
    regions: &'a [Region],
    accesses: u64,
}

/// Returns the heat map of a trace.
pub fn plot(title: &str, heat: &Heat) -> Plot {
    let mut shown = stretches(heat);
    shown.sort_by_key(|it| Reverse(it.accesses));
    let left_out = shown.split_off(shown.len().min(MOST_RANGES));
    shown.sort_by_key(|it| (it.process, it.pages.start));
    let bands = Band::stack(shown.iter().map(|it| (name(it, heat), it.pages.clone())));
    let height: f64 = bands.iter().map(|band| band.to - band.from).sum();
    let rows = shown.iter().zip(&bands);
    let rows = rows.flat_map(|(it, band)| {
        let rows = ((band.to - band.from) / height * ROWS).ceil() as u64;
        cells(it, band, rows, heat)
    });
    let x = Axis::new("accesses", Unit::Count);
    let y = Axis::bands("address", bands.clone());
    Plot::heat(title, x, y, heat.per_column as f64, rows.collect()).note(&note(heat, &left_out))
}

fn note(heat: &Heat, left_out: &[Stretch]) -> String {
    let mut note = "How often each part of memory was touched, over time: the stronger a cell, the more accesses a page \
                    (logarithmic). Addresses that nothing touched are cut out."
        .to_owned();
    let accesses: u64 = left_out.iter().map(|it| it.accesses).sum();
    if accesses > 0 {
        note += &format!(
            " {} further ranges of addresses, with {} of the accesses, are not drawn.",
            left_out.len(),
            share(accesses, heat.accesses)
        );
    }
    note
}

fn name(it: &Stretch, heat: &Heat) -> String {
    let size = Bytes::of_pages(it.pages.end - it.pages.start);
    let address = it.pages.start.saturating_mul(PAGE_BYTES);
    let several = heat.regions.iter().any(|other| other.process != it.process);
    match several {
        true => format!("process {}, {address:#x}, {size}", it.process),
        false => format!("{address:#x}, {size}"),
    }
}

/// Returns the stretches that no gap divides.
fn stretches(heat: &Heat) -> Vec<Stretch<'_>> {
    let end = |region: &Region| region.first + heat.region_pages;
    let gap = GAP.max(heat.region_pages);
    let together =
        |one: &Region, next: &Region| one.process == next.process && next.first - end(one) < gap;
    let parts = heat.regions.chunk_by(together);
    let stretch = |regions: &'_ [Region]| -> (u16, Range<u64>, u64) {
        let accesses = regions.iter().flat_map(|region| &region.touches).sum();
        let pages = regions[0].first..end(&regions[regions.len() - 1]);
        (regions[0].process, pages, accesses)
    };
    let all = parts.map(|regions| {
        let (process, pages, accesses) = stretch(regions);
        Stretch {
            process,
            pages,
            regions,
            accesses,
        }
    });
    all.collect()
}

/// Returns at most so many rows of a stretch: accesses a page of each.
fn cells(it: &Stretch, band: &Band, rows: u64, heat: &Heat) -> Vec<HeatRow> {
    let regions = (it.pages.end - it.pages.start) / heat.region_pages;
    let per_row = regions.div_ceil(rows.max(1));
    let count = regions.div_ceil(per_row);
    let mut sums = vec![vec![0_u64; heat.columns()]; count as usize];
    for region in it.regions {
        let index = (region.first - it.pages.start) / heat.region_pages;
        let row = &mut sums[(index / per_row) as usize];
        row.iter_mut()
            .zip(&region.touches)
            .for_each(|(sum, touches)| *sum += touches);
    }
    let height = (band.to - band.from) / regions as f64;
    let row = |(at, sums): (usize, Vec<u64>)| {
        let first = at as u64 * per_row;
        let last = (first + per_row).min(regions);
        let pages = ((last - first) * heat.region_pages) as f64;
        HeatRow {
            from: band.from + first as f64 * height,
            to: band.from + last as f64 * height,
            values: sums.into_iter().map(|sum| sum as f64 / pages).collect(),
        }
    };
    sums.into_iter().enumerate().map(row).collect()
}
