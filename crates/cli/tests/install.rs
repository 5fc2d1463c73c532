//! `make install` and `make uninstall`: the command, its manual pages and completions, and what
//! mounts at boot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a target of the Makefile that installs below `folder`, of what this test was built with.
fn make(target: &str, folder: &Path) {
    let output = Command::new("make")
        .args([target, "--no-print-directory", "PREFIX=/usr", "-C"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .arg(format!("DESTDIR={}", folder.display()))
        .arg(format!("BUILT={}", built(folder).display()))
        // Of a make that runs this test.
        .env_remove("MAKEFLAGS")
        .output()
        .expect("make");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{target}: {said}");
}

/// A folder with the command, the plug-in and the library, as a release build has them.
fn built(folder: &Path) -> PathBuf {
    let built = folder.join("built");
    if !built.exists() {
        let terrace = Path::new(env!("CARGO_BIN_EXE_terrace"));
        fs::create_dir(&built).unwrap();
        fs::copy(terrace, built.join("terrace")).unwrap();
        for library in [
            "libterrace_recorder_plugin.so",
            "libterrace_preload_extended.so",
            "libterrace_preload_objects.so",
        ] {
            let made = terrace.with_file_name("deps").join(library);
            fs::copy(made, built.join(library)).unwrap();
        }
    }
    built
}

fn printed(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {said}");
    String::from_utf8(stdout).unwrap()
}

/// What bash offers for a command line of which the last word is begun.
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    let complete = format!(
        "source '{}'; complete -p terrace >/dev/null || exit 1
         COMP_WORDS=({}) COMP_CWORD={}
         _terrace terrace \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
        words.len() - 1
    );
    let found = printed(Command::new("bash").args(["--norc", "-c", &complete]));
    found.lines().map(str::to_owned).collect()
}

#[test]
fn what_is_installed_works_and_is_removed_again() {
    let folder = tempfile::tempdir().unwrap();
    make("install-command", folder.path());
    let usr = folder.path().join("usr");
    let version = printed(Command::new(usr.join("bin/terrace")).arg("--version"));
    assert!(version.starts_with("terrace "));
    assert!(
        usr.join("lib/terrace/libterrace_recorder_plugin.so")
            .is_file()
    );
    let library = usr.join("lib/terrace/libterrace_preload_extended.so");
    assert!(library.is_file());

    let pages = usr.join("share/man/man1");
    let page =
        |name: &str| fs::read_to_string(pages.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(page("terrace.1").contains("terrace\\-run(1)"));
    assert!(page("terrace-run.1").contains("\\-\\-dram"));
    assert!(page("terrace-sim-pages.1").contains("\\-\\-replacement"));
    // Hidden commands have no page.
    assert!(!pages.join("terrace-probe.1").exists() && !pages.join("terrace-manual.1").exists());

    let bash = usr.join("share/bash-completion/completions/terrace");
    assert_eq!(offered(&bash, &["terrace", "cal"]), ["calibrate"]);
    assert_eq!(offered(&bash, &["terrace", "sim", "p"]), ["pages"]);
    let options = offered(&bash, &["terrace", "sim", "pages", "--inclusion", "''"]);
    assert_eq!(options, ["inclusive", "exclusive"]);
    let zsh = fs::read_to_string(usr.join("share/zsh/site-functions/_terrace")).unwrap();
    assert!(zsh.starts_with("#compdef terrace\n"));
    let fish =
        fs::read_to_string(usr.join("share/fish/vendor_completions.d/terrace.fish")).unwrap();
    assert!(fish.contains("complete -c terrace"));

    let sbin = folder.path().join("sbin");
    for helper in ["mount.terrace", "mount.fuse.terrace"] {
        let output = Command::new(sbin.join(helper)).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{helper}: {output:?}");
    }
    let unit = fs::read_to_string(usr.join("lib/systemd/system/terrace-mount@.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/terrace mount "), "{unit}");

    make("uninstall", folder.path());
    let left = printed(
        Command::new("find")
            .args([&usr, &sbin])
            .args(["-not", "-type", "d"]),
    );
    assert_eq!(left, "");
}
