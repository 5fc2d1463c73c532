//! Damaged files: the place is named, and nothing panics.

use proptest::prelude::*;
use terrace_trace::Format;
use terrace_trace::formats::{caffeine, champsim, csv, lackey, oracle_general};

use crate::examples::{
    champsim_trace, detect, examples, gzip, oracle_general, read, request, xz, zstd,
};

#[test]
fn wrong_lines_and_records_are_named_with_their_offset() {
    let champsim = [champsim_trace(), vec![9; 64]].concat();
    let oracle_general = [oracle_general(), request(7, 7, 1, 3)].concat();
    for (format, bytes, offset, what) in [
        (
            lackey::FORMAT,
            b"I  0401b770,3\n X 5,1\n".to_vec(),
            14,
            "` X 5,1`",
        ),
        (lackey::FORMAT, b"\n".to_vec(), 0, "``"),
        (
            lackey::FORMAT,
            b" L 10,8\n L 10,4294967296\n".to_vec(),
            8,
            "no line",
        ),
        (caffeine::FORMAT, b"l 0x1 1\nl 1 1\n".to_vec(), 8, "`l 1 1`"),
        (
            caffeine::FORMAT,
            b"l 0x1 18446744073709551615\nl 0x1 1\n".to_vec(),
            27,
            "no line",
        ),
        (
            csv::FORMAT,
            b"address,size\n1,2\n1,-2\n".to_vec(),
            17,
            "line 3 has `-2` for Size",
        ),
        (
            csv::FORMAT,
            b"address,thread\n1,65536\n".to_vec(),
            15,
            "Thread",
        ),
        (
            csv::FORMAT,
            b"address,size\n1,2\n1\n".to_vec(),
            17,
            "1 values where the header has 2",
        ),
        (
            csv::FORMAT,
            b"write,address\n0,1\n0,\"4096\n".to_vec(),
            18,
            "line 3 has a quote that is not closed",
        ),
        (
            csv::FORMAT,
            b"write,address\n0,1\n0,\"4096".to_vec(),
            18,
            "line 3 has a quote that is not closed",
        ),
        (csv::FORMAT, b"size\n".to_vec(), 0, "no column `address`"),
        (csv::FORMAT, b"address,sise\n".to_vec(), 0, "`sise`"),
        (csv::FORMAT, b"address,op,write\n".to_vec(), 0, "twice"),
        (champsim::FORMAT, champsim, 192, "branch flag"),
        (oracle_general::FORMAT, oracle_general, 96, "number 4"),
    ] {
        let error = read(&bytes, format).unwrap_err();
        assert!(error.contains(&format!("at offset {offset}: ")), "{error}");
        assert!(error.contains(what), "{error}");
        let error = read(&gzip(&bytes), format).unwrap_err();
        let of = format!("at offset {offset} of the unpacked gzip stream: ");
        assert!(error.contains(&of), "{error}");
    }
}

#[test]
fn a_cut_file_is_an_error_except_between_records() {
    for (format, bytes) in examples() {
        let borders: Vec<usize> = match format.name() {
            "champsim" => (0..=bytes.len()).step_by(64).collect(),
            "oracle-general" => (0..=bytes.len()).step_by(24).collect(),
            "vscsi" => (0..=bytes.len()).step_by(40).collect(),
            // Its header says how many requests there are.
            "lcs" => Vec::new(),
            _ => (1..=bytes.len())
                .filter(|end| bytes[end - 1] == b'\n')
                .collect(),
        };
        for length in 0..bytes.len() {
            let read = read(&bytes[..length], format);
            let border = length > 0 && borders.contains(&length);
            let none = |error: &String| error.contains("there is no access");
            let whole = read.as_ref().map_or_else(none, |_| true);
            assert_eq!(whole, border, "{format} cut to {length}: {read:?}");
        }
    }
}

#[test]
fn a_cut_packed_file_is_an_error_everywhere() {
    for (format, bytes) in examples() {
        for packed in [gzip(&bytes), xz(&bytes), zstd(&bytes)] {
            assert!(read(&packed, format).is_ok());
            for length in 0..packed.len() {
                let read = read(&packed[..length], format);
                assert!(read.is_err(), "{format} cut to {length}: {read:?}");
            }
        }
    }
}

proptest! {
    // Thrice the readers there are for each.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        magic in prop::sample::select(vec![
            &b""[..], b"PAR1", b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"address\n", b"l 0x", b" L ",
        ]),
    ) {
        let bytes = [magic, &bytes].concat();
        for &format in Format::ALL {
            for bytes in [&bytes, &gzip(&bytes), &xz(&bytes)] {
                let _ = read(bytes, format);
            }
        }
        let _ = detect("trace", &bytes);
    }
}

proptest! {
    #[test]
    fn no_damage_makes_a_reader_panic(
        example in 0usize..8,
        place in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let (format, mut bytes) = examples()[example].clone();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = read(&bytes, format);
    }
}
