//! `make install` and `make uninstall`: the command, its manual pages and completions, what mounts
//! at boot, and the daemon.

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
        // The daemon is of another package: any program stands for it.
        for daemon in ["terraced", "terraced-web"] {
            fs::copy("/bin/true", built.join(daemon)).unwrap();
        }
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
    assert_eq!(files(folder.path()), [""; 0]);
}

/// Returns the files that were installed.
fn files(folder: &Path) -> Vec<String> {
    let mut find = Command::new("find");
    find.current_dir(folder).args([".", "-not", "-type", "d"]);
    let found = printed(find.args(["-not", "-path", "./built/*"]));
    let mut files: Vec<_> = found.lines().map(|file| file[2..].to_owned()).collect();
    files.sort();
    files
}

#[test]
fn the_daemon_is_installed_with_its_units_and_removed_without_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    make("install-daemon", folder.path());
    let installed = [
        "usr/bin/terraced-web",
        "usr/lib/systemd/system/terraced-tier.service",
        "usr/lib/systemd/system/terraced-web.service",
        "usr/lib/systemd/system/terraced-web.socket",
        "usr/lib/systemd/system/terraced.service",
        "usr/lib/sysusers.d/terrace.conf",
        "usr/sbin/terraced",
        "usr/share/doc/terrace/examples/terraced.toml",
    ];
    assert_eq!(files(folder.path()), installed);
    let text = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let unit = text("usr/lib/systemd/system/terraced.service");
    assert!(unit.contains("ExecStart=/usr/sbin/terraced\n"), "{unit}");
    assert!(unit.contains("ExecReload=/usr/bin/terrace reload\n"));
    assert!(
        text("usr/lib/systemd/system/terraced-web.service")
            .contains("ExecStart=/usr/bin/terraced-web\n")
    );
    let group = text("usr/lib/sysusers.d/terrace.conf");
    assert!(group.lines().any(|line| line == "g terrace -"), "{group}");

    let written = folder.path().join("etc/terrace/mine.toml");
    fs::create_dir_all(written.parent().unwrap()).unwrap();
    fs::write(written, "").unwrap();
    make("uninstall", folder.path());
    assert_eq!(files(folder.path()), ["etc/terrace/mine.toml"]);
    assert!(!folder.path().join("usr/share/doc/terrace").exists());
}
