//! The callbacks that QEMU calls.
//!
//! A vCPU is a thread of the program; QEMU numbers the living ones. Each has a `Vcpu` in one table,
//! which only its own thread touches, so there are no locks.
//!
//! # How instructions are counted
//!
//! A thread's count grows by a block's length when the block begins; an access carries its distance
//! from the block's end. A block that is left early, by a fault or a signal, counts whole until the
//! next begins, and a repeated string instruction (`rep movsb`) counts once for each repetition,
//! because QEMU executes it so. While a process has one thread, QEMU adds to the count in the code
//! that it generates; when the second thread starts, or memory is shared with other processes, QEMU
//! translates everything again, once, and from then on it calls `on_block`.

mod system_calls;
mod translation;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::io::Write;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

use crate::allocation::Modules;
use crate::call::Call;
use crate::dependence::{Effects, Origin, Registers};
use crate::discard::Break;
use crate::exec::Follower;
use crate::extended::Extended;
use crate::guest::Guest;
use crate::level::Level;
use crate::mapping;
use crate::observed::Observed;
use crate::order::{Order, SyncCall};
use crate::pool::{Departed, Pool};
use crate::program::ARGUMENT;
use crate::qemu::{self, MemCallback};
use crate::record::Kind;
use crate::site::Site;
use crate::stream::Stream;
use crate::zeros::Zeros;
use system_calls::{on_syscall, on_syscall_return};
use translation::on_translate;

/// The state of recording in this process.
struct Recorder {
    pool: &'static Pool,
    on_access: MemCallback,
    /// The pages whose accesses are recorded; none if all are.
    extended: Option<Extended>,
    /// What is needed to report pages; none where that is not asked for.
    observed: Option<Observed>,
    /// What is needed to say which pages hold zeros; none where that is not asked for.
    zeros: Option<Zeros>,
    /// The files with the code that allocates; none if nothing is told of allocations.
    modules: Option<Modules>,
    /// The end of the program's heap.
    heap: Break,
    /// What orders its threads.
    order: Order,
    /// One entry for each vCPU.
    table: *mut Vcpu,
    /// Starts the programs that this one executes in the emulator, too.
    follower: Option<Follower>,
}

// SAFETY: `table` is only turned into references by the callbacks of a vCPU, to its own entry.
unsafe impl Send for Recorder {}
// SAFETY: as above.
unsafe impl Sync for Recorder {}

/// A thread of the program.
#[repr(align(128))]
struct Vcpu {
    /// Instructions up to the end of the block that it executes.
    executed: u64,
    stream: Stream<'static>,
    /// While the library in the program works: the instructions before it.
    muted: Option<u64>,
    /// The system call that it makes, if that changes mappings.
    remapping: Option<Call>,
    /// Where what its registers hold comes from, if that is recorded.
    registers: Registers,
    /// What the system call that it makes means for the order of threads.
    syncing: Option<SyncCall>,
    /// The address at which its number is cleared when it ends; 0 if it is not.
    cleared: u64,
    /// The departure that is noted while it is about to become another program.
    departing: Option<Departed>,
}

/// The most threads of Linux (`PID_MAX_LIMIT`).
const VCPUS: usize = 1 << 22;

static RECORDER: OnceLock<Recorder> = OnceLock::new();
/// The number of this process; a forked child takes a new one.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// One more than the highest vCPU so far.
static SEEN: AtomicU32 = AtomicU32::new(0);
/// Whether QEMU generates code for several threads, or is about to.
static THREADED: AtomicBool = AtomicBool::new(false);
/// The [`Kind`] of each [`qemu::MemInfo`]; 0 where it is not known yet.
static KINDS: [AtomicU16; 1 << 18] = [const { AtomicU16::new(0) }; 1 << 18];

