//! The plot of major faults over time and address.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use terrace_base::Bytes;
use terrace_live::run::Faults;
use terrace_live::watch::mappings::Region;

use terrace_results::html::{Axis, Band, Plot, Unit};
use terrace_results::number::{count, share};

/// Regions that are shown at most: those with the most faults.
const MOST_REGIONS: usize = 16;
/// Periods of watching that are told, those close together as one.
const MOST_PERIODS: usize = 5;
/// Processes with a colour of their own: those with the most faults.
const MOST_PROCESSES: usize = 8;
/// Pages without a fault that divide two regions of unknown bounds: 16 MiB.
const GAP: u64 = 4096;

/// A region from its first to its last fault.
struct Touched {
    pages: Range<u64>,
    name: String,
    /// Index of the mapped region, if one is known.
    region: Option<usize>,
    faults: usize,
}

/// Returns the faults as points, in a colour for each process. Of the addresses only regions with
/// faults are shown.
pub(crate) fn over_time_and_address(title: &str, faults: &Faults) -> Plot {
    let all = touched(faults);
    let bands = bands(&all);
    let mut processes: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for fault in &faults.sample {
        let page = fault.at.page.0;
        if let Some(height) = bands.iter().find_map(|band| band.height(page)) {
            let points = processes.entry(fault.at.space.0).or_default();
            points.push((fault.time.as_secs_f64(), height));
        }
    }
    let shown: usize = processes.values().map(Vec::len).sum();
    let kept = faults.sample.len();
    let mut note = format!(
        "{} of {} major faults that steering saw, evenly over them; only regions with faults are drawn, each from its \
         first to its last.",
        count(kept as u64),
        count(faults.seen)
    );
    if faults.seen < faults.of {
        note += &format!(" {}", unseen(faults));
    }
    if shown < kept {
        note += &format!(" {} of them lie in further regions.", kept - shown);
    }
    let x = Axis::new("time since the start", Unit::Seconds);
    let plot = Plot::points(title, x, Axis::bands("address", bands)).note(&note);
    let mut processes: Vec<_> = processes.into_iter().collect();
    processes.sort_by_key(|(_, points)| Reverse(points.len()));
    let others = processes.split_off(processes.len().min(MOST_PROCESSES));
    let named = processes
        .into_iter()
        .map(|(process, points)| (format!("process {process}"), points));
    let others: Vec<_> = others.into_iter().flat_map(|(_, points)| points).collect();
    let others = (!others.is_empty()).then(|| ("other processes".to_owned(), others));
    named
        .chain(others)
        .fold(plot, |plot, (name, points)| plot.series(&name, points))
}

/// Says how many faults were not seen, and when faults were watched.
fn unseen(faults: &Faults) -> String {
    let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
    let periods = faults.watched.clone().joined(MOST_PERIODS);
    let when: Vec<_> = periods
        .iter()
        .map(|(from, to)| format!("{} to {} s", seconds(*from), seconds(*to)))
        .collect();
    format!(
        "The run had {} major faults and saw {} of them: it watched for {} of {} s, {} of the time ({}), and not while \
         watching did not pay.",
        count(faults.of),
        share(faults.seen, faults.of),
        seconds(faults.watched.time),
        seconds(faults.watched.of),
        format_args!("{:.0} %", faults.watched.share() * 100.0),
        when.join(", ")
    )
}

/// Returns the regions with faults, in the order of their addresses.
fn touched(faults: &Faults) -> Vec<Touched> {
    let regions = merged(&faults.regions);
    let mut pages: Vec<u64> = faults.sample.iter().map(|fault| fault.at.page.0).collect();
    pages.sort_unstable();
    let mut touched: Vec<Touched> = Vec::new();
    for page in pages {
        let region = regions.iter().position(|it| it.pages.contains(&page));
        match touched.last_mut() {
            Some(last)
                if last.region == region && (region.is_some() || page < last.pages.end + GAP) =>
            {
                last.pages.end = last.pages.end.max(page + 1);
                last.faults += 1;
            }
            _ => touched.push(Touched {
                pages: page..page + 1,
                name: region
                    .map_or("unnamed", |index| &regions[index].name)
                    .to_owned(),
                region,
                faults: 1,
            }),
        }
    }
    touched
}

