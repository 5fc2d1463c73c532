//! What runs when a program is started, and how the emulator is told to run it.
//!
//! The kernel looks at a file's first bytes and runs either the file or, where it begins with
//! `#!`, the interpreter named there. The emulator runs only the first kind, so this is done
//! here, when a recording starts and when the recorded program starts another.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a file that the kernel looks at (`BINPRM_BUF_SIZE`).
const LOOKED_AT: u64 = 256;
/// How many times in a row an interpreter may be a script itself.
const INTERPRETERS: usize = 5;

const SET_USER_OR_GROUP: u32 = libc::S_ISUID | libc::S_ISGID;
const ELF_CLASS: usize = 4;
const ELF_MACHINE: usize = 18;
const CLASS_64: u8 = 2;
const MACHINE_X86_64: u16 = 62;

/// A program that the emulator can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file, an ELF file of x86-64.
    pub file: PathBuf,
    /// Its arguments, beginning with its name.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Returns the program that runs when `file` is started with `arguments`.
    ///
    /// # Errors
    /// Returns a sentence that says why the emulator cannot run it.
    pub fn of(file: &Path, arguments: &[OsString]) -> Result<Self, String> {
        let mut program = Self {
            file: file.to_owned(),
            arguments: arguments.to_vec(),
        };
        for _ in 0..=INTERPRETERS {
            let name = program.file.display();
            let (head, mode) =
                head(&program.file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
            if mode & SET_USER_OR_GROUP != 0 {
                return Err(format!(
                    "{name} runs with its owner's rights, which the emulator cannot give it; record \
                     a copy without the set-user-id bit"
                ));
            }
            if head.starts_with(b"\x7fELF") {
                return match is_x86_64(&head) {
                    true => Ok(program),
                    false => Err(format!(
                        "{name} is no program of x86-64 Linux; others cannot be recorded"
                    )),
                };
            }
            let interpreter = interpreter(&head)
                .ok_or_else(|| format!("{name} is no program; a script needs a #! line"))?;
            program = program.by(interpreter);
        }
        Err(format!(
            "the #! line of {} leads from script to script without an end",
            file.display()
        ))
    }

    /// Returns the interpreter, with the script as its argument.
    fn by(self, interpreter: Vec<OsString>) -> Self {
        let file = PathBuf::from(&interpreter[0]);
        let mut arguments = interpreter;
        arguments.push(self.file.into_os_string());
        arguments.extend(self.arguments.into_iter().skip(1));
        Self { file, arguments }
    }
}

/// Returns the first bytes of a file, and its mode.
fn head(file: &Path) -> io::Result<(Vec<u8>, u32)> {
    let file = File::open(file)?;
    let mode = file.metadata()?.mode();
    let mut head = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut head)?;
    Ok((head, mode))
}

fn is_x86_64(head: &[u8]) -> bool {
    let machine = head.get(ELF_MACHINE..ELF_MACHINE + 2);
    head.get(ELF_CLASS) == Some(&CLASS_64) && machine == Some(&MACHINE_X86_64.to_le_bytes())
}

/// Parses a `#!` line: the interpreter, and at most one argument, which may have blanks.
fn interpreter(head: &[u8]) -> Option<Vec<OsString>> {
    let line = head.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let words = [name, rest.trim_ascii()];
    let words = words.iter().filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(|word| OsStr::from_bytes(word).into()).collect();
    (!words.is_empty()).then_some(words)
}

/// The emulator with the plug-in, and its command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    /// `qemu-x86_64`.
    pub file: PathBuf,
    /// The value of `-plugin`, from [`Emulator::plugin`].
    pub plugin: OsString,
}

impl Emulator {
    /// Returns the value of `-plugin`: the library, and the pool that it writes to.
    pub fn plugin(library: &Path, pool: &str) -> OsString {
        // A comma ends a value; a double one stands for itself.
        let mut text = Vec::new();
        for &byte in library.as_os_str().as_bytes() {
            text.extend(std::iter::repeat_n(byte, 1 + usize::from(byte == b',')));
        }
        text.extend(format!(",{ARGUMENT}{pool}").into_bytes());
        OsString::from_vec(text)
    }

    /// Returns the arguments that run `program`, beginning with the emulator's name.
    pub fn arguments(&self, program: &Program) -> Vec<OsString> {
        let file = program.file.as_os_str();
        let name = program.arguments.first().map_or(file, OsString::as_os_str);
        let mut arguments: Vec<OsString> = [
            self.file.as_os_str(),
            OsStr::new("-plugin"),
            &self.plugin,
            OsStr::new("-0"),
            name,
        ]
        .map(OsStr::to_owned)
        .into();
        // A name that begins with a dash would be taken for an option.
        arguments.push(match file.as_bytes().first() {
            Some(b'-') => Path::new(".").join(file).into(),
            _ => file.to_owned(),
        });
        arguments.extend(program.arguments.iter().skip(1).cloned());
        arguments
    }

