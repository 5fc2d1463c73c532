//! Runs a case in a directory of its own, and looks at what came of it.

use std::ffi::{CString, OsString};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::case::{Case, Input, NOBODY, Output, Step};
use crate::common::install;
use crate::judge::{Files, Observed, complaints, files};

/// No case takes seconds; what takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// Cases that change the machine take turns.
static MACHINE: Mutex<()> = Mutex::new(());

/// The command where any user reaches it.
static TERRACE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let place = directory();
    let command = place.path().join("terrace");
    install(env!("CARGO_BIN_EXE_terrace").as_ref(), &command);
    (place, command)
});

/// Removes the copy of the command, which no destructor does.
pub fn clean() {
    let _ = fs::remove_dir_all(TERRACE.0.path());
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    // SAFETY: it only asks.
    unsafe { libc::geteuid() == 0 }
}

/// Runs the case and judges it.
pub fn judged(case: Case) -> Result<(), String> {
    let _turn = case
        .live
        .then(|| MACHINE.lock().unwrap_or_else(|broken| broken.into_inner()));
    // A thread of its own, which a small disk gives name spaces of its own.
    thread::spawn(move || alone(case))
        .join()
        .unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map_or("", String::as_str);
            Err(format!("the case could not be prepared: {text}"))
        })
}

fn alone(mut case: Case) -> Result<(), String> {
    let place = directory();
    let work = place.path().join("work");
    for name in ["work", "tmp"] {
        let path = place.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        if case.as_nobody && is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    // Goes before the directory does.
    let _disk = case
        .small_disk
        .map(|bytes| SmallDisk::mount(&work.join("full"), bytes));
    for step in std::mem::take(&mut case.steps) {
        match step {
            Step::Prepare(prepare) => prepare(&work),
            Step::Run(line) => succeed(&line, &work),
        }
    }
    let before = everything(place.path());
    let command = command(&case, place.path());
    let mut observed = observe(&case, command, place.path());
    (observed.before, observed.after) = (before, everything(place.path()));
    // What may not be entered could not be removed by others than root.
    open_up(place.path());
    let wrong = complaints(&case, &observed);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\n  arguments: {:?}\n  stderr: {}\n  stdout: {}",
        wrong.join("; "),
        case.arguments,
        shortened(&observed.stderr),
        shortened(&observed.stdout),
    ))
}

fn succeed(line: &str, work: &Path) {
    let mut command = Command::new(&TERRACE.1);
    command.args(line.split_whitespace()).current_dir(work);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
}

/// A directory that each user may enter.
fn directory() -> TempDir {
    let place = tempfile::Builder::new()
        .prefix("hostile-")
        .tempdir()
        .expect("a directory");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    place
}

/// Files of the case's directory by their names there, and files of its `TMPDIR` below `TMPDIR/`.
fn everything(place: &Path) -> Files {
    let mut all = files(&place.join("work"));
    for (path, seen) in files(&place.join("tmp")) {
        all.insert(Path::new("TMPDIR").join(path), seen);
    }
    all
}

fn open_up(place: &Path) {
    for path in files(place).into_keys() {
        let path = place.join(path);
        if path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o755));
        }
    }
}

