//! Lifetime of a device at a rate of writes.

use std::time::Duration;

pub use terrace_device::lifetime::Endurance;

/// Says what a lifetime is reckoned from: the phase that its rate of writing is of, from `from` on
/// if not of the whole time, and what is not in it. `whole` names the whole time.
pub fn basis(from: Option<Duration>, whole: &str) -> String {
    let phase = match from {
        Some(from) => format!("from {} s after the start on", from.as_secs_f64().round()),
        None => whole.to_owned(),
    };
    format!(
        "Lifetime: at the mean rate of writing {phase}.\n\
         It counts all that the machine wrote to the tier, but not what the drive writes by itself\n\
         (write amplification).\n"
    )
}

/// Returns an endurance as data sheets write it: `600 TB`.
pub fn shown(endurance: Endurance) -> String {
    let bytes = endurance.bytes().0 as f64;
    match bytes {
        b if b >= 1e15 => format!("{} PB", b / 1e15),
        b if b >= 1e12 => format!("{} TB", b / 1e12),
        b => format!("{} GB", b / 1e9),
    }
}

/// Returns years in words, rounded: `7 years`, `20 months`, `9 hours`.
pub fn in_words(years: f64) -> String {
    match years {
        y if y >= 1000.0 => "over 1000 years".into(),
        y if y >= 2.0 => format!("{y:.0} years"),
        y if y >= 1.0 / 6.0 => format!("{:.0} months", y * 12.0),
        y if y * 365.25 >= 1.0 => format!("{:.0} days", y * 365.25),
        y if y * 365.25 * 24.0 >= 1.0 => format!("{:.0} hours", y * 365.25 * 24.0),
        _ => "under an hour".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endurance_is_shown_as_it_was_written() {
        for (text, shown) in [
            ("600TBW", "600 TB"),
            ("1.2PBW", "1.2 PB"),
            ("150GB", "150 GB"),
        ] {
            assert_eq!(super::shown(Endurance::parse(text).unwrap()), shown);
        }
    }

    #[test]
    fn a_lifetime_says_which_phase_it_is_of() {
        let whole = basis(None, "over the time attached");
        assert!(
            whole.contains("mean rate of writing over the time attached."),
            "{whole}"
        );
        let from = basis(Some(Duration::from_millis(30_020)), "");
        assert!(
            from.contains("mean rate of writing from 30 s after the start on."),
            "{from}"
        );
        assert!(from.contains("write amplification"), "{from}");
    }

    #[test]
    fn in_the_unit_that_fits() {
        assert_eq!(in_words(2500.0), "over 1000 years");
        assert_eq!(in_words(7.4), "7 years");
        assert_eq!(in_words(0.1), "37 days");
        assert_eq!(in_words(0.001), "9 hours");
        assert_eq!(in_words(1e-6), "under an hour");
    }
}
