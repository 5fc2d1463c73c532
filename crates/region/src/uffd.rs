//! userfaultfd: the kernel tells of faults in registered memory, and is told what to map there.
//!
//! Thin bindings to `linux/userfaultfd.h`. The `userfaultfd` crate lacks MOVE and POISON.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use terrace_base::{Error, Result};
use terrace_policy::page::PAGE_BYTES;

use crate::descriptor::Kept;
use crate::end::give_up;

/// What a kernel can do beyond faults on missing pages: bits of `UFFD_FEATURE_*`.
pub mod feature {
    /// Faults on write-protected pages.
    pub const WRITE_PROTECT: u64 = 1 << 0;
    /// Events of `mremap`.
    pub const REMAP: u64 = 1 << 2;
    /// Events of `madvise` that drops pages.
    pub const REMOVE: u64 = 1 << 3;
    /// Events of `munmap`.
    pub const UNMAP: u64 = 1 << 6;
    /// Faults say which thread waits.
    pub const THREAD: u64 = 1 << 8;
    /// Faults say which byte was touched, from Linux 5.18 on.
    pub const EXACT_ADDRESS: u64 = 1 << 11;
    /// [`super::Uffd::poison`], from Linux 6.6 on.
    pub const POISON: u64 = 1 << 14;
    /// [`super::Uffd::move_pages`], from Linux 6.8 on.
    pub const MOVE: u64 = 1 << 16;
}

/// Something that happened to registered memory. Addresses are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread waits for a page.
    Fault {
        /// The address, rounded down to its page.
        address: u64,
        /// The byte of the page, 0 if the kernel does not tell.
        offset: u16,
        /// The thread that waits, 0 if the kernel does not tell.
        thread: u32,
        /// Whether the thread writes.
        write: bool,
        /// Whether the page is there, and write-protected.
        protected: bool,
    },
    /// Memory was moved by `mremap`.
    Remap {
        /// The first address before.
        from: u64,
        /// The first address now.
        to: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// The contents of a range are about to be dropped; the range stays registered.
    Remove {
        /// The first address.
        start: u64,
        /// The first address behind the range.
        end: u64,
    },
    /// A range was unmapped.
    Unmap {
        /// The first address.
        start: u64,
        /// The first address behind the range.
        end: u64,
    },
}

/// A userfaultfd.
#[derive(Debug)]
pub struct Uffd {
    descriptor: Kept<OwnedFd>,
    features: u64,
}

/// What is mapped by [`Uffd::copy`] raises a fault when it is first written.
pub const COPY_PROTECTED: u64 = 1 << 1;

const REGISTER_MISSING: u64 = 1 << 0;
const REGISTER_PROTECTED: u64 = 1 << 1;
const PROTECT: u64 = 1 << 0;
const API_VERSION: u64 = 0xAA;
/// `USERFAULTFD_IOC_NEW` of /dev/userfaultfd.
const NEW: libc::Ioctl = 0xAA00;

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    bytes: u64,
}

#[repr(C)]
struct Register {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Protect {
    range: Range,
    mode: u64,
}

/// `uffdio_zeropage` and `uffdio_poison`, which are alike.
#[repr(C)]
struct Fill {
    range: Range,
    mode: u64,
    done: i64,
}

/// `uffdio_copy` and `uffdio_move`, which are alike.
#[repr(C)]
struct Transfer {
    to: u64,
    from: u64,
    bytes: u64,
    mode: u64,
    done: i64,
}

/// `uffd_msg`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    argument: [u64; 3],
}

/// Number of an ioctl that the kernel reads and writes the argument of.
const fn read_write<T>(number: u64) -> libc::Ioctl {
    ((3 << 30) | ((size_of::<T>() as u64) << 16) | (0xAA << 8) | number) as libc::Ioctl
}

/// Number of an ioctl whose argument is declared as read by the caller.
const fn read<T>(number: u64) -> libc::Ioctl {
    ((2 << 30) | ((size_of::<T>() as u64) << 16) | (0xAA << 8) | number) as libc::Ioctl
}

impl Uffd {
    /// Opens a userfaultfd that does not block, with `needed` features and those of `wanted` that
    /// the kernel has.
    ///
    /// # Errors
    /// Returns a failure that says what to do if the kernel lacks userfaultfd or a needed feature,
    /// or does not allow it to this user.
    pub fn open(needed: u64, wanted: u64) -> Result<Self> {
        let known = handshake(&descriptor()?, 0)?;
        if known & needed != needed {
            return Err(Error::failure(
                "this kernel's userfaultfd lacks write protection or events of changed mappings; use Linux \
                 5.7 or later",
            ));
        }
        // A descriptor takes one handshake.
        let descriptor = descriptor()?;
        let features = needed | (wanted & known);
        handshake(&descriptor, features)?;
        Ok(Self {
            descriptor: Kept::new(descriptor),
            features,
        })
    }

    /// Whether all these features are there.
    pub fn has(&self, features: u64) -> bool {
        self.features & features == features
    }

