//! The macros by which a crate becomes a library for programs: they define C functions that take
//! the place of the C library's. They are macros, because a C function that is defined in this
//! crate would be in each library that is made of it.

/// Defines the C functions of blocks and mappings, done by the functions of a module that have
/// their names, and has the dynamic linker call `begin` of the module before the program. With
/// `caller known` those that may look at it have the address to which the program's call returns as
/// their last argument; with `caller unknown` they have none, or any number there.
#[macro_export]
macro_rules! export {
    ($($library:ident)::+, caller $caller:ident) => {
        #[used]
        #[unsafe(link_section = ".init_array")]
        static BEGIN: extern "C" fn() = $($library)::+::begin;

        $crate::function!($caller "rsi",
            malloc(size: usize) -> *mut ::std::ffi::c_void
            = $($library)::+::malloc);
        $crate::function!($caller "rdx",
            calloc(number: usize, size: usize) -> *mut ::std::ffi::c_void
            = $($library)::+::calloc);
        $crate::function!(
            realloc(block: *mut ::std::ffi::c_void, size: usize) -> *mut ::std::ffi::c_void
            = $($library)::+::realloc);
        $crate::function!(
            reallocarray(
                block: *mut ::std::ffi::c_void,
                number: usize,
                size: usize,
            ) -> *mut ::std::ffi::c_void
            = $crate::reallocarray);
        $crate::function!(
            free(block: *mut ::std::ffi::c_void)
            = $($library)::+::free);
        $crate::function!($caller "rdx",
            memalign(alignment: usize, size: usize) -> *mut ::std::ffi::c_void
            = $($library)::+::memalign);
        $crate::function!($caller "rdx",
            aligned_alloc(alignment: usize, size: usize) -> *mut ::std::ffi::c_void
            = $($library)::+::aligned_alloc);
        $crate::function!(
            posix_memalign(
                block: *mut *mut ::std::ffi::c_void,
                alignment: usize,
                size: usize,
            ) -> ::std::ffi::c_int
            = $($library)::+::posix_memalign);
        $crate::function!(
            valloc(size: usize) -> *mut ::std::ffi::c_void
            = $($library)::+::valloc);
        $crate::function!(
            mmap(
                address: *mut ::std::ffi::c_void,
                length: usize,
                protection: ::std::ffi::c_int,
                flags: ::std::ffi::c_int,
                file: ::std::ffi::c_int,
                offset: $crate::Offset,
            ) -> *mut ::std::ffi::c_void
            = $($library)::+::mmap);
        $crate::function!(
            mmap64(
                address: *mut ::std::ffi::c_void,
                length: usize,
                protection: ::std::ffi::c_int,
                flags: ::std::ffi::c_int,
                file: ::std::ffi::c_int,
                offset: $crate::Offset,
            ) -> *mut ::std::ffi::c_void
            = $crate::mmap64);
        $crate::function!($caller "rdx",
            munmap(address: *mut ::std::ffi::c_void, length: usize) -> ::std::ffi::c_int
            = $($library)::+::munmap);
        $crate::function!(
            mremap(
                address: *mut ::std::ffi::c_void,
                old: usize,
                new: usize,
                flags: ::std::ffi::c_int,
                to: *mut ::std::ffi::c_void,
            ) -> *mut ::std::ffi::c_void
            = $($library)::+::mremap);
    };
}

/// Defines a C function of this name and type, done by a function of the same type. With `known`
/// and the register of the argument behind the last one, that function has the address to which the
/// call returns as one more argument; with `unknown` it has any number there.
///
/// The C function is no call of the other one, but a jump to it: it costs one instruction, and is
/// no frame of its own in a stack.
#[macro_export]
macro_rules! function {
    (
        known $register:literal,
        $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $($done:tt)+
    ) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // The address to which this returns lies on top of the stack.
            ::std::arch::naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "jmp {}",
                sym $($done)+
            )
        }
    };
    (unknown $register:literal, $($function:tt)+) => {
        $crate::function!($($function)+);
    };
    ($name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $($done:tt)+) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            ::std::arch::naked_asm!("jmp {}", sym $($done)+)
        }
    };
}
