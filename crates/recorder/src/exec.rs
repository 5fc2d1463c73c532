//! A program that starts another: the other is started in the emulator if possible, and noted as
//! departed if not.
//!
//! `execve` would leave the emulator. So the plug-in, which is called before the system call, does
//! what the kernel would, with the emulator in front: the new program is recorded as a process of
//! its own. If that is impossible or fails, the system call is carried out unchanged.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::guest::Guest;
use crate::program::{ARGUMENT, Emulator, Program};

/// The most bytes of an argument or path (`MAX_ARG_STRLEN`).
const LONGEST: usize = 128 << 10;
/// The most arguments of a program that is followed.
const MOST: usize = 1 << 20;

/// A request to execute a program; the addresses are the emulated program's.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    path: u64,
    arguments: u64,
    environment: u64,
    /// Whether the path is looked up without a directory descriptor.
    plain: bool,
}

impl Request {
    /// Returns the request of system call `number`; none unless it is `execve` or `execveat`.
    pub fn of(number: i64, arguments: [u64; 5]) -> Option<Self> {
        let [a, b, c, d, e] = arguments;
        match number {
            libc::SYS_execve => Some(Self {
                path: a,
                arguments: b,
                environment: c,
                plain: true,
            }),
            libc::SYS_execveat => Some(Self {
                path: b,
                arguments: c,
                environment: d,
                plain: a as i32 == libc::AT_FDCWD && e == 0,
            }),
            _ => None,
        }
    }

    /// Returns the path; empty where it cannot be read.
    pub fn path(&self) -> Vec<u8> {
        Memory::of_the_program().text(self.path).unwrap_or_default()
    }
}

/// How this process was started, to start others in the same way.
#[derive(Debug)]
pub struct Follower {
    emulator: Emulator,
    program: PathBuf,
}

impl Follower {
    /// Returns none where this process was not started by `terrace record`.
    pub fn of_this_process() -> Option<Self> {
        let (emulator, program) = Emulator::of_this_process()?;
        Some(Self { emulator, program })
    }

    /// Turns this process into the requested program, in the emulator, after `leave`. Returns only
    /// where that is impossible.
    pub fn follow(&self, request: &Request, leave: impl FnOnce()) {
        let Some(path) = self.meant(Path::new(OsStr::from_bytes(&request.path()))) else {
            return;
        };
        // A search through PATH tries many files that do not exist.
        if !request.plain || !may(&path, libc::X_OK) || !self.may_record() {
            return;
        }
        let memory = Memory::of_the_program();
        let arguments = memory.texts(request.arguments);
        let environment = memory.texts(request.environment);
        let (Some(arguments), Some(environment)) = (arguments, environment) else {
            return;
        };
        let arguments: Vec<_> = arguments.into_iter().map(OsString::from_vec).collect();
        if let Ok(program) = Program::of(&path, &arguments) {
            let file = self.emulator.file.clone().into_os_string();
            let arguments = self.emulator.arguments(&program);
            leave();
            execute(file, arguments, environment);
        }
    }

    /// Returns the file that `path` names to the program. `/proc/self/exe` would name the emulator,
    /// and a descriptor may be closed by then.
    fn meant(&self, path: &Path) -> Option<PathBuf> {
        let process = format!("/proc/{}", std::process::id());
        let own = ["/proc/self", &process].map(Path::new);
        let within = |name: &str| own.iter().any(|own| path.starts_with(own.join(name)));
        if within("exe") {
            Some(self.program.clone())
        } else if within("fd") || path.starts_with("/dev/fd") {
            None
        } else {
            Some(path.to_owned())
        }
    }

    /// Whether the pool can be opened; not after the program has dropped its user's rights.
    fn may_record(&self) -> bool {
        let plugin = self.emulator.plugin.as_bytes();
        let argument = format!(",{ARGUMENT}").into_bytes();
        plugin
            .windows(argument.len())
            .rposition(|window| window == argument)
            .map(|at| Path::new(OsStr::from_bytes(&plugin[at + argument.len()..])))
            .is_some_and(|pool| may(pool, libc::R_OK | libc::W_OK))
    }
}

fn may(path: &Path, mode: i32) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: the path ends in zero and lives across the call.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) == 0 }
}

/// Returns only where it fails; the caller then makes the system call unchanged, which fails by
/// itself.
fn execute(file: OsString, arguments: Vec<OsString>, environment: Vec<Vec<u8>>) {
    let arguments = arguments.into_iter().map(OsString::into_vec);
    let arguments: Result<Vec<_>, _> = arguments.map(CString::new).collect();
    let environment: Result<Vec<_>, _> = environment.into_iter().map(CString::new).collect();
    let (Ok(file), Ok(arguments), Ok(environment)) =
        (CString::new(file.into_vec()), arguments, environment)
    else {
        return;
    };
    let pointers = |texts: &[CString]| -> Vec<*const c_char> {
        let pointers = texts.iter().map(|text| text.as_ptr());
        pointers.chain([std::ptr::null()]).collect()
    };
    let (arguments_at, environment_at) = (pointers(&arguments), pointers(&environment));
    // SAFETY: all strings end in zero, both arrays in a null pointer, and all live across it.
    unsafe {
        libc::execve(
            file.as_ptr(),
            arguments_at.as_ptr(),
            environment_at.as_ptr(),
        )
    };
}

/// What the program passes by addresses, which may not be mapped.
struct Memory(Guest);

impl Memory {
    fn of_the_program() -> Self {
        Self(Guest::of_this_process())
    }

    /// Returns the bytes up to a zero.
    fn text(&self, address: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < LONGEST {
            let mut buffer = [0; 256];
            let read = self
                .0
                .read(address.wrapping_add(text.len() as u64), &mut buffer);
            let read = &buffer[..read];
            if let Some(end) = read.iter().position(|&byte| byte == 0) {
                text.extend_from_slice(&read[..end]);
                return Some(text);
            }
            if read.is_empty() {
                return None;
            }
            text.extend_from_slice(read);
        }
        None
    }

    /// Returns the texts whose addresses are in an array up to a zero; none where there is no
    /// array.
    fn texts(&self, address: u64) -> Option<Vec<Vec<u8>>> {
        if address == 0 {
            return Some(Vec::new());
        }
        let mut texts = Vec::new();
        while texts.len() < MOST {
            match self
                .0
                .number(address.wrapping_add(8 * texts.len() as u64))?
            {
                0 => return Some(texts),
                text => texts.push(self.text(text)?),
            }
        }
        None
    }
}
