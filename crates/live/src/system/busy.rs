//! System calls that are repeated while something is busy.

use std::io;
use std::thread;
use std::time::Duration;

/// Repeats `attempt` while it fails with `EBUSY`, up to `tries` times at intervals of `pause`;
/// returns its last result.
pub(crate) fn while_busy(
    tries: u32,
    pause: Duration,
    mut attempt: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    for _ in 1..tries {
        match attempt() {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => thread::sleep(pause),
            done => return done,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_busy_is_tried_again() {
        for (error, tries) in [(libc::EBUSY, 5), (libc::ENOENT, 1)] {
            let mut tried = 0;
            let result = while_busy(5, Duration::ZERO, || {
                tried += 1;
                Err(io::Error::from_raw_os_error(error))
            });
            assert_eq!(result.unwrap_err().raw_os_error(), Some(error));
            assert_eq!(tried, tries);
        }
        let mut busy = 2;
        let result = while_busy(5, Duration::ZERO, || {
            busy -= 1;
            match busy {
                0 => Ok(()),
                _ => Err(io::Error::from_raw_os_error(libc::EBUSY)),
            }
        });
        assert!(result.is_ok() && busy == 0);
    }
}