/// Returns the regions in the order of their addresses, those that overlap as one: of several
/// processes, or of one at several times.
fn merged(regions: &[Region]) -> Vec<Region> {
    let mut sorted = regions.to_vec();
    sorted.sort_by_key(|region| region.pages.start);
    let mut merged: Vec<Region> = Vec::new();
    for region in sorted {
        match merged.last_mut() {
            Some(last) if region.pages.start < last.pages.end => {
                last.pages.end = last.pages.end.max(region.pages.end);
            }
            _ => merged.push(region),
        }
    }
    merged
}

/// Returns the places on the axis of the regions with the most faults.
fn bands(touched: &[Touched]) -> Vec<Band> {
    let mut shown: Vec<&Touched> = touched.iter().collect();
    shown.sort_by_key(|it| Reverse(it.faults));
    shown.truncate(MOST_REGIONS);
    shown.sort_by_key(|it| it.pages.start);
    let range = |it: &Touched| {
        let size = Bytes::of_pages(it.pages.end - it.pages.start);
        (format!("{}, {size}", it.name), it.pages.clone())
    };
    Band::stack(shown.into_iter().map(range))
}

#[cfg(test)]
mod tests {
    use terrace_live::watch::fault_sample::SampledFault;
    use terrace_policy::{Location, Page, Space};

    use super::*;

    fn faults(pages: &[(u32, u64)], regions: &[(Range<u64>, &str)]) -> Faults {
        let fault = |&(process, page): &(u32, u64)| SampledFault {
            time: Duration::from_secs(1),
            at: Location::new(Space(process), Page(page)),
        };
        let region = |(pages, name): &(Range<u64>, &str)| Region {
            pages: pages.clone(),
            name: (*name).to_owned(),
        };
        Faults {
            sample: pages.iter().map(fault).collect(),
            seen: 1000,
            of: 1000,
            regions: regions.iter().map(region).collect(),
            ..Faults::default()
        }
    }

    #[test]
    fn gaps_between_regions_are_cut_out() {
        let pages = [(1, 100), (1, 5099), (2, 1 << 35), ((1), (1 << 35) + 999)];
        let faults = faults(&pages, &[(50..6000, "heap"), (2000..9000, "heap")]);
        let touched = touched(&faults);
        let found: Vec<_> = touched
            .iter()
            .map(|it| (it.name.as_str(), it.faults))
            .collect();
        assert_eq!(found, [("heap", 2), ("unnamed", 2)]);
        let bands = bands(&touched);
        assert_eq!(bands[0].name, "heap, 19.5 MiB");
        assert_eq!(
            (bands[0].from, bands[0].first, bands[0].pages),
            (0.0, 100, 5000)
        );
        assert!((bands[1].to - 1.01).abs() < 1e-9);
        assert!(bands[0].height(100).unwrap() < bands[0].height(5099).unwrap());
        assert_eq!(bands[0].height(6000), None);
    }

    #[test]
    fn what_steering_did_not_see_is_told() {
        let mut faults = faults(&[(1, 100)], &[]);
        let note = |faults: &Faults| over_time_and_address("title", faults).sentence().to_owned();
        assert!(!note(&faults).contains("The run had"), "it saw all");
        faults.of = 20_000;
        let second = Duration::from_secs(1);
        faults.watched.add(Duration::ZERO, second);
        faults.watched.add(second * 8, second * 10);
        let note = note(&faults);
        assert!(
            note.contains(
                "The run had 20,000 major faults and saw 5 % of them: it watched for 3.0 of 10.0 s, 30 % of the time \
                 (0.0 to 1.0 s, 8.0 to 10.0 s)"
            ),
            "{note}"
        );
    }

    #[test]
    fn only_the_regions_with_the_most_faults_are_drawn() {
        let mut pages: Vec<(u32, u64)> = (0..40).map(|index| (1, index << 20)).collect();
        pages.extend([(2, 39 << 20), (2, 38 << 20)]);
        let faults = faults(&pages, &[]);
        let bands = bands(&touched(&faults));
        assert_eq!(bands.len(), MOST_REGIONS);
        assert_eq!(bands.last().map(|band| band.first), Some(39 << 20));
        let plot = over_time_and_address("title", &faults);
        assert!(
            plot.sentence()
                .contains("24 of them lie in further regions")
        );
    }
}
