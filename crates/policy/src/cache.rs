//! Prefetch hints to the processor's cache.

/// Prefetches `values[index]`, if it exists, into the processor's cache. Tables with a value for
/// each page are larger than the caches, and a driver knows which page is touched next.
#[inline]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes nothing but the cache, and the pointer is to a live value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}