    /// Returns the emulator that runs this process, and the file of the program that it runs, from
    /// the command line of [`Emulator::arguments`]; none where it was started in another way.
    pub fn of_this_process() -> Option<(Self, PathBuf)> {
        let line = std::fs::read("/proc/self/cmdline").ok()?;
        let words: Vec<&OsStr> = line.split(|&b| b == 0).map(OsStr::from_bytes).collect();
        let (plugin, program) = Self::parse(&words)?;
        let emulator = Self {
            file: std::fs::read_link("/proc/self/exe").ok()?,
            plugin: plugin.to_owned(),
        };
        Some((emulator, std::fs::canonicalize(program).ok()?))
    }

    /// Returns the file of the program that a command line of [`Emulator::arguments`] names; none
    /// of another one.
    pub fn program_of<'a>(words: &[&'a OsStr]) -> Option<&'a OsStr> {
        Self::parse(words).map(|(_, program)| program)
    }

    /// Returns plug-in and program of a command line.
    fn parse<'a>(words: &[&'a OsStr]) -> Option<(&'a OsStr, &'a OsStr)> {
        match *words {
            [_, option, plugin, _, _, program, ..] if option == "-plugin" => {
                Some((plugin, program))
            }
            _ => None,
        }
    }
}

/// The plug-in's argument that names the pool.
pub const ARGUMENT: &str = "pool=";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn elf(class: u8, machine: u16) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..4].copy_from_slice(b"\x7fELF");
        head[ELF_CLASS] = class;
        head[ELF_MACHINE..ELF_MACHINE + 2].copy_from_slice(&machine.to_le_bytes());
        head
    }

    fn of(content: &[u8], mode: u32) -> Result<Program, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, content).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        Program::of(&file, &words(&["name", "x", "y"]))
    }

    #[test]
    fn an_elf_file_runs_by_itself() {
        let program = of(&elf(CLASS_64, MACHINE_X86_64), 0o755).unwrap();
        assert_eq!(program.arguments, words(&["name", "x", "y"]));
    }

    #[test]
    fn a_script_runs_its_interpreter() {
        let directory = tempfile::tempdir().unwrap();
        let in_directory = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let (first, second, third) = (in_directory("1"), in_directory("2"), in_directory("3"));
        std::fs::write(&first, elf(CLASS_64, MACHINE_X86_64)).unwrap();
        std::fs::write(&second, format!("#! {first}  -a b \nrest")).unwrap();
        std::fs::write(&third, format!("#!{second}\n")).unwrap();
        let program = Program::of(Path::new(&third), &words(&["name", "x"])).unwrap();
        assert_eq!(program.file, Path::new(&first));
        assert_eq!(
            program.arguments,
            words(&[&first, "-a b", &second, &third, "x"])
        );
    }

    #[test]
    fn what_the_emulator_cannot_run_is_told_apart() {
        let refused = |program: Result<Program, String>, why: &str| {
            let refusal = program.unwrap_err();
            assert!(refusal.contains(why), "{refusal}");
        };
        let foreign = "is no program of x86-64 Linux";
        refused(of(&elf(1, 3), 0o755), foreign);
        refused(of(&elf(2, 183), 0o755), foreign);
        refused(of(b"\x7fELF", 0o755), foreign);
        refused(of(b"echo", 0o755), "needs a #! line");
        refused(of(b"#! \n", 0o755), "needs a #! line");
        refused(of(b"", 0o755), "needs a #! line");
        refused(of(&elf(CLASS_64, MACHINE_X86_64), 0o4755), "owner's rights");
        let missing = Program::of(Path::new("/no/such/file"), &[]);
        refused(missing, "cannot read /no/such/file: No such file");
    }

    #[test]
    fn a_script_that_interprets_itself_ends() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, format!("#!{}\n", file.display())).unwrap();
        let refusal = Program::of(&file, &[]).unwrap_err();
        assert!(refusal.contains("without an end"), "{refusal}");
    }

    #[test]
    fn commas_and_dashes_are_kept_from_the_emulator() {
        let plugin = Emulator::plugin(Path::new("/a,b/c.so"), "/proc/1/fd/3");
        assert_eq!(plugin, "/a,,b/c.so,pool=/proc/1/fd/3");
        let emulator = Emulator {
            file: "/usr/bin/qemu-x86_64".into(),
            plugin,
        };
        let program = Program {
            file: "-file".into(),
            arguments: words(&["-name", "-x"]),
        };
        let arguments = emulator.arguments(&program);
        assert_eq!(arguments[3..], words(&["-0", "-name", "./-file", "-x"]));
    }

    proptest! {
        #[test]
        fn any_file_has_an_answer(content: Vec<u8>) {
            let _ = of(&content, 0o755);
            let _ = of(&[b"#!", &content[..]].concat(), 0o755);
        }
    }
}
