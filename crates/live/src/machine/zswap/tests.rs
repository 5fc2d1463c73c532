use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;

/// Files in place of the parameters of Linux 6.18, and the directory of the lock.
fn machine() -> (tempfile::TempDir, PathBuf) {
    let state = tempfile::tempdir().unwrap();
    let parameters = state.path().join("parameters");
    fs::create_dir(&parameters).unwrap();
    for (name, value) in [
        ("compressor", "lzo"),
        ("max_pool_percent", "20"),
        ("accept_threshold_percent", "90"),
        ("shrinker_enabled", "N"),
        ("enabled", "N"),
    ] {
        fs::write(parameters.join(name), format!("{value}\n")).unwrap();
    }
    (state, parameters)
}

fn set(parameters: &Path, directory: &Path, spec: &str) -> Result<Zswap> {
    let mut zswap = Zswap::take(parameters, directory)?;
    zswap.set_all(&Spec::parse(spec).unwrap())?;
    Ok(zswap)
}

#[test]
fn what_is_set_is_put_back() {
    let (state, parameters) = machine();
    for (spec, meanwhile) in [
        ("auto", "lz4:pool=20,accept=90,shrinker=off"),
        (
            "zstd:pool=35,shrinker=on,accept=80",
            "zstd:pool=35,accept=80,shrinker=on",
        ),
        ("off", "off"),
    ] {
        let zswap = set(&parameters, state.path(), spec).unwrap();
        assert_eq!(described(&parameters), meanwhile);
        assert_eq!(zswap.notice(), None);
        drop(zswap);
        assert_eq!(described(&parameters), "off");
        assert_eq!(value(&parameters, "compressor").unwrap(), "lzo");
        assert_eq!(value(&parameters, "max_pool_percent").unwrap(), "20");
    }
    fs::write(parameters.join("enabled"), "Y").unwrap();
    let zswap = set(&parameters, state.path(), "off").unwrap();
    assert_eq!(described(&parameters), "off");
    drop(zswap);
    let found = "lzo:pool=20,accept=90,shrinker=off";
    assert_eq!(described(&parameters), found);
}

#[test]
fn one_owner_at_a_time() {
    let (state, parameters) = machine();
    let owner = set(&parameters, state.path(), "lz4").unwrap();
    let error = set(&parameters, state.path(), "off").unwrap_err();
    assert!(error.to_string().contains("another run"), "{error}");
    assert_ne!(described(&parameters), "off", "the first is untouched");
    drop(owner);
    drop(set(&parameters, state.path(), "off").unwrap());
}

#[test]
fn after_a_kill_the_next_owner_puts_back_first() {
    let (state, parameters) = machine();
    let killed = set(&parameters, state.path(), "zstd:pool=40").unwrap();
    killed.knobs.kill();
    assert!(described(&parameters).starts_with("zstd:pool=40"));
    let next = Zswap::take(&parameters, state.path()).unwrap();
    assert_eq!(described(&parameters), "off");
    assert_eq!(value(&parameters, "compressor").unwrap(), "lzo");
    assert_eq!(value(&parameters, "max_pool_percent").unwrap(), "20");
    drop(next);
    let lock = fs::read_to_string(state.path().join("terrace-zswap.lock"));
    assert_eq!(lock.unwrap(), "");
}

#[test]
fn what_another_program_sets_is_told_once_and_left() {
    let (state, parameters) = machine();
    let zswap = set(&parameters, state.path(), "lz4:pool=30").unwrap();
    fs::write(parameters.join("max_pool_percent"), "55").unwrap();
    let notice = zswap.notice().unwrap();
    assert!(
        notice.contains("max_pool_percent from 30 to 55"),
        "{notice}"
    );
    assert_eq!(zswap.notice(), None);
    drop(zswap);
    assert_eq!(value(&parameters, "max_pool_percent").unwrap(), "55");
    assert_eq!(value(&parameters, "compressor").unwrap(), "lzo");
    assert_eq!(value(&parameters, "enabled").unwrap(), "N");
}

#[test]
fn a_compressor_that_the_kernel_replaces_is_refused_and_all_is_put_back() {
    let (state, parameters) = machine();
    // What is written there is not what is read.
    fs::remove_file(parameters.join("compressor")).unwrap();
    symlink("/dev/null", parameters.join("compressor")).unwrap();
    for (spec, names) in [("842", "by 842;"), ("auto", "by lz4, lzo-rle, lzo, zstd;")] {
        let error = set(&parameters, state.path(), spec).unwrap_err();
        assert!(error.to_string().contains(names), "{error}");
        assert_eq!(value(&parameters, "enabled").unwrap(), "N");
    }
}

#[test]
fn other_kernels_have_other_parameters() {
    let (state, parameters) = machine();
    fs::remove_file(parameters.join("shrinker_enabled")).unwrap();
    fs::write(parameters.join("zpool"), "zbud\n").unwrap();
    let zswap = set(&parameters, state.path(), "lzo:shrinker=on").unwrap();
    assert_eq!(value(&parameters, "zpool").unwrap(), "zsmalloc");
    assert_eq!(described(&parameters), "lzo:pool=20,accept=90");
    drop(zswap);
    assert_eq!(value(&parameters, "zpool").unwrap(), "zbud");
    assert!(!parameters.join("shrinker_enabled").exists());

    fs::remove_dir_all(&parameters).unwrap();
    let error = set(&parameters, state.path(), "auto").unwrap_err();
    assert!(error.to_string().contains("has no zswap"), "{error}");
    assert_eq!(described(&parameters), "off");
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let (state, parameters) = machine();
    let path = state.path().join("terrace-zswap.lock");
    symlink(parameters.join("enabled"), path).unwrap();
    assert!(Zswap::take(&parameters, state.path()).is_err());
}
