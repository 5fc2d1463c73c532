//! How the format of a file is detected.

use terrace_trace::Format;
use terrace_trace::formats::csv;

use crate::examples::{CSV, detect, examples, gzip, read, request, xz, zstd};

#[test]
fn what_is_in_a_file_tells_its_format_packed_or_not() {
    for (format, bytes) in examples() {
        for bytes in [gzip(&bytes), xz(&bytes), zstd(&bytes), bytes] {
            // The content counts for more than the name.
            for name in ["trace", "trace.csv", "trace.lackey", "trace.parquet"] {
                assert_eq!(detect(name, &bytes), Ok(format.to_string()), "{name}");
            }
        }
    }
}

#[test]
fn the_name_tells_where_the_content_does_not() {
    // Records that both binary formats could have.
    let both = request(1, 0, 0, 1 << 40).repeat(8);
    assert!(
        detect("trace.bin", &both)
            .unwrap_err()
            .contains("give it the ending")
    );
    assert_eq!(detect("trace.champsim", &both).unwrap(), "champsim");
    assert_eq!(
        detect("a.oracleGeneral.bin", &both).unwrap(),
        "oracle-general"
    );
    assert!(
        detect("notes.txt", b"Some text.\n")
            .unwrap_err()
            .contains("give it the ending")
    );
    for &format in Format::ALL {
        assert_eq!(Format::parse(&format.to_string()), Ok(format));
    }
    assert!(
        Format::parse("elf")
            .unwrap_err()
            .to_string()
            .contains("oracle-general")
    );
}

#[test]
fn a_packed_file_may_have_padding_and_any_case() {
    let text = CSV.as_bytes();
    let plain = read(text, csv::FORMAT).unwrap();
    let skippable = [&b"\x5a\x2a\x4d\x18\x04\0\0\0abcd"[..], &zstd(text)].concat();
    let zeros = |count| [gzip(text), vec![0; count]].concat();
    let both = [gzip(b"op,address\n"), vec![0; 3], gzip(b"r,16\n")].concat();
    for bytes in [skippable, zeros(1), zeros(70_000)] {
        assert_eq!(detect("trace", &bytes), Ok("csv".to_owned()));
        assert_eq!(read(&bytes, csv::FORMAT), Ok(plain.clone()));
    }
    assert_eq!(read(&both, csv::FORMAT).map(|read| read.len()), Ok(1));
    assert_eq!(detect("trace.CSV.GZ", &gzip(text)), Ok("csv".to_owned()));
    let followed = [gzip(text), vec![0, 1]].concat();
    assert!(read(&followed, csv::FORMAT).is_err());
}

#[test]
fn what_is_packed_or_written_otherwise_is_named() {
    let marked = [b"\xef\xbb\xbf", CSV.as_bytes()].concat();
    assert_eq!(detect("trace", &marked), Ok("csv".to_owned()));
    assert_eq!(
        read(&marked, csv::FORMAT),
        read(CSV.as_bytes(), csv::FORMAT)
    );
    let utf16 = |high: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let text = std::iter::once(0xfeff).chain(CSV.encode_utf16());
        text.flat_map(high).collect()
    };
    let mut archive = vec![b'a'; 512];
    archive[257..262].copy_from_slice(b"ustar");
    for (bytes, what) in [
        (b"BZh91AY&SY\x01\x02\x03\x04\x05\x06".to_vec(), "bzip2"),
        (b"\x04\x22\x4d\x18\x64\x40\xa7".to_vec(), "lz4"),
        (b"PK\x03\x04\x14\0\0\0".to_vec(), "zip"),
        (b"ARROW1\0\0".to_vec(), "Parquet"),
        (utf16(u16::to_le_bytes), "UTF-16"),
        (utf16(u16::to_be_bytes), "UTF-16"),
        (archive, "tar archive"),
    ] {
        for bytes in [xz(&bytes), bytes] {
            let error = detect("trace.csv", &bytes).unwrap_err();
            assert!(
                error.contains(what) && error.contains("trace.csv"),
                "{error}"
            );
        }
    }
}
