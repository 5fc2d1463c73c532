//! Panics of other people's crates on damaged input, which are none of the program's.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether the thread's panics are expected.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Does work that panics on some damaged input; returns `None` if it did. The panic says nothing on
/// standard error, unlike any other: the caller says in a sentence what is wrong. What the work
/// changed must not be used after that.
pub fn unpanicked<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                others(panic);
            }
        }));
    });
    let outer = EXPECTED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(outer);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_none() {
        assert_eq!(unpanicked(|| 5), Some(5));
        assert_eq!(unpanicked(|| [0; 3][std::hint::black_box(7)]), None);
        assert_eq!(
            unpanicked(|| unpanicked(|| panic!()).map_or(1, |()| 2)),
            Some(1)
        );
        assert!(!EXPECTED.get());
    }
}