    /// Reports faults of a range of anonymous memory, on missing pages and on write-protected ones.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn register(&self, start: u64, bytes: u64) -> io::Result<()> {
        let mut argument = Register {
            range: Range { start, bytes },
            mode: REGISTER_MISSING | REGISTER_PROTECTED,
            ioctls: 0,
        };
        self.ioctl(read_write::<Register>(0x00), &mut argument)
    }

    /// Has the threads that wait for a range try again.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn wake(&self, start: u64, bytes: u64) -> io::Result<()> {
        self.ioctl(read::<Range>(0x02), &mut Range { start, bytes })
    }

    /// Maps a copy of the page at `from` to the missing page at `to`, and wakes the threads that
    /// wait for it.
    ///
    /// # Errors
    /// Returns the kernel's: EEXIST where a page is mapped, and nobody is woken then; EAGAIN while
    /// an event waits to be read; ENOENT where nothing is registered.
    pub fn copy(&self, from: *const u8, to: u64, bytes: u64, mode: u64) -> io::Result<()> {
        let mut argument = Transfer {
            to,
            from: from.addr() as u64,
            bytes,
            mode,
            done: 0,
        };
        self.ioctl(read_write::<Transfer>(0x03), &mut argument)
    }

    /// Maps zeros to missing pages, and wakes the threads that wait for them.
    ///
    /// # Errors
    /// Returns those of [`Uffd::copy`].
    pub fn zero(&self, start: u64, bytes: u64) -> io::Result<()> {
        self.fill(0x04, start, bytes)
    }

    /// Has every touch of missing pages end with SIGBUS.
    ///
    /// # Errors
    /// Returns those of [`Uffd::copy`].
    pub fn poison(&self, start: u64, bytes: u64) -> io::Result<()> {
        self.fill(0x08, start, bytes)
    }

    fn fill(&self, number: u64, start: u64, bytes: u64) -> io::Result<()> {
        let mut argument = Fill {
            range: Range { start, bytes },
            mode: 0,
            done: 0,
        };
        self.ioctl(read_write::<Fill>(number), &mut argument)
    }

    /// Moves pages of this process from `from` to the missing pages at `to`, wakes the threads that
    /// wait there, and returns how many bytes were moved. Only `to` has to be registered.
    ///
    /// Linux 6.18 does not count a page that it moves while the page is in a swap area: it goes on
    /// with the same page, finds the destination taken, and reports EEXIST. Such a page is counted
    /// here.
    ///
    /// # Errors
    /// Returns the kernel's if not one page was moved: EBUSY for a page that is shared since a fork
    /// or pinned by a device, EINVAL for memory of another kind or protection.
    pub fn move_pages(&self, from: u64, to: u64, bytes: u64) -> io::Result<u64> {
        let mut argument = Transfer {
            to,
            from,
            bytes,
            mode: 0,
            done: 0,
        };
        let result = self.ioctl(read_write::<Transfer>(0x05), &mut argument);
        let counted = u64::try_from(argument.done).unwrap_or(0);
        let stopped = match &result {
            Ok(()) => false,
            Err(error) => counted > 0 || error.raw_os_error() == Some(libc::EEXIST),
        };
        if stopped && has_moved(from + counted, to + counted) {
            // The kernel has not woken the threads that wait for this page.
            self.wake(to + counted, PAGE_BYTES)?;
            return Ok(counted + PAGE_BYTES);
        }
        match counted {
            0 => result.map(|()| 0),
            _ => Ok(counted),
        }
    }

    /// Moves a page from `from` to the missing page at `to`, or copies it where the kernel does not
    /// move it: it is shared since a fork, or the mapping at `to` is locked or read-only by now.
    /// Returns whether it was moved.
    ///
    /// # Errors
    /// Returns those of [`Uffd::move_pages`] and [`Uffd::copy`].
    pub fn move_or_copy(&self, from: u64, to: u64) -> io::Result<bool> {
        match self.move_pages(from, to, PAGE_BYTES) {
            Ok(_) => Ok(true),
            Err(error) => match error.raw_os_error() {
                Some(libc::EBUSY | libc::EINVAL) => {
                    let copied = self.copy(from as *const u8, to, PAGE_BYTES, 0);
                    copied.map(|()| false)
                }
                _ => Err(error),
            },
        }
    }

    /// Takes write protection from pages, and wakes the threads that wait for it.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn unprotect(&self, start: u64, bytes: u64) -> io::Result<()> {
        self.set_protection(start, bytes, 0)
    }

    /// Protects pages from being written: a thread that does waits.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn protect(&self, start: u64, bytes: u64) -> io::Result<()> {
        self.set_protection(start, bytes, PROTECT)
    }

    fn set_protection(&self, start: u64, bytes: u64, mode: u64) -> io::Result<()> {
        let mut argument = Protect {
            range: Range { start, bytes },
            mode,
        };
        self.ioctl(read_write::<Protect>(0x06), &mut argument)
    }

    /// Appends the events that wait, oldest first, up to some dozens; none if none waits.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn events(&self, events: &mut Vec<Event>) -> io::Result<()> {
        let mut messages = [Message::default(); 64];
        // SAFETY: the kernel writes at most the size of the array, which any bytes are valid for.
        let read = unsafe {
            libc::read(
                self.descriptor.as_raw_fd(),
                messages.as_mut_ptr().cast(),
                size_of_val(&messages),
            )
        };
        if read < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            };
        }
        let number = read as usize / size_of::<Message>();
        events.extend(messages[..number].iter().filter_map(Message::event));
        Ok(())
    }

    fn ioctl<T>(&self, number: libc::Ioctl, argument: &mut T) -> io::Result<()> {
        ioctl(&self.descriptor, number, argument)
    }
}