/// Installs the plug-in, and returns 0, or -1 where it cannot be. The only argument is `pool=PATH`.
///
/// # Safety
/// Must only be called by QEMU, with `count` strings at `arguments`, before the program's first
/// instruction.
pub unsafe fn install(
    id: qemu::Id,
    info: *const qemu::Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let arguments = (0..count as usize).map(|i| {
        // SAFETY: QEMU passes `count` strings that end in zero and live as long as the plug-in.
        unsafe { CStr::from_ptr(*arguments.add(i)) }
    });
    // SAFETY: QEMU passes its description, which lives during the call.
    let checked = unsafe { qemu::check(info) };
    match checked.and_then(|()| start(arguments.filter_map(|a| a.to_str().ok()))) {
        Ok(()) => {
            register(id);
            0
        }
        Err(reason) => {
            let _ = writeln!(std::io::stderr(), "terrace: cannot record: {reason}");
            -1
        }
    }
}

fn start<'a>(mut arguments: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let path = arguments
        .find_map(|argument| argument.strip_prefix(ARGUMENT))
        .ok_or("the plug-in needs the argument pool=PATH; `terrace record` gives it")?;
    let pool = Pool::open(path).map_err(|e| format!("{path}: {e}"))?;
    let pool: &'static Pool = Box::leak(Box::new(pool));
    let process = pool.enter();
    PROCESS.store(process, Ordering::Relaxed);
    let recorder = Recorder {
        pool,
        on_access: on_access_of(pool),
        extended: extended_of(pool)?,
        observed: observed_of(pool)?,
        zeros: zeros_of(pool),
        modules: pool.settings().allocations.then(Modules::default),
        heap: Break::default(),
        order: Order::new(process),
        table: reserve_table().map_err(|e| format!("no memory for the threads: {e}"))?,
        follower: Follower::of_this_process(),
    };
    if RECORDER.set(recorder).is_err() {
        return Err("the plug-in is loaded already".into());
    }
    // SAFETY: the handler is a function that lives as long as the process.
    match unsafe { libc::pthread_atfork(None, None, Some(on_forked)) } {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code).to_string()),
    }
}

/// Makes what is needed to report pages, if the pool asks for it.
fn observed_of(pool: &Pool) -> Result<Option<Observed>, String> {
    if !pool.settings().contents {
        return Ok(None);
    }
    if !Guest::is_told() {
        return Err(
            "this emulator does not tell where the program's memory is, which --contents needs"
                .into(),
        );
    }
    let observed = Observed::new().map_err(|e| format!("no memory for copies of pages: {e}"))?;
    Ok(Some(observed))
}

/// Makes what is needed to say which pages hold zeros, if the pool asks for it and the emulator
/// tells where they are.
fn zeros_of(pool: &Pool) -> Option<Zeros> {
    (pool.settings().tell_zeros() && Guest::is_told()).then(Zeros::default)
}

/// Makes what is needed to know which accesses are recorded, if not all are.
fn extended_of(pool: &Pool) -> Result<Option<Extended>, String> {
    let least = pool.settings().least_mapping;
    let extended = least.map(Extended::new).transpose();
    extended.map_err(|e| format!("no memory for the table of pages: {e}"))
}

/// Maps room for the most vCPUs; only pages that are touched take memory.
fn reserve_table() -> std::io::Result<*mut Vcpu> {
    Ok(mapping::zeros(VCPUS * size_of::<Vcpu>())?.cast())
}

fn register(id: qemu::Id) {
    // SAFETY: the id belongs to this plug-in, and every callback has the type that QEMU calls it
    // with.
    unsafe {
        qemu::qemu_plugin_register_vcpu_init_cb(id, on_thread);
        qemu::qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
        qemu::qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
        qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
        qemu::qemu_plugin_register_atexit_cb(id, on_exit, null_mut());
    }
}

