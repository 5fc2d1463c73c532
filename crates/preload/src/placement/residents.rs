//! The objects in fast memory.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The most objects in fast memory at a time.
const MOST: usize = 4096;

/// An object; its address is 0 where there is none.
struct Object {
    address: AtomicUsize,
    bytes: AtomicUsize,
}

static OBJECTS: [Object; MOST] = [const {
    Object {
        address: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
    }
}; MOST];

/// The places that were ever used.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The bytes of the objects, and the most that they may be by what was given so far.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// Adds an object, and returns whether there was room. Where there is too little, `more` gives the
/// bytes that are missing, or more of them, or 0.
pub fn add(address: usize, bytes: usize, more: impl Fn(usize) -> usize) -> bool {
    // Another thread may take what was given.
    while let Err(missing) = reserve(bytes) {
        match more(missing) {
            0 => return false,
            given => GIVEN.fetch_add(given, Ordering::Relaxed),
        };
    }
    for (place, object) in OBJECTS.iter().enumerate() {
        let free = object.address.load(Ordering::Relaxed) == 0;
        // Another thread looks for this object only once the program has its address.
        if free
            && object
                .address
                .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            object.bytes.store(bytes, Ordering::Relaxed);
            USED.fetch_max(place + 1, Ordering::Relaxed);
            return true;
        }
    }
    TAKEN.fetch_sub(bytes, Ordering::Relaxed);
    false
}

/// Takes bytes of those that were given; an error is how many there are too few.
fn reserve(bytes: usize) -> Result<(), usize> {
    let given = GIVEN.load(Ordering::Relaxed);
    let fits = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= given);
    let taken = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
    taken
        .map(drop)
        .map_err(|taken| taken.saturating_add(bytes).saturating_sub(given).max(1))
}

/// Forgets all objects, and the bytes that were given.
pub fn forget() {
    for object in &OBJECTS[..USED.load(Ordering::Relaxed)] {
        object.address.store(0, Ordering::Relaxed);
    }
    TAKEN.store(0, Ordering::Relaxed);
    GIVEN.store(0, Ordering::Relaxed);
}

/// Removes an object, and returns its bytes; none if it is not one of these.
pub fn remove(address: usize) -> Option<usize> {
    let used = &OBJECTS[..USED.load(Ordering::Relaxed)];
    let own = |object: &&Object| object.address.load(Ordering::Relaxed) == address;
    let object = used.iter().find(own).filter(|_| address != 0)?;
    let bytes = object.bytes.load(Ordering::Relaxed);
    object.address.store(0, Ordering::Relaxed);
    TAKEN.fetch_sub(bytes, Ordering::Relaxed);
    Some(bytes)
}

/// Calls `act` with the address and the bytes of each object.
pub fn each(mut act: impl FnMut(usize, usize)) {
    for object in &OBJECTS[..USED.load(Ordering::Relaxed)] {
        let address = object.address.load(Ordering::Relaxed);
        if address != 0 {
            act(address, object.bytes.load(Ordering::Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn objects_have_no_more_than_was_given() {
        let none = |_| 0;
        let asked = Cell::new(0);
        let hundred = |bytes| {
            asked.set(asked.get() + bytes);
            100
        };
        assert!(!add(8, 60, none) && add(8, 60, hundred));
        assert!(!add(16, 41, none) && add(24, 40, none));
        assert_eq!(asked.get(), 60);
        assert_eq!(
            (remove(16), remove(8), remove(8), remove(0)),
            (None, Some(60), None, None)
        );
        let missing = Cell::new(0);
        assert!(!add(32, 101, |bytes| {
            missing.set(bytes);
            0
        }));
        assert_eq!(missing.get(), 41, "40 are in use, and 60 are free");
        assert!(!add(32, 61, none) && add(32, 60, none));
        let mut all = Vec::new();
        each(|address, bytes| all.push((address, bytes)));
        all.sort_unstable();
        assert_eq!(all, [(24, 40), (32, 60)]);
        assert_eq!((remove(24), remove(32)), (Some(40), Some(60)));
        assert!((1..=MOST).all(|address| add(address, 1, |_| MOST)));
        assert!(!add(MOST + 1, 1, none), "the table is full");
        assert_eq!(remove(7), Some(1));
        assert!(add(MOST + 1, 1, none));
        forget();
        each(|address, _| panic!("{address} is still there"));
        assert!(remove(8).is_none() && !add(8, 1, none));
    }
}
