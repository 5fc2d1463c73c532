use std::sync::LazyLock;

use proptest::prelude::*;

use crate::files::judge;
use crate::sample::*;

/// Small files of all formats, packed and not.
static SAMPLES: LazyLock<Vec<(&'static str, Vec<u8>)>> = LazyLock::new(samples);

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let said: Vec<Said> = (0..12)
        .map(|n| {
            let hop = format!("192.0.2.{}", n % 3 + 1);
            Said::new(&hop, f64::from(n), &format!("10.{n}.0.0/16"), Some(&hop))
        })
        .collect();
    let prefixes: Vec<String> = (0..200).map(|n| format!("10.{n}.0.0/16")).collect();
    let rows: Vec<Vec<&str>> = prefixes.iter().map(|prefix| vec!["A", &**prefix]).collect();
    let text = prefixes.iter().map(|prefix| format!("1.5 + {prefix} a\n"));
    let text = text.collect::<String>().into_bytes();
    vec![
        ("rib", rib(&said)),
        ("bgp4mp", bgp4mp(&said)),
        ("table_dump", table_dump(&said)),
        ("parquet", parquet(&["operation", "prefix"], &rows)),
        ("gzip", gzip(&rib(&said))),
        ("bzip2", bzip2(&text)),
        ("text", text),
    ]
}

#[test]
fn samples_are_sound() {
    for (name, bytes) in SAMPLES.iter() {
        let routes = table(bytes, None)
            .unwrap_or_else(|e| panic!("{name}: {e}"))
            .0
            .routes;
        assert!(routes.len() > 3, "{name}");
    }
}

#[test]
fn each_beginning_of_a_file_is_read_or_refused() {
    for (_, bytes) in SAMPLES.iter() {
        // Some two hundred of each.
        for end in (0..bytes.len()).step_by(1 + bytes.len() / 200) {
            judge(&bytes[..end]);
        }
    }
}

#[test]
fn what_was_cut_says_where() {
    let of = |name| &SAMPLES.iter().find(|(n, _)| *n == name).unwrap().1;
    let cut = |name| {
        let bytes = of(name);
        table(&bytes[..bytes.len() - 3], None)
            .unwrap_err()
            .to_string()
    };
    for name in ["rib", "bgp4mp", "table_dump"] {
        assert!(
            cut(name).contains("ends within an MRT record"),
            "{}",
            cut(name)
        );
    }
    assert!(cut("gzip").contains("it was cut short"), "{}", cut("gzip"));
    assert!(
        cut("bzip2").contains("it was cut short"),
        "{}",
        cut("bzip2")
    );
    assert!(
        cut("parquet").contains("no description of a Parquet file"),
        "{}",
        cut("parquet")
    );
    let bytes = of("bgp4mp");
    let more = [&bytes[..], &bytes[..5]].concat();
    let error = table(&more, None).unwrap_err().to_string();
    let says = format!("offset {}: the file ends within the header", bytes.len());
    assert!(error.contains(&says), "{error}");
}

#[test]
fn other_bytes_have_no_format() {
    for bytes in [&b"\0\0\0\0"[..], b"PNG\r\n\x1a\n", &[0; 64]] {
        let error = table(bytes, None).unwrap_err();
        assert_eq!(error.kind, terrace_base::error::Kind::Usage);
        assert!(error.to_string().contains("does not show in it"), "{error}");
    }
    assert!(
        table(b"", None)
            .unwrap_err()
            .to_string()
            .contains("is empty")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_are_read_or_refused(
        sample in 0usize..7, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = SAMPLES[sample].1.clone();
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        judge(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_header_are_read_or_refused(
        kind in prop::sample::select(vec![12u8, 13, 16, 17, 5]), subtype in 0u8..13,
        body in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let header = [0, 0, 0, 0, 0, kind, 0, subtype, 0, 0, 0, body.len() as u8];
        judge(&[&header[..], &body].concat());
    }
}
