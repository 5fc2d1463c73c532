//! The plug-in interface of `qemu-user`, version 1, as far as it is used here.
//!
//! Declared from QEMU's documentation of `qemu-plugin.h` (QEMU 4.2 to 8.2). The functions are
//! QEMU's own: they are there once it has loaded the plug-in.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The interface that the plug-in was built for; QEMU reads it before anything else.
pub const VERSION: c_int = 1;

/// Which plug-in it is.
pub type Id = u64;
/// What QEMU knows of an access, to be asked with [`qemu_plugin_mem_is_store`] and
/// [`qemu_plugin_mem_size_shift`].
pub type MemInfo = u32;

/// What QEMU tells of itself.
#[repr(C)]
#[derive(Debug)]
pub struct Info {
    /// The instruction set that is emulated, as `x86_64`.
    pub target_name: *const c_char,
    /// The oldest interface it still serves.
    pub version_min: c_int,
    /// The newest.
    pub version_cur: c_int,
    /// Whether it emulates a whole machine; where it does, more fields follow.
    pub system_emulation: bool,
}

/// Checks that QEMU runs single programs of x86-64.
///
/// # Errors
/// What it does instead.
///
/// # Safety
/// `info` is what QEMU passes to the plug-in's `qemu_plugin_install`, during that call.
pub unsafe fn check(info: *const Info) -> Result<(), String> {
    // SAFETY: as the caller says, a description whose name ends in zero.
    let (target, system) = unsafe {
        let target = CStr::from_ptr((*info).target_name);
        (target.to_string_lossy(), (*info).system_emulation)
    };
    match (&*target, system) {
        ("x86_64", false) => Ok(()),
        (target, false) => Err(format!("qemu runs programs of {target}, not of x86_64")),
        (_, true) => Err("qemu runs a whole machine; use qemu-x86_64".into()),
    }
}

/// A block of instructions that is being translated.
#[repr(C)]
#[derive(Debug)]
pub struct Tb {
    opaque: [u8; 0],
}

/// One instruction of it.
#[repr(C)]
#[derive(Debug)]
pub struct Insn {
    opaque: [u8; 0],
}

/// A callback does not look at registers.
pub const CB_NO_REGS: c_int = 0;
/// A memory callback is wanted for loads and stores.
pub const MEM_RW: c_int = 3;
/// The one inline operation: adds a constant to a number in memory.
pub const INLINE_ADD_U64: c_int = 0;

/// Called of a vCPU.
pub type VcpuCallback = unsafe extern "C" fn(Id, c_uint);
/// Called of a block that is translated.
pub type TransCallback = unsafe extern "C" fn(Id, *mut Tb);
/// Called before a block is executed.
pub type ExecCallback = unsafe extern "C" fn(c_uint, *mut c_void);
/// Called after an access: vCPU, what it was, its address, what was registered with it.
pub type MemCallback = unsafe extern "C" fn(c_uint, MemInfo, u64, *mut c_void);
/// Called before a system call: its number and its arguments.
pub type SyscallCallback =
    unsafe extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
/// Called after a system call: its number and what it returned.
pub type SyscallRetCallback = unsafe extern "C" fn(Id, c_uint, i64, i64);
/// Called when the program exits.
pub type ExitCallback = unsafe extern "C" fn(Id, *mut c_void);

unsafe extern "C" {
    /// A vCPU, that is a thread, appears.
    pub fn qemu_plugin_register_vcpu_init_cb(id: Id, callback: VcpuCallback);
    /// A vCPU ends.
    pub fn qemu_plugin_register_vcpu_exit_cb(id: Id, callback: VcpuCallback);
    /// A block is translated.
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: TransCallback);
    /// The block is about to be executed.
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        tb: *mut Tb,
        callback: ExecCallback,
        flags: c_int,
        data: *mut c_void,
    );
    /// Adds `add` to `*number` whenever the block is executed, without a call and not atomically.
    pub fn qemu_plugin_register_vcpu_tb_exec_inline(
        tb: *mut Tb,
        op: c_int,
        number: *mut c_void,
        add: u64,
    );
    /// How many instructions the block has.
    pub fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    /// One of them.
    pub fn qemu_plugin_tb_get_insn(tb: *const Tb, index: usize) -> *mut Insn;
    /// Its address.
    pub fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    /// The instruction has accessed memory.
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        callback: MemCallback,
        flags: c_int,
        rw: c_int,
        data: *mut c_void,
    );
    /// The binary logarithm of the bytes accessed.
    pub fn qemu_plugin_mem_size_shift(info: MemInfo) -> c_uint;
    /// Whether it was a store.
    pub fn qemu_plugin_mem_is_store(info: MemInfo) -> bool;
    /// The program calls the system.
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: Id, callback: SyscallCallback);
    /// The system has returned.
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, callback: SyscallRetCallback);
    /// The program exits.
    pub fn qemu_plugin_register_atexit_cb(id: Id, callback: ExitCallback, data: *mut c_void);
}
