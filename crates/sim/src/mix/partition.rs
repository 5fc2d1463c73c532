//! Division of the last-level cache between tasks.

use std::fmt;

use terrace_base::{Bytes, Error, Result};

use crate::llc::Size;

/// How the last-level cache is divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Partition {
    /// All tasks use all of it.
    #[default]
    Off,
    /// Each task has as many ways as the others; ways that are left over go to the first ones.
    Equal,
    /// Each task has this many ways.
    Ways(Vec<usize>),
    /// Each task has a cache of the whole size: the best case of Fedorov 2016, 3.5.2.
    Alone,
}

impl Partition {
    /// Reads `off`, `equal`, `alone`, or ways a task, as `8:4:2:2`.
    ///
    /// # Errors
    /// A usage error that names the text.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "off" => Ok(Self::Off),
            "equal" => Ok(Self::Equal),
            "alone" => Ok(Self::Alone),
            _ => {
                let ways = text.split(':').map(str::parse);
                let ways: Option<Vec<usize>> = ways.map(std::result::Result::ok).collect();
                ways.map(Self::Ways).ok_or_else(|| {
                    Error::usage(format!(
                        "`{text}` is no partition; write it as off, equal, alone, or ways a task as 8:4:2:2"
                    ))
                })
            }
        }
    }

    /// Returns the cache of each task; one for all where there is no partition.
    ///
    /// # Errors
    /// A usage error where the ways do not suffice, or are not those of all tasks.
    pub fn caches(&self, whole: Size, tasks: usize) -> Result<Vec<Size>> {
        let ways = match self {
            Self::Off => return Ok(vec![whole]),
            Self::Alone => return Ok(vec![whole; tasks]),
            Self::Equal => equal(whole.ways, tasks)?,
            Self::Ways(ways) => given(ways, whole.ways, tasks)?,
        };
        let part = |ways: usize| Size {
            bytes: Bytes(whole.bytes.0 / whole.ways as u64 * ways as u64),
            ways,
        };
        Ok(ways.into_iter().map(part).collect())
    }
}

fn equal(ways: usize, tasks: usize) -> Result<Vec<usize>> {
    if ways < tasks {
        return Err(Error::usage(format!(
            "{ways} ways are too few for {tasks} tasks; give ‘ways’ {tasks} or more, or ‘partition’ off"
        )));
    }
    let more = |task| usize::from(task < ways % tasks);
    Ok((0..tasks).map(|task| ways / tasks + more(task)).collect())
}

fn given(ways: &[usize], of: usize, tasks: usize) -> Result<Vec<usize>> {
    let sum = ways
        .iter()
        .fold(0, |sum: usize, ways| sum.saturating_add(*ways));
    if ways.len() != tasks || ways.contains(&0) || sum > of {
        return Err(Error::usage(format!(
            "a partition of {of} ways for {tasks} tasks has {tasks} numbers, none of them 0, and at most {of} in all"
        )));
    }
    Ok(ways.to_vec())
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Equal => f.write_str("equal"),
            Self::Alone => f.write_str("alone"),
            Self::Ways(ways) => {
                let ways: Vec<String> = ways.iter().map(usize::to_string).collect();
                f.write_str(&ways.join(":"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_read_as_they_are_written() {
        for text in ["off", "equal", "alone", "8:4:2:2"] {
            assert_eq!(Partition::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "8:", "-1", "all", "8,4"] {
            assert!(Partition::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_have_the_sets_of_the_whole() {
        let bytes = Bytes(16 << 20);
        let whole = Size { bytes, ways: 16 };
        let parts = |text: &str, tasks| {
            let parts = Partition::parse(text)?.caches(whole, tasks)?;
            let sets = |size: &Size| size.geometry(64).map(|geometry| geometry.sets);
            assert!(parts.iter().all(|part| sets(part) == Ok(16384)));
            Ok(parts.into_iter().map(|part| part.ways).collect::<Vec<_>>())
        };
        assert_eq!(parts("off", 3), Ok(vec![16]));
        assert_eq!(parts("equal", 3), Ok(vec![6, 5, 5]));
        assert_eq!(parts("alone", 3), Ok(vec![16, 16, 16]));
        assert_eq!(parts("8:4:1", 3), Ok(vec![8, 4, 1]));
        let wrong: [(&str, usize); 4] = [("equal", 17), ("8:8", 3), ("8:8:1", 3), ("0:1:1", 3)];
        for (text, tasks) in wrong {
            let found: Result<Vec<usize>> = parts(text, tasks);
            assert!(found.is_err(), "{text}");
        }
    }
}
