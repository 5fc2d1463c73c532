//! Patience of a program that walks over its memory: it waits for pages that are fetched ahead. So
//! what is foreseen depends on no speed, of the device or of the processors, and a test can tell a
//! walk that is steered from one that is not.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a page is waited for if the one before came, and if it did not.
const WAIT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(5));
const PAGE: usize = 4096;
/// Pause between two looks.
const PAUSE: Duration = Duration::from_micros(50);
/// Pages in a row that did not come, after which none is waited for any more: nobody fetches any.
const MOST: u32 = 4000;

/// Waits for pages.
pub struct Patience {
    /// Pages that are still to come.
    left: u32,
    /// Pages in a row that did not come.
    failed: u32,
}

impl Patience {
    /// Waits until so many pages have come.
    pub fn of(pages: u32) -> Self {
        let failed = 0;
        Self {
            left: pages,
            failed,
        }
    }

    /// Waits until the page that holds a byte is in memory, unless that takes too long.
    pub fn wait_for(&mut self, byte: &u8) {
        if self.left == 0 || self.failed >= MOST || is_in_memory(byte) {
            return;
        }
        let most = match self.failed {
            0 => WAIT.0,
            _ => WAIT.1,
        };
        let begin = Instant::now();
        while begin.elapsed() < most {
            sleep(PAUSE);
            if is_in_memory(byte) {
                self.failed = 0;
                self.left -= 1;
                return;
            }
        }
        self.failed += 1;
    }
}

/// Whether the page that holds a byte is in memory; one that was fetched ahead is, though no
/// process has touched it.
fn is_in_memory(byte: &u8) -> bool {
    let byte = std::ptr::from_ref(byte).cast_mut();
    let page = byte.map_addr(|address| address & !(PAGE - 1));
    let mut found = 0u8;
    // SAFETY: the kernel writes one byte, for the one page, to where it is told, and touches
    // nothing else.
    let told = unsafe { libc::mincore(page.cast(), 1, &raw mut found) };
    told != 0 || found & 1 != 0
}
