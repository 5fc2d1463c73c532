use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_appears_when_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    for text in ["whole", "again"] {
        let mut output = Output::create(&path).unwrap();
        output.write_all(text.as_bytes()).unwrap();
        assert!(fs::read_to_string(&path).map_or(true, |old| old != text));
        output.complete().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(directory.path()), ["a.csv"]);
    }
}

#[test]
fn what_is_not_completed_leaves_the_old_file_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    fs::write(&path, "old").unwrap();
    let mut output = Output::create(&path).unwrap();
    output.write_all(b"half").unwrap();
    drop(output);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(directory.path()), ["a.csv"]);
}

/// As on file systems that have no files without a name.
#[test]
fn a_file_with_a_name_of_its_own_is_as_good() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    let begin = || {
        let (file, temporary) = unnamed::named(directory.path()).unwrap();
        Output::new(&path, file, Place::New(path.clone(), Some(temporary)))
    };
    let output = begin();
    assert_eq!(names(directory.path()).len(), 1);
    drop(output);
    assert!(names(directory.path()).is_empty());
    begin().finish(b"whole").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    assert_eq!(names(directory.path()), ["a.csv"]);
}

#[test]
fn a_link_stays_and_leads_to_the_new_file() {
    let directory = tempfile::tempdir().unwrap();
    let (link, file) = (directory.path().join("link"), directory.path().join("file"));
    symlink("file", &link).unwrap();
    for text in ["first", "second"] {
        Output::save(&link, text.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }
}

#[test]
fn what_others_may_do_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    fs::write(&path, "").unwrap();
    for (before, after) in [(0o640, 0o640), (0o600, 0o600), (0o666, 0o644)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
        Output::save(&path, b"new").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, after);
    }
}

/// In a process of its own, for the umask is one of processes.
#[test]
fn nobody_else_may_change_a_new_file() {
    const NAME: &str = "output::tests::nobody_else_may_change_a_new_file";
    const FILE: &str = "TERRACE_TEST_OUTPUT_MODE";
    if let Some(file) = std::env::var_os(FILE) {
        Output::save(Path::new(&file), b"new").unwrap();
        let (_, named) = unnamed::named(parent(Path::new(&file))).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!(mode(&named), mode(Path::new(&file)));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.csv");
    for (umask, mode) in [("000", 0o644), ("022", 0o644), ("077", 0o600)] {
        let ended = Command::new("sh")
            .args(["-c", "umask \"$2\"; exec \"$0\" --exact \"$1\""])
            .arg(std::env::current_exe().unwrap())
            .args([NAME, umask])
            .env(FILE, &file)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, mode, "{umask}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_pipe_is_written_only_if_somebody_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let errors = [
        Output::create(&pipe).unwrap_err(),
        open_now(&pipe).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("nobody reads"), "{error}");
        assert_eq!(error.kind, crate::error::Kind::Usage);
    }
    // More than a pipe holds: its writer waits for the reader.
    let bytes = vec![7; 1 << 20];
    let there = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&pipe)
        .unwrap();
    let mut output = Output::create(&pipe).unwrap();
    let reader = pipe.clone();
    let reader = std::thread::spawn(move || fs::read(reader).unwrap());
    output.write_all(&bytes[..1000]).unwrap();
    output.write_all(&bytes[1000..]).unwrap();
    drop((output, there));
    assert_eq!(reader.join().unwrap(), bytes);
}

#[test]
fn a_file_that_is_read_meanwhile_has_its_name_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lines");
    for _ in 0..2 {
        let mut file = open_now(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        file.write_all(b"line").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"line");
    }
    for wrong in [directory.path(), Path::new(""), Path::new("/no/such/file")] {
        let error = open_now(wrong).unwrap_err();
        assert_eq!(error.kind, crate::error::Kind::Usage, "{error}");
    }
}

#[test]
fn what_cannot_be_written_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let circle = directory.path().join("circle");
    symlink("circle", &circle).unwrap();
    let slash = directory.path().join("none/");
    for (path, why) in [
        (directory.path(), "is not a regular file"),
        (Path::new(".."), "is not a regular file"),
        (Path::new("/"), "is not a regular file"),
        (&slash, "is not a regular file"),
        (Path::new("/no/such/file"), "there is no directory for it"),
        (Path::new("/etc/hostname/file"), "cannot write"),
        (Path::new(""), "is not a regular file"),
        (&circle, "cannot write"),
    ] {
        let error = Output::create(path).expect_err(&path.display().to_string());
        assert_eq!(error.kind, crate::error::Kind::Usage);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn devices_are_written_as_they_are() {
    Output::save(Path::new("/dev/null"), b"text").unwrap();
    let error = Output::save(Path::new("/dev/full"), b"text").unwrap_err();
    assert_eq!(error.kind, crate::error::Kind::Failure);
    let expected = "cannot write `/dev/full`: there is no room left on its file system";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_pipe_without_a_reader_is_no_failure() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let file = File::from(std::os::fd::OwnedFd::from(writer));
    let mut output = Output::new(Path::new("pipe"), file, Place::There(false));
    output.write_all(&[0; 1 << 20]).unwrap();
    output.complete().unwrap();
}

/// In a process of its own, for the limit is one of processes.
#[test]
fn beyond_the_limit_of_file_sizes_is_an_error() {
    const NAME: &str = "output::tests::beyond_the_limit_of_file_sizes_is_an_error";
    const FILE: &str = "TERRACE_TEST_OUTPUT";
    if let Some(file) = std::env::var_os(FILE) {
        survive_size_limit();
        let error = Output::save(Path::new(&file), &[0; 1 << 16]).unwrap_err();
        assert!(error.to_string().contains("ulimit -f"), "{error}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("large");
    let test = std::env::current_exe().unwrap();
    let ended = Command::new("sh")
        .args(["-c", "ulimit -f 16; exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(test)
        .arg(NAME)
        .env(FILE, &file)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(names(directory.path()).is_empty());
}
