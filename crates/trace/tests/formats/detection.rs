//! How the format of a file is detected.

use terrace_trace::Format;

use crate::examples::{detect, examples, gzip, request, xz, zstd};

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
