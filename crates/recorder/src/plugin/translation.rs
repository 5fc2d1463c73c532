//! Blocks that QEMU translates: what is called when they run.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use super::{Place, RECORDER, THREADED, on_any_access, on_block, on_dependent_block};
use crate::dependence::{Analysis, Effects};
use crate::lacked::LONGEST;
use crate::page;
use crate::qemu::{self, MemCallback};
use crate::site::Site;

pub(super) unsafe extern "C" fn on_translate(_id: qemu::Id, tb: *mut qemu::Tb) {
    let Some(recorder) = RECORDER.get() else {
        return;
    };
    let on_access: MemCallback = match (&recorder.extended, &recorder.modules) {
        (None, None) => recorder.on_access,
        _ => on_any_access,
    };
    // SAFETY: QEMU passes a block that lives during this call.
    recorder.pool.note_translated(unsafe { last_bytes(tb) });
    if recorder.pool.settings().depends {
        // SAFETY: as QEMU calls this.
        return unsafe { translate_dependent(tb, on_access) };
    }
    // SAFETY: QEMU passes a block that lives during this call, and the indices are below its
    // number of instructions. The counter of vCPU 0 lives as long as the process.
    unsafe {
        let count = qemu::qemu_plugin_tb_n_insns(tb);
        if THREADED.load(Ordering::Relaxed) {
            let data = count as *mut c_void;
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, qemu::CB_NO_REGS, data);
        } else {
            let executed = &raw mut (*recorder.table).executed;
            qemu::qemu_plugin_register_vcpu_tb_exec_inline(
                tb,
                qemu::INLINE_ADD_U64,
                executed.cast(),
                count as u64,
            );
        }
        for index in 0..count {
            let instruction = qemu::qemu_plugin_tb_get_insn(tb, index);
            let site = Site::new(qemu::qemu_plugin_insn_vaddr(instruction), count - index);
            qemu::qemu_plugin_register_vcpu_mem_cb(
                instruction,
                on_access,
                qemu::CB_NO_REGS,
                qemu::MEM_RW,
                site.to_data(),
            );
        }
    }
}

/// Returns the bytes of a block's last instruction, as far as they are in one page; zeros where
/// they are not told.
///
/// # Safety
/// `tb` must be a block that is being translated.
unsafe fn last_bytes(tb: *mut qemu::Tb) -> [u8; LONGEST] {
    let mut bytes = [0; LONGEST];
    // SAFETY: as the caller says. QEMU reads the instruction where it says that it lies, and memory
    // is mapped by whole pages.
    unsafe {
        let last = qemu::qemu_plugin_tb_n_insns(tb).saturating_sub(1);
        let instruction = qemu::qemu_plugin_tb_get_insn(tb, last);
        if instruction.is_null() {
            return bytes;
        }
        let at = qemu::qemu_plugin_insn_haddr(instruction).cast::<u8>();
        if !at.is_null() {
            let length = LONGEST.min(page::BYTES - at.addr() % page::BYTES);
            std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), length);
        }
    }
    bytes
}

/// Translates a block so that it is recorded where addresses come from. What its callbacks are
/// given is kept as long as the process lives, as QEMU does not say when it forgets a block.
///
/// # Safety
/// `tb` must be a block that is being translated.
unsafe fn translate_dependent(tb: *mut qemu::Tb, on_access: MemCallback) {
    let mut analysis = Analysis::default();
    // SAFETY: as the caller says; the indices are below the block's number of instructions, whose
    // bytes live during this call.
    unsafe {
        let count = qemu::qemu_plugin_tb_n_insns(tb);
        for index in 0..count {
            let instruction = qemu::qemu_plugin_tb_get_insn(tb, index);
            let ip = qemu::qemu_plugin_insn_vaddr(instruction);
            let bytes = std::slice::from_raw_parts(
                qemu::qemu_plugin_insn_data(instruction).cast::<u8>(),
                qemu::qemu_plugin_insn_size(instruction),
            );
            let place: &'static Place = Box::leak(Box::new(Place {
                site: Site::new(ip, count - index),
                address: analysis.step(ip, bytes),
            }));
            qemu::qemu_plugin_register_vcpu_mem_cb(
                instruction,
                on_access,
                qemu::CB_NO_REGS,
                qemu::MEM_RW,
                std::ptr::from_ref(place).cast_mut().cast(),
            );
        }
        let effects: &'static Effects = Box::leak(Box::new(analysis.effects()));
        qemu::qemu_plugin_register_vcpu_tb_exec_cb(
            tb,
            on_dependent_block,
            qemu::CB_NO_REGS,
            std::ptr::from_ref(effects).cast_mut().cast(),
        );
    }
}
