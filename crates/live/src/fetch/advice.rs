//! Makes the kernel fetch pages ahead, or let them go: `process_madvise`.
//!
//! The kernel reads the pages into the swap cache, charged to the program's cgroup; the program's
//! first touch is then a minor fault. Neighbours in the swap area become one read. A page that is
//! to go is written first, unless its copy in the tier is up to date.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use terrace_policy::{PAGE_BYTES, Page, Space};

/// Ranges that one call can have (`UIO_MAXIOV`).
const MAX_RANGES: usize = 1024;

/// Advises on the memory of other processes; keeps a pidfd of the latest.
#[derive(Default)]
pub struct Advisor {
    latest: Option<(Space, OwnedFd)>,
}

impl Advisor {
    /// Makes the kernel start to read `pages` of `space`; sorts them to merge neighbours.
    ///
    /// # Errors
    /// `ESRCH` if the process has ended, `EPERM` without CAP_SYS_NICE.
    pub fn will_need(&mut self, space: Space, pages: &mut [Page]) -> io::Result<()> {
        self.advise(space, pages, libc::MADV_WILLNEED)
    }

    /// Makes the kernel page out `pages` of `space`; sorts them to merge neighbours.
    ///
    /// # Errors
    /// The errors of [`Advisor::will_need`].
    pub fn page_out(&mut self, space: Space, pages: &mut [Page]) -> io::Result<()> {
        self.advise(space, pages, libc::MADV_PAGEOUT)
    }

    fn advise(&mut self, space: Space, pages: &mut [Page], advice: libc::c_int) -> io::Result<()> {
        pages.sort_unstable();
        let process = match self.latest.take() {
            Some((latest, process)) if latest == space => process,
            _ => open_process(space)?,
        };
        for ranges in ranges(pages).chunks(MAX_RANGES) {
            advise(&process, ranges, advice)?;
        }
        self.latest = Some((space, process));
        Ok(())
    }
}

/// Merges sorted pages into ranges of neighbours.
fn ranges(pages: &[Page]) -> Vec<libc::iovec> {
    pages
        .chunk_by(|a, b| a.0 + 1 == b.0)
        .map(|run| libc::iovec {
            iov_base: (run[0].0 * PAGE_BYTES) as *mut libc::c_void,
            iov_len: run.len() * PAGE_BYTES as usize,
        })
        .collect()
}

fn open_process(space: Space) -> io::Result<OwnedFd> {
    let pid = i32::try_from(space.0).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(Errno::SRCH)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Advises on all ranges. A range that was unmapped meanwhile ends a call early; the next call
/// continues after it.
fn advise(process: &OwnedFd, mut ranges: &[libc::iovec], advice: libc::c_int) -> io::Result<()> {
    while !ranges.is_empty() {
        // SAFETY: the iovecs are valid for the call; what they point to is memory of the other
        // process, which the kernel checks and which advice never changes.
        let advised = unsafe {
            libc::syscall(
                libc::SYS_process_madvise,
                process.as_raw_fd(),
                ranges.as_ptr(),
                ranges.len(),
                advice,
                0,
            )
        };
        let advised = match usize::try_from(advised) {
            Ok(bytes) => bytes,
            Err(_) => match io::Error::last_os_error() {
                e if matches!(e.raw_os_error(), Some(libc::ENOMEM | libc::EINVAL)) => 0,
                e => return Err(e),
            },
        };
        ranges = &ranges[whole_ranges(ranges, advised)..];
        ranges = ranges.get(1..).unwrap_or(&[]);
    }
    Ok(())
}

/// Returns how many ranges `bytes` cover completely.
fn whole_ranges(ranges: &[libc::iovec], bytes: usize) -> usize {
    let mut left = bytes;
    ranges
        .iter()
        .take_while(|range| {
            let covered = range.iov_len <= left;
            left = left.saturating_sub(range.iov_len);
            covered
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_range() {
        let pages: Vec<Page> = [3, 4, 5, 9, 11, 12].map(Page).into();
        let lengths: Vec<_> = ranges(&pages)
            .iter()
            .map(|r| {
                (
                    r.iov_base as u64 / PAGE_BYTES,
                    r.iov_len / PAGE_BYTES as usize,
                )
            })
            .collect();
        assert_eq!(lengths, [(3, 3), (9, 1), (11, 2)]);
    }

    #[test]
    fn an_interrupted_call_goes_on_behind_the_range_that_failed() {
        let pages: Vec<Page> = [1, 2, 7, 9].map(Page).into();
        let ranges = ranges(&pages);
        assert_eq!(whole_ranges(&ranges, 0), 0);
        assert_eq!(whole_ranges(&ranges, 4096), 0);
        assert_eq!(whole_ranges(&ranges, 2 * 4096), 1);
        assert_eq!(whole_ranges(&ranges, 4 * 4096), 3);
    }

    #[test]
    fn a_process_that_does_not_exist_is_an_error() {
        let error = Advisor::default().will_need(Space(u32::MAX), &mut [Page(1)]);
        assert!(error.is_err());
    }
}
