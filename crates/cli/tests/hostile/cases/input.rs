//! Standard input under several runs: each has all of it, whatever it is.

use crate::case::{Case, Input, case};

/// Runs twice, and needs no run to measure.
const TWICE: &str = "run --dram 64M --footprint 64M -q --repeat 2";
const MIB: usize = 1 << 20;

pub fn cases() -> Vec<Case> {
    vec![
        given("pipe", b"one ", "cat").prints("one one "),
        given("pipe_is_empty", b"", "wc -c").prints("0\n0\n"),
        given("pipe_read_in_part", b"abcdef", "head -c 2").prints("abab"),
        given("pipe_of_zeros", &[0; 5], "wc -c").prints("5\n5\n"),
        given("pipe_of_four_mib", &vec![b'x'; 4 * MIB], "wc -c").prints("4194304\n4194304\n"),
        given("pipe_nobody_reads", &vec![b'x'; 4 * MIB], "true"),
        case("pipe_compared", TWICE)
            .and("--compare --prefetch off -- wc -c")
            .input(Input::Bytes(b"abc".to_vec()))
            .prints("3\n3\n3\n3\n3\n3\n")
            .live(),
        case("nothing", TWICE)
            .and("-- wc -c")
            .prints("0\n0\n")
            .live(),
        // The program finds it closed, as it would without terrace.
        case("closed", TWICE)
            .and("-- sh -c")
            .argument("[ -e /proc/self/fd/0 ] || echo closed")
            .input(Input::Closed)
            .prints("closed\nclosed\n")
            .live(),
        given("files_may_not_grow", &vec![b'x'; 4 * MIB], "cat")
            .limit(libc::RLIMIT_FSIZE, MIB as u64)
            .failure("standard input cannot be kept in"),
    ]
}

/// Two runs of a program that are given these bytes by a pipe.
fn given(name: &str, bytes: &[u8], program: &str) -> Case {
    case(name, TWICE)
        .and("--")
        .and(program)
        .input(Input::Bytes(bytes.to_vec()))
        .live()
}
