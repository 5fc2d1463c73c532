//! The allocations of a trace, in the metadata of the file: objects as lines of comma-separated
//! numbers, sites as JSON.

use std::fmt::Write;

use terrace_recorder::page::checksum;

use crate::allocation::{Allocations, Object, Site};

/// The key of the objects.
pub(super) const OBJECTS_KEY: &str = "terrace.allocations";
/// The key of the sites.
pub(super) const SITES_KEY: &str = "terrace.sites";
/// The key of the [checksum] of both, one behind the other, in hexadecimal digits.
pub(super) const CHECKSUM_KEY: &str = "terrace.allocations.xxh3";

/// The names of the numbers of a line.
const HEADER: &str = "began,ended,process,site,address,bytes\n";

/// Returns the keys and values of the metadata.
pub(super) fn metadata(allocations: &Allocations) -> [(&'static str, String); 3] {
    let mut lines = HEADER.to_owned();
    for object in &allocations.objects {
        let Object {
            began,
            process,
            site,
            address,
            bytes,
            ..
        } = object;
        let ended = object.ended.map(|row| row.to_string()).unwrap_or_default();
        // Writing to a text does not fail.
        let _ = writeln!(lines, "{began},{ended},{process},{site},{address},{bytes}");
    }
    // Texts and numbers are always JSON.
    let sites = serde_json::to_string(&allocations.sites).unwrap_or_default();
    let sum = sum(&lines, &sites);
    [
        (OBJECTS_KEY, lines),
        (SITES_KEY, sites),
        (CHECKSUM_KEY, sum),
    ]
}

fn sum(lines: &str, sites: &str) -> String {
    format!("{:016x}", checksum([lines, sites].concat().as_bytes()))
}

/// Returns what the texts say; none if they are not as they were written.
pub(super) fn parse(lines: &str, sites: &str, written: &str) -> Option<Allocations> {
    if written != sum(lines, sites) {
        return None;
    }
    let sites: Vec<Site> = serde_json::from_str(sites).ok()?;
    let objects: Option<Vec<Object>> = lines.strip_prefix(HEADER)?.lines().map(line).collect();
    let objects = objects?;
    let is_whole = objects.is_sorted_by_key(|object| object.began)
        && objects.iter().all(|object| {
            (object.site as usize) < sites.len()
                && object.ended.is_none_or(|ended| ended >= object.began)
        });
    is_whole.then_some(Allocations { sites, objects })
}

fn line(line: &str) -> Option<Object> {
    let mut numbers = line.split(',');
    let mut text = || numbers.next();
    let began = text()?.parse().ok()?;
    let ended = match text()? {
        "" => None,
        row => Some(row.parse().ok()?),
    };
    let (process, site) = (text()?.parse().ok()?, text()?.parse().ok()?);
    let (address, bytes) = (text()?.parse().ok()?, text()?.parse().ok()?);
    text().is_none().then_some(Object {
        began,
        ended,
        process,
        site,
        address,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::Call;
    use proptest::prelude::*;

    fn site(name: &str) -> Site {
        Site {
            stack: vec![Call {
                module: name.to_owned(),
                ..Call::default()
            }],
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            objects in prop::collection::vec(
                (0..9_u64, prop::option::of(0..9_u64), any::<u16>(), 0..2_u32, any::<u64>(), any::<u64>()), 0..9,
            ),
            names in prop::collection::vec(".{0,9}", 2),
        ) {
            let mut began = 0;
            let objects = objects.into_iter().map(|(step, length, process, site, address, bytes)| {
                began += step;
                let ended = length.map(|length| began + length);
                Object { began, ended, process, site, address, bytes }
            });
            let allocations = Allocations {
                objects: objects.collect(), sites: names.iter().map(|name| site(name)).collect(),
            };
            let [lines, sites, sum] = metadata(&allocations).map(|(_, value)| value);
            prop_assert_eq!(parse(&lines, &sites, &sum), Some(allocations));
            let more = format!("{lines}\n");
            prop_assert!(parse(&more, &sites, &sum).is_none());
        }

        #[test]
        fn any_text_has_an_answer(
            lines in "(began,ended,process,site,address,bytes\n)?[0-9,\n-]{0,40}", sites in "[\\[\\]{}:,\"a-z]{0,9}",
        ) {
            let written = sum(&lines, &sites);
            let _ = parse(&lines, &sites, &written);
            let _ = parse(&lines, "[]", &sum(&lines, "[]"));
        }
    }
}
