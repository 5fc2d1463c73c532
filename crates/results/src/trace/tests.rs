use super::*;

fn document() -> TraceDocument {
    let meta = Meta {
        format: "native".into(),
        about: vec![("kind".into(), "zipf".into())],
        ..Meta::default()
    };
    let info = Info {
        accesses: 99,
        writes: 33,
        sizes: [(0, 1), (8, 98)].into(),
        lines: 20,
        pages: 10,
        processes: 1,
        threads: 2,
        instructions: None,
        ips: 3,
        discarded: None,
        contents: None,
        reuse: terrace_trace::reuse::Reuse {
            cold: 10,
            distances: vec![40, 20, 0, 0, 10, 0, 0, 0, 0, 20],
        },
    };
    TraceDocument::of("a.parquet", &meta, &info)
}

#[test]
fn shares_are_of_the_pages_touched() {
    let lru = document().lru;
    let figures: Vec<_> = lru.iter().map(|l| (l.share, l.pages, l.misses)).collect();
    assert_eq!(figures, [(0.125, 1, 60), (0.25, 2, 40), (0.5, 5, 30)]);
    assert_eq!(lru[0].miss_ratio, Some(0.6));
}

#[test]
fn the_table_says_it_and_the_bars_show_it() {
    let text = document().to_text().to_string();
    // Columns are as wide as their contents: what counts is what is in them.
    let rows: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for row in [
        "| a.parquet | |",
        "| - kind | zipf |",
        "| - writes | 33 (33.3 %) |",
        "| - of 8 B | 98 (99.0 %) |",
        "| pages of 4 KiB | 10 (40.0 KiB) |",
        "| - missed by LRU, 12.5 % in DRAM | 60 (60.0 %) |",
        "| 2 to 3 | 0 | 0.0 % | |",
        "| 4 to 7 | 10 | 10.0 % | ########## |",
        "| first touch | 10 | 10.0 % | ########## |",
    ] {
        assert!(rows.iter().any(|r| r == row), "{row}\n{text}");
    }
    assert!(!text.contains("- of 0 B"), "{text}");
}

#[test]
fn an_empty_trace_has_no_ratio() {
    let document = TraceDocument::of("x", &Meta::default(), &Info::default());
    assert!(document.to_json().contains(r#""miss_ratio": null"#));
    assert!(document.to_text().to_string().contains("0 (0.0 %)"));
}

#[test]
fn bars_are_as_long_as_their_parts() {
    assert_eq!(bar(0, 100), "");
    assert_eq!(bar(1, 1_000_000), "#");
    assert_eq!(bar(50, 100).len(), 20);
    assert_eq!(bar(100, 100).len(), 40);
    assert_eq!(bar(0, 0), "");
}
