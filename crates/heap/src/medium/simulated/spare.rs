//! Memories that are used again. A test makes and drops many thousands of one size, and the kernel
//! takes longer to map new pages than this takes to fill old ones with zeros.

use std::cell::RefCell;

use super::super::reservation::Reservation;

/// The most that a thread keeps, and the most bytes of each.
const KEPT: usize = 4;
const MAX_BYTES: u64 = 4 << 20;

/// A reservation, and the number of bytes that are mapped, its first ones.
type Spare = (Reservation, u64);

thread_local! {
    /// Those that were dropped, the latest last.
    static SPARE: RefCell<Vec<Spare>> = const { RefCell::new(Vec::new()) };
}

/// Returns a kept reservation of `max_len` bytes. The first `len` are mapped, and no more; they are
/// zeros.
pub(super) fn take(len: u64, max_len: u64) -> Option<Reservation> {
    let fits = |(reservation, mapped): &Spare| *mapped == len && reservation.len() == max_len;
    let (reservation, _) = SPARE.with_borrow_mut(|spare| {
        let found = spare.iter().rposition(fits)?;
        Some(spare.remove(found))
    })?;
    // SAFETY: that many bytes are mapped, and nothing else uses the reservation.
    unsafe { reservation.base().write_bytes(0, len as usize) };
    Some(reservation)
}

/// Keeps a reservation whose first `mapped` bytes are mapped. Drops it if they are many, and
/// under Miri, which so finds a later use of it.
pub(super) fn keep(reservation: Reservation, mapped: u64) {
    if cfg!(miri) || mapped > MAX_BYTES {
        return;
    }
    // At its end a thread has no such list any more.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() == KEPT {
            spare.remove(0);
        }
        spare.push((reservation, mapped));
    });
}
