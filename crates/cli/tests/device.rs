//! Where a tier can be: a block device, whose data is left as it is or destroyed on demand, and a
//! directory of btrfs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

mod common;
use common::{Loop, Machine, machine, text};

/// A file system that is mounted, for as long as this is.
struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    /// A new btrfs on the device.
    fn btrfs(device: &Loop, place: &'a Path) -> Self {
        fs::create_dir(place).expect("a directory");
        let works = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output();
            output.is_ok_and(|output| output.status.success())
        };
        let made = works("mkfs.btrfs", &["-q", &device.0])
            && works(
                "mount",
                &["-t", "btrfs", &device.0, place.to_str().unwrap()],
            );
        assert!(made, "this test needs mkfs.btrfs, and btrfs in the kernel");
        Self(place)
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn run_on(machine: &Machine, device: &str, options: &[&str]) -> Output {
    let common = [
        "run",
        "--dram",
        "64M",
        "--footprint",
        "64M",
        "--tier",
        device,
    ];
    machine.terrace(&[&common[..], options, &["--", "true"]].concat())
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn data_is_left_as_it_is_unless_force_says_what_it_destroys() {
    let machine = machine();
    let state = &machine.state;
    let disk = state.path().join("disk");
    let file = File::create_new(&disk).unwrap();
    file.set_len(256 << 20).unwrap();
    let data = [b'x'; 100_000];
    file.write_all_at(&data, 2 << 20).unwrap();
    let device = Loop::over(&disk);

    let refused = run_on(&machine, &device.0, &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(
        text(&refused).contains("from byte 2097152 on"),
        "{}",
        text(&refused)
    );
    let looked = File::open(&device.0).unwrap();
    let mut found = vec![0; data.len()];
    looked.read_exact_at(&mut found, 2 << 20).unwrap();
    assert_eq!(found, data, "the data is still there");
    let mut start = vec![1; 2 << 20];
    looked.read_exact_at(&mut start, 0).unwrap();
    assert!(start.iter().all(|&byte| byte == 0), "and no header is");
    drop(looked);

    // That much is said to those too who asked for quiet.
    let forced = run_on(&machine, &device.0, &["--force", "-q"]);
    assert!(forced.status.success(), "{}", text(&forced));
    let told = "(from byte 2097152 on) is destroyed";
    assert!(text(&forced).contains(told), "{}", text(&forced));
    // It is blank by then, and so needs no force.
    let again = run_on(&machine, &device.0, &[]);
    assert!(again.status.success(), "{}", text(&again));

    // What is in use is refused all the same.
    let on = Command::new("sh")
        .arg("-c")
        .arg(format!("mkswap {0} && swapon {0}", device.0))
        .output()
        .unwrap();
    assert!(on.status.success(), "{}", text(&on));
    let busy = run_on(&machine, &device.0, &["--force"]);
    let off = Command::new("swapoff").arg(&device.0).status();
    assert!(off.unwrap().success());
    assert_eq!(busy.status.code(), Some(2), "{}", text(&busy));
    assert!(
        text(&busy).contains("is swapped to already"),
        "{}",
        text(&busy)
    );
    let names = fs::read_dir(state.path()).unwrap().flatten();
    let names: Vec<_> = names
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["disk"], "nothing was left");
}

/// Which takes a swap file only if it is written in place, and that only if it was empty.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_directory_of_btrfs_is_a_tier() {
    let machine = machine();
    let state = &machine.state;
    let disk = state.path().join("disk");
    File::create_new(&disk).unwrap().set_len(512 << 20).unwrap();
    let device = Loop::over(&disk);
    let place = state.path().join("place");
    let _mount = Mount::btrfs(&device, &place);
    let script = "seq 6000000 | tail -c 40000000 | cksum";
    let alone = Command::new("sh").args(["-c", script]).output().unwrap();
    let common = ["run", "-q", "--dram", "16M", "--footprint", "64M", "--tier"];
    let program = [place.to_str().unwrap(), "--", "sh", "-c", script];
    let output = machine.terrace(&[&common[..], &program].concat());
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(output.stdout, alone.stdout, "no page was lost");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "nothing was left");
}
