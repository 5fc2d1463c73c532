//! The examples do what they say, across restarts and a kill.

#[path = "../examples/accounts.rs"]
mod accounts;
#[path = "../examples/kv.rs"]
mod kv;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// The environment variable that names the pool in the process to be killed.
const POOL: &str = "TERRACE_EXAMPLE_POOL";

#[test]
fn a_store_keeps_what_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("words.pool");
    let call = |command: &[&str]| {
        let mut words = vec![pool.to_str().unwrap()];
        words.extend(command);
        let mut out = Vec::new();
        let understood = kv::carry_out(&words, &mut out).unwrap();
        (understood, String::from_utf8(out).unwrap())
    };
    for words in [
        ["set", "b", "two"],
        ["set", "a", "one"],
        ["set", "c", "three"],
    ] {
        assert_eq!(call(&words), (true, String::new()));
    }
    assert_eq!(call(&["get", "a"]).1, "one\n");
    assert_eq!(call(&["remove", "c"]), (true, String::new()));
    assert_eq!(call(&["list"]).1, "a = one\nb = two\n");
    assert!(!call(&["forget", "a"]).0);
}

#[test]
fn a_transfer_that_cannot_be_made_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let heap = accounts::bank(&folder.path().join("bank.pool")).unwrap();
    accounts::transfer(&heap, "anna", "bert", 30).unwrap();
    let error = accounts::transfer(&heap, "anna", "bert", 71).unwrap_err();
    assert_eq!(error.to_string(), "anna has 70");
    let expected = [("anna".to_owned(), 70), ("bert".to_owned(), 130)];
    assert_eq!(accounts::balances(&heap).unwrap(), expected);
}

/// Transfers money to and fro, until the process is killed.
fn transfer_forever(pool: &Path) {
    let heap = accounts::bank(pool).unwrap();
    for round in 0u64.. {
        let (from, to) = [("anna", "bert"), ("bert", "anna")][round as usize % 2];
        accounts::transfer(&heap, from, to, 1 + round % 7).unwrap();
    }
}

#[test]
fn money_survives_a_kill() {
    if let Some(pool) = env::var_os(POOL) {
        return transfer_forever(Path::new(&pool));
    }
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("bank.pool");
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "money_survives_a_kill"])
        .env(POOL, &pool)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let limit = Instant::now() + Duration::from_secs(30);
    while !pool.exists() && Instant::now() < limit {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "it was still running");
    child.kill().unwrap();
    child.wait().unwrap();

    let heap = accounts::bank(&pool).unwrap();
    let balances = accounts::balances(&heap).unwrap();
    assert_eq!(balances.len(), 2, "{balances:?}");
    let sum: u64 = balances.iter().map(|(_, balance)| balance).sum();
    assert_eq!(sum, 2 * accounts::BEGINNING, "{balances:?}");
}
