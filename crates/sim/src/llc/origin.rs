//! The origin of a trace, and whether a hierarchy can be simulated on it.

use terrace_base::{Error, Result};
use terrace_trace::objects::Objects;
use terrace_trace::{Meta, record};

use super::program::Program;
use super::requests::Rows;
use super::settings::{Inclusion, LlcMachine, Prefetching};

/// The key that marks a trace of requests; its value is the bytes of a line.
pub const MARK: &str = "terrace.llc.requests";
/// The key of the number of cores that made such a trace.
const CORES: &str = "terrace.llc.cores";

/// Key and value in a trace of `terrace record --filter l1l2`: it has passed private levels, too,
/// but does not distinguish the misses of stores from those of loads.
const FILTERED: (&str, &str) = (record::FILTER, record::PRIVATE_CACHES);
/// The keys of the level (accesses, lines or pages) in recordings and in parts of traces.
const LEVELS: [&str; 2] = [record::LEVEL, "level"];
/// Bytes of a line in a trace of lines.
const LINE: u64 = 64;

/// Returns the metadata of a trace of requests: the mark, the cores and the private levels.
pub fn about(settings: &LlcMachine, cores: usize) -> [(String, String); 3] {
    [
        (MARK, settings.line.to_string()),
        (CORES, cores.to_string()),
        ("terrace.llc.hierarchy", settings.hierarchy()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
}

/// Returns the number under a key of a trace.
fn number(meta: &Meta, key: &str) -> Option<u64> {
    let known = meta.about.iter().rev().find(|(known, _)| known == key);
    known.and_then(|(_, value)| value.parse().ok())
}

/// Whether a trace has the value under one of the keys.
fn is(meta: &Meta, keys: &[&str], value: &str) -> bool {
    let says = |(key, known): &(String, String)| keys.contains(&&**key) && known == value;
    meta.about.iter().any(says)
}

/// Returns the number of cores that made a trace of requests; none for other traces.
pub fn cores(meta: &Meta) -> Option<usize> {
    number(meta, CORES).and_then(|cores| usize::try_from(cores).ok())
}

/// Returns the kind of a trace's rows. A row of a trace of pages is a run of others: whether all of
/// them wrote lines back is not known.
pub fn rows(meta: &Meta) -> Rows {
    if is(meta, &LEVELS, "pages") {
        Rows::Accesses
    } else if meta.about.iter().any(|(key, _)| key == MARK) {
        Rows::Requests
    } else if is(meta, &[FILTERED.0], FILTERED.1) {
        Rows::Filtered
    } else {
        Rows::Accesses
    }
}

/// Returns the kind of all traces' rows.
///
/// # Errors
/// A usage error where the hierarchy cannot be simulated on them.
pub fn rows_of(programs: &[Program], settings: &LlcMachine) -> Result<Rows> {
    let first = programs
        .first()
        .map_or(Rows::Accesses, |program| rows(program.meta()));
    for program in programs {
        if rows(program.meta()) != first {
            return Err(Error::usage(
                "traces that have passed private levels cannot be mixed with others",
            ));
        }
        let cannot = cannot(program.meta(), first, settings);
        if let Some(why) = cannot {
            return Err(Error::usage(format!("{} {why}", program.name())));
        }
    }
    Ok(first)
}

/// Returns why a hierarchy cannot be simulated on a trace, as the end of a sentence.
fn cannot(meta: &Meta, rows: Rows, settings: &LlcMachine) -> Option<String> {
    if meta.objects != Objects::None || is(meta, &LEVELS, "pages") {
        return Some(
            "is a trace of pages, which does not say what lines are used; simulate it with terrace sim pages".to_owned(),
        );
    }
    if is(meta, &LEVELS, "lines") && settings.line < LINE {
        return Some(format!(
            "is a trace of lines of {LINE} bytes; give ‘line’ {LINE} or more"
        ));
    }
    let sees_hits =
        settings.prefetching != Prefetching::Off || settings.inclusion != Inclusion::NonInclusive;
    if rows != Rows::Accesses && sees_hits {
        return Some(
            "has passed private levels already; ‘prefetch’ and ‘inclusion’ concern what these levels hold, so simulate all accesses of the program".to_owned(),
        );
    }
    if rows != Rows::Accesses && settings.private.iter().any(Option::is_some) {
        return Some(
            "has passed private levels already; switch them off with ‘l1’ off ‘l2’ off".to_owned(),
        );
    }
    let line = number(meta, MARK).filter(|line| *line != settings.line);
    line.map(|line| format!("has requests for lines of {line} bytes; give ‘line’ {line}"))
}

#[cfg(test)]
mod tests {
    use terrace_base::Bytes;

    use super::*;
    use crate::llc::Size;

    fn meta(about: &[(&str, &str)]) -> Meta {
        let known = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Meta {
            about: about.iter().map(known).collect(),
            ..Meta::default()
        }
    }

    fn settings(line: u64, private: bool) -> LlcMachine {
        let (bytes, ways) = (Bytes(64 << 10), 2);
        LlcMachine {
            line,
            private: [private.then_some(Size { bytes, ways }), None],
            ..LlcMachine::table_2_1(1, Vec::new())
        }
    }

    #[test]
    fn the_mark_tells() {
        assert_eq!(rows(&meta(&[(MARK, "64")])), Rows::Requests);
        assert_eq!(rows(&meta(&[("recorded.filter", "l1l2")])), Rows::Filtered);
        assert_eq!(rows(&meta(&[("recorded.filter", "none")])), Rows::Accesses);
        let joined = [FILTERED, ("level", "pages")];
        assert_eq!(rows(&meta(&joined)), Rows::Accesses);
        assert_eq!(cores(&meta(&[(MARK, "64"), (CORES, "8")])), Some(8));
        assert_eq!(cores(&meta(&[(MARK, "64")])), None);
    }

    #[test]
    fn what_cannot_be_simulated_on_a_trace_is_said() {
        let (lines, pages) = (("recorded.level", "lines"), ("recorded.level", "pages"));
        for (about, line, private, says) in [
            (&[][..], 64, true, None),
            (&[pages], 64, true, Some("terrace sim pages")),
            (&[("level", "pages")], 64, true, Some("terrace sim pages")),
            (&[lines], 64, true, None),
            (&[lines], 32, true, Some("‘line’ 64")),
            (&[FILTERED], 64, true, Some("‘l1’ off")),
            (&[FILTERED], 64, false, None),
            (&[(MARK, "64")], 64, false, None),
            (&[(MARK, "64")], 32, false, Some("‘line’ 64")),
        ] {
            let (meta, settings) = (meta(about), settings(line, private));
            let found = cannot(&meta, rows(&meta), &settings);
            assert_eq!(found.is_some(), says.is_some(), "{about:?}: {found:?}");
            let found = found.unwrap_or_default();
            assert!(found.contains(says.unwrap_or_default()), "{found}");
        }
        let ahead = LlcMachine {
            prefetching: Prefetching::NextLine,
            ..settings(64, true)
        };
        for about in [FILTERED, (MARK, "64")] {
            let meta = meta(&[about]);
            let found = cannot(&meta, rows(&meta), &ahead).unwrap();
            assert!(found.contains("‘prefetch’"), "{found}");
        }
        assert_eq!(cannot(&meta(&[]), Rows::Accesses, &ahead), None);
        let objects = Meta {
            objects: Objects::Placed,
            ..Meta::default()
        };
        assert!(cannot(&objects, Rows::Accesses, &settings(64, true)).is_some());
    }
}
