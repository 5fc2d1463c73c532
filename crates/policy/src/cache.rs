//! A word to the processor's cache.

/// Has the processor fetch `values[index]`, if there is such a value, while other work goes on.
/// Tables of a value a page are larger than its caches, and a driver knows what will be touched
/// next.
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
