//! A neighbour of a run: a program of somebody else that swaps, and cannot hurt the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the memory groups are: of version 1, or else of version 2, each with the name of its
/// limit.
const GROUPS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "memory.max"),
];

/// A program in a memory group of its own; both go when it is dropped.
pub struct Neighbour {
    child: Option<Child>,
    group: PathBuf,
}

impl Neighbour {
    /// Starts a program that touches this many megabytes in a group with this limit, and holds
    /// them.
    pub fn start(name: &str, limit: u64, megabytes: u64) -> Self {
        let found = GROUPS
            .iter()
            .find(|(top, _)| Path::new(top).join("cgroup.procs").exists());
        let (top, file) = found.expect("this test needs memory groups");
        let group = Path::new(top).join(name);
        fs::create_dir(&group).expect("a group of this name alone");
        fs::write(group.join(file), limit.to_string()).expect("a limit");
        let script = format!(
            "echo $$ > {}/cgroup.procs; head -c {megabytes}M /dev/zero | tr '\\0' x | (cat; sleep 600) | \
             tail -c {megabytes}M",
            group.display()
        );
        let child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Self {
            child: Some(child.expect("sh")),
            group,
        }
    }

    /// Kills it, and waits until its group is gone.
    pub fn end(mut self) {
        self.clear();
    }

    fn clear(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        for _ in 0..6000 {
            let processes = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
            for pid in processes
                .lines()
                .filter_map(|line| line.parse::<i32>().ok())
            {
                // SAFETY: kill takes two integers; the process is in a group of ours alone.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            let _ = child.try_wait();
            if fs::remove_dir(&self.group).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.wait();
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.clear();
    }
}