/// Returns the memory callback for the level and the filter that the pool asks for.
fn on_access_of(pool: &Pool) -> MemCallback {
    let settings = pool.settings();
    if settings.contents {
        return on_observed_access;
    }
    if settings.depends {
        return on_dependent_access;
    }
    match (settings.filtered, settings.level) {
        (false, Level::Accesses) => on_access::<{ Level::Accesses.shift() }, false>,
        (false, Level::Lines) => on_access::<{ Level::Lines.shift() }, false>,
        (false, Level::Pages) => on_access::<{ Level::Pages.shift() }, false>,
        (true, Level::Accesses) => on_access::<{ Level::Accesses.shift() }, true>,
        (true, Level::Lines) => on_access::<{ Level::Lines.shift() }, true>,
        (true, Level::Pages) => on_access::<{ Level::Pages.shift() }, true>,
    }
}

/// # Safety
/// Must only be called from a callback of vCPU `index` after its `on_thread`, and not while a
/// reference from an earlier call lives.
#[inline(always)]
unsafe fn vcpu(index: c_uint) -> Option<&'static mut Vcpu> {
    let recorder = RECORDER.get()?;
    // SAFETY: the table has an entry for every vCPU, `on_thread` has filled this one, and only
    // the thread that is this vCPU calls its callbacks.
    Some(unsafe { &mut *recorder.table.add(index as usize) })
}

/// Resets vCPU `index` to a thread without accesses.
fn begin(index: c_uint) {
    if let Some(recorder) = RECORDER.get() {
        let fresh = Vcpu {
            executed: 0,
            stream: Stream::new(
                recorder.pool,
                PROCESS.load(Ordering::Relaxed),
                recorder.observed.as_ref(),
                recorder.zeros.as_ref(),
            ),
            muted: None,
            remapping: None,
            registers: Registers::default(),
            syncing: None,
            cleared: 0,
            departing: None,
        };
        // SAFETY: the table has an entry for every vCPU. The old entry is not dropped, as it may be
        // uninitialised; of a thread that ended only the caches are left.
        unsafe { recorder.table.add(index as usize).write(fresh) };
    }
}

unsafe extern "C" fn on_thread(_id: qemu::Id, index: c_uint) {
    begin(index);
    if SEEN.fetch_max(index + 1, Ordering::Relaxed) > 0 {
        THREADED.store(true, Ordering::Relaxed);
    }
    follow_creation(index);
}

/// Tells that a thread or process that begins comes after its creation.
fn follow_creation(index: c_uint) {
    let begun = RECORDER.get().and_then(|it| it.order.begun());
    // SAFETY: it executes nothing yet, or this is called by this vCPU.
    if let (Some((event, cleared)), Some(vcpu)) = (begun, unsafe { vcpu(index) }) {
        vcpu.cleared = cleared;
        vcpu.stream.order(event);
    }
}

/// From now on other processes may store to the program's pages.
fn share() {
    if let Some(observed) = RECORDER.get().and_then(|it| it.observed.as_ref()) {
        observed.share();
    }
}

unsafe extern "C" fn on_thread_end(_id: qemu::Id, index: c_uint) {
    // SAFETY: called for a vCPU that began, when it executes nothing any more.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        vcpu.stream.publish();
    }
    // Its number was cleared in memory where it asked for that (CLONE_CHILD_CLEARTID).
    note_change();
}

/// Pages may have changed by other means than stores of the program.
fn note_change() {
    if let Some(observed) = RECORDER.get().and_then(|it| it.observed.as_ref()) {
        observed.note_change();
    }
}

/// Starts recording anew in a forked child, where only the thread that forked lives on.
unsafe extern "C" fn on_forked() {
    if let Some(recorder) = RECORDER.get() {
        let process = recorder.pool.enter();
        PROCESS.store(process, Ordering::Relaxed);
        recorder.order.begin(process);
        // Where there is no memory, each run that is not reported is counted.
        let _ = recorder.observed.as_ref().map(Observed::begin);
        (0..SEEN.load(Ordering::Relaxed)).for_each(begin);
    }
}

unsafe extern "C" fn on_block(index: c_uint, count: *mut c_void) {
    // SAFETY: called by this vCPU.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        vcpu.executed += count as u64;
    }
}

