//! Numbers as people read them.

use std::time::Duration;

use terrace_base::Bytes;

/// Returns a ratio as `1.25x`; empty if there is none.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or(String::new(), |ratio| format!("{ratio:.2}x"))
}

/// Returns a share as `93 %`, or the count if the whole is 0.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return count(part);
    }
    format!("{:.0} %", part as f64 / whole as f64 * 100.0)
}

/// Returns a number with its thousands separated: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a rate of bytes: `85.0 MiB/s`.
pub fn rate(bytes: Bytes, time: Duration) -> String {
    let per_second = bytes.0 as f64 / time.as_secs_f64().max(1e-9);
    format!("{}/s", Bytes(per_second as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_apart() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn rates() {
        let second = Duration::from_secs(2);
        assert_eq!(rate(Bytes(4 << 20), second), "2.00 MiB/s");
    }
}
