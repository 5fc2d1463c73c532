//! `terrace mount --control` as it is called.

use super::*;

impl Place {
    /// Tells the mount something; returns what is said, and the exit code.
    fn control(&self, words: &[&str]) -> (String, Option<i32>) {
        let mounted = self.text("mounted");
        let output = self.terrace(&[&["mount", "--control", &mounted], words].concat());
        let said = [output.stdout, output.stderr].concat();
        (
            String::from_utf8_lossy(&said).into_owned(),
            output.status.code(),
        )
    }

    fn told(&self, words: &[&str]) -> String {
        let (said, code) = self.control(words);
        assert_eq!(code, Some(0), "{words:?}: {said}");
        said
    }

    fn control_json(&self, words: &[&str]) -> Value {
        let told = self.told(&[words, &["--json", "-"]].concat());
        checked(serde_json::from_str(&told).unwrap())
    }
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_mount_is_told_what_to_keep_and_shows_it() {
    let place = Place::new();
    fs::create_dir_all(place.path("source/db/deep")).unwrap();
    place.file("db/a", MIB);
    // More than one request warms.
    place.file("db/deep/b", 20 * MIB);
    place.file("c.iso", MIB);
    std::os::unix::fs::symlink("db", place.path("source/link")).unwrap();
    let mount = place.mount(&["--admission", "size:most=1"]);
    let warmed = place.told(&["warm", "db"]);
    let sentence =
        "2 files of 21.0 MiB: 5,376 of 5,376 pages are on flash, 0 of them from before.\n";
    assert_eq!(warmed, sentence);
    assert_eq!(place.told(&["exclude", "*.iso"]), "");
    let warmed = place.told(&["warm", "."]);
    for part in [
        "3 files of 22.0 MiB: 5,376 of 5,632 pages are on flash, 5,376 of them from before.\n",
        "256 pages are not, because their files are excluded.\n",
        "1 links and other things that are no files were passed over.\n",
    ] {
        assert!(warmed.contains(part), "{warmed}");
    }
    assert_eq!(place.told(&["pin", &place.text("mounted/db")]), "");
    let document = place.control_json(&["list"]);
    assert_eq!(document["schema"], "terrace.mount-control/1");
    assert_eq!(document["held"]["rules"]["pinned"][0], "db");
    assert_eq!(document["held"]["pinned_pages"], 5376);
    let list = place.told(&["list"]);
    for part in ["pinned", "db", "excluded", "*.iso", "5,376 of "] {
        assert!(list.contains(part), "{list}");
    }
    let limit = "are pinned, and";
    assert!(!list.contains(limit), "{list}");
    place.told(&["size", "9M"]);
    assert_eq!(fs::metadata(place.path("flash")).unwrap().len(), 9 << 20);
    let list = place.told(&["list"]);
    assert!(
        list.contains(limit) && list.contains("three quarters"),
        "{list}"
    );
    place.told(&["size", "64M"]);
    let forgotten = place.told(&["flush", "db/a"]);
    assert_eq!(forgotten, "The pages of 1 files are forgotten.\n");
    place.told(&["unpin", "db"]);
    place.told(&["flush"]);
    let document = place.control_json(&["warm", "db"]);
    assert_eq!(document["done"]["warmed"]["admitted"], 5376);
    mount.end(Signal::TERM);
    // Rules hold in the next mount.
    let mount = place.mount(&["--admission", "all"]);
    let document = place.control_json(&["list"]);
    assert_eq!(document["held"]["rules"]["excluded"][0], "*.iso");
    mount.end(Signal::TERM);
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_command_that_cannot_be_followed_is_refused_in_a_sentence() {
    let place = Place::new();
    place.file("a", 4096);
    let mounted = place.text("mounted");
    let nothing = place.refused(&["--control", &mounted, "list"], 2);
    assert!(nothing.contains("has mounted nothing on"), "{nothing}");
    let mount = place.mount(&[]);
    for (words, says) in [
        (&["unpin", "a"][..], "a is not pinned itself"),
        (&["include", "*.iso"], "`*.iso` is not excluded"),
        (
            &["include", "larger-than"],
            "no file is excluded for its size",
        ),
        (&["exclude", "a["], "`a[` is no pattern"),
        (&["pin", "none"], "none: No such file"),
        (&["warm", "/"], "is not below"),
        (&["warm"], "`warm` needs something"),
        (&["size", "4K"], "too small"),
        (&["size", "2T"], "no room"),
        (&["forget", "a"], "`forget` is no command"),
    ] {
        let words = [&["--control", &mounted], words].concat();
        let error = place.refused(&words, 2);
        assert!(error.contains(says), "{error}");
    }
    mount.end(Signal::TERM);
    place.assert_as_found();
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn rules_that_do_not_check_are_gone_and_that_is_said() {
    let place = Place::new();
    let mount = place.mount(&[]);
    place.told(&["exclude", "*.iso"]);
    mount.end(Signal::TERM);
    let flash = File::options()
        .write(true)
        .open(place.path("flash"))
        .unwrap();
    flash.write_all_at(b"x", 512 + 20).unwrap();
    let mount = place.mount(&[]);
    let list = place.told(&["list"]);
    assert!(list.contains("none") && !list.contains("*.iso"), "{list}");
    let (_, said) = mount.end(Signal::TERM);
    assert!(said.contains("does not check and is gone"), "{said}");
}

/// With fewer descriptors than files, as root and as one who may not open files by their handles.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn more_files_than_descriptors_are_read_and_listed() {
    const FILES: usize = 2000;
    for without in ["-sys_resource", "-sys_resource,-dac_read_search"] {
        let place = Place::new();
        for number in 0..FILES {
            fs::write(
                place.path("source").join(number.to_string()),
                number.to_string(),
            )
            .unwrap();
        }
        std::thread::sleep(SETTLED);
        let mut words = vec!["--bounding-set", without, "prlimit", "--nofile=300:300"];
        let terrace = env!("CARGO_BIN_EXE_terrace");
        let (source, mounted) = (place.text("source"), place.text("mounted"));
        words.extend([
            terrace,
            "mount",
            "-q",
            "--attributes",
            "1h",
            &source,
            &mounted,
        ]);
        let mut command = Command::new("setpriv");
        command
            .args(words)
            .env("TERRACE_STATE_DIR", place.path("state"));
        let mut child = command.spawn().unwrap();
        wait_for("the mount", || place.is_mounted());
        for _ in 0..2 {
            for number in 0..FILES {
                let read = fs::read_to_string(place.path("mounted").join(number.to_string()));
                assert_eq!(read.unwrap(), number.to_string());
            }
            let listed = fs::read_dir(place.path("mounted")).unwrap();
            let bytes = listed.map(|entry| entry.unwrap().metadata().unwrap().len());
            assert_eq!(bytes.sum::<u64>(), 10 + 90 * 2 + 900 * 3 + 1000 * 4);
        }
        // What is known by a name that others have taken for another file is not that file.
        fs::rename(place.path("source/1"), place.path("source/2")).unwrap();
        let read = fs::read_to_string(place.path("mounted/2"));
        assert!(read.is_err() || read.unwrap() != "2");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        child.wait().unwrap();
    }
}