fn command(case: &Case, place: &Path) -> Command {
    let work = place.join("work");
    let mut command = Command::new(&TERRACE.1);
    command
        .args(case.arguments.iter().map(|a| placed(a, &work)))
        .current_dir(&work)
        .env("TMPDIR", place.join("tmp"))
        .env("TERRACE_HOSTILE_CASE", place)
        .process_group(0)
        .stderr(Stdio::piped());
    for (name, value) in &case.environment {
        command.env(name, placed(&OsString::from(value), &work));
    }
    match case.input {
        Input::Bytes(_) => command.stdin(Stdio::piped()),
        Input::Nothing | Input::Closed => command.stdin(Stdio::null()),
    };
    match case.output {
        Output::Read => command.stdout(Stdio::piped()),
        Output::Closed => command.stdout(Stdio::null()),
        Output::Full => command.stdout(fs::File::create("/dev/full").expect("/dev/full")),
        Output::Broken => command.stdout(broken_pipe()),
    };
    if case.as_nobody && is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let limits = case.limits.clone();
    let closed: Vec<i32> = [
        matches!(case.input, Input::Closed).then_some(0),
        matches!(case.output, Output::Closed).then_some(1),
    ]
    .into_iter()
    .flatten()
    .collect();
    // SAFETY: system calls only, with what was made before the fork.
    unsafe {
        command.pre_exec(move || {
            for &(resource, value) in &limits {
                let limit = libc::rlimit {
                    rlim_cur: value,
                    rlim_max: value,
                };
                if libc::setrlimit(resource, &limit) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            for &descriptor in &closed {
                libc::close(descriptor);
            }
            Ok(())
        })
    };
    command
}

/// The argument with `{dir}` replaced.
fn placed(argument: &OsString, work: &Path) -> OsString {
    match argument.to_str() {
        Some(text) => text.replace("{dir}", work.to_str().expect("UTF-8")).into(),
        None => OsString::from_vec(argument.as_bytes().to_vec()),
    }
}

fn broken_pipe() -> Stdio {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written where there is room for two, and each has one owner from
    // here.
    let [reader, writer] = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    drop(reader);
    writer.into()
}

fn observe(case: &Case, mut command: Command, place: &Path) -> Observed {
    let mut child = command.spawn().expect("terrace starts");
    let pid = child.id();
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    if let (Input::Bytes(bytes), Some(mut pipe)) = (&case.input, child.stdin.take()) {
        let bytes = bytes.clone();
        thread::spawn(move || pipe.write_all(&bytes));
    }
    let ended = ended(&mut child);
    let outlive = outlive(pid, place);
    if !ended {
        // SAFETY: the group is the case's own.
        unsafe { libc::kill(-i32::try_from(pid).unwrap(), libc::SIGKILL) };
    }
    let status = child.wait().expect("its status");
    Observed {
        code: status.code().filter(|_| status.signal().is_none()),
        hung: !ended,
        stdout: stdout.map(text).unwrap_or_default(),
        stderr: stderr.map(text).unwrap_or_default(),
        outlive: if ended { outlive } else { Vec::new() },
        ..Observed::default()
    }
}

/// Waits for the end; `false` if there is none in time.
fn ended(child: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if child.try_wait().expect("its state").is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    false
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// What was collected, unless a process that outlives the case keeps the pipe open.
fn text(collected: JoinHandle<Vec<u8>>) -> String {
    let start = Instant::now();
    while !collected.is_finished() && start.elapsed() < Duration::from_secs(5) {
        thread::sleep(Duration::from_millis(1));
    }
    if !collected.is_finished() {
        return String::new();
    }
    String::from_utf8_lossy(&collected.join().unwrap()).into_owned()
}

/// Processes with the case's environment, groups and swap areas with the process's number. What is
/// about to end is given half a minute.
fn outlive(pid: u32, place: &Path) -> Vec<String> {
    let start = Instant::now();
    loop {
        let mut left = processes(pid, place);
        if is_root() {
            left.extend(groups(pid));
            left.extend(areas(pid, place));
        }
        if left.is_empty() || start.elapsed() > Duration::from_secs(30) {
            return left;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn processes(own: u32, place: &Path) -> Vec<String> {
    let mark = format!("TERRACE_HOSTILE_CASE={}\0", place.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str() != Some(&own.to_string()))
        .filter(|entry| {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let mut windows = environment.windows(mark.len());
            windows.any(|window| window == mark.as_bytes())
        })
        .map(|entry| format!("process {}", entry.file_name().display()))
        .collect()
}

fn groups(pid: u32) -> Vec<String> {
    let name = format!("terrace-{pid}");
    let mut found = Vec::new();
    let mut ahead = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                if entry.file_name().to_str().is_some_and(|n| names(n, &name)) {
                    found.push(format!("the group {}", path.display()));
                }
                ahead.push(path);
            }
        }
    }
    found
}

fn areas(pid: u32, place: &Path) -> Vec<String> {
    let name = format!("terrace-{pid}");
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    swaps
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|area| {
            Path::new(area).starts_with(place)
                || area
                    .rsplit('/')
                    .next()
                    .is_some_and(|file| names(file, &name))
        })
        .map(|area| format!("the swap area {area}"))
        .collect()
}

/// Whether `text` is `name`, or that with more behind it that is no digit.
fn names(text: &str, name: &str) -> bool {
    text.strip_prefix(name)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A small file system that only this thread sees, and what it starts.
struct SmallDisk(CString);

impl SmallDisk {
    fn mount(at: &Path, bytes: u64) -> Self {
        fs::create_dir(at).unwrap();
        let at = CString::new(at.as_os_str().as_bytes()).unwrap();
        let options = CString::new(format!("size={bytes},mode=0777")).unwrap();
        // SAFETY: all arguments are C strings, and the name space is this thread's.
        unsafe {
            assert_eq!(libc::unshare(libc::CLONE_NEWNS), 0, "a name space");
            let private = libc::MS_REC | libc::MS_PRIVATE;
            let (none, nothing) = (std::ptr::null(), std::ptr::null());
            assert_eq!(libc::mount(none, c"/".as_ptr(), none, private, nothing), 0);
            let kind = c"tmpfs".as_ptr();
            let done = libc::mount(kind, at.as_ptr(), kind, 0, options.as_ptr().cast());
            assert_eq!(done, 0, "a small disk");
        }
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // SAFETY: a C string. What is mounted there is this thread's.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}

fn shortened(text: &str) -> &str {
    let end = (0..=text.len().min(1500)).rev();
    let end = end.into_iter().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