impl AsRawFd for Uffd {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

impl Message {
    fn event(&self) -> Option<Event> {
        let [first, second, third] = self.argument;
        match self.event {
            0x12 => Some(Event::Fault {
                address: second & !(PAGE_BYTES - 1),
                offset: (second & (PAGE_BYTES - 1)) as u16,
                thread: third as u32,
                write: first & 1 != 0,
                protected: first & 2 != 0,
            }),
            0x14 => Some(Event::Remap {
                from: first,
                to: second,
                bytes: third,
            }),
            0x15 => Some(Event::Remove {
                start: first,
                end: second,
            }),
            0x16 => Some(Event::Unmap {
                start: first,
                end: second,
            }),
            _ => None,
        }
    }
}

/// Whether a page has left one address and come to another, in DRAM or in a swap area.
fn has_moved(from: u64, to: u64) -> bool {
    let found = File::open("/proc/self/pagemap")
        .and_then(|pagemap| Ok((has_page(&pagemap, from)?, has_page(&pagemap, to)?)));
    match found {
        Ok((at_source, at_destination)) => !at_source && at_destination,
        // The page may be at either address: the program must not go on with the wrong one.
        Err(error) => give_up(&format!(
            "cannot read /proc/self/pagemap, which shows whether the kernel has moved a page: {error}"
        )),
    }
}

/// Whether there is a page at an address, in DRAM or in a swap area
/// (`Documentation/admin-guide/mm/pagemap.rst`).
fn has_page(pagemap: &File, address: u64) -> io::Result<bool> {
    const PRESENT_OR_SWAPPED: u64 = 0b11 << 62;
    let mut entry = [0; 8];
    pagemap.read_exact_at(&mut entry, address / PAGE_BYTES * 8)?;
    Ok(u64::from_ne_bytes(entry) & PRESENT_OR_SWAPPED != 0)
}

/// Carries out an ioctl whose argument is a structure of this file.
fn ioctl<T>(descriptor: &OwnedFd, number: libc::Ioctl, argument: &mut T) -> io::Result<()> {
    // SAFETY: `number` holds the size of `T`, which has the layout that the kernel reads and
    // writes. What the call does to mappings is the caller's business: the ranges are those that
    // were registered.
    match unsafe { libc::ioctl(descriptor.as_raw_fd(), number, &raw mut *argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Agrees on the version and on features, and returns all that the kernel knows.
fn handshake(descriptor: &OwnedFd, features: u64) -> Result<u64> {
    let mut api = Api {
        api: API_VERSION,
        features,
        ioctls: 0,
    };
    ioctl(descriptor, read_write::<Api>(0x3F), &mut api)
        .map_err(|e| Error::failure(format!("cannot use userfaultfd: {e}")))?;
    Ok(api.features)
}

/// Opens a descriptor that reports faults of system calls as well, by the call or by
/// /dev/userfaultfd.
fn descriptor() -> Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the call takes flags alone.
    let by_call = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if by_call >= 0 {
        // SAFETY: a new descriptor, which nothing else owns.
        return Ok(unsafe { OwnedFd::from_raw_fd(by_call as RawFd) });
    }
    let refused = io::Error::last_os_error();
    if refused.raw_os_error() == Some(libc::ENOSYS) {
        return Err(Error::failure(
            "this kernel has no userfaultfd; use one that was built with CONFIG_USERFAULTFD",
        ));
    }
    by_device(flags).map_err(|of_device| {
        Error::failure(format!(
            "userfaultfd is not allowed to this user ({refused}; /dev/userfaultfd: {of_device}); as root, \
             either let all users have it (sysctl vm.unprivileged_userfaultfd=1) or this user alone \
             (setfacl -m u:USER:rw /dev/userfaultfd)"
        ))
    })
}

fn by_device(flags: libc::c_int) -> io::Result<OwnedFd> {
    let device = File::options()
        .read(true)
        .write(true)
        .open("/dev/userfaultfd")?;
    // SAFETY: the ioctl takes flags alone.
    match unsafe { libc::ioctl(device.as_raw_fd(), NEW, flags) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: a new descriptor, which nothing else owns.
        new => Ok(unsafe { OwnedFd::from_raw_fd(new) }),
    }
}