unsafe extern "C" fn on_access<const SHIFT: u32, const FILTER: bool>(
    index: c_uint,
    info: qemu::MemInfo,
    address: u64,
    site: *mut c_void,
) {
    // SAFETY: called by this vCPU.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    let origin = Site::of_data(site).origin(vcpu.executed);
    let kind = kind(info);
    if FILTER {
        vcpu.stream.filter::<SHIFT>(address, kind, origin);
    } else {
        vcpu.stream.row::<SHIFT>(address, kind, origin);
    }
}

/// An access that is recorded only if it is to an extended page, and the program's own.
unsafe extern "C" fn on_any_access(
    index: c_uint,
    info: qemu::MemInfo,
    address: u64,
    site: *mut c_void,
) {
    let Some(recorder) = RECORDER.get() else {
        return;
    };
    let is_extended = (recorder.extended.as_ref()).is_none_or(|extended| extended.holds(address));
    // SAFETY: called by this vCPU.
    if is_extended && unsafe { vcpu(index) }.is_some_and(|vcpu| vcpu.muted.is_none()) {
        // SAFETY: called as QEMU calls it.
        unsafe { (recorder.on_access)(index, info, address, site) };
    }
}

/// The site of an instruction, and where the addresses come from that it accesses.
struct Place {
    site: Site,
    address: Origin,
}

unsafe extern "C" fn on_dependent_access(
    index: c_uint,
    info: qemu::MemInfo,
    address: u64,
    place: *mut c_void,
) {
    // SAFETY: called by this vCPU.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    // SAFETY: `translate_dependent` has registered a place that lives as long as the process.
    let place = unsafe { &*place.cast::<Place>() };
    let origin = place.site.origin(vcpu.executed);
    let depends = vcpu.registers.distance(place.address, origin.instruction);
    vcpu.stream
        .keep_dependent(address, kind(info), origin, depends);
}

unsafe extern "C" fn on_dependent_block(index: c_uint, effects: *mut c_void) {
    // SAFETY: called by this vCPU.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        // SAFETY: `translate_dependent` has registered effects that live as long as the process.
        let effects: &'static Effects = unsafe { &*effects.cast::<Effects>() };
        vcpu.registers.begin(vcpu.executed, effects);
        vcpu.executed += effects.count;
    }
}

unsafe extern "C" fn on_observed_access(
    index: c_uint,
    info: qemu::MemInfo,
    address: u64,
    site: *mut c_void,
) {
    // SAFETY: called by this vCPU.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    let origin = Site::of_data(site).origin(vcpu.executed);
    vcpu.stream.observe(address, kind(info), origin);
}

/// Returns the kind of access that `info` describes. QEMU is asked once for each.
#[inline(always)]
fn kind(info: qemu::MemInfo) -> Kind {
    let known = KINDS.get(info as usize);
    match known.map(|bits| bits.load(Ordering::Relaxed)) {
        Some(bits) if bits != 0 => Kind::from_bits(bits),
        _ => ask_kind(info, known),
    }
}

#[cold]
#[inline(never)]
fn ask_kind(info: qemu::MemInfo, slot: Option<&AtomicU16>) -> Kind {
    // SAFETY: both only look at the number that QEMU passed.
    let kind = unsafe {
        let bytes = 1 << qemu::qemu_plugin_mem_size_shift(info);
        Kind::new(bytes, qemu::qemu_plugin_mem_is_store(info))
    };
    if let Some(slot) = slot {
        slot.store(kind.to_bits(), Ordering::Relaxed);
    }
    kind
}

/// Publishes what is left when the process exits by itself. With one thread that is everything;
/// chunks of other threads, which may still write, are collected by the reader.
unsafe extern "C" fn on_exit(_id: qemu::Id, _data: *mut c_void) {
    if !THREADED.load(Ordering::Relaxed) {
        // SAFETY: the one vCPU there is executes nothing any more.
        if let Some(vcpu) = unsafe { vcpu(0) } {
            vcpu.stream.publish();
        }
    }
}
