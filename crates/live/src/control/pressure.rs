//! The kernel's pressure stall information.

use std::time::Duration;

/// Returns the total of a line, `some` or `full`: the time in which some or all threads stood still
/// (Documentation/accounting/psi.rst: microseconds).
pub(super) fn total(text: &str, line: &str) -> Option<Duration> {
    let line = text.lines().find(|it| it.split(' ').next() == Some(line))?;
    let total = line
        .split(' ')
        .find_map(|field| field.strip_prefix("total="))?;
    total.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_by_its_name() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=700\n";
        assert_eq!(total(text, "some"), Some(Duration::from_micros(1500)));
        assert_eq!(total(text, "full"), Some(Duration::from_micros(700)));
        assert_eq!(total("", "some"), None);
    }
}
