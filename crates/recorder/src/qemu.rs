//! The plug-in interface of `qemu-user`, version 1, as far as it is used here.
//!
//! Declared from QEMU's documentation of `qemu-plugin.h` (QEMU 4.2 to 8.2). The functions are
//! QEMU's own, resolved when it loads the plug-in.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The interface that the plug-in was built for; QEMU reads it before anything else.
pub const VERSION: c_int = 1;

/// The plug-in's identity.
pub type Id = u64;
/// A description of an access, for [`qemu_plugin_mem_is_store`] and [`qemu_plugin_mem_size_shift`].
pub type MemInfo = u32;

/// QEMU's description of itself.
#[repr(C)]
#[derive(Debug)]
pub struct Info {
    /// The emulated instruction set, as `x86_64`.
    pub target_name: *const c_char,
    /// The oldest interface that it serves.
    pub version_min: c_int,
    /// The newest interface that it serves.
    pub version_cur: c_int,
    /// Whether it emulates a whole machine; where it does, more fields follow.
    pub system_emulation: bool,
}

/// Checks that QEMU runs single programs of x86-64.
///
/// # Errors
/// Returns a sentence that says what it does instead.
///
/// # Safety
/// `info` must be the argument of the plug-in's `qemu_plugin_install`, during that call.
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

/// One instruction of a block.
#[repr(C)]
#[derive(Debug)]
pub struct Insn {
    opaque: [u8; 0],
}

/// The callback does not read registers.
pub const CB_NO_REGS: c_int = 0;
/// The memory callback is for loads and stores.
pub const MEM_RW: c_int = 3;
/// The only inline operation: adds a constant to a number in memory.
pub const INLINE_ADD_U64: c_int = 0;

/// Called with a vCPU.
pub type VcpuCallback = unsafe extern "C" fn(Id, c_uint);
/// Called with a block that is translated.
pub type TransCallback = unsafe extern "C" fn(Id, *mut Tb);
/// Called before a block is executed.
pub type ExecCallback = unsafe extern "C" fn(c_uint, *mut c_void);
/// Called after an access: vCPU, description, address, and the registered data.
pub type MemCallback = unsafe extern "C" fn(c_uint, MemInfo, u64, *mut c_void);
/// Called before a system call: its number and its arguments.
pub type SyscallCallback =
    unsafe extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
/// Called after a system call: its number and what it returned.
pub type SyscallRetCallback = unsafe extern "C" fn(Id, c_uint, i64, i64);
/// Called when the program exits.
pub type ExitCallback = unsafe extern "C" fn(Id, *mut c_void);

unsafe extern "C" {
    /// Registers a callback for a new vCPU, that is a thread.
    pub fn qemu_plugin_register_vcpu_init_cb(id: Id, callback: VcpuCallback);
    /// Registers a callback for the end of a vCPU.
    pub fn qemu_plugin_register_vcpu_exit_cb(id: Id, callback: VcpuCallback);
    /// Registers a callback for the translation of a block.
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: TransCallback);
    /// Registers a callback before each execution of the block.
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
    /// Returns the number of instructions of the block.
    pub fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    /// Returns one instruction of the block.
    pub fn qemu_plugin_tb_get_insn(tb: *const Tb, index: usize) -> *mut Insn;
    /// Returns the address of the instruction.
    pub fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    /// Returns where the instruction lies in the emulator's memory; null where that is not known.
    pub fn qemu_plugin_insn_haddr(insn: *const Insn) -> *const c_void;
    /// Returns the bytes of the instruction.
    pub fn qemu_plugin_insn_data(insn: *const Insn) -> *const c_void;
    /// Returns the number of bytes of the instruction.
    pub fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    /// Registers a callback after each memory access of the instruction.
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        callback: MemCallback,
        flags: c_int,
        rw: c_int,
        data: *mut c_void,
    );
    /// Returns the binary logarithm of the bytes accessed.
    pub fn qemu_plugin_mem_size_shift(info: MemInfo) -> c_uint;
    /// Whether the access was a store.
    pub fn qemu_plugin_mem_is_store(info: MemInfo) -> bool;
    /// Registers a callback before system calls.
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: Id, callback: SyscallCallback);
    /// Registers a callback after system calls.
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, callback: SyscallRetCallback);
    /// Registers a callback for the exit of the program.
    pub fn qemu_plugin_register_atexit_cb(id: Id, callback: ExitCallback, data: *mut c_void);
}
