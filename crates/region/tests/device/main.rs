//! Regions over block devices, which are taken and given back. No test here forks: children would
//! have their descriptors for a while, and keep the devices in use.

#[path = "../common/loop_device.rs"]
mod loop_device;
#[path = "../common/oracle.rs"]
mod oracle;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

use terrace_base::Bytes;
use terrace_base::block::{Header, content, header};
use terrace_policy::write;
use terrace_region::slow::device::Device;
use terrace_region::slow::disk::Disk;
use terrace_region::{Extension, Settings};

use loop_device::Loop;
use oracle::exercise;

const SIZE: u64 = 16 << 20;

fn is_blank(device: &Loop) -> bool {
    let file = File::open(&device.path).unwrap();
    content::first_data(&file, Bytes(SIZE)).unwrap().is_none()
}

fn refusal(device: &Loop) -> String {
    Device::take(&device.path).unwrap_err().to_string()
}

/// Schemes write lines of 64 bytes, and the device takes whole blocks alone.
#[test]
#[ignore = "needs root: userfaultfd and loop devices"]
fn on_a_device_with_blocks_of_512_and_4096_bytes() {
    for block in [512, 4096] {
        let device = Loop::new(SIZE, block);
        for spec in ["sectors", "mfwr:pin=off"] {
            let disk = Disk::on_device(&device.path).unwrap();
            let settings = Settings {
                write: write::Spec::parse(spec).unwrap(),
                ..Settings::new(Bytes::of_pages(200), Box::new(disk))
            };
            let extension = Extension::start(settings).unwrap();
            let mut region = extension.map(Bytes::of_pages(2000)).unwrap();
            exercise(&mut region, 4, 1500, 4);
            let figures = extension.figures();
            assert!(figures.fetches > 500, "{spec}: {figures:?}");
            assert_eq!(figures.write_errors, 0, "{spec}: {figures:?}");
            assert!(
                Header::read(&File::open(&device.path).unwrap())
                    .unwrap()
                    .unwrap()
                    .is_ours()
            );
            drop(region);
            drop(extension);
            assert!(is_blank(&device), "{spec}");
        }
    }
}

/// Pages for which there is no place stay in DRAM, and no byte is wrong.
#[test]
#[ignore = "needs root: userfaultfd and loop devices"]
fn on_a_device_that_is_too_small() {
    let device = Loop::new(1 << 20, 512);
    let disk = Disk::on_device(&device.path).unwrap();
    let extension = Extension::start(Settings::new(Bytes::of_pages(40), Box::new(disk))).unwrap();
    let mut region = extension.map(Bytes::of_pages(600)).unwrap();
    exercise(&mut region, 4, 1500, 5);
    let figures = extension.figures();
    assert!(figures.write_errors > 0 && figures.kept > 0, "{figures:?}");
}

#[test]
#[ignore = "needs root: loop devices"]
fn a_device_is_taken_once_and_not_with_data_on_it() {
    let device = Loop::new(SIZE, 512);
    let taken = Device::take(&device.path).unwrap();
    assert!(refusal(&device).contains("is in use; name one that is free"));
    drop(taken);
    assert!(is_blank(&device));

    let file = File::options().write(true).open(&device.path).unwrap();
    file.write_all_at(b"of someone", 5 << 20).unwrap();
    assert!(refusal(&device).contains("holds data (from byte 5242880 on)"));
    file.write_all_at(&[0; 10], 5 << 20).unwrap();
    drop(file);

    let made = Command::new("mkswap").arg(&device.path).output().unwrap();
    assert!(made.status.success());
    assert!(refusal(&device).contains("holds data (swap)"));
    let small = Loop::new(64 << 10, 512);
    assert!(refusal(&small).contains("are needed; name a larger one"));
}

/// A killed process clears nothing.
#[test]
#[ignore = "needs root: loop devices"]
fn a_device_that_a_killed_process_left_is_taken_again() {
    let device = Loop::new(SIZE, 512);
    let left = File::options().write(true).open(&device.path).unwrap();
    header::write(&left, Bytes(SIZE), uuid::Uuid::new_v4()).unwrap();
    left.write_all_at(b"a page of a program", 9 << 20).unwrap();
    drop(left);
    drop(Device::take(&device.path).unwrap());
    assert!(is_blank(&device));
}
