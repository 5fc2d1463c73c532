//! Pages of a region that the kernel swaps out itself, as it does wherever a machine has a swap
//! area and little free memory.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use std::{fs, io};

use tempfile::TempPath;
use terrace_base::Bytes;
use terrace_region::{Extension, Settings};

use crate::alone::{self, is_inside};
use crate::{forks, oracle};

const SWAP_AREA: &str = "256M";

#[test]
#[ignore = "needs root: userfaultfd, swapon, control groups"]
fn what_the_kernel_swaps_out_comes_back_and_leaves_as_other_pages_do() {
    while_swapped_out(
        "swapped::what_the_kernel_swaps_out_comes_back_and_leaves_as_other_pages_do",
        || {
            for (name, slow) in forks::slow_memories() {
                let settings = Settings::new(Bytes::of_pages(100), slow);
                let extension = Extension::start(settings).unwrap();
                let mut region = extension.map(Bytes::of_pages(600)).unwrap();
                oracle::exercise(&mut region, 2, 2500, 12);
                let figures = extension.figures();
                assert_eq!(figures.kept, 0, "{name}: {figures:?}");
                assert!(figures.peak_dram <= 100, "{name}: {figures:?}");
            }
        },
    );
}

#[test]
#[ignore = "needs root: userfaultfd, swapon, control groups"]
fn children_go_on_with_what_the_kernel_swaps_out() {
    while_swapped_out(
        "swapped::children_go_on_with_what_the_kernel_swaps_out",
        || {
            for (_, slow) in forks::slow_memories() {
                let settings = Settings::new(Bytes::of_pages(60), slow);
                let extension = Extension::start(settings).unwrap();
                let mut region = extension.map(Bytes::of_pages(600)).unwrap();
                forks::exercise(&mut region, 2, 600, 3);
            }
        },
    );
}

/// Does something in a process of its own, which runs this test again, while the kernel reclaims
/// its memory over and over.
fn while_swapped_out(test: &str, act: impl FnOnce()) {
    if is_inside() {
        return act();
    }
    let _area = SwapArea::new();
    let group = Group::new();
    let before = pages_swapped_out();
    let mut process = group.run(test);
    let status = loop {
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        group.reclaim();
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
    let swapped_out = pages_swapped_out() - before;
    assert!(swapped_out > 0, "the kernel has swapped nothing out");
}

/// A swap area in a file of its own; given back when it is dropped.
struct SwapArea(TempPath);

impl SwapArea {
    fn new() -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = tempfile::NamedTempFile::new_in(directory).unwrap();
        let area = Self(file.into_temp_path());
        area.call("fallocate -l $2 $1 && mkswap $1 && swapon $1");
        area
    }

    fn call(&self, script: &str) {
        let called = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(&self.0)
            .arg(SWAP_AREA)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&called.stderr);
        assert!(
            called.status.success(),
            "this test needs a swap area: {said}"
        );
    }
}

impl Drop for SwapArea {
    fn drop(&mut self) {
        self.call("swapoff $1");
    }
}

/// A control group for memory, of version 1 or 2; removed when it is dropped.
struct Group {
    directory: PathBuf,
    /// The file that has the kernel reclaim, and what is written to it.
    reclaim: (&'static str, &'static str),
}

impl Group {
    fn new() -> Self {
        let of_version_1 = Path::new("/sys/fs/cgroup/memory");
        let (parent, reclaim) = match of_version_1.exists() {
            true => (of_version_1, ("memory.force_empty", "1")),
            false => (Path::new("/sys/fs/cgroup"), ("memory.reclaim", "64M")),
        };
        let name = format!("terrace-swapped-{:?}", std::thread::current().id());
        let directory = parent.join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&directory).expect("this test needs control groups");
        assert!(
            directory.join(reclaim.0).exists(),
            "this test needs the memory controller in {}",
            parent.display()
        );
        Self { directory, reclaim }
    }

    /// Runs a test of this executable in the group.
    fn run(&self, test: &str) -> Child {
        let processes = self.directory.join("cgroup.procs");
        let mut command = alone::command(test);
        // SAFETY: the child writes to a file, and allocates nothing but a buffer of the path before
        // the fork.
        unsafe { command.pre_exec(move || fs::write(&processes, "0")) };
        command.spawn().unwrap()
    }

    /// Has the kernel reclaim. It says by an error that it has not found all that was asked for.
    fn reclaim(&self) {
        let (file, text) = self.reclaim;
        let _: io::Result<()> = fs::write(self.directory.join(file), text);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

fn pages_swapped_out() -> u64 {
    let counters = fs::read_to_string("/proc/vmstat").unwrap();
    let counter = counters
        .lines()
        .find_map(|line| line.strip_prefix("pswpout "));
    counter.unwrap().parse().unwrap()
}
